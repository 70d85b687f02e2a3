/* A count that is kept up to date by what changes in a table, beside a thread that writes.
 *
 *   cc -std=c11 watch.c $(pkg-config --cflags --libs fyris) -lpthread && ./a.out
 */
#include <fyris.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fyris_table *orders;

static void check(int good, const char *what, const fyris_error *err) {
  if (!good) {
    fprintf(stderr, "%s: %s (code %d)\n", what, err->text, err->code);
    exit(1);
  }
}

static void order(const char *text) {
  fyris_error err = FYRIS_ERROR_INIT;
  fyris_term *object = fyris_term_parse(text, &err);
  check(fyris_table_insert(orders, object, &err) == FYRIS_OK, "cannot order", &err);
  fyris_term_free(object);
}

/* Five orders, of which two are paid, and one more that is given up; then the table goes. */
static void *write_orders(void *unused) {
  fyris_error err = FYRIS_ERROR_INIT;
  order("{2, new}");
  order("{1, paid}");
  order("{3, new}");
  order("{3, paid}");
  order("{4, new}");
  order("{5, new}");
  order("{6, new}");
  fyris_term *given_up = fyris_term_int(6);
  check(fyris_table_delete_key(orders, given_up, &err) == FYRIS_OK, "cannot give up", &err);
  fyris_term_free(given_up);
  check(fyris_table_delete(orders, &err) == FYRIS_OK, "cannot delete", &err);
  return unused;
}

struct counts {
  int new_ones, paid, changes;
};

/* Counts an object that came or went: {Number, new} or {Number, paid}. */
static void count(struct counts *counts, const fyris_term *object, int step) {
  fyris_error err = FYRIS_ERROR_INIT;
  const char *state;
  size_t len;
  check(fyris_term_get_atom(fyris_term_at(object, 1), &state, &len, &err) == FYRIS_OK, "no state", &err);
  *(len == 4 && memcmp(state, "paid", 4) == 0 ? &counts->paid : &counts->new_ones) += step;
}

static int32_t on_event(void *context, const fyris_event *event) {
  struct counts *counts = context;
  for (size_t at = 0; at < fyris_event_len(event); at++) {
    const fyris_term *old = fyris_event_old(event, at), *now = fyris_event_new(event, at);
    if (old != NULL) count(counts, old, -1);
    if (now != NULL) count(counts, now, 1);
  }
  if (fyris_event_kind_of(event) == FYRIS_EVENT_CHANGES) counts->changes++;
  return 0; /* go on */
}

int main(void) {
  fyris_error err = FYRIS_ERROR_INIT;
  fyris_store *store = fyris_store_new(&err);
  orders = fyris_table_new(store, "orders", "[public]", &err);
  check(orders != NULL, "no table", &err);
  order("{1, new}");
  /* First what is there, then all that changes: nothing is missing, and nothing comes twice. */
  fyris_subscription *changes = fyris_table_subscribe(orders, NULL, "[{from, snapshot}]", &err);
  check(changes != NULL, "no subscription", &err);
  pthread_t writer;
  pthread_create(&writer, NULL, write_orders, NULL);
  struct counts counts = {0, 0, 0};
  /* Ends with the table. */
  check(fyris_subscription_each(changes, -1, on_event, &counts, &err) == FYRIS_OK, "cannot watch", &err);
  pthread_join(writer, NULL);
  printf("%d orders are new, %d are paid, after %d changes\n", counts.new_ones, counts.paid, counts.changes);
  fyris_subscription_free(changes);
  fyris_table_free(orders);
  fyris_store_free(store);
  return 0;
}
