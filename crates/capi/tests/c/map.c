/* Every call with maps; two processes that write; nonsense. */
#include <fyris.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static fyris_error err;
static char name[64];

static void expect(int line, int good) {
  if (!good) {
    fprintf(stderr, "map.c:%d: last error %d: %.*s\n", line, err.code, FYRIS_ERROR_TEXT, err.text);
    fyris_segment_unlink(name, NULL);
    exit(1);
  }
}
#define EXPECT(good) expect(__LINE__, (good))
#define DO(call) expect(__LINE__, (call) == FYRIS_OK)
#define SAYS(call, wanted) \
  expect(__LINE__, (memset(&err, 0x55, sizeof err), (call) == (wanted) && err.code == (wanted)))

static void put(fyris_map *map, const char *key, const char *value) {
  DO(fyris_map_insert(map, key, strlen(key), value, strlen(value), &err));
}

static int is(fyris_map *map, const char *key, const char *wanted) {
  const uint8_t *value;
  size_t len;
  DO(fyris_map_get(map, key, strlen(key), &value, &len, &err));
  if (wanted == NULL) return value == NULL;
  return value != NULL && len == strlen(wanted) && memcmp(value, wanted, len) == 0;
}

static int key_is(const fyris_entry *entry, const char *wanted) {
  if (wanted == NULL) return entry->key == NULL;
  return entry->key != NULL && entry->key_len == strlen(wanted) &&
         memcmp(entry->key, wanted, entry->key_len) == 0;
}

/* Adds one to a counter, and remembers how often it was run. */
static int32_t add_one(void *runs, fyris_batch *batch) {
  const uint8_t *found;
  size_t len;
  uint64_t count = 0;
  fyris_error mine;
  ++*(int *)runs;
  if (fyris_batch_get(batch, "count", 5, &found, &len, &mine) != FYRIS_OK) return 1;
  if (found != NULL) memcpy(&count, found, sizeof count);
  count++;
  if (fyris_batch_insert(batch, "count", 5, &count, sizeof count, &mine) != FYRIS_OK) return 2;
  bool removed = true;
  return fyris_batch_remove(batch, "nothing", 7, &removed, &mine) != FYRIS_OK || removed;
}

static int32_t give_up(void *map, fyris_batch *batch) {
  fyris_error mine;
  if (fyris_batch_insert(batch, "lost", 4, "x", 1, &mine) != FYRIS_OK) return 1;
  bool behind;
  uint64_t version;
  int refused = fyris_map_version(map, &version, &mine) == FYRIS_E_BUSY &&
                fyris_map_is_behind(map, &behind, &mine) == FYRIS_E_BUSY &&
                fyris_map_wait(map, 0, NULL, &mine) == FYRIS_E_BUSY;
  fyris_entry entry;
  EXPECT(refused && fyris_batch_seek(batch, "", 0, &entry, &mine) == FYRIS_OK && key_is(&entry, "apple"));
  EXPECT(fyris_batch_seek(batch, NULL, 0, &entry, &mine) == FYRIS_OK && key_is(&entry, "apple"));
  EXPECT(fyris_batch_next(batch, "fig", 3, &entry, &mine) == FYRIS_OK && key_is(&entry, "lost"));
  EXPECT(fyris_batch_prev(batch, "lost", 4, &entry, &mine) == FYRIS_OK && key_is(&entry, "fig"));
  EXPECT(fyris_batch_last(batch, &entry, &mine) == FYRIS_OK && key_is(&entry, "plum"));
  return fyris_map_commit(map, NULL, &mine) == FYRIS_E_BUSY ? 7 : 1;
}

static int32_t insert_too_much(void *unused, fyris_batch *batch) {
  (void)unused;
  static char key[5000];
  return fyris_batch_insert(batch, key, sizeof key, "", 0, NULL) != FYRIS_OK;
}

int main(void) {
  snprintf(name, sizeof name, "test-capi-map-%ld-0", (long)getpid());
  EXPECT(fyris_map_checkout(name, 1 << 20, "[read_only]", &err) == NULL && err.code == FYRIS_E_NO_SEGMENT);
  fyris_map *a = fyris_map_checkout(name, 1 << 20, "[exclusive]", &err);
  EXPECT(a != NULL);
  fyris_map *b = fyris_map_checkout(name, 0, "[existing]", &err);
  EXPECT(b != NULL);
  EXPECT(fyris_map_checkout(name, 0, "[nonsense]", &err) == NULL && err.code == FYRIS_E_ARGUMENT);
  EXPECT(fyris_map_checkout(name, 0, "[{private, 0, 8}]", &err) == NULL && err.code == FYRIS_E_ARGUMENT);
  char other[64];
  snprintf(other, sizeof other, "test-capi-map-%ld-1", (long)getpid());
  EXPECT(fyris_map_checkout(other, 1 << 20, "[{private, 4096, 8192}]", &err) == NULL);
  EXPECT(err.code == FYRIS_E_ARGUMENT && strstr(err.text, "private") != NULL);
  SAYS(fyris_segment_unlink(other, &err), FYRIS_E_NO_SEGMENT);

  put(a, "pear", "green");
  put(a, "apple", "red");
  put(a, "plum", "");
  EXPECT(is(a, "plum", "") && is(a, "fig", NULL) && is(b, "pear", NULL));
  uint64_t version, size;
  DO(fyris_map_commit(a, &version, &err));
  bool behind = false, news = false;
  DO(fyris_map_is_behind(b, &behind, &err));
  EXPECT(behind);
  DO(fyris_map_version(a, &size, &err));
  EXPECT(size == version);
  DO(fyris_map_wait(b, -1, &news, &err));
  EXPECT(news);
  DO(fyris_map_wait(a, 1, &news, &err));
  EXPECT(!news);
  DO(fyris_map_sync(a, &err));
  fyris_updated updated = FYRIS_UPDATED_INIT;
  DO(fyris_map_update(b, &updated, &err));
  EXPECT(updated.version == version && is(b, "pear", "green"));
  DO(fyris_map_size(b, &size, &err));
  EXPECT(size == 3);

  fyris_entry entry;
  DO(fyris_map_seek(b, NULL, 0, &entry, &err));
  EXPECT(key_is(&entry, "apple") && entry.value_len == 3);
  DO(fyris_map_next(b, entry.key, entry.key_len, &entry, &err));
  EXPECT(key_is(&entry, "pear"));
  DO(fyris_map_seek(b, "pf", 2, &entry, &err));
  EXPECT(key_is(&entry, "plum"));
  DO(fyris_map_next(b, "plum", 4, &entry, &err));
  EXPECT(key_is(&entry, NULL));
  DO(fyris_map_last(b, &entry, &err));
  EXPECT(key_is(&entry, "plum"));
  /* NULL and no bytes are the same everywhere. */
  DO(fyris_map_next(b, NULL, 0, &entry, &err));
  EXPECT(key_is(&entry, "apple"));
  DO(fyris_map_next(b, "", 0, &entry, &err));
  EXPECT(key_is(&entry, "apple"));
  DO(fyris_map_prev(b, NULL, 0, &entry, &err));
  EXPECT(key_is(&entry, NULL));
  DO(fyris_map_prev(b, "", 0, &entry, &err));
  EXPECT(key_is(&entry, NULL));
  DO(fyris_map_prev(b, "apple", 5, &entry, &err));
  EXPECT(key_is(&entry, NULL));

  /* Two writers: the second begins again. */
  bool removed = false;
  DO(fyris_map_remove(b, "plum", 4, &removed, &err));
  EXPECT(removed);
  put(a, "fig", "violet");
  DO(fyris_map_commit(a, NULL, &err));
  uint64_t theirs, ours;
  DO(fyris_map_version(a, &theirs, &err));
  DO(fyris_map_version(b, &ours, &err));
  SAYS(fyris_map_commit(b, NULL, &err), FYRIS_E_BEHIND);
  char versions[100];
  snprintf(versions, sizeof versions, "the map is at version %" PRIu64 ", this copy at %" PRIu64 ";", theirs, ours);
  EXPECT(theirs == ours + 1 && strstr(err.text, versions) != NULL);
  SAYS(fyris_map_update(b, NULL, &err), FYRIS_E_UNCOMMITTED);
  DO(fyris_map_discard(b, &err));
  DO(fyris_map_update(b, NULL, &err));
  EXPECT(is(b, "plum", "") && is(b, "fig", "violet"));

  SAYS(fyris_map_write(a, give_up, a, &err), FYRIS_E_GAVE_UP);
  EXPECT(strstr(err.text, "7") != NULL && is(a, "lost", NULL));
  /* What a call within has said is told, where the function gives up. */
  SAYS(fyris_map_write(a, insert_too_much, NULL, &err), FYRIS_E_GAVE_UP);
  EXPECT(strcmp(err.text, "the function gave up: 1, after: a key of 5000 bytes is longer than 512") == 0);
  SAYS(fyris_map_write(a, NULL, NULL, &err), FYRIS_E_NULL);
  SAYS(fyris_map_insert(a, NULL, 3, "x", 1, &err), FYRIS_E_NULL);
  SAYS(fyris_map_insert(NULL, "x", 1, "x", 1, &err), FYRIS_E_NULL);
  SAYS(fyris_map_get(a, "x", 1, NULL, NULL, &err), FYRIS_E_NULL);
  static char long_key[5000];
  SAYS(fyris_map_insert(a, long_key, sizeof long_key, "", 0, &err), FYRIS_E_LIMIT);
  DO(fyris_map_discard(a, &err));
  SAYS(fyris_map_version(NULL, &version, &err), FYRIS_E_NULL);
  SAYS(fyris_map_is_behind(b, NULL, &err), FYRIS_E_NULL);
  fyris_map_free(NULL);

  /* A forked child and its parent count together. */
  pid_t child = fork();
  int runs = 0;
  if (child == 0) {
    const uint8_t *value;
    size_t len;
    SAYS(fyris_map_get(a, "pear", 4, &value, &len, &err), FYRIS_E_FORKED);
    SAYS(fyris_map_seek(a, "", 0, &entry, &err), FYRIS_E_FORKED);
    SAYS(fyris_map_write(a, add_one, &runs, &err), FYRIS_E_FORKED);
    DO(fyris_map_reattach(a, &err));
    for (int i = 0; i < 300; i++) DO(fyris_map_write(a, add_one, &runs, &err));
    fyris_map_free(a);
    _exit(0);
  }
  for (int i = 0; i < 300; i++) DO(fyris_map_write(a, add_one, &runs, &err));
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0 && runs >= 300);
  DO(fyris_map_update(b, NULL, &err));
  const uint8_t *value;
  size_t len;
  uint64_t count;
  DO(fyris_map_get(b, "count", 5, &value, &len, &err));
  memcpy(&count, value, sizeof count);
  EXPECT(len == sizeof count && count == 600);
  DO(fyris_map_check(b, &err));
  DO(fyris_map_clear(b, &err));
  DO(fyris_map_commit(b, NULL, &err));
  DO(fyris_map_update(a, NULL, &err));
  DO(fyris_map_size(a, &size, &err));
  EXPECT(size == 0);

  fyris_map_free(a);
  fyris_map_free(b);
  DO(fyris_segment_unlink(name, &err));
  puts("map: all good");
  return 0;
}
