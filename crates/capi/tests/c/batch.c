/* Batches: what each operation does and answers, checks, and that a failure leaves nothing; compare and swap. */
#include "check.h"
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static int says(fyris_term *term, const char *wanted) {
  fyris_term *expected = parse(wanted);
  int same = fyris_term_equal(term, expected);
  fyris_term_free(expected);
  return same;
}

/* The objects of a key. */
static int holds(fyris_table *table, const char *key, const char *wanted) {
  fyris_term *name = parse(key), *found = NULL;
  EXPECT(fyris_table_lookup(table, name, &found, &err) == FYRIS_OK);
  int same = says(found, wanted);
  fyris_term_free(name);
  fyris_term_free(found);
  return same;
}

/* Apples are sold if there are as many as were seen, and the sale is noted. */
static void sells(fyris_store *store, fyris_table *stock, fyris_table *sales) {
  fyris_term *apples = parse("apples"), *seen = parse("{apples, 3}"), *less = parse("{2, -2}");
  fyris_term *sale = parse("{1, apples, 2}"), *replies = NULL;
  fyris_write_op sell[] = {
      {.what = FYRIS_CHECK, .table = stock, .key = apples, .value = seen},
      {.what = FYRIS_UPDATE_COUNTER, .table = stock, .key = apples, .value = less},
      {.what = FYRIS_INSERT, .table = sales, .value = sale},
  };
  EXPECT(fyris_table_insert(stock, seen, &err) == FYRIS_OK);
  EXPECT(fyris_store_write_batch(store, sell, LENGTH(sell), &replies, NULL, &err) == FYRIS_OK);
  EXPECT(says(replies, "[true, 1, true]") && holds(stock, "apples", "[{apples, 1}]"));
  fyris_term_free(replies);
  size_t failed = 99;
  EXPECT(fyris_store_write_batch(store, sell, LENGTH(sell), NULL, &failed, &err) == FYRIS_E_CHECK);
  EXPECT(failed == 0 && holds(stock, "apples", "[{apples, 1}]") && holds(sales, "1", "[{1, apples, 2}]"));
  fyris_term_free(apples);
  fyris_term_free(seen);
  fyris_term_free(less);
  fyris_term_free(sale);
}

static void every_operation(fyris_store *store, fyris_table *set, fyris_table *bag) {
  fyris_term *k1 = parse("1"), *k2 = parse("2"), *objects = parse("[{1, a}, {1, b}]"), *one = parse("{1, a}");
  fyris_term *ops = parse("[{2, 5}, {2, -1}]"), *initial = parse("{0, 0}"), *edits = parse("{2, x}"), *replies = NULL;
  fyris_table *then = fyris_table_snapshot(set, &err);
  EXPECT(then != NULL);
  fyris_write_op all[] = {
      {.what = FYRIS_INSERT, .table = bag, .value = objects},
      {.what = FYRIS_INSERT_NEW, .table = bag, .value = one},
      {.what = FYRIS_DELETE_OBJECT, .table = bag, .value = one},
      {.what = FYRIS_UPDATE_COUNTER, .table = set, .key = k2, .value = ops, .initial = initial},
      {.what = FYRIS_UPDATE_ELEMENT, .table = set, .key = k1, .value = edits},
      {.what = FYRIS_UPDATE_ELEMENT, .table = set, .key = k1, .value = edits, .initial = initial},
      {.what = FYRIS_DELETE, .table = bag, .key = k2},
      {.what = FYRIS_CHECK, .table = bag, .key = k1},
      {.what = FYRIS_CHECK, .table = set, .key = k1, .snapshot = then},
  };
  EXPECT(fyris_store_write_batch(store, all, LENGTH(all), &replies, NULL, &err) == FYRIS_OK);
  EXPECT(says(replies, "[true, false, true, [5, 4], false, true, true, true, true]"));
  EXPECT(holds(bag, "1", "[{1, b}]") && holds(set, "2", "[{2, 4}]") && holds(set, "1", "[{1, x}]"));
  fyris_term_free(replies);
  /* What each is refused for, behind a good one of which nothing is left. */
  size_t failed;
  struct {
    fyris_write_op op;
    fyris_code code;
  } bad[] = {
      {{.what = FYRIS_CHECK, .table = bag, .key = k1}, FYRIS_E_CHECK},
      {{.what = FYRIS_CHECK, .table = set, .key = k1, .snapshot = then}, FYRIS_E_CHECK},
      {{.what = FYRIS_CHECK, .table = bag, .key = k1, .snapshot = then}, FYRIS_E_ARGUMENT},
      {{.what = 0, .table = set, .key = k1, .value = one}, FYRIS_E_ARGUMENT},
      {{.what = FYRIS_INSERT, .table = set, .value = k1}, FYRIS_E_TYPE},
      {{.what = FYRIS_INSERT, .table = set}, FYRIS_E_NULL},
      {{.what = FYRIS_DELETE, .table = NULL, .key = k1}, FYRIS_E_NULL},
      {{.what = FYRIS_DELETE, .table = then, .key = k1}, FYRIS_E_READ_ONLY},
      {{.what = FYRIS_UPDATE_COUNTER, .table = set, .key = edits, .value = ops}, FYRIS_E_NO_KEY},
      {{.what = FYRIS_UPDATE_COUNTER, .table = bag, .key = k1, .value = ops}, FYRIS_E_TYPE},
  };
  for (size_t i = 0; i < LENGTH(bad); i++) {
    fyris_write_op two[] = {{.what = FYRIS_DELETE, .table = set, .key = k2}, bad[i].op};
    failed = 99;
    err.code = FYRIS_OK;
    EXPECT(fyris_store_write_batch(store, two, 2, NULL, &failed, &err) == bad[i].code);
    EXPECT(failed == 1 && strstr(err.text, "operation 1 of the batch") != NULL && holds(set, "2", "[{2, 4}]"));
  }
  err.code = FYRIS_OK;
  EXPECT(fyris_store_write_batch(store, NULL, 0, &replies, NULL, &err) == FYRIS_OK && says(replies, "[]"));
  fyris_term_free(replies);
  fyris_term *terms[] = {k1, k2, objects, one, ops, initial, edits};
  for (size_t i = 0; i < LENGTH(terms); i++) fyris_term_free(terms[i]);
  fyris_table_free(then);
}

static void compares_and_swaps(fyris_table *set, fyris_table *bag) {
  fyris_term *is_free = parse("{lock, free}"), *taken = parse("{lock, taken}"), *other = parse("{other, taken}");
  bool swapped = true;
  EXPECT(fyris_table_compare_and_swap(set, is_free, taken, &swapped, &err) == FYRIS_OK && !swapped);
  EXPECT(fyris_table_insert(set, is_free, &err) == FYRIS_OK);
  EXPECT(fyris_table_compare_and_swap(set, is_free, taken, &swapped, &err) == FYRIS_OK && swapped);
  EXPECT(fyris_table_compare_and_swap(set, is_free, taken, &swapped, &err) == FYRIS_OK && !swapped);
  EXPECT(fyris_table_compare_and_swap(set, taken, is_free, NULL, &err) == FYRIS_OK);
  EXPECT(holds(set, "lock", "[{lock, free}]"));
  EXPECT(fyris_table_compare_and_swap(set, is_free, other, &swapped, &err) == FYRIS_E_ARGUMENT);
  EXPECT(fyris_table_compare_and_swap(bag, is_free, taken, &swapped, &err) == FYRIS_E_TYPE);
  fyris_term_free(is_free);
  fyris_term_free(taken);
  fyris_term_free(other);
}

int main(void) {
  fyris_store *store = fyris_store_new(&err);
  EXPECT(store != NULL);
  fyris_table *set = fyris_table_new(store, "set", NULL, &err), *bag = fyris_table_new(store, "bag", "[bag]", &err);
  fyris_table *sales = fyris_table_new(store, "sales", "[ordered_set]", &err);
  EXPECT(set != NULL && bag != NULL && sales != NULL);
  sells(store, set, sales);
  every_operation(store, set, bag);
  compares_and_swaps(set, bag);
  fyris_table_free(set);
  fyris_table_free(bag);
  fyris_table_free(sales);
  fyris_store_free(store);
  printf("batch: all good\n");
  return 0;
}
