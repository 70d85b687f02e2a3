//! What is interned, over a fork of the process.
//!
//! A child has one thread, and each lock as it was: what another thread held is held for good. So a thread that forks
//! holds the locks of all that is interned meanwhile, and lets go of them in the parent and in the child. Both then
//! have tables that nobody was changing, and the child can make and read terms as its parent does.

#[cfg(unix)]
pub(crate) use held::watch;

/// Elsewhere no process is forked.
#[cfg(not(unix))]
pub(crate) fn watch() {}

#[cfg(unix)]
mod held {
    use std::cell::UnsafeCell;

    use crate::{atom, value};

    /// The locks that the thread that forks holds. Not thread-local: a library that is loaded late has little TLS.
    struct Held(UnsafeCell<Option<(value::MadeHeld, atom::NamesHeld)>>);

    // SAFETY: looked at by who holds all the locks, and by nobody else.
    unsafe impl Sync for Held {}

    static HELD: Held = Held(UnsafeCell::new(None));

    /// Sees to it that forks hold the locks. Called once, before there is a table with names.
    pub(crate) fn watch() {
        // SAFETY: the functions live as long as this library, with which the system forgets them, and do not unwind: a
        // lock whose holder panicked is taken as any other.
        unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) };
    }

    extern "C" fn before() {
        if cfg!(fyris_mutant = "term_fork_unheld") {
            return;
        }
        // In this order: a definition is made under the lock of its kind, and may ask for names.
        let held = (value::hold(), atom::hold());
        // SAFETY: this thread holds the locks.
        unsafe { *HELD.0.get() = Some(held) };
    }

    extern "C" fn after() {
        // SAFETY: this thread still holds them, since `before`. They are taken out, and let go of behind that: the next
        // thread to fork comes as soon as it can have them.
        let held = unsafe { (*HELD.0.get()).take() };
        drop(held);
    }
}
