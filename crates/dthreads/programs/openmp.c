/* A sum by OpenMP, whose threads wait for each other by atomic operations. */
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **arguments) {
  int threads = count > 1 ? atoi(arguments[1]) : 4;
  long sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
  for (long i = 0; i < 1000; i++) sum += i;
  printf("%ld\n", sum);
}
