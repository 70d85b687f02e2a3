//! Semaphores of one program. The count is in the semaphore's first word.

use std::ffi::{c_char, c_int};

use fyris_dthreads_tools::record::Operation;
use libc::{EAGAIN, EINVAL, ENOSYS, EOVERFLOW, ETIMEDOUT, sem_t};

use crate::calls::time::deadline;
use crate::shared::control::NEVER;
use crate::sync::name;
use crate::system::sys::{self, fail};
use crate::system::{LOCAL, apart, on};
use crate::turn::{in_turn, take};

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn sem_init(semaphore: *mut sem_t, shared: c_int, value: u32) -> c_int {
    if value > i32::MAX as u32 {
        return fail(EINVAL);
    }
    if shared != 0 && LOCAL.on() {
        sys::say(format_args!(
            "a semaphore that is shared between processes is not supported"
        ));
        return fail(ENOSYS);
    }
    // SAFETY: the caller's semaphore, which is longer.
    unsafe {
        semaphore.write_bytes(0, 1);
        semaphore.cast::<u32>().write(value);
    }
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn sem_destroy(_: *mut sem_t) -> c_int {
    0
}

/// Takes one, if there is one.
unsafe fn take_one(semaphore: *mut sem_t) -> bool {
    let count = semaphore.cast::<u32>();
    // SAFETY: the caller's semaphore; other threads' changes come in turns only.
    unsafe {
        let value = count.read();
        if value > 0 {
            count.write(value - 1);
        }
        value > 0
    }
}

unsafe fn wait(semaphore: *mut sem_t, until: u64) -> c_int {
    let done = apart(|| {
        let mut turn = take(Operation::SemWait, name(semaphore));
        let mut done = true;
        // SAFETY: the caller's.
        if !unsafe { take_one(semaphore) } {
            // Who posts gives it to the thread that has waited longest.
            (turn, done) = turn.sleep(Operation::SemWait, name(semaphore), until);
        }
        turn.pass();
        done
    });
    if done { 0 } else { fail(ETIMEDOUT) }
}

pub(crate) unsafe extern "C" fn sem_wait(semaphore: *mut sem_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        match on() {
            true => wait(semaphore, NEVER),
            false => {
                take_one(semaphore);
                0
            }
        }
    }
}

pub(crate) unsafe extern "C" fn sem_timedwait(
    semaphore: *mut sem_t,
    time: *const libc::timespec,
) -> c_int {
    if time.is_null() {
        return fail(EINVAL);
    }
    // SAFETY: the caller's.
    unsafe {
        match deadline(time) {
            _ if !on() => fail(ETIMEDOUT),
            Ok(until) => wait(semaphore, until),
            Err(error) => fail(error),
        }
    }
}

pub(crate) unsafe extern "C" fn sem_clockwait(
    semaphore: *mut sem_t,
    _: libc::clockid_t,
    time: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { sem_timedwait(semaphore, time) }
}

pub(crate) unsafe extern "C" fn sem_trywait(semaphore: *mut sem_t) -> c_int {
    // SAFETY: the caller's.
    let try_it = || unsafe { take_one(semaphore) };
    let taken = match on() {
        true => in_turn(Operation::SemWait, name(semaphore), |_| try_it()),
        false => try_it(),
    };
    if taken { 0 } else { fail(EAGAIN) }
}

pub(crate) unsafe extern "C" fn sem_post(semaphore: *mut sem_t) -> c_int {
    // SAFETY: the caller's semaphore, as in `take_one`.
    let add_one = || unsafe {
        let count = semaphore.cast::<u32>();
        let value = count.read();
        if value < i32::MAX as u32 {
            count.write(value + 1);
        }
        value < i32::MAX as u32
    };
    let done = match on() {
        true => in_turn(Operation::SemPost, name(semaphore), |turn| {
            turn.wake_first(Operation::SemWait, name(semaphore))
                .is_some()
                || add_one()
        }),
        false => add_one(),
    };
    if done { 0 } else { fail(EOVERFLOW) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn sem_getvalue(semaphore: *mut sem_t, value: *mut c_int) -> c_int {
    // SAFETY: the caller's semaphore and number.
    unsafe { value.write(semaphore.cast::<i32>().read()) };
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn sem_open(_: *const c_char, _: c_int) -> *mut sem_t {
    sys::say(format_args!(
        "sem_open: a semaphore with a name is shared between programs: not supported"
    ));
    fail(ENOSYS);
    std::ptr::null_mut()
}
