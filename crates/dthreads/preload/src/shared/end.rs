//! How the program ends: all processes together.
//!
//! Invariant **TOGETHER**: no process outlives the program. All are children of main's process, and killed when that
//! dies; the death of one that is not the program's end is told to it by a signal, and it ends the same way.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

use fyris_sync::atomic::Ordering;

use crate::shared::control::{SIGNAL, STATUS, control};
use crate::shared::{conflicts, handlers};
use crate::system::{LOCAL, Solo, Stage, real, sys};

/// The signal of a child's death. Not SIGCHLD: the program's own `wait` must not see it.
pub(crate) const DEATH: c_int = 60;
/// The signal that tells main's process to end, or to set handlers.
const END: c_int = 61;

/// The signal of breakpoints, by which atomic operations are turns.
const BREAKPOINT: c_int = libc::SIGTRAP;

/// What is held back while the handler of a breakpoint does what others must not interrupt.
pub(crate) const ALL_BUT_FAULTS: u64 = !(1 << (libc::SIGSEGV - 1));

/// Bytes of the stack for handlers.
pub(super) const HANDLERS: usize = 64 << 10;

/// Where the stack for handlers is; 0 if there is none.
static HANDLERS_AT: Solo<Cell<usize>> = Solo::new(Cell::new(0));

/// Installs the handlers, on a stack that is private: on the program's their frames would be changes of its memory.
pub(crate) fn watch() {
    HANDLERS_AT.set(sys::map_private(HANDLERS).expose_provenance());
    use_stack();
    handle(DEATH, on_death);
    handle(END, on_end);
}

/// Makes this process's handlers run on the library's stack. Returns false if the program's own is in use.
pub(super) fn use_stack() -> bool {
    let stack = libc::stack_t {
        ss_sp: ptr::with_exposed_provenance_mut(HANDLERS_AT.get()),
        ss_flags: match HANDLERS_AT.get() {
            0 => libc::SS_DISABLE,
            _ => 0,
        },
        ss_size: HANDLERS,
    };
    // SAFETY: memory that is mapped for ever.
    unsafe { real::sigaltstack()(&stack, ptr::null_mut()) == 0 }
}

pub(super) fn handle(
    signal: c_int,
    function: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void),
) {
    // SAFETY: zeros are a valid action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = function as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    if signal == BREAKPOINT {
        // SAFETY: the kernel's set is in the first word.
        unsafe {
            (&raw mut action.sa_mask)
                .cast::<u64>()
                .write(ALL_BUT_FAULTS)
        };
    }
    // SAFETY: a handler that makes system calls and looks at shared atomics only.
    unsafe { real::sigaction()(signal, &action, ptr::null_mut()) };
}

/// The program handles faults itself.
static FAULTS_TAKEN: Solo<Cell<bool>> = Solo::new(Cell::new(false));

/// Notes that the program handles faults itself.
pub(super) fn take_faults() {
    FAULTS_TAKEN.set(true);
}

/// Returns whether the program handles faults itself.
pub(super) fn are_faults_taken() -> bool {
    FAULTS_TAKEN.get()
}

/// Gives other handlers the part below `used` of the stack for handlers, while the handler whose frames end there goes
/// on elsewhere. The kernel gives the stack back whole when that one returns.
#[cfg(target_arch = "x86_64")]
pub(crate) fn share_stack(stack: &libc::stack_t, used: usize) {
    let low = stack.ss_sp.addr();
    if (low..low + stack.ss_size).contains(&used) {
        let rest = libc::stack_t {
            ss_flags: 0,
            ss_size: (used - low) & !15,
            ..*stack
        };
        // SAFETY: memory of the present stack. One that is too small for the kernel stays as it is.
        unsafe { real::sigaltstack()(&rest, ptr::null_mut()) };
    }
}

/// Returns the signals that the library needs: its own, and that of faults.
pub(crate) fn own_signals() -> impl Iterator<Item = c_int> {
    let fault = (!FAULTS_TAKEN.get()).then_some(libc::SIGSEGV);
    [DEATH, END, BREAKPOINT].into_iter().chain(fault)
}

/// Returns whether a signal is the library's own.
pub(crate) fn is_ours(signal: c_int) -> bool {
    [DEATH, END, BREAKPOINT].contains(&signal)
}

/// Installs the handler of breakpoints.
#[cfg(target_arch = "x86_64")]
pub(crate) fn handle_breakpoints(
    function: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void),
) {
    handle(BREAKPOINT, function);
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
            libc::CLD_EXITED => {
                conflicts::tell(false);
                end_with(status)
            }
            _ => end_by(status),
        }
    }
}

extern "C" fn on_end(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    // Acquire: pairs with the Release of `decide`.
    match control().ending.load(Ordering::Acquire) {
        0 => handlers::update(),
        ending => end_as(ending),
    }
}

/// Tells main's process that there is a change: it sets handlers of signals, or ends.
pub(super) fn tell_main() {
    sys::kill(control().main_pid.get() as i32, END);
}

/// Ends main's process as was decided.
fn end_as(how: u32) -> ! {
    if how & SIGNAL != 0 {
        die((how & 0xff) as c_int);
    }
    sys::exit_now((how & 0xff) as i32);
}

/// Decides how the program ends, unless that is decided.
pub(crate) fn decide(how: u32) {
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
    conflicts::tell(true);
    end_with(status)
}

fn end_with(status: i32) -> ! {
    decide(STATUS | status as u32 & 0xff);
    let main = control().main_pid.get() as i32;
    if main != 0 && main != sys::pid() {
        tell_main();
        // Main's process ends at once, and this one with it.
        sleep_for_ever();
    }
    sys::exit_now(status)
}

/// Ends the program by a signal, as the death of a thread by it would.
fn end_by(signal: c_int) -> ! {
    conflicts::tell(false);
    decide(SIGNAL | signal as u32);
    let main = control().main_pid.get() as i32;
    if main != sys::pid() {
        tell_main();
        sleep_for_ever();
    }
    die(signal)
}

/// Returns what this process does at a signal.
pub(crate) fn action(signal: c_int) -> libc::sigaction {
    // SAFETY: zeros are a valid action, which the call fills.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        real::sigaction()(signal, ptr::null(), &mut action);
        action
    }
}

/// Gives a signal its default action.
pub(super) fn reset(signal: c_int) {
    // SAFETY: zeros are a valid action: that of `SIG_DFL`.
    unsafe {
        let action: libc::sigaction = std::mem::zeroed();
        real::sigaction()(signal, &action, ptr::null_mut());
    }
}

/// Ends this process by a signal.
pub(crate) fn die(signal: c_int) -> ! {
    reset(signal);
    // SAFETY: a mask without the signal, and the signal.
    unsafe {
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

/// Ends the program with a status, without the handlers of `exit`; or the child of `vfork`, which is in the memory of
/// this process.
pub(crate) fn leave(status: c_int) -> ! {
    match LOCAL.stage.get() {
        Stage::Off => sys::exit_now(status),
        _ if process() != sys::pid() => sys::exit_now(status),
        _ => end(status),
    }
}

/// Returns the process of this thread.
fn process() -> i32 {
    let control = control();
    match LOCAL.me.get() {
        0 => control.main_pid.get() as i32,
        slot => control.thread(slot).pid.get() as i32,
    }
}
