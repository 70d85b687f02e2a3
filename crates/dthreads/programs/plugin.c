/* A library that plugins.c loads: its variables are those of all threads, but for the thread-local ones. */
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counts[2048] = {41};
static _Thread_local long own = 7, many[1024];
long count(long more) {
  pthread_mutex_lock(&lock);
  long now = counts[0] += more;
  counts[2047] += more;
  pthread_mutex_unlock(&lock);
  return now + counts[2047];
}
long keep(long more) { return many[1023] += own += more; }
