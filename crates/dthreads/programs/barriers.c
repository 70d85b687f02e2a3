/* Phases between barriers, each reading what the neighbours wrote in the one before. */
#include "common.h"
#define CELLS 4096
static double cells[2][CELLS];
static pthread_barrier_t barrier;
static int serial;
static void *work(void *id) {
  int me = (int)(intptr_t)id;
  for (int round = 0; round < rounds; round++) {
    double *from = cells[round % 2], *to = cells[(round + 1) % 2];
    for (int i = CELLS * me / threads; i < CELLS * (me + 1) / threads; i++)
      to[i] = (from[(i + CELLS - 1) % CELLS] + from[i] + from[(i + 1) % CELLS]) / 3;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
  }
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  uint64_t state = 9;
  for (int i = 0; i < CELLS; i++) cells[0][i] = (double)(next_random(&state) % 1000);
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  run(work);
  double sum = 0;
  for (int i = 0; i < CELLS; i++) sum += cells[rounds % 2][i] * i;
  printf("%.6f, %d\n", sum, serial);
}
