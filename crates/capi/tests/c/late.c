/* Tables in the destructor of a pthread key: by a thread that has used them before, and by one that has not. */
#include <fyris.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static fyris_error err;
static fyris_table *table;
static pthread_key_t key;
static int ended;

static void expect(int line, int good) {
  if (!good) {
    fprintf(stderr, "late.c:%d: last error %d: %.*s\n", line, err.code, FYRIS_ERROR_TEXT, err.text);
    exit(1);
  }
}
#define EXPECT(good) expect(__LINE__, (good))

static void use(int from) {
  for (int i = from; i < from + 1000; i++) {
    fyris_term *object = fyris_term_parse("{7, <<1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17>>}", &err);
    EXPECT(object != NULL);
    EXPECT(fyris_table_insert(table, object, &err) == FYRIS_OK);
    fyris_term_free(object);
    fyris_term *pair[] = {fyris_term_int(i % 100), fyris_term_int(i)}, *found = NULL;
    object = fyris_term_tuple(pair, 2, &err);
    EXPECT(fyris_table_insert(table, object, &err) == FYRIS_OK);
    EXPECT(fyris_table_lookup(table, fyris_term_at(object, 0), &found, &err) == FYRIS_OK);
    fyris_term_free(found);
    fyris_term_free(object);
  }
}

static void at_end(void *value) {
  use(100000);
  ended++;
  /* Once more in the next round. */
  if (value == (void *)&key)
    pthread_setspecific(key, (void *)&ended);
}

static void *used_before(void *unused) {
  use(0);
  pthread_setspecific(key, (void *)&key);
  return unused;
}

static void *not_used_before(void *unused) {
  pthread_setspecific(key, (void *)&key);
  return unused;
}

int main(void) {
  fyris_store *store = fyris_store_new(&err);
  table = fyris_table_new(store, "t", NULL, &err);
  EXPECT(table != NULL);
  EXPECT(pthread_key_create(&key, at_end) == 0);
  for (int i = 0; i < 20; i++) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, i % 2 ? used_before : not_used_before, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
  }
  EXPECT(ended == 40);
  fyris_table_free(table);
  fyris_store_free(store);
  puts("late: all good");
  return 0;
}
