/* Rights are dropped between threads, which is all as ever, or while there are others ("within"), which is refused.
   Handlers of signals are those of all threads. */
#define _GNU_SOURCE
#include "common.h"
#include <assert.h>
#include <signal.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int within, stage;
static _Thread_local volatile int came;
static void handler(int signal) { came += signal == SIGUSR1; }
static void ignored(int signal) { (void)signal; }
static void wait_for(int number) {
  pthread_mutex_lock(&lock);
  while (stage < number) pthread_cond_wait(&change, &lock);
  pthread_mutex_unlock(&lock);
}
static void tell(int number) {
  pthread_mutex_lock(&lock);
  stage = number;
  pthread_cond_broadcast(&change);
  pthread_mutex_unlock(&lock);
}
/* The first sets a handler, the others have it. */
static void *work(void *id) {
  if (!id) {
    signal(SIGUSR1, handler);
    if (within) assert(!setuid(getuid()));
    tell(1);
  }
  wait_for(1);
  struct sigaction action;
  assert(!sigaction(SIGUSR1, NULL, &action) && action.sa_handler == handler);
  int before = came;
  raise(SIGUSR1);
  assert(came == before + 1);
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  within = count > 3;
  for (int i = 0; i < rounds; i++) {
    stage = 0;
    signal(SIGUSR1, ignored);
    run(work);
    struct sigaction action;
    assert(!sigaction(SIGUSR1, NULL, &action) && action.sa_handler == handler);
    assert(!kill(getpid(), SIGUSR1) && came);
    assert(!setgid(getgid()) && !setuid(getuid()));
  }
  puts("all good");
}
