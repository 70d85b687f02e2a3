/* Racy: a counter without a lock. */
#include "common.h"
#include <sched.h>
static volatile long counter;
static void *work(void *id) {
  for (int i = 0; i < rounds; i++) {
    for (int k = 0; k < 200; k++) counter++;
    if (i % 10 == (intptr_t)id % 10) sched_yield();
  }
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  run(work);
  printf("%ld\n", counter);
}
