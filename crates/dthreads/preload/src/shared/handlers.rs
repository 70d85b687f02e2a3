//! Handlers of signals, which all threads of a program have in common, and the kernel has for each process. Who sets
//! one notes it here, in a turn, and each other process sets it likewise at its next update. Main's process, which
//! signals from outside go to, is told at once: its thread may sleep.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use fyris_sync::atomic::{Ordering, fence};

use crate::shared::control::control;
use crate::shared::{end, stacks};
use crate::system::{LOCAL, Solo, real, sys};

/// The last change that this process knows.
static SEEN: Solo<Cell<u64>> = Solo::new(Cell::new(0));

/// Notes what this process does at a signal: all are to do it. The token is here, and the process up to date.
pub(crate) fn publish(signal: c_int) {
    let control = control();
    let Some(row) = control.actions.get(signal as usize) else {
        return;
    };
    let action = end::action(signal);
    // SAFETY: the kernel's set is in the first word.
    let mask = unsafe { (&raw const action.sa_mask).cast::<u64>().read() };
    let version = control.actions_version.get() + 1;
    let words = [
        action.sa_sigaction as u64,
        action.sa_flags as u64,
        mask,
        version,
    ];
    row.iter()
        .zip(words)
        .for_each(|(word, value)| word.set(value));
    SEEN.set(version);
    // Last: main's handler looks here without the token. Release: pairs with the Acquire of `update`.
    fence(Ordering::Release);
    control.actions_version.set(version);
    if LOCAL.me.get() != 0 {
        end::tell_main();
    }
}

/// Sets the handlers that others have set.
pub(crate) fn update() {
    let (control, seen) = (control(), SEEN.get());
    let now = control.actions_version.get();
    // Acquire: pairs with the Release of `publish`; who looks without the token finds the rows of the version.
    fence(Ordering::Acquire);
    if seen == now {
        return;
    }
    SEEN.set(now);
    for (signal, row) in control.actions.iter().enumerate() {
        let [handler, flags, mask, version] = row.each_ref().map(|word| word.get());
        if version > seen {
            set(signal as c_int, handler as usize, flags as c_int, mask);
        }
    }
}

fn set(signal: c_int, handler: usize, flags: c_int, mask: u64) {
    if signal == libc::SIGSEGV {
        stacks::leave_faults();
    }
    // SAFETY: what another process of the program has set; the kernel's set is in the first word.
    sys::keep_error(|| unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        (&raw mut action.sa_mask).cast::<u64>().write(mask);
        real::sigaction()(signal, &action, ptr::null_mut());
    });
}
