//! Threads are processes: how they begin, stay for the next thread, and end together.
//!
//! A process is forked with its creator's descriptors and folder (`CLONE_FILES`, `CLONE_FS`), and private memory but
//! for the segment. When its thread ends it stays in its slot. Invariant **IMAGE**: a process is given another thread
//! only if its own memory is as that of a process forked now would be: its parent is the creator, and neither has
//! changed its mappings, handlers, locale or environment since. Otherwise it ends, and another one is forked.
//!
//! Invariant **TOGETHER**: no process outlives the program. All are children of main's process, and killed when that
//! dies; the death of one that is not the program's end is told to it by a signal, and it ends the same way.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

use fyris_dthreads_tools::record::Operation;
use fyris_sync::atomic::Ordering;

use crate::control::{SIGNAL, STATUS, Thread, control, record};
use crate::local::{LOCAL, Solo, Stage};
use crate::stack::{apart, program};
use crate::wait::{spin_or, wait_for};
use crate::{image, memory, output, real, region, signals, site, sync, sys, token};

/// The signal of a child's death. Not SIGCHLD: the program's own `wait` must not see it.
const DEATH: c_int = 60;
/// The signal that tells main's process to end.
const END: c_int = 61;

/// States of `Thread::assigned`.
const BEGIN: u32 = 1;
const RETIRE: u32 = 2;

/// Bytes of the stack for handlers.
const HANDLERS: usize = 64 << 10;

/// Installs the handlers, on a stack that is private: on the program's their frames would be changes of its memory.
pub(crate) fn watch() {
    let low = sys::map_private(HANDLERS);
    if !low.is_null() {
        let stack = libc::stack_t {
            ss_sp: low.cast(),
            ss_flags: 0,
            ss_size: HANDLERS,
        };
        // SAFETY: memory that is mapped for ever.
        unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
    }
    handle(DEATH, on_death);
    handle(END, on_end);
}

fn handle(signal: c_int, function: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)) {
    // SAFETY: zeros are a valid action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = function as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: a handler that makes system calls and looks at shared atomics only.
    unsafe { real::sigaction()(signal, &action, ptr::null_mut()) };
}

/// Returns the library's own signals.
pub(crate) fn own_signals() -> impl Iterator<Item = c_int> {
    [DEATH, END].into_iter()
}

/// Returns whether a signal is the library's own.
pub(crate) fn is_ours(signal: c_int) -> bool {
    signal == DEATH || signal == END
}

extern "C" fn on_death(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    sys::keep_error(reap);
}

/// Looks at each child that has died.
fn reap() {
    let control = control();
    loop {
        // SAFETY: a struct of zeros, which the call fills.
        let mut dead: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WNOHANG | 0x8000_0000u32 as i32; // __WCLONE
        // SAFETY: as above.
        let done =
            unsafe { libc::syscall(libc::SYS_waitid, libc::P_ALL, 0, &raw mut dead, flags, 0) };
        // SAFETY: filled by the kernel: no child, or one that has ended.
        let (pid, status) = unsafe { (dead.si_pid(), dead.si_status()) };
        if done != 0 || pid == 0 {
            return;
        }
        // Acquire: pairs with the Release of `decide`.
        let ending = control.ending.load(Ordering::Acquire);
        if ending != 0 && control.ender.get() == pid as u64 {
            end_as(ending);
        }
        // One that was retired has given its slot back and exits with 0; one that dies before it has a slot does not.
        let known = control
            .used()
            .any(|(_, thread)| thread.pid.get() == pid as u64);
        match dead.si_code {
            _ if ending != 0 => (),
            libc::CLD_EXITED if !known && status == 0 => (),
            libc::CLD_EXITED => end(status),
            _ => end_by(status),
        }
    }
}

extern "C" fn on_end(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    // Acquire: pairs with the Release of `decide`.
    end_as(control().ending.load(Ordering::Acquire));
}

/// Ends main's process as was decided.
fn end_as(how: u32) -> ! {
    if how & SIGNAL != 0 {
        die((how & 0xff) as c_int);
    }
    sys::exit_now((how & 0xff) as i32);
}

/// Decides how the program ends, unless that is decided.
fn decide(how: u32) {
    // Release: pairs with the Acquire of `on_end`.
    let control = control();
    if control.ending.load(Ordering::Relaxed) == 0 {
        control.ender.set(sys::pid() as u64);
        let _ = control
            .ending
            .compare_exchange(0, how, Ordering::Release, Ordering::Relaxed);
    }
}

/// Ends the program with a status.
pub(crate) fn end(status: i32) -> ! {
    decide(STATUS | status as u32 & 0xff);
    let main = control().main_pid.get() as i32;
    if main != 0 && main != sys::pid() {
        sys::kill(main, END);
        // Main's process ends at once, and this one with it.
        sleep_for_ever();
    }
    sys::exit_now(status)
}

/// Ends the program by a signal, as the death of a thread by it would.
fn end_by(signal: c_int) -> ! {
    decide(SIGNAL | signal as u32);
    let main = control().main_pid.get() as i32;
    if main != sys::pid() {
        sys::kill(main, END);
        sleep_for_ever();
    }
    die(signal)
}

/// Ends this process by a signal.
fn die(signal: c_int) -> ! {
    // SAFETY: the default action, a mask without the signal, and the signal.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        real::sigaction()(signal, &action, ptr::null_mut());
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut only, signal);
        real::sigprocmask()(libc::SIG_UNBLOCK, &only, ptr::null_mut());
    }
    sys::kill(sys::pid(), signal);
    sleep_for_ever()
}

/// Ends the program as `abort` does.
pub(crate) fn abort() -> ! {
    end_by(libc::SIGABRT)
}

fn sleep_for_ever() -> ! {
    loop {
        // SAFETY: waits for a signal.
        unsafe { libc::syscall(libc::SYS_ppoll, 0, 0, 0, 0, 0) };
    }
}

/// Returns the process of the thread in a slot; never 0, which names this process, or a group of them.
pub(crate) fn of(slot: usize) -> Option<i32> {
    let pid = match slot {
        slot if slot == LOCAL.me.get() => sys::pid(),
        0 => control().main_pid.get() as i32,
        slot => control().thread(slot).pid.get() as i32,
    };
    (pid > 0).then_some(pid)
}

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

fn assign(thread: &Thread, what: u32) {
    // Release: pairs with the Acquire of `next_thread`.
    if thread.assigned.swap(what, Ordering::Release) == 3 {
        sys::futex_wake(&thread.assigned);
    }
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
        -1 => Err(std::io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EAGAIN)),
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

/// Runs one thread of the slot after the other.
pub(crate) fn serve(slot: usize) -> ! {
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
    signals::inherit(thread.mask.get());
    memory::begin_stack();
    image::reset_thread_locals();
    sync::keys::forget();
    sync::thread::forget();
    region::forget();
    let top = thread.stack.get() + thread.stack_len.get();
    let (function, argument) = (thread.function.get(), thread.argument.get());
    token::begun();
    // SAFETY: what the program has given to `pthread_create`.
    let function: extern "C-unwind" fn(*mut c_void) -> *mut c_void =
        unsafe { std::mem::transmute(ptr::with_exposed_provenance::<c_void>(function as usize)) };
    let argument = ptr::with_exposed_provenance_mut(argument as usize);
    FAULTS.set(faults());
    let result = program(top as usize, || {
        let result = function(argument);
        sync::keys::destroy();
        result
    });
    sync::thread::finish(result.expose_provenance() as u64);
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
                    token::begun();
                    sys::exit_now(0)
                }
                _ => sys::futex_wait(&thread.assigned, 3),
            }
        }
    });
    // Relaxed: given again only after this thread has ended.
    thread.assigned.store(0, Ordering::Relaxed);
}

/// Page faults of this process before its present thread.
static FAULTS: Solo<Cell<u64>> = Solo::new(Cell::new(0));

/// Returns the page faults of this process so far.
fn faults() -> u64 {
    // SAFETY: zeros are valid, and the call fills them.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        (usage.ru_minflt + usage.ru_majflt) as u64
    }
}

/// Adds the page faults of this thread to the record.
pub(crate) fn count_faults() {
    record().threads[LOCAL.me.get()]
        .faults
        .add(faults() - FAULTS.get());
}

/// Says that this process's own memory differs from what it was forked with (invariant IMAGE).
pub(crate) fn changed() {
    LOCAL.changes.set(LOCAL.changes.get() + 1);
    if LOCAL.on() && LOCAL.me.get() != 0 {
        control().thread(LOCAL.me.get()).spoilt.set(1);
    }
}

/// The last thread has ended, and none has called `exit`: main's process is to do it.
pub(crate) fn all_ended() {
    assign(control().thread(0), BEGIN);
}

/// Waits in main's process, whose thread has ended, for the last of the others, and ends the program.
pub(crate) fn outlive() -> ! {
    next_thread(0);
    memory::update();
    LOCAL.holding.set(true);
    LOCAL.stage.set(Stage::Ending);
    close_record();
    decide(STATUS);
    program(crate::memory::STACK_TOP, || {
        // SAFETY: libc's function; no thread is left.
        unsafe { real::exit()(0) }
    })
}

/// Begins the end of the program in this thread: others do nothing any more that can be seen.
pub(crate) fn begin_exit(status: c_int) {
    if !LOCAL.on() || LOCAL.is_inside() {
        return;
    }
    site::set(0);
    apart(|| {
        let turn = token::take(Operation::Exit, status as u64);
        decide(STATUS | status as u32 & 0xff);
        output::flush();
        turn.keep();
        LOCAL.stage.set(Stage::Ending);
        count_faults();
        close_record();
        let me = sys::pid();
        let others = control()
            .used()
            .skip(1)
            .map(|(_, thread)| thread.pid.get() as i32);
        for pid in others.filter(|&pid| pid != 0 && pid != me) {
            sys::kill(pid, libc::SIGKILL);
        }
    });
}

fn close_record() {
    record().took.set(sys::now() - control().began.get());
}

/// Ends the program with a status, without the handlers of `exit`.
pub(crate) fn leave(status: c_int) -> ! {
    match LOCAL.stage.get() {
        Stage::Off => sys::exit_now(status),
        _ => end(status),
    }
}
