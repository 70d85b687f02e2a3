//! Threads are processes: how they begin, and stay for the next thread.
//!
//! A process is forked with its creator's descriptors and folder (`CLONE_FILES`, `CLONE_FS`), and private memory but
//! for the segment. When its thread ends it stays in its slot. Invariant **IMAGE**: a process is given another thread
//! only if its own memory is as that of a process forked now would be: its parent is the creator, and neither has
//! changed its mappings, handlers, locale or environment since. Otherwise it ends, and another one is forked.

use std::ffi::c_int;

use fyris_sync::atomic::Ordering;

use crate::shared::control::{Thread, control, record};
use crate::shared::end::DEATH;
use crate::shared::memory;
use crate::system::{LOCAL, image, sys};
use crate::threads::run::{run, serve};
use crate::turn::wait::{BEGIN, RETIRE, assign, wait_for};

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
    assign(thread, RETIRE);
    wait_for(&thread.begun);
    // Relaxed: the process has seen its end.
    thread.begun.store(0, Ordering::Relaxed);
}

fn fork(slot: usize) -> Result<(), c_int> {
    let mut flags = libc::CLONE_FILES | libc::CLONE_FS | DEATH;
    let (creator, parent) = (sys::pid(), control().main_pid.get() as i32);
    if creator != parent {
        // A brother of this process: its signal is this one's.
        flags = flags & !DEATH | libc::CLONE_PARENT;
    }
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
    // SAFETY: plain system calls.
    unsafe {
        libc::syscall(
            libc::SYS_prctl,
            libc::PR_SET_PDEATHSIG,
            libc::SIGKILL,
            0,
            0,
            0,
        );
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
