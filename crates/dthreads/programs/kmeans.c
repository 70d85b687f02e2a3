/* Fork-join: threads are created and joined in every round. */
#include "common.h"
#define POINTS 20000
#define MEANS 8
static double x[POINTS], y[POINTS], mx[MEANS], my[MEANS];
static struct { double x[MEANS], y[MEANS]; long n[MEANS]; char pad[4096]; } part[MOST];
static void *work(void *id) {
  int me = (int)(intptr_t)id;
  memset(&part[me], 0, sizeof part[me]);
  for (long i = (long)POINTS * me / threads; i < (long)POINTS * (me + 1) / threads; i++) {
    int best = 0;
    double least = 1e300;
    for (int k = 0; k < MEANS; k++) {
      double d = (x[i] - mx[k]) * (x[i] - mx[k]) + (y[i] - my[k]) * (y[i] - my[k]);
      if (d < least) least = d, best = k;
    }
    part[me].x[best] += x[i], part[me].y[best] += y[i], part[me].n[best]++;
  }
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  uint64_t state = 11;
  for (int i = 0; i < POINTS; i++) x[i] = next_random(&state) % 1000, y[i] = next_random(&state) % 1000;
  for (int k = 0; k < MEANS; k++) mx[k] = x[k], my[k] = y[k];
  for (int round = 0; round < rounds; round++) {
    run(work);
    for (int k = 0; k < MEANS; k++) {
      double sx = 0, sy = 0;
      long n = 0;
      for (int t = 0; t < threads; t++) sx += part[t].x[k], sy += part[t].y[k], n += part[t].n[k];
      if (n) mx[k] = sx / (double)n, my[k] = sy / (double)n;
    }
  }
  for (int k = 0; k < MEANS; k++) printf("%.6f %.6f\n", mx[k], my[k]);
}
