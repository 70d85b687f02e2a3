//! Threads: create, join, detach, exit, and what is known about them.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use fyris_dthreads_tools::record::{Number, Operation};
use libc::{
    EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ERANGE, ESRCH, ETIMEDOUT, pthread_attr_t, pthread_t,
};

use super::{deadline, keys, on};
use crate::control::{NEVER, Thread, control, record, state};
use crate::local::LOCAL;
use crate::memory::{STACK_LEN, STACK_TOP};
use crate::stack::{apart, restart};
use crate::token::{self, take};
use crate::{heap, output, process, real, signals, site, sys};

/// Bytes of a stack whose size the program has not set. Unused ends cost address space only.
const STACK: usize = 1 << 20;
const LEAST_STACK: usize = 64 << 10;
/// What glibc gives an attribute that was not told: the limit of main's stack.
const UNTOLD: usize = 8 << 20;

/// Returns the name of the thread that has a slot now.
fn id(slot: usize) -> pthread_t {
    control().thread(slot).generation.get() << 16 | (slot as u64 + 1)
}

/// Returns the slot that a name of a thread has in it. The thread may have been joined.
fn slot_in(id_of: pthread_t) -> usize {
    (id_of as usize & 0xffff).wrapping_sub(1)
}

/// Returns the slot of a thread that has not been joined. Of another thread it is asked in a turn: whether it has ended
/// is decided by the order of turns.
fn slot_of(id_of: pthread_t) -> Option<usize> {
    let slot = slot_in(id_of);
    let thread = control().threads.get(slot)?;
    (id(slot) == id_of && thread.state.get() != state::FREE).then_some(slot)
}

/// Finds the stack for a new thread: the slot's, if it is large enough.
fn find_stack(thread: &Thread, len: usize) -> bool {
    if thread.stack_len.get() >= len as u64 {
        return true;
    }
    let Some(start) = heap::pages_in_turn(len) else {
        return false;
    };
    thread.stack.set(start as u64);
    thread.stack_len.set(len as u64);
    true
}

/// What the attributes of a new thread ask for: the bytes of its stack, and whether it is detached.
unsafe fn wishes(attributes: *const pthread_attr_t) -> (usize, bool) {
    if attributes.is_null() {
        return (STACK, false);
    }
    let (mut len, mut detached) = (0, 0);
    // SAFETY: the caller's attributes, which libc has made.
    unsafe {
        real::pthread_attr_getstacksize()(attributes, &mut len);
        real::pthread_attr_getdetachstate()(attributes, &mut detached);
    }
    let len = if len == UNTOLD {
        STACK
    } else {
        len.max(LEAST_STACK)
    };
    (
        len.next_multiple_of(4096),
        detached == libc::PTHREAD_CREATE_DETACHED,
    )
}

pub(crate) unsafe extern "C" fn pthread_create(
    new: *mut pthread_t,
    attributes: *const pthread_attr_t,
    function: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    if !LOCAL.on() {
        sys::say(format_args!(
            "a thread that is created before main, or after a fork, is not supported"
        ));
        return EAGAIN;
    }
    // SAFETY: the caller's attributes.
    let (stack, detached) = unsafe { wishes(attributes) };
    apart(|| {
        let turn = take(Operation::Create, function as usize as u64);
        let Some(slot) = token::free_slot() else {
            let limit = control().limit.get();
            sys::say(format_args!(
                "more than {limit} threads at once (see --threads)"
            ));
            turn.pass();
            return EAGAIN;
        };
        let thread = control().thread(slot);
        if !find_stack(thread, stack) {
            turn.pass();
            return EAGAIN;
        }
        thread
            .stack_low
            .set(thread.stack.get() + thread.stack_len.get());
        thread.function.set(function as usize as u64);
        thread.argument.set(argument.expose_provenance() as u64);
        thread.detached.set(u64::from(detached));
        thread.mask.set(LOCAL.mask.get());
        thread.joiner.set(0);
        let own = &control().thread(LOCAL.me.get()).name;
        for (word, own) in thread.name.iter().zip(own) {
            word.set(own.get());
        }
        // SAFETY: the caller's variable.
        unsafe { new.write(id(slot)) };
        output::buffer();
        count_one_more();
        token::publish();
        token::enter(slot);
        if let Err(error) = process::start(slot) {
            token::expel(slot);
            control().live.set(control().live.get() - 1);
            turn.pass();
            return error;
        }
        LOCAL.creating.set(Some(slot));
        turn.keep();
        0
    })
}

fn count_one_more() {
    control().live.add(1);
    let record = record();
    record.created.add(1);
    record.most.set(record.most.get().max(control().live.get()));
}

/// Ends this thread in a last turn.
pub(crate) fn finish(result: u64) {
    site::set(0);
    apart(|| {
        let turn = take(Operation::End, 0);
        process::count_faults();
        let control = control();
        let thread = control.thread(LOCAL.me.get());
        thread.result.set(result);
        // A joiner whose time was up is awake already.
        if let Some(joiner) = thread.joiner.get().checked_sub(1)
            && control.thread(joiner as usize).state.get() == state::ASLEEP
        {
            turn.wake(joiner as usize);
        }
        control.live.set(control.live.get() - 1);
        let detached = thread.detached.get() != 0;
        if detached {
            thread.generation.add(1);
        }
        turn.end(if detached { state::FREE } else { state::DONE });
    });
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(super) extern "C-unwind" fn pthread_exit(result: *mut c_void) -> ! {
    cleanup::run_all(result);
    leave(result)
}

/// Forgets the cleanup handlers that this process has inherited: another thread begins here.
pub(crate) fn forget() {
    cleanup::forget();
}

/// Ends this thread, whose cleanup handlers have run.
fn leave(result: *mut c_void) -> ! {
    if !LOCAL.on() {
        process::leave(0);
    }
    keys::destroy();
    finish(result.expose_provenance() as u64);
    match LOCAL.me.get() {
        0 => apart(|| process::outlive()),
        slot => restart(slot, process::serve),
    }
}

fn join(thread: pthread_t, result: *mut *mut c_void, until: Option<u64>) -> c_int {
    if !on() {
        return ESRCH;
    }
    apart(|| {
        let mut turn = take(Operation::Join, slot_in(thread) as u64);
        let slot = slot_of(thread).unwrap_or(usize::MAX);
        let mut done = may_join(slot, until.is_some());
        if let (Ok(true), Some(until)) = (done, until) {
            let joiner = &control().thread(slot).joiner;
            joiner.set(LOCAL.me.get() as u64 + 1);
            let woken;
            (turn, woken) = turn.sleep(Operation::Join, slot as u64, until);
            if !woken {
                joiner.set(0);
                done = Err(ETIMEDOUT);
            }
        }
        if done.is_ok() {
            let thread = control().thread(slot);
            if !result.is_null() {
                let value = ptr::with_exposed_provenance_mut(thread.result.get() as usize);
                // SAFETY: the caller's variable.
                unsafe { result.write(value) };
            }
            thread.generation.add(1);
            thread.state.set(state::FREE);
        }
        turn.pass();
        done.err().unwrap_or(0)
    })
}

/// Returns whether a thread has to be waited for, or why it cannot be joined. `slot` may be none.
fn may_join(slot: usize, waits: bool) -> Result<bool, c_int> {
    let thread = control().threads.get(slot).ok_or(ESRCH)?;
    if slot == LOCAL.me.get() {
        return Err(EDEADLK);
    }
    if thread.detached.get() != 0 || thread.joiner.get() != 0 {
        return Err(EINVAL);
    }
    match thread.state.get() == state::DONE {
        true => Ok(false),
        false if waits => Ok(true),
        false => Err(EBUSY),
    }
}

pub(crate) extern "C" fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    join(thread, result, Some(NEVER))
}

pub(crate) extern "C" fn pthread_tryjoin_np(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    join(thread, result, None)
}

pub(crate) unsafe extern "C" fn pthread_timedjoin_np(
    thread: pthread_t,
    result: *mut *mut c_void,
    time: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller's time.
    match unsafe { deadline(time) } {
        Ok(until) => join(thread, result, Some(until)),
        Err(error) => error,
    }
}

pub(crate) unsafe extern "C" fn pthread_clockjoin_np(
    thread: pthread_t,
    result: *mut *mut c_void,
    _: libc::clockid_t,
    time: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller's time.
    unsafe { pthread_timedjoin_np(thread, result, time) }
}

pub(crate) extern "C" fn pthread_detach(thread: pthread_t) -> c_int {
    if !on() {
        return ESRCH;
    }
    apart(|| {
        let turn = take(Operation::Detach, slot_in(thread) as u64);
        let slot = slot_of(thread);
        let done = match slot.map(|slot| control().thread(slot)) {
            None => ESRCH,
            Some(thread) if thread.detached.get() != 0 => EINVAL,
            Some(thread) => {
                thread.detached.set(1);
                if thread.state.get() == state::DONE {
                    thread.generation.add(1);
                    thread.state.set(state::FREE);
                }
                0
            }
        };
        turn.pass();
        done
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(super) extern "C" fn pthread_self() -> pthread_t {
    id(LOCAL.me.get())
}

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
    apart(|| {
        let turn = take(Operation::Name, slot_in(thread) as u64);
        let found = find();
        turn.pass();
        found
    })
}

/// Notes the name that the kernel has given main's thread: the program's.
pub(crate) fn note_name() {
    let mut words = [0_u64; 2];
    // SAFETY: the kernel writes 16 bytes at most.
    unsafe {
        libc::syscall(
            libc::SYS_prctl,
            libc::PR_GET_NAME,
            words.as_mut_ptr(),
            0,
            0,
            0,
        )
    };
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
        _ => (thread.stack.get() as usize, thread.stack_len.get() as usize),
    };
    // SAFETY: the caller's attributes.
    unsafe {
        libc::pthread_attr_init(attributes);
        libc::pthread_attr_setstack(attributes, ptr::with_exposed_provenance_mut(low), len)
    }
}

pub(crate) extern "C" fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int {
    if !(0..=64).contains(&signal) || process::is_ours(signal) {
        return EINVAL;
    }
    let slot = slot_in(thread);
    if !on() || thread == id(LOCAL.me.get()) {
        let process = slot_of(thread).and_then(process::of);
        return status(process.map(|pid| sys::kill(pid, signal)));
    }
    apart(|| {
        let turn = take(Operation::Kill, slot as u64 | (signal as u64) << 32);
        let sent = send(thread, signal);
        turn.pass();
        sent
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
    status(process::of(slot).map(|pid| signals::send(slot, pid, signal)))
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
    let Some(pid) = slot_of(thread).and_then(process::of) else {
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
    let Some(pid) = slot_of(thread).and_then(process::of) else {
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
    let found = with_thread(thread, |slot| pid = process::of(slot));
    match pid {
        // SAFETY: the caller's variable.
        Some(pid) => unsafe { libc::clock_getcpuclockid(pid, clock) },
        None => found.max(ESRCH),
    }
}

/// `pthread_cleanup_push` of C: handlers are frames to jump to.
mod cleanup {
    use std::cell::Cell;

    use super::*;
    use crate::local::Solo;

    /// glibc's: registers, a flag, and four words for the library.
    #[repr(C)]
    pub(super) struct Buffer {
        jump: [usize; JUMP],
        before: *mut Buffer,
        rest: [usize; 3],
    }

    /// Words of a jump buffer before libc's own: the registers, and whether a mask was saved.
    #[cfg(target_arch = "x86_64")]
    const JUMP: usize = 9;
    #[cfg(target_arch = "aarch64")]
    const JUMP: usize = 23;

    unsafe extern "C-unwind" {
        fn siglongjmp(to: *mut Buffer, value: c_int) -> !;
    }

    static LAST: Solo<Cell<*mut Buffer>> = Solo::new(Cell::new(ptr::null_mut()));
    static RESULT: Solo<Cell<*mut c_void>> = Solo::new(Cell::new(ptr::null_mut()));

    /// Jumps to the handler that was pushed last, if there is one; it comes back by `__pthread_unwind_next`.
    pub(super) fn run_all(result: *mut c_void) {
        RESULT.set(result);
        let last = LAST.replace(ptr::null_mut());
        if !last.is_null() {
            // SAFETY: a frame that is still there: it unregisters its buffer before it returns.
            unsafe {
                LAST.set((*last).before);
                siglongjmp(last, 1)
            }
        }
    }

    /// Forgets all handlers: they are the creator's.
    pub(super) fn forget() {
        LAST.set(ptr::null_mut());
    }

    #[cfg_attr(not(test), unsafe(no_mangle))]
    unsafe extern "C" fn __pthread_register_cancel(buffer: *mut Buffer) {
        // SAFETY: the caller's buffer.
        unsafe { (*buffer).before = LAST.get() };
        LAST.set(buffer);
    }

    #[cfg_attr(not(test), unsafe(no_mangle))]
    unsafe extern "C" fn __pthread_unregister_cancel(buffer: *mut Buffer) {
        // SAFETY: the caller's buffer, which it has registered.
        LAST.set(unsafe { (*buffer).before });
    }

    #[cfg_attr(not(test), unsafe(no_mangle))]
    extern "C-unwind" fn __pthread_unwind_next(_: *mut Buffer) -> ! {
        run_all(RESULT.get());
        leave(RESULT.get())
    }
}
