/* Accounts in one table and a log in another, changed as one by threads that get in the way of each other.
 *
 *   cc -std=c11 transaction.c $(pkg-config --cflags --libs fyris) -lpthread && ./a.out
 */
#include <fyris.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, PAYMENTS = 200 };

static fyris_store *store;
static fyris_table *accounts, *entries;

static void check(int good, const char *what, const fyris_error *err) {
  if (!good) {
    fprintf(stderr, "%s: %s (code %d)\n", what, err->text, err->code);
    exit(1);
  }
}

/* Adds to an account. */
static fyris_code add(fyris_table *table, const char *name, int64_t amount, int64_t *left, fyris_error *err) {
  fyris_term *key = fyris_term_atom(name, err);
  fyris_code code = fyris_table_count(table, key, 2, amount, NULL, left, err);
  fyris_term_free(key);
  return code;
}

/* Notes a payment under the number that comes next. */
static fyris_code note(fyris_table *table, int64_t left, fyris_error *err) {
  size_t size = 0;
  fyris_code code = fyris_table_size(table, &size, err);
  if (code != FYRIS_OK) return code;
  fyris_term *pair[] = {fyris_term_int((int64_t)size), fyris_term_int(left)};
  fyris_term *object = fyris_term_tuple(pair, 2, err);
  code = fyris_table_insert(table, object, err);
  fyris_term_free(object);
  return code;
}

/* Both accounts and the log, or nothing. */
static fyris_code try_to_pay(fyris_transaction *tx, fyris_error *err) {
  fyris_table *within = fyris_transaction_table(tx, accounts, err);
  fyris_table *log = within == NULL ? NULL : fyris_transaction_table(tx, entries, err);
  fyris_code code = log == NULL ? err->code : FYRIS_OK;
  int64_t left = 0;
  if (code == FYRIS_OK) code = add(within, "ada", -1, &left, err);
  if (code == FYRIS_OK) code = add(within, "bob", 1, NULL, err);
  if (code == FYRIS_OK) code = note(log, left, err);
  if (code == FYRIS_OK) code = fyris_transaction_commit(tx, err);
  fyris_table_free(within);
  fyris_table_free(log);
  return code;
}

static void *pay(void *unused) {
  fyris_error err = FYRIS_ERROR_INIT;
  for (int i = 0; i < PAYMENTS; i++) {
    fyris_transaction *tx = fyris_transaction_begin(store, &err);
    check(tx != NULL, "begin", &err);
    while (try_to_pay(tx, &err) == FYRIS_E_CONFLICT) /* another thread was faster */
      check(fyris_transaction_retry(tx, &err) == FYRIS_OK, "begin anew", &err);
    check(err.code == FYRIS_OK, "pay", &err);
    fyris_transaction_free(tx);
  }
  return unused;
}

int main(void) {
  fyris_error err = FYRIS_ERROR_INIT;
  store = fyris_store_new(&err);
  check(store != NULL, "make a store", &err);
  accounts = fyris_table_new(store, "accounts", NULL, &err);
  entries = fyris_table_new(store, "log", "[ordered_set]", &err);
  check(accounts != NULL && entries != NULL, "make tables", &err);
  const char *begin[] = {"{ada, 1000}", "{bob, 0}"};
  for (int i = 0; i < 2; i++) {
    fyris_term *account = fyris_term_parse(begin[i], &err);
    check(fyris_table_insert(accounts, account, &err) == FYRIS_OK, "insert", &err);
    fyris_term_free(account);
  }

  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, pay, NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);

  int64_t ada = 0, bob = 0;
  size_t noted = 0;
  check(add(accounts, "ada", 0, &ada, &err) == FYRIS_OK, "look up", &err);
  check(add(accounts, "bob", 0, &bob, &err) == FYRIS_OK, "look up", &err);
  check(fyris_table_size(entries, &noted, &err) == FYRIS_OK, "count", &err);
  printf("ada has %" PRId64 ", bob has %" PRId64 ", after %zu payments\n", ada, bob, noted);

  fyris_table_free(accounts);
  fyris_table_free(entries);
  fyris_store_free(store);
  return 0;
}
