/* Data-parallel: counts bytes. With a third argument the counters of all threads are next to each other. */
#include "common.h"
#define LEN (1 << 22)
static unsigned char *bytes;
static int adjacent;
static struct { long apart[256]; char pad[4096]; } own[MOST];
static volatile long close_by[256][MOST];
static void *work(void *id) {
  int me = (int)(intptr_t)id;
  for (int round = 0; round < rounds; round++)
    for (long i = (long)LEN * me / threads; i < (long)LEN * (me + 1) / threads; i++)
      if (adjacent) close_by[bytes[i]][me]++; else own[me].apart[bytes[i]]++;
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  adjacent = count > 3;
  uint64_t state = 7;
  bytes = malloc(LEN);
  for (long i = 0; i < LEN; i++) bytes[i] = (unsigned char)next_random(&state);
  run(work);
  long sum = 0;
  for (int b = 0; b < 256; b++)
    for (int t = 0; t < threads; t++) sum += (b + 1) * (adjacent ? close_by[b][t] : own[t].apart[b]);
  printf("%ld\n", sum);
}
