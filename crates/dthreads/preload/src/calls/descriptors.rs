//! The library's descriptors: with high numbers, and closed by none of the program's calls.
//!
//! All processes of the program share one table, in which each has four for its memory.

use std::ffi::{c_int, c_uint};
use std::io::Write;

use libc::{EBADF, EBUSY};

use crate::shared::control::control;
use crate::system::sys::{self, fail};
use crate::system::{LOCAL, Stage, real};

/// Descriptors of a thread's process, and some that it opens for a moment.
const EACH: u64 = 4;
const MORE: u64 = 8;
/// The library's descriptors have numbers from here on, or from the half of the program's limit.
const FROM: u64 = 4096;

/// Keeps the library's descriptors out of the program's reach, before they are opened.
pub(crate) fn keep_aside() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a struct of this frame.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    let least = FROM.min(limit.rlim_cur / 2);
    control().descriptors.set(least);
    fyris_segment::keep_descriptors_from(least as c_int);
}

/// Returns the numbers that the library's descriptors may have.
fn numbers() -> std::ops::Range<u64> {
    let (least, limit) = (control().descriptors.get(), control().limit.get());
    least..least + EACH * limit + MORE
}

/// Returns whether a descriptor is the library's.
fn is_ours(file: c_int) -> bool {
    if LOCAL.stage.get() == Stage::Off || LOCAL.is_inside() || !numbers().contains(&(file as u64)) {
        return false;
    }
    let (mut path, mut link) = ([0u8; 64], [0u8; 32]);
    // No block of memory: a handler of a signal may call `close`.
    let _ = write!(&mut link[..], "/proc/self/fd/{file}");
    // SAFETY: a path, and a buffer of this frame.
    let len = unsafe { libc::readlink(link.as_ptr().cast(), path.as_mut_ptr().cast(), path.len()) };
    let path = &path[..len.max(0) as usize];
    path.starts_with(b"/memfd:fyris-")
        || path == b"anon_inode:[userfaultfd]"
        || path.starts_with(b"/proc/") && path.ends_with(b"/pagemap")
}

/// libc's; the library's descriptors are not the program's to close.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn close(file: c_int) -> c_int {
    match is_ours(file) {
        true => fail(EBADF),
        // SAFETY: the program's own descriptor.
        false => unsafe { libc::syscall(libc::SYS_close, file) as c_int },
    }
}

/// libc's; the library's descriptors stay open.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // SAFETY: as in `close`.
    let close = |first: u64, last: u64| unsafe {
        match first <= last {
            true => libc::syscall(libc::SYS_close_range, first, last, flags) as c_int,
            false => 0,
        }
    };
    let (first, last) = (u64::from(first), u64::from(last));
    let mut from = first;
    for ours in numbers().filter(|&number| number <= last && is_ours(number as c_int)) {
        if ours >= from {
            let done = close(from, ours - 1);
            if done != 0 {
                return done;
            }
            from = ours + 1;
        }
    }
    close(from, last)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn closefrom(first: c_int) {
    close_range(first.max(0) as c_uint, c_uint::MAX, 0);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn dup2(file: c_int, to: c_int) -> c_int {
    match may_replace(to) {
        // SAFETY: the program's own descriptors.
        true => unsafe { real::dup2()(file, to) },
        false => fail(EBUSY),
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn dup3(file: c_int, to: c_int, flags: c_int) -> c_int {
    match may_replace(to) {
        // SAFETY: the program's own descriptors.
        true => unsafe { real::dup3()(file, to, flags) },
        false => fail(EBUSY),
    }
}

/// Returns whether a descriptor may become the program's, and says so if it may not.
fn may_replace(file: c_int) -> bool {
    let ours = is_ours(file);
    if ours {
        sys::say(format_args!("descriptor {file} is the library's own"));
    }
    !ours
}
