/* Watching: the kinds of events, filters, options; threads that wait; what is refused. */
#include <fyris.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static fyris_error err;

static void expect(int line, int good, const fyris_error *said) {
  if (!good) {
    fprintf(stderr, "watch.c:%d: last error %d: %.*s\n", line, said->code, FYRIS_ERROR_TEXT, said->text);
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

static void drop(fyris_table *table, int key) {
  fyris_term *gone = fyris_term_int(key);
  EXPECT(fyris_table_delete_key(table, gone, &err) == FYRIS_OK);
  fyris_term_free(gone);
}

static fyris_event *next(fyris_subscription *changes) {
  fyris_event *event = NULL;
  EXPECT(fyris_subscription_next(changes, 0, &event, &err) == FYRIS_OK);
  return event;
}

/* Is the object {key, value}, or NULL where both are -1? */
static int is(const fyris_term *object, int64_t key, int64_t value) {
  int64_t found[2] = {-1, -1};
  for (int i = 0; i < 2 && object != NULL; i++)
    EXPECT(fyris_term_get_int(fyris_term_at(object, i), &found[i], &err) == FYRIS_OK);
  return found[0] == key && found[1] == value;
}

/* Is the next event one change, of the first table? Both are -1 where there was, or is, no object. */
static int tells(fyris_subscription *changes, uint64_t seq, int key, int old, int value) {
  fyris_event *event = next(changes);
  int good = fyris_event_kind_of(event) == FYRIS_EVENT_CHANGES && fyris_event_seq(event) == seq &&
             fyris_event_len(event) == 1 && fyris_event_table(event, 0) == 0 && fyris_event_count(event) == 0 &&
             is(fyris_event_old(event, 0), old < 0 ? -1 : key, old) &&
             is(fyris_event_new(event, 0), value < 0 ? -1 : key, value) && fyris_event_old(event, 1) == NULL &&
             fyris_event_new(event, 1) == NULL && fyris_event_table(event, 1) == SIZE_MAX;
  fyris_event_free(event);
  return good;
}

static int nothing(fyris_subscription *changes) {
  fyris_event *event = next(changes);
  int none = event == NULL;
  fyris_event_free(event);
  return none;
}

static void changes_of_one(fyris_store *store) {
  fyris_table *table = fyris_table_new(store, "one", NULL, &err);
  fyris_subscription *changes = fyris_table_subscribe(table, NULL, NULL, &err);
  EXPECT(changes != NULL && nothing(changes));
  EXPECT(put(table, 1, 10) == FYRIS_OK && put(table, 1, 11) == FYRIS_OK && put(table, 1, 11) == FYRIS_OK);
  drop(table, 1);
  EXPECT(tells(changes, 1, 1, -1, 10) && tells(changes, 2, 1, 10, 11) && tells(changes, 3, 1, 11, -1));
  EXPECT(nothing(changes));
  EXPECT(put(table, 1, 1) == FYRIS_OK && put(table, 2, 2) == FYRIS_OK);
  EXPECT(tells(changes, 4, 1, -1, 1) && tells(changes, 5, 2, -1, 2));
  EXPECT(fyris_table_delete_all_objects(table, &err) == FYRIS_OK && fyris_table_delete(table, &err) == FYRIS_OK);
  EXPECT(!fyris_subscription_has_ended(changes));
  fyris_event *event = next(changes);
  EXPECT(fyris_event_kind_of(event) == FYRIS_EVENT_CLEARED && fyris_event_count(event) == 2);
  EXPECT(fyris_event_table(event, 0) == 0 && fyris_event_len(event) == 0);
  fyris_event_free(event);
  event = next(changes);
  EXPECT(fyris_event_kind_of(event) == FYRIS_EVENT_DELETED && fyris_event_table(event, 7) == 0);
  fyris_event_free(event);
  EXPECT(fyris_subscription_has_ended(changes) && nothing(changes));
  /* It does not wait for what cannot come. */
  EXPECT(fyris_subscription_next(changes, -1, &event, &err) == FYRIS_OK && event == NULL);
  fyris_subscription_free(changes);
  fyris_table_free(table);
}

static void several_tables(fyris_store *store) {
  fyris_table *tables[] = {fyris_table_new(store, "a", "[named_table]", &err), fyris_table_new(store, "b", "[bag]", &err)};
  EXPECT(put(tables[0], 1, 1) == FYRIS_OK);
  fyris_subscription *changes = fyris_store_subscribe(store, tables, 2, NULL, "[{from, snapshot}]", &err);
  EXPECT(changes != NULL);
  fyris_term *name = fyris_term_atom("c", &err);
  EXPECT(fyris_table_rename(tables[0], name, &err) == FYRIS_OK);
  fyris_transaction *tx = fyris_transaction_begin(store, &err);
  for (int i = 0; i < 2; i++) {
    fyris_table *within = fyris_transaction_table(tx, tables[i], &err);
    EXPECT(within != NULL && put(within, 2, 20 + i) == FYRIS_OK);
    fyris_table_free(within);
  }
  EXPECT(fyris_transaction_commit(tx, &err) == FYRIS_OK);
  fyris_transaction_free(tx);
  fyris_event *event = next(changes);
  EXPECT(fyris_event_kind_of(event) == FYRIS_EVENT_OBJECTS && fyris_event_len(event) == 1);
  EXPECT(fyris_event_table(event, 0) == 0 && is(fyris_event_new(event, 0), 1, 1) && fyris_event_old(event, 0) == NULL);
  fyris_event_free(event);
  event = next(changes);
  EXPECT(fyris_event_kind_of(event) == FYRIS_EVENT_CURRENT && fyris_event_table(event, 0) == SIZE_MAX);
  fyris_event_free(event);
  event = next(changes);
  EXPECT(fyris_event_len(event) == 2 && fyris_event_seq(event) == 3);
  for (size_t i = 0; i < 2; i++)
    EXPECT(fyris_event_table(event, i) == i && is(fyris_event_new(event, i), 2, 20 + (int)i));
  fyris_event_free(event);
  fyris_subscription_free(changes);
  fyris_term_free(name);
  for (int i = 0; i < 2; i++) {
    EXPECT(fyris_table_delete(tables[i], &err) == FYRIS_OK);
    fyris_table_free(tables[i]);
  }
}

/* How many changes of the keys 0 to 9, with their own values, does a filter let pass? */
static int passing(fyris_table *table, const char *filter, const char *options) {
  fyris_term *term = fyris_term_parse(filter, &err);
  fyris_subscription *changes = fyris_table_subscribe(table, term, options, &err);
  fyris_term_free(term);
  EXPECT(changes != NULL);
  for (int i = 0; i < 10; i++) EXPECT(put(table, i, i) == FYRIS_OK);
  int count = 0;
  for (fyris_event *event; (event = next(changes)) != NULL; count++) {
    if (fyris_event_kind_of(event) == FYRIS_EVENT_OVERFLOW) count += 100 * (int)fyris_event_count(event);
    fyris_event_free(event);
  }
  fyris_subscription_free(changes);
  for (int i = 0; i < 10; i++) drop(table, i);
  return count;
}

static void filters_and_options(fyris_store *store) {
  fyris_table *table = fyris_table_new(store, "filters", "[ordered_set]", &err);
  EXPECT(passing(table, "all", NULL) == 10 && passing(table, "{key, 3}", "[]") == 1);
  EXPECT(passing(table, "{range, 2, 5}", NULL) == 4 && passing(table, "{range, 7, '_'}", NULL) == 3);
  EXPECT(passing(table, "{pattern, {'_', 4}}", NULL) == 1);
  EXPECT(passing(table, "[{{'_', '$1'}, [{'>', '$1', 6}], [true]}]", NULL) == 3);
  EXPECT(passing(table, "all", "[{queue, 2}]") == 803);
  EXPECT(passing(table, "all", "[conflate, {queue, 100}]") == 10);
  const char *filters[] = {"some", "{key}", "{range, 1}", "{all, 1}", "7", "{}"};
  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
    fyris_term *filter = fyris_term_parse(filters[i], &err);
    EXPECT(NOTHING(fyris_table_subscribe(table, filter, NULL, &err), FYRIS_E_ARGUMENT));
    EXPECT(strstr(err.text, "is no filter: filters are all, {key,Key}, ") != NULL);
    fyris_term_free(filter);
  }
  const char *options[] = {"queue", "[queue]", "[{queue, -1}]", "[{queue, a}]", "[{from, now}]", "[conflated]"};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    EXPECT(NOTHING(fyris_table_subscribe(table, NULL, options[i], &err), FYRIS_E_ARGUMENT));
    EXPECT(strstr(err.text, "bad option ") == err.text && strstr(err.text, "{queue,Changes}, conflate") != NULL);
  }
  EXPECT(NOTHING(fyris_table_subscribe(table, NULL, "[", &err), FYRIS_E_SYNTAX));
  fyris_term *spec = fyris_term_parse("[{a}]", &err), *range = fyris_term_parse("{range, 1, 2}", &err);
  EXPECT(NOTHING(fyris_table_subscribe(table, spec, NULL, &err), FYRIS_E_ARGUMENT));
  fyris_table *bag = fyris_table_new(store, "bag", "[bag]", &err);
  EXPECT(NOTHING(fyris_table_subscribe(bag, range, NULL, &err), FYRIS_E_TYPE));
  EXPECT(NOTHING(fyris_table_subscribe(bag, NULL, "[conflate]", &err), FYRIS_E_TYPE));
  fyris_term_free(spec);
  fyris_term_free(range);
  EXPECT(fyris_table_delete(table, &err) == FYRIS_OK && fyris_table_delete(bag, &err) == FYRIS_OK);
  fyris_table_free(table);
  fyris_table_free(bag);
}

static void refusals(fyris_store *store) {
  fyris_table *table = fyris_table_new(store, "refused", NULL, &err), *twice[] = {table, table};
  fyris_table *then = fyris_table_snapshot(table, &err);
  fyris_store *strange = fyris_store_new(&err);
  fyris_subscription *changes = fyris_table_subscribe(table, NULL, NULL, &err);
  fyris_event *event = NULL;
  EXPECT(NOTHING(fyris_table_subscribe(NULL, NULL, NULL, &err), FYRIS_E_NULL));
  EXPECT(NOTHING(fyris_table_subscribe(then, NULL, NULL, &err), FYRIS_E_READ_ONLY));
  EXPECT(NOTHING(fyris_store_subscribe(NULL, twice, 1, NULL, NULL, &err), FYRIS_E_NULL));
  EXPECT(NOTHING(fyris_store_subscribe(store, NULL, 1, NULL, NULL, &err), FYRIS_E_NULL));
  EXPECT(NOTHING(fyris_store_subscribe(store, NULL, 0, NULL, NULL, &err), FYRIS_E_ARGUMENT));
  EXPECT(NOTHING(fyris_store_subscribe(store, twice, 2, NULL, NULL, &err), FYRIS_E_ARGUMENT));
  EXPECT(NOTHING(fyris_store_subscribe(strange, twice, 1, NULL, NULL, &err), FYRIS_E_ARGUMENT));
  EXPECT(SAYS(fyris_subscription_next(NULL, 0, &event, &err), FYRIS_E_NULL));
  EXPECT(SAYS(fyris_subscription_next(changes, 0, NULL, &err), FYRIS_E_NULL));
  EXPECT(SAYS(fyris_subscription_each(changes, 0, NULL, NULL, &err), FYRIS_E_NULL));
  EXPECT(SAYS(fyris_subscription_close(NULL, &err), FYRIS_E_NULL));
  EXPECT(fyris_subscription_has_ended(NULL) && !fyris_subscription_has_ended(changes));
  EXPECT(fyris_event_kind_of(NULL) == FYRIS_EVENT_NONE && fyris_event_seq(NULL) == 0 && fyris_event_len(NULL) == 0);
  EXPECT(fyris_event_old(NULL, 0) == NULL && fyris_event_new(NULL, 0) == NULL && fyris_event_count(NULL) == 0);
  EXPECT(fyris_event_table(NULL, 0) == SIZE_MAX);
  fyris_transaction *tx = fyris_transaction_begin(store, &err);
  fyris_table *within = fyris_transaction_table(tx, table, &err);
  EXPECT(NOTHING(fyris_table_subscribe(within, NULL, NULL, &err), FYRIS_E_IN_TRANSACTION));
  fyris_table_free(within);
  fyris_transaction_free(tx);
  EXPECT(fyris_table_delete(table, &err) == FYRIS_OK);
  EXPECT(NOTHING(fyris_table_subscribe(table, NULL, NULL, &err), FYRIS_E_NO_TABLE));
  fyris_subscription_free(changes);
  fyris_subscription_free(NULL);
  fyris_event_free(NULL);
  fyris_table_free(then);
  fyris_table_free(table);
  fyris_store_free(strange);
}

/* Stops after as many events. */
static int32_t count_down(void *context, const fyris_event *event) {
  int *left = context;
  EXPECT(fyris_event_kind_of(event) != FYRIS_EVENT_NONE);
  return --*left == 0;
}

static void callbacks(fyris_store *store) {
  fyris_table *table = fyris_table_new(store, "callbacks", NULL, &err);
  fyris_subscription *changes = fyris_table_subscribe(table, NULL, NULL, &err);
  for (int i = 0; i < 5; i++) EXPECT(put(table, i, i) == FYRIS_OK);
  int left = 3;
  EXPECT(fyris_subscription_each(changes, -1, count_down, &left, &err) == FYRIS_OK && left == 0);
  left = 10;
  EXPECT(fyris_subscription_each(changes, 0, count_down, &left, &err) == FYRIS_OK && left == 8);
  EXPECT(fyris_subscription_each(changes, 20, count_down, &left, &err) == FYRIS_OK && left == 8);
  EXPECT(fyris_table_delete(table, &err) == FYRIS_OK);
  EXPECT(fyris_subscription_each(changes, -1, count_down, &left, &err) == FYRIS_OK && left == 7);
  EXPECT(fyris_subscription_has_ended(changes));
  fyris_subscription_free(changes);
  fyris_table_free(table);
}

/* Threads that share a subscription, beside writers, until it is closed. */
static fyris_subscription *shared;
static fyris_table *live;

static int32_t is_counted(void *context, const fyris_event *event) {
  fyris_error mine = FYRIS_ERROR_INIT;
  expect(__LINE__, fyris_event_len(event) == 1, &mine);
  ++*(int *)context;
  return 0;
}

static void *watch(void *seen) {
  fyris_error mine = FYRIS_ERROR_INIT;
  expect(__LINE__, fyris_subscription_each(shared, -1, is_counted, seen, &mine) == FYRIS_OK, &mine);
  return NULL;
}

static void *write_many(void *from) {
  fyris_error mine = FYRIS_ERROR_INIT;
  for (int i = 0; i < 2000; i++) {
    fyris_term *pair[] = {fyris_term_int(*(int *)from + i % 10), fyris_term_int(i)};
    fyris_term *object = fyris_term_tuple(pair, 2, &mine);
    expect(__LINE__, fyris_table_insert(live, object, &mine) == FYRIS_OK, &mine);
    fyris_term_free(object);
  }
  return NULL;
}

static void threads(fyris_store *store) {
  pthread_t watchers[3], writers[2];
  int seen[3] = {0, 0, 0}, from[2] = {0, 100};
  live = fyris_table_new(store, "threads", "[public]", &err);
  shared = fyris_table_subscribe(live, NULL, NULL, &err);
  for (int i = 0; i < 3; i++) pthread_create(&watchers[i], NULL, watch, &seen[i]);
  for (int i = 0; i < 2; i++) pthread_create(&writers[i], NULL, write_many, &from[i]);
  for (int i = 0; i < 2; i++) pthread_join(writers[i], NULL);
  /* All was written: what is left is read here as well. */
  int ours = 0;
  EXPECT(fyris_subscription_each(shared, 0, is_counted, &ours, &err) == FYRIS_OK);
  usleep(20000);
  EXPECT(fyris_subscription_close(shared, &err) == FYRIS_OK && fyris_subscription_close(shared, &err) == FYRIS_OK);
  for (int i = 0; i < 3; i++) pthread_join(watchers[i], NULL);
  EXPECT(seen[0] + seen[1] + seen[2] + ours == 4000);
  EXPECT(fyris_subscription_has_ended(shared));
  fyris_subscription_free(shared);
  EXPECT(fyris_table_delete(live, &err) == FYRIS_OK);
  fyris_table_free(live);
}

int main(void) {
  fyris_store *store = fyris_store_new(&err);
  changes_of_one(store);
  several_tables(store);
  filters_and_options(store);
  refusals(store);
  callbacks(store);
  threads(store);
  fyris_table *table = fyris_table_new(store, "last", NULL, &err);
  fyris_subscription *changes = fyris_table_subscribe(table, NULL, NULL, &err);
  fyris_table_free(table);
  fyris_store_free(store); /* and with it the table */
  fyris_event *event = NULL;
  EXPECT(fyris_subscription_next(changes, -1, &event, &err) == FYRIS_OK);
  EXPECT(fyris_event_kind_of(event) == FYRIS_EVENT_DELETED && fyris_subscription_has_ended(changes));
  fyris_event_free(event);
  fyris_subscription_free(changes);
  puts("watch: all good");
  return 0;
}
