//! What threads synchronize by: locks, conditions and the like of POSIX threads, futexes and atomic operations, each
//! call a turn (`token.rs`). Uses `turn`, and `calls` for the time.
//!
//! An object's own memory holds what it was initialised with, and what a semaphore counts; it is the program's, in the
//! segment. Who holds a lock, and who waits, is in the shared memory of the library (`held.rs`), under the token.
//! Outside of the deterministic stage there is one thread: locks are open then.

pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod cond;
pub(crate) mod futex;
pub(crate) mod guard;
#[cfg(target_arch = "x86_64")]
pub(crate) mod instruction;
pub(crate) mod mutex;
pub(crate) mod once;
pub(crate) mod rwlock;
pub(crate) mod semaphore;
pub(crate) mod spin;

use std::ffi::c_void;

use crate::system::{image, on};

/// Returns whether calls for an object are turns now. Those for objects of the library's own are not: what it is linked
/// with may have locks, which it takes for itself in every process.
#[inline]
pub(crate) fn on_for<T>(object: *const T) -> bool {
    on() && !image::is_ours(object)
}

/// Returns the address of an object, which names it.
#[inline]
pub(crate) fn name<T>(object: *mut T) -> u64 {
    object.cast::<c_void>().expose_provenance() as u64
}
