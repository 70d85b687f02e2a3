//! The stacks of threads: pages of the heap, most of them *closed* until they are used.
//!
//! | from the stack's start | |
//! |---|---|
//! | [`GUARD`] bytes | without rights in the thread's own process |
//! | all but [`OPEN`] bytes at the end | closed: likewise, and tracked in no process |
//! | the rest | as other memory of the segment |
//!
//! To track a page takes time when a process begins, and at its commits; most threads use little of eight MiB. An
//! access to the closed part is a fault, at which the thread's own process opens what is above, and as much again. The
//! others track that from their next update on; they know no address there before. Where the program handles faults
//! itself its stacks are opened as a whole, likewise that of a thread that sets a stack for handlers.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ops::Range;

use fyris_dthreads_tools::record::THREADS;
use fyris_sync::atomic::Ordering;

use crate::shared::control::{Thread, control};
use crate::shared::memory::{self, PAGE, STACK_LEN, stack_of};
use crate::shared::{end, own_maps};
use crate::system::{LOCAL, Solo, real, sys};

/// Bytes of a stack that can be used, if the program has not set its size.
pub(crate) const STACK: usize = 8 << 20;
/// Bytes below, at which a thread that uses more is stopped.
pub(crate) const GUARD: usize = 64 << 10;
/// Bytes that are open from the beginning.
const OPEN: usize = 256 << 10;

/// For each slot its stack, and the end of the part that this process does not track. And the last change that it
/// knows.
static KNOWN: Solo<[[Cell<usize>; 2]; THREADS]> =
    Solo::new([const { [const { Cell::new(0) }; 2] }; THREADS]);
static SEEN: Solo<Cell<u32>> = Solo::new(Cell::new(0));
/// The stack that has its guard in this process.
static GUARDED: Solo<Cell<usize>> = Solo::new(Cell::new(0));

/// Makes a stack of `len` bytes, whole pages, for the thread in a slot; false if there is no memory. The token is here.
pub(crate) fn make(slot: usize, len: usize) -> bool {
    let len = len + GUARD;
    let start = memory::end();
    let closed = start..(start + len - OPEN.min(len)).max(start + GUARD);
    memory::defer(closed.clone());
    if memory::take(len).is_none() {
        memory::track(closed);
        return false;
    }
    control().stacks.add(len as u64);
    let thread = control().thread(slot);
    thread.stack.set(start as u64);
    thread.stack_len.set(len as u64);
    KNOWN[slot][0].set(start);
    close_to(slot, closed.end);
    true
}

/// Says where the closed part of a stack ends, to which this process has seen.
fn close_to(slot: usize, end: usize) {
    control().thread(slot).closed.set(end as u64);
    KNOWN[slot][1].set(end);
    // Release: pairs with the Acquire of `changes`.
    control().stack_changes.fetch_add(1, Ordering::Release);
}

/// Calls `change` with each part of a stack that this process is to track from now on, or not (`false`).
pub(super) fn changes(mut change: impl FnMut(Range<usize>, bool)) {
    // Acquire: pairs with the Release of `close_to`.
    let now = control().stack_changes.load(Ordering::Acquire);
    if SEEN.replace(now) == now {
        return;
    }
    for ((_, thread), [start, end]) in control().used().zip(KNOWN.iter()) {
        let (stack, closed) = (thread.stack.get() as usize, thread.closed.get() as usize);
        let before = end.replace(closed);
        if start.replace(stack) != stack {
            change(stack..closed, false);
        } else if closed < before {
            change(closed..before, true);
        }
    }
}

/// Returns the bytes that a thread may use: where they begin, and how many.
pub(crate) fn usable(thread: &Thread) -> (usize, usize) {
    let (start, len) = (thread.stack.get() as usize, thread.stack_len.get() as usize);
    (start + GUARD, len - GUARD)
}

/// Returns whether some pages are of a thread's stack. The token is here.
pub(crate) fn has(pages: &Range<usize>) -> bool {
    let of_stack = |(slot, thread)| {
        let stack = stack_of(slot, thread);
        stack.start < pages.end && pages.start < stack.end
    };
    control().used().any(of_stack)
}

/// Begins a thread of this process: takes the rights from what is closed of its stack.
pub(crate) fn begin() {
    let thread = control().thread(LOCAL.me.get());
    let start = thread.stack.get() as usize;
    if GUARDED.replace(start) != start {
        sys::protect(start..thread.closed.get() as usize, libc::PROT_NONE);
    }
    SMALL.set(None);
    if ALTERNATE.replace(false) {
        end::use_stack();
    }
    if end::are_faults_taken() {
        open_whole();
    }
}

/// The program has set a stack for handlers in the thread of this process, or in that which was here before, or in the
/// creator.
static ALTERNATE: Solo<Cell<bool>> = Solo::new(Cell::new(false));

/// One that the program has set, and that is too small for handlers of breakpoints within its own: where it is, and its
/// bytes. Handlers are called on the library's instead.
static SMALL: Solo<Cell<Option<(usize, usize)>>> = Solo::new(Cell::new(None));

/// Returns the stack for handlers that the program has set in this thread.
pub(crate) fn alternate() -> libc::stack_t {
    // SAFETY: zeros are a valid description.
    let mut stack: libc::stack_t = unsafe { std::mem::zeroed() };
    match SMALL.get() {
        Some((start, len)) => {
            stack.ss_sp = std::ptr::with_exposed_provenance_mut(start);
            stack.ss_size = len;
        }
        // SAFETY: a struct of this frame.
        None if ALTERNATE.get() => unsafe {
            real::sigaltstack()(std::ptr::null(), &mut stack);
        },
        None => stack.ss_flags = libc::SS_DISABLE,
    }
    stack
}

/// Returns whether a stack for handlers is smaller than the library's, but no error.
pub(crate) fn is_small(stack: &libc::stack_t) -> bool {
    (libc::MINSIGSTKSZ..end::HANDLERS).contains(&stack.ss_size)
}

/// Notes a stack for handlers of the program's, and uses the library's; false if that which is there is in use.
pub(crate) fn replace_alternate(stack: &libc::stack_t) -> bool {
    let done = drop_alternate();
    if done {
        SMALL.set(Some((stack.ss_sp.expose_provenance(), stack.ss_size)));
    }
    done
}

/// Notes that the program has set one, which may be too small for the library's handlers: none will be needed. Returns
/// true.
pub(crate) fn note_alternate() -> bool {
    SMALL.set(None);
    ALTERNATE.set(true);
    open_whole();
    true
}

/// Takes the program's stack for handlers away; false if it is in use.
pub(crate) fn drop_alternate() -> bool {
    let done = end::use_stack();
    if done {
        SMALL.set(None);
        ALTERNATE.set(false);
    }
    done
}

/// Opens this thread's stack from `address` on. Returns whether that was closed.
fn open(address: usize) -> bool {
    let slot = LOCAL.me.get();
    let thread = control().thread(slot);
    let (start, end) = (thread.stack.get() as usize, thread.closed.get() as usize);
    if !(start + GUARD..end).contains(&address) {
        return false;
    }
    let part = address & !(PAGE - 1)..end;
    if !memory::track(part.clone()) {
        return false;
    }
    sys::protect(part.clone(), libc::PROT_READ | libc::PROT_WRITE);
    close_to(slot, part.start);
    true
}

/// Opens this thread's stack as a whole.
fn open_whole() {
    open(control().thread(LOCAL.me.get()).stack.get() as usize + GUARD);
}

/// Opens the stack as a whole: the program handles faults itself from now on.
pub(crate) fn leave_faults() {
    end::take_faults();
    open_whole();
}

/// Installs the handler of faults.
pub(crate) fn watch() {
    end::handle(libc::SIGSEGV, on_fault);
}

/// Returns whether an action is the library's.
pub(crate) fn is_own(action: libc::sighandler_t) -> bool {
    action == on_fault as *const () as usize
}

/// The code of a fault that the kernel itself has met, when it was to call a handler.
const BY_KERNEL: c_int = 0x80;
/// More bytes than the kernel puts on a stack when it calls a handler.
const FRAME: usize = 32 << 10;

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's description of a fault, or of a signal that was sent, and of where it came.
    let (code, address, place) = unsafe {
        let place = &*context.cast::<libc::ucontext_t>();
        ((*info).si_code, (*info).si_addr().addr(), place)
    };
    let mends = || match code {
        BY_KERNEL => calls_handler(place),
        _ => is_of_stack(address),
    };
    if code > 0 && sys::keep_error(mends) {
        return;
    }
    if code <= 0 {
        end::die(signal);
    }
    if let Some(owner) = own_maps::owner(address) {
        sys::say(format_args!(
            "thread {} has no memory at {address:#x}: thread {owner} has mapped a file there, or loaded a library, \
             when there were others",
            LOCAL.me.get()
        ));
    }
    // The fault comes again, and ends the process.
    end::reset(signal);
}

/// Opens the stack if the kernel could not call a handler of the program on what is closed of it, and sends the signal
/// again. It has gone, and nothing says which it was: it is known if one signal alone has such a handler, and the
/// program is ended by name otherwise. Returns false if nothing is closed there.
fn calls_handler(place: &libc::ucontext_t) -> bool {
    let top = stack_pointer(place);
    if !(top - FRAME..=top).step_by(PAGE).any(open) {
        return false;
    }
    // SAFETY: the kernel's set is in the first word.
    let held_back = unsafe { (&raw const place.uc_sigmask).cast::<u64>().read() };
    let mut all = (1..=64).filter(|&signal| {
        held_back & 1 << (signal - 1) == 0 && !end::is_ours(signal) && is_on_stack(signal)
    });
    match (all.next(), all.next()) {
        (Some(signal), None) => {
            sys::kill(sys::pid(), signal);
            true
        }
        _ => {
            sys::say(format_args!(
                "a signal came where the stack of thread {} was not open, and has gone",
                LOCAL.me.get()
            ));
            end::die(libc::SIGSEGV)
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn stack_pointer(place: &libc::ucontext_t) -> usize {
    place.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
}

#[cfg(target_arch = "aarch64")]
fn stack_pointer(place: &libc::ucontext_t) -> usize {
    place.uc_mcontext.sp as usize
}

/// Returns whether a signal has a handler of the program that runs on the stack of the thread.
fn is_on_stack(signal: c_int) -> bool {
    let action = end::action(signal);
    action.sa_flags & libc::SA_ONSTACK == 0
        && ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction)
}

/// Opens the stack at the address of a fault. If it is full says so, and returns false.
fn is_of_stack(address: usize) -> bool {
    let slot = LOCAL.me.get();
    let thread = control().thread(slot);
    let stack = stack_of(slot, thread);
    let used = stack.end.saturating_sub(address);
    let (guard, size) = match slot {
        0 => (stack.start - GUARD, STACK_LEN),
        _ => (stack.start, usable(thread).1),
    };
    if slot != 0 && open(address) {
        // As much again, so that a stack is opened few times.
        open((stack.start + GUARD).max(address.saturating_sub(used)));
        return true;
    }
    if (guard..guard + GUARD).contains(&address) {
        sys::say(format_args!(
            "thread {slot} has used up its stack of {size} bytes (pthread_attr_setstacksize)"
        ));
    }
    false
}
