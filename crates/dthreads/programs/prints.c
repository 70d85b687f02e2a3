// Threads that print, with the addresses of what each has been given: every line once, whole, and at the same place.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int rounds;

static void *work(void *argument) {
  char local;
  for (int n = 0; n < rounds; n++) {
    char *block = malloc(100 + (uintptr_t)argument);
    memset(block, n, 100);
    void *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages = mremap(pages, 8192, 16384, MREMAP_MAYMOVE);
    void *aligned = aligned_alloc(256, 512);
    if (pages == MAP_FAILED || (uintptr_t)aligned % 256) exit(1);
    *((char *)pages + 16383) = 1;
    printf("thread %d round %d %p %p %p %p\n", (int)(uintptr_t)argument, n, (void *)block, pages, aligned, (void *)&local);
    if (n % 2) free(block);
    munmap(pages, 16384);
  }
  return NULL;
}

int main(int count, char **arguments) {
  int threads = count > 1 ? atoi(arguments[1]) : 8;
  rounds = count > 2 ? atoi(arguments[2]) : 20;
  pthread_t all[64];
  for (int n = 0; n < threads; n++) pthread_create(&all[n], NULL, work, (void *)(uintptr_t)n);
  for (int n = 0; n < threads; n++) pthread_join(all[n], NULL);
  return 0;
}
