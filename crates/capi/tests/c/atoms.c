/* Atoms: what makes none, and a table of atoms that is full. */
#include "check.h"
#include <string.h>

#define FAILS(made, wanted) EXPECT((made) == NULL && err.code == (wanted))

/* The same name in external format. */
static fyris_term *decoded(const char *name, fyris_term *decode(const void *, size_t, fyris_error *)) {
  char bytes[64];
  int len = snprintf(bytes, sizeof bytes, "\x83\x77%c%s", (char)strlen(name), name);
  return decode(bytes, (size_t)len, &err);
}

int main(void) {
  fyris_store *store = fyris_store_new(&err);
  fyris_table *table = fyris_table_new(store, "t", "[named_table]", &err);
  EXPECT(table != NULL);

  /* Nothing makes an atom of a name that is only looked for. */
  FAILS(decoded("only_looked_for", fyris_term_decode_safe), FYRIS_E_FORMAT);
  FAILS(fyris_table_named(store, "only_looked_for", &err), FYRIS_E_NO_TABLE);
  FAILS(decoded("only_looked_for", fyris_term_decode_safe), FYRIS_E_FORMAT);
  fyris_term *made = decoded("only_looked_for", fyris_term_decode);
  fyris_term *again = decoded("only_looked_for", fyris_term_decode_safe);
  EXPECT(made != NULL && again != NULL && fyris_term_equal(made, again));
  fyris_term_free(made);
  fyris_term_free(again);

  char name[64];
  long count = 0;
  do {
    snprintf(name, sizeof name, "name_%ld", count++);
    made = fyris_term_atom(name, &err);
    fyris_term_free(made);
  } while (made != NULL);
  EXPECT(err.code == FYRIS_E_LIMIT && count > 1000000);

  /* New names are refused by one code, wherever they come from. */
  FAILS(fyris_term_parse("{new_in_text}", &err), FYRIS_E_LIMIT);
  FAILS(decoded("new_in_bytes", fyris_term_decode), FYRIS_E_LIMIT);
  FAILS(fyris_table_new(store, "new_as_name", NULL, &err), FYRIS_E_LIMIT);
  FAILS(fyris_table_new(store, "t", "[new_option]", &err), FYRIS_E_LIMIT);
  FAILS(fyris_table_open(store, "new_to_open", NULL, &err), FYRIS_E_LIMIT);
  FAILS(fyris_table_named(store, "new_to_find", &err), FYRIS_E_NO_TABLE);
  /* What brings none goes on, words of the library's own included that were not used so far. */
  fyris_table *same = fyris_table_named(store, "t", &err);
  fyris_table *other = fyris_table_new(store, "t", NULL, &err);
  EXPECT(same != NULL && other != NULL);
  fyris_term *object = fyris_term_parse("{1, 2}", &err), *found = NULL;
  EXPECT(fyris_table_insert(table, object, &err) == FYRIS_OK);
  fyris_term *spec = fyris_term_parse("[{{'_', '_'}, [], ['$_']}]", &err);
  EXPECT(spec != NULL || err.code == FYRIS_E_LIMIT);
  EXPECT(fyris_table_match_object(table, object, &found, &err) == FYRIS_OK && fyris_term_len(found) == 1);
  fyris_term_free(found);
  for (const char *item = "type"; item != NULL; item = strcmp(item, "type") == 0 ? "memory" : NULL) {
    EXPECT(fyris_table_info(table, item, &found, &err) == FYRIS_OK);
    fyris_term_free(found);
  }
  if (spec != NULL) {
    EXPECT(fyris_table_explain(table, spec, &found, &err) == FYRIS_OK);
    fyris_term_free(found);
  }
  fyris_term_free(spec);
  fyris_term_free(object);
  fyris_table_free(same);
  fyris_table_free(other);
  fyris_table_free(table);
  fyris_store_free(store);
  puts("atoms: all good");
  return 0;
}
