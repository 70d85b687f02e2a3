/* Children of a process whose threads are at work on tables: they are told, at once, and end well. */
#include <fyris.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRITERS = 3, FORKS = 100 };

static fyris_store *store;
static fyris_table *table, *within;
static fyris_transaction *transaction;
static fyris_walk *walk;
static fyris_subscription *changes;
static fyris_term *key, *name, *object, *spec;
static atomic_bool over;

static void expect(int line, int good, const fyris_error *err) {
  if (!good) {
    fprintf(stderr, "fork.c:%d: last error %d: %.*s\n", line, err->code, FYRIS_ERROR_TEXT, err->text);
    exit(1);
  }
}
#define EXPECT(good) expect(__LINE__, (good), &err)

/* Writes what the children look for, at once and in a transaction, and makes and deletes tables. */
static void *writer(void *unused) {
  fyris_error err = {0};
  while (!over) {
    for (int i = 0; i < 100; i++)
      EXPECT(fyris_table_insert(table, object, &err) == FYRIS_OK);
    for (int i = 0; i < 10; i++) {
      fyris_table *handle = fyris_transaction_table(transaction, table, &err);
      EXPECT(handle != NULL && fyris_table_insert(within, object, &err) == FYRIS_OK);
      fyris_table_free(handle);
    }
    fyris_table *other = fyris_table_new(store, "other", NULL, &err);
    EXPECT(other != NULL && fyris_table_delete(other, &err) == FYRIS_OK);
    fyris_table_free(other);
  }
  return unused;
}

static int child(void) {
  fyris_error err = {0};
  fyris_term *found = NULL;
  fyris_event *event = NULL;
  size_t count = 0;
#define FORKED(call) EXPECT((call) == FYRIS_E_FORKED && err.code == FYRIS_E_FORKED)
#define NONE(call) EXPECT((call) == NULL && err.code == FYRIS_E_FORKED)
  alarm(20);
  FORKED(fyris_table_insert(table, object, &err));
  FORKED(fyris_table_lookup(table, key, &found, &err));
  FORKED(fyris_table_first(table, &found, &err));
  FORKED(fyris_table_size(table, &count, &err));
  FORKED(fyris_table_info(table, "owner", &found, &err));
  FORKED(fyris_table_select(table, spec, 0, false, &found, &err));
  FORKED(fyris_table_delete_all_objects(table, &err));
  FORKED(fyris_table_rename(table, name, &err));
  FORKED(fyris_table_delete(table, &err));
  FORKED(fyris_walk_next(walk, &found, &err));
  NONE(fyris_table_new(store, "new", NULL, &err));
  NONE(fyris_table_named(store, "t", &err));
  NONE(fyris_table_load(store, "/dev/null", &err));
  NONE(fyris_store_join(store, &err));
  NONE(fyris_store_new(&err));
  FORKED(fyris_table_insert(within, object, &err));
  FORKED(fyris_transaction_commit(transaction, &err));
  FORKED(fyris_transaction_abort(transaction, &err));
  FORKED(fyris_transaction_retry(transaction, &err));
  FORKED(fyris_subscription_next(changes, -1, &event, &err));
  FORKED(fyris_subscription_close(changes, &err));
  EXPECT(fyris_subscription_has_ended(changes));
  NONE(fyris_table_subscribe(table, NULL, NULL, &err));
  NONE(fyris_store_subscribe(store, &table, 1, NULL, NULL, &err));
  fyris_subscription_free(changes);
  NONE(fyris_transaction_table(transaction, table, &err));
  NONE(fyris_transaction_begin(store, &err));
  fyris_table_free(within);
  fyris_transaction_free(transaction);
  fyris_walk_free(walk);
  fyris_table_free(table);
  fyris_store_free(store);
  fyris_term_free(object);
  return 0;
}

int main(void) {
  fyris_error err = {0};
  pthread_t writers[WRITERS];
  /* Before there is a store, a child may make its own. */
  if (fork() == 0) {
    EXPECT((store = fyris_store_new(&err)) != NULL);
    EXPECT(fyris_table_new(store, "t", NULL, &err) != NULL);
    return 0;
  }
  int status = -1;
  EXPECT(wait(&status) > 0 && status == 0);
  store = fyris_store_new(&err);
  table = fyris_table_new(store, "t", "[named_table, public]", &err);
  EXPECT(table != NULL);
  walk = fyris_walk_new(table, false, &err);
  transaction = fyris_transaction_begin(store, &err);
  within = fyris_transaction_table(transaction, table, &err);
  EXPECT(within != NULL);
  changes = fyris_table_subscribe(table, NULL, NULL, &err);
  EXPECT(changes != NULL);
  key = fyris_term_int(1);
  name = fyris_term_atom("other", &err);
  object = fyris_term_parse("{1, <<1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17>>}", &err);
  spec = fyris_term_parse("[{'_', [], ['$_']}]", &err);
  EXPECT(walk != NULL && name != NULL && object != NULL && spec != NULL);
  for (int i = 0; i < WRITERS; i++)
    EXPECT(pthread_create(&writers[i], NULL, writer, NULL) == 0);
  for (int i = 0; i < FORKS; i++) {
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0)
      exit(child());
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
  }
  over = true;
  for (int i = 0; i < WRITERS; i++)
    EXPECT(pthread_join(writers[i], NULL) == 0);
  fyris_table_free(within);
  fyris_transaction_free(transaction);
  fyris_subscription_free(changes);
  EXPECT(fyris_table_delete(table, &err) == FYRIS_OK);
  puts("fork: all good");
  return 0;
}
