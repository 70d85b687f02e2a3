// The calls with a time, and those that are asked for seldom. Each result is checked.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t start;
static pthread_spinlock_t spin;
static sem_t empty;

#define CHECK(is_true) \
  if (!(is_true)) fprintf(stderr, "line %d: " #is_true "\n", __LINE__), exit(1)

static struct timespec *in(long millis) {
  static _Thread_local struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += millis % 1000 * 1000000;
  time.tv_sec += millis / 1000 + time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return &time;
}

// Main holds all that is waited for.
static void *wait_in_vain(void *argument) {
  CHECK(pthread_mutex_timedlock(&lock, in(5)) == ETIMEDOUT);
  CHECK(pthread_mutex_clocklock(&lock, CLOCK_REALTIME, in(5)) == ETIMEDOUT);
  CHECK(pthread_rwlock_timedrdlock(&shared, in(5)) == ETIMEDOUT);
  CHECK(pthread_rwlock_timedwrlock(&shared, in(5)) == ETIMEDOUT);
  CHECK(pthread_rwlock_tryrdlock(&shared) == EBUSY && pthread_rwlock_trywrlock(&shared) == EBUSY);
  CHECK(pthread_spin_trylock(&spin) == EBUSY);
  CHECK(sem_timedwait(&empty, in(5)) == -1 && errno == ETIMEDOUT);
  CHECK(sem_clockwait(&empty, CLOCK_REALTIME, in(5)) == -1 && errno == ETIMEDOUT);
  pthread_barrier_wait(&start);
  CHECK(pthread_mutex_timedlock(&lock, in(60000)) == 0);
  CHECK(pthread_cond_clockwait(&never, &lock, CLOCK_REALTIME, in(5)) == ETIMEDOUT);
  CHECK(pthread_mutex_unlock(&lock) == 0);
  CHECK(pthread_rwlock_clockwrlock(&shared, CLOCK_REALTIME, in(60000)) == 0);
  CHECK(pthread_rwlock_unlock(&shared) == 0);
  return argument;
}

static void *end_by_itself(void *argument) {
  CHECK(pthread_detach(pthread_self()) == 0);
  CHECK(sem_post(argument) == 0);
  return NULL;
}

int main(int count, char **arguments) {
  int threads = count > 1 ? atoi(arguments[1]) : 4;
  pthread_t all[64], alone;
  pthread_key_t key;
  pthread_attr_t small;
  CHECK(pthread_key_create(&key, NULL) == 0 && pthread_setspecific(key, &key) == 0);
  CHECK(pthread_getspecific(key) == &key && pthread_key_delete(key) == 0);
  CHECK(pthread_spin_init(&spin, 0) == 0 && sem_init(&empty, 0, 0) == 0);
  pthread_barrier_init(&start, NULL, threads + 1);
  pthread_mutex_lock(&lock), pthread_rwlock_wrlock(&shared), pthread_spin_lock(&spin);
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 1 << 17) == 0);
  for (int n = 0; n < threads; n++) CHECK(pthread_create(&all[n], &small, wait_in_vain, &start) == 0);
  pthread_barrier_wait(&start);
  pthread_mutex_unlock(&lock), pthread_rwlock_unlock(&shared), pthread_spin_unlock(&spin);
  for (int n = 0; n < threads; n++) {
    void *result;
    CHECK(pthread_join(all[n], &result) == 0 && result == &start);
  }
  CHECK(pthread_create(&alone, NULL, end_by_itself, &empty) == 0 && sem_wait(&empty) == 0);
  // What a program measures of itself is the same in every run, too.
  struct rusage usage;
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  long other = usage.ru_majflt + usage.ru_nvcsw;
  printf("%ld %ld %ld %d\n", (long)clock(), (long)usage.ru_utime.tv_usec, other, sched_getcpu());
  puts("all timed out");
  return 0;
}
