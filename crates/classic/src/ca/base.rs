//! A sequential tree as a base node of a contention adapting tree.

use std::cell::UnsafeCell;
use std::ops::Bound;
use std::ptr::NonNull;

use fyris_index::Entry;
use fyris_index::catree::{Base, Bounds, Halves, Learnt, Sep};
use fyris_index::prefetch;
use fyris_sync::reclaim::Retire;

use crate::sequential::{KeyOf, SplitTree};

use super::lock::ReadLock;

/// A base node: on a cache line of its own, since other threads wait for other nodes.
#[repr(align(64))]
pub(super) struct TreeBase<T, L> {
    lock: L,
    /// Read and written under the lock, while the node is alive.
    tree: UnsafeCell<T>,
}

// SAFETY: the tree is reached under the lock only, by threads that read at the same time, too.
unsafe impl<T: Send + Sync, L: Sync> Sync for TreeBase<T, L> {}

impl<T, L> TreeBase<T, L> {
    pub(super) fn alloc(tree: T, lock: L) -> NonNull<Self> {
        NonNull::from(Box::leak(Box::new(Self {
            lock,
            tree: UnsafeCell::new(tree),
        })))
    }

    /// Returns the tree to read.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, for reading at least.
    #[inline]
    pub(super) unsafe fn read(&self) -> &T {
        // SAFETY: the caller's contract; who changes the tree has the lock alone.
        unsafe { &*self.tree.get() }
    }

    /// Returns the tree.
    ///
    /// # Safety
    ///
    /// The caller holds the lock alone, and has no other reference to the tree.
    #[expect(clippy::mut_from_ref, reason = "the lock makes it unique")]
    #[inline]
    pub(super) unsafe fn tree(&self) -> &mut T {
        // SAFETY: the caller's contract.
        unsafe { &mut *self.tree.get() }
    }
}

impl<T, L> Retire for TreeBase<T, L> {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: from `alloc`, once, by the contract of `reclaim`. The tree has been moved out (`split`, `join`).
        drop(unsafe { Box::from_raw(ptr) });
    }
}

// SAFETY: nodes come from boxes.
unsafe impl<T: SplitTree, L: ReadLock> Base for TreeBase<T, L> {
    type Key = KeyOf<T>;
    type Lock = L;

    // As in the paper: only contention and its lack change the shape.
    const FEW: usize = 0;
    const JOIN_MAX: usize = usize::MAX;

    #[inline]
    fn lock(&self) -> &L {
        &self.lock
    }

    unsafe fn entries(&self) -> usize {
        // SAFETY: the caller holds the lock, and no reference to the tree.
        let tree = unsafe { self.tree() };
        match tree.middle() {
            Some(_) => 2,
            None => usize::from(tree.seek(Bound::Unbounded).is_some()),
        }
    }

    #[inline]
    fn prefetch(base: *const Self) {
        prefetch::read(base);
    }

    unsafe fn split(&self, _: Bounds<'_, KeyOf<T>>, learnt: Learnt) -> Halves<Self> {
        // SAFETY: the caller holds the lock.
        let tree = unsafe { self.tree() };
        let (below, above) = tree.middle().expect("two entries or more");
        let sep = Sep::between(below.key(), above.key());
        let high = tree.split_off(above.key());
        Halves {
            low: Self::alloc(std::mem::take(tree), self.lock.like(learnt)),
            sep,
            high: Self::alloc(high, self.lock.like(learnt)),
        }
    }

    unsafe fn join(
        low: &Self,
        high: &Self,
        _: Bounds<'_, KeyOf<T>>,
        learnt: Learnt,
    ) -> NonNull<Self> {
        let lock = low.lock.like(learnt);
        // SAFETY: the caller holds both locks.
        let (low, high) = unsafe { (low.tree(), high.tree()) };
        let (mut joined, high) = (std::mem::take(low), std::mem::take(high));
        if cfg!(fyris_mutant = "ca_join_forgets") {
            std::mem::forget(high);
        } else {
            joined.join(high);
        }
        Self::alloc(joined, lock)
    }

    unsafe fn dispose(node: *mut Self) {
        // SAFETY: the caller's contract; the tree disposes of its entries.
        drop(unsafe { Box::from_raw(node) });
    }
}
