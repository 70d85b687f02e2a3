/* Two processes share settings: one changes them, the other is woken and reads them.
 *
 *   cc -std=c11 map.c $(pkg-config --cflags --libs fyris) && ./a.out
 */
#include <fyris.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static fyris_error err = FYRIS_ERROR_INIT;

static void check(int good, const char *what) {
  if (!good) {
    fprintf(stderr, "%s: %s (code %d)\n", what, err.text, err.code);
    exit(1);
  }
}

/* Both settings, and how often they were changed, as one step. Run again on the newer version when another process was
 * faster, so it changes nothing but the map; what a call in it says is in the error of fyris_map_write. */
static int32_t change(void *port, fyris_batch *batch) {
  uint64_t changes = 0;
  const uint8_t *value;
  size_t len;
  if (fyris_batch_get(batch, "changes", 7, &value, &len, NULL) != FYRIS_OK) return 1;
  if (value != NULL && len == sizeof changes) memcpy(&changes, value, len);
  changes++;
  if (fyris_batch_insert(batch, "changes", 7, &changes, sizeof changes, NULL) != FYRIS_OK ||
      fyris_batch_insert(batch, "host", 4, "::1", 3, NULL) != FYRIS_OK ||
      fyris_batch_insert(batch, "port", 4, port, strlen(port), NULL) != FYRIS_OK)
    return 1;
  return 0; /* commit */
}

/* Another process: checks the map out by its name. */
static void configure(const char *name) {
  fyris_map *map = fyris_map_checkout(name, 0, "[existing]", &err);
  check(map != NULL, "check out");
  check(fyris_map_write(map, change, "8080", &err) == FYRIS_OK, "change");
  check(fyris_map_write(map, change, "8081", &err) == FYRIS_OK, "change again");
  fyris_map_free(map);
}

int main(void) {
  char name[64];
  snprintf(name, sizeof name, "example-map-%ld", (long)getpid());
  /* It grows by itself, up to a MiB. */
  fyris_map *map = fyris_map_checkout(name, 1 << 16, "[exclusive, {max_size, 1048576}]", &err);
  check(map != NULL, "create");

  pid_t child = fork();
  if (child == 0) {
    configure(name);
    _exit(0);
  }
  bool news = false;
  check(fyris_map_wait(map, 10000, &news, &err) == FYRIS_OK && news, "wait for a change");
  int status = 0;
  check(waitpid(child, &status, 0) == child && status == 0, "child");

  /* What this process sees changes here, and at no other moment. */
  check(fyris_map_update(map, NULL, &err) == FYRIS_OK, "update");
  fyris_entry entry; /* borrowed, until the next update */
  check(fyris_map_seek(map, NULL, 0, &entry, &err) == FYRIS_OK, "find the first");
  while (entry.key != NULL) {
    uint64_t number;
    if (entry.key_len == 7 && memcmp(entry.key, "changes", 7) == 0 && entry.value_len == sizeof number) {
      memcpy(&number, entry.value, sizeof number);
      printf("%.*s: %" PRIu64 "\n", (int)entry.key_len, (const char *)entry.key, number);
    } else {
      printf("%.*s: %.*s\n", (int)entry.key_len, (const char *)entry.key, (int)entry.value_len,
             (const char *)entry.value);
    }
    check(fyris_map_next(map, entry.key, entry.key_len, &entry, &err) == FYRIS_OK, "find the next");
  }

  fyris_map_free(map);
  check(fyris_segment_unlink(name, &err) == FYRIS_OK, "unlink"); /* nobody else does */
  return 0;
}
