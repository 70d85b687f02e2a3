/* Racy: a queue whose ends are moved without a lock; what is lost shows. */
#include "common.h"
#include <sched.h>
#define SIZE 4096
static volatile int items[SIZE];
static volatile unsigned head, tail;
static volatile long sum;
static void *work(void *id) {
  for (int i = 0; i < rounds; i++) {
    if ((intptr_t)id % 2 == 0) {
      items[tail % SIZE] = i;
      tail++;
    } else if (head != tail) {
      sum += items[head % SIZE];
      head++;
    }
    if (i % 50 == 0) sched_yield();
  }
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  run(work);
  printf("head %u, tail %u, sum %ld\n", head, tail, sum);
}
