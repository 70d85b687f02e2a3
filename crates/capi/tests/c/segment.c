/* Every call with segments, in one process and between parent and child; and nonsense. */
#include <fyris.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static fyris_error err;
static char name[64];

static void expect(int line, int good) {
  if (!good) {
    fprintf(stderr, "segment.c:%d: last error %d: %.*s\n", line, err.code, FYRIS_ERROR_TEXT, err.text);
    fyris_segment_unlink(name, NULL);
    exit(1);
  }
}
#define EXPECT(good) expect(__LINE__, (good))
#define DO(call) expect(__LINE__, (call) == FYRIS_OK)
#define SAYS(call, wanted) \
  expect(__LINE__, (memset(&err, 0x55, sizeof err), (call) == (wanted) && err.code == (wanted)))
#define NOTHING(make, wanted) \
  expect(__LINE__, (memset(&err, 0x55, sizeof err), (make) == NULL && err.code == (wanted)))

static fyris_segment *checkout(size_t size, const char *options) {
  fyris_segment *segment = fyris_segment_checkout(name, size, options, &err);
  EXPECT(segment != NULL);
  return segment;
}

static void refused(void) {
  NOTHING(fyris_segment_checkout(NULL, 0, NULL, &err), FYRIS_E_NULL);
  NOTHING(fyris_segment_checkout("no name!", 4096, NULL, &err), FYRIS_E_ARGUMENT);
  NOTHING(fyris_segment_checkout(name, 4096, "[existing]", &err), FYRIS_E_NO_SEGMENT);
  NOTHING(fyris_segment_checkout(name, 4096, "[{unit, 3}]", &err), FYRIS_E_ARGUMENT);
  NOTHING(fyris_segment_checkout(name, 4096, "[{tracking, magic}]", &err), FYRIS_E_ARGUMENT);
  EXPECT(strstr(err.text, "magic") != NULL);
  NOTHING(fyris_segment_checkout(name, 4096, "[readonly]", &err), FYRIS_E_ARGUMENT);
  expect(__LINE__, strstr(err.text, "bad option readonly: options are a list of existing, exclusive, ") != NULL);
  expect(__LINE__, strstr(err.text, "{replace,Start,End,Address}") != NULL);
  NOTHING(fyris_segment_checkout(name, 4096, "[read_only", &err), FYRIS_E_SYNTAX);
  NOTHING(fyris_segment_checkout(name, 4096, "read_only", &err), FYRIS_E_ARGUMENT);
  NOTHING(fyris_segment_checkout("/etc/passwd", 0, NULL, &err), FYRIS_E_DAMAGED);
  SAYS(fyris_segment_unlink(name, &err), FYRIS_E_NO_SEGMENT);
  SAYS(fyris_segment_unlink("/etc/passwd", &err), FYRIS_E_DAMAGED);
  SAYS(fyris_segment_commit(NULL, NULL, &err), FYRIS_E_NULL);
  SAYS(fyris_segment_diff(NULL, NULL, &err), FYRIS_E_NULL);
  EXPECT(fyris_segment_data(NULL, NULL) == NULL);
  SAYS(fyris_segment_is_behind(NULL, NULL, &err), FYRIS_E_NULL);
  fyris_segment_free(NULL);
  fyris_ranges_free(NULL);
}

static bool behind(const fyris_segment *segment) {
  bool said;
  DO(fyris_segment_is_behind(segment, &said, &err));
  return said;
}

static int32_t sum(void *context, const fyris_conflict *conflict, uint8_t *result) {
  ++*(int *)context;
  for (size_t i = 0; i < conflict->unit; i++) {
    result[i] = (uint8_t)(conflict->local[i] + conflict->incoming[i] - conflict->base[i]);
  }
  return FYRIS_RESULT;
}

static int32_t answer(void *context, const fyris_conflict *conflict, uint8_t *result) {
  (void)conflict;
  (void)result;
  return *(int32_t *)context;
}

static fyris_segment *shared;
static int32_t busy(void *context, const fyris_conflict *conflict, uint8_t *result) {
  (void)conflict;
  (void)result;
  fyris_error mine;
  bool said;
  EXPECT(fyris_segment_is_behind(shared, &said, &mine) == FYRIS_E_BUSY && mine.code == FYRIS_E_BUSY);
  *(fyris_code *)context = fyris_segment_commit(shared, NULL, &mine);
  return FYRIS_LOCAL;
}

static void conflicts(fyris_segment *a, fyris_segment *b) {
  uint64_t *x = fyris_segment_data(a, &err), *y = fyris_segment_data(b, &err);
  uint64_t version = 0;
  fyris_updated updated = FYRIS_UPDATED_INIT;
  fyris_ranges ranges;
  DO(fyris_segment_update(b, NULL, &err));
  x[3] = 10;
  DO(fyris_segment_commit(a, &version, &err));
  y[3] = 5;
  y[700] = 7;
  EXPECT(behind(b));
  SAYS(fyris_segment_commit(b, NULL, &err), FYRIS_E_BEHIND);
  SAYS(fyris_segment_update_validated(b, NULL, &ranges, &err), FYRIS_E_CONFLICT);
  EXPECT(ranges.count == 1 && ranges.ranges[0].start == 24 && ranges.ranges[0].end == 32);
  fyris_ranges_free(&ranges);
  fyris_ranges_free(&ranges);
  SAYS(fyris_segment_commit_merge_validated(b, NULL, NULL, &err), FYRIS_E_CONFLICT);
  DO(fyris_segment_diff(b, &ranges, &err));
  EXPECT(ranges.count == 2 && ranges.ranges[1].start == 5600);
  fyris_ranges_free(&ranges);
  DO(fyris_segment_incoming(b, &ranges, &err));
  EXPECT(ranges.count == 1 && ranges.ranges[0].start == 24);
  fyris_ranges_free(&ranges);

  /* Answers of the callback: giving up and nonsense leave everything as it was. */
  int32_t said = FYRIS_GIVE_UP;
  SAYS(fyris_segment_update_with(b, answer, &said, NULL, &err), FYRIS_E_GAVE_UP);
  said = 77;
  SAYS(fyris_segment_update_with(b, answer, &said, NULL, &err), FYRIS_E_ARGUMENT);
  SAYS(fyris_segment_update_with(b, NULL, NULL, NULL, &err), FYRIS_E_NULL);
  fyris_updated unknown = {0};
  SAYS(fyris_segment_update(b, &unknown, &err), FYRIS_E_ARGUMENT); /* before anything is done */
  EXPECT(y[3] == 5 && behind(b));
  int asked = 0;
  DO(fyris_segment_update_with(b, sum, &asked, &updated, &err));
  EXPECT(updated.struct_size == sizeof updated && asked == 1 && updated.conflicts == 1 && updated.version == version && y[3] == 15);
  DO(fyris_segment_commit(b, &version, &err));

  /* A call from inside the callback is told to come later. */
  x[3] = 1;
  shared = a;
  fyris_code inside = FYRIS_OK;
  DO(fyris_segment_update_with(a, busy, &inside, NULL, &err));
  EXPECT(inside == FYRIS_E_BUSY && x[3] == 1 && x[700] == 7);
  DO(fyris_segment_discard(a, &err));
  EXPECT(x[3] == 15);
  x[4] = 4;
  DO(fyris_segment_commit_merge(a, &version, &err));
  DO(fyris_segment_update(b, NULL, &err));
  EXPECT(y[4] == 4);
}

static fyris_segment *other;
static int calls;

/* Overtaken by the other checkout the first time. */
static int32_t add_one(void *context, void *data, size_t size) {
  uint64_t *word = data;
  EXPECT(size == 16384);
  if (calls++ == 0 && other != NULL) {
    uint64_t *theirs = fyris_segment_data(other, &err);
    theirs[100] += 10;
    DO(fyris_segment_commit_merge(other, NULL, &err));
  }
  word[100] += 1;
  return *(int32_t *)context;
}

/* What a function that changes a segment may not do. */
static int32_t change_within(void *segment, void *data, size_t size) {
  fyris_segment *a = segment;
  fyris_error mine;
  ((uint64_t *)data)[102] += size;
  int refused = fyris_segment_commit(a, NULL, &mine) == FYRIS_E_BUSY &&
                fyris_segment_commit_merge(a, NULL, &mine) == FYRIS_E_BUSY &&
                fyris_segment_update(a, NULL, &mine) == FYRIS_E_BUSY &&
                fyris_segment_discard(a, &mine) == FYRIS_E_BUSY &&
                fyris_segment_begin(a, NULL, &mine) == FYRIS_E_BUSY &&
                fyris_segment_transaction(a, change_within, a, NULL, &mine) == FYRIS_E_BUSY;
  return refused && fyris_segment_touch(a, 816, 8, &mine) == FYRIS_OK ? 7 : 8;
}

static void transactions(fyris_segment *a, fyris_segment *b) {
  uint64_t *x = fyris_segment_data(a, &err), version = 0;
  int32_t said = 0;
  bool news = true;
  other = b;
  DO(fyris_segment_transaction(a, add_one, &said, &version, &err));
  EXPECT(calls == 2 && x[100] == 11);
  other = NULL;
  said = 7;
  SAYS(fyris_segment_transaction(a, add_one, &said, NULL, &err), FYRIS_E_GAVE_UP);
  EXPECT(x[100] == 11 && strchr(err.text, '7') != NULL);
  SAYS(fyris_segment_transaction(a, change_within, a, NULL, &err), FYRIS_E_GAVE_UP);
  EXPECT(x[102] == 0 && strchr(err.text, '7') != NULL);
  SAYS(fyris_segment_transaction(a, NULL, NULL, NULL, &err), FYRIS_E_NULL);
  SAYS(fyris_segment_transaction(NULL, add_one, &said, NULL, &err), FYRIS_E_NULL);
  x[101] = 1;
  SAYS(fyris_segment_transaction(a, add_one, &said, NULL, &err), FYRIS_E_UNCOMMITTED);
  SAYS(fyris_segment_begin(a, NULL, &err), FYRIS_E_UNCOMMITTED);
  DO(fyris_segment_discard(a, &err));
  DO(fyris_segment_begin(a, NULL, &err));

  DO(fyris_segment_wait(a, 1, &news, &err));
  EXPECT(!news);
  DO(fyris_segment_wait(b, -1, &news, &err)); /* behind already */
  EXPECT(news);
  DO(fyris_segment_update(b, NULL, &err));
  DO(fyris_segment_wait(b, 0, NULL, &err));
  SAYS(fyris_segment_wait(NULL, 0, NULL, &err), FYRIS_E_NULL);
}

/* A reader without a copy, and ranges at addresses of the program's choice. */
static void placed(fyris_segment *a) {
  const char *tracking = getenv("FYRIS_TRACKING");
  if (tracking && strcmp(tracking, "signal") == 0) {
    NOTHING(fyris_segment_checkout(name, 0, "[existing, {place, 4096, 8192, 16#230000000000}]", &err), FYRIS_E_UNSUPPORTED);
    return;
  }
  fyris_segment *reader = checkout(0, "[existing, in_place]");
  const uint64_t *seen = fyris_segment_data(reader, &err);
  uint64_t *x = fyris_segment_data(a, &err);
  uint64_t *there = (uint64_t *)(uintptr_t)0x230000000000u;
  fyris_segment *b = checkout(0, "[existing, {place, 4096, 8192, 16#230000000000}]");
  NOTHING(fyris_segment_checkout(name, 0, "[{place, 0, 4096, 16#230000000000}]", &err), FYRIS_E_ARGUMENT);
  EXPECT(strstr(err.text, "0x230000000000") != NULL);
  fyris_segment_free(checkout(0, "[existing, foreign_writes, one_writer, {lag, 100}]"));
  NOTHING(fyris_segment_checkout(name, 0, "[{place, 1, 4096, 16#240000000000}]", &err), FYRIS_E_ARGUMENT);
  NOTHING(fyris_segment_checkout(name, 0, "[{place, 1, 4096}]", &err), FYRIS_E_ARGUMENT);
  there[5] = 77;
  DO(fyris_segment_commit_merge(b, NULL, &err));
  DO(fyris_segment_update(a, NULL, &err));
  EXPECT(x[517] == 77 && seen[517] == 0);
  DO(fyris_segment_update(reader, NULL, &err));
  EXPECT(seen[517] == 77 && seen[100] == x[100]);
  SAYS(fyris_segment_commit(reader, NULL, &err), FYRIS_E_READ_ONLY);
  fyris_segment_free(b);
  fyris_segment_free(reader);
  b = checkout(0, "[existing, {replace, 4096, 8192, 16#230000000000}]");
  EXPECT(there[5] == 77);
  fyris_segment_free(b);
}

static void listed(void) {
  fyris_term *list = NULL, *key = fyris_term_atom("name", &err);
  DO(fyris_segment_list(&list, &err));
  int found = 0;
  for (size_t i = 0; i < fyris_term_len(list); i++) {
    const uint8_t *bytes;
    size_t len;
    const fyris_term *mine = fyris_term_map_get(fyris_term_at(list, i), key);
    EXPECT(mine != NULL);
    DO(fyris_term_get_binary(mine, &bytes, &len, &err));
    found += len == strlen(name) && memcmp(bytes, name, len) == 0;
  }
  EXPECT(found == 1);
  SAYS(fyris_segment_list(NULL, &err), FYRIS_E_NULL);
  fyris_term_free(list);
  fyris_term_free(key);
}

static void forked(fyris_segment *segment) {
  uint64_t *x = fyris_segment_data(segment, &err);
  x[0] = 99; /* stays with the parent */
  pid_t child = fork();
  if (child == 0) {
    fyris_segment_state state = FYRIS_SEGMENT_STATE_INIT;
    SAYS(fyris_segment_commit(segment, NULL, &err), FYRIS_E_FORKED);
    SAYS(fyris_segment_wait(segment, -1, NULL, &err), FYRIS_E_FORKED);
    NOTHING(fyris_segment_data(segment, &err), FYRIS_E_FORKED);
    DO(fyris_segment_look(segment, &state, &err));
    EXPECT(state.forked);
    DO(fyris_segment_reattach(segment, &err));
    uint64_t *mine = fyris_segment_data(segment, &err);
    EXPECT(mine != NULL && mine[0] == 0 && mine[4] == 4);
    mine[5] = 5;
    DO(fyris_segment_commit(segment, NULL, &err));
    fyris_segment_free(segment);
    _exit(0);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  DO(fyris_segment_update(segment, NULL, &err));
  EXPECT(x[0] == 99 && x[5] == 5);
}

int main(void) {
  snprintf(name, sizeof name, "test-capi-%ld-0", (long)getpid());
  refused();
  fyris_segment *a = checkout(8192, "[exclusive, {unit, 8}, {max_size, 65536}]");
  NOTHING(fyris_segment_checkout(name, 8192, "[exclusive]", &err), FYRIS_E_EXISTS);
  NOTHING(fyris_segment_checkout(name, 1 << 20, NULL, &err), FYRIS_E_ARGUMENT);
  NOTHING(fyris_segment_checkout(name, 0, "[{unit, 4}]", &err), FYRIS_E_ARGUMENT);
  fyris_segment *b = checkout(0, NULL);
  conflicts(a, b);

  /* Growth reaches the other with its next update. */
  fyris_segment_state state = FYRIS_SEGMENT_STATE_INIT;
  DO(fyris_segment_grow(a, 16384, &err));
  SAYS(fyris_segment_grow(a, 1 << 20, &err), FYRIS_E_LIMIT);
  DO(fyris_segment_update(b, NULL, &err));
  fyris_segment_state unknown = {0};
  SAYS(fyris_segment_look(b, &unknown, &err), FYRIS_E_ARGUMENT);
  EXPECT(strstr(err.text, "struct_size") != NULL);
  DO(fyris_segment_look(b, &state, &err));
  EXPECT(state.struct_size == sizeof state && state.size == 16384 && state.max_size == 65536 && state.unit == 8 && !state.behind);
  EXPECT(state.version == state.trunk_version && !state.read_only && !state.forked);

  /* Read-only, declared. */
  fyris_segment *reader = checkout(0, "[existing, read_only]");
  SAYS(fyris_segment_commit(reader, NULL, &err), FYRIS_E_READ_ONLY);
  fyris_segment *declared = checkout(0, "[declared, {private, 8192, 12288}]");
  uint64_t *d = fyris_segment_data(declared, &err);
  DO(fyris_segment_touch(declared, 8 * 6, 8, &err));
  d[6] = 6;
  d[1100] = 1; /* private */
  DO(fyris_segment_commit(declared, NULL, &err));
  SAYS(fyris_segment_touch(declared, 16384, 1, &err), FYRIS_E_ARGUMENT);
  SAYS(fyris_segment_touch(declared, (size_t)-1, 2, &err), FYRIS_E_ARGUMENT);
  DO(fyris_segment_update(reader, NULL, &err));
  const uint64_t *r = fyris_segment_data(reader, &err);
  EXPECT(r[6] == 6 && r[1100] == 0);
  DO(fyris_segment_sync(a, &err));
  transactions(a, b);
  listed();
  placed(a);
  forked(a);

  fyris_term *report = NULL, *key = fyris_term_atom("processes", &err);
  DO(fyris_segment_doctor(name, &report, &err));
  EXPECT(fyris_term_len(fyris_term_map_get(report, key)) >= 1);
  fyris_term_free(report);
  fyris_term_free(key);
  DO(fyris_segment_doctor(name, NULL, &err));
  SAYS(fyris_segment_doctor("nobody", NULL, &err), FYRIS_E_NO_SEGMENT);

  fyris_segment_free(declared);
  fyris_segment_free(reader);
  fyris_segment_free(b);
  DO(fyris_segment_unlink(name, &err));
  uint64_t *mine = fyris_segment_data(a, &err); /* still there for who has it */
  EXPECT(mine != NULL);
  mine[3]++;
  SAYS(fyris_segment_commit(a, NULL, &err), FYRIS_E_UNLINKED);
  EXPECT(strstr(err.text, name) != NULL);
  SAYS(fyris_segment_wait(a, -1, NULL, &err), FYRIS_E_UNLINKED);
  fyris_segment *new = checkout(4096, "[after_unlink]");
  DO(fyris_segment_unlink(name, &err));
  *(uint64_t *)fyris_segment_data(new, &err) = 1;
  DO(fyris_segment_commit(new, NULL, &err));
  fyris_segment_free(new);
  fyris_segment_free(a);
  puts("segment: all good");
  return 0;
}
