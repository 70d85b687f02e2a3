/* A thread ends the program: by a signal (segv), by exit (exit), by abort (abort), or main ends before it (main). */
#include "common.h"
#include <sched.h>
#include <signal.h>
#include <unistd.h>
static const char *how;
static volatile int count_of_words = 1;
static void *work(void *id) {
  if (!strcmp(how, "segv")) *(volatile int *)(intptr_t)(8 * count_of_words) = 1;
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "exit")) { printf("from a thread\n"); exit(42); }
  if (!strcmp(how, "_exit")) _exit(43);
  if (!strcmp(how, "stuck")) { pthread_mutex_t *m = malloc(sizeof *m); pthread_mutex_init(m, NULL); pthread_mutex_lock(m); pthread_mutex_lock(m); }
  if (!strcmp(how, "cancel")) pthread_cancel(pthread_self());
  if (!strcmp(how, "late")) { printf("late\n"); return NULL; }
  for (;;) sched_yield();
  return id;
}
int main(int count, char **arguments) {
  pthread_t t;
  how = count > 1 ? arguments[1] : "segv";
  pthread_create(&t, NULL, work, NULL);
  if (!strcmp(how, "main")) return 7;
  if (!strcmp(how, "late")) pthread_exit(NULL);
  pthread_join(t, NULL);
  return 1;
}
