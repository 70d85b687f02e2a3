//! The threads of C11 (`threads.h`): the calls of POSIX threads under other names, with other results.
//!
//! libc's own go past the names that this library takes, to the system's threads.

use std::ffi::{c_int, c_void};

use libc::{
    EBUSY, EINTR, EINVAL, ENOMEM, ETIMEDOUT, pthread_cond_t, pthread_key_t, pthread_mutex_t,
    pthread_once_t, pthread_t, timespec,
};

use crate::calls::time;
use crate::sync::{cond, mutex, once};
use crate::threads::{keys, process, thread};

/// `mtx_recursive`, and what POSIX threads call it.
const RECURSIVE: c_int = 1;

/// Returns what C11 calls a result: `thrd_success`, `thrd_busy`, `thrd_nomem`, `thrd_timedout`, or `thrd_error`.
fn result_of(error: c_int) -> c_int {
    match error {
        0 => 0,
        EBUSY => 1,
        ENOMEM => 3,
        ETIMEDOUT => 4,
        _ => 2,
    }
}

/// The function returns an `int`: of the register that it is in, [`thrd_join`] looks at the lower half only.
pub(crate) unsafe extern "C" fn thrd_create(
    new: *mut pthread_t,
    function: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: as the caller promises.
    result_of(unsafe { thread::pthread_create(new, std::ptr::null(), function, argument) })
}

pub(crate) unsafe extern "C" fn thrd_join(thread: pthread_t, result: *mut c_int) -> c_int {
    let mut value = std::ptr::null_mut();
    let error = thread::pthread_join(thread, &mut value);
    if error == 0 && !result.is_null() {
        // SAFETY: the caller's variable.
        unsafe { result.write(value.expose_provenance() as c_int) };
    }
    result_of(error)
}

pub(crate) extern "C" fn thrd_detach(thread: pthread_t) -> c_int {
    result_of(thread::pthread_detach(thread))
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C-unwind" fn thrd_exit(result: c_int) -> ! {
    process::pthread_exit(std::ptr::without_provenance_mut(result as u32 as usize))
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn thrd_current() -> pthread_t {
    thread::pthread_self()
}

pub(crate) extern "C" fn thrd_yield() {
    time::sched_yield();
}

pub(crate) unsafe extern "C" fn thrd_sleep(time: *const timespec, rest: *mut timespec) -> c_int {
    // SAFETY: as the caller promises.
    match unsafe { time::clock_nanosleep(libc::CLOCK_REALTIME, 0, time, rest) } {
        0 => 0,
        EINTR => -1,
        _ => -2,
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn mtx_init(mutex: *mut pthread_mutex_t, kind: c_int) -> c_int {
    // `mtx_plain`, `mtx_timed`, and both with `mtx_recursive`.
    if !(0..4).contains(&kind) {
        return result_of(EINVAL);
    }
    // SAFETY: the caller's mutex.
    unsafe { mutex::make(mutex, kind & RECURSIVE) };
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn mtx_destroy(_: *mut pthread_mutex_t) {}

pub(crate) unsafe extern "C" fn mtx_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as the caller promises.
    result_of(unsafe { mutex::pthread_mutex_lock(mutex) })
}

pub(crate) unsafe extern "C" fn mtx_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as above.
    result_of(unsafe { mutex::pthread_mutex_trylock(mutex) })
}

pub(crate) unsafe extern "C" fn mtx_timedlock(
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: as above.
    result_of(unsafe { mutex::pthread_mutex_timedlock(mutex, time) })
}

pub(crate) unsafe extern "C" fn mtx_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as above.
    result_of(unsafe { mutex::pthread_mutex_unlock(mutex) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn cnd_init(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: the caller's variable.
    unsafe { cond::pthread_cond_init(cond, std::ptr::null()) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn cnd_destroy(_: *mut pthread_cond_t) {}

pub(crate) extern "C" fn cnd_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
    result_of(cond::pthread_cond_wait(cond, mutex))
}

pub(crate) unsafe extern "C" fn cnd_timedwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: as the caller promises.
    result_of(unsafe { cond::pthread_cond_timedwait(cond, mutex, time) })
}

pub(crate) extern "C" fn cnd_signal(cond: *mut pthread_cond_t) -> c_int {
    result_of(cond::pthread_cond_signal(cond))
}

pub(crate) extern "C" fn cnd_broadcast(cond: *mut pthread_cond_t) -> c_int {
    result_of(cond::pthread_cond_broadcast(cond))
}

pub(crate) unsafe extern "C-unwind" fn call_once(
    once: *mut pthread_once_t,
    function: extern "C-unwind" fn(),
) {
    // SAFETY: as the caller promises.
    unsafe { once::pthread_once(once, function) };
}

pub(crate) unsafe extern "C" fn tss_create(
    key: *mut pthread_key_t,
    destructor: Option<keys::Destructor>,
) -> c_int {
    // SAFETY: as the caller promises.
    result_of(unsafe { keys::pthread_key_create(key, destructor) })
}

pub(crate) extern "C" fn tss_delete(key: pthread_key_t) {
    keys::pthread_key_delete(key);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn tss_get(key: pthread_key_t) -> *mut c_void {
    keys::pthread_getspecific(key)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn tss_set(key: pthread_key_t, value: *const c_void) -> c_int {
    result_of(keys::pthread_setspecific(key, value))
}
