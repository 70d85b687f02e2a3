/* Handlers of signals that have atomic operations, and interrupt others: on a stack of their own, large or small, or on
   the thread's. What they count is whole. A system call past libc ends when one comes. */
#define _GNU_SOURCE
#include "common.h"
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
static atomic_long counter, hits;
static volatile sig_atomic_t own_hits;
static char handlers[64 << 10];
static void on_alarm(int signal) {
  volatile char frame[2000];
  frame[100] = (char)signal;
  atomic_fetch_add(&hits, frame[100] == SIGALRM);
  own_hits++;
}
static void *work(void *id) {
  for (int i = 0; i < rounds; i++) atomic_fetch_add(&counter, 1);
  return id;
}
static long wait_for_signal(void) {
#if defined(__x86_64__)
  long done;
  __asm__ volatile("syscall" : "=a"(done) : "0"(SYS_pause) : "rcx", "r11", "memory");
  return done;
#else
  return -EINTR;
#endif
}
int main(int count, char **arguments) {
  start(count, arguments);
  for (int how = 0; how < 3; how++) {
    stack_t stack = {handlers, 0, how == 1 ? 8192 : sizeof handlers}, before;
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | (how < 2 ? SA_ONSTACK : 0)};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    run(work);
    while (!own_hits) sched_yield();
    assert(wait_for_signal() == -EINTR);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaltstack(NULL, &before);
    printf("%ld %d %d\n", counter, hits > 0, before.ss_size == stack.ss_size && before.ss_sp == handlers);
  }
  printf("%s\n", hits == own_hits ? "all good" : "hits are lost");
}
