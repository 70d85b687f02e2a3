//! Thread-specific data: the keys are the program's, the values each thread's own.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

use fyris_dthreads_tools::record::Operation;
use libc::{EAGAIN, EINVAL, pthread_key_t};

use crate::shared::control::{KEYS, Key, control};
use crate::system::{LOCAL, Solo, on, private, real};
use crate::turn::in_turn;

/// Rounds of destructors, which may set values again: as many as POSIX asks for.
const ROUNDS: usize = 4;

pub(crate) type Destructor = extern "C-unwind" fn(*mut c_void);

struct Value {
    value: Cell<*const c_void>,
    /// The key that it was set for; keys are used again.
    used: Cell<u64>,
}

static VALUES: Solo<[Value; KEYS]> = Solo::new(
    [const {
        Value {
            value: Cell::new(ptr::null()),
            used: Cell::new(0),
        }
    }; KEYS],
);

/// Forgets all values and C++ variables, which are the creator's: another thread begins here.
pub(crate) fn forget() {
    thread_locals::forget();
    VALUES.iter().for_each(|value| value.value.set(ptr::null()));
}

/// Calls the destructors of the C++ variables of this thread.
pub(crate) fn destroy_thread_locals() {
    thread_locals::destroy();
}

/// Calls the destructors of the values of this thread, and of its C++ variables.
pub(crate) fn destroy() {
    destroy_thread_locals();
    for _ in 0..ROUNDS {
        let mut any = false;
        for (key, value) in control().keys.iter().zip(VALUES.iter()) {
            let now = value.value.get();
            let destructor = key.destructor.get();
            if now.is_null() || destructor == 0 || key.used.get() != value.used.get() {
                continue;
            }
            value.value.set(ptr::null());
            any = true;
            // SAFETY: what the program has given to `pthread_key_create`.
            let destructor: Destructor = unsafe {
                std::mem::transmute(ptr::with_exposed_provenance::<c_void>(destructor as usize))
            };
            destructor(now.cast_mut());
        }
        if !any {
            return;
        }
    }
}

/// Calls `change` in a turn.
fn turn<R>(key: u64, change: impl FnOnce() -> R) -> R {
    if !on() {
        return change();
    }
    in_turn(Operation::Key, key, |_| change())
}

pub(crate) unsafe extern "C" fn pthread_key_create(
    key: *mut pthread_key_t,
    destructor: Option<Destructor>,
) -> c_int {
    turn(0, || {
        let free = |key: &Key| key.used.get().is_multiple_of(2);
        let Some(at) = control().keys.iter().position(free) else {
            return EAGAIN;
        };
        let entry = &control().keys[at];
        entry.used.add(1);
        entry
            .destructor
            .set(destructor.map_or(0, |function| function as usize as u64));
        // SAFETY: the caller's variable.
        unsafe { key.write(at as pthread_key_t) };
        0
    })
}

/// Returns the entry of a key in use.
fn entry(key: pthread_key_t) -> Option<&'static Key> {
    let entry = control().keys.get(key as usize)?;
    (!entry.used.get().is_multiple_of(2)).then_some(entry)
}

pub(crate) extern "C" fn pthread_key_delete(key: pthread_key_t) -> c_int {
    turn(u64::from(key), || match entry(key) {
        Some(entry) => {
            entry.used.add(1);
            0
        }
        None => EINVAL,
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int {
    let Some(entry) = entry(key) else {
        return EINVAL;
    };
    let own = &VALUES[key as usize];
    own.value.set(value);
    own.used.set(entry.used.get());
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn pthread_getspecific(key: pthread_key_t) -> *mut c_void {
    match (VALUES.get(key as usize), entry(key)) {
        (Some(own), Some(entry)) if own.used.get() == entry.used.get() => {
            own.value.get().cast_mut()
        }
        _ => ptr::null_mut(),
    }
}

/// The destructors of C++'s thread-local variables. libc calls those of main itself.
mod thread_locals {
    use super::*;

    type Function = unsafe extern "C-unwind" fn(*mut c_void);

    struct Entry {
        function: Function,
        object: *mut c_void,
        next: *mut Entry,
    }

    static LAST: Solo<Cell<*mut Entry>> = Solo::new(Cell::new(ptr::null_mut()));

    /// Takes the entry that was made last off the list.
    fn pop() -> Option<Entry> {
        let last = LAST.get();
        if last.is_null() {
            return None;
        }
        // SAFETY: made below, and gone from the list before it is freed.
        unsafe {
            let entry = last.read();
            LAST.set(entry.next);
            private::free(last.cast());
            Some(entry)
        }
    }

    pub(super) fn destroy() {
        while let Some(entry) = pop() {
            // SAFETY: what the program has registered.
            unsafe { (entry.function)(entry.object) };
        }
    }

    pub(super) fn forget() {
        while pop().is_some() {}
    }

    #[cfg_attr(not(test), unsafe(no_mangle))]
    unsafe extern "C" fn __cxa_thread_atexit_impl(
        function: Function,
        object: *mut c_void,
        module: *mut c_void,
    ) -> c_int {
        if LOCAL.me.get() == 0 {
            // SAFETY: as the caller promises; the types differ in unwinding only.
            return unsafe {
                let function =
                    std::mem::transmute::<Function, unsafe extern "C" fn(*mut c_void)>(function);
                real::__cxa_thread_atexit_impl()(function, object, module)
            };
        }
        let entry: *mut Entry = private::allocate(size_of::<Entry>(), 16).cast();
        if entry.is_null() {
            return -1;
        }
        // SAFETY: a fresh block.
        unsafe {
            entry.write(Entry {
                function,
                object,
                next: LAST.get(),
            });
        }
        LAST.set(entry);
        0
    }
}
