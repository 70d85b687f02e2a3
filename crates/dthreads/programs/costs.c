/* What a synchronization point costs, and a thread that is created and joined: real nanoseconds, the least of some. */
#define _GNU_SOURCE
#include "common.h"
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ends = PTHREAD_COND_INITIALIZER;
static int over;
/* The library's clocks are virtual; the kernel's own are not. */
static double now(void) {
  struct timespec time;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
static void *waits(void *unused) {
  pthread_mutex_lock(&lock);
  while (!over) pthread_cond_wait(&ends, &lock);
  pthread_mutex_unlock(&lock);
  return unused;
}
static void *nothing(void *unused) { return unused; }
int main(int count, char **arguments) {
  start(count, arguments);
  pthread_t other;
  double point = 1e18, thread = 1e18;
  pthread_create(&other, NULL, waits, NULL);
  for (int i = 0; i < rounds; i++) {
    double from = now();
    for (int k = 0; k < 100; k++) pthread_mutex_lock(&lock), pthread_mutex_unlock(&lock);
    double took = (now() - from) / 200;
    if (took < point) point = took;
  }
  pthread_mutex_lock(&lock);
  over = 1;
  pthread_cond_signal(&ends);
  pthread_mutex_unlock(&lock);
  pthread_join(other, NULL);
  for (int i = 0; i < rounds; i++) {
    double from = now();
    pthread_create(&other, NULL, nothing, NULL);
    pthread_join(other, NULL);
    if (now() - from < thread) thread = now() - from;
  }
  printf("a point with nothing changed %.0f ns, create and join %.0f ns\n", point, thread);
}
