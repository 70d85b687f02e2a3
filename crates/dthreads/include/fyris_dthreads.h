/* Marks for programs that may run under `fyris dthreads`. There is nothing to link: the functions are weak, and do
 * nothing when the library is not preloaded.
 *
 *   fyris_region_begin("parse");   names what follows in traces, until the end of the region; regions nest
 *   fyris_region_end();
 *   fyris_atomic_begin();          no other thread has a turn until the end: what is written in between is seen by
 *   fyris_atomic_end();            others as a whole, and what is read is of one version; these nest, too
 *   fyris_is_deterministic()       1 if the library is there and threads are deterministic, else 0
 *
 * Without the library fyris_atomic_begin() is no lock: a program that runs without it, too, needs one of its own.
 * A name is kept as a pointer while its region is open: a string constant will do. The first 32 bytes count.
 */
#ifndef FYRIS_DTHREADS_H
#define FYRIS_DTHREADS_H

#ifdef __cplusplus
extern "C" {
#endif

extern int fyris_dthreads_is_on(void) __attribute__((weak));
extern void fyris_dthreads_region_begin(const char *name) __attribute__((weak));
extern void fyris_dthreads_region_end(void) __attribute__((weak));
extern void fyris_dthreads_atomic_begin(void) __attribute__((weak));
extern void fyris_dthreads_atomic_end(void) __attribute__((weak));

static inline int fyris_is_deterministic(void) { return fyris_dthreads_is_on ? fyris_dthreads_is_on() : 0; }

static inline void fyris_region_begin(const char *name) {
  if (fyris_dthreads_region_begin) fyris_dthreads_region_begin(name);
}

static inline void fyris_region_end(void) {
  if (fyris_dthreads_region_end) fyris_dthreads_region_end();
}

static inline void fyris_atomic_begin(void) {
  if (fyris_dthreads_atomic_begin) fyris_dthreads_atomic_begin();
}

static inline void fyris_atomic_end(void) {
  if (fyris_dthreads_atomic_end) fyris_dthreads_atomic_end();
}

#ifdef __cplusplus
}
#endif

#endif
