//! Ordered sets of entries for one writer at a time, that other structures put under their locks.
//!
//! * [`SequentialTree`] is what a tree under one lock needs ([`Locked`](crate::locked::Locked)), [`SplitTree`] what the
//!   base nodes of a contention adapting tree need on top of it ([`CaTree`](crate::ca::CaTree)).
//! * [`SearchTree`] is a binary search tree of either kind: `node` and `walk` are the same for all, a [`Balance`] keeps
//!   the depth logarithmic. [`Avl`] does so by heights, [`Treap`] by priorities.
//!
//! A node of a search tree takes 32 bytes: the key prefix, the entry with 16 bits of the balance's own, two links. The
//! key prefix decides most comparisons, so a search reads one cache line a level and seldom an entry. Nodes are
//! allocated one by one, so that they move between trees when these are split and joined.
//!
//! # Invariant
//!
//! **ONE_LINK**: a node that the root of a tree reaches belongs to that tree. One link points to it, and it lives until
//! it is unlinked, by the holder of `&mut` to the tree. So `&` to the tree protects what is read, and nothing in a node
//! is atomic.
//!
//! # The stack
//!
//! An operation keeps the links of its search path in an array of its own, on the stack of its thread. The AVL tree of
//! ETS had one such array for each process of the operating system, and lookups wrote to it: with it lookups did not
//! scale (Klaftenegger, Sagonas and Winblad, "On the Scalability of the Erlang Term Storage", 2013, section 5.3).
//! Lookups here remember nothing.

mod avl;
mod balance;
mod node;
mod search_tree;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod treap;
mod walk;

use std::ops::Bound;

pub use avl::Avl;
pub use balance::Balance;
pub use search_tree::SearchTree;
pub use treap::Treap;

use fyris_index::key::TreeKey;
use fyris_index::{Action, Batch, Entry, Range};

/// The keys of a tree.
pub(crate) type KeyOf<T> = <<T as SequentialTree>::Entry as Entry>::Key;

/// An ordered set of entries. It has no lock: `&` is for readers, `&mut` for the one writer.
///
/// The entries are not retired by the tree: [`upsert`](SequentialTree::upsert) gives its closure the one that it puts
/// out. A tree that is dropped disposes of the entries in it.
pub trait SequentialTree: Default {
    /// The entries.
    type Entry: Entry;

    /// Whether the tree knows how many entries are before a key: [`SequentialTree::nth`] and
    /// [`SequentialTree::count`].
    const COUNTS: bool = false;

    /// Returns the number of bytes of the tree's nodes, given how many entries it has. O(1).
    fn memory(&self, entries: usize) -> usize;

    /// Returns the number of levels, if the tree knows it. O(1).
    fn depth(&self) -> Option<usize> {
        None
    }

    /// Returns the entry with this key. O(log n).
    fn get(&self, key: &KeyOf<Self>) -> Option<Self::Entry>;

    /// Runs `f` on the entry with this key, or on its absence, and does as it says. Returns its second result, and what
    /// is to be added to the number of entries. O(log n). If `f` panics the tree is unchanged.
    fn upsert<R>(
        &mut self,
        key: &KeyOf<Self>,
        f: impl FnOnce(Option<Self::Entry>) -> (Action<Self::Entry>, R),
    ) -> (R, i64);

    /// Returns the first entry at or above the bound (above for `Excluded`; the first of all for `Unbounded`).
    /// O(log n).
    fn seek(&self, from: Bound<&KeyOf<Self>>) -> Option<Self::Entry>;

    /// Returns the last entry at or below the bound (below for `Excluded`; the last of all for `Unbounded`). O(log n).
    fn seek_back(&self, from: Bound<&KeyOf<Self>>) -> Option<Self::Entry>;

    /// Appends the first `want` entries of the range, one at least; returns whether there are more. O(log n + want).
    fn scan(
        &self,
        range: Range<'_, KeyOf<Self>>,
        want: usize,
        out: &mut Batch<Self::Entry>,
    ) -> bool;

    /// Appends the last `want` entries of the range, one at least, downwards; returns whether there are more. O(log n +
    /// want).
    fn scan_back(
        &self,
        range: Range<'_, KeyOf<Self>>,
        want: usize,
        out: &mut Batch<Self::Entry>,
    ) -> bool;

    /// Returns the `n`-th entry, from 0, where the tree counts. O(depth) then.
    fn nth(&self, _n: usize) -> Option<Self::Entry> {
        None
    }

    /// Returns the number of entries in a range, where the tree counts. O(depth) then.
    fn count(&self, _range: Range<'_, KeyOf<Self>>) -> Option<usize> {
        None
    }
}

/// A tree that is cut in two and put together in O(log n).
pub trait SplitTree: SequentialTree<Entry: Entry<Key: TreeKey>> {
    /// Returns the number of bytes that the nodes of this many entries take.
    fn memory_of(entries: usize) -> usize;

    /// Returns two neighbours in the middle of the tree, or about there: entries between which it is well split. `None`
    /// if it has fewer than two entries. O(log n).
    fn middle(&self) -> Option<(Self::Entry, Self::Entry)>;

    /// Takes out the entries at or above a key, and returns them. O(log n).
    #[must_use]
    fn split_off(&mut self, key: &KeyOf<Self>) -> Self;

    /// Takes the entries of another tree, which are all above those of this one. O(log n).
    fn join(&mut self, above: Self);
}
