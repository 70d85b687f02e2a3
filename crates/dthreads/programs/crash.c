/* A thread ends the program: by a signal (segv), by exit (exit), by abort (abort), or main ends before it (main).
   Or it asks for what it cannot have, and the exit status is the error that it gets (the table of faults). */
#define _GNU_SOURCE
#include "common.h"
#include <aio.h>
#include <errno.h>
#include <mqueue.h>
#include <netdb.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static const char *how;
static volatile int count_of_words = 1;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static void *pass(void *id) { pthread_mutex_lock(&gate); pthread_mutex_unlock(&gate); return id; }
/* Takes all of the heap; gives it back, and can have some again. */
static int heap(void) {
  void *first = NULL, *block;
  pthread_t t;
  while ((block = malloc(100000))) *(void **)block = first, first = block;
  int error = errno;
  if (calloc(1, 1 << 20) || posix_memalign(&block, 64, 1 << 20) != ENOMEM) return 1;
  if (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) return 2;
  /* Stacks are not of the heap. */
  if (pthread_create(&t, NULL, pass, NULL) || pthread_join(t, NULL)) return 3;
  while ((block = first)) first = *(void **)block, free(block);
  return malloc(100000) ? error : 4;
}
/* Creates threads until it can have no more; can have as many again when they have ended. */
static int crowd(void) {
  static pthread_t all[200];
  int counts[2], error = 0;
  for (int time = 0; time < 2; time++) {
    int n = 0;
    pthread_mutex_lock(&gate);
    while (n < 200 && !(error = pthread_create(&all[n], NULL, pass, NULL))) n++;
    pthread_mutex_unlock(&gate);
    counts[time] = n;
    while (n > 0) pthread_join(all[--n], NULL);
  }
  printf("%d and %d more\n", counts[0], counts[1]);
  return error;
}
static int child(void) { return fork() == -1 ? errno : 1; }
static int semaphore(void) { sem_t s; return sem_init(&s, 1, 0) == -1 ? errno : 1; }
static int named(void) { return sem_open("/fyris-crash", 0) == SEM_FAILED ? errno : 1; }
static int mutex(int (*set)(pthread_mutexattr_t *, int), int value) {
  pthread_mutexattr_t attributes;
  pthread_mutex_t m;
  if (pthread_mutexattr_init(&attributes) || set(&attributes, value)) return 1;
  return pthread_mutex_init(&m, &attributes);
}
static int priority(void) { return mutex(pthread_mutexattr_setprotocol, PTHREAD_PRIO_INHERIT); }
static int robust(void) { return mutex(pthread_mutexattr_setrobust, PTHREAD_MUTEX_ROBUST); }
static int shared(void) { return mutex(pthread_mutexattr_setpshared, PTHREAD_PROCESS_SHARED); }
/* What libc does in threads of its own. */
static int helpers(void) {
  struct aiocb one = {0};
  struct sigevent event = {.sigev_notify = SIGEV_THREAD};
  timer_t timer;
  if (aio_read(&one) != -1 || errno != ENOSYS) return 1;
  if (getaddrinfo_a(GAI_NOWAIT, NULL, 0, NULL) != EAI_SYSTEM) return 2;
  if (mq_notify(0, &event) != -1 || timer_create(CLOCK_MONOTONIC, &event, &timer) != -1) return 3;
  event.sigev_notify = SIGEV_SIGNAL, event.sigev_signo = SIGUSR1;
  return timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_delete(timer) ? 4 : errno;
}
static int locked(void) { return mlockall(MCL_CURRENT) == -1 ? errno : 1; }
/* The kernel's numbers of a thread: it is of the program's process. */
static volatile sig_atomic_t got;
static void catch(int signal) { got += signal; }
static int numbers(void) {
  signal(SIGUSR1, catch);
  if (tgkill(getpid(), gettid(), SIGUSR1) || syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1)) return 1;
  return got == 2 * SIGUSR1 && tgkill(getpid(), 1, 0) == -1 && errno == ESRCH ? ENOSYS : 2;
}
static int timed(void) { struct timespec past = {1, 0}; usleep(1); return pthread_mutex_timedlock(&gate, &past); }
static const struct { const char *name; int (*meet)(void); } faults[] = {
  {"heap", heap}, {"crowd", crowd}, {"fork", child}, {"semaphore", semaphore}, {"named", named},
  {"helpers", helpers}, {"locked", locked}, {"numbers", numbers}, {"priority", priority}, {"robust", robust}, {"shared", shared}, {"timed", timed},
};
static void *work(void *id) {
  for (size_t n = 0; n < sizeof faults / sizeof *faults; n++)
    if (!strcmp(how, faults[n].name)) exit(faults[n].meet());
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
/* Computes for some seconds, by the kernel's clock. */
static void compute(int seconds) {
  struct timespec from, now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &from);
  do syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  while (now.tv_sec - from.tv_sec < seconds);
}
int main(int count, char **arguments) {
  pthread_t t;
  how = count > 1 ? arguments[1] : "segv";
  pthread_create(&t, NULL, work, NULL);
  if (!strcmp(how, "main")) return 7;
  if (!strcmp(how, "spin")) { sched_yield(), compute(8); return 0; }
  if (!strcmp(how, "late")) pthread_exit(NULL);
  pthread_join(t, NULL);
  return 1;
}
