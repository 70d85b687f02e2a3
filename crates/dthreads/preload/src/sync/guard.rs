//! The guards of C++'s static variables in functions: one thread makes the variable, others that come meanwhile wait.
//!
//! As the ABI has them, the first byte says that the variable is there, and the second that a thread is making it.

use std::ffi::c_int;

use crate::sync::{name, once};
use crate::system::on;

type Guard = *mut [u8; 8];

/// Returns 1 if the caller is to make the variable.
pub(crate) unsafe extern "C" fn __cxa_guard_acquire(guard: Guard) -> c_int {
    // SAFETY: the caller's variable; other threads' changes come in turns only.
    let is_set = |at: usize| unsafe { (*guard)[at] != 0 };
    // SAFETY: as above.
    let begin = || unsafe { (*guard)[1] = 1 };
    if is_set(0) {
        return 0;
    }
    if !on() {
        begin();
        return 1;
    }
    once::acquire(name(guard), || is_set(1), || is_set(0), begin).into()
}

/// Notes that the caller has made the variable, or could not.
unsafe fn end(guard: Guard, is_made: bool) {
    // SAFETY: the caller's variable; in a turn if there are others.
    once::release(name(guard), || unsafe {
        (*guard)[0] = u8::from(is_made);
        (*guard)[1] = 0;
    });
}

pub(crate) unsafe extern "C" fn __cxa_guard_release(guard: Guard) {
    // SAFETY: as the caller promises.
    unsafe { end(guard, true) }
}

pub(crate) unsafe extern "C" fn __cxa_guard_abort(guard: Guard) {
    // SAFETY: as the caller promises.
    unsafe { end(guard, false) }
}
