/*
 * fyris_index.h: an index of a Fyris table, written in C or C++ and loaded from a shared library.
 *
 * A library that exports fyris_index_v1 serves as the index of tables that are made with the option
 *
 *     {index, {library, "/path/to/library.so"}}
 *
 * from Rust, Erlang, C and Python. As the paper on the scalability of ETS plugged the set of C++'s standard library
 * into ETS (Klaftenegger, Sagonas and Winblad, 2013, section 6.2.2), so can any structure be tried as a table, without
 * a line of it in Fyris. Two examples come with Fyris: std::unordered_map and std::map (examples/index/ of the C API).
 *
 *     c++ -std=c++17 -O2 -shared -fPIC -I PREFIX/include -o map.so map.cc
 *
 * WHAT A LIBRARY KEEPS
 *
 * One 64-bit word a key. A word means something to Fyris alone: it is never 0, is handed to `insert`, and comes back
 * from `get`, `remove`, `above` and `below`. What a key's word is does not change between `insert` and `remove`: that
 * the objects of the key change is no business of the library. Objects, their memory, transactions, rights, several
 * objects under a key: all of that is on Fyris' side.
 *
 * WHAT IS CHECKED
 *
 * Fyris follows no word before it has seen that the word is one of those that are in the index, with the key that was
 * asked for, and it keeps a record of its own of the keys that are in. So a library that answers wrongly about a key
 * makes no wrong answer of a table: when such an answer is found out the index has *failed*. The operation that found
 * it out is carried out by Fyris' record; the library is not called any more for this table, what it has allocated
 * stays allocated; and every later operation on the table, but for its deletion and `info`,
 * is refused with an error that names the library and what it did (Error::LibraryIndex in Rust). Found out are
 *
 *   - where a table is made: no such file, no shared library, no symbol fyris_index_v1, another version, a table of
 *     functions that is too short, an unknown capability, a missing function, no order for an ordered_set, a `create`
 *     that returns NULL;
 *   - later: a word that Fyris has not handed out or that has been removed, a word of another key, a key that was
 *     inserted and is not found, an insertion that is refused, a removal that returns something else than the key's
 *     word, more words than were asked for, and keys that are not in order, so that no iteration goes on for ever; of a
 *     library without concurrent writers also a count that is not the number of keys, and a walk over all keys in one
 *     operation that leaves some out.
 *
 * What cannot be found out is what any code of the process can do: write to memory that is not its own, block, exit. A
 * library is trusted as the program is that loads it: only a path that the program trusts may be put into options.
 *
 * THREADS AND LOCKS
 *
 * Without a capability Fyris makes one call a table at a time. FYRIS_INDEX_CONCURRENT_READERS lets the calls that only
 * read (`get`, `above`, `below`, `length`, `memory`) be made by several threads at once, while none inserts or removes.
 * With FYRIS_INDEX_CONCURRENT_WRITERS all calls of a table may be made at once, but for `insert` and `remove` of the
 * same key; such a library locks for itself.
 *
 * Tables are independent: calls for two of them are made at once whatever the capabilities. A call may come from any
 * thread, also `destroy`. Fyris holds a lock of the table while it calls, so a function must return soon, must not call
 * Fyris, and must not wait for a thread that does.
 *
 * C++
 *
 * No exception may leave a function: each is noexcept, which C++17 checks where the table of functions is filled in.
 * A function that cannot allocate returns NULL or an error number.
 *
 * LIFE
 *
 * A library is loaded when the first table on it is made, once for each file, and stays loaded until the process ends.
 * What runs when it is loaded must not call Fyris either.
 */
#ifndef FYRIS_INDEX_H
#define FYRIS_INDEX_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus) && __cplusplus >= 201703L
#define FYRIS_INDEX_NOEXCEPT noexcept
#else
#define FYRIS_INDEX_NOEXCEPT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A change that a library would notice has another number, and another symbol. */
#define FYRIS_INDEX_VERSION 1

/* The capabilities of an index: bits, ored together. */

/* `above` is there, and goes through the keys in the order of their hashes, and of their bytes where hashes are equal.
 * Without it the operations on tables that visit keys (first, next, fold, select without a key, tab2list and so on) are
 * refused by name, as the paper says of std::unordered_set. */
#define FYRIS_INDEX_ITERATION 1

/* `above` and `below` are there, and go through the keys in the order of their bytes: as memcmp orders them, a key
 * before those that it is the beginning of. It includes iteration. An ordered_set needs it. */
#define FYRIS_INDEX_ORDER 2

/* Calls that only read may be made at once. */
#define FYRIS_INDEX_CONCURRENT_READERS 4

/* All calls may be made at once, but for `insert` and `remove` of the same key. It includes concurrent readers. */
#define FYRIS_INDEX_CONCURRENT_WRITERS 8

/* A key. Two keys are the same if their bytes are; then their hashes are equal too. The structure itself is valid
 * during the call only. */
typedef struct fyris_index_key {
  /* The bytes, which stand for an Erlang term. They may have any value and any alignment. */
  const uint8_t *bytes;
  /* How many bytes. */
  size_t length;
  /* A hash of the bytes, good in all of its bits. It differs from table to table. */
  uint64_t hash;
} fyris_index_key;

/* The functions of an index. `table` is what `create` has returned. */
typedef struct fyris_index_ops {
  /* FYRIS_INDEX_VERSION. */
  uint32_t version;
  /* sizeof(fyris_index_ops). */
  uint32_t size;
  /* The capabilities. */
  uint64_t capabilities;

  /* Makes an empty table. `capacity` is a hint: about as many keys are to come; it may be 0. Returns NULL if it
   * cannot. */
  void *(*create)(size_t capacity) FYRIS_INDEX_NOEXCEPT;

  /* Frees a table, whatever is in it. It is the last call for this table, and no other is under way. */
  void (*destroy)(void *table) FYRIS_INDEX_NOEXCEPT;

  /* Returns the word of a key; 0 if it is not there. */
  uint64_t (*get)(void *table, const fyris_index_key *key) FYRIS_INDEX_NOEXCEPT;

  /* Puts a key in, which is not there, with its word. Returns 0, or another number of its own if it cannot: then the
   * key is not in the table, and the index has failed.
   *
   * key->bytes stay where they are and as they are until the key has been removed, or the table destroyed, or the
   * index has failed, and every call that had begun before has returned. A library may keep the pointer instead of a
   * copy, and looks at it within calls only: a thread of its own must not. */
  int (*insert)(void *table, const fyris_index_key *key, uint64_t word) FYRIS_INDEX_NOEXCEPT;

  /* Takes a key out and returns its word; 0 if it is not there. */
  uint64_t (*remove)(void *table, const fyris_index_key *key) FYRIS_INDEX_NOEXCEPT;

  /* Returns the number of keys. O(1). */
  size_t (*length)(void *table) FYRIS_INDEX_NOEXCEPT;

  /* Returns about how many bytes the table has allocated. O(1). May be NULL: then the library's memory is not counted
   * in what Fyris says of the table. */
  size_t (*memory)(void *table) FYRIS_INDEX_NOEXCEPT;

  /* Writes the words of the first keys above `from`, or at and above it if `inclusive` is not 0, in ascending order; of
   * all keys if `from` is NULL. Returns how many: `most` if there are as many, which is at least 1, and fewer only at
   * the end. `from` need not be there. NULL without iteration.
   *
   * A key that is there throughout a call, and belongs between two that are written, is written. */
  size_t (*above)(void *table, const fyris_index_key *from, int inclusive, uint64_t *words,
                  size_t most) FYRIS_INDEX_NOEXCEPT;

  /* The same downwards: the last keys below `from`, in descending order. NULL without order. */
  size_t (*below)(void *table, const fyris_index_key *from, int inclusive, uint64_t *words,
                  size_t most) FYRIS_INDEX_NOEXCEPT;
} fyris_index_ops;

/* Returns the functions of the library's index: what a library exports. Called once, when the library is loaded; Fyris
 * copies what it points to. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const fyris_index_ops *fyris_index_v1(void) FYRIS_INDEX_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* FYRIS_INDEX_H */
