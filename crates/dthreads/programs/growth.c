/* Large blocks that grow step by step, and mappings of which parts are given back: what is freed is of use again,
   whatever the sizes. All of it would not fit into the heap at once. */
#define _GNU_SOURCE
#include "common.h"
#include <assert.h>
#include <sys/mman.h>
static const size_t page = 4096, million = 1 << 20;
/* Grows a block to `most` bytes while a small block, and one of another size, come and go. */
static void grow(size_t most) {
  char *all = NULL;
  size_t step = most / 64;
  for (size_t len = 0; len < most; len += step) {
    char *more = realloc(all, len + step), *other = malloc(len / 3 + 1);
    assert(more && other);
    all = more;
    if (len) assert(all[len - 1] == 7);
    all[len] = all[len + step - 1] = 7;
    free(other);
  }
  free(all);
}
/* Maps twice what is wanted and gives the ends back, for an alignment; what comes is zeros. */
static void trim(size_t len) {
  char *all = mmap(NULL, 2 * len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert(all != MAP_FAILED && !all[0] && !all[len] && !all[2 * len - 1]);
  memset(all, 1, page);
  all[len] = all[2 * len - 1] = 1;
  char *part = (char *)(((uintptr_t)all + len - 1) & ~(len - 1));
  if (part > all) assert(!munmap(all, part - all));
  assert(!munmap(part + len, all + len - part));
  *part = 1;
  char *more = mremap(part, len, len + page, MREMAP_MAYMOVE);
  assert(more != MAP_FAILED && *more == 1 && !more[len]);
  assert(!munmap(more, len + page));
}
static void *work(void *id) {
  size_t most = (8 + 4 * (intptr_t)id) * million;
  for (int i = 0; i < rounds; i++) {
    grow(most);
    trim(million << i % 3);
  }
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  if (count > 3) {
    grow((size_t)atoi(arguments[3]) * million);
    grow((size_t)atoi(arguments[3]) * million);
  }
  run(work);
  puts("all good");
}
