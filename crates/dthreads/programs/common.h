/* What the programs share: they are started with the number of threads and of rounds. */
#ifndef COMMON_H
#define COMMON_H
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define MOST 16
static int threads = 4, rounds = 1000;
static inline void start(int count, char **arguments) {
  if (count > 1) threads = atoi(arguments[1]);
  if (count > 2) rounds = atoi(arguments[2]);
  if (threads < 1 || threads > MOST) exit(2);
}
static inline void run(void *(*work)(void *)) {
  pthread_t all[MOST];
  for (intptr_t i = 0; i < threads; i++)
    if (pthread_create(&all[i], NULL, work, (void *)i)) exit(3);
  for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
}
static inline uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}
#endif
