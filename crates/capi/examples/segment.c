/* Two processes share an array: each works on a copy of its own, and commits.
 *
 *   cc -std=c11 segment.c $(pkg-config --cflags --libs fyris) && ./a.out
 */
#include <fyris.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static fyris_error err = FYRIS_ERROR_INIT;

static void check(int good, const char *what) {
  if (!good) {
    fprintf(stderr, "%s: %s (code %d)\n", what, err.text, err.code);
    exit(1);
  }
}

/* Both have added to the counter: what the other one has made of it, and what this one adds. */
static int32_t add_mine(void *added, const fyris_conflict *conflict, uint8_t *result) {
  *(int64_t *)result = *(const int64_t *)conflict->incoming + *(const int64_t *)added;
  return FYRIS_RESULT;
}

/* Commits; whenever somebody was faster, merges first. */
static void commit(fyris_segment *segment, int64_t added) {
  while (fyris_segment_commit(segment, NULL, &err) != FYRIS_OK) {
    check(err.code == FYRIS_E_BEHIND, "commit");
    check(fyris_segment_update_with(segment, add_mine, &added, NULL, &err) == FYRIS_OK, "merge");
  }
}

/* The other way: a function that is called again, on the newer version, when somebody was faster. */
static int32_t count_one(void *context, void *data, size_t size) {
  (void)context, (void)size;
  ((int64_t *)data)[2048] += 1;
  return 0;
}

static void work(const char *name, int me) {
  fyris_segment *segment = fyris_segment_checkout(name, 0, "[existing]", &err);
  check(segment != NULL, "check out");
  int64_t *array = fyris_segment_data(segment, &err);
  check(array != NULL, "find the data");
  for (int i = 1; i <= 100; i++) {
    array[0] += 1;       /* both write here: a conflict */
    array[me * 512] = i; /* each writes to a page of its own */
    commit(segment, 1);
    check(fyris_segment_transaction(segment, count_one, NULL, NULL, &err) == FYRIS_OK, "count");
  }
  fyris_segment_free(segment);
}

int main(void) {
  char name[64];
  snprintf(name, sizeof name, "example-%ld", (long)getpid());
  fyris_segment *segment = fyris_segment_checkout(name, 1 << 20, "[exclusive, {unit, 8}]", &err);
  check(segment != NULL, "create");

  for (int me = 1; me <= 2; me++) {
    pid_t child = fork();
    if (child == 0) {
      work(name, me);
      _exit(0);
    }
  }
  int status, failed = 0;
  while (wait(&status) > 0) failed |= status;
  check(!failed, "children");

  const int64_t *array = fyris_segment_data(segment, &err);
  printf("before the update: %" PRId64 "\n", array[0]);
  fyris_updated updated = FYRIS_UPDATED_INIT;
  check(fyris_segment_update(segment, &updated, &err) == FYRIS_OK, "update");
  printf("after it: %" PRId64 ", %" PRId64 ", %" PRId64 "\n", array[0], array[512], array[1024]);
  printf("counted: %" PRId64 "\n", array[2048]);
  printf("version %" PRIu64 ", %zu pages\n", updated.version, updated.pages);

  fyris_segment_free(segment);
  check(fyris_segment_unlink(name, &err) == FYRIS_OK, "unlink"); /* nobody else does */
  return 0;
}
