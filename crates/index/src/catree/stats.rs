//! Counters of the tree.

use fyris_sync::atomic::{AtomicU64, Ordering};
use fyris_sync::counter::Striped;
use fyris_sync::reclaim::Guard;

use super::Tree;
use super::base::Base;
use super::inner::Inner;
use crate::key::TreeKey;
use crate::once_box::OnceBox;

/// The shape of a tree, and the adaptations since it was made. All zero before the tree has nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Base nodes now: leaves, in the default index.
    pub leaves: usize,
    /// Inner nodes now.
    pub inner_nodes: usize,
    /// Levels now, base nodes included: at least 2 if there is any.
    pub depth: usize,
    /// Times that the lock of a base node was not free for a thread that wanted it.
    pub conflicts: u64,
    /// Base nodes split because writers waited for each other.
    pub contention_splits: u64,
    /// Base nodes joined because writers no longer did.
    pub contention_joins: u64,
    /// Base nodes split because they were full.
    pub size_splits: u64,
    /// Base nodes joined because they were nearly empty.
    pub size_joins: u64,
    /// Base nodes rewritten because their slots had run out.
    pub rebuilds: u64,
}

/// The counters behind [`Stats`] and the sizes.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) entries: Striped,
    /// None before a node is made: there may be some before the tree has a root.
    shape: OnceBox<ShapeCounters>,
}

/// The counters that few writes move.
#[derive(Default)]
pub(crate) struct ShapeCounters {
    bases: RareCount,
    inner_nodes: RareCount,
    inner_bytes: RareCount,
    pub(super) conflicts: RareCount,
    pub(super) contention_splits: RareCount,
    pub(super) contention_joins: RareCount,
    pub(super) size_splits: RareCount,
    pub(super) size_joins: RareCount,
    pub(super) rebuilds: Striped,
}

/// A count that is changed seldom.
#[derive(Default)]
pub(crate) struct RareCount(AtomicU64);

impl RareCount {
    // Relaxed, all: numbers.

    /// Adds; returns the count after that.
    pub(super) fn add(&self, number: usize) -> u64 {
        self.0.fetch_add(number as u64, Ordering::Relaxed) + number as u64
    }

    fn subtract(&self, number: usize) {
        self.0.fetch_sub(number as u64, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Base nodes above which the counters that every write moves get a stripe for each thread.
const INFLATE_AT: u64 = 64;

impl Counters {
    /// Returns the counters of the shape of a tree that has nodes.
    pub(super) fn shape(&self) -> &ShapeCounters {
        self.shape.get_or_make(ShapeCounters::default)
    }

    pub(super) fn inner_came<K: TreeKey + ?Sized>(&self, node: &Inner<K>) {
        self.shape().inner_nodes.add(1);
        self.shape().inner_bytes.add(node.bytes());
    }

    pub(super) fn inner_went<K: TreeKey + ?Sized>(&self, node: &Inner<K>) {
        self.shape().inner_nodes.subtract(1);
        self.shape().inner_bytes.subtract(node.bytes());
    }

    /// Counts a base node that a split added, or the first.
    pub(super) fn base_came(&self) {
        if self.shape().bases.add(1) == INFLATE_AT {
            self.entries.inflate();
            self.shape().rebuilds.inflate();
        }
    }

    pub(super) fn base_went(&self) {
        self.shape().bases.subtract(1);
    }
}

fn count(counter: &Striped) -> u64 {
    counter.sum().max(0) as u64
}

impl<B: Base> Tree<B> {
    /// Counts entries that have come, or gone if the number is negative.
    #[inline]
    pub fn count_entries(&self, change: i64) {
        self.counters.entries.add(change);
    }

    /// Counts a thread that waits for the lock of a base node.
    #[cold]
    pub fn count_wait(&self) {
        self.counters.shape().conflicts.add(1);
    }

    /// Returns the number of entries; exact while no thread writes.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a number, wrong while threads write"
    )]
    pub fn len(&self) -> usize {
        count(&self.counters.entries) as usize
    }

    /// Returns the number of entries at one moment. May take long under constant writing.
    pub(crate) fn exact_len(&self) -> usize {
        usize::try_from(self.counters.entries.exact()).unwrap_or(0)
    }

    /// Returns the number of base nodes; exact while no thread writes.
    pub fn bases(&self) -> usize {
        (self.counters.shape.get()).map_or(0, |shape| shape.bases.get() as usize)
    }

    /// Returns the number of bytes allocated for the tree, without what base nodes and entries name. O(1).
    pub fn memory(&self) -> usize {
        let entries = self.counters.entries.memory();
        let nodes = self.counters.shape.get().map_or(0, |shape| {
            let counters = size_of_val(shape) + shape.rebuilds.memory();
            self.bases() * size_of::<B>() + shape.inner_bytes.get() as usize + counters
        });
        size_of::<Self>() + entries + nodes
    }

    /// Returns the shape of the tree; each figure exact while no thread writes.
    pub fn stats(&self, pin: &impl Guard) -> Stats {
        // The root first: the counters are there before it.
        let (false, Some(c)) = (self.is_bare(), self.counters.shape.get()) else {
            return Stats::default();
        };
        Stats {
            leaves: self.bases(),
            inner_nodes: c.inner_nodes.get() as usize,
            depth: self.root(pin).level() + 1,
            conflicts: c.conflicts.get(),
            contention_splits: c.contention_splits.get(),
            contention_joins: c.contention_joins.get(),
            size_splits: c.size_splits.get(),
            size_joins: c.size_joins.get(),
            rebuilds: count(&c.rebuilds),
        }
    }
}
