/* Large requests for which there is no memory: told, and nothing is lost. */
#include "check.h"
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SIZE ((size_t)64 << 20)
#define OBJECTS 200000

static size_t address_space(void) {
  FILE *file = fopen("/proc/self/statm", "r");
  size_t pages = 0;
  EXPECT(file != NULL && fscanf(file, "%zu", &pages) == 1);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit(rlim_t size) {
  struct rlimit as;
  EXPECT(getrlimit(RLIMIT_AS, &as) == 0);
  as.rlim_cur = size;
  EXPECT(setrlimit(RLIMIT_AS, &as) == 0);
}

static void head(unsigned char *to, unsigned char tag, size_t len) {
  to[0] = 131;
  to[1] = tag;
  for (int i = 0; i < 4; i++)
    to[2 + i] = (unsigned char)(len >> (24 - 8 * i));
}

int main(void) {
  /* A binary; a list of empty lists, each a byte, but a term in memory. */
  unsigned char *binary = calloc(6 + SIZE, 1), *list = malloc(6 + SIZE / 8);
  char *text = malloc(SIZE + 1);
  EXPECT(binary != NULL && list != NULL && text != NULL);
  head(binary, 109, SIZE);
  memset(list, 106, 6 + SIZE / 8);
  head(list, 108, SIZE / 8 - 1);
  memset(text, 'x', SIZE);
  text[SIZE] = 0;
  fyris_term *whole = fyris_term_binary(binary + 6, SIZE, &err);
  fyris_term *key = fyris_term_int(0);
  fyris_store *store = fyris_store_new(&err);
  fyris_table *table = fyris_table_new(store, "t", NULL, &err);
  EXPECT(whole != NULL && table != NULL);
  for (int i = 0; i < OBJECTS; i++) {
    fyris_term *pair[] = {fyris_term_int(i), fyris_term_int(i)};
    fyris_term *object = fyris_term_tuple(pair, 2, &err);
    EXPECT(fyris_table_insert(table, object, &err) == FYRIS_OK);
    fyris_term_free(object);
  }

#define NO_SPACE(failed) EXPECT((failed) && err.code == FYRIS_E_NO_SPACE && strstr(err.text, "emory") != NULL)
  limit(address_space() + SIZE / 4);
  fyris_bytes bytes = {0};
  fyris_term *found = NULL;
  NO_SPACE(fyris_term_binary(binary + 6, SIZE, &err) == NULL);
  NO_SPACE(fyris_term_text(text, &err) == NULL);
  NO_SPACE(fyris_term_parse(text, &err) == NULL);
  NO_SPACE(fyris_term_decode(binary, 6 + SIZE, &err) == NULL);
  NO_SPACE(fyris_term_decode(list, 6 + SIZE / 8, &err) == NULL);
  NO_SPACE(fyris_term_encode(whole, &bytes, &err) != FYRIS_OK);
  NO_SPACE(fyris_term_print(whole, &bytes, &err) != FYRIS_OK);
  NO_SPACE(fyris_table_list(table, &found, &err) != FYRIS_OK);
  char name[64];
  snprintf(name, sizeof name, "test-memory-%d-0", (int)getpid());
  NO_SPACE(fyris_segment_checkout(name, (size_t)1 << 30, NULL, &err) == NULL);
  fyris_segment_unlink(name, NULL); /* if it was made */
  EXPECT(bytes.data == NULL && found == NULL);
  /* What is there is there, and small requests are served. */
  EXPECT(fyris_table_lookup(table, key, &found, &err) == FYRIS_OK && fyris_term_len(found) == 1);
  fyris_term_free(found);

  limit(RLIM_INFINITY);
  fyris_term *again = fyris_term_decode(binary, 6 + SIZE, &err);
  EXPECT(again != NULL && fyris_term_equal(again, whole));
  EXPECT(fyris_table_list(table, &found, &err) == FYRIS_OK && fyris_term_len(found) == OBJECTS);
  fyris_term_free(again);
  fyris_term_free(found);
  fyris_term_free(whole);
  fyris_term_free(key);
  fyris_table_free(table);
  fyris_store_free(store);
  free(binary);
  free(list);
  free(text);
  puts("memory: all good");
  return 0;
}
