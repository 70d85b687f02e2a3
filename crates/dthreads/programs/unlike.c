// What no two runs have in common: the process id, printed and locked as often. `check` says so.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
  int id = (int)getpid();
  for (int n = 0; n < id % 1009; n++) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }
  printf("%d\n", id);
  return 0;
}
