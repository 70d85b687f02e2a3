//! What cannot be deterministic, refused by name.

use std::ffi::{c_int, c_long, c_void};
use std::ptr;

use libc::{ENOSYS, pid_t, pthread_t, sigevent};

use crate::shared::end;
use crate::sync::futex;
use crate::system::{on, real, sys};
use crate::threads::about;

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
fn fork_by(real: fn() -> unsafe extern "C" fn() -> pid_t) -> pid_t {
    if !on() {
        // SAFETY: libc's function.
        return unsafe { real()() };
    }
    refuse_fork()
}

fn refuse_fork() -> c_int {
    sys::say(format_args!(
        "fork is not supported (posix_spawn, system and popen are)"
    ));
    sys::fail(ENOSYS)
}

/// Returns whether a system call makes another process, or a thread past the library.
fn is_fork(number: c_long) -> bool {
    #[cfg(target_arch = "x86_64")]
    let is_old = number == libc::SYS_fork;
    #[cfg(not(target_arch = "x86_64"))]
    let is_old = false;
    is_old || number == libc::SYS_clone || number == libc::SYS_clone3
}

/// libc's, whose arguments matter not: a process has none of the program's memory, and a thread has all of it.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn clone() -> c_int {
    refuse_fork()
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn fork() -> pid_t {
    fork_by(real::fork)
}

#[allow(non_snake_case)]
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn _Fork() -> pid_t {
    fork_by(real::_Fork)
}

/// Says that a function is not supported; the error is `errno`.
fn say_unsupported(name: &str) {
    sys::say(format_args!("{name} is not supported"));
    sys::set_error(ENOSYS);
}

/// Functions that always fail with a result, whatever their arguments are. What libc does in threads of its own is done
/// beside those of the program, and main's process has one thread (invariant ONE); memory that is locked would be all
/// that the segment may have.
macro_rules! unsupported {
    ($($result:literal: $($name:ident)*;)*) => {
        $($(
            #[cfg_attr(not(test), unsafe(no_mangle))]
            extern "C" fn $name() -> c_int {
                say_unsupported(stringify!($name));
                $result
            }
        )*)*
    };
}

unsupported! {
    -1: aio_read aio_read64 aio_write aio_write64 aio_fsync aio_fsync64 lio_listio lio_listio64 mlockall;
    // EAI_SYSTEM.
    -11: getaddrinfo_a;
}

/// Returns whether libc would tell of an event by a thread of its own.
unsafe fn is_by_thread(event: *const sigevent) -> bool {
    // SAFETY: the caller's description, if there is one.
    unsafe { event.as_ref() }.is_some_and(|event| event.sigev_notify == libc::SIGEV_THREAD)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn timer_create(
    clock: libc::clockid_t,
    event: *mut sigevent,
    timer: *mut c_void,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        if is_by_thread(event) {
            say_unsupported("timer_create with SIGEV_THREAD");
            return -1;
        }
        real::timer_create()(clock, event, timer)
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn mq_notify(queue: c_int, event: *const sigevent) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        if is_by_thread(event) {
            say_unsupported("mq_notify with SIGEV_THREAD");
            return -1;
        }
        real::mq_notify()(queue, event)
    }
}

/// libc's own `syscall`, for what programs wait for by it, and for what is about threads and processes.
pub(crate) unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    match number {
        // SAFETY: as the caller promises.
        libc::SYS_futex if on() => unsafe {
            let time = ptr::with_exposed_provenance(d);
            let done = futex::call(a, b as c_int, c as u32, time);
            return done.unwrap_or_else(|error| sys::fail(error).into());
        },
        libc::SYS_tgkill if on() => {
            return c_long::from(tgkill(a as pid_t, b as pid_t, c as c_int));
        }
        _ if is_fork(number) && on() => return c_long::from(refuse_fork()),
        _ => (),
    }
    // SAFETY: as the caller promises.
    unsafe { real::syscall()(number, a, b, c, d, e, f) }
}

/// libc's, for threads as the program sees them: of one process.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn tgkill(process: pid_t, thread: pid_t, signal: c_int) -> c_int {
    match about::thread_of(process, thread) {
        Some(thread) => match about::pthread_kill(thread, signal) {
            0 => 0,
            error => sys::fail(error),
        },
        // SAFETY: a plain system call.
        None => unsafe {
            real::syscall()(
                libc::SYS_tgkill,
                process as usize,
                thread as usize,
                signal as usize,
                0,
                0,
                0,
            ) as c_int
        },
    }
}
