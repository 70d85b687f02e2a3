/* Ranges of keys, prefixes and parts of objects. */
#include "check.h"

typedef enum fyris_code (*range_function)(const fyris_table *, const fyris_term *, const fyris_term *, uint32_t,
                                          size_t, fyris_term **, fyris_error *);

/* What a function of ranges gives; the ends are texts, or NULL. */
static int gives(range_function find, const fyris_table *table, const char *from, const char *to, uint32_t flags,
                 size_t limit, const char *wanted) {
  fyris_term *first = from ? parse(from) : NULL, *last = to ? parse(to) : NULL, *found = NULL;
  EXPECT(find(table, first, last, flags, limit, &found, &err) == FYRIS_OK);
  fyris_term_free(first);
  fyris_term_free(last);
  return same(found, wanted);
}

static int begins(const fyris_table *table, const char *prefix, uint32_t flags, size_t limit, const char *wanted) {
  fyris_term *begin = parse(prefix), *found = NULL;
  EXPECT(fyris_table_prefix(table, begin, flags, limit, &found, &err) == FYRIS_OK);
  fyris_term_free(begin);
  return same(found, wanted);
}

static int seeks(const fyris_table *table, const char *key, uint32_t flags, const char *wanted) {
  fyris_term *at = parse(key), *found = NULL;
  EXPECT(fyris_table_seek(table, at, flags, &found, &err) == FYRIS_OK);
  fyris_term_free(at);
  return same(found, wanted);
}

static int has(const fyris_table *table, const char *key, const char *path, const char *wanted) {
  fyris_term *at = parse(key), *steps = parse(path), *found = NULL;
  EXPECT(fyris_table_get_in(table, at, steps, &found, &err) == FYRIS_OK);
  fyris_term_free(at);
  fyris_term_free(steps);
  return same(found, wanted);
}

int main(void) {
  fyris_store *store = fyris_store_new(&err);
  fyris_table *table = fyris_table_new(store, "numbers", "[ordered_set]", &err);
  fyris_table *set = fyris_table_new(store, "set", NULL, &err);
  EXPECT(table != NULL && set != NULL);
  const char *objects[] = {"{1}", "{2}", "{3}", "{4}", "{5}", "{<<\"car\">>}", "{<<\"cart\">>}", "{<<\"cat\">>}",
                           "{{a, 1}}", "{{a, 2}}", "{{b, 1}}", "{m, #{k => {x, y}}}"};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) insert(table, objects[i]);

  EXPECT(gives(fyris_table_range, table, "2", "4", 0, 0, "[{2}, {3}, {4}]"));
  EXPECT(gives(fyris_table_range, table, "2", "4", FYRIS_FROM_EXCLUDED | FYRIS_TO_EXCLUDED, 0, "[{3}]"));
  EXPECT(gives(fyris_table_range, table, NULL, "4", FYRIS_REVERSE | FYRIS_KEYS, 2, "[4, 3]"));
  EXPECT(gives(fyris_table_range, table, "6", "5", 0, 0, "[]"));
  EXPECT(begins(table, "<<\"car\">>", 0, 0, "[{<<\"car\">>}, {<<\"cart\">>}]"));
  EXPECT(begins(table, "{a, '_'}", FYRIS_KEYS | FYRIS_REVERSE, 1, "[{a, 2}]"));
  EXPECT(seeks(table, "2.5", 0, "{3}") && seeks(table, "2.5", FYRIS_REVERSE, "{2}") && seeks(table, "0", FYRIS_REVERSE, NULL));
  EXPECT(has(table, "m", "[2, k, 2]", "y") && has(table, "m", "[2, x]", NULL) && has(table, "nobody", "[1]", NULL));

  /* What is asked for in a wrong way, or of a table without an order, changes nothing. */
  fyris_term *key = parse("1"), *found = NULL;
  size_t count = 7;
  EXPECT(SAYS(fyris_table_range(set, NULL, NULL, 0, 0, &found, &err), FYRIS_E_TYPE));
  EXPECT(SAYS(fyris_table_take_range(table, NULL, NULL, 16, 0, &found, &err), FYRIS_E_ARGUMENT));
  EXPECT(strstr(err.text, "0x10 is no flag") != NULL);
  EXPECT(SAYS(fyris_table_delete_range(table, NULL, NULL, FYRIS_REVERSE, &count, &err), FYRIS_E_ARGUMENT) && count == 7);
  EXPECT(SAYS(fyris_table_seek(table, key, FYRIS_KEYS, &found, &err), FYRIS_E_ARGUMENT));
  EXPECT(SAYS(fyris_table_prefix(table, key, 0, 0, &found, &err), FYRIS_E_ARGUMENT));
  EXPECT(SAYS(fyris_table_get_in(table, key, key, &found, &err), FYRIS_E_ARGUMENT));
  EXPECT(SAYS(fyris_table_range(table, NULL, NULL, 0, 0, NULL, &err), FYRIS_E_NULL) && found == NULL);
  EXPECT(fyris_table_size(table, &count, &err) == FYRIS_OK && count == 12);

  EXPECT(gives(fyris_table_take_range, table, "1", "2", 0, 0, "[{1}, {2}]"));
  EXPECT(gives(fyris_table_take_range, table, "1", "9", FYRIS_REVERSE, 1, "[{5}]"));
  EXPECT(fyris_table_delete_range(table, key, NULL, 0, &count, &err) == FYRIS_OK && count == 9);
  insert(set, "{1, one}");
  EXPECT(fyris_table_drain(set, &found, &err) == FYRIS_OK && same(found, "[{1, one}]"));
  EXPECT(fyris_table_size(set, &count, &err) == FYRIS_OK && count == 0);

  fyris_term_free(key);
  fyris_table_free(set);
  fyris_table_free(table);
  fyris_store_free(store);
  puts("range: all good");
  return 0;
}
