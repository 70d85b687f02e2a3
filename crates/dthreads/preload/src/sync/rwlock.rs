//! Reader-writer locks. Readers come in unless a writer is in; who waits comes in in the order of arrival.

use std::ffi::c_int;

use fyris_dthreads_tools::record::Operation;
use libc::{EBUSY, EDEADLK, EPERM, ETIMEDOUT, pthread_rwlock_t, pthread_rwlockattr_t};

use crate::calls::time::until;
use crate::shared::control::{NEVER, control};
use crate::sync::name;
use crate::system::{LOCAL, apart, on};
use crate::turn::held::{self, READERS};
use crate::turn::{Turn, in_turn, take, waiters};

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_rwlock_init(
    lock: *mut pthread_rwlock_t,
    _: *const pthread_rwlockattr_t,
) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { lock.write_bytes(0, 1) };
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pthread_rwlock_destroy(lock: *mut pthread_rwlock_t) -> c_int {
    match on() && held::find(name(lock)).is_some() {
        true => EBUSY,
        false => 0,
    }
}

/// Lets a reader in, if no writer is in.
fn read(lock: u64) -> bool {
    match held::find(lock) {
        None => held::add(lock, READERS).readers.set(1),
        Some(held) if held.owner.get() == READERS => held.readers.add(1),
        Some(_) => return false,
    }
    true
}

/// Lets a writer in, if no thread is in.
fn write(lock: u64) -> Result<(), c_int> {
    match held::find(lock) {
        None => {
            held::add(lock, LOCAL.me.get() as u64);
            Ok(())
        }
        Some(held) if held.owner.get() == LOCAL.me.get() as u64 => Err(EDEADLK),
        Some(_) => Err(EBUSY),
    }
}

fn lock_to_read(lock: u64, until: u64) -> c_int {
    apart(|| {
        let mut turn = take(Operation::ReadLock, lock);
        let mut done = 0;
        let own = held::find(lock).is_some_and(|held| held.owner.get() == LOCAL.me.get() as u64);
        if own {
            done = EDEADLK;
        } else if !read(lock) {
            let woken;
            (turn, woken) = turn.sleep(Operation::ReadLock, lock, until);
            done = if woken { 0 } else { ETIMEDOUT };
        }
        turn.pass();
        done
    })
}

fn lock_to_write(lock: u64, until: u64) -> c_int {
    apart(|| {
        let mut turn = take(Operation::WriteLock, lock);
        let mut done = write(lock);
        if done == Err(EBUSY) {
            let woken;
            (turn, woken) = turn.sleep(Operation::WriteLock, lock, until);
            done = if woken { Ok(()) } else { Err(ETIMEDOUT) };
        }
        turn.pass();
        done.err().unwrap_or(0)
    })
}

/// Lets those in who wait: the writer that came first, or all readers if one of them did.
fn admit(turn: &Turn, lock: u64) {
    held::remove(lock);
    let first = |operation| {
        let order = |slot| control().thread(slot).order.get();
        waiters(operation, lock).map(order).min()
    };
    match (first(Operation::ReadLock), first(Operation::WriteLock)) {
        (None, None) => (),
        (Some(reader), writer) if writer.is_none_or(|writer| reader < writer) => {
            while turn.wake_first(Operation::ReadLock, lock).is_some() {
                read(lock);
            }
        }
        _ => {
            if let Some(slot) = turn.wake_first(Operation::WriteLock, lock) {
                held::add(lock, slot as u64);
            }
        }
    }
}

pub(crate) extern "C" fn pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int {
    match on() {
        true => lock_to_read(name(lock), NEVER),
        false => 0,
    }
}

pub(crate) extern "C" fn pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int {
    match on() {
        true => lock_to_write(name(lock), NEVER),
        false => 0,
    }
}

pub(crate) unsafe extern "C" fn pthread_rwlock_timedrdlock(
    lock: *mut pthread_rwlock_t,
    time: *const libc::timespec,
) -> c_int {
    if !on() {
        return 0;
    }
    // SAFETY: the caller's time.
    unsafe { until(time, |until| lock_to_read(name(lock), until)) }
}

pub(crate) unsafe extern "C" fn pthread_rwlock_timedwrlock(
    lock: *mut pthread_rwlock_t,
    time: *const libc::timespec,
) -> c_int {
    if !on() {
        return 0;
    }
    // SAFETY: the caller's time.
    unsafe { until(time, |until| lock_to_write(name(lock), until)) }
}

pub(crate) extern "C" fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int {
    if !on() {
        return 0;
    }
    let done = in_turn(Operation::ReadLock, name(lock), |_| read(name(lock)));
    if done { 0 } else { EBUSY }
}

pub(crate) extern "C" fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int {
    if !on() {
        return 0;
    }
    let done = in_turn(Operation::WriteLock, name(lock), |_| write(name(lock)));
    if done.is_ok() { 0 } else { EBUSY }
}

pub(crate) extern "C" fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int {
    if !on() {
        return 0;
    }
    apart(|| {
        let turn = take(Operation::RwUnlock, name(lock));
        let done = match held::find(name(lock)) {
            None => EPERM,
            Some(held) if held.readers.get() > 1 => {
                held.readers.set(held.readers.get() - 1);
                0
            }
            Some(_) => {
                admit(&turn, name(lock));
                0
            }
        };
        turn.pass();
        done
    })
}

pub(crate) unsafe extern "C" fn pthread_rwlock_clockrdlock(
    lock: *mut pthread_rwlock_t,
    _: libc::clockid_t,
    time: *const libc::timespec,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { pthread_rwlock_timedrdlock(lock, time) }
}

pub(crate) unsafe extern "C" fn pthread_rwlock_clockwrlock(
    lock: *mut pthread_rwlock_t,
    _: libc::clockid_t,
    time: *const libc::timespec,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { pthread_rwlock_timedwrlock(lock, time) }
}
