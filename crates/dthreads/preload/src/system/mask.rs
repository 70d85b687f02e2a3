//! Signals that are held back.

use std::ffi::c_int;
use std::ptr;

use crate::system::local::LOCAL;

/// Bytes of a set in the kernel.
pub(crate) const SET: usize = 8;

/// Changes the signals that are held back, and returns those before.
fn change(how: c_int, signals: *const u64) -> u64 {
    let mut before = 0u64;
    let call = libc::SYS_rt_sigprocmask;
    // SAFETY: null or a set of the kernel's size, and one that the call fills.
    unsafe { libc::syscall(call, how, signals, &raw mut before, SET) };
    before
}

/// Sets the signals that are held back, and returns those before.
pub(crate) fn hold_back(mask: u64) -> u64 {
    change(libc::SIG_SETMASK, &mask)
}

/// Begins a thread with the signals held back that its creator holds back.
pub(crate) fn inherit(mask: u64) {
    if LOCAL.mask.replace(mask) != mask {
        hold_back(mask);
    }
}

/// Notes what this process holds back, after a change of it.
pub(crate) fn note() {
    LOCAL.mask.set(change(libc::SIG_BLOCK, ptr::null()));
}
