/* Nonsense, and what is said to it. */
#include "check.h"
#include <math.h>

#define NOTHING(make, wanted) (memset(&err, 0x55, sizeof err), (make) == NULL && err.code == (wanted))

static void nulls(const fyris_table *table) {
  fyris_term *one = fyris_term_int(1), *out = NULL;
  EXPECT(SAYS(fyris_table_insert(NULL, one, &err), FYRIS_E_NULL));
  EXPECT(strstr(err.text, "the table is NULL") != NULL);
  EXPECT(SAYS(fyris_table_insert(table, NULL, &err), FYRIS_E_NULL));
  EXPECT(fyris_table_insert(NULL, NULL, NULL) == FYRIS_E_NULL);
  EXPECT(SAYS(fyris_table_lookup(table, one, NULL, &err), FYRIS_E_NULL));
  EXPECT(SAYS(fyris_table_lookup(table, NULL, &out, &err), FYRIS_E_NULL));
  EXPECT(out == NULL);
  EXPECT(SAYS(fyris_table_insert_list(table, NULL, 3, &err), FYRIS_E_NULL));
  EXPECT(fyris_table_insert_list(table, NULL, 0, &err) == FYRIS_OK);
  EXPECT(NOTHING(fyris_table_new(NULL, "t", NULL, &err), FYRIS_E_NULL));
  EXPECT(NOTHING(fyris_term_atom(NULL, &err), FYRIS_E_NULL));
  EXPECT(SAYS(fyris_walk_next(NULL, &out, &err), FYRIS_E_NULL));
  EXPECT(fyris_term_type_of(NULL) == FYRIS_NONE);
  EXPECT(fyris_term_at(NULL, 0) == NULL && fyris_term_len(NULL) == 0);
  EXPECT(!fyris_term_equal(NULL, one) && fyris_term_compare(NULL, one) < 0);
  fyris_term_free(one);
  fyris_term_free(NULL);
  fyris_table_free(NULL);
  fyris_store_free(NULL);
  fyris_walk_free(NULL);
  fyris_bytes_free(NULL);
}

static int prints(const fyris_term *term, const char *expected) {
  fyris_bytes text = FYRIS_BYTES_INIT;
  EXPECT(fyris_term_print(term, &text, &err) == FYRIS_OK);
  int same = strcmp((const char *)text.data, expected) == 0;
  fyris_bytes_free(&text);
  return same;
}

/* A selection in portions, bindings, unsigned integers, names of tables and of codes. */
static void portions(const fyris_store *store) {
  fyris_table *table = fyris_table_new(store, "portions", "[ordered_set, named_table]", &err);
  fyris_term *spec = fyris_term_parse("[{{'$1', '_'}, [], ['$1']}]", &err), *found = NULL;
  fyris_term *pattern = fyris_term_parse("{'$2', '$1'}", &err);
  EXPECT(table != NULL && spec != NULL && pattern != NULL);
  for (int i = 0; i < 7; i++) {
    fyris_term *pair[] = {fyris_term_int(i), fyris_term_int(-i)};
    fyris_term *object = fyris_term_tuple(pair, 2, &err);
    EXPECT(fyris_table_insert(table, object, &err) == FYRIS_OK);
    fyris_term_free(object);
  }
  EXPECT(NOTHING(fyris_selection_new(table, spec, 0, false, &err), FYRIS_E_ARGUMENT));
  EXPECT(SAYS(fyris_selection_next(NULL, &found, &err), FYRIS_E_NULL));
  const char *forwards[] = {"[0,1,2]", "[3,4,5]", "[6]"}, *backwards[] = {"[6,5,4]", "[3,2,1]", "[0]"};
  for (int reverse = 0; reverse < 2; reverse++) {
    fyris_selection *selection = fyris_selection_new(table, spec, 3, reverse, &err);
    for (int i = 0; i < 3; i++) {
      EXPECT(fyris_selection_next(selection, &found, &err) == FYRIS_OK);
      EXPECT(prints(found, (reverse ? backwards : forwards)[i]));
      fyris_term_free(found);
    }
    for (int i = 0; i < 2; i++)
      EXPECT(fyris_selection_next(selection, &found, &err) == FYRIS_OK && found == NULL);
    fyris_selection_free(selection);
  }
  EXPECT(fyris_table_match(table, pattern, &found, &err) == FYRIS_OK);
  EXPECT(prints(found, "[[0,0],[-1,1],[-2,2],[-3,3],[-4,4],[-5,5],[-6,6]]"));
  fyris_term_free(found);
  EXPECT(fyris_store_tables(store, &found, &err) == FYRIS_OK && prints(found, "[portions]"));
  fyris_term_free(found);

  uint64_t value = 7;
  fyris_term *large = fyris_term_uint(UINT64_MAX), *negative = fyris_term_int(-1);
  EXPECT(fyris_term_get_uint(large, &value, &err) == FYRIS_OK && value == UINT64_MAX);
  EXPECT(SAYS(fyris_term_get_uint(negative, &value, &err), FYRIS_E_RANGE));
  EXPECT(SAYS(fyris_term_get_uint(pattern, &value, &err), FYRIS_E_TYPE));
  EXPECT(strcmp(fyris_code_name(FYRIS_OK), "FYRIS_OK") == 0);
  EXPECT(strcmp(fyris_code_name(FYRIS_E_UNCOMMITTED), "FYRIS_E_UNCOMMITTED") == 0);
  EXPECT(strcmp(fyris_code_name(12345), "unknown") == 0);
  fyris_term_free(large);
  fyris_term_free(negative);
  fyris_term_free(spec);
  fyris_term_free(pattern);
  EXPECT(fyris_table_delete(table, &err) == FYRIS_OK);
  fyris_table_free(table);
}

/* Calls inside of calls: the first failure is told, in one line, whatever the names in it are. */
static void nested(const fyris_store *store) {
  fyris_error first = FYRIS_ERROR_INIT;
  fyris_term *one = fyris_term_int(1);
  EXPECT(fyris_table_insert(fyris_table_new(store, "t", "[orderd_set]", &first), one, &first) == FYRIS_E_ARGUMENT);
  EXPECT(first.code == FYRIS_E_ARGUMENT && strstr(first.text, "orderd_set") != NULL);
  fyris_term *parts[] = {fyris_term_int(1), fyris_term_parse("{a, ", &first)};
  EXPECT(fyris_term_tuple(parts, 2, &first) == NULL && first.code == FYRIS_E_SYNTAX);
  /* It is forgotten by the next success. */
  fyris_term_free(fyris_term_atom("a", &first));
  EXPECT(first.code == FYRIS_OK);
  EXPECT(fyris_table_insert(NULL, one, &first) == FYRIS_E_NULL && strstr(first.text, "the table is NULL") != NULL);
  EXPECT(fyris_table_named(store, "no\n\x1b[2Jtable", &first) == NULL && first.code == FYRIS_E_NO_TABLE);
  EXPECT(strpbrk(first.text, "\n\x1b") == NULL && strstr(first.text, "[2Jtable") != NULL);
  /* The array that a program has. */
  fyris_table *table = fyris_table_new(store, "t", NULL, &first);
  fyris_term *objects[] = {fyris_term_parse("{1, a}", &first), fyris_term_parse("{2, b}", &first)};
  EXPECT(fyris_table_insert_list(table, objects, 2, &first) == FYRIS_OK);
  fyris_term_free(objects[0]);
  fyris_term_free(objects[1]);
  fyris_term_free(one);
  fyris_table_free(table);
}

static void bad_terms(void) {
  EXPECT(NOTHING(fyris_term_double(NAN, &err), FYRIS_E_ARGUMENT));
  EXPECT(NOTHING(fyris_term_text("\xff", &err), FYRIS_E_ARGUMENT));
  EXPECT(NOTHING(fyris_term_parse("{a, ", &err), FYRIS_E_SYNTAX));
  EXPECT(NOTHING(fyris_term_decode("\x83\x6d\xff\xff\xff\xff", 6, &err), FYRIS_E_FORMAT));
  EXPECT(NOTHING(fyris_term_binary("", (size_t)-1, &err), FYRIS_E_ARGUMENT));
  char name[600];
  memset(name, 'a', sizeof name - 1);
  name[sizeof name - 1] = 0;
  EXPECT(NOTHING(fyris_term_atom(name, &err), FYRIS_E_LIMIT));
  /* A maker inside that fails: the rest is freed, the failure seen. */
  fyris_term *parts[] = {fyris_term_int(1), fyris_term_double(NAN, NULL), fyris_term_int(2)};
  EXPECT(NOTHING(fyris_term_tuple(parts, 3, &err), FYRIS_E_NULL));
  EXPECT(strstr(err.text, "element 1") != NULL);
}

/* Terms of a million levels are made, copied, compared, written and read, and freed. */
static void depth(void) {
  enum { LEVELS = 1000000 };
  fyris_term *deep = fyris_term_int(0);
  for (int i = 0; i < LEVELS; i++) {
    deep = i % 2 ? fyris_term_list(&deep, 1, &err) : fyris_term_tuple(&deep, 1, &err);
  }
  EXPECT(deep != NULL);
  fyris_term *copy = fyris_term_clone(deep, &err);
  EXPECT(fyris_term_equal(deep, copy) && fyris_term_compare(deep, copy) == 0);
  fyris_term_free(copy);
  fyris_bytes bytes;
  EXPECT(fyris_term_encode(deep, &bytes, &err) == FYRIS_OK);
  copy = fyris_term_decode(bytes.data, bytes.len, &err);
  EXPECT(fyris_term_equal(deep, copy));
  fyris_term_free(copy);
  fyris_bytes_free(&bytes);
  EXPECT(fyris_term_print(deep, &bytes, &err) == FYRIS_OK && bytes.len == 2 * LEVELS + 1);
  fyris_bytes_free(&bytes);
  fyris_term_free(deep);
}

static void types(void) {
  fyris_term *map = fyris_term_parse("#{a => 1, b => [2.5 | c], d => 18446744073709551616}", &err);
  EXPECT(fyris_term_type_of(map) == FYRIS_MAP && fyris_term_len(map) == 6);
  int64_t n;
  double d;
  const uint8_t *data;
  const char *name;
  size_t len;
  EXPECT(SAYS(fyris_term_get_int(map, &n, &err), FYRIS_E_TYPE));
  EXPECT(strstr(err.text, "a map, not an integer") != NULL);
  EXPECT(fyris_term_get_int(fyris_term_at(map, 1), &n, &err) == FYRIS_OK && n == 1);
  fyris_term *b = fyris_term_atom("b", &err), *key_d = fyris_term_atom("d", &err);
  const fyris_term *improper = fyris_term_map_get(map, b);
  EXPECT(fyris_term_type_of(improper) == FYRIS_IMPROPER_LIST && fyris_term_len(improper) == 2);
  EXPECT(fyris_term_get_double(fyris_term_at(improper, 0), &d, &err) == FYRIS_OK && d == 2.5);
  EXPECT(fyris_term_is_atom(fyris_term_at(improper, 1), "c"));
  EXPECT(fyris_term_at(improper, 2) == NULL);
  EXPECT(fyris_term_get_atom(fyris_term_at(map, 0), &name, &len, &err) == FYRIS_OK);
  EXPECT(len == 1 && name[0] == 'a');
  EXPECT(SAYS(fyris_term_get_int(fyris_term_map_get(map, key_d), &n, &err), FYRIS_E_RANGE));
  EXPECT(SAYS(fyris_term_get_binary(map, &data, &len, &err), FYRIS_E_TYPE));
  fyris_term *record = fyris_term_parse("#m:n{x = 1, y = b}", &err), *copy;
  EXPECT(fyris_term_type_of(record) == FYRIS_NATIVE_RECORD && fyris_term_len(record) == 2);
  EXPECT(fyris_term_is_atom(fyris_term_at(record, 1), "b") && fyris_term_at(record, 2) == NULL);
  EXPECT(SAYS(fyris_term_get_int(record, &n, &err), FYRIS_E_TYPE));
  EXPECT(strstr(err.text, "a native record, not an integer") != NULL);
  fyris_bytes bytes;
  EXPECT(fyris_term_print(record, &bytes, &err) == FYRIS_OK && bytes.len == strlen("#m:n{x = 1,y = b}"));
  fyris_bytes_free(&bytes);
  EXPECT(fyris_term_encode(record, &bytes, &err) == FYRIS_OK);
  copy = fyris_term_decode(bytes.data, bytes.len, &err);
  EXPECT(fyris_term_equal(record, copy));
  fyris_bytes_free(&bytes);
  fyris_term_free(copy);
  fyris_term_free(record);
  fyris_term *bin = fyris_term_binary("\0\1", 2, &err);
  EXPECT(fyris_term_get_binary(bin, &data, &len, &err) == FYRIS_OK && len == 2 && data[1] == 1);
  fyris_bytes encoded;
  EXPECT(fyris_term_encode(map, &encoded, &err) == FYRIS_OK);
  fyris_term *again = fyris_term_decode(encoded.data, encoded.len, &err);
  EXPECT(fyris_term_equal(map, again) && fyris_term_compare(map, again) == 0);
  fyris_bytes_free(&encoded);
  fyris_bytes_free(&encoded);
  EXPECT(encoded.data == NULL && encoded.len == 0);
  fyris_term_free(again);
  fyris_term_free(bin);
  fyris_term_free(b);
  fyris_term_free(key_d);
  fyris_term_free(map);
}

/* Every index can be chosen by its name, and the locks of those that have some. */
static void indexes(fyris_store *store) {
  const char *names[] = {"hash", "ordered", "avl", "treap", "btree", "ca_avl",
                         "ca_treap", "relaxed_avl", "skip_list", "linear_hash", "split_ordered", "michael_hash",
                         "judyeh", "judysl", "judyesl"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    /* Those of the bytes of keys serve no other type. */
    const char *type = strcmp(names[i], "judysl") && strcmp(names[i], "judyesl") ? "set" : "ordered_set";
    char options[200];
    snprintf(options, sizeof options, "[%s, {index, %s}, {write_concurrency, auto}, {read_concurrency, true}]", type,
             names[i]);
    fyris_table *t = fyris_table_new(store, "t", options, &err);
    EXPECT(t != NULL);
    fyris_term *objects[100], *key = fyris_term_int(7), *out = NULL;
    for (int64_t n = 0; n < 100; n++) {
      fyris_term *pair[] = {fyris_term_int(n), fyris_term_int(2 * n)};
      objects[n] = fyris_term_tuple(pair, 2, &err);
      EXPECT(fyris_table_insert(t, objects[n], &err) == FYRIS_OK);
    }
    EXPECT(fyris_table_lookup(t, key, &out, &err) == FYRIS_OK && fyris_term_len(out) == 1);
    EXPECT(fyris_term_equal(fyris_term_at(out, 0), objects[7]));
    fyris_term_free(out);
    EXPECT(fyris_table_info(t, "index", &out, &err) == FYRIS_OK && fyris_term_is_atom(out, names[i]));
    fyris_term_free(out);
    EXPECT(fyris_table_info(t, "index_info", &out, &err) == FYRIS_OK && fyris_term_len(out) > 0);
    fyris_term_free(out);
    for (int n = 0; n < 100; n++) fyris_term_free(objects[n]);
    fyris_term_free(key);
    fyris_table_free(t);
  }
  fyris_table *counted = fyris_table_new(store, "t", "[ordered_set, {index, judyesl}]", &err);
  for (int64_t n = 0; n < 100; n++) {
    fyris_term *key[] = {fyris_term_int(3 * n)};
    fyris_term *object = fyris_term_tuple(key, 1, &err);
    EXPECT(fyris_table_insert(counted, object, &err) == FYRIS_OK);
    fyris_term_free(object);
  }
  size_t count = 0;
  fyris_term *low = fyris_term_int(10), *high = fyris_term_int(30), *nth = NULL;
  EXPECT(fyris_table_rank(counted, low, &count, &err) == FYRIS_OK && count == 4);
  EXPECT(fyris_table_count_between(counted, low, high, &count, &err) == FYRIS_OK && count == 7);
  EXPECT(fyris_table_nth(counted, 10, &nth, &err) == FYRIS_OK && fyris_term_equal(nth, high));
  fyris_term_free(nth);
  EXPECT(fyris_table_nth(counted, 100, &nth, &err) == FYRIS_OK && nth == NULL);
  fyris_table_free(counted);
  fyris_table *uncounted = fyris_table_new(store, "t", "[ordered_set]", &err);
  EXPECT(fyris_table_rank(uncounted, low, &count, &err) == FYRIS_E_ARGUMENT);
  EXPECT(strstr(err.text, "lacks counts of keys") != NULL);
  fyris_table_free(uncounted);
  fyris_term_free(low);
  fyris_term_free(high);
  fyris_table *t = fyris_table_new(store, "t", "[{index, linear_hash}, {bucket_locks, 8}, {reader_groups, 2}]", &err);
  fyris_term *info = NULL, *wanted = fyris_term_parse("{bucket_locks, 8}", &err);
  EXPECT(fyris_table_info(t, "index_info", &info, &err) == FYRIS_OK);
  int found = 0;
  for (size_t i = 0; i < fyris_term_len(info); i++) found += fyris_term_equal(fyris_term_at(info, i), wanted);
  EXPECT(found == 1);
  EXPECT(NOTHING(fyris_table_new(store, "t", "[{bucket_locks, 3}]", &err), FYRIS_E_ARGUMENT));
  EXPECT(strstr(err.text, "a power of two from 1 to 32768, or auto") != NULL);
  fyris_term_free(info);
  fyris_term_free(wanted);
  fyris_table_free(t);
}

static void operations(fyris_store *store) {
  EXPECT(NOTHING(fyris_table_new(store, "t", "[nonsense]", &err), FYRIS_E_ARGUMENT));
  EXPECT(strstr(err.text, "nonsense") != NULL);
  EXPECT(NOTHING(fyris_table_new(store, "t", "[{index, foo}]", &err), FYRIS_E_ARGUMENT));
  EXPECT(strstr(err.text, "no index foo for type set: its own is hash, others are avl,") != NULL);
  EXPECT(strstr(err.text, "split_ordered, treap") != NULL);
  EXPECT(NOTHING(fyris_table_new(store, "t", "ordered_set", &err), FYRIS_E_ARGUMENT));
  EXPECT(strstr(err.text, "options are a list, like [ordered_set, public]") != NULL);
  EXPECT(NOTHING(fyris_table_new(store, "t", "[ordered_set", &err), FYRIS_E_SYNTAX));
  EXPECT(strstr(err.text, "the options: line 1, column 13:") == err.text);
  EXPECT(NOTHING(fyris_table_named(store, "nowhere", &err), FYRIS_E_NO_TABLE));
  fyris_table *unnamed = fyris_table_new(store, "stock", NULL, &err);
  EXPECT(unnamed != NULL && NOTHING(fyris_table_named(store, "stock", &err), FYRIS_E_NO_TABLE));
  EXPECT(strcmp(err.text, "no table stock: was it made without the option named_table?") == 0);
  fyris_table_free(unnamed);
  EXPECT(NOTHING(fyris_table_load(store, "/nowhere/at all", &err), FYRIS_E_IO));
  fyris_table *t = fyris_table_new(store, "t", "[named_table]", &err);
  EXPECT(NOTHING(fyris_table_new(store, "t", "[named_table]", &err), FYRIS_E_NAME_TAKEN));
  EXPECT(NOTHING(fyris_table_open(store, "t", "[bag]", &err), FYRIS_E_NAME_TAKEN));

  /* Another owner may read and not write. */
  fyris_store *other = fyris_store_join(store, &err);
  fyris_table *theirs = fyris_table_named(other, "t", &err);
  fyris_term *object = parse("{k, 1, x}"), *key = parse("k"), *out = NULL;
  EXPECT(SAYS(fyris_table_insert(theirs, object, &err), FYRIS_E_NO_ACCESS));
  EXPECT(strcmp(err.text, "no write access: table t is protected and belongs to another owner") == 0);
  bool yes = false;
  EXPECT(fyris_table_insert_new(t, object, &yes, &err) == FYRIS_OK && yes);
  EXPECT(fyris_table_insert_new(t, object, &yes, &err) == FYRIS_OK && !yes);
  EXPECT(fyris_table_member(theirs, key, &yes, &err) == FYRIS_OK && yes);

  int64_t n = 0;
  EXPECT(fyris_table_count(t, key, 0, 5, NULL, &n, &err) == FYRIS_OK && n == 6);
  EXPECT(SAYS(fyris_table_count(t, key, 3, 5, NULL, &n, &err), FYRIS_E_TYPE));
  EXPECT(SAYS(fyris_table_count(t, key, 1, 5, NULL, &n, &err), FYRIS_E_ARGUMENT));
  EXPECT(SAYS(fyris_table_count(t, key, 2, INT64_MAX, NULL, &n, &err), FYRIS_E_RANGE));
  fyris_term *nobody = parse("nobody"), *ops = parse("[{2, 1}, {2, 10}]"), *edit = parse("{3, y}");
  EXPECT(SAYS(fyris_table_count(t, nobody, 0, 5, NULL, &n, &err), FYRIS_E_NO_KEY));
  const char *no_key = "no object has the key nobody";
  EXPECT(strcmp(err.text, no_key) == 0);
  EXPECT(SAYS(fyris_table_update_counter(t, nobody, ops, NULL, &out, &err), FYRIS_E_NO_KEY));
  EXPECT(strcmp(err.text, no_key) == 0);
  EXPECT(SAYS(fyris_table_lookup_element(t, nobody, 2, &out, &err), FYRIS_E_NO_KEY) && strcmp(err.text, no_key) == 0);
  EXPECT(SAYS(fyris_table_next(t, nobody, &out, &err), FYRIS_E_NO_KEY) && strcmp(err.text, no_key) == 0);
  EXPECT(fyris_table_update_counter(t, nobody, ops, object, &out, &err) == FYRIS_OK);
  EXPECT(fyris_term_len(out) == 2);
  fyris_term_free(out);
  EXPECT(fyris_table_update_element(t, nobody, edit, NULL, &yes, &err) == FYRIS_OK && yes);
  EXPECT(fyris_table_take(t, nobody, &out, &err) == FYRIS_OK && fyris_term_len(out) == 1);
  EXPECT(fyris_term_is_atom(fyris_term_at(fyris_term_at(out, 0), 2), "y"));
  fyris_term_free(out);

  EXPECT(fyris_table_save(t, "t.ets", NULL, &err) == FYRIS_OK);
  EXPECT(NOTHING(fyris_table_load(store, "t.ets", &err), FYRIS_E_NAME_TAKEN));
  EXPECT(SAYS(fyris_table_save(t, "/nowhere/t.ets", NULL, &err), FYRIS_E_IO));

  size_t size = 0;
  EXPECT(fyris_table_size(t, &size, &err) == FYRIS_OK && size == 1);
  EXPECT(fyris_table_info(t, "type", &out, &err) == FYRIS_OK && fyris_term_is_atom(out, "set"));
  fyris_term_free(out);
  EXPECT(SAYS(fyris_table_info(t, "colour", &out, &err), FYRIS_E_ARGUMENT));
  EXPECT(fyris_table_first(t, &out, &err) == FYRIS_OK && fyris_term_is_atom(out, "k"));
  fyris_term_free(out);
  EXPECT(fyris_table_next(t, key, &out, &err) == FYRIS_OK && out == NULL);

  /* Queries. */
  fyris_term *spec = parse("[{{'$1', '$2', '_'}, [{'>', '$2', 1}], ['$1']}]"), *pattern = parse("{'_', '_', x}");
  fyris_term *keep = parse("[{{'$1', '_', '_'}, [], [{{'$1', 1, x}}]}]"), *every = parse("[{'_', [], [true]}]");
  EXPECT(fyris_table_select(t, spec, 0, false, &out, &err) == FYRIS_OK && fyris_term_len(out) == 1);
  fyris_term_free(out);
  EXPECT(fyris_table_select(t, spec, 5, true, &out, &err) == FYRIS_OK && fyris_term_len(out) == 1);
  EXPECT(fyris_term_is_atom(fyris_term_at(out, 0), "k"));
  fyris_term_free(out);
  EXPECT(SAYS(fyris_table_select(t, key, 0, false, &out, &err), FYRIS_E_ARGUMENT));
  EXPECT(SAYS(fyris_table_select(t, NULL, 0, false, &out, &err), FYRIS_E_NULL));
  EXPECT(fyris_table_match_object(t, pattern, &out, &err) == FYRIS_OK && fyris_term_len(out) == 1);
  fyris_term_free(out);
  size_t count = 7;
  EXPECT(fyris_table_select_count(t, every, &count, &err) == FYRIS_OK && count == 1);
  EXPECT(fyris_table_select_replace(t, keep, &count, &err) == FYRIS_OK && count == 1);
  EXPECT(SAYS(fyris_table_select_replace(t, every, &count, &err), FYRIS_E_ARGUMENT));
  EXPECT(fyris_table_explain(t, spec, &out, &err) == FYRIS_OK && fyris_term_len(out) == 6);
  fyris_term_free(out);
  EXPECT(fyris_table_select_delete(t, spec, NULL, &err) == FYRIS_OK);
  EXPECT(fyris_table_select_count(t, every, &count, &err) == FYRIS_OK && count == 1);
  fyris_term_free(spec);
  fyris_term_free(pattern);
  fyris_term_free(keep);
  fyris_term_free(every);

  fyris_bytes encoded, answer;
  EXPECT(fyris_term_encode(object, &encoded, &err) == FYRIS_OK);
  EXPECT(fyris_table_insert_encoded(t, encoded.data, encoded.len, &err) == FYRIS_OK);
  EXPECT(SAYS(fyris_table_insert_encoded(t, encoded.data, 3, &err), FYRIS_E_FORMAT));
  fyris_bytes_free(&encoded);
  EXPECT(fyris_term_encode(key, &encoded, &err) == FYRIS_OK);
  EXPECT(fyris_table_lookup_encoded(t, encoded.data, encoded.len, &answer, &err) == FYRIS_OK);
  fyris_bytes_free(&encoded);
  fyris_bytes_free(&answer);

  /* The owner ends: its table goes, the handles say so. */
  fyris_walk *walk = fyris_walk_new(theirs, true, &err);
  fyris_store_free(store);
  EXPECT(SAYS(fyris_table_lookup(t, key, &out, &err), FYRIS_E_NO_TABLE));
  EXPECT(strcmp(err.text, "table t was deleted, by a call or with its owner") == 0);
  EXPECT(SAYS(fyris_table_size(theirs, &size, &err), FYRIS_E_NO_TABLE));
  EXPECT(SAYS(fyris_walk_next(walk, &out, &err), FYRIS_E_NO_TABLE));
  fyris_walk_free(walk);
  fyris_table_free(t);
  fyris_table_free(theirs);
  fyris_store_free(other);
  fyris_term_free(object);
  fyris_term_free(key);
  fyris_term_free(nobody);
  fyris_term_free(ops);
  fyris_term_free(edit);
}

/* Terms of a text and values. */
static void built(void) {
  fyris_term *one = fyris_term_int(1), *name = fyris_term_text("a \"b", &err);
  fyris_term *values[] = {name, one};
  fyris_term *made = fyris_term_build("{town, Name, '_', [_N | Name], #{_N => Name}}", values, 2, &err);
  EXPECT(prints(made, "{town,<<\"a \\\"b\">>,'_',[1|<<\"a \\\"b\">>],#{1 => <<\"a \\\"b\">>}}"));
  fyris_term_free(made);
  made = fyris_term_build("[]", NULL, 0, &err);
  EXPECT(made != NULL && fyris_term_len(made) == 0);
  fyris_term_free(made);
  EXPECT(NOTHING(fyris_term_build("{A, B}", values, 1, &err), FYRIS_E_SYNTAX));
  EXPECT(NOTHING(fyris_term_build("{A, _}", values, 2, &err), FYRIS_E_SYNTAX));
  EXPECT(NOTHING(fyris_term_build("{A, A}", values, 2, &err), FYRIS_E_ARGUMENT));
  EXPECT(strstr(err.text, "2 values for 1 names") != NULL);
  values[1] = NULL;
  EXPECT(NOTHING(fyris_term_build("{A, B}", values, 2, &err), FYRIS_E_NULL));
  EXPECT(NOTHING(fyris_term_build("{A}", NULL, 1, &err), FYRIS_E_NULL));
  EXPECT(NOTHING(fyris_term_build(NULL, values, 1, &err), FYRIS_E_NULL));
  fyris_term_free(one);
  fyris_term_free(name);
}

/* Tables that change hands, and what they let others do. */
static void given_away(fyris_store *store) {
  fyris_store *other = fyris_store_join(store, &err), *strange = fyris_store_new(&err);
  fyris_table *t = fyris_table_new(store, "gift", NULL, &err);
  fyris_term *object = parse("{k, 1}");
  EXPECT(NOTHING(fyris_table_give_away(t, strange, &err), FYRIS_E_ARGUMENT));
  EXPECT(strstr(err.text, "another store") != NULL);
  EXPECT(NOTHING(fyris_table_give_away(t, NULL, &err), FYRIS_E_NULL));
  EXPECT(NOTHING(fyris_table_give_away(t, store, &err), FYRIS_E_ARGUMENT));
  fyris_table *theirs = fyris_table_give_away(t, other, &err);
  EXPECT(theirs != NULL && SAYS(fyris_table_insert(t, object, &err), FYRIS_E_NO_ACCESS));
  EXPECT(NOTHING(fyris_table_give_away(t, store, &err), FYRIS_E_NO_ACCESS));
  EXPECT(fyris_table_insert(theirs, object, &err) == FYRIS_OK);

  EXPECT(SAYS(fyris_table_setopts(t, "{protection, public}", &err), FYRIS_E_NO_ACCESS));
  EXPECT(SAYS(fyris_table_setopts(theirs, "{protection, none}", &err), FYRIS_E_ARGUMENT));
  EXPECT(SAYS(fyris_table_setopts(theirs, "{protection", &err), FYRIS_E_SYNTAX));
  EXPECT(SAYS(fyris_table_setopts(theirs, NULL, &err), FYRIS_E_NULL));
  EXPECT(fyris_table_setopts(theirs, "{protection, public}", &err) == FYRIS_OK);
  EXPECT(fyris_table_insert(t, object, &err) == FYRIS_OK);
  EXPECT(fyris_table_setopts(theirs, "[{protection, private}]", &err) == FYRIS_OK);
  size_t size;
  EXPECT(SAYS(fyris_table_delete(t, &err), FYRIS_E_NO_ACCESS));
  fyris_store_free(other); /* and with it the table */
  EXPECT(SAYS(fyris_table_size(t, &size, &err), FYRIS_E_NO_TABLE));
  fyris_term_free(object);
  fyris_table_free(theirs);
  fyris_table_free(t);
  fyris_store_free(strange);
}

int main(void) {
  fyris_store *store = fyris_store_new(&err);
  fyris_table *table = fyris_table_new(store, "n", NULL, &err);
  nulls(table);
  bad_terms();
  nested(store);
  portions(store);
  depth();
  types();
  given_away(store);
  built();
  fyris_table_free(table);
  indexes(store);
  operations(store);
  puts("misuse: all good");
  return 0;
}
