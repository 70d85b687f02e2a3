/* A table in C: made, filled by threads, walked, saved and loaded.
 *
 *   cc -std=c11 tables.c $(pkg-config --cflags --libs fyris) -lpthread && ./a.out
 */
#include <fyris.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static fyris_error err = FYRIS_ERROR_INIT;

static void check(int good, const char *what) {
  if (!good) {
    fprintf(stderr, "%s: %s (code %d)\n", what, err.text, err.code);
    exit(1);
  }
}

/* {Word, 0} */
static fyris_term *entry(const char *word) {
  fyris_term *parts[] = {fyris_term_text(word, &err), fyris_term_int(0)};
  fyris_term *made = fyris_term_tuple(parts, 2, &err);
  check(made != NULL, "make an object");
  return made;
}

static void *count(void *shared) {
  const fyris_table *table = shared;
  fyris_error mine; /* every thread brings its own */
  fyris_term *key = fyris_term_text("river", &mine);
  fyris_term *first = entry("river");
  for (int i = 0; i < 1000; i++) {
    if (fyris_table_count(table, key, 2, 1, first, NULL, &mine) != FYRIS_OK) {
      fprintf(stderr, "count: %s\n", mine.text);
      exit(1);
    }
  }
  fyris_term_free(first);
  fyris_term_free(key);
  return NULL;
}

static void show(const fyris_term *term) {
  fyris_bytes text;
  check(fyris_term_print(term, &text, &err) == FYRIS_OK, "print");
  printf("%s\n", (const char *)text.data);
  fyris_bytes_free(&text);
}

int main(void) {
  if (fyris_abi_version() != FYRIS_ABI_VERSION) {
    fprintf(stderr, "this is fyris %s, of another ABI\n", fyris_version());
    return 1;
  }
  fyris_store *store = fyris_store_new(&err);
  check(store != NULL, "make a store");
  fyris_table *table = fyris_table_new(store, "words", "[ordered_set, named_table]", &err);
  check(table != NULL, "make a table");

  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, count, table);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);

  fyris_term *more = fyris_term_parse("{<<\"bridge\">>, 1.5, #{made => of_stone}}", &err);
  check(more != NULL, "parse");
  check(fyris_table_insert(table, more, &err) == FYRIS_OK, "insert");
  fyris_term_free(more);

  fyris_walk *walk = fyris_walk_new(table, false, &err);
  check(walk != NULL, "begin to walk");
  fyris_term *object;
  while (fyris_walk_next(walk, &object, &err) == FYRIS_OK && object != NULL) {
    show(object);
    fyris_term_free(object);
  }
  fyris_walk_free(walk);

  const char *path = "words.ets"; /* ets:file2tab("words.ets") reads it */
  uint64_t saved;
  check(fyris_table_save(table, path, &saved, &err) == FYRIS_OK, "save");
  check(fyris_table_delete(table, &err) == FYRIS_OK, "delete");
  fyris_table_free(table);
  table = fyris_table_load(store, path, &err);
  check(table != NULL, "load");
  remove(path);

  fyris_term *key = fyris_term_text("river", &err);
  fyris_term *value;
  int64_t counted;
  check(fyris_table_lookup_element(table, key, 2, &value, &err) == FYRIS_OK, "look up");
  check(fyris_term_get_int(value, &counted, &err) == FYRIS_OK, "get an integer");
  printf("saved %" PRIu64 " objects; the river was counted %" PRId64 " times\n", saved, counted);

  /* What an error looks like. */
  if (fyris_table_insert(table, key, &err) == FYRIS_E_TYPE) printf("refused: %s\n", err.text);

  fyris_term_free(value);
  fyris_term_free(key);
  fyris_table_free(table);
  fyris_store_free(store);
  return 0;
}
