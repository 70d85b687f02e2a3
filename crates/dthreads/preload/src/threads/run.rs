//! A thread in its process, from its beginning to its end.

use std::ffi::{c_int, c_void};
use std::ptr;

use fyris_dthreads_tools::record::Operation;
use fyris_sync::atomic::Ordering;

use crate::shared::control::{STATUS, control, state};
use crate::shared::{end, memory};
use crate::system::stack::{program, restart};
use crate::system::{LOCAL, Solo, Stage, apart, image, mask, real, site, sys};
use crate::threads::keys;
use crate::turn::wait::{BEGIN, RETIRE, begun, spin_or};
use crate::turn::{log, region, take};

/// Runs one thread of the slot after the other.
pub(crate) fn serve(slot: usize) -> ! {
    loop {
        next_thread(slot);
        memory::update();
        run(slot);
    }
}

/// Runs the thread of this slot.
pub(super) fn run(slot: usize) {
    let thread = control().thread(slot);
    let time = control().time.get();
    LOCAL.time.set(time);
    LOCAL.place.set(0);
    LOCAL.filled.set(0);
    LOCAL.changed.set(0);
    LOCAL.committed.set(0);
    mask::inherit(thread.mask.get());
    memory::begin_stack();
    image::reset_thread_locals();
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
