/* The calls of POSIX threads, each with what POSIX says of it. */
#define _GNU_SOURCE
#include "common.h"
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, checked;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t both = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t sem;
static int onces, destroyed, cleaned, shared, go, ended;
static __thread int own = 5;
static void init(void) { onces++; }
static void destroy(void *value) { destroyed += *(int *)value; free(value); }
static void clean(void *value) { cleaned += (int)(intptr_t)value; }
static void *other(void *argument) {
  assert(own == 5);
  own = 6;
  pthread_once(&once, init);
  int *value = malloc(sizeof *value);
  *value = 3;
  assert(pthread_getspecific(key) == NULL);
  pthread_setspecific(key, value);
  assert(pthread_mutex_trylock(&plain) == EBUSY);
  assert(pthread_mutex_unlock(&checked) == EPERM);
  assert(pthread_rwlock_tryrdlock(&both) == 0);
  assert(pthread_rwlock_trywrlock(&both) == EBUSY);
  pthread_rwlock_unlock(&both);
  assert(sem_trywait(&sem) == -1 && errno == EAGAIN);
  *(int *)argument = 77; /* on main's stack */
  sem_post(&sem);
  pthread_mutex_lock(&again);
  go = 1;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&again);
  pthread_cleanup_push(clean, (void *)2);
  pthread_cleanup_push(clean, (void *)1);
  pthread_exit((void *)123);
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return NULL;
}
static void *grand(void *argument) { *(int *)argument += 1; return NULL; }
static void *sleeper(void *argument) { usleep(200); *(volatile int *)argument = 1; return NULL; }
static void *leaves(void *argument) { pthread_exit(argument); }
/* What a thread-local variable of C++ with a destructor calls. */
extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle __attribute__((visibility("hidden")));
static void count_end(void *value) { ++*(int *)value; }
static void *parent(void *argument) {
  int mine = 10;
  pthread_t child;
  __cxa_thread_atexit_impl(count_end, &ended, &__dso_handle);
  pthread_create(&child, NULL, grand, &mine);
  pthread_join(child, NULL);
  assert(ended == 0);
  *(int *)argument = mine;
  return NULL;
}
static void *forever(void *argument) { (void)argument; pthread_mutex_lock(&plain); pthread_mutex_unlock(&plain); return NULL; }
static void *locker(void *argument) { for (int i = 0; i < 100; i++) { pthread_spin_lock(&spin); shared++; pthread_spin_unlock(&spin); } return argument; }
int main(void) {
  pthread_t t;
  void *result;
  int local = 0;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&checked, &attributes);
  pthread_key_create(&key, destroy);
  pthread_spin_init(&spin, 0);
  sem_init(&sem, 0, 0);
  assert(pthread_mutex_lock(&checked) == 0 && pthread_mutex_lock(&checked) == EDEADLK);
  pthread_mutex_lock(&plain);
  pthread_rwlock_rdlock(&both);
  own = 9;
  assert(pthread_create(&t, NULL, other, &local) == 0);
  assert(pthread_mutex_lock(&again) == 0 && pthread_mutex_lock(&again) == 0);
  while (!go) pthread_cond_wait(&cond, &again);
  assert(pthread_mutex_unlock(&again) == 0 && pthread_mutex_unlock(&again) == 0);
  assert(pthread_mutex_unlock(&again) == EPERM);
  assert(pthread_join(t, &result) == 0 && result == (void *)123 && local == 77 && own == 9);
  assert(pthread_join(t, &result) == ESRCH && pthread_join(pthread_self(), NULL) == EDEADLK);
  assert(onces == 1 && destroyed == 3 && cleaned == 3 && pthread_once(&once, init) == 0 && onces == 1);
  assert(sem_wait(&sem) == 0);
  pthread_rwlock_unlock(&both);
  pthread_mutex_unlock(&plain);
  pthread_mutex_unlock(&checked);
  /* A thread's stack is seen by its children, and main's by all. */
  pthread_create(&t, NULL, parent, &local);
  pthread_join(t, NULL);
  assert(local == 11 && ended == 1);
  /* A new thread has none of its creator's cleanup handlers. */
  pthread_cleanup_push(clean, (void *)100);
  pthread_create(&t, NULL, leaves, (void *)5);
  assert(pthread_join(t, &result) == 0 && result == (void *)5 && cleaned == 3);
  pthread_cleanup_pop(0);
  /* A deadline comes while others run. */
  volatile int woken = 0;
  pthread_create(&t, NULL, sleeper, (void *)&woken);
  while (!woken) sched_yield();
  pthread_join(t, NULL);
  /* Calls that succeed leave errno alone. */
  errno = 99;
  sched_yield();
  usleep(1);
  assert(errno == 99 && pthread_kill(pthread_self(), 0) == 0);
  /* Waits with a deadline end by virtual time. */
  struct timespec now, then;
  clock_gettime(CLOCK_REALTIME, &now);
  then = now, then.tv_sec += 3600;
  pthread_mutex_lock(&plain);
  assert(pthread_cond_timedwait(&cond, &plain, &then) == ETIMEDOUT);
  clock_gettime(CLOCK_REALTIME, &now);
  assert(now.tv_sec >= then.tv_sec);
  pthread_create(&t, NULL, forever, NULL);
  assert(pthread_tryjoin_np(t, NULL) == EBUSY);
  now.tv_sec += 5;
  assert(pthread_timedjoin_np(t, NULL, &now) == ETIMEDOUT);
  pthread_mutex_unlock(&plain);
  pthread_join(t, NULL);
  sleep(1000);
  pthread_t many[8];
  for (int i = 0; i < 8; i++) pthread_create(&many[i], NULL, locker, NULL);
  for (int i = 0; i < 8; i++) pthread_join(many[i], NULL);
  assert(shared == 800);
  int *map = mmap(NULL, 100000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert(map != MAP_FAILED && ((uintptr_t)map & 4095) == 0 && map[20000] == 0 && munmap(map, 100000) == 0);
  char *text = strdup("grows");
  for (int n = 16; n < 1 << 20; n *= 2) text = realloc(text, (size_t)n);
  assert(strcmp(text, "grows") == 0);
  puts("all good");
}
