//! Contention adapting trees, over base nodes of any kind.
//!
//! # Why
//!
//! A contention adapting tree (Sagonas and Winblad, "More Scalable Ordered Set for ETS Using Adaptation", Erlang
//! Workshop 2014) keeps its keys in base nodes, each under a lock that counts how often it was waited for. A base node
//! whose lock is contended splits, one whose lock is not joins its neighbour, so the grain of locking follows the load.
//! This does not depend on the contents of a base node: they are left to the structures on top. The leaves of
//! [`ordered`](crate::ordered) are such nodes; of another crate are the search trees of `fyris-classic` (`ca_avl`,
//! `ca_treap`), which use what is public here.
//!
//! # How
//!
//! * `base` says what the tree asks of a base node ([`Base`]) and of its lock ([`BaseLock`]). The lock
//!   that it is made for is [`fyris_sync::lock::StatLock`], or the same over a reader-writer lock.
//! * `inner`: routing by separators that never change in place; child pointers do. `draft`: a node under construction.
//! * `descend` finds the base node that covers a place in the order of keys.
//! * `grower` puts inner nodes above base nodes that come in order.
//! * `adapt` decides when base nodes split and join, and puts their successors into the tree; `route` changes the inner
//!   nodes above them.
//!
//! Routing nodes of the papers have one separator and two children. Here they have up to 57 children, which are found
//! by comparing key prefixes a cache line at a time, so that a tree of millions of base nodes is four levels high.
//!
//! # Invariants
//!
//! **FROZEN_NODE**: a dead node shows what was true when it died, for ever. A node dies when it is unlinked, and is
//! locked from before its content is copied until after that. *Every node that an operation reaches was in the tree at
//! some moment since the operation began*: the root was when its pointer was loaded; and if a node `N` was in the tree
//! at such a moment, so was the child read from it: if `N` was alive at the read, then at the read, otherwise at the
//! moment of `N`'s death, which is later than the moment when `N` was in the tree. So a read of a living base node
//! takes effect when it reads, and a read of a dead one at that node's death; both lie within the operation. A base
//! node whose content is moved when it dies, not copied, is outside the invariant but for its lock and its range: it
//! must not be read unless it is seen to be alive (see [`Base`]). The range of keys that a node covers never changes,
//! so the base node that is reached is the one that was responsible for the key.
//!
//! **LOCK_ORDER**: locks are waited for from the bottom up: a base node, its parent, the parent's parent. A second node
//! of the same level is only tried for. So there is no cycle of waiting. The holder of the lock of a node that is not
//! dead may change the slot that points to it, under the lock of the parent, which is the living node above that covers
//! the key; the root pointer belongs to the holder of the lock of the living root.
//!
//! **SEPARATOR**: a separator belongs to the tree and is dropped once, when the join that took it out of the tree has
//! been retired, or when the tree is dropped. Bitwise copies of it stand in a living node and in dead ones; none of the
//! copies drops it.
//!
//! **PLANTED**: a tree may be *bare*, without any node, before its first entry comes. Whoever goes down from the root
//! of a tree that was made bare sees to it first that there is one (`Tree::plant`), or finds that it is bare and
//! answers that it is empty. A tree with nodes has some until it is dropped.
//!
//! # Adapting
//!
//! The constants are those of ETS: waiting for a base node's lock adds 250 to its statistic, getting it at once takes
//! 1, and 10 if it is one of several that an operation takes one after another; above 1000 the node splits, down to one
//! entry a node; below -1000 it joins a neighbour if they fit together.
//! Where base nodes have a size, it joins and splits them as in any B-tree, but a node that contention made small is
//! left small until contention has gone. [`Stats`] counts all of it.

use std::marker::PhantomData;
use std::ptr::NonNull;

use fyris_sync::atomic::{AtomicPtr, Ordering};
use fyris_sync::reclaim::{Guard, PROTECT, assert_not_reclaimed};

mod adapt;
mod base;
mod descend;
mod draft;
mod grower;
mod inner;
mod route;
mod stats;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

pub use adapt::LIMIT;
pub use base::{Base, BaseLock, Bounds, Halves, Held, Learnt, SharedLock};
pub use descend::{BaseRef, Position};
pub use draft::Sep;
pub(crate) use grower::Grower;
pub(crate) use inner::{Inner, Node};
pub use stats::Stats;

use crate::key::TreeKey;
use crate::made::{AtEnd, for_all};
use draft::Draft;
use stats::Counters;

/// Children of an inner node.
const FANOUT: usize = if cfg!(fyris_small) { 4 } else { 57 };

/// A contention adapting tree. See the [module](self).
pub struct Tree<B: Base> {
    root: AtomicPtr<Inner<B::Key>>,
    pub(crate) counters: Counters,
    /// Invariant: a thread may put things in that others take out.
    base: PhantomData<fn(B) -> B>,
}

// SAFETY: inner nodes are shared under the invariants above, base nodes as they say themselves.
unsafe impl<B: Base + Send + Sync> Send for Tree<B> {}
// SAFETY: as above.
unsafe impl<B: Base + Send + Sync> Sync for Tree<B> {}

impl<B: Base> Tree<B> {
    /// Makes an empty tree: one inner node above a base node without entries, which the tree owns from here on.
    ///
    /// # Safety
    ///
    /// Only the caller can reach the node, which is valid until it is disposed of or reclaimed.
    pub unsafe fn new(base: NonNull<B>) -> Self {
        let tree = Self::bare();
        // SAFETY: the caller's contract.
        unsafe { tree.plant(base) };
        tree
    }

    /// Makes an empty tree without any node (PLANTED).
    pub(crate) fn bare() -> Self {
        assert!(
            !B::Key::EXACT || size_of::<<B::Key as TreeKey>::Sep>() == 0,
            "an exact key has no separators but key prefixes"
        );
        Self {
            root: AtomicPtr::default(),
            counters: Counters::default(),
            base: PhantomData,
        }
    }

    /// Returns whether the tree has no nodes: then it has never had an entry.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        // Acquire: pairs with the Release in `plant`.
        self.root.load(Ordering::Acquire).is_null()
    }

    /// Gives a bare tree its nodes, an inner one above this one, unless another thread has done so.
    ///
    /// # Safety
    ///
    /// Only the caller can reach the node, which is valid until it is disposed of or reclaimed, and has no entries.
    pub(crate) unsafe fn plant(&self, base: NonNull<B>) {
        let root = Inner::alloc(&Draft::single(1, base.as_ptr().cast()), 0, 1);
        // Before they can be seen: the counts are never too low.
        self.counters.base_came();
        // SAFETY: just allocated, ours alone.
        self.counters.inner_came(unsafe { root.as_ref() });
        // Release: pairs with PROTECT in `root` and Acquire in `is_bare`. Relaxed: this thread looks again.
        let (mut release, relaxed) = (Ordering::Release, Ordering::Relaxed);
        if cfg!(fyris_mutant = "ordered_planted_unpublished") {
            release = relaxed;
        }
        let null = std::ptr::null_mut();
        let planted = (self.root).compare_exchange(null, root.as_ptr(), release, relaxed);
        if planted.is_err() {
            self.counters.base_went();
            // SAFETY: not published: both are ours alone, and the inner node has no separators.
            unsafe {
                self.counters.inner_went(root.as_ref());
                Inner::free(root.as_ptr());
                B::dispose(base.as_ptr());
            }
        }
    }

    /// Returns the root. Valid while pinned (invariant RECLAIM).
    #[inline]
    pub(crate) fn root<'p>(&'p self, _pin: &'p impl Guard) -> &'p Inner<B::Key> {
        // PROTECT: pairs with the Release in `set_root` and `plant`.
        let root = self.root.load(PROTECT);
        assert_not_reclaimed(root);
        debug_assert!(!root.is_null());
        // SAFETY: (PLANTED, RECLAIM) the root was in the tree when its pointer was loaded under the pin.
        unsafe { &*root }
    }

    /// Replaces the root. The caller holds the lock of the living root (invariant LOCK_ORDER).
    fn set_root(&self, root: *mut Inner<B::Key>) {
        // Release: pairs with the PROTECT load in `root`.
        self.root.store(root, Ordering::Release);
    }

    /// Hands out the base nodes in order, each of which is the caller's then.
    pub(crate) fn take_apart(&mut self, mut base: impl FnMut(*mut B)) {
        // Relaxed: `&mut self` is ordered after everything.
        let root = self.root.swap(std::ptr::null_mut(), Ordering::Relaxed);
        if !root.is_null() {
            // SAFETY: the root of a tree that is ours alone, and not its root any more.
            unsafe { Self::free(root, &mut base) }
        }
    }

    /// Frees a node and all inner nodes below it; `base` gets the base nodes.
    ///
    /// # Safety
    ///
    /// The tree is being dropped: only the caller can reach the node.
    unsafe fn free(node: *mut Inner<B::Key>, base: &mut impl FnMut(*mut B)) {
        // Also if the drop of a pair below panics.
        // SAFETY: the nodes are ours alone, and each child has one parent; the separators of living nodes are dropped
        // here only (SEPARATOR).
        let _node = AtEnd::new(|| unsafe {
            Inner::drop_seps(node);
            Inner::free(node);
        });
        // SAFETY: as above.
        let inner = unsafe { &*node };
        let children = (0..inner.len()).map(|at| inner.child(at));
        // SAFETY: as above.
        for_all(children, |child| unsafe {
            if inner.level() > 1 {
                Self::free(child.cast(), base);
            } else {
                base(child.cast());
            }
        });
    }
}

impl<B: Base> Drop for Tree<B> {
    fn drop(&mut self) {
        // SAFETY: only this thread can reach the tree.
        self.take_apart(|base| unsafe { B::dispose(base) });
    }
}

/// Returns the pointer to a node as its parent has it.
fn as_node<T>(node: *const T) -> *mut Node {
    node.cast_mut().cast()
}
