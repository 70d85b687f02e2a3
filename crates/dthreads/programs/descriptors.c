/* Programs close what they know nothing of, and choose descriptors: threads live on. */
#define _GNU_SOURCE
#include "common.h"
#include <assert.h>
#include <errno.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counter;
static void *work(void *id) {
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
  }
  free(calloc(1, 1 << 20));
  return id;
}
static void close_each(void) {
  for (int file = 3; file < 10000; file++) close(file);
}
static void close_all(void) { closefrom(3); }
static void close_most(void) { assert(!close_range(3, ~0U, 0)); }
static void replace(void) {
  for (int file = 3; file < 40; file++) assert(dup2(1, file) == file);
}
static void *closes(void *which) {
  ((void (*)(void))which)();
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  void (*const all[])(void) = {close_each, close_all, close_most, replace, close_all};
  for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
    pthread_t thread;
    all[n]();
    run(work);
    pthread_create(&thread, NULL, closes, (void *)all[n]), pthread_join(thread, NULL);
    run(work);
    int next = dup(1);
    printf("%ld, next is %d\n", counter, next);
    close(next);
  }
  assert(close(3) == -1 && errno == EBADF);
}
