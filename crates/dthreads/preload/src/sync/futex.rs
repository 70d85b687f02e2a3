//! Futexes: words of memory that threads wait for by a system call, as `std::future` and C++20's `atomic::wait` do.
//!
//! The kernel compares a word when a thread begins to wait, and others tell it that they have changed the word if they
//! have seen that some thread waits. Here they may not see it: each works on its own copy. So a thread sleeps until the
//! word is another one, which is looked at at the end of each turn (`token.rs`), or until it is woken. Woken without a
//! cause it may be in any system.

use std::ffi::{c_int, c_long};

use fyris_dthreads_tools::record::Operation;
use libc::{EAGAIN, EINVAL, ENOSYS, ETIMEDOUT, timespec};

use crate::calls::time;
use crate::shared::control::control;
use crate::shared::{end, memory};
use crate::system::{LOCAL, apart, sys};
use crate::turn::{in_turn, take, word_at};

/// Makes the system call of a futex at `address`; returns what it does, or the error.
pub(crate) unsafe fn call(
    address: usize,
    what: c_int,
    value: u32,
    time: *const timespec,
) -> Result<c_long, c_int> {
    let operation = what & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    // SAFETY: the caller's time.
    let until = || unsafe {
        match operation {
            libc::FUTEX_WAIT => time::after(time),
            _ => time::deadline(time),
        }
    };
    match operation {
        _ if !address.is_multiple_of(4) => Err(EINVAL),
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => Ok(wake(address as u64, value)),
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => wait(address, value, until()?),
        _ => {
            sys::say(format_args!(
                "operation {operation} of a futex is not supported"
            ));
            Err(ENOSYS)
        }
    }
}

/// Waits while the word is `value`.
fn wait(address: usize, value: u32, until: u64) -> Result<c_long, c_int> {
    if !memory::holds(address) {
        sys::say(format_args!(
            "a futex in memory at {address:#x}, which threads do not share: not supported"
        ));
        end::end(sys::REFUSED);
    }
    apart(|| {
        let object = address as u64;
        let turn = take(Operation::FutexWait, object);
        if word_at(object) != value {
            turn.pass();
            return Err(EAGAIN);
        }
        let control = control();
        control.thread(LOCAL.me.get()).expected.set(value.into());
        control.futexes.add(1);
        let (turn, woken) = turn.sleep(Operation::FutexWait, object, until);
        control.futexes.set(control.futexes.get() - 1);
        turn.pass();
        if woken { Ok(0) } else { Err(ETIMEDOUT) }
    })
}

/// Wakes up to `most` threads that wait for a word, and returns how many.
fn wake(object: u64, most: u32) -> c_long {
    in_turn(Operation::FutexWake, object, |turn| {
        let woken = (0..most).map_while(|_| turn.wake_first(Operation::FutexWait, object));
        woken.count() as c_long
    })
}
