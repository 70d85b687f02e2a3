//! Atomic regions of `fyris_dthreads.h`: as mutexes.

use fyris_dthreads_tools::record::Operation;

use crate::shared::control::NEVER;
use crate::sync::mutex;
use crate::system::on;

/// The lock of all atomic regions: no address of a program.
const ATOMIC: u64 = 1;

/// Takes the token and keeps it (invariant TOKEN_KEPT: a lock is held).
pub(crate) extern "C" fn fyris_dthreads_atomic_begin() {
    if on() {
        mutex::lock_as(
            Operation::Atomic,
            ATOMIC,
            libc::PTHREAD_MUTEX_RECURSIVE,
            NEVER,
        );
    }
}

pub(crate) extern "C" fn fyris_dthreads_atomic_end() {
    if on() {
        mutex::unlock_as(Operation::AtomicEnd, ATOMIC, libc::PTHREAD_MUTEX_RECURSIVE);
    }
}
