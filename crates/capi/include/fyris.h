/* fyris.h: the C API of Fyris, a concurrent in-memory term store and version-controlled shared memory.
 *
 * Made from crates/capi/src by `FYRIS_BLESS=1 cargo test -p fyris-capi --test header`; edit the sources, not this.
 *
 * ERRORS. A function that can fail returns a `fyris_code` (or NULL where it returns a handle) and takes as its last
 * argument a `fyris_error` to fill, which is yours, so that threads need nothing in common, and may be NULL. Begin it with
 * FYRIS_ERROR_INIT. After success its code is FYRIS_OK. On failure no out-argument is written, and the store is as it was
 * unless the function says otherwise. Calls nest: one that gets NULL where a call with the same error has just failed
 * returns the code of that failure, and leaves its text: after a failure that was dealt with, set the error to
 * FYRIS_ERROR_INIT again, or a NULL of your own looks like it. A text is one line; what would end it is escaped.
 *
 * THREADS. Each function says one of:
 *   any    any number of threads may call it at once, with the same handles too;
 *   turn   any thread may call it, but a thread that finds another inside a call with the same handle is told
 *          FYRIS_E_BUSY at once, and changes nothing, and so
 *          is a function that such a call runs, but for what is said there;
 *   one    one thread at a time for each handle it is given; other handles do not matter;
 *   last   as `one`, and the handle is gone: no thread may use it afterwards.
 *
 * MEMORY. A `fyris_x *` that a function returns, or puts into an out-argument (`fyris_term **objects`), is yours, and is
 * given back with `fyris_x_free`; a `const fyris_term *` is borrowed from the term it is in. What you hand in stays yours,
 * but for the elements of `fyris_term_tuple`, `_list` and `_map`. What a map lends out is borrowed until a call of any thread changes the working copy: an
 * insertion, a removal, an update, a discard, a write, a commit that grows it. NULL is refused with FYRIS_E_NULL wherever it is not said to be allowed; freeing NULL does
 * nothing. Text is UTF-8 and ends with a zero byte.
 */

#ifndef FYRIS_H
#define FYRIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A value: a number, an atom, a binary, a tuple, a list, a map. It never changes.
 */
typedef struct fyris_term fyris_term;

/**
 * A `fyris_error` that tells of nothing, and empty `fyris_bytes` and `fyris_ranges`: to begin with.
 */
#define FYRIS_ERROR_INIT {FYRIS_OK, ""}
#define FYRIS_BYTES_INIT {NULL, 0}
#define FYRIS_RANGES_INIT {NULL, 0}

/**
 * Structs that calls fill, with their sizes: to begin with.
 */
#define FYRIS_UPDATED_INIT {sizeof(struct fyris_updated), 0, 0, 0, 0}
#define FYRIS_SEGMENT_STATE_INIT \
  {sizeof(struct fyris_segment_state), 0, 0, 0, 0, 0, false, false, false, NULL}

/**
 * Marks functions whose result tells of a failure, or is to be freed: compilers warn where it is thrown away. A program
 * that looks at the code in its `fyris_error` instead defines it as nothing before it includes this.
 */
#ifndef FYRIS_MUST_USE
#ifdef __GNUC__
#define FYRIS_MUST_USE __attribute__((warn_unused_result))
#else
#define FYRIS_MUST_USE
#endif
#endif

/**
 * The number of bytes in the text of an error, with the zero byte behind it.
 */
#define FYRIS_ERROR_TEXT 508

/**
 * Keep the working copy's; the next commit overwrites the trunk's.
 */
#define FYRIS_LOCAL 0

/**
 * Take the trunk's.
 */
#define FYRIS_INCOMING 1

/**
 * Take what the callback wrote to `result`.
 */
#define FYRIS_RESULT 2

/**
 * Do nothing: the update fails with FYRIS_E_GAVE_UP.
 */
#define FYRIS_GIVE_UP -1

/**
 * Inserts `value`, an object or a list of objects, as `fyris_table_insert_list`. The reply is `true`.
 */
#define FYRIS_INSERT 1

/**
 * Inserts `value`, an object or a list of objects, unless one of the keys is there; then none, and the batch goes on.
 * The reply says whether it did.
 */
#define FYRIS_INSERT_NEW 2

/**
 * Deletes the objects with `key`. The reply is `true`.
 */
#define FYRIS_DELETE 3

/**
 * Deletes exactly the object `value`. The reply is `true`.
 */
#define FYRIS_DELETE_OBJECT 4

/**
 * Counts as `fyris_table_update_counter`, `value` being the operations. The reply is the new value, or a list of them.
 */
#define FYRIS_UPDATE_COUNTER 5

/**
 * Replaces elements as `fyris_table_update_element`, `value` being the edits. The reply says whether there is an
 * object.
 */
#define FYRIS_UPDATE_ELEMENT 6

/**
 * Lets the batch happen only if `key` held exactly `value`, an object or a list of objects in any order, before it; no
 * object, if `value` is NULL; what it holds in `snapshot`, if that is not NULL. The reply is `true`.
 */
#define FYRIS_CHECK 7

/**
 * Takes the objects with `key` out, as `fyris_table_take`. The reply is the list of them.
 */
#define FYRIS_TAKE 8

/**
 * `from` does not count.
 */
#define FYRIS_FROM_EXCLUDED 1

/**
 * `to` does not count.
 */
#define FYRIS_TO_EXCLUDED 2

/**
 * From the end.
 */
#define FYRIS_REVERSE 4

/**
 * Keys in the places of objects.
 */
#define FYRIS_KEYS 8

/**
 * The version of the binary interface that this header describes.
 *
 * It changes when a program compiled with an older header would no longer work, and with it the number in the name of
 * the shared library, libfyris.so.0, which is one less; additions leave both as they are: functions, codes, and fields
 * of structs that begin with `struct_size`.
 */
#define FYRIS_ABI_VERSION 1

/**
 * The version of this header: that of the library it came with.
 */
#define FYRIS_VERSION_MAJOR 0

/**
 * The second number of the version. Until 1.0 a program is built for one.
 */
#define FYRIS_VERSION_MINOR 1

/**
 * The third number of the version.
 */
#define FYRIS_VERSION_PATCH 0

/**
 * The outcome of a call.
 *
 * Later versions may add codes: treat one you do not know as a failure.
 */
typedef enum fyris_code {
  /**
   * Done.
   */
  FYRIS_OK = 0,
  /**
   * An argument is NULL that must not be.
   */
  FYRIS_E_NULL = 1,
  /**
   * Fyris has a bug: it panicked, and this call has been given up. The objects that it worked on are still usable.
   */
  FYRIS_E_PANIC = 2,
  /**
   * An argument makes no sense: an option, a position, a length, text that is not UTF-8.
   */
  FYRIS_E_ARGUMENT = 3,
  /**
   * A term, or a table, is of another type than the call needs.
   */
  FYRIS_E_TYPE = 4,
  /**
   * A number does not fit where it should go.
   */
  FYRIS_E_RANGE = 5,
  /**
   * Text that is no term in Erlang's syntax; the error's text says at which line and column.
   */
  FYRIS_E_SYNTAX = 6,
  /**
   * Bytes that are no term in external format; the error's text says at which byte.
   */
  FYRIS_E_FORMAT = 7,
  /**
   * Something grew beyond what Fyris can hold: a term, the number of tables or of atoms. erlang/FROM_ETS.md lists
   * all limits.
   */
  FYRIS_E_LIMIT = 8,
  /**
   * There is no such table, or no longer.
   */
  FYRIS_E_NO_TABLE = 20,
  /**
   * The table does not allow this to the handle's owner; the segment belongs to another user.
   */
  FYRIS_E_NO_ACCESS = 21,
  /**
   * A table of this name exists.
   */
  FYRIS_E_NAME_TAKEN = 22,
  /**
   * No object has the key.
   */
  FYRIS_E_NO_KEY = 23,
  /**
   * The transaction was committed or aborted.
   */
  FYRIS_E_ENDED = 24,
  /**
   * A transaction reads and writes objects; the call is about the table itself.
   */
  FYRIS_E_IN_TRANSACTION = 25,
  /**
   * A check of a batch of writes does not hold.
   */
  FYRIS_E_CHECK = 26,
  /**
   * Another object has the value that a write was going to bring, by a unique index.
   */
  FYRIS_E_NOT_UNIQUE = 27,
  /**
   * A transaction that went first was not done in the time for which others wait for it.
   */
  FYRIS_E_HOLD_EXPIRED = 28,
  /**
   * The system refused something about a file; the error's text says what.
   */
  FYRIS_E_IO = 30,
  /**
   * A file or a segment is not what it should be, damaged, or of another version; the error's text says where.
   */
  FYRIS_E_DAMAGED = 31,
  /**
   * No memory or disk for what was asked. Single large requests, such as a binary, a term to be decoded or printed,
   * or the objects of a table, are told so, and a table on the index `hash` goes on with the array that it has when
   * there is no memory for a larger one; where a small piece of memory cannot be had the process ends by `abort`.
   */
  FYRIS_E_NO_SPACE = 32,
  /**
   * The kernel cannot do what was asked.
   */
  FYRIS_E_UNSUPPORTED = 33,
  /**
   * The trunk has changes that the working copy has not: update first.
   */
  FYRIS_E_BEHIND = 40,
  /**
   * Others were faster: units of a segment were changed on both sides; what a transaction has read was changed.
   */
  FYRIS_E_CONFLICT = 41,
  /**
   * The working copy fell so far behind that what it started from is gone, and pages were changed on both sides:
   * `fyris_segment_update_with` decides for each unit, `fyris_segment_discard` takes the trunk's.
   */
  FYRIS_E_BASE_LOST = 42,
  /**
   * Another thread is inside a call with this segment.
   */
  FYRIS_E_BUSY = 43,
  /**
   * The process forked. After the checkout of a segment: the working copy stayed with the parent: reattach. After a
   * store was made: the child cannot use stores and tables.
   */
  FYRIS_E_FORKED = 44,
  /**
   * The checkout is read-only; the table is a snapshot.
   */
  FYRIS_E_READ_ONLY = 45,
  /**
   * There is no segment of this name.
   */
  FYRIS_E_NO_SEGMENT = 46,
  /**
   * There is a segment of this name already.
   */
  FYRIS_E_EXISTS = 47,
  /**
   * A process that lives, but does not move, holds the lock for commits.
   */
  FYRIS_E_TIMEOUT = 48,
  /**
   * The callback gave up.
   */
  FYRIS_E_GAVE_UP = 49,
  /**
   * The map has changes that are neither committed nor discarded.
   */
  FYRIS_E_UNCOMMITTED = 50,
  /**
   * The segment's name was removed, or leads to another segment by now.
   */
  FYRIS_E_UNLINKED = 51,
} fyris_code;

/**
 * The kinds of events.
 */
typedef enum fyris_event_kind {
  /**
   * No event: NULL was asked about.
   */
  FYRIS_EVENT_NONE = 0,
  /**
   * What one call, or one transaction, has changed, of what was asked for: `fyris_event_len` changes.
   */
  FYRIS_EVENT_CHANGES = 1,
  /**
   * All objects of a table went at once, `fyris_event_count` of them.
   */
  FYRIS_EVENT_CLEARED = 2,
  /**
   * A table was deleted; nothing more is told of it.
   */
  FYRIS_EVENT_DELETED = 3,
  /**
   * Changes did not fit into the queue, here, `fyris_event_count` of them at most: what is known of the tables by
   * this subscription is not what they hold any more.
   */
  FYRIS_EVENT_OVERFLOW = 4,
  /**
   * Objects of a table that were there when the subscription began, some of them: `fyris_event_len` objects. With
   * the option `{from, snapshot}`.
   */
  FYRIS_EVENT_OBJECTS = 5,
  /**
   * All objects that were there have been told; from now on changes come.
   */
  FYRIS_EVENT_CURRENT = 6,
} fyris_event_kind;

/**
 * The types of terms.
 */
typedef enum fyris_term_type {
  /**
   * No term: NULL was asked about.
   */
  FYRIS_NONE = 0,
  /**
   * An integer of any size.
   */
  FYRIS_INTEGER = 1,
  /**
   * A float.
   */
  FYRIS_FLOAT = 2,
  /**
   * An atom.
   */
  FYRIS_ATOM = 3,
  /**
   * A binary.
   */
  FYRIS_BINARY = 4,
  /**
   * A tuple.
   */
  FYRIS_TUPLE = 5,
  /**
   * A proper list.
   */
  FYRIS_LIST = 6,
  /**
   * A map.
   */
  FYRIS_MAP = 7,
  /**
   * A list with another tail than the empty list: the tail is its last element here.
   */
  FYRIS_IMPROPER_LIST = 8,
  /**
   * A bitstring that does not end with a whole byte.
   */
  FYRIS_BITSTRING = 9,
  /**
   * A process identifier.
   */
  FYRIS_PID = 10,
  /**
   * A port.
   */
  FYRIS_PORT = 11,
  /**
   * A reference.
   */
  FYRIS_REFERENCE = 12,
  /**
   * A fun.
   */
  FYRIS_FUN = 13,
  /**
   * A native record of OTP 29: its parts are the values, in the order of its fields.
   */
  FYRIS_NATIVE_RECORD = 14,
} fyris_term_type;

/**
 * The map inside a `fyris_change`, which alone may use it.
 */
typedef struct fyris_batch fyris_batch;

/**
 * What a subscription tells, at once.
 */
typedef struct fyris_event fyris_event;

/**
 * An ordered map in a segment, as this process sees it.
 */
typedef struct fyris_map fyris_map;

/**
 * A segment that is checked out: a private working copy of memory that processes share.
 */
typedef struct fyris_segment fyris_segment;

/**
 * A `fyris_table_select` in portions. It holds nothing that makes others wait, and keeps going whatever happens to the
 * table.
 */
typedef struct fyris_selection fyris_selection;

/**
 * A store of tables, and an owner in it. The tables that the owner made are deleted when the handle is freed, unless
 * their options say otherwise.
 *
 * When a process that has made a store forks, the child may call `exec` or `_exit`, free its handles, and use
 * segments: whatever it asks of stores, tables, walks and queries is FYRIS_E_FORKED, at once, for what another thread
 * of the parent had locked stays locked in the child. A process that forks before it makes its first store may use
 * stores in its children.
 */
typedef struct fyris_store fyris_store;

/**
 * What changes in tables, from the subscription on. Threads may share it: each event goes to one of them. It lasts
 * until it is closed or freed, or until its tables are deleted, whatever becomes of the rights to them.
 *
 * What one call or one transaction changes in its tables is one event, which comes after the change can be seen.
 * Events come in the order of the changes of each key, and of calls that do not overlap. Writers never wait for who
 * reads: what does not fit into the queue is lost, and the queue says so.
 */
typedef struct fyris_subscription fyris_subscription;

/**
 * A handle of a table.
 */
typedef struct fyris_table fyris_table;

/**
 * Several tables as a transaction reads and writes them, until it is committed or aborted. What was read and written
 * by the handles of `fyris_transaction_table` happens at one moment, all of it or nothing. Nobody waits for it: what
 * others write meanwhile it does not see, and if that is something it has read, its commit fails.
 *
 * While it lasts, others that write to its tables keep what they change, as with snapshots.
 */
typedef struct fyris_transaction fyris_transaction;

/**
 * A walk through a table, object by object. It holds nothing that makes others wait. Of more than 512 objects it shows
 * the table as it was at one moment, unless this was made with `{consistent, false}`.
 */
typedef struct fyris_walk fyris_walk;

/**
 * Why a call failed.
 */
typedef struct fyris_error {
  /**
   * The code that the call returned.
   */
  enum fyris_code code;
  /**
   * The error and its place, in one line of English; cut to fit.
   */
  char text[FYRIS_ERROR_TEXT];
} fyris_error;

/**
 * Changes the map through the batch. 0: commit; anything else: give up, and nothing of it remains. May be called
 * several times, each time on a newer version, so what it does beside must bear repetition. It must not leave by
 * `longjmp` or an exception; calls with the map itself say FYRIS_E_BUSY. Where it gives up after a call with the batch
 * has failed, the error of `fyris_map_write` tells what that call said.
 */
typedef int32_t (*fyris_change)(void *context, struct fyris_batch *batch);

/**
 * An entry of a map, borrowed until a call, of whatever thread, changes the working copy.
 */
typedef struct fyris_entry {
  /**
   * The key; NULL if there is no entry.
   */
  const uint8_t *key;
  /**
   * Bytes of the key.
   */
  size_t key_len;
  /**
   * The value.
   */
  const uint8_t *value;
  /**
   * Bytes of the value.
   */
  size_t value_len;
} fyris_entry;

/**
 * The result of an update.
 */
typedef struct fyris_updated {
  /**
   * `sizeof` of this struct, which the caller sets (FYRIS_UPDATED_INIT): later versions may have more fields.
   */
  size_t struct_size;
  /**
   * The version that the working copy is at now.
   */
  uint64_t version;
  /**
   * Pages that the trunk had changed.
   */
  size_t pages;
  /**
   * Bytes that were written into the working copy: whole words or pages, and the units that a callback decided.
   */
  size_t bytes;
  /**
   * Units that both sides had changed.
   */
  size_t conflicts;
} fyris_updated;

/**
 * Bytes from `start` to before `end`, counted from the begin of the segment.
 */
typedef struct fyris_range {
  /**
   * The first byte.
   */
  size_t start;
  /**
   * The byte behind the last.
   */
  size_t end;
} fyris_range;

/**
 * Byte ranges that Fyris made, ascending, to be given back with `fyris_ranges_free`.
 */
typedef struct fyris_ranges {
  /**
   * The first range; NULL if there are none.
   */
  struct fyris_range *ranges;
  /**
   * The number of them.
   */
  size_t count;
} fyris_ranges;

/**
 * The state of a working copy.
 */
typedef struct fyris_segment_state {
  /**
   * `sizeof` of this struct, which the caller sets (FYRIS_SEGMENT_STATE_INIT): later versions may have more fields.
   */
  size_t struct_size;
  /**
   * Its bytes.
   */
  size_t size;
  /**
   * The bytes it may grow to.
   */
  size_t max_size;
  /**
   * The editing unit in bytes.
   */
  size_t unit;
  /**
   * Its version: the commits (and growths) that it contains.
   */
  uint64_t version;
  /**
   * The version of the trunk.
   */
  uint64_t trunk_version;
  /**
   * The trunk has changes that the working copy has not.
   */
  bool behind;
  /**
   * The checkout is read-only.
   */
  bool read_only;
  /**
   * This is a forked child of the process that checked the segment out: reattach.
   */
  bool forked;
  /**
   * The way in which writes are noticed: "userfault", "signal", or "declared" (not at all; also of a
   * read-only one). With "signal", `read` and other system calls into pages not yet written fail with EFAULT:
   * `fyris_segment_touch` them before. Yours to read for ever.
   */
  const char *tracking;
} fyris_segment_state;

/**
 * Changes the working copy, of `size` bytes at `data`. 0: commit; anything else: give up, and nothing of it remains.
 * May be called several times, each time on a newer version, so what it does beside must bear repetition. It must not
 * leave by `longjmp` or an exception. With the option `declared` it calls `fyris_segment_touch`; calls with the
 * segment that update, commit, discard or begin say FYRIS_E_BUSY.
 */
typedef int32_t (*fyris_segment_change)(void *context, void *data, size_t size);

/**
 * A unit that both sides changed. The memory is borrowed until the callback returns.
 */
typedef struct fyris_conflict {
  /**
   * The offset of the unit in the segment, in bytes.
   */
  size_t offset;
  /**
   * The number of bytes of the unit, and of each of the following.
   */
  size_t unit;
  /**
   * The unit as both sides began with it; NULL if that is gone because the working copy lagged too far behind.
   */
  const uint8_t *base;
  /**
   * The unit in the working copy.
   */
  const uint8_t *local;
  /**
   * The unit in the trunk.
   */
  const uint8_t *incoming;
} fyris_conflict;

/**
 * Decides about a conflict: FYRIS_LOCAL, FYRIS_INCOMING, FYRIS_RESULT having written `unit` bytes to `result`, or
 * FYRIS_GIVE_UP. It may block, but not leave by `longjmp` or an exception; a call with the same segment says
 * FYRIS_E_BUSY.
 */
typedef int32_t (*fyris_decide)(void *context,
                                const struct fyris_conflict *conflict,
                                uint8_t *result);

/**
 * An operation of `fyris_store_write_batch`. What it has no use for is NULL. All of it stays yours.
 */
typedef struct fyris_write_op {
  /**
   * The operation: one of FYRIS_INSERT to FYRIS_TAKE.
   */
  int32_t what;
  /**
   * The table.
   */
  const struct fyris_table *table;
  /**
   * The key, but for FYRIS_INSERT, FYRIS_INSERT_NEW and FYRIS_DELETE_OBJECT.
   */
  const fyris_term *key;
  /**
   * The object, the objects, the operations or the edits.
   */
  const fyris_term *value;
  /**
   * The object that a counter or an element begins with, or NULL: see `fyris_table_count`.
   */
  const fyris_term *initial;
  /**
   * A snapshot of the table, for FYRIS_CHECK, or NULL.
   */
  const struct fyris_table *snapshot;
} fyris_write_op;

/**
 * Bytes that Fyris made, to be given back with `fyris_bytes_free`. A zero byte that `len` does not count follows them.
 */
typedef struct fyris_bytes {
  /**
   * The first byte; NULL in an empty one that nothing was put in.
   */
  uint8_t *data;
  /**
   * The number of bytes.
   */
  size_t len;
} fyris_bytes;

/**
 * Is told of an event, which is borrowed until it returns. 0: go on; anything else: stop. It may block, and call what
 * it likes but `fyris_subscription_free` for this subscription; it must not leave by `longjmp` or an exception.
 */
typedef int32_t (*fyris_on_event)(void *context, const struct fyris_event *event);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the name of a code, like "FYRIS_E_NO_KEY", never freed; "FYRIS_OK" for success, and "unknown" for a number
 * that is no code of this version.
 *
 * Threads: any.
 */
const char *fyris_code_name(int32_t code);

/**
 * Checks a segment out and opens the map in it; in a new segment an empty map is made. Name, size and options are
 * those of `fyris_segment_checkout` (with `{max_size, Bytes}` the map grows by itself), but for `{private, Start,
 * End}`, since a map is committed as a whole; writes are declared by the map, whatever they say of tracking.
 *
 * Fails as `fyris_segment_checkout`; FYRIS_E_DAMAGED if the segment holds no map, FYRIS_E_ARGUMENT if it is too small,
 * its unit larger than 8, or bytes of it are to be private.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_map *fyris_map_checkout(const char *name,
                                     size_t size,
                                     const char *options,
                                     struct fyris_error *err);

/**
 * Gives the working copy up, with its uncommitted changes; the map stays, until `fyris_segment_unlink` removes its
 * name.
 *
 * Threads: last.
 */
void fyris_map_free(struct fyris_map *map);

/**
 * Changes the map by a function, on the latest version, as one step: others see all of it or nothing. `context` is
 * handed on.
 *
 * Fails with FYRIS_E_GAVE_UP, FYRIS_E_UNCOMMITTED if changes were made before, and as `fyris_map_update` and
 * `fyris_map_commit`, but never with FYRIS_E_BEHIND. Nothing of the changes remains then.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_write(const struct fyris_map *map,
                                fyris_change change,
                                void *context,
                                struct fyris_error *err);

/**
 * The value of a key, with the changes so far, borrowed until the next change: `*value` is NULL if the key is not
 * there. O(log size).
 *
 * Threads: one.
 */
FYRIS_MUST_USE
enum fyris_code fyris_batch_get(struct fyris_batch *batch,
                                const void *key,
                                size_t key_len,
                                const uint8_t **value,
                                size_t *value_len,
                                struct fyris_error *err);

/**
 * The entry with the smallest key that is not below `key`, with the changes so far, borrowed until the next change.
 * With no bytes: the first entry. O(log size).
 *
 * Threads: one.
 */
FYRIS_MUST_USE
enum fyris_code fyris_batch_seek(struct fyris_batch *batch,
                                 const void *key,
                                 size_t key_len,
                                 struct fyris_entry *entry,
                                 struct fyris_error *err);

/**
 * The entry with the smallest key above `key`, which need not be there, with the changes so far, borrowed until the
 * next change. O(log size).
 *
 * Threads: one.
 */
FYRIS_MUST_USE
enum fyris_code fyris_batch_next(struct fyris_batch *batch,
                                 const void *key,
                                 size_t key_len,
                                 struct fyris_entry *entry,
                                 struct fyris_error *err);

/**
 * The entry with the largest key below `key`, which need not be there, with the changes so far, borrowed until the
 * next change; below no bytes there is none. O(log size).
 *
 * Threads: one.
 */
FYRIS_MUST_USE
enum fyris_code fyris_batch_prev(struct fyris_batch *batch,
                                 const void *key,
                                 size_t key_len,
                                 struct fyris_entry *entry,
                                 struct fyris_error *err);

/**
 * The entry with the largest key, with the changes so far, borrowed until the next change. O(log size).
 *
 * Threads: one.
 */
FYRIS_MUST_USE
enum fyris_code fyris_batch_last(struct fyris_batch *batch,
                                 struct fyris_entry *entry,
                                 struct fyris_error *err);

/**
 * Maps a key to a value. O(log size). The segment grows if need be, as far as it may.
 *
 * Fails with FYRIS_E_NO_SPACE, FYRIS_E_LIMIT (key or value too long), FYRIS_E_DAMAGED.
 *
 * Threads: one.
 */
FYRIS_MUST_USE
enum fyris_code fyris_batch_insert(struct fyris_batch *batch,
                                   const void *key,
                                   size_t key_len,
                                   const void *value,
                                   size_t value_len,
                                   struct fyris_error *err);

/**
 * Removes a key. `removed`, which may be NULL, says whether it was there. O(log size).
 *
 * Fails with FYRIS_E_DAMAGED.
 *
 * Threads: one.
 */
FYRIS_MUST_USE
enum fyris_code fyris_batch_remove(struct fyris_batch *batch,
                                   const void *key,
                                   size_t key_len,
                                   bool *removed,
                                   struct fyris_error *err);

/**
 * The value of a key, borrowed until a call on any thread changes the working copy: `*value` is NULL if the key is not
 * there. O(log size).
 *
 * Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_get(const struct fyris_map *map,
                              const void *key,
                              size_t key_len,
                              const uint8_t **value,
                              size_t *value_len,
                              struct fyris_error *err);

/**
 * The entry with the smallest key that is not below `key`, borrowed. With no bytes (NULL, or a length of 0, which are
 * the same in all of these calls): the first entry. O(log size).
 *
 * Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_seek(const struct fyris_map *map,
                               const void *key,
                               size_t key_len,
                               struct fyris_entry *entry,
                               struct fyris_error *err);

/**
 * The entry with the smallest key above `key`, which need not be there, borrowed. O(log size).
 *
 * Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_next(const struct fyris_map *map,
                               const void *key,
                               size_t key_len,
                               struct fyris_entry *entry,
                               struct fyris_error *err);

/**
 * The entry with the largest key below `key`, which need not be there, borrowed; below no bytes there is none. O(log
 * size).
 *
 * Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_prev(const struct fyris_map *map,
                               const void *key,
                               size_t key_len,
                               struct fyris_entry *entry,
                               struct fyris_error *err);

/**
 * The entry with the largest key, borrowed: where a walk by `fyris_map_prev` begins. O(log size).
 *
 * Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_last(const struct fyris_map *map,
                               struct fyris_entry *entry,
                               struct fyris_error *err);

/**
 * Returns the number of entries. O(1).
 *
 * Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_size(const struct fyris_map *map,
                               uint64_t *entries,
                               struct fyris_error *err);

/**
 * The version of the working copy, in commits.
 *
 * Fails with FYRIS_E_BUSY.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_version(const struct fyris_map *map,
                                  uint64_t *version,
                                  struct fyris_error *err);

/**
 * Whether others have committed since: two loads, no system call.
 *
 * Fails with FYRIS_E_BUSY.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_is_behind(const struct fyris_map *map,
                                    bool *behind,
                                    struct fyris_error *err);

/**
 * Reads the whole map and verifies it. O(size).
 *
 * Fails with FYRIS_E_DAMAGED and the first thing that is wrong.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_check(const struct fyris_map *map,
                                struct fyris_error *err);

/**
 * Maps a key to a value in the working copy; a commit publishes it. O(log size). The segment grows if need be, as far
 * as it may.
 *
 * Fails with FYRIS_E_NO_SPACE, FYRIS_E_LIMIT (key or value too long), FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY;
 * with FYRIS_E_DAMAGED the working copy should be discarded.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_insert(const struct fyris_map *map,
                                 const void *key,
                                 size_t key_len,
                                 const void *value,
                                 size_t value_len,
                                 struct fyris_error *err);

/**
 * Removes a key from the working copy. `removed`, which may be NULL, says whether it was there. O(log size).
 *
 * Fails with FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY; with FYRIS_E_DAMAGED the working copy should be
 * discarded.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_remove(const struct fyris_map *map,
                                 const void *key,
                                 size_t key_len,
                                 bool *removed,
                                 struct fyris_error *err);

/**
 * Removes everything from the working copy.
 *
 * Fails with FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY; with FYRIS_E_DAMAGED the working copy should be
 * discarded.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_clear(const struct fyris_map *map,
                                struct fyris_error *err);

/**
 * Takes the latest version. `updated` may be NULL.
 *
 * Fails with FYRIS_E_UNCOMMITTED (maps are not merged), FYRIS_E_DAMAGED, FYRIS_E_FORKED, FYRIS_E_BUSY.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_update(const struct fyris_map *map,
                                 struct fyris_updated *updated,
                                 struct fyris_error *err);

/**
 * Publishes the changes of the working copy. `version`, which may be NULL, is the new version, or the present one if
 * there are none.
 *
 * Fails with FYRIS_E_BEHIND: another writer was first; discard, update, and make the changes again (`fyris_map_write`
 * does). Else as `fyris_segment_commit`.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_commit(const struct fyris_map *map,
                                 uint64_t *version,
                                 struct fyris_error *err);

/**
 * Sleeps until others have committed, as `fyris_segment_wait`. Other threads may use the map meanwhile, but not free
 * it.
 *
 * Fails as there.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_wait(const struct fyris_map *map,
                               int64_t millis,
                               bool *news,
                               struct fyris_error *err);

/**
 * Writes a map whose segment is a file to its disk.
 *
 * Fails with FYRIS_E_IO, FYRIS_E_NO_SPACE, FYRIS_E_FORKED, FYRIS_E_BUSY.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE enum fyris_code fyris_map_sync(const struct fyris_map *map, struct fyris_error *err);

/**
 * Takes back the changes since the last commit.
 *
 * Fails with FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_discard(const struct fyris_map *map,
                                  struct fyris_error *err);

/**
 * In a forked child: checks the map out anew, as `fyris_segment_reattach`.
 *
 * Fails as there.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_map_reattach(const struct fyris_map *map,
                                   struct fyris_error *err);

/**
 * Frees the ranges and makes `ranges` empty, so that freeing twice does no harm. NULL is allowed.
 *
 * Threads: one.
 */
void fyris_ranges_free(struct fyris_ranges *ranges);

/**
 * Checks a segment out: gives this process a private working copy of it.
 *
 * `name` without a slash is a segment of this user in memory, which lasts until it is unlinked or the machine
 * restarts; with a slash it is the path of a file, and the segment lasts as the file does. `size` is in bytes; 0
 * attaches to a segment that is there, whatever its size. `options` is a list in Erlang's syntax, or NULL for none:
 *
 * - `existing`: do not create it; `exclusive`: it must be new;
 * - `read_only`: nothing is tracked, writing raises SIGSEGV; permission to read the file is enough;
 * - `in_place`: read-only, and shows the trunk's own pages instead of copies, but for those that updates change. What
 *   it sees is kept while it does not update: others' commits may fail with FYRIS_E_NO_SPACE then;
 * - `{unit, Bytes}`: the editing unit by which changes are merged, a power of two up to 64 (default 8);
 * - `{max_size, Bytes}`: the size it may grow to, fixed when it is created (default: `size`);
 * - `{slots, Count}`, `{history, Bytes}`: how many processes may have it checked out (default 1,024), and how many
 *   bytes of replaced pages it may keep for those that lag (default 8 times its size), fixed when it is created;
 *   FYRIS_E_BASE_LOST is for processes beyond that;
 * - `{mode, Mode}`, `{group, Gid}`: permissions (`8#640`) and group of a new file (default: 0600, the process's); who
 *   attaches to a segment in memory with wider permissions says the same mode;
 * - `declared`: writes are not noticed but declared with `fyris_segment_touch`; `{tracking, userfault}` or `{tracking,
 *   signal}` choose how they are noticed (default: the best the kernel has);
 * - `foreign_writes`: every commit looks for what a debugger or `process_vm_writev` wrote into the copy, at half a
 *   microsecond a MiB. Without it such a write is noticed after this process's next page fault, and a commit without a
 *   page fault before it costs the same whatever the segment's size. `one_writer`: always the same thread writes and
 *   commits, whose faults are counted faster;
 * - `after_unlink`: commits and waits go on when the segment's name was removed; otherwise they fail with
 *   FYRIS_E_UNLINKED;
 * - `{lag, Pages}`: commits let the log go on without processes that are so many changed pages behind;
 * - `{private, Start, End}`: what this process writes there is its own and never committed (marks of a garbage
 *   collector);
 * - `{place, Start, End, Address}`: these bytes are at this address, where nothing may be mapped; there they are read
 *   and written. Several may be given; all numbers are multiples of 4096. Bytes that are written to at
 *   `fyris_segment_data` instead have to be declared. After a fork they are there again when the child has reattached.
 *   `{replace, Start, End, Address}`: over what is mapped there, which nobody may use any more; when the segment is
 *   freed nothing is there.
 *
 * O(size). Fails with FYRIS_E_NO_SEGMENT, FYRIS_E_EXISTS, FYRIS_E_ARGUMENT (too small, another unit, no name),
 * FYRIS_E_SYNTAX, FYRIS_E_DAMAGED, FYRIS_E_NO_ACCESS, FYRIS_E_LIMIT, FYRIS_E_NO_SPACE, FYRIS_E_UNSUPPORTED,
 * FYRIS_E_IO.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_segment *fyris_segment_checkout(const char *name,
                                             size_t size,
                                             const char *options,
                                             struct fyris_error *err);

/**
 * Gives the working copy up, with its uncommitted changes; the segment stays. No memory of it may be used any more.
 *
 * Threads: last.
 */
void fyris_segment_free(struct fyris_segment *segment);

/**
 * Removes the name of a segment. Processes that have it checked out keep it, and are told by their next commit or wait
 * (FYRIS_E_UNLINKED): who checks the name out from now on shares nothing with them. Nothing else ever removes a name.
 *
 * Fails with FYRIS_E_NO_SEGMENT, FYRIS_E_ARGUMENT, FYRIS_E_DAMAGED (it is no segment, and left alone), FYRIS_E_IO.
 *
 * Threads: any.
 */
enum fyris_code fyris_segment_unlink(const char *name,
                                     struct fyris_error *err);

/**
 * Returns the working copy: the memory to read and to write, at a multiple of the page size. It stays where it is
 * until the segment is freed or reattached, and changes only by this process's writes and in updates. No thread should
 * write to it during a call with the segment.
 *
 * Fails with FYRIS_E_BUSY, FYRIS_E_FORKED.
 *
 * Threads: turn.
 */
void *fyris_segment_data(const struct fyris_segment *segment,
                         struct fyris_error *err);

/**
 * Describes a working copy as it is now. No system call.
 *
 * Fails with FYRIS_E_BUSY.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_look(const struct fyris_segment *segment,
                                   struct fyris_segment_state *state,
                                   struct fyris_error *err);

/**
 * Whether the trunk has changes that the working copy has not: two loads, no system call.
 *
 * Fails with FYRIS_E_BUSY.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_is_behind(const struct fyris_segment *segment,
                                        bool *behind,
                                        struct fyris_error *err);

/**
 * In a forked child: checks the same segment out anew, at the trunk's present version; the parent's uncommitted
 * changes are not in it, and `fyris_segment_data` is elsewhere. In the process that checked it out: nothing. Until it
 * is called every other call says FYRIS_E_FORKED.
 *
 * Fails as `fyris_segment_checkout`; FYRIS_E_NO_SEGMENT if the name was unlinked. That the parent forked while another
 * of its threads was inside a call does no harm.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_reattach(const struct fyris_segment *segment,
                                       struct fyris_error *err);

/**
 * Publishes the changes made here: others see all of them at their next update, or none. `version`, which may be NULL,
 * is the new version, or the present one if nothing was changed. A process that dies meanwhile, at any instruction,
 * harms nobody.
 *
 * Fails with FYRIS_E_BEHIND, FYRIS_E_READ_ONLY, FYRIS_E_NO_SPACE, FYRIS_E_TIMEOUT, FYRIS_E_FORKED, FYRIS_E_BUSY,
 * FYRIS_E_DAMAGED, FYRIS_E_UNLINKED; the changes stay local then.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_commit(const struct fyris_segment *segment,
                                     uint64_t *version,
                                     struct fyris_error *err);

/**
 * Update and commit in one step, never FYRIS_E_BEHIND: where both sides changed a unit, that of this process wins.
 *
 * Fails as `fyris_segment_update` and `fyris_segment_commit`; the update may have been done then.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_commit_merge(const struct fyris_segment *segment,
                                           uint64_t *version,
                                           struct fyris_error *err);

/**
 * Update and commit in one step, unless a unit was changed on both sides: then nothing is committed, and `conflicts`
 * says where, as for `fyris_segment_update_validated`.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_commit_merge_validated(const struct fyris_segment *segment,
                                                     uint64_t *version,
                                                     struct fyris_ranges *conflicts,
                                                     struct fyris_error *err);

/**
 * Declares that `len` bytes from `offset` on were or will be written before the next commit: their pages take no fault
 * and need no scan. With the option `declared` only what was touched is committed. O(pages).
 *
 * Fails with FYRIS_E_ARGUMENT (outside of the segment), FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_touch(const struct fyris_segment *segment,
                                    size_t offset,
                                    size_t len,
                                    struct fyris_error *err);

/**
 * Makes the segment longer, for everybody: others see it at their next update. The new bytes are zero, the old ones
 * stay where they are. A smaller size changes nothing.
 *
 * Fails with FYRIS_E_LIMIT beyond its `max_size`, FYRIS_E_READ_ONLY, FYRIS_E_NO_SPACE, FYRIS_E_TIMEOUT,
 * FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_UNLINKED.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_grow(const struct fyris_segment *segment,
                                   size_t size,
                                   struct fyris_error *err);

/**
 * Takes the changes made here back: the working copy is at its version again.
 *
 * Fails with FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_discard(const struct fyris_segment *segment,
                                      struct fyris_error *err);

/**
 * Writes a segment that is a file to its disk.
 *
 * Fails with FYRIS_E_IO, FYRIS_E_NO_SPACE, FYRIS_E_FORKED, FYRIS_E_BUSY.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_sync(const struct fyris_segment *segment,
                                   struct fyris_error *err);

/**
 * Lists the places where the working copy differs from its version: whole units. O(pages written).
 *
 * Fails with FYRIS_E_BASE_LOST if that version is gone because this process lagged too far, FYRIS_E_FORKED,
 * FYRIS_E_BUSY, FYRIS_E_DAMAGED.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_diff(const struct fyris_segment *segment,
                                   struct fyris_ranges *changed,
                                   struct fyris_error *err);

/**
 * Lists the changes in the trunk since the version of the working copy: whole words or units, whichever is larger.
 * O(pages changed), no system call.
 *
 * Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_incoming(const struct fyris_segment *segment,
                                       struct fyris_ranges *changed,
                                       struct fyris_error *err);

/**
 * Looks a segment over without checking it out, repairs what dead processes have left, and checks every invariant.
 * `report`, which may be NULL, is a map: `size`, `max_size`, `unit`, `version`, `frames_free` and so on; `processes`,
 * a list of maps; `longest_runs`, what readers with `in_place` map in one piece, as a list of {Start, End} in pages.
 * O(size).
 *
 * Fails with FYRIS_E_DAMAGED and the first thing that is wrong; else as `fyris_segment_checkout`; FYRIS_E_TIMEOUT.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_doctor(const char *name,
                                     fyris_term **report,
                                     struct fyris_error *err);

/**
 * Lists this user's segments in memory, by looking at their files: no slot is taken, and nothing changed. `list` is a
 * list of maps: `name` and `path` (binaries), then `size`, `max_size`, `unit`, `version`, `processes` (living ones
 * that have it checked out) and `backed` (bytes of memory), or `error` (a binary) where the file is none that this
 * library reads. O(files in `/dev/shm`).
 *
 * Fails with FYRIS_E_IO.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_list(fyris_term **list,
                                   struct fyris_error *err);

/**
 * Begins a transaction by hand: brings the working copy to the trunk's latest version. Then change it and commit:
 * FYRIS_E_BEHIND says that another process was faster; discard and begin again, as `fyris_segment_transaction` does.
 * `updated` may be NULL.
 *
 * Fails with FYRIS_E_UNCOMMITTED if there are changes already, FYRIS_E_BASE_LOST if that cannot be told because this
 * process lagged too far (commit or discard first, in both cases), FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY,
 * FYRIS_E_DAMAGED.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_begin(const struct fyris_segment *segment,
                                    struct fyris_updated *updated,
                                    struct fyris_error *err);

/**
 * Changes the segment by a function, on the latest version, as one step: others see all of it or nothing. The function
 * is called again whenever another process committed meanwhile. `context` is handed on; `version`, which may be NULL,
 * is the new version.
 *
 * Fails with FYRIS_E_GAVE_UP, and as `fyris_segment_begin` and `fyris_segment_commit`, but never with FYRIS_E_BEHIND.
 * Nothing of the changes remains then.
 *
 * Threads: turn; while the function runs other threads are told FYRIS_E_BUSY as it is.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_transaction(const struct fyris_segment *segment,
                                          fyris_segment_change change,
                                          void *context,
                                          uint64_t *version,
                                          struct fyris_error *err);

/**
 * Sleeps until the trunk has changes that the working copy has not, or until `millis` milliseconds have passed (for
 * ever, if that is negative). `news`, which may be NULL, says whether there are such changes; if there are already it
 * returns at once. Commits wake the sleeper. Another thread may use the segment meanwhile, but not free it.
 *
 * Fails with FYRIS_E_UNLINKED (there are none, and the segment's name is gone), FYRIS_E_FORKED, FYRIS_E_BUSY.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_wait(const struct fyris_segment *segment,
                                   int64_t millis,
                                   bool *news,
                                   struct fyris_error *err);

/**
 * Merges the trunk's changes into the working copy, unit by unit: what was changed here stays, everything else becomes
 * the trunk's. Never waits for commits; with nothing new it is two loads. `updated` may be NULL.
 *
 * Fails with FYRIS_E_BASE_LOST, FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED; the working copy is untouched then.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_update(const struct fyris_segment *segment,
                                     struct fyris_updated *updated,
                                     struct fyris_error *err);

/**
 * Merges the trunk's changes into the working copy, unless a unit was changed on both sides, even to the same value:
 * then nothing is done and `conflicts`, which may be NULL, says where: with FYRIS_E_CONFLICT the units that both sides
 * changed, with FYRIS_E_BASE_LOST the units in which the two sides differ, on pages that both have changed. With other
 * codes it is not written.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_update_validated(const struct fyris_segment *segment,
                                               struct fyris_updated *updated,
                                               struct fyris_ranges *conflicts,
                                               struct fyris_error *err);

/**
 * Merges the trunk's changes into the working copy, asking `decide` about each unit that both sides changed. All are
 * asked before anything is written, in no order that means anything, and some perhaps twice. `context` is handed on.
 *
 * Fails with FYRIS_E_GAVE_UP, FYRIS_E_ARGUMENT for an answer that is none, FYRIS_E_FORKED, FYRIS_E_BUSY,
 * FYRIS_E_DAMAGED; the working copy is untouched then.
 *
 * Threads: turn.
 */
FYRIS_MUST_USE
enum fyris_code fyris_segment_update_with(const struct fyris_segment *segment,
                                          fyris_decide decide,
                                          void *context,
                                          struct fyris_updated *updated,
                                          struct fyris_error *err);

/**
 * Does `count` operations on tables of the store in one atomic and isolated step, or none. Writes are done in their
 * order, and one sees those before it; checks see what the tables held before the batch, wherever they stand. It is
 * tried until nobody is in the way.
 *
 * `replies`, which may be NULL, is the list of replies, one for each. `failed`, which may be NULL, is the number of
 * the operation, from 0, that is the reason of a failure.
 *
 * Nothing is done if it fails: with FYRIS_E_CHECK if a check does not hold, and with what the function for the
 * operation alone would fail with; FYRIS_E_READ_ONLY for a snapshot, FYRIS_E_ARGUMENT for a table of another store or
 * within a transaction, and for a snapshot of another table.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_store_write_batch(const struct fyris_store *store,
                                        const struct fyris_write_op *ops,
                                        size_t count,
                                        fyris_term **replies,
                                        size_t *failed,
                                        struct fyris_error *err);

/**
 * Writes the table to a file that `ets:file2tab` reads, with a checksum; a file that is there is replaced when the new
 * one is whole. `objects`, which may be NULL, is how many were written.
 *
 * Fails with FYRIS_E_IO, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_save(const struct fyris_table *handle,
                                 const char *path,
                                 uint64_t *objects,
                                 struct fyris_error *err);

/**
 * Makes a table out of a file that `ets:tab2file` or `fyris_table_save` wrote. The file may come from anybody: it is
 * checked, as far as it lets itself be, and refused whole if anything in it is wrong.
 *
 * Fails with FYRIS_E_IO, FYRIS_E_DAMAGED, FYRIS_E_NAME_TAKEN, FYRIS_E_LIMIT.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_table *fyris_table_load(const struct fyris_store *store,
                                     const char *path,
                                     struct fyris_error *err);

/**
 * Returns the kind of an event. Later versions may add kinds.
 *
 * Threads: any.
 */
enum fyris_event_kind fyris_event_kind_of(const struct fyris_event *event);

/**
 * Returns the number of an event in its subscription, from 1: what was lost counts as well. 0 for NULL.
 *
 * Threads: any.
 */
uint64_t fyris_event_seq(const struct fyris_event *event);

/**
 * Returns the number of changes, or of objects, that an event tells one by one; 0 for other events, and for NULL.
 *
 * Threads: any.
 */
size_t fyris_event_len(const struct fyris_event *event);

/**
 * Returns the table of change number `at`, from 0, and of another event that of the event: its place in the array that
 * was subscribed to, from 0. SIZE_MAX if there is no such change or no table, and for NULL.
 *
 * Threads: any.
 */
size_t fyris_event_table(const struct fyris_event *event,
                         size_t at);

/**
 * Returns the object that is not there any more since change number `at`, from 0, borrowed from the event; NULL for
 * one that came, and if there is no such change.
 *
 * Threads: any.
 */
const fyris_term *fyris_event_old(const struct fyris_event *event,
                                  size_t at);

/**
 * Returns the object that is there since change number `at`, from 0, borrowed from the event; NULL for one that was
 * deleted, and if there is no such change. Of FYRIS_EVENT_OBJECTS, object number `at`.
 *
 * Threads: any.
 */
const fyris_term *fyris_event_new(const struct fyris_event *event,
                                  size_t at);

/**
 * Returns how many objects a table had that was emptied at once, and how many changes were lost; 0 for other events,
 * and for NULL.
 *
 * Threads: any.
 */
uint64_t fyris_event_count(const struct fyris_event *event);

/**
 * Frees an event, and with it the terms that were borrowed from it.
 *
 * Threads: last.
 */
void fyris_event_free(struct fyris_event *event);

/**
 * Returns a list of the results of a match specification for the objects that match; `limit` is how many at most, 0
 * for all. In an `ordered_set` in the order of the keys, or with `reverse` from the end. The specification is a term
 * as for `ets:select/2`, like `[{{'$1', '$2'}, [{'>', '$2', 10}], ['$1']}]`. Keys that it names are
 * looked up instead of searched for.
 *
 * An object that is there throughout is visited exactly once. Fails with FYRIS_E_ARGUMENT for a specification that is
 * none, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_select(const struct fyris_table *handle,
                                   const fyris_term *spec,
                                   size_t limit,
                                   bool reverse,
                                   fyris_term **values,
                                   struct fyris_error *err);

/**
 * Begins a selection whose portions have `limit` results, the last one fewer. The handle of the table may be freed
 * meanwhile.
 *
 * Fails as `fyris_table_select`; FYRIS_E_ARGUMENT for a limit of 0.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_selection *fyris_selection_new(const struct fyris_table *handle,
                                            const fyris_term *spec,
                                            size_t limit,
                                            bool reverse,
                                            struct fyris_error *err);

/**
 * The next portion: a list, which is yours to free; NULL behind the last.
 *
 * Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS; the selection has ended then.
 *
 * Threads: one.
 */
FYRIS_MUST_USE
enum fyris_code fyris_selection_next(struct fyris_selection *selection,
                                     fyris_term **values,
                                     struct fyris_error *err);

/**
 * Ends a selection.
 *
 * Threads: last.
 */
void fyris_selection_free(struct fyris_selection *selection);

/**
 * Of how many objects a match specification makes `true`. `count` may be NULL, here and below.
 *
 * Fails as `fyris_table_select`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_select_count(const struct fyris_table *handle,
                                         const fyris_term *spec,
                                         size_t *count,
                                         struct fyris_error *err);

/**
 * Deletes the objects of which a match specification makes `true`, each judged and deleted in one atomic step; says
 * how many.
 *
 * Fails as `fyris_table_select`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_select_delete(const struct fyris_table *handle,
                                          const fyris_term *spec,
                                          size_t *count,
                                          struct fyris_error *err);

/**
 * Puts what a match specification makes of the objects that match in their places, each judged and replaced in one
 * atomic step; says how many. The specification must keep every object's key. Not for a `bag`.
 *
 * Fails as `fyris_table_select`; FYRIS_E_TYPE; FYRIS_E_NOT_UNIQUE, where what was replaced before stays.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_select_replace(const struct fyris_table *handle,
                                           const fyris_term *spec,
                                           size_t *count,
                                           struct fyris_error *err);

/**
 * As `fyris_table_select_delete`, of the objects for which the specification returns anything; gives what it returned:
 * a list, in the order of `fyris_table_select`. Each object is judged and removed in one atomic step, and goes to one
 * of several callers. If the table goes away half-way, or the right to it, what was taken until then is given.
 *
 * Fails as `fyris_table_select`; FYRIS_E_READ_ONLY.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_select_take(const struct fyris_table *handle,
                                        const fyris_term *spec,
                                        fyris_term **values,
                                        struct fyris_error *err);

/**
 * As `fyris_table_select_replace`; gives the new objects: a list, in the order of `fyris_table_select`.
 *
 * Fails as `fyris_table_select_replace`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_select_replace_returning(const struct fyris_table *handle,
                                                     const fyris_term *spec,
                                                     fyris_term **objects,
                                                     struct fyris_error *err);

/**
 * What the variables of a pattern stand for in the objects that match, like `ets:match/2`: a list of lists, in the
 * order of the variables' numbers.
 *
 * Fails as `fyris_table_select`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_match(const struct fyris_table *handle,
                                  const fyris_term *pattern,
                                  fyris_term **bindings,
                                  struct fyris_error *err);

/**
 * The objects that match a pattern, like `{'_', '$1', '$1'}`, as a list.
 *
 * Fails as `fyris_table_select`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_match_object(const struct fyris_table *handle,
                                         const fyris_term *pattern,
                                         fyris_term **objects,
                                         struct fyris_error *err);

/**
 * Explains `fyris_table_select` without running it: a map of `plan` (how the objects are found), `estimated`
 * (about how many would be visited) and `size` (how many there are); also `secondary`, the name of the secondary index
 * that finds them, if one does.
 *
 * Fails as `fyris_table_select`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_explain(const struct fyris_table *handle,
                                    const fyris_term *spec,
                                    fyris_term **explanation,
                                    struct fyris_error *err);

/**
 * The objects of an `ordered_set` with keys from `from` to `to`, a list in order, which may be empty. NULL is an open
 * end. `flags` are FYRIS_FROM_EXCLUDED, FYRIS_TO_EXCLUDED, FYRIS_REVERSE and FYRIS_KEYS, or 0; `limit` is how many at
 * most, 0 for all. Of more than 512 all are as they were at one moment of the call. O(log n), and the objects.
 *
 * Fails with FYRIS_E_ARGUMENT (an unknown flag), FYRIS_E_TYPE, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_range(const struct fyris_table *handle,
                                  const fyris_term *from,
                                  const fyris_term *to,
                                  uint32_t flags,
                                  size_t limit,
                                  fyris_term **objects,
                                  struct fyris_error *err);

/**
 * The objects of an `ordered_set` whose keys begin alike, as `fyris_table_range` gives them. `prefix` is `{a, b,
 * '_'}`, tuples of this size that begin so, `[a, b | '_']`, or a binary; `flags` are FYRIS_REVERSE and FYRIS_KEYS.
 *
 * Fails as `fyris_table_range`; FYRIS_E_ARGUMENT also if that is no prefix.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_prefix(const struct fyris_table *handle,
                                   const fyris_term *prefix,
                                   uint32_t flags,
                                   size_t limit,
                                   fyris_term **objects,
                                   struct fyris_error *err);

/**
 * Takes the objects that `fyris_table_range` would give out of an `ordered_set`. Each goes to one of several callers.
 *
 * Fails as `fyris_table_range`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_take_range(const struct fyris_table *handle,
                                       const fyris_term *from,
                                       const fyris_term *to,
                                       uint32_t flags,
                                       size_t limit,
                                       fyris_term **objects,
                                       struct fyris_error *err);

/**
 * Deletes the objects of an `ordered_set` with keys from `from` to `to`, each in one atomic step, and says how many in
 * `count`. NULL is an open end; `flags` are FYRIS_FROM_EXCLUDED and FYRIS_TO_EXCLUDED.
 *
 * Fails as `fyris_table_range`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_delete_range(const struct fyris_table *handle,
                                         const fyris_term *from,
                                         const fyris_term *to,
                                         uint32_t flags,
                                         size_t *count,
                                         struct fyris_error *err);

/**
 * The first object of an `ordered_set` at or above a key, or with the flag FYRIS_REVERSE the last at or below it; NULL
 * if there is none. O(log n).
 *
 * Fails as `fyris_table_range`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_seek(const struct fyris_table *handle,
                                 const fyris_term *key,
                                 uint32_t flags,
                                 fyris_term **object,
                                 struct fyris_error *err);

/**
 * Takes all objects out: a list. Each goes to one of several callers; one that is put in meanwhile is taken or stays.
 *
 * Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_drain(const struct fyris_table *handle,
                                  fyris_term **objects,
                                  struct fyris_error *err);

/**
 * The objects with a key: a list, which may be empty. Takes no lock.
 *
 * Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_lookup(const struct fyris_table *handle,
                                   const fyris_term *key,
                                   fyris_term **objects,
                                   struct fyris_error *err);

/**
 * The objects with each of the keys of a list: a list of lists, in the order of the keys, where there is none an empty
 * one. Each key is looked up at a moment of its own, but of every list that was inserted at once all is seen or
 * nothing.
 *
 * Fails with FYRIS_E_ARGUMENT (`keys` is no list), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_lookup_many(const struct fyris_table *handle,
                                        const fyris_term *keys,
                                        fyris_term **objects,
                                        struct fyris_error *err);

/**
 * A part of the object with a key, without the rest: `path` is a list of a position, from 1, and then of keys of maps
 * and positions. NULL if there is no such part; in the bags it is one of the newest object.
 *
 * Fails with FYRIS_E_ARGUMENT (the path is no list), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_get_in(const struct fyris_table *handle,
                                   const fyris_term *key,
                                   const fyris_term *path,
                                   fyris_term **part,
                                   struct fyris_error *err);

/**
 * The objects that have a value by a secondary index: a list, which may be empty, in the order of their keys, in the
 * bags those of one key in the order of their insertion. `index` is the name of one that the table was made with, by
 * the option `{secondary, Name, Value}` of `fyris_table_new`, or that `fyris_table_add_secondary` has added. Values
 * are equal if they are of the same type: 1 and 1.0 are two. If more than 512 objects are visited, all are as they
 * were at one moment of the call.
 *
 * Fails with FYRIS_E_ARGUMENT (the table has no such index), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_lookup_by(const struct fyris_table *handle,
                                      const char *index,
                                      const fyris_term *value,
                                      fyris_term **objects,
                                      struct fyris_error *err);

/**
 * The objects with a key, a list, which may be empty: both in external term format. Takes no lock.
 *
 * Fails with FYRIS_E_FORMAT, FYRIS_E_LIMIT, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_lookup_encoded(const struct fyris_table *handle,
                                           const void *key,
                                           size_t len,
                                           struct fyris_bytes *objects,
                                           struct fyris_error *err);

/**
 * The element at `position` (from 1) of the object with a key; in the bags a list of them. Takes no lock.
 *
 * Fails with FYRIS_E_NO_KEY, FYRIS_E_ARGUMENT (the object is shorter), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_lookup_element(const struct fyris_table *handle,
                                           const fyris_term *key,
                                           size_t position,
                                           fyris_term **element,
                                           struct fyris_error *err);

/**
 * Returns whether an object has the key. Takes no lock.
 *
 * Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_member(const struct fyris_table *handle,
                                   const fyris_term *key,
                                   bool *found,
                                   struct fyris_error *err);

/**
 * One item of what `ets:info/2` tells, by its name: `size` (objects), `memory` (bytes), `type`, `keypos`,
 * `protection`, `index`, and so on.
 *
 * Fails with FYRIS_E_ARGUMENT for another name, and for what only Erlang can show (pids); FYRIS_E_NO_TABLE.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_info(const struct fyris_table *handle,
                                 const char *item,
                                 fyris_term **value,
                                 struct fyris_error *err);

/**
 * Returns the number of objects: every finished insert and delete is counted.
 *
 * Fails with FYRIS_E_NO_TABLE.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_size(const struct fyris_table *handle,
                                 size_t *objects,
                                 struct fyris_error *err);

/**
 * Returns a snapshot of the table: a handle that reads the table as it is at this moment, with all writes that have
 * returned, by every function that reads one, while others write and do not wait. Whatever becomes of the table, the
 * snapshot lasts until `fyris_table_release`, until its handle is freed, or until the handle of the store is freed
 * that the table's handle came from.
 *
 * What writes to it fails with FYRIS_E_READ_ONLY.
 *
 * Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS; with FYRIS_E_READ_ONLY for a snapshot.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_table *fyris_table_snapshot(const struct fyris_table *handle,
                                         struct fyris_error *err);

/**
 * Puts snapshots of `count` tables of the store, all of one moment, into `snapshots`, which has room for as many
 * handles.
 *
 * Fails as `fyris_table_snapshot` for any of the tables; FYRIS_E_ARGUMENT for one of another store. Then there is
 * none.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_store_snapshots(const struct fyris_store *store,
                                      struct fyris_table *const *tables,
                                      size_t count,
                                      struct fyris_table **snapshots,
                                      struct fyris_error *err);

/**
 * Ends a snapshot: reading it fails with FYRIS_E_ARGUMENT from then on. What only this one saw is freed in the
 * background. Does nothing to a table that is none, and to one that has ended.
 *
 * Fails with FYRIS_E_NULL.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_release(const struct fyris_table *handle,
                                    struct fyris_error *err);

/**
 * Makes a new store without tables.
 *
 * Fails with FYRIS_E_FORKED.
 *
 * Threads: any.
 */
FYRIS_MUST_USE struct fyris_store *fyris_store_new(struct fyris_error *err);

/**
 * Another owner in the same store: it finds the same named tables, may read those that are protected, and ends by
 * itself. Stores of two `fyris_store_new` have nothing in common.
 *
 * Fails with FYRIS_E_FORKED.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_store *fyris_store_join(const struct fyris_store *store,
                                     struct fyris_error *err);

/**
 * Ends the owner and frees its handle. Handles of its tables stay valid, and say FYRIS_E_NO_TABLE from then on.
 *
 * Threads: last.
 */
void fyris_store_free(struct fyris_store *store);

/**
 * Makes a table. `options` is the list of options of `ets:new/2` in Erlang's syntax, or NULL for none: the type is
 * `set` (which nothing need say), `ordered_set`, `bag` or `duplicate_bag`; the access `protected` (only handles from
 * this store handle write), `public` or `private`; `named_table` registers the name; `{keypos, N}` says which element
 * is the key; `{index, Name}` which structure holds the table (`hash`, and of an `ordered_set` `ordered`, if nothing
 * is said; `judysl` counts keys, for `fyris_table_nth` and `fyris_table_rank`), and `{bucket_locks, N}` and
 * `{reader_groups, N}` what locks it has; `{index, {library, "path"}}` that it is one of a shared library, whose code
 * this runs: see fyris_index.h; `{owner, none}` lets the table outlive its maker. `{secondary, Name, Value}` is a
 * secondary index, by which `fyris_table_lookup_by` finds objects: Value is `{element, N}`; `{path, [N, Step, ...]}`,
 * what the steps lead to from that element, keys of maps or positions; or `{body, [Expression, ...]}`, the value of
 * the last of the expressions of a match specification; or `{unique, one of these}`, of which each value is one
 * object's: a write that would repeat one fails with FYRIS_E_NOT_UNIQUE. Objects without such a value are not found by
 * it. There may be several. `{consistent, false}`: walks and queries of more than 512 objects need not show one
 * moment; `{snapshot_ttl, Milliseconds}`: those in several steps fail with FYRIS_E_ARGUMENT when their moment is
 * older.
 *
 * A table on a library that answers wrongly fails with FYRIS_E_ARGUMENT from then on, with a text that names the
 * library.
 *
 * Fails with FYRIS_E_ARGUMENT, FYRIS_E_SYNTAX, FYRIS_E_NAME_TAKEN, FYRIS_E_LIMIT.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_table *fyris_table_new(const struct fyris_store *store,
                                    const char *name,
                                    const char *options,
                                    struct fyris_error *err);

/**
 * Returns the table registered under `name`, made with `options` if there is none; the first caller makes it.
 *
 * Fails as `fyris_table_new`; FYRIS_E_NAME_TAKEN if the table that is there has another type or key position.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_table *fyris_table_open(const struct fyris_store *store,
                                     const char *name,
                                     const char *options,
                                     struct fyris_error *err);

/**
 * A handle of the table registered under `name`, by the option `named_table`; it goes on working when the table is
 * renamed. A name that is no atom becomes none.
 *
 * Fails with FYRIS_E_NO_TABLE, also where a table has the name and was made without that option.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_table *fyris_table_named(const struct fyris_store *store,
                                      const char *name,
                                      struct fyris_error *err);

/**
 * The names of the named tables of a store, as a list of atoms, in no order. Exact at one moment.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_store_tables(const struct fyris_store *store,
                                   fyris_term **names,
                                   struct fyris_error *err);

/**
 * Gives the table to another owner of the same store, who may write to it if it is protected; it is deleted when the
 * new owner ends. Returns a handle in the new owner's name. `handle` stays valid, with the access that the table
 * grants to everybody.
 *
 * Fails with FYRIS_E_NO_ACCESS if the handle is not the owner's, FYRIS_E_ARGUMENT if `to` owns the table already or
 * belongs to another store, FYRIS_E_NO_TABLE.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_table *fyris_table_give_away(const struct fyris_table *handle,
                                          const struct fyris_store *to,
                                          struct fyris_error *err);

/**
 * Changes the protection of a table: `options` is `{protection, public}`, `{protection, protected}` or `{protection,
 * private}`, or a list of one of these, as for `ets:setopts/2`. Once it has returned, an owner who has lost a right
 * can no longer use it.
 *
 * Fails with FYRIS_E_NO_ACCESS if the handle is not the owner's, FYRIS_E_ARGUMENT, FYRIS_E_SYNTAX, FYRIS_E_NO_TABLE.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_setopts(const struct fyris_table *handle,
                                    const char *options,
                                    struct fyris_error *err);

/**
 * Deletes the table, for everybody and at once; the handle stays, to be freed.
 *
 * Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_delete(const struct fyris_table *handle,
                                   struct fyris_error *err);

/**
 * Frees a handle of a table; the table stays.
 *
 * Threads: last.
 */
void fyris_table_free(struct fyris_table *handle);

/**
 * Begins a transaction over tables of a store. Nothing is read yet.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_transaction *fyris_transaction_begin(const struct fyris_store *store,
                                                  struct fyris_error *err);

/**
 * Returns a handle by which the transaction reads and writes a table, by all functions that do so to one; it is freed
 * by `fyris_table_free`, before the transaction or after it. What is done by other handles is done at once, and is no
 * part of it. Calls about a table as a whole (delete, rename, setopts, give away, delete all objects, snapshot) fail
 * by this handle with FYRIS_E_IN_TRANSACTION; after the end of the transaction all fail with FYRIS_E_ENDED. A call
 * that fails in another way, with FYRIS_E_NO_KEY for instance, has done nothing, and the transaction goes on.
 *
 * A table that comes in later is read at a later moment, and with it the others, in which nothing may have changed
 * that was read.
 *
 * Fails with FYRIS_E_CONFLICT if it has; FYRIS_E_ENDED, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS; FYRIS_E_READ_ONLY for a
 * snapshot; FYRIS_E_ARGUMENT for a table of another store or transaction, and for one that another owner has in it.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_table *fyris_transaction_table(const struct fyris_transaction *handle,
                                            const struct fyris_table *given,
                                            struct fyris_error *err);

/**
 * Makes happen, all at once, what was written, if nothing that was read has changed since; else nothing happens, and
 * the text of the error names the table, and the key if one is known. In both cases the transaction has ended. One
 * that has written nothing meets no conflict here.
 *
 * Fails with FYRIS_E_CONFLICT, also if one of its tables was emptied or deleted, or if a table could not come in
 * before; FYRIS_E_ENDED, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS; FYRIS_E_NOT_UNIQUE;
 * FYRIS_E_HOLD_EXPIRED, see `fyris_transaction_retry`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_transaction_commit(const struct fyris_transaction *handle,
                                         struct fyris_error *err);

/**
 * Ends the transaction without a trace. Does nothing to one that has ended.
 *
 * Fails with FYRIS_E_NULL.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_transaction_abort(const struct fyris_transaction *handle,
                                        struct fyris_error *err);

/**
 * Begins the transaction anew, after FYRIS_E_CONFLICT: lets others pass for a moment, and keeps its place among them.
 * Of transactions that are at odds the one that began first goes first, so that each is committed in the end. One that
 * has not ended is aborted. Its tables are to be asked for again.
 *
 * After eight conflicts writes of what it has read or written wait for it, up to 100 ms. If it has not ended by then,
 * its next read fails with FYRIS_E_HOLD_EXPIRED, and so does its commit if others were faster once more.
 *
 * Fails with FYRIS_E_NULL.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_transaction_retry(const struct fyris_transaction *handle,
                                        struct fyris_error *err);

/**
 * Frees a handle of a transaction, which is aborted if it has not ended.
 *
 * Threads: last.
 */
void fyris_transaction_free(struct fyris_transaction *handle);

/**
 * The first key; NULL if there is none. The keys of an `ordered_set` are in Erlang's order of terms, others in no
 * order that means anything.
 *
 * Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_first(const struct fyris_table *handle,
                                  fyris_term **key,
                                  struct fyris_error *err);

/**
 * The last key; NULL if there is none. The same as the first, except in an `ordered_set`.
 *
 * Fails as `fyris_table_first`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_last(const struct fyris_table *handle,
                                 fyris_term **key,
                                 struct fyris_error *err);

/**
 * The key after `from`; NULL if there is none. Steps from the first key to NULL meet every key that is there
 * throughout once. In an `ordered_set` `from` need not be there; elsewhere that is FYRIS_E_NO_KEY.
 *
 * Fails as `fyris_table_first`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_next(const struct fyris_table *handle,
                                 const fyris_term *from,
                                 fyris_term **key,
                                 struct fyris_error *err);

/**
 * Sets `key` to key number `n` in Erlang's order of terms, from 0; to NULL if there are no more than `n` keys. For an
 * `ordered_set` on the index `judysl` or `judyesl`; O(bytes of the key).
 *
 * Fails as `fyris_table_first`; FYRIS_E_ARGUMENT if the table's index does not count keys.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_nth(const struct fyris_table *handle,
                                size_t n,
                                fyris_term **key,
                                struct fyris_error *err);

/**
 * The number of keys below `key`, which need not be there. For the same tables as `fyris_table_nth`.
 *
 * Fails as `fyris_table_nth`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_rank(const struct fyris_table *handle,
                                 const fyris_term *key,
                                 size_t *count,
                                 struct fyris_error *err);

/**
 * The number of keys from `first` to `last`, which both count and need not be there. For the same tables as
 * `fyris_table_nth`.
 *
 * Fails as `fyris_table_nth`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_count_between(const struct fyris_table *handle,
                                          const fyris_term *first,
                                          const fyris_term *last,
                                          size_t *count,
                                          struct fyris_error *err);

/**
 * The key before `from`; NULL if there is none. The same as the next, except in an `ordered_set`.
 *
 * Fails as `fyris_table_next`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_prev(const struct fyris_table *handle,
                                 const fyris_term *from,
                                 fyris_term **key,
                                 struct fyris_error *err);

/**
 * All objects as a list, in the order of a walk. An object that is there throughout comes up exactly once. O(size).
 *
 * Fails as `fyris_table_first`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_list(const struct fyris_table *handle,
                                 fyris_term **objects,
                                 struct fyris_error *err);

/**
 * Begins a walk; `backwards` makes a difference in an `ordered_set` only. The handle of the table may be freed
 * meanwhile.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_walk *fyris_walk_new(const struct fyris_table *handle,
                                  bool backwards,
                                  struct fyris_error *err);

/**
 * The next object, yours to free; NULL behind the last. An object that is there throughout the walk comes up exactly
 * once.
 *
 * Fails as `fyris_table_first`; the walk has ended then.
 *
 * Threads: one.
 */
FYRIS_MUST_USE
enum fyris_code fyris_walk_next(struct fyris_walk *walk,
                                fyris_term **object,
                                struct fyris_error *err);

/**
 * Ends a walk.
 *
 * Threads: last.
 */
void fyris_walk_free(struct fyris_walk *walk);

/**
 * Subscribes to what changes in a table. `filter` is what is asked for, a term: NULL or `all`; `{key, Key}`; `{range,
 * From, To}`, the keys of an `ordered_set` from one to the other, which both count, `'_'` being an open end;
 * `{pattern, Pattern}` or a match specification: objects that match, or of which it makes `true`, before the change or
 * after it.
 *
 * `options` is a list in Erlang's syntax, or NULL for none: `{from, snapshot}` tells the objects first that are there
 * now, and then all changes since, none of which is missing or comes twice; `{queue, N}` is how many changes wait to
 * be read, at most (65,536 by default); `conflate` tells of the newest change of each key alone, of those that wait,
 * for tables with one object a key.
 *
 * Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS; FYRIS_E_TYPE for a range of a table without an order of keys, and to
 * conflate a bag; FYRIS_E_READ_ONLY for a snapshot, FYRIS_E_IN_TRANSACTION; FYRIS_E_ARGUMENT, FYRIS_E_SYNTAX.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_subscription *fyris_table_subscribe(const struct fyris_table *handle,
                                                 const fyris_term *filter,
                                                 const char *options,
                                                 struct fyris_error *err);

/**
 * Subscribes to what changes in `count` tables of a store, as `fyris_table_subscribe` to one: what a transaction
 * changes in several of them is one event. The handles of the tables may be freed meanwhile.
 *
 * Fails as that; FYRIS_E_ARGUMENT for a table of another store, one that is given twice, and for none.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
struct fyris_subscription *fyris_store_subscribe(const struct fyris_store *store,
                                                 struct fyris_table *const *tables,
                                                 size_t count,
                                                 const fyris_term *filter,
                                                 const char *options,
                                                 struct fyris_error *err);

/**
 * Waits until there is an event, for `millis` milliseconds at most (for ever, if that is negative; 0 does not wait),
 * and puts it into `event`, yours to free; NULL if none came, or there are no more: `fyris_subscription_has_ended`
 * tells.
 *
 * Fails with FYRIS_E_NULL, FYRIS_E_FORKED.
 *
 * Threads: any; each event goes to one of them.
 */
FYRIS_MUST_USE
enum fyris_code fyris_subscription_next(const struct fyris_subscription *handle,
                                        int64_t millis,
                                        struct fyris_event **event,
                                        struct fyris_error *err);

/**
 * Calls a function for each event, in this thread, until it says stop, until `millis` milliseconds have passed (never,
 * if that is negative; with 0 for those that are there), or until there are no more: all three are FYRIS_OK. `context`
 * is handed on.
 *
 * Fails with FYRIS_E_NULL, FYRIS_E_FORKED.
 *
 * Threads: any; each event goes to one of them.
 */
FYRIS_MUST_USE
enum fyris_code fyris_subscription_each(const struct fyris_subscription *handle,
                                        int64_t millis,
                                        fyris_on_event on_event,
                                        void *context,
                                        struct fyris_error *err);

/**
 * Returns whether there are no more events: it was closed, or all its tables are deleted and all was told. True for
 * NULL.
 *
 * Threads: any.
 */
bool fyris_subscription_has_ended(const struct fyris_subscription *handle);

/**
 * Ends a subscription, for threads as well that wait for it, which get no event; the handle stays, to be freed. What
 * was not read is gone. Does nothing to one that has ended.
 *
 * Fails with FYRIS_E_NULL, FYRIS_E_FORKED.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_subscription_close(const struct fyris_subscription *handle,
                                         struct fyris_error *err);

/**
 * Ends a subscription and frees its handle; no thread waits for it any more.
 *
 * Threads: last.
 */
void fyris_subscription_free(struct fyris_subscription *handle);

/**
 * Inserts an object, a tuple, in place of one with the same key (in the bags: beside them). The object stays yours.
 *
 * Atomic. Fails with FYRIS_E_TYPE, FYRIS_E_ARGUMENT (too short for its key), FYRIS_E_LIMIT, FYRIS_E_NO_TABLE,
 * FYRIS_E_NO_ACCESS, FYRIS_E_NOT_UNIQUE (a value that it brings is another object's).
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_insert(const struct fyris_table *handle,
                                   const fyris_term *object,
                                   struct fyris_error *err);

/**
 * Inserts an object in external term format, a tuple, in place of one with the same key (in the bags: beside them).
 *
 * Atomic. Fails with FYRIS_E_FORMAT, and as `fyris_table_insert`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_insert_encoded(const struct fyris_table *handle,
                                           const void *data,
                                           size_t len,
                                           struct fyris_error *err);

/**
 * Inserts `count` objects in one atomic and isolated step: others see all of them or none. Later ones replace earlier
 * ones with the same key. The objects stay yours.
 *
 * Fails as `fyris_table_insert` for any of the objects; then none is inserted.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_insert_list(const struct fyris_table *handle,
                                        fyris_term *const *objects,
                                        size_t count,
                                        struct fyris_error *err);

/**
 * Inserts an object unless its key is there; says whether it did. Atomic. `inserted` may be NULL.
 *
 * Fails as `fyris_table_insert`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_insert_new(const struct fyris_table *handle,
                                       const fyris_term *object,
                                       bool *inserted,
                                       struct fyris_error *err);

/**
 * Deletes the objects with a key; there need be none. Atomic.
 *
 * Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_delete_key(const struct fyris_table *handle,
                                       const fyris_term *key,
                                       struct fyris_error *err);

/**
 * Deletes exactly this object, and in a `duplicate_bag` all its repeats. Atomic.
 *
 * Fails as `fyris_table_insert`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_delete_object(const struct fyris_table *handle,
                                          const fyris_term *object,
                                          struct fyris_error *err);

/**
 * Empties the table in one atomic and isolated step. O(1) for the caller.
 *
 * Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_delete_all_objects(const struct fyris_table *handle,
                                               struct fyris_error *err);

/**
 * Removes the objects with a key and returns them as a list, in one atomic step.
 *
 * Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_take(const struct fyris_table *handle,
                                 const fyris_term *key,
                                 fyris_term **objects,
                                 struct fyris_error *err);

/**
 * Removes the objects with all keys of a list and returns them: a list of lists, in the order of the keys. One atomic
 * and isolated step.
 *
 * Fails with FYRIS_E_ARGUMENT (`keys` is no list), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS, FYRIS_E_READ_ONLY; then none
 * is removed.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_take_many(const struct fyris_table *handle,
                                      const fyris_term *keys,
                                      fyris_term **objects,
                                      struct fyris_error *err);

/**
 * Puts a value in the place of a part of the object with a key: `path` as for `fyris_table_get_in`; a map need not
 * have the last key of the path. One atomic step. `found`, which may be NULL, says whether there is an object.
 *
 * Fails with FYRIS_E_ARGUMENT (the path is no list, leads nowhere or to the key), FYRIS_E_TYPE (a bag), FYRIS_E_LIMIT,
 * FYRIS_E_NOT_UNIQUE, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS, FYRIS_E_READ_ONLY.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_put_in(const struct fyris_table *handle,
                                   const fyris_term *key,
                                   const fyris_term *path,
                                   const fyris_term *value,
                                   bool *found,
                                   struct fyris_error *err);

/**
 * Takes a part of the object with a key away, and gives it, or NULL if there is none: a key of a map with its value,
 * or an element of a list; `path` as for `fyris_table_get_in`. One atomic step. `part` may be NULL.
 *
 * Fails as `fyris_table_put_in`, but not where the path leads nowhere; FYRIS_E_ARGUMENT for an element of a tuple.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_delete_in(const struct fyris_table *handle,
                                      const fyris_term *key,
                                      const fyris_term *path,
                                      fyris_term **part,
                                      struct fyris_error *err);

/**
 * Adds `increment` to the integer at `position` (from 1; 0 for the element behind the key) and says what it is then,
 * in one atomic step. If no object has the key, `initial` is inserted first, with its key field replaced by `key`;
 * with `initial` NULL that is FYRIS_E_NO_KEY. `value` may be NULL.
 *
 * Fails with FYRIS_E_TYPE (no integer there, or the table is a bag), FYRIS_E_ARGUMENT (no such position, or it is the
 * key), FYRIS_E_LIMIT, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS, FYRIS_E_NOT_UNIQUE. Counters never overflow; one that has
 * outgrown `value` is FYRIS_E_RANGE, and is counted all the same.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_count(const struct fyris_table *handle,
                                  const fyris_term *key,
                                  size_t position,
                                  int64_t increment,
                                  const fyris_term *initial,
                                  int64_t *value,
                                  struct fyris_error *err);

/**
 * Counts as `ets:update_counter/3,4`: `ops` is an increment, `{Position, Increment}`, `{Position, Increment,
 * Threshold, Value}` or a list of these, done in order in one atomic and isolated step; `initial` as in
 * `fyris_table_count`. `result`, which may be NULL, is the new value, or the list of them.
 *
 * Fails as `fyris_table_count`.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_update_counter(const struct fyris_table *handle,
                                           const fyris_term *key,
                                           const fyris_term *ops,
                                           const fyris_term *initial,
                                           fyris_term **result,
                                           struct fyris_error *err);

/**
 * Replaces elements of the object with a key, in one atomic step: `edits` is `{Position, Value}` or a list of them, as
 * for `ets:update_element/3`. If no object has the key, `initial` is inserted with the edits, or with `initial` NULL
 * nothing is done. `updated`, which may be NULL, says whether there is such an object now.
 *
 * Fails with FYRIS_E_TYPE for a bag, FYRIS_E_ARGUMENT, FYRIS_E_LIMIT, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS,
 * FYRIS_E_NOT_UNIQUE.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_update_element(const struct fyris_table *handle,
                                           const fyris_term *key,
                                           const fyris_term *edits,
                                           const fyris_term *initial,
                                           bool *updated,
                                           struct fyris_error *err);

/**
 * Replaces the object `old` by `new`, which has the same key, if the table holds exactly `old`. `swapped`, which may
 * be NULL, says whether it did. Atomic.
 *
 * Fails with FYRIS_E_TYPE for a bag and for what is no tuple, FYRIS_E_ARGUMENT (different keys, or too short for one),
 * FYRIS_E_LIMIT, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS, FYRIS_E_NOT_UNIQUE.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_compare_and_swap(const struct fyris_table *handle,
                                             const fyris_term *old,
                                             const fyris_term *new_,
                                             bool *swapped,
                                             struct fyris_error *err);

/**
 * Adds a secondary index to a table in use, as the option `{secondary, Name, Value}` of `fyris_table_new` would have
 * made it: all objects are in it when this returns. `value` says what it is of: `{element, Position}`, `{path,
 * [...]}`, `{body, [...]}`, or `{unique, one of these}`. Copies the objects while others go on, and lets transactions
 * under way that have the table conflict.
 *
 * Fails with FYRIS_E_ARGUMENT (a wrong value, there is one of this name, or the table's index cannot visit all
 * objects), FYRIS_E_NOT_UNIQUE (two objects have the same value), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_add_secondary(const struct fyris_table *handle,
                                          const char *index,
                                          const fyris_term *value,
                                          struct fyris_error *err);

/**
 * Removes a secondary index from a table in use. Costs what adding it does.
 *
 * Fails with FYRIS_E_ARGUMENT (the table has no such index), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_remove_secondary(const struct fyris_table *handle,
                                             const char *index,
                                             struct fyris_error *err);

/**
 * Gives the table another name. Fails with FYRIS_E_NAME_TAKEN, FYRIS_E_ARGUMENT, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_table_rename(const struct fyris_table *handle,
                                   const fyris_term *name,
                                   struct fyris_error *err);

/**
 * Frees the bytes and makes `bytes` empty, so that freeing twice does no harm. NULL is allowed.
 *
 * Threads: one.
 */
void fyris_bytes_free(struct fyris_bytes *bytes);

/**
 * Reads a term from Erlang's external term format (what `term_to_binary` writes): the version byte 131 and one term.
 * O(len).
 *
 * Fails with FYRIS_E_FORMAT, FYRIS_E_LIMIT (no more atoms), FYRIS_E_NO_SPACE.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
fyris_term *fyris_term_decode(const void *data,
                              size_t len,
                              struct fyris_error *err);

/**
 * Reads a term from Erlang's external term format without making atoms, as Erlang's `binary_to_term(Binary, [safe])`:
 * a name that no part of the program has made an atom of is FYRIS_E_FORMAT. For bytes from anywhere: atoms are kept
 * for ever. O(len).
 *
 * Fails with FYRIS_E_FORMAT, FYRIS_E_NO_SPACE.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
fyris_term *fyris_term_decode_safe(const void *data,
                                   size_t len,
                                   struct fyris_error *err);

/**
 * Writes a term in external format. O(its size).
 *
 * Threads: any for the term.
 */
FYRIS_MUST_USE
enum fyris_code fyris_term_encode(const fyris_term *term,
                                  struct fyris_bytes *bytes,
                                  struct fyris_error *err);

/**
 * Writes a term as text in Erlang's syntax, on one line, as `io:format("~0tp")` does. O(its size).
 *
 * Threads: any for the term.
 */
FYRIS_MUST_USE
enum fyris_code fyris_term_print(const fyris_term *term,
                                 struct fyris_bytes *bytes,
                                 struct fyris_error *err);

/**
 * Makes an integer.
 *
 * Threads: any.
 */
FYRIS_MUST_USE fyris_term *fyris_term_int(int64_t value);

/**
 * Makes an unsigned integer.
 *
 * Threads: any.
 */
FYRIS_MUST_USE fyris_term *fyris_term_uint(uint64_t value);

/**
 * Makes a float. Infinities and NaN, which Erlang does not have, are FYRIS_E_ARGUMENT.
 *
 * Threads: any.
 */
FYRIS_MUST_USE fyris_term *fyris_term_double(double value, struct fyris_error *err);

/**
 * Returns the atom of this name: at most 255 characters, and a bounded number of different ones in a process
 * (FYRIS_E_LIMIT). Atoms are kept for ever: make them of your program's own words, not of what its users type.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
fyris_term *fyris_term_atom(const char *name,
                            struct fyris_error *err);

/**
 * Makes a binary: a copy of `len` bytes. `data` may be NULL if there are none.
 *
 * Threads: any.
 */
FYRIS_MUST_USE fyris_term *fyris_term_binary(const void *data, size_t len, struct fyris_error *err);

/**
 * Text as Elixir keeps it: a binary of its UTF-8, without the zero byte.
 *
 * Threads: any.
 */
FYRIS_MUST_USE fyris_term *fyris_term_text(const char *value, struct fyris_error *err);

/**
 * Makes a term in Erlang's syntax, like `{user, <<"Ada">>, [1815, 1.0, #{maths => true}]}`.
 *
 * O(length). Fails with FYRIS_E_SYNTAX, FYRIS_E_LIMIT (no more atoms), FYRIS_E_NO_SPACE.
 *
 * Threads: any.
 */
FYRIS_MUST_USE fyris_term *fyris_term_parse(const char *syntax, struct fyris_error *err);

/**
 * Makes a term in Erlang's syntax with variables, which stand for values: the first name in the text for the first
 * value, the next one for the second; a name may stand there again. `"{town, Name, '_'}"` with one value is a pattern.
 * The values stay yours. (`_` alone is no name; `'_'` and `'$1'` are atoms, as in Erlang.)
 *
 * O(length and size of the values). Fails as `fyris_term_parse`; FYRIS_E_SYNTAX for a name without a value,
 * FYRIS_E_ARGUMENT for a value without a name.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
fyris_term *fyris_term_build(const char *syntax,
                             fyris_term *const *values,
                             size_t count,
                             struct fyris_error *err);

/**
 * Makes a tuple of `len` elements. Takes the elements over: they are its own, or freed if it fails; also those behind
 * a NULL, so that makers nest without checks in between.
 *
 * O(size of the elements).
 *
 * Threads: one for each element.
 */
FYRIS_MUST_USE
fyris_term *fyris_term_tuple(fyris_term *const *elements,
                             size_t len,
                             struct fyris_error *err);

/**
 * Makes a list of `len` elements; takes them over as `fyris_term_tuple` does.
 *
 * O(size of the elements).
 *
 * Threads: one for each element.
 */
FYRIS_MUST_USE
fyris_term *fyris_term_list(fyris_term *const *elements,
                            size_t len,
                            struct fyris_error *err);

/**
 * Makes a map of `pairs` keys and values, one behind the other: an array of `2 * pairs` terms, which it takes over as
 * `fyris_term_tuple` does. Of equal keys the last counts.
 *
 * O(size of the elements, times the logarithm of their number).
 *
 * Threads: one for each element.
 */
FYRIS_MUST_USE
fyris_term *fyris_term_map(fyris_term *const *elements,
                           size_t pairs,
                           struct fyris_error *err);

/**
 * Makes a copy of a term, or of a part of one. O(its size), but large binaries are shared.
 *
 * Threads: any.
 */
FYRIS_MUST_USE fyris_term *fyris_term_clone(const fyris_term *term, struct fyris_error *err);

/**
 * Frees a term that a function returned, and with it all its parts. Not for borrowed parts.
 *
 * Threads: last.
 */
void fyris_term_free(fyris_term *term);

/**
 * Returns the type of a term. Later versions may add types.
 *
 * Threads: any.
 */
enum fyris_term_type fyris_term_type_of(const fyris_term *term);

/**
 * The value of an integer. FYRIS_E_RANGE if 64 bits do not hold it; `fyris_term_print` shows it then.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_term_get_int(const fyris_term *term,
                                   int64_t *value,
                                   struct fyris_error *err);

/**
 * The value of an integer that is not negative. FYRIS_E_RANGE if 64 bits do not hold it, or it is negative.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_term_get_uint(const fyris_term *term,
                                    uint64_t *value,
                                    struct fyris_error *err);

/**
 * The value of a float.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_term_get_double(const fyris_term *term,
                                      double *value,
                                      struct fyris_error *err);

/**
 * The bytes of a binary, borrowed from the term. No zero byte follows them.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_term_get_binary(const fyris_term *term,
                                      const uint8_t **data,
                                      size_t *len,
                                      struct fyris_error *err);

/**
 * The name of an atom, which stays for ever. No zero byte follows it.
 *
 * Threads: any.
 */
FYRIS_MUST_USE
enum fyris_code fyris_term_get_atom(const fyris_term *term,
                                    const char **name,
                                    size_t *len,
                                    struct fyris_error *err);

/**
 * Returns whether a term is the atom of this name; false for NULL.
 *
 * Threads: any.
 */
bool fyris_term_is_atom(const fyris_term *term, const char *name);

/**
 * Returns the number of parts of a term: the elements of a tuple or a list, the keys and values of a map, the values
 * of a native record; 0 for everything else.
 *
 * Threads: any.
 */
size_t fyris_term_len(const fyris_term *term);

/**
 * Returns a part of a term, counted from 0, borrowed from it; NULL if there is none. Of a map the parts are key,
 * value, key, value, and so on, in the order of the keys. O(1).
 *
 * Threads: any.
 */
const fyris_term *fyris_term_at(const fyris_term *term,
                                size_t index);

/**
 * Returns the value of a key of a map, borrowed from it; NULL if there is none, or the term is no map. O(log size).
 *
 * Threads: any.
 */
const fyris_term *fyris_term_map_get(const fyris_term *map,
                                     const fyris_term *key);

/**
 * Returns whether two terms are exactly equal, as by Erlang's `=:=` (1 and 1.0 are not); false if one is NULL.
 *
 * Threads: any.
 */
bool fyris_term_equal(const fyris_term *a,
                      const fyris_term *b);

/**
 * Less than, equal to or greater than 0, as `a` is below, equal to or above `b` in Erlang's order of all terms (1 and
 * 1.0 are equal in it). NULL is below everything.
 *
 * Threads: any.
 */
int32_t fyris_term_compare(const fyris_term *a,
                           const fyris_term *b);

/**
 * Returns the version of the library that is running, like "0.1.0"; never freed.
 *
 * Threads: any.
 */
const char *fyris_version(void);

/**
 * Returns the `FYRIS_ABI_VERSION` of the library that is running: compare it with the header's before anything else
 * where the two may come from different places.
 *
 * Threads: any.
 */
uint32_t fyris_abi_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FYRIS_H */
