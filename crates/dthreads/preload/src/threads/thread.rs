//! Threads: create, join, detach.

use std::ffi::{c_int, c_void};
use std::ptr;

use fyris_dthreads_tools::record::Operation;
#[cfg(target_arch = "aarch64")]
use fyris_dthreads_tools::symbols::Modules;
use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, ESRCH, ETIMEDOUT, pthread_attr_t, pthread_t};

use crate::calls::time::deadline;
use crate::calls::{heap, mapping};
use crate::shared::control::{NEVER, control, record, state};
use crate::shared::{end, stacks};
#[cfg(target_arch = "x86_64")]
use crate::sync::instruction;
use crate::system::{Inside, LOCAL, apart, image, on, real, site, sys};
#[cfg(target_arch = "aarch64")]
use crate::system::{atomics, noise};
use crate::threads::process;
use crate::turn::{in_turn, ring, take, token};

const LEAST_STACK: usize = 64 << 10;

/// Returns the name of the thread that has a slot now.
pub(super) fn id(slot: usize) -> pthread_t {
    control().thread(slot).generation.get() << 16 | (slot as u64 + 1)
}

/// Returns the slot that a name of a thread has in it. The thread may have been joined.
pub(super) fn slot_in(id_of: pthread_t) -> usize {
    (id_of as usize & 0xffff).wrapping_sub(1)
}

/// Returns the slot of a thread that has not been joined. Of another thread it is asked in a turn: whether it has ended
/// is decided by the order of turns.
pub(super) fn slot_of(id_of: pthread_t) -> Option<usize> {
    let slot = slot_in(id_of);
    let thread = control().threads.get(slot)?;
    (id(slot) == id_of && thread.state.get() != state::FREE).then_some(slot)
}

/// Finds the stack for a new thread: the slot's, if it is large enough.
fn find_stack(slot: usize, len: usize) -> bool {
    let thread = control().thread(slot);
    let has = thread.stack_len.get() > 0 && stacks::usable(thread).1 >= len;
    has || stacks::make(slot, len) || heap::say_full::<()>(len).is_some()
}

/// What the attributes of a new thread ask for: the bytes of its stack, and whether it is detached.
unsafe fn wishes(attributes: *const pthread_attr_t) -> (usize, bool) {
    if attributes.is_null() {
        return match control().stack_wished.get() as usize {
            0 => (stacks::STACK, false),
            len => (len, false),
        };
    }
    let (mut len, mut detached) = (0, 0);
    // SAFETY: the caller's attributes, which libc has made.
    unsafe {
        real::pthread_attr_getstacksize()(attributes, &mut len);
        real::pthread_attr_getdetachstate()(attributes, &mut detached);
    }
    (
        len.max(LEAST_STACK).next_multiple_of(4096),
        detached == libc::PTHREAD_CREATE_DETACHED,
    )
}

/// Makes atomic operations of the program turns, and lets libraries use them that do without while there is one thread.
#[cfg(target_arch = "x86_64")]
fn begin_atomics() {
    let _inside = Inside::enter();
    // In the program's file, if that has a copy of libc's.
    let is_single: *mut u8 = real::variable(c"__libc_single_threaded").cast();
    if !is_single.is_null() {
        // SAFETY: a variable of libc, or the program's copy of it, of one byte.
        unsafe { is_single.write(0) };
    }
    instruction::begin();
}

/// Says before the first thread is made what threads do not share: atomic operations of the program's.
#[cfg(target_arch = "aarch64")]
fn begin_atomics() {
    if noise::is_made() || record().created.get() > 1 {
        return;
    }
    let _inside = Inside::enter();
    if let Some(address) = atomics::first() {
        let function = Modules::new(record()).name(address as u64);
        sys::say(format_args!(
            "the program has atomic operations of its own, the first at {address:#x} ({function}): what they change is \
             seen by other threads from their next synchronization points on, as plain writes are"
        ));
    }
}

/// Libraries of OpenMP whose threads wait by plain loads, or by atomic operations where these are no turns.
const OPENMP: &[&str] = match cfg!(target_arch = "x86_64") {
    true => &["libomp.so", "libiomp5.so"],
    false => &["libgomp.so", "libomp.so", "libiomp5.so"],
};

/// Ends a program, when it makes a thread, whose threads wait for each other in ways that are not seen.
fn refuse_runtimes() {
    let caller = image::file_of(site::get() as usize);
    let name = caller.rsplit('/').next().unwrap_or_default();
    if OPENMP.iter().any(|prefix| name.starts_with(prefix)) {
        sys::say(format_args!(
            "{caller}: OpenMP's threads wait for plain memory, which threads do not share: not supported"
        ));
        end::end(sys::REFUSED);
    }
    if record().created.get() == 1 && !real::variable(c"PyMutex_Lock").is_null() {
        sys::say(format_args!(
            "CPython 3.13 and later: its locks are atomic operations, which threads do not share: not supported (3.12 \
             is)"
        ));
        end::end(sys::REFUSED);
    }
}

/// What threads have that are created without attributes.
pub(crate) unsafe extern "C" fn pthread_setattr_default_np(
    attributes: *const pthread_attr_t,
) -> c_int {
    // SAFETY: as the caller promises.
    let done = unsafe { real::pthread_setattr_default_np()(attributes) };
    if done == 0 && on() {
        // SAFETY: libc has read them.
        let (len, _) = unsafe { wishes(attributes) };
        in_turn(Operation::Name, 0, |_| {
            control().stack_wished.set(len as u64);
        });
    }
    done
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
    mapping::begin_threads();
    refuse_runtimes();
    // SAFETY: the caller's attributes.
    let (stack, detached) = unsafe { wishes(attributes) };
    apart(|| {
        let turn = take(Operation::Create, function as usize as u64);
        if mapping::share_libraries() {
            begin_atomics();
        }
        let Some(slot) = token::free_slot() else {
            let limit = control().limit.get();
            sys::say(format_args!(
                "more than {limit} threads at once (see --threads)"
            ));
            turn.pass();
            return EAGAIN;
        };
        if !find_stack(slot, stack) {
            turn.pass();
            return EAGAIN;
        }
        let thread = control().thread(slot);
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
        count_one_more();
        token::publish();
        ring::enter(slot);
        if let Err(error) = process::start(slot) {
            ring::leave(slot, state::FREE);
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
    in_turn(Operation::Detach, slot_in(thread) as u64, |_| {
        let slot = slot_of(thread);
        match slot.map(|slot| control().thread(slot)) {
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
        }
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn pthread_self() -> pthread_t {
    id(LOCAL.me.get())
}
