/* A counter and a stack by C11's atomic operations: from thread to thread they carry nothing, and the library says so.
   Ends as it is told: by `_exit`, or by the last thread's `abort`. */
#include "common.h"
#include <stdatomic.h>
#include <unistd.h>
struct item {
  struct item *next;
};
static atomic_long counter;
static _Atomic(struct item *) stack;
static char how;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void count_up(void) {
  atomic_fetch_add(&counter, 1);
}
static void push(struct item *item) {
  item->next = atomic_load(&stack);
  while (!atomic_compare_exchange_weak(&stack, &item->next, item));
}
static void *work(void *id) {
  for (int i = 0; i < rounds; i++) {
    count_up();
    push(malloc(sizeof(struct item)));
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
  printf("%ld %ld\n", counter, found);
  fflush(stdout);
  if (how == '_') _exit(0);
}
