//! `pthread_once`.

use std::ffi::c_int;

use fyris_dthreads_tools::record::Operation;
use libc::pthread_once_t;

use crate::shared::control::NEVER;
use crate::sync::name;
use crate::system::{LOCAL, apart, on, site};
use crate::turn::{held, in_turn, take};

const NOT_RUN: pthread_once_t = 0;
const RUNS: pthread_once_t = 1;
const DONE: pthread_once_t = 2;

pub(crate) unsafe extern "C-unwind" fn pthread_once(
    once: *mut pthread_once_t,
    function: extern "C-unwind" fn(),
) -> c_int {
    // SAFETY: the caller's variable; other threads' changes come in turns only. So everywhere below.
    let read = || unsafe { once.read() };
    if read() == DONE {
        return 0;
    }
    if !on() {
        if read() == RUNS {
            return 0;
        }
        // SAFETY: as above. A function that throws is to run again.
        unsafe { once.write(RUNS) };
        let mut running = Running(once, NOT_RUN);
        function();
        running.1 = DONE;
        return 0;
    }
    let ours = apart(|| {
        let mut turn = take(Operation::Once, name(once));
        while read() == RUNS {
            turn = turn.sleep(Operation::Once, name(once), NEVER).0;
        }
        let ours = read() != DONE;
        if ours {
            // SAFETY: as above.
            unsafe { once.write(RUNS) };
            held::add(name(once), LOCAL.me.get() as u64);
        }
        turn.pass();
        ours
    });
    if ours {
        let here = site::get();
        let mut running = Running(once, NOT_RUN);
        function();
        site::set(here);
        running.1 = DONE;
    }
    0
}

/// A function of `pthread_once` that runs, and what is written when it has ended: if an exception ends it, the next
/// thread runs it again.
struct Running(*mut pthread_once_t, pthread_once_t);

impl Drop for Running {
    fn drop(&mut self) {
        let &mut Running(once, end) = self;
        if !on() {
            // SAFETY: the caller's variable.
            unsafe { once.write(end) };
            return;
        }
        in_turn(Operation::Once, name(once), |turn| {
            // SAFETY: the caller's variable, in a turn.
            unsafe { once.write(end) };
            held::remove(name(once));
            while turn.wake_first(Operation::Once, name(once)).is_some() {}
        });
    }
}
