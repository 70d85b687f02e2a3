// The threads of C11: every call of threads.h, with a counter that is written without its lock by one thread in four.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

static mtx_t lock;
static cnd_t ready;
static once_flag once = ONCE_FLAG_INIT;
static tss_t own;
static int calls, counter, waiting, ended;

static void check(int is_true, const char *what) {
  if (is_true) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void count_call(void) { calls++; }

static void end_own(void *value) {
  mtx_lock(&lock);
  ended += value != NULL;
  mtx_unlock(&lock);
}

static struct timespec soon(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  time.tv_nsec = (time.tv_nsec + 1000000) % 1000000000;
  time.tv_sec += time.tv_nsec < 1000000;
  return time;
}

static int work(void *argument) {
  intptr_t me = (intptr_t)argument;
  call_once(&once, count_call);
  check(tss_set(own, argument) == thrd_success && tss_get(own) == argument, "tss_get");
  mtx_lock(&lock);
  waiting++;
  cnd_broadcast(&ready);
  while (waiting < 4) cnd_wait(&ready, &lock);
  mtx_unlock(&lock);
  for (int n = 0; n < 500; n++) {
    if (me % 4 != 0) check(mtx_lock(&lock) == thrd_success, "mtx_lock");
    counter++;
    if (me % 4 != 0) mtx_unlock(&lock);
    if (n % 100 == 0) thrd_yield();
  }
  if (me == 2) thrd_exit(-2);
  return (int)me;
}

int main(void) {
  check(mtx_init(&lock, mtx_timed | mtx_recursive) == thrd_success, "mtx_init");
  check(cnd_init(&ready) == thrd_success && tss_create(&own, end_own) == thrd_success, "init");
  thrd_t threads[4];
  for (intptr_t n = 0; n < 4; n++) check(thrd_create(&threads[n], work, (void *)(n + 1)) == thrd_success, "create");
  for (int n = 0; n < 4; n++) {
    int result;
    check(thrd_join(threads[n], &result) == thrd_success && result == (n == 1 ? -2 : n + 1), "thrd_join");
  }
  struct timespec one, other;
  timespec_get(&one, TIME_UTC), clock_gettime(CLOCK_REALTIME, &other);
  check(one.tv_sec <= other.tv_sec && other.tv_sec <= one.tv_sec + 60, "two clocks");
  check(calls == 1 && ended == 4, "call_once, or destructors");
  check(mtx_lock(&lock) == thrd_success && mtx_trylock(&lock) == thrd_success, "a recursive mutex");
  struct timespec time = soon();
  check(cnd_timedwait(&ready, &lock, &time) == thrd_timedout, "cnd_timedwait");
  mtx_unlock(&lock), mtx_unlock(&lock);
  check(mtx_timedlock(&lock, &time) == thrd_success && thrd_equal(thrd_current(), thrd_current()), "mtx_timedlock");
  struct timespec nap = {.tv_nsec = 1000};
  check(thrd_sleep(&nap, NULL) == 0, "thrd_sleep");
  mtx_unlock(&lock);
  tss_delete(own);
  cnd_destroy(&ready), mtx_destroy(&lock);
  printf("%d\n", counter);
  return 0;
}
