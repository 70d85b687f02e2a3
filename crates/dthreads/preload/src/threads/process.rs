//! Threads are processes: how they begin, run, end, and stay for the next thread.
//!
//! A process is forked with its creator's descriptors and folder (`CLONE_FILES`, `CLONE_FS`), and private memory but
//! for the segment. When its thread ends it stays in its slot. Invariant **IMAGE**: a process is given another thread
//! only if its own memory is as that of a process forked now would be: its parent is the creator, and neither has
//! changed its mappings, handlers, locale or environment since. Otherwise it ends, and another one is forked.

use std::ffi::{c_int, c_void};
use std::ptr;

use fyris_dthreads_tools::record::Operation;
use fyris_sync::atomic::Ordering;

use crate::common::exits;
use crate::shared::control::{STATUS, Thread, control, record, state};
use crate::shared::end::{self, DEATH};
use crate::shared::{conflicts, memory, stacks};
use crate::system::stack::{program, restart};
use crate::system::{LOCAL, Solo, Stage, apart, around, image, mask, real, site, sys};
use crate::threads::keys;
use crate::turn::wait::{BEGIN, RETIRE, assign, begun, spin_or, wait_for};
use crate::turn::{log, region, take};

/// Gives the new thread of a slot a process: the one that waits there, or a new one. The token is here, and all is
/// committed.
pub(crate) fn start(slot: usize) -> Result<(), c_int> {
    let thread = control().thread(slot);
    // Relaxed: ordered by the token, and by `assigned` for the process.
    thread.begun.store(0, Ordering::Relaxed);
    thread.go.store(0, Ordering::Relaxed);
    thread.arrived.store(0, Ordering::Relaxed);
    thread.round.set(0);
    if thread.pid.get() != 0 {
        if fits(thread) {
            assign(thread, BEGIN);
            return Ok(());
        }
        retire(slot);
    }
    thread.parent.set(LOCAL.me.get() as u64);
    thread.parent_changes.set(LOCAL.changes.get());
    thread.spoilt.set(0);
    thread.assigned.store(0, Ordering::Relaxed);
    fork(slot)
}

/// Returns whether the process that waits in a slot may have a thread of this one's (invariant IMAGE).
fn fits(thread: &Thread) -> bool {
    thread.spoilt.get() == 0
        && thread.parent.get() == LOCAL.me.get() as u64
        && thread.parent_changes.get() == LOCAL.changes.get()
}

/// Ends the process that waits in a slot, once it has closed what it has open.
fn retire(slot: usize) {
    let thread = control().thread(slot);
    thread.pid.set(0);
    // Relaxed: ordered by `assigned`.
    thread.begun.store(0, Ordering::Relaxed);
    assign(thread, RETIRE);
    wait_for(&thread.begun);
    // Relaxed: the process has seen its end.
    thread.begun.store(0, Ordering::Relaxed);
}

/// Ends all processes that wait for a thread. The token is here.
pub(super) fn retire_all() {
    let others = control().used().skip(1);
    others
        .filter(|(_, thread)| thread.pid.get() != 0)
        .for_each(|(slot, _)| retire(slot));
}

fn fork(slot: usize) -> Result<(), c_int> {
    let mut flags = libc::CLONE_FILES | libc::CLONE_FS | DEATH;
    let (creator, parent) = (sys::pid(), control().main_pid.get() as i32);
    if creator != parent {
        // A brother of this process: its signal is this one's.
        flags = flags & !DEATH | libc::CLONE_PARENT;
    }
    image::own_vector();
    // SAFETY: a process with a copy of this one's memory, on the same stack: it goes on below.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match pid {
        -1 => Err(sys::error()),
        0 => child(slot, creator, parent),
        pid => {
            control().thread(slot).pid.set(pid as u64);
            record().forked.add(1);
            Ok(())
        }
    }
}

/// Is the process of a slot, from its beginning to its end.
fn child(slot: usize, creator: i32, parent: i32) -> ! {
    // What the creator stores there too: it may be late, and others are to know this process by then.
    control().thread(slot).pid.set(sys::pid() as u64);
    let dies = libc::PR_SET_PDEATHSIG;
    // SAFETY: plain system calls.
    unsafe {
        libc::syscall(libc::SYS_prctl, dies, libc::SIGKILL, 0, 0, 0);
        if libc::syscall(libc::SYS_getppid) as i32 != parent {
            sys::exit_now(0);
        }
    }
    if let Some(word) = image::thread_id_word(creator) {
        // SAFETY: the word that libc keeps this thread's id in.
        unsafe { word.write_volatile(sys::pid()) };
    }
    LOCAL.me.set(slot);
    LOCAL.holding.set(false);
    LOCAL.creating.set(None);
    LOCAL.changes.set(0);
    memory::attach();
    run(slot);
    serve(slot)
}

/// Runs one thread of the slot after the other.
fn serve(slot: usize) -> ! {
    loop {
        next_thread(slot);
        memory::update();
        run(slot);
    }
}

/// Runs the thread of this slot.
fn run(slot: usize) {
    let thread = control().thread(slot);
    let time = control().time.get();
    LOCAL.time.set(time);
    LOCAL.place.set(0);
    LOCAL.filled.set(0);
    LOCAL.changed.set(0);
    LOCAL.committed.set(0);
    mask::inherit(thread.mask.get());
    memory::begin_stack();
    stacks::begin();
    image::begin_thread();
    around::forget();
    keys::forget();
    cleanup::forget();
    region::forget();
    let top = thread.stack.get() + thread.stack_len.get();
    let (function, argument) = (thread.function.get(), thread.argument.get());
    begun();
    // SAFETY: what the program has given to `pthread_create`.
    let function: extern "C-unwind" fn(*mut c_void) -> *mut c_void =
        unsafe { std::mem::transmute(ptr::with_exposed_provenance::<c_void>(function as usize)) };
    let argument = ptr::with_exposed_provenance_mut(argument as usize);
    log::begin_faults();
    let result = program(top as usize, || {
        sys::set_error(0);
        let result = function(argument);
        keys::destroy();
        result
    });
    finish(result.expose_provenance() as u64);
}

/// Waits for the next thread in this slot.
fn next_thread(slot: usize) {
    let thread = control().thread(slot);
    spin_or(&thread.assigned, BEGIN, || {
        // Acquire, both: pairs with the Release of `assign`.
        let sleeps = || {
            let word = &thread.assigned;
            word.compare_exchange(0, 3, Ordering::Acquire, Ordering::Acquire)
        };
        loop {
            match sleeps() {
                Err(BEGIN) => break,
                Err(RETIRE) => {
                    memory::detach();
                    begun();
                    sys::exit_now(0)
                }
                _ => sys::futex_wait(&thread.assigned, 3),
            }
        }
    });
    // Relaxed: given again only after this thread has ended.
    thread.assigned.store(0, Ordering::Relaxed);
}

/// Waits in main's process, whose thread has ended, for the last of the others, and ends the program.
fn outlive() -> ! {
    next_thread(0);
    memory::update();
    LOCAL.holding.set(true);
    LOCAL.stage.set(Stage::Ending);
    log::close_record();
    end::decide(STATUS);
    conflicts::tell(true);
    exits::register();
    program(memory::STACK_TOP, || {
        // SAFETY: libc's function; no thread is left.
        unsafe { real::exit()(0) }
    })
}

/// Ends this thread in a last turn.
fn finish(result: u64) {
    site::set(0);
    apart(|| {
        let turn = take(Operation::End, 0);
        log::count_faults();
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
pub(crate) extern "C-unwind" fn pthread_exit(result: *mut c_void) -> ! {
    cleanup::run_all(result);
    leave(result)
}

/// Ends this thread, whose cleanup handlers have run.
fn leave(result: *mut c_void) -> ! {
    if !LOCAL.on() {
        end::leave(0);
    }
    keys::destroy();
    finish(result.expose_provenance() as u64);
    match LOCAL.me.get() {
        0 => apart(|| outlive()),
        slot => restart(slot, serve),
    }
}

/// `pthread_cleanup_push` of C: handlers are frames to jump to.
mod cleanup {
    use std::cell::Cell;

    use super::*;

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
