//! The environment: variables and texts are in the program's own memory, so threads share them.
//!
//! libc's functions keep the array that `environ` points to in mind, each process its own. These make a new one for
//! each change. A text that was replaced stays, as in libc: another part of the program may have asked for it.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use fyris_dthreads_tools::record::Operation;
use libc::{EINVAL, ENOMEM, PTHREAD_MUTEX_RECURSIVE};

use crate::shared::control::NEVER;
use crate::shared::variables::{ENVIRONMENT, ZONES};
use crate::sync::mutex;
use crate::system::on;
use crate::system::sys::fail;

/// The lock of the environment: no address of a program.
const LOCK: u64 = 3;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Changes the environment under its lock.
fn locked(change: impl FnOnce() -> c_int) -> c_int {
    if !on() {
        return change();
    }
    let (kind, lock) = (PTHREAD_MUTEX_RECURSIVE, Operation::Environment);
    mutex::lock_as(lock, LOCK, kind, NEVER);
    let done = change();
    mutex::unlock_as(Operation::EnvironmentEnd, LOCK, kind);
    done
}

/// Returns the texts of the variables.
fn texts() -> impl Iterator<Item = *mut c_char> {
    // SAFETY: the program's array, null or ended by null.
    let text = |n: &usize| unsafe {
        let array = environ;
        (!array.is_null() && !(*array.add(*n)).is_null()).then(|| *array.add(*n))
    };
    (0..).map_while(move |n| text(&n))
}

/// Returns whether a text gives a variable a value.
fn is_of(text: *mut c_char, name: &[u8]) -> bool {
    // SAFETY: a text of the environment.
    let text = unsafe { CStr::from_ptr(text) }.to_bytes();
    text.strip_prefix(name)
        .is_some_and(|rest| rest.first() == Some(&b'='))
}

/// Gives a variable the text, which begins with its name; or takes it away.
fn put(name: &[u8], text: Option<*mut c_char>) -> c_int {
    // SAFETY: a fresh block with room for all texts, one more, and the end. The block before is the last of these.
    unsafe {
        let array: *mut *mut c_char =
            libc::malloc((texts().count() + 2) * size_of::<usize>()).cast();
        if array.is_null() {
            return fail(ENOMEM);
        }
        let mut rest = text;
        let kept = texts().filter_map(|old| match is_of(old, name) {
            true => rest.take(),
            false => Some(old),
        });
        let mut len = 0;
        for text in kept {
            array.add(len).write(text);
            len += 1;
        }
        if let Some(text) = rest {
            array.add(len).write(text);
            len += 1;
        }
        array.add(len).write(ptr::null_mut());
        replace(array);
    }
    if name == b"TZ" {
        ZONES.set(ZONES.get() + 1);
    }
    0
}

/// Makes an array the environment's.
unsafe fn replace(array: *mut *mut c_char) {
    // SAFETY: the array before is used no more, if it is one of these.
    unsafe {
        if environ.addr() == ENVIRONMENT.replace(array.addr()) {
            libc::free(environ.cast());
        }
        environ = array;
    }
}

/// Returns the name of a variable; none if it cannot be one.
unsafe fn name_of<'a>(name: *const c_char) -> Option<&'a [u8]> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller's string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    (!name.is_empty() && !name.contains(&b'=')).then_some(name)
}

pub(crate) unsafe extern "C" fn setenv(
    name: *const c_char,
    value: *const c_char,
    over: c_int,
) -> c_int {
    // SAFETY: the caller's string.
    let Some(name) = (unsafe { name_of(name) }) else {
        return fail(EINVAL);
    };
    // SAFETY: as above.
    let value = unsafe { CStr::from_ptr(value) }.to_bytes_with_nul();
    locked(|| {
        if over == 0 && texts().any(|text| is_of(text, name)) {
            return 0;
        }
        // SAFETY: a fresh block of this length.
        unsafe {
            let text: *mut u8 = libc::malloc(name.len() + 1 + value.len()).cast();
            if text.is_null() {
                return fail(ENOMEM);
            }
            text.copy_from_nonoverlapping(name.as_ptr(), name.len());
            text.add(name.len()).write(b'=');
            text.add(name.len() + 1)
                .copy_from_nonoverlapping(value.as_ptr(), value.len());
            put(name, Some(text.cast()))
        }
    })
}

pub(crate) unsafe extern "C" fn unsetenv(name: *const c_char) -> c_int {
    // SAFETY: the caller's string.
    match unsafe { name_of(name) } {
        Some(name) => locked(|| put(name, None)),
        None => fail(EINVAL),
    }
}

pub(crate) unsafe extern "C" fn putenv(text: *mut c_char) -> c_int {
    // SAFETY: the caller's string.
    let all = unsafe { CStr::from_ptr(text) }.to_bytes();
    let name = all.split(|&byte| byte == b'=').next().unwrap_or_default();
    locked(|| put(name, (name.len() < all.len()).then_some(text)))
}

pub(crate) extern "C" fn clearenv() -> c_int {
    locked(|| {
        // SAFETY: no array is an empty one.
        unsafe { replace(ptr::null_mut()) };
        ZONES.set(ZONES.get() + 1);
        0
    })
}
