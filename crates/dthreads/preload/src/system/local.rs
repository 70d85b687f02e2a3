//! What a process of the program knows for itself.
//!
//! Invariant **ONE**: a process of the program has one thread of execution, the thread that it stands for. So its own
//! state needs no lock; cells are enough. A signal handler of the program may interrupt the library, but POSIX lets it
//! call nothing that comes here.

use std::cell::{Cell, UnsafeCell};
use std::ops::Deref;

/// State of this process (invariant ONE).
#[repr(transparent)]
pub(crate) struct Solo<T>(T);

// SAFETY: a process has one thread of execution (invariant ONE).
unsafe impl<T> Sync for Solo<T> {}

impl<T> Solo<T> {
    pub(crate) const fn new(value: T) -> Self {
        Solo(value)
    }
}

impl<T> Deref for Solo<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A value that is lent out for the time of a call.
pub(crate) struct Lent<T>(UnsafeCell<Option<T>>, Cell<bool>);

impl<T> Lent<T> {
    pub(crate) const fn new() -> Self {
        Lent(UnsafeCell::new(None), Cell::new(false))
    }

    /// Puts a value there and returns what was there.
    pub(crate) fn put(&self, value: T) -> Option<T> {
        assert!(!self.1.get(), "the value is in use");
        // SAFETY: not lent out, as just checked, and no other thread (invariant ONE).
        unsafe { (*self.0.get()).replace(value) }
    }

    /// Takes the value away.
    pub(crate) fn take(&self) -> Option<T> {
        assert!(!self.1.get(), "the value is in use");
        // SAFETY: as above.
        unsafe { (*self.0.get()).take() }
    }

    /// Returns whether the value is lent out.
    pub(crate) fn is_lent(&self) -> bool {
        self.1.get()
    }

    /// Calls `use_it` with the value; `None` if there is none.
    pub(crate) fn with<R>(&self, use_it: impl FnOnce(&mut T) -> R) -> Option<R> {
        assert!(!self.1.replace(true), "the value is in use");
        // SAFETY: lent out once at a time by the flag, and no other thread (invariant ONE).
        let value = unsafe { (*self.0.get()).as_mut() };
        let result = value.map(use_it);
        self.1.set(false);
        result
    }
}

/// The stage of the process's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The library has not begun: threads and memory are ordinary. So they are in the child of a `fork`.
    Off,
    /// The program runs deterministically.
    On,
    /// The program is ending: the token stays here.
    Ending,
}

/// See the module.
pub(crate) struct Local {
    /// The slot of the thread that this process stands for.
    pub(crate) me: Cell<usize>,
    pub(crate) stage: Cell<Stage>,
    /// Calls of the library that are under way: memory is the library's own meanwhile.
    pub(crate) inside: Cell<u32>,
    /// This thread has the token.
    pub(crate) holding: Cell<bool>,
    /// The calls of this turn that have ended.
    pub(crate) points: Cell<u64>,
    /// Where the program called for this turn: the return address, 0 for the library itself, and the stack pointer.
    pub(crate) call: Cell<[usize; 2]>,
    /// The place where this thread's computation began (`skip.rs`); 0 once its pages are remembered.
    pub(crate) place: Cell<u64>,
    /// Bytes that system calls have filled since.
    pub(crate) filled: Cell<usize>,
    /// Pages that the library's own turns have published since.
    pub(crate) changed: Cell<usize>,
    /// Pages that have been committed since a synchronization point ended.
    pub(crate) committed: Cell<u64>,
    /// A thread that it has created may not have begun.
    pub(crate) creating: Cell<Option<usize>>,
    /// Lowest address in use of the program's stack.
    pub(crate) stack: Cell<usize>,
    /// The virtual time, in nanoseconds.
    pub(crate) time: Cell<u64>,
    /// Changes to what a process has for itself: mappings, handlers, environment.
    pub(crate) changes: Cell<u64>,
    /// Signals that this process holds back, as the program has asked for.
    pub(crate) mask: Cell<u64>,
}

pub(crate) static LOCAL: Solo<Local> = Solo::new(Local {
    me: Cell::new(0),
    stage: Cell::new(Stage::Off),
    inside: Cell::new(0),
    holding: Cell::new(false),
    points: Cell::new(0),
    call: Cell::new([0; 2]),
    place: Cell::new(0),
    filled: Cell::new(0),
    changed: Cell::new(0),
    committed: Cell::new(0),
    creating: Cell::new(None),
    stack: Cell::new(0),
    time: Cell::new(0),
    changes: Cell::new(0),
    mask: Cell::new(0),
});

impl Local {
    pub(crate) fn on(&self) -> bool {
        self.stage.get() == Stage::On
    }

    /// Returns whether a call comes from the library itself, or comes before it has begun.
    pub(crate) fn is_inside(&self) -> bool {
        self.inside.get() > 0
    }
}

/// Returns whether calls are turns now.
#[inline]
pub(crate) fn on() -> bool {
    LOCAL.on() && !LOCAL.is_inside()
}

/// Marks that the library is at work.
pub(crate) struct Inside(());

impl Inside {
    pub(crate) fn enter() -> Inside {
        LOCAL.inside.set(LOCAL.inside.get() + 1);
        Inside(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        LOCAL.inside.set(LOCAL.inside.get() - 1);
    }
}
