//! The `ordered` index: a contention adapting tree over dense sorted leaves, with lock-free reads.
//!
//! # Why
//!
//! A contention adapting tree (Sagonas and Winblad, "More Scalable Ordered Set for ETS Using
//! Adaptation", Erlang Workshop 2014) keeps its keys in base nodes, each under a lock that counts
//! how often it was waited for. A base node that is fought over splits, one that nobody fights over
//! joins its neighbour, so the grain of locking follows the load. Here a base node is a *leaf* of
//! at most 15 entries in four cache lines, so that the same split and join also keep the tree
//! dense, and readers do not lock at all: a tree far larger than the cache answers in two dependent
//! misses, one for the leaf and one for the entry, where a binary tree takes twenty.
//!
//! # How
//!
//! * `leaf`: slots are written once and named by one atomic *permutation word*; a reader loads
//!   the word once. A replaced entry takes a fresh slot. When slots run out, the live entries move
//!   to a new leaf, or to two.
//! * `inner`: separators never change in place; child pointers do.
//! * `write` changes leaves, `run` several entries of one at once, `adapt` splits and joins them, `walk` goes from leaf
//!   to leaf.
//!
//! # Invariants
//!
//! **WRITTEN_ONCE.** A slot of a leaf is written before a permutation word that names it is
//! published, by the holder of the leaf's lock, and never again. Words are published with
//! `Release` and read with `PROTECT`. Hence plain reads of slots that a loaded word names race
//! with nothing, and a loaded word shows the leaf as it was at one moment: the moment of the load.
//!
//! **FROZEN.** A node dies when it is unlinked. It is locked from before its content is copied
//! until after that, so a dead node shows what was true when it died, for ever. *Every node that
//! an operation reaches was in the tree at some moment since the operation began*: the root was when
//! its pointer was loaded; and if a node `N` was in the tree at such a moment, so was the child
//! read from it: if `N` was alive at the read, then at the read, otherwise at the moment of
//! `N`'s death, which is later than the moment when `N` was in the tree. So a read of a living leaf
//! takes effect at the load of its word, and a read of a dead leaf at the leaf's death; both lie
//! within the operation. The range of keys that a node covers never changes, so the leaf that is
//! reached is the one that was responsible for the key.
//!
//! **LOCK_ORDER.** Locks are waited for from the bottom up: a leaf, its parent, the parent's
//! parent. A second node of the same level is only tried for. So there is no cycle of waiting.
//! Whoever holds the lock of a node that is not dead may change the slot that points to it, under
//! the lock of the parent, which is the living node above that covers the key; the root pointer
//! belongs to whoever holds the lock of the living root.
//!
//! **SEPARATOR.** A separator is a value of its own that belongs to the tree. Bitwise copies of
//! it stand in a living node and in dead ones; none of the copies drops it. It is dropped once: when
//! the join that took it out of the tree has been retired, or when the tree is dropped.
//!
//! # Dependent misses of a hit
//!
//! A tree of a million entries has some 90,000 leaves (24 MB) and 2 MB of inner nodes, of which those
//! near the leaves are in the second or third level cache. A descent reads one inner node a level and of
//! it three lines: the first, which names the line of key prefixes to look at, that one, and one of child pointers. All
//! that may be wanted are asked for together. Then the leaf: its four lines are
//! asked for as soon as its address is known, so they cost *one* miss of memory together. The entry
//! behind a handle, and a boxed pair, are the *second*. Values that lie in the leaf end at one.
//! Comparing key prefixes rather than keys is what keeps other entries out of this count: only an equal
//! key prefix has its entry looked at, which for most keys is the entry sought.
//!
//! # Adapting
//!
//! The constants are those of ETS: waiting for a leaf's lock adds 250 to its statistic, getting it
//! at once takes 1; above 1000 the leaf splits although it is not full, down to one key a leaf;
//! below -1000 it joins a neighbour if they fit together. Size splits and joins as in any B-tree,
//! but a leaf that contention made small is left small until contention has gone. [`Stats`] counts
//! all of it.

use std::marker::PhantomData;

use fyris_sync::atomic::{AtomicPtr, Ordering};
use fyris_sync::reclaim::{Guard, PROTECT, assert_not_reclaimed};

mod adapt;
mod compound;
pub(crate) mod cursor;
mod draft;
mod fixed;
mod index;
mod inner;
pub(crate) mod item;
pub mod key;
mod leaf;
mod lock;
mod perm;
pub(crate) mod probe;
mod read;
mod run;
mod scan;
mod stats;
pub(crate) mod storage;
mod write;

pub use compound::ArrayElement;
pub use fixed::FixedSep;
pub use index::Ordered;
pub use key::{ByteKey, Opaque, PrefixKey, Separator, TreeKey};
pub use stats::Stats;

use draft::Draft;
use inner::{Inner, Node};
use item::Item;
use leaf::{Leaf, Parts};
use lock::Word;
use stats::Counters;

/// Entries in a leaf.
const SLOTS: usize = if cfg!(fyris_small) { 3 } else { 15 };
/// Children of an inner node.
const FANOUT: usize = if cfg!(fyris_small) { 4 } else { 57 };

/// The tree itself, generic over what a slot holds. See the module.
pub(crate) struct Tree<I: Item> {
    root: AtomicPtr<Inner<I::Key>>,
    counters: Counters,
    /// Invariant: who shares the tree may put items in that others take out.
    item: PhantomData<fn(I) -> I>,
}

// SAFETY: nodes are shared under the invariants above; an item is a handle or a value that its
// owner (`Ordered`, `ConcurrentTree`) may share between threads: they bound their `Send` and `Sync`.
unsafe impl<I: Item + Send + Sync> Send for Tree<I> {}
// SAFETY: as above.
unsafe impl<I: Item + Send + Sync> Sync for Tree<I> {}

impl<I: Item> Tree<I> {
    /// An empty tree: one inner node above one leaf.
    pub(crate) fn new() -> Self {
        assert!(
            !I::Key::EXACT || size_of::<<I::Key as TreeKey>::Sep>() == 0,
            "an exact key has no separators but key_prefixes"
        );
        let leaf = Leaf::<I>::alloc(Word::new(stats::generation(), 0), &Parts::new(), 0, 0);
        let root = Inner::alloc(&Draft::single(1, leaf.as_ptr().cast()), 0, 1);
        let counters = Counters::new();
        counters.leaves.add(1);
        // SAFETY: just allocated, ours alone.
        counters.inner_came(unsafe { root.as_ref() });
        Self {
            root: AtomicPtr::new(root.as_ptr()),
            counters,
            item: PhantomData,
        }
    }

    /// The root. Valid while pinned (invariant RECLAIM).
    #[inline]
    fn root<'p>(&'p self, _pin: &'p impl Guard) -> &'p Inner<I::Key> {
        // PROTECT: pairs with the Release in `set_root`.
        let root = self.root.load(PROTECT);
        assert_not_reclaimed(root);
        // SAFETY: (RECLAIM) the root was in the tree when its pointer was loaded under the pin.
        unsafe { &*root }
    }

    /// Replaces the root. The caller holds the lock of the living root (invariant LOCK_ORDER).
    fn set_root(&self, root: *mut Inner<I::Key>) {
        // Release: pairs with the PROTECT load in `root`.
        self.root.store(root, Ordering::Release);
    }

    /// Frees a node and all below it.
    ///
    /// # Safety
    ///
    /// The tree is being dropped: nobody else can reach the node.
    unsafe fn free(node: *mut Inner<I::Key>) {
        // SAFETY: the nodes are ours alone, and each child has one parent.
        unsafe {
            let inner = &*node;
            for at in 0..inner.len() {
                let child = inner.child(at);
                if inner.level() > 1 {
                    Self::free(child.cast());
                    continue;
                }
                let leaf = child.cast::<Leaf<I>>();
                let view = (*leaf).view();
                (0..view.len()).for_each(|pos| view.item(pos).dispose());
                Leaf::free(leaf);
            }
            Inner::drop_seps(node);
            Inner::free(node);
        }
    }
}

impl<I: Item> Drop for Tree<I> {
    fn drop(&mut self) {
        // Relaxed: `&mut self` is ordered after everything.
        // SAFETY: nobody else can reach the tree.
        unsafe { Self::free(self.root.load(Ordering::Relaxed)) }
    }
}

/// A node as its parent points to it.
fn as_node<T>(node: *const T) -> *mut Node {
    node.cast_mut().cast()
}
