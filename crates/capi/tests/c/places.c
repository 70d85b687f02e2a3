/* Parts of objects changed by their paths, many keys taken as one, and changes that return what they changed. */
#include "check.h"

static fyris_code put(fyris_table *table, const char *key, const char *path, const char *value, bool *found) {
  fyris_term *k = parse(key), *p = parse(path), *v = parse(value);
  fyris_code code = fyris_table_put_in(table, k, p, v, found, &err);
  fyris_term_free(k);
  fyris_term_free(p);
  fyris_term_free(v);
  return code;
}

static fyris_code take(fyris_table *table, const char *key, const char *path, fyris_term **part) {
  fyris_term *k = parse(key), *p = parse(path);
  fyris_code code = fyris_table_delete_in(table, k, p, part, &err);
  fyris_term_free(k);
  fyris_term_free(p);
  return code;
}

typedef fyris_code (*of_a_term)(const fyris_table *, const fyris_term *, fyris_term **, fyris_error *);

static int gives(of_a_term call, const fyris_table *table, const char *given, const char *wanted) {
  fyris_term *term = parse(given), *found = NULL;
  EXPECT(call(table, term, &found, &err) == FYRIS_OK);
  fyris_term_free(term);
  return same(found, wanted);
}

static int refuses(of_a_term call, const fyris_table *table, const char *given, fyris_code wanted) {
  fyris_term *term = parse(given), *found = NULL;
  int says = SAYS(call(table, term, &found, &err), wanted);
  fyris_term_free(term);
  return says && found == NULL;
}

static void parts(fyris_store *store) {
  fyris_table *table = fyris_table_new(store, "people", "[]", &err);
  EXPECT(table != NULL);
  insert(table, "{joe, #{langs => [c, prolog]}}");
  bool found = false;
  EXPECT(put(table, "joe", "[2, langs, 1]", "erlang", &found) == FYRIS_OK && found);
  EXPECT(put(table, "joe", "[2, born]", "1950", NULL) == FYRIS_OK);
  EXPECT(put(table, "mike", "[2, born]", "1950", &found) == FYRIS_OK && !found);
  EXPECT(gives(fyris_table_lookup, table, "joe", "[{joe, #{langs => [erlang, prolog], born => 1950}}]"));
  EXPECT(SAYS(put(table, "joe", "[2, none, 1]", "0", &found), FYRIS_E_ARGUMENT));
  EXPECT(SAYS(put(table, "joe", "[1]", "0", &found), FYRIS_E_ARGUMENT));
  EXPECT(SAYS(put(table, "joe", "path", "0", &found), FYRIS_E_ARGUMENT));
  fyris_term *part = NULL;
  EXPECT(take(table, "joe", "[2, born]", &part) == FYRIS_OK && same(part, "1950"));
  EXPECT(take(table, "joe", "[2, born]", &part) == FYRIS_OK && part == NULL);
  EXPECT(take(table, "joe", "[2, langs, 1]", NULL) == FYRIS_OK);
  EXPECT(SAYS(take(table, "joe", "[2]", &part), FYRIS_E_ARGUMENT));
  EXPECT(gives(fyris_table_lookup, table, "joe", "[{joe, #{langs => [prolog]}}]"));
  fyris_table_free(table);
}

static void returned(fyris_store *store) {
  fyris_table *table = fyris_table_new(store, "jobs", "[ordered_set]", &err);
  EXPECT(table != NULL);
  insert(table, "{1, due}");
  insert(table, "{2, later}");
  insert(table, "{3, due}");
  insert(table, "{4, later}");
  EXPECT(gives(fyris_table_lookup_many, table, "[4, 9, 1]", "[[{4, later}], [], [{1, due}]]"));
  EXPECT(gives(fyris_table_select_replace_returning, table, "[{{'$1', due}, [], [{{'$1', claimed}}]}]",
               "[{1, claimed}, {3, claimed}]"));
  EXPECT(gives(fyris_table_select_take, table, "[{{'$1', claimed}, [], ['$1']}]", "[1, 3]"));
  EXPECT(gives(fyris_table_take_many, table, "[4, 1]", "[[{4, later}], []]"));
  EXPECT(refuses(fyris_table_take_many, table, "4", FYRIS_E_ARGUMENT));
  EXPECT(refuses(fyris_table_lookup_many, table, "4", FYRIS_E_ARGUMENT));
  fyris_term *key = parse("2"), *replies = NULL;
  fyris_write_op batch = {.what = FYRIS_TAKE, .table = table, .key = key};
  EXPECT(fyris_store_write_batch(store, &batch, 1, &replies, NULL, &err) == FYRIS_OK);
  EXPECT(same(replies, "[[{2, later}]]"));
  size_t left = 1;
  EXPECT(fyris_table_size(table, &left, &err) == FYRIS_OK && left == 0);
  fyris_term_free(key);
  fyris_table_free(table);
}

int main(void) {
  fyris_store *store = fyris_store_new(&err);
  parts(store);
  returned(store);
  fyris_store_free(store);
  puts("places: all good");
  return 0;
}
