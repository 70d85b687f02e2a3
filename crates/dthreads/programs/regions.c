/* Regions that a program marks for fyris dthreads: named ones, for traces, and atomic ones. Runs without it, too. */
#include "../include/fyris_dthreads.h"
#include "common.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long accounts[MOST] = {1000, 1000, 1000, 1000}, wrong;
/* Moves money without a lock: only an atomic region makes the sum right. */
static void move_money(uint64_t *state) {
  fyris_atomic_begin();
  int from = (int)(next_random(state) % 4), to = (int)(next_random(state) % 4);
  accounts[from]--, accounts[to]++;
  pthread_mutex_lock(&lock); /* a synchronization point within: others have no turn yet */
  pthread_mutex_unlock(&lock);
  long sum = 0;
  for (int i = 0; i < 4; i++) sum += accounts[i];
  wrong += sum != 4000;
  fyris_atomic_end();
}
static void *work(void *id) {
  uint64_t state = (uint64_t)(intptr_t)id;
  fyris_region_begin("moving");
  for (int i = 0; i < rounds; i++) move_money(&state);
  fyris_region_begin("last words");
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  fyris_region_end();
  fyris_region_end();
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  run(work);
  if (fyris_is_deterministic())
    printf("%ld %ld %ld %ld, %ld wrong\n", accounts[0], accounts[1], accounts[2], accounts[3], wrong);
  else
    printf("without fyris dthreads nothing is atomic\n");
}
