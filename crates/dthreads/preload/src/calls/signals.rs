//! Signals between threads, and waits for them.
//!
//! A thread that waits for a signal waits outside of the ring (`outside.rs`), with the signal held back: it is taken
//! from the kernel, and a handler runs only after the thread is back in the ring, with its memory up to date. So a
//! signal that one thread sends to another that waits for it is decided in the sender's turn, and has the same effect
//! in every run. A signal from outside, or to a thread that computes, comes when it comes.

use std::ffi::c_int;
use std::ptr;

use fyris_dthreads_tools::record::Operation;
use libc::{EAGAIN, EINTR, siginfo_t, sigset_t, timespec};

use crate::shared::control::{control, process_of, state};
use crate::shared::{end, stacks};
use crate::system::mask::{SET, hold_back};
use crate::system::sys::{self, error, fail};
use crate::system::{LOCAL, apart, on, real};
use crate::turn::outside::{self, bit};
use crate::turn::{in_turn, take, token};

/// Signals that the kernel knows.
const SIGNALS: u64 = 64;

/// Returns the signals of a set that the program may have.
pub(super) unsafe fn mask_of(set: *const sigset_t) -> u64 {
    // SAFETY: the caller's set, whose first word has all signals of the kernel.
    let all = unsafe { set.cast::<u64>().read() };
    end::own_signals().fold(all, |all, own| all & !bit(own as u64))
}

/// Takes one of the signals `set`, which are held back; waits for it for at most `time`, or for as long as it takes.
/// Returns its number, or an error below 0.
fn take_signal(set: u64, info: &mut siginfo_t, time: Option<timespec>) -> i64 {
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: a set of the kernel's size, and structs of the caller's frame.
    let taken = unsafe {
        libc::syscall(
            libc::SYS_rt_sigtimedwait,
            &raw const set,
            ptr::from_mut(info),
            time,
            SET,
        )
    };
    match taken {
        -1 => -i64::from(error()),
        signal => signal,
    }
}

/// Sends a signal that was taken to this process again.
fn put_back(signal: u64, info: &siginfo_t) {
    let me = sys::pid();
    // SAFETY: what the kernel has filled.
    unsafe {
        libc::syscall(
            libc::SYS_rt_tgsigqueueinfo,
            me,
            me,
            signal as c_int,
            ptr::from_ref(info),
        )
    };
}

const NOW: timespec = timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Waits for one of the signals `set` and takes it, with the signals `mask` held back meanwhile. Returns its number, or
/// an error below 0.
fn wait_for(
    operation: Operation,
    set: u64,
    mask: u64,
    info: &mut siginfo_t,
    time: Option<timespec>,
) -> i64 {
    let before = hold_back(mask | set);
    let turn = take(operation, set);
    let mut taken = match pending(set) {
        0 => take_signal(set, info, Some(NOW)),
        signal => signal as i64,
    };
    let nothing = taken == -i64::from(EAGAIN);
    let ended = time.is_some_and(|time| time.tv_sec == 0 && time.tv_nsec == 0);
    if !nothing || ended {
        turn.pass();
    } else {
        turn.step_out(set);
        taken = take_signal(set, info, time);
        let called = outside::end();
        if called != 0 && taken != called as i64 {
            // The turn of the thread that sent this one was first.
            if taken > 0 {
                put_back(taken as u64, info);
            }
            while taken != called as i64 {
                taken = take_signal(bit(called), info, None);
            }
        }
        token::come_back(set).pass();
    }
    hold_back(before);
    taken
}

/// Takes a signal of `set` that was sent to the program when no thread would have it; 0 if there is none.
fn pending(set: u64) -> u64 {
    let all = &control().pending;
    let first = all.get() & set;
    if first == 0 {
        return 0;
    }
    let signal = u64::from(first.trailing_zeros()) + 1;
    all.set(all.get() & !bit(signal));
    signal
}

/// Waits as `sigwaitinfo` does.
unsafe fn wait(set: *const sigset_t, info: *mut siginfo_t, time: Option<timespec>) -> i64 {
    // SAFETY: zeros are a valid description.
    let mut filled: siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the caller's set.
    let wanted = unsafe { mask_of(set) };
    let taken = apart(|| {
        let held_back = LOCAL.mask.get();
        let taken = wait_for(Operation::SigWait, wanted, held_back, &mut filled, time);
        if taken > 0 {
            filled.si_signo = taken as c_int;
        }
        taken
    });
    if !info.is_null() && taken > 0 {
        // SAFETY: the caller's description.
        unsafe { info.write(filled) };
    }
    taken
}

pub(crate) unsafe extern "C" fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
    if !on() {
        // SAFETY: as the caller promises.
        return unsafe { real::sigwait()(set, signal) };
    }
    loop {
        // SAFETY: the caller's set and variable.
        match unsafe { wait(set, ptr::null_mut(), None) } {
            taken if taken > 0 => {
                // SAFETY: as above.
                unsafe { signal.write(taken as c_int) };
                return 0;
            }
            error if error == -i64::from(EINTR) => (),
            error => return -error as c_int,
        }
    }
}

/// Returns what `sigwaitinfo` returns.
fn number(taken: i64) -> c_int {
    match taken {
        ..0 => fail(-taken as c_int),
        _ => taken as c_int,
    }
}

pub(crate) unsafe extern "C" fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        match on() {
            true => number(wait(set, info, None)),
            false => real::sigwaitinfo()(set, info),
        }
    }
}

pub(crate) unsafe extern "C" fn sigtimedwait(
    set: *const sigset_t,
    info: *mut siginfo_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        match on() {
            true => number(wait(set, info, time.as_ref().copied())),
            false => real::sigtimedwait()(set, info, time),
        }
    }
}

/// Returns the signals that have a handler.
fn handled() -> u64 {
    let mut all = 0;
    for signal in (1..=SIGNALS).filter(|&signal| !end::is_ours(signal as c_int)) {
        let handler = end::action(signal as c_int).sa_sigaction;
        if ![libc::SIG_DFL, libc::SIG_IGN].contains(&handler) && !stacks::is_own(handler) {
            all |= bit(signal);
        }
    }
    all
}

/// Waits until a handler has run, with the signals `mask` held back.
fn suspend(mask: u64) -> c_int {
    let set = handled() & !mask;
    // SAFETY: zeros are a valid description.
    let mut info: siginfo_t = unsafe { std::mem::zeroed() };
    let taken = apart(|| {
        let before = hold_back(LOCAL.mask.get() | set);
        let taken = wait_for(Operation::SigSuspend, set, mask, &mut info, None);
        if taken > 0 {
            put_back(taken as u64, &info);
        }
        (before, taken)
    });
    // The handler runs on the program's stack, and may use its memory.
    if taken.1 > 0 {
        // SAFETY: a set of the kernel's size.
        unsafe { libc::syscall(libc::SYS_rt_sigsuspend, &raw const mask, SET) };
    }
    hold_back(taken.0);
    fail(EINTR)
}

pub(crate) unsafe extern "C" fn sigsuspend(mask: *const sigset_t) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        match on() {
            true => suspend(mask_of(mask)),
            false => real::sigsuspend()(mask),
        }
    }
}

pub(crate) unsafe extern "C" fn pause() -> c_int {
    match on() {
        true => suspend(LOCAL.mask.get()),
        // SAFETY: libc's function.
        false => unsafe { real::pause()() },
    }
}

/// Sends a signal to the thread in a slot, whose process is `pid`. The token is here.
pub(crate) fn send(slot: usize, pid: i32, signal: c_int) -> c_int {
    outside::call(slot, signal as u64);
    sys::kill(pid, signal)
}

/// Returns the thread that a signal to the program goes to: one that waits for it, or does not hold it back; the lowest
/// slot.
fn taker(signal: u64) -> Option<usize> {
    let waits = |slot: usize| {
        let thread = control().thread(slot);
        thread.state.get() == state::OUTSIDE && thread.accepts.get() & bit(signal) != 0
    };
    let alive = |slot: usize| {
        let state = control().thread(slot).state.get();
        state != state::FREE && state != state::DONE
    };
    let takes = |slot: usize| alive(slot) && control().thread(slot).mask.get() & bit(signal) == 0;
    let slots = || 0..control().slots.get() as usize;
    slots()
        .find(|&slot| waits(slot))
        .or_else(|| slots().find(|&slot| takes(slot)))
}

/// Sends a signal to the program as a whole.
fn send_to_all(signal: c_int) -> c_int {
    in_turn(Operation::Kill, signal as u64, |_| {
        let taker = taker(signal as u64);
        match taker.and_then(|slot| Some((slot, process_of(slot)?))) {
            Some((slot, pid)) => send(slot, pid, signal),
            None => {
                let pending = &control().pending;
                pending.set(pending.get() | bit(signal as u64));
                0
            }
        }
    })
}

pub(crate) extern "C" fn kill(pid: libc::pid_t, signal: c_int) -> c_int {
    let to_all = on()
        && pid == control().main_pid.get() as i32
        && (1..=SIGNALS as c_int).contains(&signal)
        && !end::is_ours(signal);
    if to_all && signal != libc::SIGKILL && signal != libc::SIGSTOP {
        return send_to_all(signal);
    }
    sys::kill(pid, signal)
}
