/* Racy: initialised at first use, looked at without a lock. The number of initialisations shows. */
#include "common.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int *volatile shared;
static volatile int made, early;
static void *work(void *id) {
  for (int i = 0; i < rounds; i++) {
    if (!shared) {
      early++;
      pthread_mutex_lock(&lock);
      if (!shared) {
        shared = malloc(sizeof *shared);
        *shared = (int)(intptr_t)id;
        made++;
      }
      pthread_mutex_unlock(&lock);
    }
    if (i % 7 == 0) {
      pthread_mutex_lock(&lock);
      if (shared) free((void *)shared);
      shared = NULL;
      pthread_mutex_unlock(&lock);
    }
  }
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  run(work);
  printf("made %d, early %d\n", made, early);
}
