/* The library is loaded by a thread that ends, used by threads that get the id of that thread, and closed: loaded.c
 * LIBRARY. */
#include <dlfcn.h>
#include <fyris.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 20, OBJECTS = 2000 };

static fyris_error err;
static const char *path;
static void *library;
static fyris_store *store;
static fyris_table *table;

static void expect(int line, int good) {
  if (!good) {
    fprintf(stderr, "loaded.c:%d: last error %d: %.*s\n", line, err.code, FYRIS_ERROR_TEXT, err.text);
    exit(1);
  }
}
#define EXPECT(good) expect(__LINE__, (good))

/* The function of the library that has the name of the header's. */
#define CALL(name) (((union { void *found; __typeof__(&name) function; }){find(#name)}).function)
static void *find(const char *name) {
  void *found = dlsym(library, name);
  EXPECT(found != NULL);
  return found;
}

/* Puts objects of many sizes in, and takes those of the threads before away. */
static void *use(void *unused) {
  for (int i = 0; i < OBJECTS; i++) {
    char text[512];
    snprintf(text, sizeof text, "{%d, \"%0*d\"}", i, 1 + i % 300, i);
    fyris_term *object = CALL(fyris_term_parse)(text, &err);
    EXPECT(object != NULL);
    EXPECT(CALL(fyris_table_insert)(table, object, &err) == FYRIS_OK);
    CALL(fyris_term_free)(object);
  }
  return unused;
}

static void *load(void *unused) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    fprintf(stderr, "%s\n", dlerror());
  EXPECT(library != NULL);
  if (store == NULL) {
    store = CALL(fyris_store_new)(&err);
    table = CALL(fyris_table_new)(store, "t", NULL, &err);
    EXPECT(table != NULL);
  }
  return use(unused);
}

static void *load_and_close(void *unused) {
  load(unused);
  EXPECT(dlclose(library) == 0);
  return unused;
}

static pthread_t in_thread(void *(*run)(void *)) {
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, run, NULL) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
  return thread;
}

int main(int count, char **arguments) {
  EXPECT(count == 2);
  path = arguments[1];
  pthread_t loader = in_thread(load);
  int same = 0;
  for (int i = 0; i < ROUNDS; i++)
    same += pthread_equal(in_thread(use), loader);
  use(NULL);
  /* Else it is not seen what happens. */
  EXPECT(same > 0);

  /* It stays where it is, with its tables, whatever closes it. */
  EXPECT(dlclose(library) == 0);
  for (int i = 0; i < ROUNDS; i++)
    in_thread(load_and_close);
  load(NULL);
  size_t size = 0;
  EXPECT(CALL(fyris_table_size)(table, &size, &err) == FYRIS_OK && size == OBJECTS);
  puts("loaded: all good");
  return 0;
}
