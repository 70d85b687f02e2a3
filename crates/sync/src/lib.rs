//! The one door to atomics, threads, reclamation and memory.
//!
//! # Why a door
//!
//! A concurrent structure is only as good as the orderings of its atomics, and orderings cannot be
//! tested by running threads on one kind of processor. So everything above takes its atomics from
//! [`atomic`], its threads from [`thread`] and its plain shared memory from [`cell`]. Ordinarily
//! these are the standard library's. Under `--cfg loom` they are loom's, and a test explores every
//! interleaving and every value a load may return. Under `--cfg shuttle` they are shuttle's, and a test
//! runs thousands of random schedules of more threads and larger structures than loom can exhaust,
//! each step of which is sequentially consistent. Under `--cfg fyris_sanitize` allocation goes to
//! the system allocator and reclamation uses ordinary fences, so that AddressSanitizer and
//! ThreadSanitizer see all of it.
//!
//! # Other modules
//!
//! * [`reclaim`]: when a block that readers may still look at is freed (invariant RECLAIM), and the sections of
//!   operations that a rare change waits for (invariant QUIET).
//! * [`counter`]: counts kept in stripes, so that counting does not make writers meet.
//! * [`lock`]: how a writer waits, the lock with statistics about waiting, and the reader-writer locks of ERTS.
//! * [`park`]: sleeping until a word changes.
//! * [`alloc`]: small byte records in 8-byte steps, and large zeroed pages.
//!
//! Nothing here knows of keys or tables.

pub mod alloc;
pub mod atomic;
pub mod cell;
pub mod counter;
pub mod lock;
pub mod park;
pub mod reclaim;
pub mod thread;
