/* A pipeline of three stages over bounded queues: many small critical sections; blocks are freed by other threads. */
#include "common.h"
#define ROOM 16
struct block { uint64_t number, sum; char bytes[256]; };
struct queue { pthread_mutex_t lock; pthread_cond_t changed; struct block *items[ROOM]; int head, len, sources; };
static struct queue first = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0, 1};
static struct queue second = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0, 0};
static uint64_t order;
static void put(struct queue *q, struct block *b) {
  pthread_mutex_lock(&q->lock);
  while (q->len == ROOM) pthread_cond_wait(&q->changed, &q->lock);
  q->items[(q->head + q->len++) % ROOM] = b;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
}
static struct block *take(struct queue *q) {
  struct block *b = NULL;
  pthread_mutex_lock(&q->lock);
  while (!q->len && q->sources) pthread_cond_wait(&q->changed, &q->lock);
  if (q->len) b = q->items[q->head], q->head = (q->head + 1) % ROOM, q->len--;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
  return b;
}
static void close_one(struct queue *q) {
  pthread_mutex_lock(&q->lock);
  q->sources--;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
}
static void *middle(void *id) {
  (void)id;
  for (struct block *b; (b = take(&first));) {
    for (int k = 0; k < 20; k++)
      for (unsigned i = 0; i < sizeof b->bytes; i++) b->sum = b->sum * 31 + (unsigned char)b->bytes[i];
    put(&second, b);
  }
  close_one(&second);
  return NULL;
}
static void *last(void *id) {
  (void)id;
  for (struct block *b; (b = take(&second)); free(b)) order = order * 37 + (b->number ^ b->sum);
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  pthread_t all[MOST], end;
  uint64_t state = 5;
  second.sources = threads;
  for (intptr_t i = 0; i < threads; i++) pthread_create(&all[i], NULL, middle, (void *)i);
  pthread_create(&end, NULL, last, NULL);
  for (int i = 0; i < rounds; i++) {
    struct block *b = malloc(sizeof *b);
    b->number = (uint64_t)i, b->sum = 0;
    for (unsigned k = 0; k < sizeof b->bytes; k++) b->bytes[k] = (char)next_random(&state);
    put(&first, b);
  }
  close_one(&first);
  for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
  pthread_join(end, NULL);
  printf("%016lx\n", order);
}
