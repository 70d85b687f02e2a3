//! `pthread_once`, and what the guards of C++ have in common with it: one thread runs what is to be run once, others
//! that come meanwhile wait.

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
    let runs = || read() == RUNS;
    // SAFETY: as above.
    let begin = || unsafe { once.write(RUNS) };
    if acquire(name(once), runs, || read() == DONE, begin) {
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
        // SAFETY: the caller's variable; in a turn if there are others.
        release(name(once), || unsafe { once.write(end) });
    }
}

/// Waits while another thread runs what an object stands for; then begins it, unless it is done. Returns whether the
/// caller is to run it.
pub(super) fn acquire(
    object: u64,
    runs: impl Fn() -> bool,
    is_done: impl FnOnce() -> bool,
    begin: impl FnOnce(),
) -> bool {
    apart(|| {
        let mut turn = take(Operation::Once, object);
        while runs() {
            turn = turn.sleep(Operation::Once, object, NEVER).0;
        }
        let ours = !is_done();
        if ours {
            begin();
            held::add(object, LOCAL.me.get() as u64);
        }
        turn.pass();
        ours
    })
}

/// Writes how what an object stands for has ended, and wakes those that wait for it.
pub(super) fn release(object: u64, write: impl FnOnce()) {
    if !on() {
        return write();
    }
    in_turn(Operation::Once, object, |turn| {
        write();
        held::remove(object);
        while turn.wake_first(Operation::Once, object).is_some() {}
    });
}
