/* Stacks of threads: eight MiB can be used, others can reach all of it, and a thread that uses more ends the program.
   "over" and "main" use more, in a thread and in main; "taken" has a handler of its own for that. */
#define _GNU_SOURCE
#include "common.h"
#include <assert.h>
#include <signal.h>
#include <unistd.h>
static pthread_barrier_t deep, done;
static long *own[MOST], others;
static char *block;
/* Uses `kib` KiB and calls `then` at the end. */
static long use(int kib, long (*then)(intptr_t), intptr_t id) {
  volatile char frame[16 << 10];
  memset((char *)frame, (int)id, sizeof frame);
  long result = kib > 16 ? use(kib - 16, then, id) : then(id);
  return result + frame[kib % 16] - (char)id;
}
/* What is deep in a thread's stack is seen, and changed, by others. */
static long meet(intptr_t id) {
  long word = id;
  own[id] = &word;
  pthread_barrier_wait(&deep);
  __atomic_fetch_add(own[(id + 1) % threads], 100, __ATOMIC_RELAXED);
  pthread_barrier_wait(&done);
  return *(volatile long *)&word;
}
static long nothing(intptr_t id) { return id; }
static void *work(void *id) {
  return (void *)use(7800 * ((intptr_t)id % 2) + 64, meet, (intptr_t)id);
}
/* A handler of a signal that holds back all others uses a stack as well. */
static volatile long handled;
static void handles(int signal) { handled += use(1 << 10, nothing, signal); }
static void *is_handled(void *id) {
  sigset_t one;
  sigemptyset(&one), sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &one, NULL);
  struct sigaction action = {.sa_handler = handles};
  sigfillset(&action.sa_mask);
  assert(!sigaction(SIGUSR1, &action, NULL) && !pthread_kill(pthread_self(), SIGUSR1));
  return id;
}
static void *over(void *id) { return (void *)use(26 << 10, nothing, (intptr_t)id); }
static void *wide(void *id) { return (void *)use(20 << 10, nothing, (intptr_t)id); }
static void catch(int signal) { _exit(signal == SIGSEGV ? 3 : 4); }
int main(int count, char **arguments) {
  start(count, arguments);
  const char *how = count > 3 ? arguments[3] : "";
  stack_t handlers = {malloc(1 << 16), 0, 1 << 16};
  pthread_attr_t attributes;
  pthread_t all[MOST];
  void *result;
  if (!strcmp(how, "taken")) {
    struct sigaction action = {.sa_handler = catch, .sa_flags = SA_ONSTACK}, before;
    sigaltstack(&handlers, NULL);
    assert(!sigaction(SIGSEGV, &action, &before) && before.sa_handler == SIG_DFL);
  }
  sigset_t most;
  sigfillset(&most);
  pthread_sigmask(SIG_BLOCK, &most, NULL);
  pthread_barrier_init(&deep, NULL, (unsigned)threads), pthread_barrier_init(&done, NULL, (unsigned)threads);
  for (int round = 0; round < rounds; round++) {
    for (intptr_t i = 0; i < threads; i++) pthread_create(&all[i], NULL, work, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(all[i], &result), others += (long)result;
  }
  pthread_create(&all[0], NULL, is_handled, NULL), pthread_join(all[0], NULL);
  printf("%ld %ld\n", others, handled);
  block = calloc(4, 1 << 20);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 24 << 20);
  pthread_create(&all[0], &attributes, wide, NULL), pthread_join(all[0], &result);
  for (int i = 0; i < 4 << 20; i++) assert(!block[i]);
  printf("all good\n"), fflush(stdout);
  pthread_sigmask(SIG_UNBLOCK, &most, NULL);
  if (!strcmp(how, "main")) over(NULL);
  if (*how) pthread_create(&all[0], NULL, over, NULL), pthread_join(all[0], NULL);
}
