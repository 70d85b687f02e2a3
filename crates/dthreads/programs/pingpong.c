/* Two threads answer each other through pipes: whenever one waits in read, the other comes back; no third is ready. */
#include "common.h"
#include <assert.h>
#include <unistd.h>
static int ends[2][2];
static void *answers(void *which) {
  const intptr_t me = (intptr_t)which;
  char ball = 0;
  for (int i = 0; i < rounds; i++) {
    if (me == 0 || i > 0) assert(write(ends[me][1], &ball, 1) == 1);
    assert(read(ends[!me][0], &ball, 1) == 1);
    ball++;
  }
  if (me == 1) assert(write(ends[me][1], &ball, 1) == 1);
  return (void *)(intptr_t)ball;
}
int main(int count, char **arguments) {
  start(count, arguments);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) assert(pipe(ends[i]) == 0);
  for (intptr_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, answers, (void *)i);
  for (int i = 0; i < 2; i++) {
    void *ball;
    pthread_join(threads[i], &ball);
    printf("%d\n", (int)(intptr_t)ball);
  }
  return 0;
}
