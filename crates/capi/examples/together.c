/* Four small programs of threads that work together: a bank, seats that are reserved, a queue of jobs, and counts that
 * are kept in step with a table.
 *
 *   cc -std=c11 together.c $(pkg-config --cflags --libs fyris) -lpthread && ./a.out
 */
#include <fyris.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ACCOUNTS = 5, TRANSFERS = 200, SEATS = 8, PEOPLE = 6, JOBS = 100, CATEGORIES = 3 };

static fyris_store *store;
static fyris_table *accounts, *seats, *jobs, *items, *counted;
static const char *const people[PEOPLE] = {"ada", "bob", "cleo", "dan", "eva", "finn"};
static const char *const categories[CATEGORIES] = {"cheese", "fruit", "tea"};

static void check(int good, const char *what, const fyris_error *err) {
  if (good) return;
  fprintf(stderr, "%s: %s %s\n", what, fyris_code_name(err->code), err->text);
  exit(1);
}

/* Ends the program if what it promises is not so. */
static void promise(int kept, const char *what) {
  if (kept) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

/* Makes a term of Erlang's syntax, in which printf has put the values. */
static fyris_term *make(const char *format, ...) {
  char text[256];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  fyris_error err = FYRIS_ERROR_INIT;
  fyris_term *term = fyris_term_parse(text, &err);
  check(term != NULL, text, &err);
  return term;
}

static int64_t int_at(const fyris_term *term, size_t index) {
  fyris_error err = FYRIS_ERROR_INIT;
  int64_t value = 0;
  check(fyris_term_get_int(fyris_term_at(term, index), &value, &err) == FYRIS_OK, "no integer", &err);
  return value;
}

static fyris_table *new_table(const char *name, const char *options) {
  fyris_error err = FYRIS_ERROR_INIT;
  fyris_table *table = fyris_table_new(store, name, options, &err);
  check(table != NULL, name, &err);
  return table;
}

/* Inserts an object, and frees it. */
static fyris_code put(fyris_table *table, fyris_term *object, fyris_error *err) {
  fyris_code code = fyris_table_insert(table, object, err);
  fyris_term_free(object);
  return code;
}

/* The number of objects of a value by a secondary index. */
static size_t count_by(fyris_table *table, const char *index, const char *value) {
  fyris_error err = FYRIS_ERROR_INIT;
  fyris_term *wanted = make("%s", value), *found = NULL;
  check(fyris_table_lookup_by(table, index, wanted, &found, &err) == FYRIS_OK, index, &err);
  size_t count = fyris_term_len(found);
  fyris_term_free(found);
  fyris_term_free(wanted);
  return count;
}

/* What runs in a transaction. It is committed after FYRIS_OK, and ends without a trace after another code. */
typedef fyris_code transaction_body(fyris_table *within, void *context, fyris_error *err);

/* Runs a function in a transaction over a table, and again as long as other threads are faster. */
static fyris_code transact(fyris_table *table, transaction_body *body, void *context, fyris_error *err) {
  fyris_transaction *tx = fyris_transaction_begin(store, err);
  check(tx != NULL, "cannot begin", err);
  fyris_code code;
  do {
    fyris_table *within = fyris_transaction_table(tx, table, err);
    code = within == NULL ? err->code : body(within, context, err);
    if (code == FYRIS_OK) code = fyris_transaction_commit(tx, err);
    fyris_table_free(within);
  } while (code == FYRIS_E_CONFLICT && fyris_transaction_retry(tx, err) == FYRIS_OK);
  fyris_transaction_free(tx);
  return code;
}

/* A thread with its number, and what it returns. */
struct worker {
  pthread_t thread;
  int number;
  int64_t (*function)(int thread);
  int64_t result;
};

static void *run_worker(void *context) {
  struct worker *worker = context;
  worker->result = worker->function(worker->number);
  return NULL;
}

/* Runs a function in several threads at once, and returns the sum of what they return. */
static int64_t together(int64_t (*function)(int thread)) {
  struct worker workers[THREADS];
  int64_t sum = 0;
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (struct worker){.number = i, .function = function};
    promise(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) == 0, "there are threads");
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(workers[i].thread, NULL);
    sum += workers[i].result;
  }
  return sum;
}

/* ---- A bank: no account is overdrawn, and the sum stays. */

struct transfer {
  int64_t from, to, amount;
};

static fyris_code add(fyris_table *table, int64_t account, int64_t amount, int64_t *left, fyris_error *err) {
  fyris_term *key = fyris_term_int(account);
  fyris_code code = fyris_table_count(table, key, 2, amount, NULL, left, err);
  fyris_term_free(key);
  return code;
}

/* Takes before it looks what is left: giving up takes that back, and no other thread has seen it. */
static fyris_code transfer(fyris_table *within, void *context, fyris_error *err) {
  const struct transfer *one = context;
  int64_t left = 0;
  fyris_code code = add(within, one->from, -one->amount, &left, err);
  if (code == FYRIS_OK && left < 0) return FYRIS_E_GAVE_UP;
  if (code == FYRIS_OK) code = add(within, one->to, one->amount, NULL, err);
  return code;
}

static int64_t transfers(int thread) {
  fyris_error err = FYRIS_ERROR_INIT;
  int64_t done = 0;
  for (int n = 0; n < TRANSFERS; n++) {
    struct transfer one = {(thread + n) % ACCOUNTS, (thread + 3 * n + 1) % ACCOUNTS, 10 + n % 50};
    fyris_code code = transact(accounts, transfer, &one, &err);
    check(code == FYRIS_OK || code == FYRIS_E_GAVE_UP, "cannot transfer", &err);
    done += code == FYRIS_OK;
  }
  return done;
}

static void bank(void) {
  fyris_error err = FYRIS_ERROR_INIT;
  accounts = new_table("accounts", NULL);
  for (int n = 0; n < ACCOUNTS; n++)
    check(put(accounts, make("{%d, 100}", n), &err) == FYRIS_OK, "no account", &err);
  int64_t done = together(transfers), sum = 0;
  struct transfer too_much = {0, 1, 501};
  promise(transact(accounts, transfer, &too_much, &err) == FYRIS_E_GAVE_UP, "501 are refused");
  for (int n = 0; n < ACCOUNTS; n++) {
    int64_t balance = 0;
    check(add(accounts, n, 0, &balance, &err) == FYRIS_OK, "no balance", &err);
    promise(balance >= 0, "nothing is overdrawn");
    sum += balance;
  }
  promise(sum == 500, "the sum is 500");
  printf("bank: %" PRId64 " of %d transfers, the sum is 500\n", done, THREADS * TRANSFERS);
  fyris_table_free(accounts);
}

/* ---- Reservations: everybody tries to reserve a seat in each of the threads, and nobody gets two. */

/* Gives a person the first free seat. That the person has none yet is looked at when it is committed. */
static fyris_code reserve(fyris_table *within, void *person, fyris_error *err) {
  fyris_term *state = make("free"), *free_seats = NULL;
  fyris_code code = fyris_table_lookup_by(within, "by_state", state, &free_seats, err);
  if (code == FYRIS_OK && fyris_term_len(free_seats) == 0) code = FYRIS_E_GAVE_UP;
  if (code == FYRIS_OK) {
    int64_t number = int_at(fyris_term_at(free_seats, 0), 0);
    code = put(within, make("{%" PRId64 ", taken, %s}", number, (const char *)person), err);
  }
  fyris_term_free(free_seats);
  fyris_term_free(state);
  return code;
}

static int64_t reserve_for_all(int thread) {
  (void)thread;
  fyris_error err = FYRIS_ERROR_INIT;
  int64_t refused = 0;
  for (int n = 0; n < PEOPLE; n++) {
    fyris_code code = transact(seats, reserve, (void *)people[n], &err);
    check(code == FYRIS_OK || code == FYRIS_E_NOT_UNIQUE, "cannot reserve", &err);
    refused += code == FYRIS_E_NOT_UNIQUE;
  }
  return refused;
}

static void reservations(void) {
  fyris_error err = FYRIS_ERROR_INIT;
  /* A free seat, {Number, free}, has no third element, so the unique index does not have it. */
  seats = new_table("seats", "[ordered_set, {secondary, by_state, {element, 2}},"
                             " {secondary, by_person, {unique, {element, 3}}}]");
  for (int n = 1; n <= SEATS; n++) check(put(seats, make("{%d, free}", n), &err) == FYRIS_OK, "no seat", &err);
  int64_t refused = together(reserve_for_all);
  for (int n = 0; n < PEOPLE; n++) promise(count_by(seats, "by_person", people[n]) == 1, "one seat each");
  promise(count_by(seats, "by_state", "free") == SEATS - PEOPLE, "the others are free");
  promise(refused == (THREADS - 1) * PEOPLE, "all others were refused");
  printf("reservations: %d people have a seat each, %" PRId64 " second ones were refused\n", PEOPLE, refused);
  fyris_table_free(seats);
}

/* ---- A queue of jobs: each is done once. The state is the first part of the key, {State, Number}, so the ready jobs
 * are a range, whose first is the oldest. */

struct job {
  int64_t number, attempt;
};

static int times_done[JOBS + 1];

/* Takes the oldest ready job; gives up if there is none. */
static fyris_code claim(fyris_table *within, void *context, fyris_error *err) {
  struct job *job = context;
  fyris_term *spec = make("[{{{ready, '$1'}, '$2'}, [], [['$1', '$2']]}]"), *found = NULL;
  fyris_code code = fyris_table_select(within, spec, 1, false, &found, err);
  fyris_term_free(spec);
  if (code == FYRIS_OK && fyris_term_len(found) == 0) code = FYRIS_E_GAVE_UP;
  if (code == FYRIS_OK) {
    const fyris_term *first = fyris_term_at(found, 0);
    *job = (struct job){int_at(first, 0), int_at(first, 1) + 1};
    fyris_term *key = make("{ready, %" PRId64 "}", job->number);
    code = fyris_table_delete_key(within, key, err);
    fyris_term_free(key);
  }
  if (code == FYRIS_OK)
    code = put(within, make("{{taken, %" PRId64 "}, %" PRId64 "}", job->number, job->attempt), err);
  fyris_term_free(found);
  return code;
}

/* Gives a taken job its next state. Nothing is needed between what is seen and what is written: a batch will do. */
static void settle(struct job job, const char *state) {
  fyris_error err = FYRIS_ERROR_INIT;
  fyris_term *key = make("{taken, %" PRId64 "}", job.number);
  fyris_term *taken = make("{{taken, %" PRId64 "}, %" PRId64 "}", job.number, job.attempt);
  fyris_term *next = make("{{%s, %" PRId64 "}, %" PRId64 "}", state, job.number, job.attempt);
  fyris_write_op ops[] = {
      {.what = FYRIS_CHECK, .table = jobs, .key = key, .value = taken},
      {.what = FYRIS_DELETE, .table = jobs, .key = key},
      {.what = FYRIS_INSERT, .table = jobs, .value = next},
  };
  check(fyris_store_write_batch(store, ops, 3, NULL, NULL, &err) == FYRIS_OK, "cannot settle", &err);
  fyris_term_free(key);
  fyris_term_free(taken);
  fyris_term_free(next);
}

/* Takes jobs until none is ready. One that fails is given back, and the thread goes on: so none is left behind. */
static int64_t work(int thread) {
  (void)thread;
  fyris_error err = FYRIS_ERROR_INIT;
  struct job job;
  int64_t failed = 0;
  fyris_code code;
  while ((code = transact(jobs, claim, &job, &err)) == FYRIS_OK) {
    if (job.number % 10 == 0 && job.attempt == 1) {
      failed++;
      settle(job, "ready");
    } else {
      times_done[job.number]++; /* nobody else has the job */
      settle(job, "done");
    }
  }
  check(code == FYRIS_E_GAVE_UP, "cannot claim", &err);
  return failed;
}

static void job_queue(void) {
  fyris_error err = FYRIS_ERROR_INIT;
  jobs = new_table("jobs", "[ordered_set]");
  for (int n = 1; n <= JOBS; n++) check(put(jobs, make("{{ready, %d}, 0}", n), &err) == FYRIS_OK, "no job", &err);
  int64_t again = together(work);
  for (int n = 1; n <= JOBS; n++) promise(times_done[n] == 1, "each job was done once");
  fyris_term *spec = make("[{{{done, '_'}, '_'}, [], [true]}]");
  size_t done = 0, all = 0;
  check(fyris_table_select_count(jobs, spec, &done, &err) == FYRIS_OK, "cannot count", &err);
  check(fyris_table_size(jobs, &all, &err) == FYRIS_OK, "cannot count", &err);
  promise(done == JOBS && all == JOBS && again == JOBS / 10, "all are done, some at the second attempt");
  printf("job queue: %zu jobs done once each, %" PRId64 " of them at the second attempt\n", done, again);
  fyris_term_free(spec);
  fyris_table_free(jobs);
}

/* ---- Counts of items by category, {Category, Count}, in a table of their own, beside the writers of the items. */

static fyris_code step(fyris_table *within, const fyris_term *item, int64_t by, fyris_error *err) {
  if (item == NULL) return FYRIS_OK;
  fyris_term *fresh = make("{category, 0}"); /* its key is replaced */
  fyris_code code = fyris_table_count(within, fyris_term_at(item, 1), 2, by, fresh, NULL, err);
  fyris_term_free(fresh);
  return code;
}

/* Counts an event as one: who reads the counts never sees half of it. */
static fyris_code count_event(fyris_table *within, void *context, fyris_error *err) {
  const fyris_event *event = context;
  fyris_code code = FYRIS_OK;
  for (size_t at = 0; code == FYRIS_OK && at < fyris_event_len(event); at++) {
    code = step(within, fyris_event_old(event, at), -1, err);
    if (code == FYRIS_OK) code = step(within, fyris_event_new(event, at), 1, err);
  }
  return code;
}

static int32_t on_event(void *unused, const fyris_event *event) {
  (void)unused;
  fyris_error err = FYRIS_ERROR_INIT;
  promise(fyris_event_kind_of(event) != FYRIS_EVENT_OVERFLOW, "the queue is long enough");
  check(transact(counted, count_event, (void *)event, &err) == FYRIS_OK, "cannot count", &err);
  return 0; /* go on */
}

static void *watch(void *changes) {
  fyris_error err = FYRIS_ERROR_INIT;
  check(fyris_subscription_each(changes, -1, on_event, NULL, &err) == FYRIS_OK, "cannot watch", &err);
  return NULL;
}

static int64_t write_items(int thread) {
  fyris_error err = FYRIS_ERROR_INIT;
  for (int n = 0; n < 500; n++) {
    int number = (thread * 31 + n * 17) % 100;
    if (n % 5 == 0) {
      fyris_term *key = fyris_term_int(number);
      check(fyris_table_delete_key(items, key, &err) == FYRIS_OK, "cannot delete", &err);
      fyris_term_free(key);
    } else {
      fyris_term *item = make("{%d, %s}", number, categories[n % CATEGORIES]);
      check(put(items, item, &err) == FYRIS_OK, "cannot write", &err);
    }
  }
  return 0;
}

static void counts(void) {
  fyris_error err = FYRIS_ERROR_INIT;
  items = new_table("items", NULL);
  counted = new_table("counts", "[ordered_set]");
  for (int n = 0; n < 50; n++) check(put(items, make("{%d, tea}", n), &err) == FYRIS_OK, "no item", &err);
  /* First what is there, then all that changes: nothing is missing, and nothing comes twice. */
  fyris_subscription *changes = fyris_table_subscribe(items, NULL, "[{from, snapshot}]", &err);
  check(changes != NULL, "no subscription", &err);
  pthread_t watcher;
  promise(pthread_create(&watcher, NULL, watch, changes) == 0, "there is a thread");
  together(write_items);
  size_t scanned[CATEGORIES];
  for (int n = 0; n < CATEGORIES; n++) {
    fyris_term *spec = make("[{{'_', %s}, [], [true]}]", categories[n]);
    check(fyris_table_select_count(items, spec, &scanned[n], &err) == FYRIS_OK, "cannot scan", &err);
    fyris_term_free(spec);
  }
  /* The watcher ends with the table, once it has been told all that was before. */
  check(fyris_table_delete(items, &err) == FYRIS_OK, "cannot delete", &err);
  pthread_join(watcher, NULL);
  for (int n = 0; n < CATEGORIES; n++) {
    fyris_term *key = make("%s", categories[n]);
    int64_t count = 0;
    check(fyris_table_count(counted, key, 2, 0, NULL, &count, &err) == FYRIS_OK, "no count", &err);
    promise(count == (int64_t)scanned[n], "the counts are those of a scan");
    fyris_term_free(key);
  }
  printf("counts: %d categories, as in a scan\n", CATEGORIES);
  fyris_subscription_free(changes);
  fyris_table_free(counted);
  fyris_table_free(items);
}

int main(void) {
  fyris_error err = FYRIS_ERROR_INIT;
  store = fyris_store_new(&err);
  check(store != NULL, "no store", &err);
  bank();
  reservations();
  job_queue();
  counts();
  fyris_store_free(store);
  return 0;
}
