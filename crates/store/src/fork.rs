//! Tables in the child of a fork.
//!
//! A child has one thread, and the memory of its parent as it was: what another thread had locked stays locked, and
//! what it was changing stays half changed. So a child touches nothing of a store: whatever it asks is
//! [`Error::Forked`], at once, and so is what its own children ask. It may call `exec` or `_exit`, and use what is no
//! table.
//!
//! A process that forks before it makes its first store may use stores in all its children.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// The bits of an address that count: all, or none in a child.
static ADDRESS: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Sees to it that a child knows that it is one. Called when a store is made.
pub(crate) fn watch() {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    // Relaxed: who comes second may be faster, and then has nothing that a child could find locked.
    if cfg!(unix) && !WATCHED.swap(true, Ordering::Relaxed) {
        extern "C" fn in_child() {
            // Relaxed: there is no other thread.
            ADDRESS.store(0, Ordering::Relaxed);
        }
        // SAFETY: the function lives as long as this library, with which the system forgets it.
        #[cfg(unix)]
        unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
        }
    }
}

/// Returns the address as it is, and null in a child. One instruction: every operation on a table makes it.
#[inline(always)]
pub(crate) fn unless_child<T>(pointer: *mut T) -> *mut T {
    // Relaxed: written where there is no other thread.
    pointer.map_addr(|address| address & ADDRESS.load(Ordering::Relaxed))
}

/// Returns whether this process is a child of one that had made a store.
#[inline]
pub(crate) fn is_child() -> bool {
    // Relaxed: as above.
    ADDRESS.load(Ordering::Relaxed) == 0 && !cfg!(fyris_mutant = "store_fork_unnoticed")
}

/// Refuses a child.
#[inline]
pub(crate) fn check() -> Result<()> {
    match is_child() {
        true => Err(Error::Forked),
        false => Ok(()),
    }
}
