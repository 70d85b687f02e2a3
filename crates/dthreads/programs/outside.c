/* Threads that wait in system calls hold up no other: for signals that threads send to each other, for pipes. */
#include "common.h"
#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counter, seen;
static volatile sig_atomic_t caught;
static int ends[2];
static void catch(int signal) { caught += signal == SIGUSR2; }
/* What the lock protects is up to date when a signal was waited for. */
static void *waits(void *sender) {
  (void)sender;
  sigset_t set;
  sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGTERM);
  for (int signal = 0; signal != SIGTERM;) {
    assert(sigwait(&set, &signal) == 0);
    seen = seen * 31 + counter;
  }
  return NULL;
}
static void *counts(void *id) {
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&lock);
    counter += (intptr_t)id + 1;
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}
static void *sends(void *waiter) {
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
    pthread_kill(*(pthread_t *)waiter, SIGUSR1);
  }
  pthread_kill(*(pthread_t *)waiter, SIGTERM);
  return NULL;
}
static void *reads(void *which) {
  char byte = 0;
  struct pollfd one = {ends[0], POLLIN, 0};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  if (which == (void *)1) assert(poll(&one, 1, -1) == 1 && one.revents == POLLIN);
  if (which == (void *)2) assert(select(ends[0] + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(ends[0], &set));
  assert(read(ends[0], &byte, 1) == 1 && byte == 'x');
  return NULL;
}
static void *ends_main(void *main) {
  counts((void *)0);
  if (main) pthread_kill(*(pthread_t *)main, SIGUSR2);
  else kill(getpid(), SIGUSR2);
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  struct sigaction action = {.sa_handler = catch};
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1), sigaddset(&blocked, SIGUSR2), sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  sigaction(SIGUSR2, &action, NULL);
  pthread_t waiter, sender, all[2], self = pthread_self();
  pthread_create(&waiter, NULL, waits, NULL);
  pthread_create(&sender, NULL, sends, &waiter);
  for (intptr_t i = 0; i < 2; i++) pthread_create(&all[i], NULL, counts, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(all[i], NULL);
  pthread_join(sender, NULL), pthread_join(waiter, NULL);
  printf("%ld\n", counter);
  /* How many signals a plain waiter sees, and when, is not decided. */
  fprintf(count > 3 ? stdout : stderr, "%ld\n", seen);
  /* Main waits for a handler, as lbzip2 does; the ring is empty but for the thread that ends it. */
  for (int i = 0; i < 2; i++) {
    pthread_create(&sender, NULL, ends_main, i ? &self : NULL);
    while (caught == i) sigsuspend(&before);
    pthread_join(sender, NULL);
  }
  printf("%ld %d\n", counter, (int)caught);
  /* A pipe between threads: the reader holds up no other, which writes when it is done. */
  for (intptr_t which = 0; which < 3; which++) {
    assert(pipe(ends) == 0);
    pthread_create(&waiter, NULL, reads, (void *)which);
    pthread_create(&sender, NULL, counts, NULL);
    pthread_join(sender, NULL);
    assert(write(ends[1], "x", 1) == 1);
    pthread_join(waiter, NULL);
    close(ends[0]), close(ends[1]);
  }
  sigset_t term;
  sigemptyset(&term), sigaddset(&term, SIGTERM);
  /* Sent when no thread would have it: the next to ask for it has it. */
  kill(getpid(), SIGTERM);
  struct timespec now = {0, 0};
  assert(sigtimedwait(&term, NULL, &now) == SIGTERM && sigtimedwait(&term, NULL, &now) == -1);
  struct timeval span = {1, 0};
  assert(select(0, NULL, NULL, NULL, &span) == 0 && poll(NULL, 0, 1000) == 0);
  printf("%ld all good\n", counter);
}
