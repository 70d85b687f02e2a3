// Calls that are asked for seldom, each with what POSIX or Linux says of it; every thread does all, beside the others.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MOST 16
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t both = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t all_here;
static sem_t ended, may_end, wanted, given;
static int destroyed, written, spun, turn_of, threads;
static pthread_t ids[MOST];

static struct timespec after(int seconds, clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_sec += seconds;
  return time;
}

static void count_destroyed(void *value) { (void)value; destroyed++; }

static void *by_itself(void *is_joinable) {
  assert(is_joinable == NULL || pthread_detach(pthread_self()) == 0);
  sem_wait(&may_end);
  sem_post(&ended);
  return NULL;
}

// A thread is detached by its creator, by itself, or from the start, once; it cannot be joined then.
static void detach(void) {
  pthread_t t;
  pthread_attr_t attributes;
  assert(pthread_create(&t, NULL, by_itself, NULL) == 0 && pthread_detach(t) == 0);
  assert(pthread_detach(t) == EINVAL && pthread_join(t, NULL) == EINVAL);
  pthread_attr_init(&attributes);
  assert(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
  assert(pthread_create(&t, &attributes, by_itself, NULL) == 0 && pthread_join(t, NULL) == EINVAL);
  assert(pthread_create(&t, NULL, by_itself, &ended) == 0);
  for (int n = 0; n < 3; n++) sem_post(&may_end);
  for (int n = 0; n < 3; n++) sem_wait(&ended);
}

// The stack is as large as was asked for: all of it but a reserve is written to.
static void *deep(void *argument) {
  char large[(3 << 20) - 65536];
  memset(large, 7, sizeof large);
  *(char *)argument = large[sizeof large / 2];
  return NULL;
}

static void use_large_stack(void) {
  pthread_t t;
  pthread_attr_t attributes;
  size_t size;
  char seen = 0;
  pthread_attr_init(&attributes);
  assert(pthread_attr_setstacksize(&attributes, 1) == EINVAL);
  assert(pthread_attr_setstacksize(&attributes, 3 << 20) == 0);
  assert(pthread_attr_getstacksize(&attributes, &size) == 0 && size == 3 << 20);
  assert(pthread_create(&t, &attributes, deep, &seen) == 0 && pthread_join(t, NULL) == 0 && seen == 7);
}

// Threads name each other in a circle.
static void name(int me) {
  static const char *const names[] = {"one", "two", "three", "fifteen letters"};
  const char *mine = names[me % 4], *its = names[(me + 1) % threads % 4];
  pthread_t next = ids[(me + 1) % threads];
  char seen[16];
  assert(pthread_setname_np(next, its) == 0 && pthread_setname_np(next, "sixteen letters.") == ERANGE);
  pthread_barrier_wait(&all_here);
  assert(pthread_getname_np(pthread_self(), seen, sizeof seen) == 0 && !strcmp(seen, mine));
  assert(pthread_getname_np(next, seen, sizeof seen) == 0 && !strcmp(seen, its));
  assert(pthread_getname_np(next, seen, 3) == ERANGE);
}

// The value of a deleted key is not destroyed, and a new key at its place has no value.
static void delete_keys(void) {
  pthread_key_t key, fresh;
  assert(pthread_key_create(&key, count_destroyed) == 0 && pthread_setspecific(key, &key) == 0);
  assert(pthread_key_delete(key) == 0);
  assert(pthread_key_create(&fresh, count_destroyed) == 0 && pthread_getspecific(fresh) == NULL);
  assert(pthread_key_delete(fresh) == 0);
}

// Deadlines that are met: what is waited for comes before.
static void wait_in_time(void) {
  struct timespec time = after(1000, CLOCK_REALTIME);
  sem_post(&wanted);
  assert(sem_timedwait(&given, &time) == 0);
  assert(pthread_mutex_timedlock(&lock, &time) == 0 && pthread_mutex_unlock(&lock) == 0);
  time = after(1000, CLOCK_MONOTONIC);
  assert(pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &time) == 0 && pthread_mutex_unlock(&lock) == 0);
  time.tv_nsec = 1000000000;
  assert(sem_timedwait(&given, &time) == -1 && errno == EINVAL);
}

// Threads have their turns in the order of their numbers, which each waits for with a deadline.
static void wait_for_turn(int me) {
  struct timespec time = after(1000, CLOCK_MONOTONIC);
  pthread_mutex_lock(&lock);
  while (turn_of != me) assert(pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &time) == 0);
  turn_of++;
  pthread_cond_broadcast(&changed);
  time.tv_sec = 0;
  assert(pthread_cond_clockwait(&never, &lock, CLOCK_MONOTONIC, &time) == ETIMEDOUT);
  assert(pthread_mutex_trylock(&lock) == EBUSY && pthread_mutex_unlock(&lock) == 0);
}

// All read at once; then each writes alone.
static void read_and_write(void) {
  struct timespec now = after(0, CLOCK_REALTIME), later = after(1000, CLOCK_REALTIME);
  assert(pthread_rwlock_tryrdlock(&both) == 0);
  pthread_barrier_wait(&all_here);
  assert(pthread_rwlock_trywrlock(&both) == EBUSY);
  assert(pthread_rwlock_timedwrlock(&both, &now) == ETIMEDOUT);
  pthread_barrier_wait(&all_here);
  assert(pthread_rwlock_unlock(&both) == 0);
  assert(pthread_rwlock_timedwrlock(&both, &later) == 0);
  written++;
  assert(pthread_rwlock_unlock(&both) == 0 && pthread_rwlock_wrlock(&both) == 0);
  written++;
  assert(pthread_rwlock_unlock(&both) == 0);
}

static void spin_until_free(void) {
  for (int n = 0; n < 20; n++) {
    int error;
    while ((error = pthread_spin_trylock(&spin)) != 0) assert(error == EBUSY);
    spun++;
    assert(pthread_spin_unlock(&spin) == 0);
  }
}

static void align(void) {
  for (size_t to = 16; to <= 1 << 16; to *= 4) {
    void *third;
    char *first = memalign(to, 100), *second = aligned_alloc(to, to);
    assert(posix_memalign(&third, to, 5000) == 0);
    assert(((uintptr_t)first | (uintptr_t)second | (uintptr_t)third) % to == 0);
    assert(malloc_usable_size(first) >= 100 && malloc_usable_size(third) >= 5000);
    memset(first, 1, 100), memset(second, 2, to), memset(third, 3, 5000);
    first = realloc(first, 300000);
    assert(first[0] == 1 && first[99] == 1 && second[to - 1] == 2 && ((char *)third)[4999] == 3);
    free(first), free(second), free(third);
  }
  void *none;
  assert(posix_memalign(&none, 3, 8) == EINVAL);
}

// What was in it goes along, and what comes is zeros, also where memory was used before.
static void grow_mapping(void) {
  int how = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
  char *map = mmap(NULL, 8192, how, kind, -1, 0);
  assert(map != MAP_FAILED);
  memset(map, 5, 8192);
  for (size_t len = 8192; len < 1 << 20; len *= 2) {
    map = mremap(map, len, len * 2, MREMAP_MAYMOVE);
    assert(map != MAP_FAILED && (uintptr_t)map % 4096 == 0);
    assert(map[0] == 5 && map[len - 1] == 5 && map[len] == 0 && map[2 * len - 1] == 0);
    memset(map, 5, 2 * len);
  }
  map = mremap(map, 1 << 20, 4096, MREMAP_MAYMOVE);
  assert(map != MAP_FAILED && map[0] == 5 && map[4095] == 5 && munmap(map, 4096) == 0);
  map = mmap(NULL, 1 << 20, how, kind, -1, 0);
  for (int n = 0; n < 1 << 20; n += 512) assert(map[n] == 0);
  memset(map, 5, 1 << 20);
  assert(madvise(map + 4096, 8192, MADV_DONTNEED) == 0);
  assert(map[4095] == 5 && map[4096] == 0 && map[12287] == 0 && map[12288] == 5);
  assert(mremap(map, 1 << 20, 8192, 0) == map && map[0] == 5);
  assert(munmap(map, 8192) == 0);
}

// Blocks beside a mapping are not of its last page; what is shrunk and unmapped can be had again, for ever.
static void map_odd_lengths(void) {
  int how = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
  for (int n = 0; n < 20; n++) {
    char *map = mmap(NULL, 5000, how, kind, -1, 0), *block = malloc(100);
    memset(block, 7, 100), memset(map, 7, 8192);
    assert(madvise(map, SIZE_MAX - 100, MADV_DONTNEED) == -1 && madvise(map, (size_t)1 << 50, MADV_DONTNEED) == -1);
    assert(madvise(map, 5000, MADV_DONTNEED) == 0 && map[8191] == 0 && block[0] == 7 && block[99] == 7);
    free(block);
    assert(munmap(map, 5000) == 0);
  }
  for (int n = 0; n < 1000; n++) {
    char *map = mmap(NULL, 1 << 20, how, kind, -1, 0);
    assert(map != MAP_FAILED && mremap(map, 1 << 20, 1 << 16, 0) == map && munmap(map, 1 << 16) == 0);
  }
}

// As programs do that set all signals back when they begin or end.
static void ask_for_signals(void) {
  struct sigaction now;
  for (int number = 1; number <= SIGRTMAX; number++)
    if (number <= SIGSYS || number >= SIGRTMIN) {
      // Ignored are those that the parent ignores, as nohup does.
      assert(sigaction(number, NULL, &now) == 0 && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN));
    }
}

static void ask_for_clock(void) {
  clockid_t clock;
  struct timespec time;
  assert(pthread_getcpuclockid(pthread_self(), &clock) == 0 && clock_gettime(clock, &time) == 0);
  assert(pthread_setschedprio(pthread_self(), 0) == 0);
}

static void *work(void *argument) {
  int me = (int)(intptr_t)argument;
  pthread_barrier_wait(&all_here);
  detach();
  use_large_stack();
  name(me);
  delete_keys();
  wait_in_time();
  wait_for_turn(me);
  read_and_write();
  spin_until_free();
  align();
  grow_mapping();
  map_odd_lengths();
  ask_for_clock();
  ask_for_signals();
  return NULL;
}

int main(int count, char **arguments) {
  threads = count > 1 ? atoi(arguments[1]) : 4;
  assert(threads >= 1 && threads <= MOST);
  sem_init(&ended, 0, 0), sem_init(&may_end, 0, 0), sem_init(&wanted, 0, 0), sem_init(&given, 0, 0);
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  pthread_barrier_init(&all_here, NULL, (unsigned)threads);
  for (intptr_t n = 0; n < threads; n++) assert(pthread_create(&ids[n], NULL, work, (void *)n) == 0);
  for (int n = 0; n < threads; n++) assert(sem_wait(&wanted) == 0 && sem_post(&given) == 0);
  for (int n = 0; n < threads; n++) assert(pthread_join(ids[n], NULL) == 0);
  assert(destroyed == 0 && written == 2 * threads && spun == 20 * threads && turn_of == threads);
  puts("all good");
  return 0;
}
