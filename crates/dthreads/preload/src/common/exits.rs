//! What the program wants done at its end (`atexit`, `on_exit`, `at_quick_exit`, destructors of C++'s static
//! variables).
//!
//! libc keeps that for each process. What is registered once there are threads is in a list in the heap, and given to
//! libc by the process that ends the program, which has had what came before since it was forked.

use std::ffi::{c_int, c_void};

use fyris_dthreads_tools::record::Operation;

use crate::shared::control::{control, record};
use crate::system::{on, real};
use crate::turn::in_turn;

pub(crate) type AtExit = unsafe extern "C" fn(*mut c_void);
pub(crate) type OnExit = unsafe extern "C" fn(c_int, *mut c_void);

/// What is to be called, and at which end.
#[derive(Clone, Copy)]
enum What {
    Plain(AtExit),
    /// Is given the exit status, too.
    WithStatus(OnExit),
    /// At `quick_exit`.
    Quick(AtExit),
}

impl What {
    /// Returns where the program's function is.
    fn address(self) -> u64 {
        match self {
            What::Plain(function) | What::Quick(function) => function as usize as u64,
            What::WithStatus(function) => function as usize as u64,
        }
    }

    /// Gives it to libc.
    unsafe fn register(self, argument: *mut c_void, module: *mut c_void) -> c_int {
        // SAFETY: as the caller promises: what the program has registered.
        unsafe {
            match self {
                What::Plain(function) => real::__cxa_atexit()(function, argument, module),
                What::WithStatus(function) => real::on_exit()(function, argument),
                What::Quick(function) => real::__cxa_at_quick_exit()(function, module),
            }
        }
    }
}

/// A block of the heap.
struct Exit {
    what: What,
    argument: *mut c_void,
    module: *mut c_void,
    next: *mut Exit,
}

/// Returns the one that was registered last.
fn last() -> *mut Exit {
    std::ptr::with_exposed_provenance_mut(control().exits.get() as usize)
}

/// Registers what the program wants done.
unsafe fn add(what: What, argument: *mut c_void, module: *mut c_void) -> c_int {
    // The first thread is created by this one, or by one that this one has synchronized with.
    if !on() || record().created.get() == 1 {
        // SAFETY: as the caller promises.
        return unsafe { what.register(argument, module) };
    }
    // SAFETY: a fresh block of this size, if there is one.
    unsafe {
        let exit: *mut Exit = libc::malloc(size_of::<Exit>()).cast();
        if exit.is_null() {
            return -1;
        }
        in_turn(Operation::AtExit, what.address(), |_| {
            exit.write(Exit {
                what,
                argument,
                module,
                next: last(),
            });
            control().exits.set(exit.expose_provenance() as u64);
        });
    }
    0
}

pub(crate) unsafe extern "C" fn __cxa_atexit(
    function: AtExit,
    argument: *mut c_void,
    module: *mut c_void,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { add(What::Plain(function), argument, module) }
}

pub(crate) unsafe extern "C" fn on_exit(function: OnExit, argument: *mut c_void) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { add(What::WithStatus(function), argument, std::ptr::null_mut()) }
}

/// What `at_quick_exit` is in a program.
pub(crate) unsafe extern "C" fn __cxa_at_quick_exit(
    function: AtExit,
    module: *mut c_void,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { add(What::Quick(function), std::ptr::null_mut(), module) }
}

/// Takes those off the list that `is_meant` says, the last first.
fn take(is_meant: impl Fn(&Exit) -> bool) -> Vec<(What, *mut c_void)> {
    let (mut taken, mut kept) = (Vec::new(), std::ptr::null_mut::<Exit>());
    let mut exit = last();
    control().exits.set(0);
    while !exit.is_null() {
        // SAFETY: blocks of the list, in a turn.
        unsafe {
            let next = (*exit).next;
            if is_meant(&*exit) {
                taken.push(((*exit).what, (*exit).argument));
            } else {
                (*exit).next = std::ptr::null_mut();
                match kept.is_null() {
                    true => control().exits.set(exit.expose_provenance() as u64),
                    false => (*kept).next = exit,
                }
                kept = exit;
            }
            exit = next;
        }
    }
    taken
}

/// Gives libc all of it: the program ends. The token is here, and stays.
pub(crate) fn register() {
    for (what, argument) in take(|_| true).into_iter().rev() {
        // SAFETY: what the program has registered.
        unsafe { what.register(argument, std::ptr::null_mut()) };
    }
}

/// libc's: a module goes, or the program ends.
pub(crate) unsafe extern "C" fn __cxa_finalize(module: *mut c_void) {
    if on() && control().exits.get() != 0 {
        let all = in_turn(Operation::AtExit, module.addr() as u64, |_| {
            take(|exit| exit.module == module && !matches!(exit.what, What::WithStatus(_)))
        });
        // What is for `quick_exit` goes with its module.
        for (what, argument) in all {
            if let What::Plain(function) = what {
                // SAFETY: what the module has registered.
                unsafe { function(argument) };
            }
        }
    }
    // SAFETY: as the caller promises.
    unsafe { real::__cxa_finalize()(module) }
}
