// Signals for threads that may have ended, and names for them: the order of turns decides whether they have.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *work(void *rounds) {
  volatile int sum = 0;
  for (int n = 0; n < *(int *)rounds; n++) sum += n;
  return NULL;
}

int main(void) {
  char name[16];
  int named = 0;
  signal(SIGUSR1, SIG_IGN);
  if (pthread_getname_np(pthread_self(), name, sizeof name) || strcmp(name, "kill_ended")) return 1;
  for (int n = 0; n < 40; n++) {
    pthread_t thread;
    int rounds = n % 8 * 2000;
    if (pthread_create(&thread, NULL, work, &rounds)) return 2;
    if (pthread_kill(thread, SIGUSR1) || pthread_kill(thread, 0)) return 3;
    pthread_setname_np(thread, "a thread");
    named += !pthread_getname_np(thread, name, sizeof name) && !strcmp(name, "a thread");
    if (pthread_join(thread, NULL)) return 4;
  }
  printf("%d\n", named);
  return 0;
}
