/* A thread that hands out blocks, and threads that compute on each for long: it must not wait for them. */
#include "common.h"
#define ROOM 32
#define WORDS (1 << 17)
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, taken = PTHREAD_COND_INITIALIZER;
static uint64_t blocks[ROOM], total;
static int head, len, done;
static uint64_t compute(uint64_t *words, uint64_t state) {
  for (int i = 0; i < WORDS; i++) words[i] = next_random(&state);
  for (int i = 1; i < WORDS; i++) words[i] += words[i - 1] ^ words[words[i] % WORDS];
  return words[WORDS - 1];
}
static void *work(void *id) {
  (void)id;
  uint64_t *words = calloc(WORDS, sizeof *words);
  for (;;) {
    pthread_mutex_lock(&lock);
    while (!len && !done) pthread_cond_wait(&filled, &lock);
    if (!len) break;
    uint64_t block = blocks[head];
    head = (head + 1) % ROOM, len--;
    pthread_cond_signal(&taken);
    pthread_mutex_unlock(&lock);
    uint64_t sum = compute(words, block);
    pthread_mutex_lock(&lock);
    total += sum;
    pthread_mutex_unlock(&lock);
  }
  pthread_mutex_unlock(&lock);
  free(words);
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  pthread_t all[MOST];
  for (intptr_t i = 0; i < threads; i++) pthread_create(&all[i], NULL, work, (void *)i);
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&lock);
    while (len == ROOM) pthread_cond_wait(&taken, &lock);
    blocks[(head + len++) % ROOM] = (uint64_t)i;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
  }
  pthread_mutex_lock(&lock);
  done = 1;
  pthread_cond_broadcast(&filled);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
  printf("%016lx\n", total);
}
