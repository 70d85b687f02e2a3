/* What the tests have in common: they end at the first thing that is not as it should be. */
#ifndef CHECK_H
#define CHECK_H

#include <fyris.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fyris_error err;

static inline void expect(const char *file, int line, int good) {
  if (!good) {
    fprintf(stderr, "%s:%d: last error %d: %.*s\n", file, line, err.code, FYRIS_ERROR_TEXT, err.text);
    exit(1);
  }
}
#define EXPECT(good) expect(__FILE__, __LINE__, (good))
/* Does a call answer with this code, and fill the error in? */
#define SAYS(call, wanted) (memset(&err, 0x55, sizeof err), (call) == (wanted) && err.code == (wanted))

static inline fyris_term *parse(const char *text) {
  fyris_term *term = fyris_term_parse(text, &err);
  EXPECT(term != NULL);
  return term;
}

static inline void insert(fyris_table *table, const char *object) {
  fyris_term *term = parse(object);
  EXPECT(fyris_table_insert(table, term, &err) == FYRIS_OK);
  fyris_term_free(term);
}

/* Is the term, which is freed, what the text says? NULL is said by NULL. */
static inline int same(fyris_term *term, const char *text) {
  if (text == NULL || term == NULL) return term == NULL && text == NULL;
  fyris_term *wanted = parse(text);
  int equal = fyris_term_equal(term, wanted);
  fyris_term_free(wanted);
  fyris_term_free(term);
  return equal;
}

#endif
