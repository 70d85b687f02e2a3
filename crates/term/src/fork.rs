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
    use std::cell::Cell;

    use crate::{atom, value};

    thread_local! {
        /// The locks that this thread holds while it forks.
        static HELD: Cell<Option<(value::MadeHeld, atom::NamesHeld)>> = const { Cell::new(None) };
    }

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
        // A thread that ends, and has dropped its values, forks without the locks: it could not let go of them.
        let _ = HELD.try_with(|mine| mine.set(Some(held)));
    }

    extern "C" fn after() {
        let _ = HELD.try_with(Cell::take);
    }
}
