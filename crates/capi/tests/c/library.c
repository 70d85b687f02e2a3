/* Tables on indexes from libraries: library.c MAP UNORDERED_MAP, the two examples. */
#include "check.h"
#include <string.h>

static fyris_table *table_on(const fyris_store *store, const char *type, const char *path) {
  char options[4096];
  snprintf(options, sizeof options, "[%s, {index, {library, \"%s\"}}]", type, path);
  return fyris_table_new(store, "t", options, &err);
}

static int prints(const fyris_term *term, const char *expected) {
  fyris_bytes text;
  EXPECT(fyris_term_print(term, &text, &err) == FYRIS_OK);
  int same = strcmp((const char *)text.data, expected) == 0;
  if (!same)
    fprintf(stderr, "%s, not %s\n", (const char *)text.data, expected);
  fyris_bytes_free(&text);
  return same;
}

/* Puts {0,0} to {99,0} in and takes the first half out, one by one. */
static void fill(const fyris_table *table) {
  fyris_term *found = NULL;
  for (int i = 0; i < 100; i++) {
    fyris_term *pair[] = {fyris_term_int(i * 37 % 100), fyris_term_int(0)};
    fyris_term *object = fyris_term_tuple(pair, 2, &err);
    EXPECT(fyris_table_insert(table, object, &err) == FYRIS_OK);
    fyris_term_free(object);
  }
  for (int i = 0; i < 50; i++) {
    fyris_term *key = fyris_term_int(i);
    EXPECT(fyris_table_delete_key(table, key, &err) == FYRIS_OK);
    EXPECT(fyris_table_lookup(table, key, &found, &err) == FYRIS_OK && prints(found, "[]"));
    fyris_term_free(found);
    fyris_term_free(key);
  }
  size_t size = 0;
  EXPECT(fyris_table_size(table, &size, &err) == FYRIS_OK && size == 50);
}

int main(int count, char **arguments) {
  EXPECT(count == 3);
  const char *map = arguments[1], *unordered_map = arguments[2];
  fyris_store *store = fyris_store_new(&err);
  EXPECT(store != NULL);
  fyris_term *first = NULL;

  fyris_table *ordered = table_on(store, "ordered_set", map);
  EXPECT(ordered != NULL);
  fill(ordered);
  EXPECT(fyris_table_first(ordered, &first, &err) == FYRIS_OK && prints(first, "50"));
  fyris_term_free(first);

  fyris_table *set = table_on(store, "bag", unordered_map);
  EXPECT(set != NULL);
  fill(set);
  /* What it cannot do it says by name. */
  EXPECT(fyris_table_first(set, &first, &err) == FYRIS_E_ARGUMENT);
  EXPECT(strstr(err.text, "lacks iteration") != NULL && strstr(err.text, unordered_map) != NULL);
  EXPECT(table_on(store, "ordered_set", unordered_map) == NULL && err.code == FYRIS_E_ARGUMENT);
  EXPECT(strstr(err.text, "no order") != NULL);
  EXPECT(table_on(store, "set", "/no/such/library.so") == NULL && err.code == FYRIS_E_ARGUMENT);
  EXPECT(strstr(err.text, "/no/such/library.so") != NULL && strstr(err.text, "No such file") != NULL);

  fyris_table_free(ordered);
  fyris_table_free(set);
  fyris_store_free(store);
  puts("library: all good");
  return 0;
}
