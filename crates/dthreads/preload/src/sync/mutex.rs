//! Mutexes of all kinds.

use std::ffi::c_int;

use fyris_dthreads_tools::record::Operation;
use libc::{EBUSY, EDEADLK, ENOTSUP, EPERM, ETIMEDOUT, pthread_mutex_t, pthread_mutexattr_t};

use crate::calls::time::until;
use crate::shared::control::NEVER;
use crate::sync::{name, on_for};
use crate::system::{LOCAL, apart, on, sys};
use crate::turn::{Turn, held, in_turn, take};

/// The word of glibc's mutex that has its kind; static initialisers set it.
const KIND: usize = 4;
const RECURSIVE: i32 = libc::PTHREAD_MUTEX_RECURSIVE;
const ERRORCHECK: i32 = libc::PTHREAD_MUTEX_ERRORCHECK;

/// Flags of an attribute: shared between processes, robust, a protocol, a ceiling.
const SHARED: i32 = 1 << 31;
const ROBUST: i32 = 1 << 30;
const PROTOCOL: i32 = 3 << 28;

/// Takes a lock that may be held, in a turn. Returns the turn and 0 or an error.
pub(super) fn acquire(mut turn: Turn, lock: u64, kind: i32, until: u64) -> (Turn, c_int) {
    let me = LOCAL.me.get() as u64;
    match held::find(lock) {
        None => {
            held::add(lock, me);
            return (turn, 0);
        }
        Some(held) if held.owner.get() == me && kind == RECURSIVE => {
            held.count.add(1);
            return (turn, 0);
        }
        Some(held) if held.owner.get() == me && kind == ERRORCHECK => return (turn, EDEADLK),
        Some(_) => (),
    }
    let woken;
    (turn, woken) = turn.sleep(Operation::Lock, lock, until);
    // The thread that unlocked it has given it to this one.
    (turn, if woken { 0 } else { ETIMEDOUT })
}

/// Opens a lock in a turn: gives it to the thread that has waited longest.
pub(super) fn release(turn: &Turn, lock: u64) {
    match turn.wake_first(Operation::Lock, lock) {
        Some(slot) => {
            if let Some(held) = held::find(lock) {
                held.owner.set(slot as u64);
                held.count.set(1);
            }
        }
        None => held::remove(lock),
    }
}

pub(crate) fn lock_as(operation: Operation, lock: u64, kind: i32, until: u64) -> c_int {
    apart(|| {
        let (turn, done) = acquire(take(operation, lock), lock, kind, until);
        turn.pass();
        done
    })
}

pub(crate) fn try_lock_as(operation: Operation, lock: u64, kind: i32) -> c_int {
    in_turn(operation, lock, |_| match held::find(lock) {
        None => {
            held::add(lock, LOCAL.me.get() as u64);
            0
        }
        Some(held) if kind == RECURSIVE && held.owner.get() == LOCAL.me.get() as u64 => {
            held.count.add(1);
            0
        }
        Some(_) => EBUSY,
    })
}

pub(crate) fn unlock_as(operation: Operation, lock: u64, kind: i32) -> c_int {
    in_turn(operation, lock, |turn| {
        let checked = kind == RECURSIVE || kind == ERRORCHECK;
        match held::find(lock) {
            None if checked => EPERM,
            None => 0,
            Some(held) if checked && held.owner.get() != LOCAL.me.get() as u64 => EPERM,
            Some(held) if held.count.get() > 1 => {
                held.count.set(held.count.get() - 1);
                0
            }
            Some(_) => {
                release(turn, lock);
                0
            }
        }
    })
}

/// Returns the kind of a mutex: 0 for the ordinary ones.
unsafe fn kind(mutex: *mut pthread_mutex_t) -> i32 {
    // SAFETY: the caller's mutex, which is longer.
    unsafe { mutex.cast::<i32>().add(KIND).read() & 3 }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_mutex_init(
    mutex: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
) -> c_int {
    let mut kind = 0;
    if !attributes.is_null() {
        // SAFETY: the caller's attributes: one word.
        let word = unsafe { attributes.cast::<i32>().read() };
        for (flag, what) in [
            (SHARED, "shared between processes"),
            (ROBUST, "robust"),
            (PROTOCOL, "of a protocol"),
        ] {
            if word & flag != 0 && LOCAL.on() {
                sys::say(format_args!("a mutex that is {what} is not supported"));
                return ENOTSUP;
            }
        }
        kind = word & 3;
    }
    // SAFETY: the caller's mutex.
    unsafe { make(mutex, kind) };
    0
}

/// Makes an open mutex of a kind.
pub(crate) unsafe fn make(mutex: *mut pthread_mutex_t, kind: i32) {
    // SAFETY: the caller's mutex.
    unsafe {
        mutex.write_bytes(0, 1);
        mutex.cast::<i32>().add(KIND).write(kind);
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int {
    match on() && held::find(name(mutex)).is_some() {
        true => EBUSY,
        false => 0,
    }
}

pub(crate) unsafe extern "C" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    if !on_for(mutex) {
        return 0;
    }
    // SAFETY: the caller's mutex.
    lock_as(Operation::Lock, name(mutex), unsafe { kind(mutex) }, NEVER)
}

pub(crate) unsafe extern "C" fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    if !on_for(mutex) {
        return 0;
    }
    // SAFETY: the caller's mutex.
    try_lock_as(Operation::TryLock, name(mutex), unsafe { kind(mutex) })
}

pub(crate) unsafe extern "C" fn pthread_mutex_timedlock(
    mutex: *mut pthread_mutex_t,
    time: *const libc::timespec,
) -> c_int {
    if !on_for(mutex) {
        return 0;
    }
    // SAFETY: the caller's time and mutex.
    unsafe {
        until(time, |until| {
            lock_as(Operation::Lock, name(mutex), kind(mutex), until)
        })
    }
}

pub(crate) unsafe extern "C" fn pthread_mutex_clocklock(
    mutex: *mut pthread_mutex_t,
    _: libc::clockid_t,
    time: *const libc::timespec,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { pthread_mutex_timedlock(mutex, time) }
}

pub(crate) unsafe extern "C" fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    if !on_for(mutex) {
        return 0;
    }
    // SAFETY: the caller's mutex.
    unlock_as(Operation::Unlock, name(mutex), unsafe { kind(mutex) })
}
