/* Stacks of threads: eight MiB can be used, others can reach all of it, and a thread that uses more ends the program.
   "over" and "main" use more, in a thread and in main; "taken" has a handler of its own for that. In "signal" one comes
   where a stack was not used yet. */
#define _GNU_SOURCE
#include "common.h"
#include <alloca.h>
#include <assert.h>
#include <signal.h>
#include <sys/time.h>
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
  *(volatile long *)own[(id + 1) % threads] += 100;
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
/* A thread has no stack for handlers, and may have a small one. */
static void *alternates(void *id) {
  stack_t none = {NULL, SS_DISABLE, 0}, own = {malloc(8192), 0, 8192}, before;
  assert(!sigaltstack(NULL, &before) && before.ss_flags == SS_DISABLE);
  assert(!sigaltstack(&none, &before) && before.ss_flags == SS_DISABLE);
  others += use(1 << 10, nothing, 1);
  assert(!sigaltstack(&own, &before) && before.ss_flags == SS_DISABLE);
  others += use(2 << 10, nothing, 1);
  assert(!sigaltstack(&none, &before) && before.ss_sp == own.ss_sp && before.ss_size == own.ss_size);
  return id;
}
/* A signal comes where the stack was not used yet. */
static volatile sig_atomic_t came;
static void comes(int signal) { came += signal == SIGALRM; }
static void *is_interrupted(void *id) {
  struct sigaction action = {.sa_handler = comes};
  struct itimerval soon = {{0, 0}, {0, 2000}};
  pthread_attr_t attributes;
  void *low;
  size_t len;
  sigset_t one;
  sigemptyset(&one), sigaddset(&one, SIGALRM);
  sigaction(SIGALRM, &action, NULL), pthread_sigmask(SIG_UNBLOCK, &one, NULL);
  pthread_getattr_np(pthread_self(), &attributes), pthread_attr_getstack(&attributes, &low, &len);
  char *edge = (char *)low + len - (256 << 10);
  setitimer(ITIMER_REAL, &soon, NULL);
  volatile char *part = alloca((char *)__builtin_frame_address(0) - edge - 700);
  part[0] = 1;
  while (!came) continue;
  printf("came %d\n", (int)came);
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
  for (int i = 0; i < 2; i++) pthread_create(&all[0], NULL, alternates, NULL), pthread_join(all[0], NULL);
  sigaltstack(&handlers, NULL);
  pthread_create(&all[0], NULL, alternates, NULL), pthread_join(all[0], NULL);
  printf("%ld %ld\n", others, handled);
  if (!strcmp(how, "signal"))
    return pthread_create(&all[0], NULL, is_interrupted, NULL), pthread_join(all[0], NULL);
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
