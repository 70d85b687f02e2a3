//! What cannot be deterministic, refused by name.

use std::ffi::{c_int, c_long};

use libc::{ENOSYS, pthread_t};

use crate::shared::end;
use crate::system::{on, real, sys};

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pthread_cancel(_: pthread_t) -> c_int {
    sys::say(format_args!(
        "pthread_cancel: a thread is cancelled at a time that no synchronization point decides: not supported"
    ));
    end::end(sys::REFUSED)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_setcancelstate(_: c_int, before: *mut c_int) -> c_int {
    if !before.is_null() {
        // SAFETY: the caller's variable.
        unsafe { before.write(0) };
    }
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_setcanceltype(_: c_int, before: *mut c_int) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { pthread_setcancelstate(0, before) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pthread_testcancel() {}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pthread_sigqueue(_: pthread_t, _: c_int, _: libc::sigval) -> c_int {
    sys::say(format_args!(
        "pthread_sigqueue is not supported (pthread_kill is)"
    ));
    ENOSYS
}

/// In the child nothing of the segment would be there.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn fork() -> libc::pid_t {
    if !on() {
        // SAFETY: libc's function.
        return unsafe { real::fork()() };
    }
    sys::say(format_args!(
        "fork is not supported (posix_spawn, system and popen are)"
    ));
    sys::fail(ENOSYS)
}

/// libc's own `syscall`: a program that waits for a futex by it waits behind the library's back.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if number == libc::SYS_futex && on() {
        sys::say(format_args!(
            "syscall(SYS_futex): threads that wait for plain memory are not supported"
        ));
        end::end(sys::REFUSED);
    }
    // SAFETY: as the caller promises.
    unsafe { real::syscall()(number, a, b, c, d, e, f) }
}
