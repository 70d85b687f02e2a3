/* Data-parallel: each thread counts the words of its part, then adds its counts up under a lock. */
#include "common.h"
#define LEN (1 << 20)
#define WORDS 1024
static char *text;
static long all[WORDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *id) {
  long *mine = calloc(WORDS, sizeof *mine);
  long from = (long)LEN * (intptr_t)id / threads, to = (long)LEN * ((intptr_t)id + 1) / threads;
  for (int round = 0; round < rounds; round++) {
    uint64_t hash = 0;
    for (long i = from; i < to; i++) {
      if (text[i] != ' ') hash = hash * 31 + (unsigned char)text[i];
      else mine[hash % WORDS]++, hash = 0;
    }
  }
  pthread_mutex_lock(&lock);
  for (int i = 0; i < WORDS; i++) all[i] += mine[i];
  pthread_mutex_unlock(&lock);
  free(mine);
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  uint64_t state = 3, sum = 0;
  text = malloc(LEN);
  for (long i = 0; i < LEN; i++) text[i] = next_random(&state) % 5 ? (char)('a' + next_random(&state) % 4) : ' ';
  run(work);
  for (int i = 0; i < WORDS; i++) sum = sum * 33 + (uint64_t)all[i];
  printf("%016lx\n", sum);
}
