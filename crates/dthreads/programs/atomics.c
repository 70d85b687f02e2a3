/* A counter, a stack and a lock by C11's atomic operations. With a way to end (`end`, `_exit`, or the last thread's
   `abort`) a counter without any, which loses changes: the library says so. */
#include "common.h"
#include <stdatomic.h>
#include <unistd.h>
struct item {
  struct item *next;
};
static atomic_long counter;
static _Atomic(struct item *) stack;
static atomic_flag flag = ATOMIC_FLAG_INIT;
static atomic_int turn;
static volatile long lost, locked;
static char how;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void push(struct item *item) {
  item->next = atomic_load(&stack);
  while (!atomic_compare_exchange_weak(&stack, &item->next, item));
}
static void count_up(void) {
  atomic_fetch_add(&counter, 1);
  while (atomic_flag_test_and_set(&flag)) continue;
  locked++;
  atomic_flag_clear(&flag);
}
static void *work(void *id) {
  for (int i = 0; i < rounds; i++) {
    if (how) lost++;
    else count_up(), push(malloc(sizeof(struct item)));
  }
  if (!how) {
    /* One after the other, each of which waits by loads alone. */
#if defined(__x86_64__)
    while (turn != (intptr_t)id) __builtin_ia32_pause();
#else
    while (turn != (intptr_t)id) sched_yield();
#endif
    printf("thread %d\n", (int)(intptr_t)id);
    turn++;
  }
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  if (how == 'a' && (intptr_t)id == threads - 1) abort();
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  how = count > 3 ? arguments[3][0] : 0;
  run(work);
  long found = 0;
  for (struct item *item = stack; item; item = item->next) found++;
  printf("%ld %ld %ld %ld\n", counter, found, locked, lost);
  fflush(stdout);
  if (how == '_') _exit(0);
}
