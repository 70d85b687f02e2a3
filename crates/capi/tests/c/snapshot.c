/* Snapshots: of one table, and of several at one moment. */
#include "check.h"

static fyris_code put(fyris_table *table, int key, int value) {
  fyris_term *pair[] = {fyris_term_int(key), fyris_term_int(value)};
  fyris_term *object = fyris_term_tuple(pair, 2, &err);
  fyris_code code = fyris_table_insert(table, object, &err);
  fyris_term_free(object);
  return code;
}

static int64_t value(fyris_table *table, int key) {
  fyris_term *wanted = fyris_term_int(key), *found = NULL;
  int64_t number = -1;
  if (fyris_table_lookup_element(table, wanted, 2, &found, &err) == FYRIS_OK) {
    EXPECT(fyris_term_get_int(found, &number, &err) == FYRIS_OK);
    fyris_term_free(found);
  }
  fyris_term_free(wanted);
  return number;
}

int main(void) {
  fyris_store *store = fyris_store_new(&err);
  fyris_table *tables[] = {fyris_table_new(store, "a", NULL, &err), fyris_table_new(store, "b", "[ordered_set]", &err)};
  EXPECT(tables[0] != NULL && tables[1] != NULL);
  EXPECT(put(tables[0], 1, 10) == FYRIS_OK && put(tables[1], 1, 20) == FYRIS_OK);
  fyris_table *one = fyris_table_snapshot(tables[0], &err), *both[2] = {NULL, NULL};
  EXPECT(one != NULL && fyris_store_snapshots(store, tables, 2, both, &err) == FYRIS_OK);
  EXPECT(put(tables[0], 1, 11) == FYRIS_OK && put(tables[1], 1, 21) == FYRIS_OK);
  EXPECT(value(one, 1) == 10 && value(both[0], 1) == 10 && value(both[1], 1) == 20 && value(tables[1], 1) == 21);
  EXPECT(put(one, 2, 2) == FYRIS_E_READ_ONLY);
  EXPECT(fyris_table_snapshot(one, &err) == NULL && err.code == FYRIS_E_READ_ONLY);
  EXPECT(fyris_table_delete(tables[1], &err) == FYRIS_OK && value(both[1], 1) == 20);
  EXPECT(fyris_table_release(both[1], &err) == FYRIS_OK && fyris_table_release(both[1], &err) == FYRIS_OK);
  EXPECT(value(both[1], 1) == -1 && err.code == FYRIS_E_ARGUMENT);
  EXPECT(fyris_store_snapshots(store, tables, 2, both, &err) == FYRIS_E_NO_TABLE);
  EXPECT(fyris_store_snapshots(store, NULL, 0, NULL, &err) == FYRIS_OK);
  EXPECT(fyris_store_snapshots(store, tables, 1, NULL, &err) == FYRIS_E_NULL);
  fyris_table_free(one);
  for (int i = 0; i < 2; i++) {
    fyris_table_free(both[i]);
    fyris_table_free(tables[i]);
  }
  fyris_store_free(store);
  puts("snapshot: all good");
  return 0;
}
