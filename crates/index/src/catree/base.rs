//! The traits of base nodes and of their locks.

use std::ptr::NonNull;

use fyris_sync::lock::rw::{Chosen, RawFair};
use fyris_sync::lock::{Kept, StatGuard, StatLock, StatRwLock};
use fyris_sync::reclaim::Retire;

use super::draft::Sep;
use crate::key::TreeKey;
use crate::key::probe::Fence;

/// A base node: the entries of a range of keys, which never changes, under one lock.
///
/// The tree above decides when a base node is split or joined, and puts its successors into the inner nodes. The
/// structure on top of the tree finds a base node ([`Tree::lock_base`](super::Tree::lock_base), or
/// [`Tree::find_base`](super::Tree::find_base) for readers without the lock), changes what it holds, and settles
/// ([`Tree::settle`](super::Tree::settle)). `ordered`, whose leaves may be full, replaces them by itself as well.
///
/// # Readers
///
/// The tree reads nothing of a base node but under its lock. The structure on top decides how its readers read it:
///
/// * *Without a lock*, as the leaves of `ordered`: then a dead node goes on to show what it held when it died
///   (invariant FROZEN_NODE), and a read of it counts as one at that moment, so that no read is repeated. `split` and
///   `join` copy.
/// * *Optimistically*, by a version that writers move: as long as the version shows that the node was neither changed
///   nor dead the read stands. `split` and `join` may move what the node holds, but memory that a reader may be looking
///   at is retired, not freed (invariant RECLAIM).
/// * *Under the lock*, taken alone or, where [`Base::Lock`] can, as one of several readers: a reader that finds the
///   node dead begins anew at the root. `split` and `join` may move what the node holds.
///
/// # Safety
///
/// `split` and `join` return nodes that the caller alone can reach, and that stay valid until they are
/// disposed of or reclaimed. The lock of a node, which stays the same, has one holder at a time, and none once it has
/// been marked dead. An implementation whose keys or separators are wrong makes the tree lose keys, and does
/// nothing worse.
pub unsafe trait Base: Retire + Sized {
    /// The keys of the entries.
    type Key: TreeKey + ?Sized;
    /// The lock of a node.
    type Lock: BaseLock;

    /// A node that has fewer entries, after one was removed, is joined with a neighbour although nothing else tells to.
    const FEW: usize;
    /// Two neighbours join if they have no more entries than this together, or if one of them has none.
    const JOIN_MAX: usize;

    /// Returns the lock.
    fn lock(&self) -> &Self::Lock;

    /// Returns how many entries there are. A node that joins however many there are ([`Base::JOIN_MAX`]) need not count
    /// beyond two.
    ///
    /// # Safety
    ///
    /// The caller holds the lock.
    unsafe fn entries(&self) -> usize;

    /// Prefetches the lines that a reader of the node looks at first.
    #[inline]
    fn prefetch(_: *const Self) {}

    /// Makes two nodes that hold the entries of this one, at least one each.
    ///
    /// If it panics the node is unchanged.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, the node is alive and has at least two entries; it dies before it is unlocked.
    unsafe fn split(&self, bounds: Bounds<'_, Self::Key>, learnt: Learnt) -> Halves<Self>;

    /// Makes one node that holds the entries of two neighbours.
    ///
    /// If it panics the nodes are unchanged.
    ///
    /// # Safety
    ///
    /// As for `split`, of both nodes, however many entries they have. `bounds` are those of the new node.
    unsafe fn join(
        low: &Self,
        high: &Self,
        bounds: Bounds<'_, Self::Key>,
        learnt: Learnt,
    ) -> NonNull<Self>;

    /// Frees a node and what its entries name.
    ///
    /// # Safety
    ///
    /// Only the caller can reach the node and its entries, and it is freed once.
    unsafe fn dispose(node: *mut Self);
}

/// Two nodes that take the place of one.
pub struct Halves<B: Base> {
    /// The lower half.
    pub low: NonNull<B>,
    /// The separator between them. Owned by the tree from when it is published; until then it is not dropped.
    pub sep: Sep<B::Key>,
    /// The upper half.
    pub high: NonNull<B>,
}

/// The ends of the range of keys that a node covers; `None`: an end of the tree.
pub struct Bounds<'p, K: TreeKey + ?Sized> {
    /// The lower end, which is in the range.
    pub low: Option<Fence<'p, K>>,
    /// The upper end, which is not.
    pub high: Option<Fence<'p, K>>,
}

/// The knowledge of contention that a base node hands over to its successor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Learnt {
    /// The statistic of the lock.
    pub statistic: i64,
    /// Contention made the node small: only the lack of contention joins it again.
    pub forced: bool,
}

/// The lock of a base node: a mutual exclusion lock, or the writing side of a reader-writer lock, that collects
/// statistics and knows when its node is dead.
pub trait BaseLock {
    /// The lock, held alone. Dropping it unlocks.
    type Held<'a>: Held
    where
        Self: 'a;

    /// Takes the lock if it is free and the node alive.
    fn try_lock(&self) -> Option<Self::Held<'_>>;

    /// Takes the lock after a try that failed, waiting if need be; `None` if the node is dead.
    fn wait(&self) -> Option<Self::Held<'_>>;
}

/// The lock of a base node, held alone.
pub trait Held {
    /// Counts this acquisition, which waited or did not, and returns the statistic.
    fn count(&mut self) -> i64;

    /// Counts this acquisition as one of several that an operation makes one after another, which fewer nodes would
    /// serve better, and returns the statistic.
    fn count_several(&mut self) -> i64;

    /// Sets the statistic.
    fn set_statistic(&mut self, statistic: i64);

    /// Returns what the node has learnt.
    fn learnt(&self) -> Learnt;

    /// Unlocks a node that has been unlinked, and marks it dead: no thread gets its lock again.
    fn mark_dead(self);
}

/// The lock of a base node of a kind, held.
pub(crate) type HeldBase<'p, B> = <<B as Base>::Lock as BaseLock>::Held<'p>;

/// The flag is [`Learnt::forced`].
impl BaseLock for StatLock {
    type Held<'a> = StatGuard<'a>;

    #[inline]
    fn try_lock(&self) -> Option<StatGuard<'_>> {
        StatLock::try_lock(self)
    }

    fn wait(&self) -> Option<StatGuard<'_>> {
        StatLock::wait(self)
    }
}

/// The statistics lock over a reader-writer lock of a kind that its maker chooses.
pub type SharedLock = StatRwLock<RawFair<Chosen>>;

/// The flag is [`Learnt::forced`].
impl BaseLock for SharedLock {
    type Held<'a> = StatGuard<'a, Self>;

    #[inline]
    fn try_lock(&self) -> Option<StatGuard<'_, Self>> {
        self.try_write()
    }

    fn wait(&self) -> Option<StatGuard<'_, Self>> {
        self.wait_to_write()
    }
}

impl<L: Kept> Held for StatGuard<'_, L> {
    #[inline]
    fn count(&mut self) -> i64 {
        StatGuard::count(self)
    }

    #[inline]
    fn count_several(&mut self) -> i64 {
        StatGuard::count_several(self)
    }

    #[inline]
    fn set_statistic(&mut self, statistic: i64) {
        self.word = self.word.with_statistic(statistic);
    }

    #[inline]
    fn learnt(&self) -> Learnt {
        Learnt {
            statistic: self.word.statistic(),
            forced: self.word.is_flagged(),
        }
    }

    #[inline]
    fn mark_dead(self) {
        StatGuard::mark_dead(self);
    }
}
