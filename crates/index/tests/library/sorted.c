/*
 * A sorted array as an index, and what can be wrong with one: each test builds it with -D of what it is to be or to do.
 *
 *   BY_HASH      in the order of hashes, with iteration alone
 *   CONCURRENT   with a mutex of its own, and now and then a pause behind it, for others to come between: concurrent
 *                writers
 *   ALONE        one call at a time, readers too
 *   NOT_DESTROYED  ends the process when a table is destroyed: that of an index that has failed is not
 *   FAULT_...    wrong; see where it stands
 */
#include <fyris_index.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
  fyris_index_key key;
  uint64_t word;
} entry;

typedef struct array {
  pthread_mutex_t lock;
  size_t count, room;
  entry *entries;
  /* The last word that was removed, for the faults. */
  uint64_t removed;
} array;

static void enter(array *array) {
#ifdef CONCURRENT
  pthread_mutex_lock(&array->lock);
#else
  (void)array;
#endif
}

static void leave(array *array) {
#ifdef CONCURRENT
  /* Not after each call: on a busy machine a pause can be as long as all else that runs wants. */
  static _Thread_local unsigned calls;
  pthread_mutex_unlock(&array->lock);
  if (++calls % 16 == 0) sched_yield();
#else
  (void)array;
#endif
}

static int order(const fyris_index_key *a, const fyris_index_key *b) {
#ifdef BY_HASH
  if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
#endif
  size_t shared = a->length < b->length ? a->length : b->length;
  int order = shared == 0 ? 0 : memcmp(a->bytes, b->bytes, shared);
  if (order != 0) return order;
  return a->length < b->length ? -1 : a->length > b->length;
}

/* Returns the number of keys below `key`, or at and below it. */
static size_t below_key(const array *array, const fyris_index_key *key, int and_at) {
  size_t low = 0, high = array->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int found = order(&array->entries[middle].key, key);
    if (found < 0 || (found == 0 && and_at)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Returns the place of a key; that behind the last one if it is not there. */
static size_t find(const array *array, const fyris_index_key *key) {
  size_t at = below_key(array, key, 0);
  return at < array->count && order(&array->entries[at].key, key) == 0 ? at : array->count;
}

static void *create(size_t capacity) {
  (void)capacity;
#ifdef FAULT_CREATE
  return NULL;
#else
  array *array = calloc(1, sizeof *array);
  if (array != NULL) pthread_mutex_init(&array->lock, NULL);
  return array;
#endif
}

static void destroy(void *table) {
#ifdef NOT_DESTROYED
  abort();
#endif
  array *array = table;
  pthread_mutex_destroy(&array->lock);
  free(array->entries);
  free(array);
}

#ifdef FAULT_UNDEFINED /* a function that is nowhere */
extern void fyris_nowhere(void);
#endif

static uint64_t get(void *table, const fyris_index_key *key) {
  array *array = table;
#ifdef FAULT_UNDEFINED
  fyris_nowhere();
#endif
  enter(array);
  size_t at = find(array, key);
  uint64_t word = at < array->count ? array->entries[at].word : 0;
#if defined(FAULT_WORD) /* a word of its own making */
  if (word != 0) word += FAULT_WORD;
#elif defined(FAULT_OTHER) /* the first key, whatever it was asked for */
  if (array->count > 0) word = array->entries[0].word;
#elif defined(FAULT_REMOVED) /* what has been removed */
  if (word == 0) word = array->removed;
#elif defined(FAULT_LOST) /* the third key is not found */
  if (array->count >= 3) word = 0;
#endif
  leave(array);
  return word;
}

static int insert(void *table, const fyris_index_key *key, uint64_t word) {
  array *array = table;
  enter(array);
#ifdef FAULT_REFUSED
  if (array->count == 2) {
    leave(array);
    return 77;
  }
#endif
#ifdef FAULT_FORGETS
  if (array->count == 2) {
    leave(array);
    return 0;
  }
#endif
  if (array->count == array->room) {
    array->room = array->room == 0 ? 8 : 2 * array->room;
    array->entries = realloc(array->entries, array->room * sizeof(entry));
    if (array->entries == NULL) abort();
  }
  size_t at = below_key(array, key, 0);
  memmove(&array->entries[at + 1], &array->entries[at], (array->count - at) * sizeof(entry));
  array->entries[at].key = *key;
  array->entries[at].word = word;
  array->count++;
  leave(array);
  return 0;
}

static uint64_t take(void *table, const fyris_index_key *key) {
  array *array = table;
  enter(array);
  size_t at = find(array, key);
  uint64_t word = 0;
  if (at < array->count) {
    word = array->entries[at].word;
    array->removed = word;
    array->count--;
    memmove(&array->entries[at], &array->entries[at + 1], (array->count - at) * sizeof(entry));
  }
#ifdef FAULT_REMOVE
  word = 0;
#endif
  leave(array);
  return word;
}

static size_t length(void *table) {
  array *array = table;
  enter(array);
  size_t count = array->count;
  leave(array);
#ifdef FAULT_LENGTH
  if (count == 3) count++;
#endif
  return count;
}

static size_t above(void *table, const fyris_index_key *from, int inclusive, uint64_t *words, size_t most) {
  array *array = table;
  size_t written = 0;
  enter(array);
  size_t at = from == NULL ? 0 : below_key(array, from, !inclusive);
#ifdef FAULT_BACKWARDS
  while (at < array->count && written < most) words[written++] = array->entries[array->count - ++at].word;
#elif defined(FAULT_ENDLESS) /* the first key again and again */
  while (array->count > 0 && written < most) words[written++] = array->entries[0].word;
#elif defined(FAULT_SKIPS)
  if (from == NULL) at++;
#elif defined(FAULT_MADE_UP)
  for (; written < most; written++) words[written] = 0x1234500000000 + written;
#endif
  while (at < array->count && written < most) words[written++] = array->entries[at++].word;
  leave(array);
#ifdef FAULT_MANY
  return most + 1;
#else
  return written;
#endif
}

#ifndef BY_HASH
static size_t below(void *table, const fyris_index_key *from, int inclusive, uint64_t *words, size_t most) {
  array *array = table;
  size_t written = 0;
  enter(array);
  size_t at = from == NULL ? array->count : below_key(array, from, inclusive);
  while (at > 0 && written < most) words[written++] = array->entries[--at].word;
  leave(array);
  return written;
}
#endif

static const fyris_index_ops ops = {
#ifdef FAULT_VERSION
    .version = 2,
#else
    .version = FYRIS_INDEX_VERSION,
#endif
#ifdef FAULT_SIZE
    .size = 24,
#else
    .size = sizeof(fyris_index_ops),
#endif
    .capabilities = 0
#ifdef BY_HASH
                    | FYRIS_INDEX_ITERATION
#else
                    | FYRIS_INDEX_ORDER
#endif
#ifdef CONCURRENT
                    | FYRIS_INDEX_CONCURRENT_WRITERS
#elif !defined(ALONE)
                    | FYRIS_INDEX_CONCURRENT_READERS
#endif
#ifdef FAULT_CAPABILITIES
                    | 0x100
#endif
    ,
    .create = create,
    .destroy = destroy,
#ifndef FAULT_FUNCTION
    .get = get,
#endif
    .insert = insert,
    .remove = take,
    .length = length,
#ifndef FAULT_ABOVE
    .above = above,
#endif
#if !defined(BY_HASH) && !defined(FAULT_BELOW)
    .below = below,
#endif
};

#ifdef FAULT_SYMBOL
const fyris_index_ops *fyris_index_v2(void) {
#else
const fyris_index_ops *fyris_index_v1(void) {
#endif
#ifdef FAULT_FUNCTIONS
  return ops.version == 0 ? &ops : NULL;
#else
  return &ops;
#endif
}
