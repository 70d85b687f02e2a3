/* Lock-heavy: threads insert into one hash table of lists, a lock for each part of it. */
#include "common.h"
#define BUCKETS 256
#define LOCKS 16
struct entry { struct entry *next; uint64_t word, page; };
static struct entry *table[BUCKETS];
static pthread_mutex_t locks[LOCKS];
static void *work(void *id) {
  uint64_t state = (uint64_t)(intptr_t)id + 1;
  for (int i = 0; i < rounds; i++) {
    struct entry *e = malloc(sizeof *e);
    e->page = (uint64_t)(intptr_t)id << 32 | (uint64_t)i, e->word = next_random(&state) % 1000;
    for (int k = 0; k < 300; k++) e->word = (e->word * 17 + 5) % 1000;
    unsigned bucket = (unsigned)(e->word % BUCKETS);
    pthread_mutex_lock(&locks[bucket % LOCKS]);
    e->next = table[bucket], table[bucket] = e;
    pthread_mutex_unlock(&locks[bucket % LOCKS]);
  }
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&locks[i], NULL);
  run(work);
  uint64_t hash = 0;
  for (int b = 0; b < BUCKETS; b++)
    for (struct entry *e = table[b]; e; e = e->next) hash = hash * 31 + (e->word ^ e->page);
  printf("%016lx\n", hash);
}
