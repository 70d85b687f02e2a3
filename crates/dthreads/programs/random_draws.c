/* Racy, after Kendo: threads draw from one random generator without a lock. */
#include "common.h"
static uint64_t state = 42;
static uint64_t drawn[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *id) {
  uint64_t mine = 0;
  for (int i = 0; i < rounds; i++) {
    mine = mine * 31 + next_random(&state);
    if (next_random(&state) % 16 == 0) {
      pthread_mutex_lock(&lock);
      drawn[(intptr_t)id] ^= mine;
      pthread_mutex_unlock(&lock);
    }
  }
  drawn[(intptr_t)id] ^= mine;
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  run(work);
  for (int i = 0; i < threads; i++) printf("%016lx\n", drawn[i]);
}
