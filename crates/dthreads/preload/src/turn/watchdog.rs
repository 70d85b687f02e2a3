//! What to say when nothing goes on.

use fyris_dthreads_tools::record::Operation;
use fyris_sync::atomic::Ordering;

use crate::shared::control::{control, process_of, state};
use crate::shared::end;
use crate::system::{LOCAL, sys};

/// Seconds without a turn before it is said.
const PATIENCE: u32 = 5;

/// Looks whose turn it is, if that has been awaited for long, and says once that it does not come.
pub(crate) fn waited(seconds: u32) {
    let control = control();
    if seconds < PATIENCE || control.thread(LOCAL.me.get()).state.get() != state::RING {
        return;
    }
    let turn = control.turn.get() as usize;
    // Relaxed: only one process is to speak.
    if turn == LOCAL.me.get() || control.warned.swap(1, Ordering::Relaxed) != 0 {
        return;
    }
    let Some(pid) = process_of(turn) else {
        return;
    };
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let sleeps = state
        .rsplit(") ")
        .next()
        .is_some_and(|rest| !rest.starts_with('R'));
    let waits = control.running.get() - 1;
    if sleeps {
        sys::say(format_args!(
            "thread {turn} (process {pid}) is in a system call for {seconds} s; {waits} others wait for its turn"
        ));
    } else {
        sys::say(format_args!(
            "thread {turn} (process {pid}) has computed for {seconds} s without a synchronization point; {waits} \
             others wait for its turn. If it spins on plain memory until another thread writes there, it never ends: \
             use a lock, a condition variable or sched_yield"
        ));
    }
}

/// Ends the program: every thread waits for another one.
pub(crate) fn stuck() -> ! {
    sys::say(format_args!("deadlock: every thread waits for another one"));
    for (slot, thread) in control().used() {
        let (object, how) = (thread.waits.get(), Operation::of(thread.how.get() as u16));
        match (thread.state.get(), how) {
            (state::ASLEEP, Operation::Join) => {
                sys::say(format_args!("  thread {slot} joins thread {object}"));
            }
            (state::ASLEEP, how) => {
                let name = how.name();
                sys::say(format_args!(
                    "  thread {slot} is in {name}, object {object:#x}"
                ));
            }
            _ => (),
        }
    }
    end::end(sys::REFUSED)
}
