//! The calls of POSIX threads and of C11's, each a turn (`token.rs`).
//!
//! An object's own memory holds what it was initialised with, and what a semaphore counts; it is the program's, in the
//! segment. Who holds a lock, and who waits, is in the shared memory of the library (`held.rs`), under the token.
//! Outside of the deterministic stage there is one thread: locks are open then.

pub(crate) mod barrier;
pub(crate) mod c11;
pub(crate) mod cond;
pub(crate) mod held;
pub(crate) mod keys;
pub(crate) mod mutex;
pub(crate) mod once;
pub(crate) mod refused;
pub(crate) mod rwlock;
pub(crate) mod semaphore;
pub(crate) mod spin;
pub(crate) mod thread;

use std::ffi::c_void;

use crate::control::NEVER;
use crate::image;
use crate::local::LOCAL;

/// Returns whether calls are turns now.
#[inline]
pub(crate) fn on() -> bool {
    LOCAL.on() && !LOCAL.is_inside()
}

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

/// Returns what `wait` returns for a deadline in virtual time; `EINVAL` if there is none, or none that is a time.
///
/// # Safety
///
/// The pointer is null or leads to a time.
pub(crate) unsafe fn until(time: *const libc::timespec, wait: impl FnOnce(u64) -> i32) -> i32 {
    if time.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: the caller's.
    unsafe { deadline(time) }.map_or_else(|error| error, wait)
}

/// Returns a deadline in virtual time: all clocks are one.
///
/// # Safety
///
/// The pointer is null (no deadline) or leads to a time.
pub(crate) unsafe fn deadline(time: *const libc::timespec) -> Result<u64, i32> {
    if time.is_null() {
        return Ok(NEVER);
    }
    // SAFETY: the caller's.
    let time = unsafe { time.read() };
    crate::time::virtual_only();
    match time.tv_nsec {
        0..1_000_000_000 if time.tv_sec < 0 => Ok(0),
        nanos @ 0..1_000_000_000 => {
            let seconds = (time.tv_sec as u64).min(1 << 33);
            Ok(seconds * 1_000_000_000 + nanos as u64)
        }
        _ => Err(libc::EINVAL),
    }
}
