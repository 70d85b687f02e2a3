/* A library that is loaded before threads are created, and again and again: its variables are shared, thread-local ones
   are each thread's. With twenty copies of it the loader's table of thread-local variables moves to the heap. "late":
   two threads load it, each for itself. */
#include "common.h"
#include <assert.h>
#include <dlfcn.h>
#include <unistd.h>
static long (*count)(long), (*keep)(long);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *path;
static long sum;
static void *load(void) {
  void *library = dlopen(path, RTLD_NOW);
  if (!library) printf("%s\n", dlerror()), exit(1);
  count = (long (*)(long))dlsym(library, "count");
  keep = (long (*)(long))dlsym(library, "keep");
  return library;
}
static void load_copies(void) {
  for (int i = 0; i < 20; i++) {
    char copy[4096], command[9000];
    snprintf(copy, sizeof copy, "%s.%d", path, i);
    snprintf(command, sizeof command, "cp '%s' '%s'", path, copy);
    if (system(command)) exit(1);
    long (*keeps)(long) = (long (*)(long))dlsym(dlopen(copy, RTLD_NOW), "keep");
    assert(keeps(i) == 7 + i);
    unlink(copy);
  }
}
static void *work(void *id) {
  long kept = 0;
  for (int i = 0; i < rounds; i++) count(1), kept = keep((intptr_t)id);
  pthread_mutex_lock(&lock);
  sum += kept;
  pthread_mutex_unlock(&lock);
  return NULL;
}
static void *loads(void *id) {
  pthread_mutex_lock(&lock);
  load();
  pthread_mutex_unlock(&lock);
  return id;
}
int main(int count_of, char **arguments) {
  start(count_of, arguments);
  path = arguments[3];
  if (count_of > 4) return run(loads), 0;
  load_copies();
  void *library = load();
  assert(keep(100) == 107 && count(1) == 43);
  for (int round = 0; round < 3; round++) {
    run(work);
    /* It stays as it is: a plain program would not close what its threads use. */
    assert(dlopen(path, RTLD_NOW) == library && !dlclose(library));
  }
  printf("%ld %ld %ld\n", count(0), keep(0), sum);
}
