/* Secondary indexes: objects are found by an element, a path, and expressions. */
#include "check.h"

/* Does the index find these objects, and no others? */
static int finds(const fyris_table *table, const char *index, const char *value, const char *objects) {
  fyris_term *wanted = parse(value), *all = parse(objects), *found = NULL;
  EXPECT(fyris_table_lookup_by(table, index, wanted, &found, &err) == FYRIS_OK);
  int same = fyris_term_equal(found, all);
  fyris_term_free(found);
  fyris_term_free(wanted);
  fyris_term_free(all);
  return same;
}

static int says(const char *text) { return strstr(err.text, text) != NULL; }

int main(void) {
  const char *options = "[{secondary, by_city, {element, 3}}, {secondary, by_year, {path, [2, born]}},"
                        " {secondary, by_size, {body, [{map_size, {element, 2, '$_'}}]}}]";
  fyris_store *store = fyris_store_new(&err);
  fyris_table *people = fyris_table_new(store, "people", options, &err);
  EXPECT(people != NULL);
  insert(people, "{ada, #{born => 1815}, london}");
  insert(people, "{emmy, #{born => 1882}, erlangen}");
  insert(people, "{alan, #{}, london}");
  EXPECT(finds(people, "by_city", "london", "[{ada, #{born => 1815}, london}, {alan, #{}, london}]"));
  EXPECT(finds(people, "by_year", "1882", "[{emmy, #{born => 1882}, erlangen}]"));
  EXPECT(finds(people, "by_year", "1882.0", "[]"));
  EXPECT(finds(people, "by_size", "0", "[{alan, #{}, london}]"));

  /* A snapshot, a transaction. */
  fyris_table *before = fyris_table_snapshot(people, &err);
  EXPECT(before != NULL);
  insert(people, "{alan, #{}, manchester}");
  EXPECT(finds(people, "by_city", "london", "[{ada, #{born => 1815}, london}]"));
  EXPECT(finds(before, "by_city", "london", "[{ada, #{born => 1815}, london}, {alan, #{}, london}]"));
  fyris_transaction *tx = fyris_transaction_begin(store, &err);
  fyris_table *within = fyris_transaction_table(tx, people, &err);
  EXPECT(within != NULL);
  insert(within, "{ada, #{}, manchester}");
  EXPECT(finds(within, "by_city", "manchester", "[{ada, #{}, manchester}, {alan, #{}, manchester}]"));
  EXPECT(finds(people, "by_city", "manchester", "[{alan, #{}, manchester}]"));
  EXPECT(fyris_transaction_commit(tx, &err) == FYRIS_OK);
  EXPECT(finds(people, "by_city", "manchester", "[{ada, #{}, manchester}, {alan, #{}, manchester}]"));

  /* Queries, and what the table says of its indexes. */
  fyris_term *spec = parse("[{{'$1', '_', erlangen}, [], ['$1']}]"), *found = NULL;
  EXPECT(fyris_table_select(people, spec, 0, false, &found, &err) == FYRIS_OK && fyris_term_len(found) == 1);
  fyris_term_free(found);
  EXPECT(fyris_table_explain(people, spec, &found, &err) == FYRIS_OK && fyris_term_len(found) == 8);
  fyris_term_free(found);
  EXPECT(fyris_table_info(people, "secondary", &found, &err) == FYRIS_OK && fyris_term_len(found) == 3);
  fyris_term_free(found);

  /* One that comes and goes. */
  fyris_term *second = parse("{element, 1}");
  EXPECT(fyris_table_add_secondary(people, "by_name", second, &err) == FYRIS_OK);
  EXPECT(finds(people, "by_name", "ada", "[{ada, #{}, manchester}]"));
  EXPECT(SAYS(fyris_table_add_secondary(people, "by_name", second, &err), FYRIS_E_ARGUMENT));
  EXPECT(says("the table has a secondary index by_name already"));
  EXPECT(fyris_table_remove_secondary(people, "by_name", &err) == FYRIS_OK);
  EXPECT(SAYS(fyris_table_remove_secondary(people, "by_name", &err), FYRIS_E_ARGUMENT) && says("by_name"));
  EXPECT(SAYS(fyris_table_add_secondary(people, "by_name", spec, &err), FYRIS_E_ARGUMENT));
  EXPECT(says("{element,Position}"));
  fyris_term_free(second);
  err.code = FYRIS_OK;

  /* A unique one. */
  fyris_table *users = fyris_table_new(store, "users", "[{secondary, by_email, {unique, {element, 2}}}]", &err);
  EXPECT(users != NULL);
  insert(users, "{1, ada}");
  fyris_term *ada = parse("{2, ada}"), *one = parse("{1, ada, more}");
  EXPECT(SAYS(fyris_table_insert(users, ada, &err), FYRIS_E_NOT_UNIQUE) && says("ada") && says("by_email"));
  err.code = FYRIS_OK;
  EXPECT(fyris_table_insert(users, one, &err) == FYRIS_OK);
  fyris_transaction *taken = fyris_transaction_begin(store, &err);
  fyris_table *in_taken = fyris_transaction_table(taken, users, &err);
  EXPECT(fyris_table_insert(in_taken, ada, &err) == FYRIS_OK);
  EXPECT(SAYS(fyris_transaction_commit(taken, &err), FYRIS_E_NOT_UNIQUE));
  err.code = FYRIS_OK;
  EXPECT(finds(users, "by_email", "ada", "[{1, ada, more}]"));
  fyris_table_free(in_taken);
  fyris_transaction_free(taken);
  fyris_term_free(ada);
  fyris_term_free(one);
  fyris_table_free(users);

  /* What is wrong. */
  found = NULL;
  EXPECT(SAYS(fyris_table_lookup_by(people, "by_name", spec, &found, &err), FYRIS_E_ARGUMENT) && says("by_name"));
  EXPECT(SAYS(fyris_table_lookup_by(people, NULL, spec, &found, &err), FYRIS_E_NULL));
  EXPECT(SAYS(fyris_table_lookup_by(people, "\xff", spec, &found, &err), FYRIS_E_ARGUMENT));
  EXPECT(SAYS(fyris_table_lookup_by(people, "by_city", NULL, &found, &err), FYRIS_E_NULL));
  EXPECT(SAYS(fyris_table_lookup_by(people, "by_city", spec, NULL, &err), FYRIS_E_NULL));
  EXPECT(SAYS(fyris_table_lookup_by(NULL, "by_city", spec, &found, &err), FYRIS_E_NULL));
  EXPECT(found == NULL);
  err.code = FYRIS_OK;
  EXPECT(fyris_table_new(store, "t", "[{secondary, x, {element, 0}}]", &err) == NULL);
  EXPECT(err.code == FYRIS_E_ARGUMENT && says("{element, Position}"));
  err.code = FYRIS_OK;
  EXPECT(fyris_table_delete(people, &err) == FYRIS_OK);
  EXPECT(SAYS(fyris_table_lookup_by(people, "by_city", spec, &found, &err), FYRIS_E_NO_TABLE));
  err.code = FYRIS_OK;
  EXPECT(finds(before, "by_size", "1", "[{ada, #{born => 1815}, london}, {emmy, #{born => 1882}, erlangen}]"));

  fyris_term_free(spec);
  fyris_table_free(within);
  fyris_transaction_free(tx);
  fyris_table_free(before);
  fyris_table_free(people);
  fyris_store_free(store);
  puts("secondary: all good");
  return 0;
}
