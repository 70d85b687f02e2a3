/* Racy by design, as canneal of PARSEC: threads swap places of elements without a lock if that shortens the way. */
#include "common.h"
#define ELEMENTS 4096
static int place[ELEMENTS];
static pthread_barrier_t barrier;
static long cost(int element, int at) {
  int next = place[(element + 1) % ELEMENTS], before = place[(element + ELEMENTS - 1) % ELEMENTS];
  return labs((long)at - next) + labs((long)at - before);
}
static void *work(void *id) {
  uint64_t state = (uint64_t)(intptr_t)id * 77 + 1;
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < 400; i++) {
      int a = (int)(next_random(&state) % ELEMENTS), b = (int)(next_random(&state) % ELEMENTS);
      int at_a = place[a], at_b = place[b];
      if (cost(a, at_b) + cost(b, at_a) < cost(a, at_a) + cost(b, at_b)) place[a] = at_b, place[b] = at_a;
    }
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  uint64_t state = 3;
  for (int i = 0; i < ELEMENTS; i++) place[i] = (int)(next_random(&state) % ELEMENTS);
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  run(work);
  long sum = 0;
  uint64_t hash = 0;
  for (int i = 0; i < ELEMENTS; i++) sum += cost(i, place[i]), hash = hash * 31 + (uint64_t)place[i];
  printf("%ld %016lx\n", sum, hash);
}
