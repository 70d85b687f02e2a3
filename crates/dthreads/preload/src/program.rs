//! Calls about a process that a thread must not see as its own: signals, ids, the end; and what has to be noted about
//! it.

use std::ffi::{c_char, c_int, c_void};

use fyris_dthreads_tools::record::Operation;
use libc::EINVAL;

use crate::calls::mapping;
use crate::common::exits;
use crate::shared::control::{STATUS, changed, control};
use crate::shared::{conflicts, end, handlers, stacks};
use crate::system::{LOCAL, Stage, apart, image, mask, on, real, site, sys};
use crate::threads::keys;
use crate::turn::{log, token};

/// libc's, and noted: it changes what a process has for itself (invariant IMAGE).
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    changed();
    let before = image::loads();
    // SAFETY: as the caller promises.
    let library = unsafe { real::dlopen()(file, flags) };
    if image::loads() != before {
        mapping::note_library(library);
    }
    library
}

pub(crate) unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if end::is_ours(signal) && LOCAL.stage.get() != Stage::Off {
        // SAFETY: as the caller promises.
        return unsafe { own_action(signal, new.as_ref(), old.as_mut()) };
    }
    // SAFETY: as the caller promises.
    let set = || unsafe {
        let new = new.as_ref().map(|new| libc::sigaction {
            sa_mask: without_own(new.sa_mask),
            ..*new
        });
        let new = new.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let done = real::sigaction()(signal, new, old);
        if !old.is_null() && stacks::is_own((*old).sa_sigaction) {
            old.write_bytes(0, 1);
        }
        done
    };
    for_all(signal, !new.is_null(), set, |&done| done == 0)
}

/// Asks for the action of a signal or, if it `changes`, sets it: in a turn, for all threads if it is `done`. In a call
/// of the library's it is this process's alone.
fn for_all<R>(signal: c_int, changes: bool, set: impl FnOnce() -> R, done: fn(&R) -> bool) -> R {
    if changes && signal == libc::SIGSEGV {
        stacks::leave_faults();
    }
    if !on() {
        changed();
        return set();
    }
    token::in_turn(Operation::Handler, signal as u64, |_| {
        let result = set();
        if changes && done(&result) {
            handlers::publish(signal);
        }
        result
    })
}

/// libc's; while the program has no stack for handlers, or a small one, the library has its own there.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    let call = real::sigaltstack();
    if LOCAL.stage.get() == Stage::Off {
        // SAFETY: as the caller promises.
        return unsafe { call(new, old) };
    }
    let before = stacks::alternate();
    // SAFETY: the caller's description, if there is one.
    let done = match unsafe { new.as_ref() } {
        None => true,
        Some(new) if new.ss_flags & libc::SS_DISABLE != 0 => stacks::drop_alternate(),
        Some(new) if new.ss_flags & !libc::SS_ONSTACK == 0 && stacks::is_small(new) => {
            stacks::replace_alternate(new)
        }
        // SAFETY: as the caller promises.
        Some(new) => (unsafe { call(new, std::ptr::null_mut()) }) == 0 && stacks::note_alternate(),
    };
    if done && !old.is_null() {
        // SAFETY: the caller's variable.
        unsafe { old.write(before) };
    }
    c_int::from(done) - 1
}

/// Answers for a signal of the library's own as if nothing was set for it. Programs that ask for the actions of all
/// signals, or reset them, go on; a handler is refused.
fn own_action(
    signal: c_int,
    new: Option<&libc::sigaction>,
    old: Option<&mut libc::sigaction>,
) -> c_int {
    let is_handler =
        |new: &libc::sigaction| ![libc::SIG_DFL, libc::SIG_IGN].contains(&new.sa_sigaction);
    if new.is_some_and(is_handler) {
        sys::say(format_args!("signal {signal} is the library's own"));
        return sys::fail(EINVAL);
    }
    if let Some(old) = old {
        // SAFETY: zeros are a valid action: that of `SIG_DFL`.
        *old = unsafe { std::mem::zeroed() };
    }
    0
}

pub(crate) unsafe extern "C" fn signal(
    number: c_int,
    handler: libc::sighandler_t,
) -> libc::sighandler_t {
    if end::is_ours(number) && LOCAL.stage.get() != Stage::Off {
        // SAFETY: zeros are a valid action.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler;
        return match own_action(number, Some(&action), None) {
            0 => libc::SIG_DFL,
            _ => libc::SIG_ERR,
        };
    }
    // SAFETY: as the caller promises.
    let set = || unsafe { real::signal()(number, handler) };
    match for_all(number, true, set, |&old| old != libc::SIG_ERR) {
        old if stacks::is_own(old) => libc::SIG_DFL,
        old => old,
    }
}

/// Returns a set without the library's signals.
fn without_own(mut set: libc::sigset_t) -> libc::sigset_t {
    end::own_signals().for_each(|signal| {
        // SAFETY: a set of this frame.
        unsafe { libc::sigdelset(&mut set, signal) };
    });
    set
}

/// Masks of the program never hold back the library's signals.
unsafe fn mask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    let copy;
    let mut given = new;
    if !new.is_null() && how != libc::SIG_UNBLOCK {
        // SAFETY: the caller's set.
        copy = without_own(unsafe { new.read() });
        given = &copy;
    }
    // SAFETY: as the caller promises.
    let done = unsafe { real::sigprocmask()(how, given, old) };
    if !new.is_null() {
        mask::note();
    }
    done
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn sigprocmask(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { mask(how, new, old) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: as the caller promises.
    match unsafe { mask(how, new, old) } {
        0 => 0,
        _ => EINVAL,
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn getpid() -> libc::pid_t {
    match LOCAL.is_inside() || LOCAL.stage.get() == Stage::Off {
        true => sys::pid(),
        false => control().main_pid.get() as libc::pid_t,
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn exit(status: c_int) -> ! {
    if LOCAL.on() && !LOCAL.is_inside() {
        keys::destroy_thread_locals();
    }
    begin_exit(status);
    // SAFETY: libc's function.
    unsafe { real::exit()(status) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn quick_exit(status: c_int) -> ! {
    begin_exit(status);
    // SAFETY: libc's function.
    unsafe { real::quick_exit()(status) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn _exit(status: c_int) -> ! {
    end::leave(status)
}

#[allow(non_snake_case)]
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn _Exit(status: c_int) -> ! {
    end::leave(status)
}

/// Begins the end of the program in this thread: others do nothing any more that can be seen.
pub(crate) fn begin_exit(status: c_int) {
    if !LOCAL.on() || LOCAL.is_inside() {
        return;
    }
    site::set(0);
    apart(|| {
        let turn = token::take(Operation::Exit, status as u64);
        end::decide(STATUS | status as u32 & 0xff);
        turn.keep();
        LOCAL.stage.set(Stage::Ending);
        log::count_faults();
        log::close_record();
        let me = sys::pid();
        let others = control()
            .used()
            .skip(1)
            .map(|(_, thread)| thread.pid.get() as i32);
        for pid in others.filter(|&pid| pid != 0 && pid != me) {
            sys::kill(pid, libc::SIGKILL);
        }
        conflicts::tell(true);
        exits::register();
    });
}
