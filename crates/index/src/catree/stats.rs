//! Counters of the tree.

use fyris_sync::counter::Striped;
use fyris_sync::reclaim::Guard;

use super::Tree;
use super::base::Base;
use super::inner::Inner;
use crate::key::TreeKey;

/// The shape of a tree, and the adaptations since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Base nodes now: leaves, in the default index.
    pub leaves: usize,
    /// Inner nodes now.
    pub inner_nodes: usize,
    /// Levels now, base nodes included: at least 2.
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
    pub(super) bases: Striped,
    inner_nodes: Striped,
    inner_bytes: Striped,
    pub(super) conflicts: Striped,
    pub(super) contention_splits: Striped,
    pub(super) contention_joins: Striped,
    pub(super) size_splits: Striped,
    pub(super) size_joins: Striped,
    pub(super) rebuilds: Striped,
}

/// Base nodes above which the counters that every write moves get a stripe for each thread.
const INFLATE_AT: u64 = 64;

impl Counters {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn inner_came<K: TreeKey + ?Sized>(&self, node: &Inner<K>) {
        self.inner_nodes.add(1);
        self.inner_bytes.add(node.bytes() as i64);
    }

    pub(super) fn inner_went<K: TreeKey + ?Sized>(&self, node: &Inner<K>) {
        self.inner_nodes.add(-1);
        self.inner_bytes.add(-(node.bytes() as i64));
    }

    /// Counts a base node that a split added.
    pub(super) fn base_came(&self) {
        if self.bases.add(1) == INFLATE_AT {
            self.entries.inflate();
            self.rebuilds.inflate();
        }
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
        self.counters.conflicts.add(1);
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
        count(&self.counters.bases) as usize
    }

    /// Returns the number of bytes allocated for the tree, without what base nodes and entries name. O(1).
    pub fn memory(&self) -> usize {
        let c = &self.counters;
        let bases = self.bases() * size_of::<B>();
        let counters = c.entries.memory() + c.rebuilds.memory();
        size_of::<Self>() + bases + count(&c.inner_bytes) as usize + counters
    }

    /// Returns the shape of the tree; each figure exact while no thread writes.
    pub fn stats(&self, pin: &impl Guard) -> Stats {
        let c = &self.counters;
        Stats {
            leaves: self.bases(),
            inner_nodes: count(&c.inner_nodes) as usize,
            depth: self.root(pin).level() + 1,
            conflicts: count(&c.conflicts),
            contention_splits: count(&c.contention_splits),
            contention_joins: count(&c.contention_joins),
            size_splits: count(&c.size_splits),
            size_joins: count(&c.size_joins),
            rebuilds: count(&c.rebuilds),
        }
    }
}
