/* Transactions: what they see, keep to themselves and leave; conflicts; what they refuse. */
#include <fyris.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fyris_error err;

static void expect(int line, int good, const fyris_error *said) {
  if (!good) {
    fprintf(stderr, "transaction.c:%d: last error %d: %.*s\n", line, said->code, FYRIS_ERROR_TEXT, said->text);
    exit(1);
  }
}
#define EXPECT(good) expect(__LINE__, (good), &err)
/* Each begins with an error that tells of nothing: see ERRORS in the header. */
#define SAYS(call, wanted) (err.code = FYRIS_OK, (call) == (wanted) && err.code == (wanted))
#define NOTHING(make, wanted) (err.code = FYRIS_OK, (make) == NULL && err.code == (wanted))

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

static void commits(fyris_store *store, fyris_table *a, fyris_table *b) {
  fyris_transaction *tx = fyris_transaction_begin(store, &err);
  fyris_table *in_a = fyris_transaction_table(tx, a, &err), *in_b = fyris_transaction_table(tx, b, &err);
  EXPECT(tx != NULL && in_a != NULL && in_b != NULL);
  EXPECT(put(in_a, 1, 11) == FYRIS_OK && put(in_b, 2, 22) == FYRIS_OK);
  EXPECT(value(in_a, 1) == 11 && value(in_b, 2) == 22 && value(a, 1) == 10 && value(b, 2) == -1);
  fyris_table *same = fyris_transaction_table(tx, in_a, &err);
  EXPECT(same != NULL && value(same, 1) == 11);
  EXPECT(fyris_transaction_commit(tx, &err) == FYRIS_OK);
  EXPECT(value(a, 1) == 11 && value(b, 2) == 22);
  /* Ended. */
  size_t size;
  EXPECT(put(in_a, 1, 12) == FYRIS_E_ENDED && fyris_table_size(in_a, &size, &err) == FYRIS_E_ENDED);
  EXPECT(fyris_transaction_commit(tx, &err) == FYRIS_E_ENDED && strstr(err.text, "has ended") != NULL);
  EXPECT(NOTHING(fyris_transaction_table(tx, a, &err), FYRIS_E_ENDED));
  EXPECT(fyris_transaction_abort(tx, &err) == FYRIS_OK);
  fyris_transaction_free(tx);
  /* Aborted, and freed before the end. */
  for (int abort = 0; abort < 2; abort++) {
    tx = fyris_transaction_begin(store, &err);
    fyris_table *within = fyris_transaction_table(tx, a, &err);
    EXPECT(put(within, 1, 0) == FYRIS_OK);
    if (abort) EXPECT(fyris_transaction_abort(tx, &err) == FYRIS_OK);
    fyris_transaction_free(tx);
    EXPECT(put(within, 1, 0) == FYRIS_E_ENDED && value(a, 1) == 11);
    fyris_table_free(within);
  }
  fyris_table_free(in_a);
  fyris_table_free(in_b);
  fyris_table_free(same);
}

static void conflicts(fyris_store *store, fyris_table *a, fyris_table *b) {
  fyris_transaction *tx = fyris_transaction_begin(store, &err);
  fyris_table *within = fyris_transaction_table(tx, a, &err);
  EXPECT(put(within, 7, (int)value(within, 1)) == FYRIS_OK && put(a, 1, 12) == FYRIS_OK);
  EXPECT(fyris_transaction_commit(tx, &err) == FYRIS_E_CONFLICT);
  EXPECT(strcmp(err.text, "another write to a was faster, key 1") == 0 && value(a, 7) == -1);
  fyris_table_free(within);
  /* One that is not registered under its name is named all the same. */
  fyris_table *stock = fyris_table_new(store, "stock", NULL, &err), *held = NULL;
  fyris_transaction *second = fyris_transaction_begin(store, &err);
  held = fyris_transaction_table(second, stock, &err);
  EXPECT(put(held, 2, (int)value(held, 1)) == FYRIS_OK && put(stock, 1, 12) == FYRIS_OK);
  EXPECT(SAYS(fyris_transaction_commit(second, &err), FYRIS_E_CONFLICT));
  EXPECT(strstr(err.text, "another write to stock (#") == err.text && strstr(err.text, ", key 1") != NULL);
  fyris_table_free(held);
  fyris_table_free(stock);
  fyris_transaction_free(second);
  /* Again, and where another table comes in. */
  EXPECT(fyris_transaction_retry(tx, &err) == FYRIS_OK);
  within = fyris_transaction_table(tx, a, &err);
  EXPECT(value(within, 1) == 12 && put(a, 1, 13) == FYRIS_OK);
  EXPECT(NOTHING(fyris_transaction_table(tx, b, &err), FYRIS_E_CONFLICT));
  EXPECT(fyris_transaction_commit(tx, &err) == FYRIS_E_CONFLICT);
  fyris_table_free(within);
  EXPECT(fyris_transaction_retry(tx, &err) == FYRIS_OK);
  within = fyris_transaction_table(tx, a, &err);
  EXPECT(put(within, 7, (int)value(within, 1)) == FYRIS_OK);
  EXPECT(fyris_transaction_commit(tx, &err) == FYRIS_OK && value(a, 7) == 13);
  fyris_table_free(within);
  fyris_transaction_free(tx);
}

static void refusals(fyris_store *store, fyris_table *a) {
  fyris_transaction *tx = fyris_transaction_begin(store, &err), *other = fyris_transaction_begin(store, &err);
  fyris_table *within = fyris_transaction_table(tx, a, &err), *then = fyris_table_snapshot(a, &err);
  fyris_term *name = fyris_term_atom("c", &err);
  EXPECT(fyris_table_delete(within, &err) == FYRIS_E_IN_TRANSACTION);
  EXPECT(strcmp(err.text, "delete does not work in a transaction") == 0);
  EXPECT(fyris_table_delete_all_objects(within, &err) == FYRIS_E_IN_TRANSACTION);
  EXPECT(fyris_table_rename(within, name, &err) == FYRIS_E_IN_TRANSACTION);
  EXPECT(fyris_table_setopts(within, "{protection, private}", &err) == FYRIS_E_IN_TRANSACTION);
  EXPECT(NOTHING(fyris_table_give_away(within, store, &err), FYRIS_E_IN_TRANSACTION));
  EXPECT(NOTHING(fyris_table_snapshot(within, &err), FYRIS_E_IN_TRANSACTION));
  EXPECT(NOTHING(fyris_transaction_table(tx, then, &err), FYRIS_E_READ_ONLY));
  EXPECT(NOTHING(fyris_transaction_table(other, within, &err), FYRIS_E_ARGUMENT));
  fyris_store *strange = fyris_store_new(&err), *joined = fyris_store_join(store, &err);
  fyris_table *foreign = fyris_table_new(strange, "t", NULL, &err), *theirs = fyris_table_named(joined, "a", &err);
  EXPECT(NOTHING(fyris_transaction_table(tx, foreign, &err), FYRIS_E_ARGUMENT));
  EXPECT(NOTHING(fyris_transaction_table(tx, theirs, &err), FYRIS_E_ARGUMENT));
  EXPECT(NOTHING(fyris_transaction_begin(NULL, &err), FYRIS_E_NULL));
  EXPECT(NOTHING(fyris_transaction_table(NULL, a, &err), FYRIS_E_NULL));
  EXPECT(NOTHING(fyris_transaction_table(tx, NULL, &err), FYRIS_E_NULL));
  EXPECT(SAYS(fyris_transaction_commit(NULL, &err), FYRIS_E_NULL));
  EXPECT(SAYS(fyris_transaction_abort(NULL, &err), FYRIS_E_NULL));
  EXPECT(SAYS(fyris_transaction_retry(NULL, &err), FYRIS_E_NULL));
  EXPECT(strstr(err.text, "the transaction is NULL") != NULL);
  /* Nothing of that has changed anything. */
  EXPECT(put(within, 1, 1) == FYRIS_OK && fyris_transaction_commit(tx, &err) == FYRIS_OK && value(a, 1) == 1);
  EXPECT(strcmp(fyris_code_name(FYRIS_E_ENDED), "FYRIS_E_ENDED") == 0);
  EXPECT(strcmp(fyris_code_name(FYRIS_E_IN_TRANSACTION), "FYRIS_E_IN_TRANSACTION") == 0);
  fyris_transaction_free(tx);
  fyris_transaction_free(other);
  fyris_transaction_free(NULL);
  fyris_table_free(within);
  fyris_table_free(then);
  fyris_table_free(foreign);
  fyris_table_free(theirs);
  fyris_store_free(strange);
  fyris_store_free(joined);
  fyris_term_free(name);
}

/* Threads that end one transaction while others use it. */
static fyris_transaction *shared;
static fyris_table *live;

static void *use(void *unused) {
  fyris_error mine = FYRIS_ERROR_INIT;
  for (int i = 0; i < 200; i++) {
    fyris_table *within = fyris_transaction_table(shared, live, &mine);
    expect(__LINE__, within != NULL || mine.code == FYRIS_E_ENDED, &mine);
    fyris_table_free(within);
    fyris_code code = i % 2 ? fyris_transaction_commit(shared, &mine) : fyris_transaction_retry(shared, &mine);
    expect(__LINE__, code == FYRIS_OK || code == FYRIS_E_ENDED, &mine);
  }
  return unused;
}

static void threads(fyris_store *store, fyris_table *a) {
  pthread_t users[3];
  shared = fyris_transaction_begin(store, &err);
  live = a;
  for (int i = 0; i < 3; i++) pthread_create(&users[i], NULL, use, NULL);
  for (int i = 0; i < 3; i++) pthread_join(users[i], NULL);
  fyris_transaction_free(shared);
}

int main(void) {
  fyris_store *store = fyris_store_new(&err);
  fyris_table *a = fyris_table_new(store, "a", "[named_table]", &err);
  fyris_table *b = fyris_table_new(store, "b", "[ordered_set]", &err);
  EXPECT(a != NULL && b != NULL && put(a, 1, 10) == FYRIS_OK);
  commits(store, a, b);
  conflicts(store, a, b);
  refusals(store, a);
  threads(store, a);
  fyris_transaction *tx = fyris_transaction_begin(store, &err);
  fyris_table *within = fyris_transaction_table(tx, a, &err);
  EXPECT(put(within, 2, 2) == FYRIS_OK);
  fyris_store_free(store); /* and with it the tables */
  EXPECT(fyris_transaction_commit(tx, &err) == FYRIS_E_NO_TABLE);
  fyris_transaction_free(tx);
  fyris_table_free(within);
  fyris_table_free(a);
  fyris_table_free(b);
  puts("transaction: all good");
  return 0;
}
