//! What is known of threads, and told to them: names, stacks, signals, processors, priorities.

use std::ffi::{c_char, c_int};
use std::ptr;

use fyris_dthreads_tools::record::{Number, Operation};
use libc::{EINVAL, EPERM, ERANGE, ESRCH, pthread_attr_t, pthread_t};

use crate::calls::signals;
use crate::shared::control::{control, process_of, state};
use crate::shared::end;
use crate::shared::memory::{STACK_LEN, STACK_TOP};
use crate::shared::stacks;
use crate::system::{LOCAL, on, sys};
use crate::threads::thread::{id, slot_in, slot_of};
use crate::turn::in_turn;

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int {
    // SAFETY: the caller's string.
    let text = unsafe { std::ffi::CStr::from_ptr(name) }.to_bytes();
    if text.len() > 15 {
        return ERANGE;
    }
    let mut bytes = [0; 16];
    bytes[..text.len()].copy_from_slice(text);
    let (first, second) = bytes.split_at(8);
    let named = with_name(thread, |words| {
        for (word, half) in words.iter().zip([first, second]) {
            word.set(half.try_into().map_or(0, u64::from_ne_bytes));
        }
    });
    if named == 0 && slot_in(thread) == LOCAL.me.get() {
        // SAFETY: a string of at most 16 bytes.
        unsafe { libc::syscall(libc::SYS_prctl, libc::PR_SET_NAME, bytes.as_ptr(), 0, 0, 0) };
    }
    named
}

/// Calls `use_it` with the name of a thread, in a turn.
fn with_name(thread: pthread_t, use_it: impl FnOnce(&[Number; 2])) -> c_int {
    with_thread(thread, |slot| use_it(&control().thread(slot).name))
}

/// Calls `use_it` with the slot of a thread, in a turn.
fn with_thread(thread: pthread_t, use_it: impl FnOnce(usize)) -> c_int {
    let find = || match slot_of(thread) {
        Some(slot) => {
            use_it(slot);
            0
        }
        None => ESRCH,
    };
    if !on() {
        return find();
    }
    in_turn(Operation::Name, slot_in(thread) as u64, |_| find())
}

/// Notes the name that the kernel has given main's thread: the program's.
pub(crate) fn note_name() {
    let mut words = [0_u64; 2];
    let to = words.as_mut_ptr();
    // SAFETY: the kernel writes 16 bytes at most.
    unsafe { libc::syscall(libc::SYS_prctl, libc::PR_GET_NAME, to, 0, 0, 0) };
    for (word, half) in control().thread(0).name.iter().zip(words) {
        word.set(half);
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_getname_np(thread: pthread_t, name: *mut c_char, len: usize) -> c_int {
    if len < 16 {
        return ERANGE;
    }
    with_name(thread, |words| {
        let bytes = words.each_ref().map(|word| word.get().to_ne_bytes());
        // SAFETY: the caller's 16 bytes.
        unsafe { name.cast::<[[u8; 8]; 2]>().write(bytes) };
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_getattr_np(
    thread: pthread_t,
    attributes: *mut pthread_attr_t,
) -> c_int {
    let Some(slot) = slot_of(thread) else {
        return ESRCH;
    };
    let thread = control().thread(slot);
    let (low, len) = match slot {
        0 => (STACK_TOP - STACK_LEN, STACK_LEN),
        _ => stacks::usable(thread),
    };
    // SAFETY: the caller's attributes.
    unsafe {
        libc::pthread_attr_init(attributes);
        libc::pthread_attr_setstack(attributes, ptr::with_exposed_provenance_mut(low), len)
    }
}

/// The number by which the kernel knows a thread: that of its process.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pthread_gettid_np(thread: pthread_t) -> libc::pid_t {
    let mut found = None;
    with_thread(thread, |slot| found = process_of(slot));
    found.unwrap_or(-1)
}

/// Returns the thread of this program that the kernel knows by these numbers.
pub(crate) fn thread_of(process: libc::pid_t, thread: libc::pid_t) -> Option<pthread_t> {
    let slots = 0..control().slots.get() as usize;
    let is_it = |&slot: &usize| process_of(slot) == Some(thread);
    let ours = on() && process == control().main_pid.get() as libc::pid_t;
    ours.then(|| slots.into_iter().find(is_it))
        .flatten()
        .map(id)
}

pub(crate) extern "C" fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int {
    if !(0..=64).contains(&signal) || end::is_ours(signal) {
        return EINVAL;
    }
    let slot = slot_in(thread);
    if !on() || thread == id(LOCAL.me.get()) {
        let process = slot_of(thread).and_then(process_of);
        return status(process.map(|pid| sys::kill(pid, signal)));
    }
    in_turn(Operation::Kill, slot as u64 | (signal as u64) << 32, |_| {
        send(thread, signal)
    })
}

/// Sends a signal in a turn; 0 sends none.
fn send(thread: pthread_t, signal: c_int) -> c_int {
    let Some(slot) = slot_of(thread) else {
        return ESRCH;
    };
    // The process of a thread that has ended may wait for another thread already.
    if signal == 0 || control().thread(slot).state.get() == state::DONE {
        return 0;
    }
    status(process_of(slot).map(|pid| signals::send(slot, pid, signal)))
}

/// Returns what `pthread_kill` returns for a result of `kill`.
fn status(sent: Option<c_int>) -> c_int {
    match sent {
        None => ESRCH,
        Some(0) => 0,
        Some(_) => EINVAL,
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_setaffinity_np(
    thread: pthread_t,
    len: usize,
    set: *const libc::cpu_set_t,
) -> c_int {
    let Some(pid) = slot_of(thread).and_then(process_of) else {
        return ESRCH;
    };
    // SAFETY: the caller's set.
    match unsafe { libc::sched_setaffinity(pid, len, set) } {
        0 => 0,
        _ => EINVAL,
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_getaffinity_np(
    thread: pthread_t,
    len: usize,
    set: *mut libc::cpu_set_t,
) -> c_int {
    let Some(pid) = slot_of(thread).and_then(process_of) else {
        return ESRCH;
    };
    // SAFETY: as above.
    match unsafe { libc::sched_getaffinity(pid, len, set) } {
        0 => 0,
        _ => EINVAL,
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_getschedparam(
    _: pthread_t,
    policy: *mut c_int,
    parameters: *mut libc::sched_param,
) -> c_int {
    // SAFETY: the caller's variables.
    unsafe {
        policy.write(libc::SCHED_OTHER);
        parameters.write_bytes(0, 1);
    }
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pthread_setschedparam(
    _: pthread_t,
    policy: c_int,
    _: *const libc::sched_param,
) -> c_int {
    match policy {
        libc::SCHED_OTHER => 0,
        _ => EPERM,
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pthread_setschedprio(_: pthread_t, priority: c_int) -> c_int {
    match priority {
        0 => 0,
        _ => EINVAL,
    }
}

/// The clock of the thread's process. What it shows is input.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_getcpuclockid(
    thread: pthread_t,
    clock: *mut libc::clockid_t,
) -> c_int {
    let mut pid = None;
    let found = with_thread(thread, |slot| pid = process_of(slot));
    match pid {
        // SAFETY: the caller's variable.
        Some(pid) => unsafe { libc::clock_getcpuclockid(pid, clock) },
        None => found.max(ESRCH),
    }
}
