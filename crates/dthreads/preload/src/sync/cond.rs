//! Condition variables. A variable itself has no state: who waits is in the shared memory, in the order of arrival.

use std::ffi::c_int;

use fyris_dthreads_tools::record::Operation;
use libc::{EPERM, ETIMEDOUT, pthread_cond_t, pthread_condattr_t, pthread_mutex_t};

use crate::calls::time::until;
use crate::shared::control::NEVER;
use crate::sync::{mutex, name};
use crate::system::{LOCAL, apart, on};
use crate::turn::{held, take};

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn pthread_cond_init(
    cond: *mut pthread_cond_t,
    _: *const pthread_condattr_t,
) -> c_int {
    // SAFETY: the caller's variable.
    unsafe { cond.write_bytes(0, 1) };
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pthread_cond_destroy(_: *mut pthread_cond_t) -> c_int {
    0
}

fn wait(cond: u64, lock: u64, until: u64) -> c_int {
    apart(|| {
        let turn = take(Operation::Wait, cond);
        let me = LOCAL.me.get() as u64;
        let count = match held::find(lock) {
            Some(held) if held.owner.get() == me => held.count.get(),
            _ => {
                turn.pass();
                return EPERM;
            }
        };
        mutex::release(&turn, lock);
        let (turn, woken) = turn.sleep(Operation::Wait, cond, until);
        let (turn, _) = mutex::acquire(turn, lock, 0, NEVER);
        if let Some(held) = held::find(lock) {
            held.count.set(count);
        }
        turn.pass();
        if woken { 0 } else { ETIMEDOUT }
    })
}

pub(crate) extern "C" fn pthread_cond_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    match on() {
        true => wait(name(cond), name(mutex), NEVER),
        // Nobody is there to signal: a wakeup without a cause.
        false => 0,
    }
}

pub(crate) unsafe extern "C" fn pthread_cond_timedwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    time: *const libc::timespec,
) -> c_int {
    if !on() {
        return ETIMEDOUT;
    }
    // SAFETY: the caller's time.
    unsafe { until(time, |until| wait(name(cond), name(mutex), until)) }
}

pub(crate) unsafe extern "C" fn pthread_cond_clockwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    _: libc::clockid_t,
    time: *const libc::timespec,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { pthread_cond_timedwait(cond, mutex, time) }
}

pub(crate) extern "C" fn pthread_cond_signal(cond: *mut pthread_cond_t) -> c_int {
    if on() {
        apart(|| {
            let turn = take(Operation::Signal, name(cond));
            turn.wake_first(Operation::Wait, name(cond));
            turn.pass();
        });
    }
    0
}

pub(crate) extern "C" fn pthread_cond_broadcast(cond: *mut pthread_cond_t) -> c_int {
    if on() {
        apart(|| {
            let turn = take(Operation::Broadcast, name(cond));
            while turn.wake_first(Operation::Wait, name(cond)).is_some() {}
            turn.pass();
        });
    }
    0
}
