//! Pins that may move between threads. Pins that begin between two rounds share one guard.
//!
//! `seize` needs a block in a batch for each guard that is entered, and gives a guard that may move a number of its
//! own. With many such pins a batch would never be large enough. So a pin joins the *group* that is open, which lives
//! as long as one of its pins, and a round closes the open group before it hands anything in: a batch waits for no pin
//! that began after it.

use std::cell::UnsafeCell;
use std::sync::{Arc, Weak};

use seize::Collector;

use super::gate::Entered;
use crate::lock::SpinLock;

/// The open group, and all that live.
struct PinGroups {
    open: Weak<PinGroup>,
    living: Vec<Weak<PinGroup>>,
}

static GROUPS: SpinLock<PinGroups> = SpinLock::new(PinGroups {
    open: Weak::new(),
    living: Vec::new(),
});

/// A guard that several pins share.
pub(super) struct PinGroup {
    /// Replaced in the child of a fork alone.
    guard: UnsafeCell<Option<Entered>>,
}

// SAFETY: the guard may be dropped on any thread; it is written where there is one thread alone (`renew`).
unsafe impl Sync for PinGroup {}
// SAFETY: as above.
unsafe impl Send for PinGroup {}

/// Joins the open group, or opens one.
pub(super) fn join(collector: impl FnOnce() -> &'static Collector) -> Arc<PinGroup> {
    if let Some(open) = GROUPS.with(|groups| groups.open.upgrade()) {
        return open;
    }
    // Not under the lock: entering takes another one.
    let new = Arc::new(PinGroup {
        guard: UnsafeCell::new(Some(Entered::new(collector()))),
    });
    GROUPS.with(|groups| {
        groups.living.retain(|group| group.strong_count() > 0);
        groups.living.push(Arc::downgrade(&new));
        groups.open = Arc::downgrade(&new);
    });
    new
}

/// Closes the open group; pins that begin from now on are in another.
pub(super) fn close() {
    GROUPS.with(|groups| groups.open = Weak::new());
}

/// Takes the lock, before a fork.
pub(super) fn lock() {
    GROUPS.acquire();
}

/// Gives it up, in both processes.
pub(super) fn unlock() {
    GROUPS.release();
}

/// Gives the living groups guards of the new collector, in the child of a fork, as a pin may be in the hands of the
/// thread that is left.
///
/// # Safety
///
/// [`lock`] was called, and there is no other thread.
pub(super) unsafe fn renew(collector: &'static Collector) {
    // SAFETY: the caller holds the lock.
    unsafe {
        GROUPS.with_acquired(|groups| {
            for group in groups.living.iter().filter_map(Weak::upgrade) {
                // SAFETY: no other thread is there that looks at it. The old guard belongs to the collector of the
                // parent.
                let old = (*group.guard.get()).replace(Entered::new(collector));
                std::mem::forget(old);
            }
        });
    }
}
