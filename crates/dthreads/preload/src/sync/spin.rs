//! Spin locks: as mutexes; a thread that waits for one sleeps.

use std::ffi::c_int;

use fyris_dthreads_tools::record::Operation;
use libc::pthread_spinlock_t;

use crate::shared::control::NEVER;
use crate::sync::{mutex, name};
use crate::system::on;

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_spin_init(lock: *mut pthread_spinlock_t, _: c_int) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { lock.write(0) };
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pthread_spin_destroy(_: *mut pthread_spinlock_t) -> c_int {
    0
}

pub(crate) extern "C" fn pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int {
    match on() {
        true => mutex::lock_as(Operation::Spin, name(lock), 0, NEVER),
        false => 0,
    }
}

pub(crate) extern "C" fn pthread_spin_trylock(lock: *mut pthread_spinlock_t) -> c_int {
    match on() {
        true => mutex::try_lock_as(Operation::Spin, name(lock), 0),
        false => 0,
    }
}

pub(crate) extern "C" fn pthread_spin_unlock(lock: *mut pthread_spinlock_t) -> c_int {
    match on() {
        true => mutex::unlock_as(Operation::SpinUnlock, name(lock), 0),
        false => 0,
    }
}
