//! What the tree counts about itself.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use fyris_sync::counter::Striped;
use fyris_sync::reclaim::Guard;

use super::Tree;
use super::inner::Inner;
use super::item::Item;
use super::key::TreeKey;
use super::leaf::Leaf;

/// The shape of a tree, and what has shaped it since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Leaves now.
    pub leaves: usize,
    /// Inner nodes now.
    pub inner_nodes: usize,
    /// Levels now, leaves included: at least 2.
    pub depth: usize,
    /// Leaves split because writers waited for each other.
    pub contention_splits: u64,
    /// Leaves joined because writers no longer did.
    pub contention_joins: u64,
    /// Leaves split because they were full.
    pub size_splits: u64,
    /// Leaves joined because they were nearly empty.
    pub size_joins: u64,
    /// Leaves rewritten because their slots had run out.
    pub rebuilds: u64,
}

/// The counters behind [`Stats`] and the sizes.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) entries: Striped,
    pub(super) leaves: Striped,
    inner_nodes: Striped,
    inner_bytes: Striped,
    pub(super) contention_splits: Striped,
    pub(super) contention_joins: Striped,
    pub(super) size_splits: Striped,
    pub(super) size_joins: Striped,
    pub(super) rebuilds: Striped,
}

/// Leaves above which the counters that every write moves get a stripe for each thread.
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

    /// Counts a leaf that a split added.
    pub(super) fn leaf_came(&self) {
        if self.leaves.add(1) == INFLATE_AT {
            self.entries.inflate();
            self.rebuilds.inflate();
        }
    }
}

fn count(counter: &Striped) -> u64 {
    counter.sum().max(0) as u64
}

impl<I: Item> Tree<I> {
    /// How many entries; exact while nobody writes.
    pub(crate) fn len(&self) -> usize {
        count(&self.counters.entries) as usize
    }

    /// Bytes allocated for the tree, without what entries name. O(1).
    pub(crate) fn memory(&self) -> usize {
        let c = &self.counters;
        let leaves = count(&c.leaves) as usize * size_of::<Leaf<I>>();
        let counters = c.entries.memory() + c.rebuilds.memory();
        size_of::<Self>() + leaves + count(&c.inner_bytes) as usize + counters
    }

    /// The shape of the tree; each figure exact while nobody writes.
    pub(crate) fn stats(&self, pin: &impl Guard) -> Stats {
        let c = &self.counters;
        Stats {
            leaves: count(&c.leaves) as usize,
            inner_nodes: count(&c.inner_nodes) as usize,
            depth: self.root(pin).level() + 1,
            contention_splits: count(&c.contention_splits),
            contention_joins: count(&c.contention_joins),
            size_splits: count(&c.size_splits),
            size_joins: count(&c.size_joins),
            rebuilds: count(&c.rebuilds),
        }
    }
}

/// Generations a thread takes at a time.
const LOT: u64 = 1024;

/// A number that no other leaf of the process has, until 2^40 have been made.
///
/// The standard library's atomics, in a static: no memory is published through them.
pub(super) fn generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static MINE: Cell<u64> = const { Cell::new(0) };
    }
    MINE.with(|mine| {
        let mut next = mine.get();
        if next.is_multiple_of(LOT) {
            // Relaxed: numbers only have to differ.
            next = NEXT.fetch_add(LOT, Ordering::Relaxed);
        }
        mine.set(next + 1);
        next & ((1 << 40) - 1)
    })
}
