//! Descending and reading.

use fyris_sync::reclaim::{Guard, assert_not_reclaimed};

use super::Tree;
use super::inner::Inner;
use super::item::Item;
use super::leaf::{Leaf, View};
use super::probe::{Fence, Probe};
use crate::Stamp;
use crate::simd::{self, Lanes, Vectors, Words};

/// Where a descent ended: a leaf, the node above it, and which child of that the leaf was.
pub(super) struct LeafRef<'p, I: Item> {
    pub(super) parent: &'p Inner<I::Key>,
    pub(super) at: usize,
    pub(super) leaf: &'p Leaf<I>,
}

/// A leaf, and the fences of the node above the leaf (none: an end of the tree).
pub(super) struct Position<'p, I: Item> {
    pub(super) leaf_ref: LeafRef<'p, I>,
    low: Option<Fence<'p, I::Key>>,
    high: Option<Fence<'p, I::Key>>,
}

impl<'p, I: Item> LeafRef<'p, I> {
    /// The leaf that is child `at` of `parent`.
    pub(super) fn of(parent: &'p Inner<I::Key>, at: usize) -> Self {
        let leaf = parent.child(at).cast::<Leaf<I>>();
        assert_not_reclaimed(leaf);
        Leaf::prefetch(leaf);
        // SAFETY: (RECLAIM) a node of level 1 has leaves as children, and the leaf was in the tree at a
        // moment since the thread was pinned (invariant FROZEN).
        let leaf = unsafe { &*leaf };
        Self { parent, at, leaf }
    }
}

impl<'p, I: Item> Position<'p, I> {
    /// The separator to the left of the leaf.
    pub(super) fn low(&self) -> Option<Fence<'p, I::Key>> {
        let LeafRef { parent, at, .. } = self.leaf_ref;
        if at > 0 {
            Some(parent.fence(at - 1))
        } else {
            self.low
        }
    }

    /// The separator to the right of the leaf.
    pub(super) fn high(&self) -> Option<Fence<'p, I::Key>> {
        let LeafRef { parent, at, .. } = self.leaf_ref;
        if at + 1 < parent.len() {
            Some(parent.fence(at))
        } else {
            self.high
        }
    }

    /// Returns the position of the child `at` of the same parent.
    pub(super) fn sibling(&self, at: usize) -> Self {
        Self {
            leaf_ref: LeafRef::of(self.leaf_ref.parent, at),
            low: self.low,
            high: self.high,
        }
    }
}

impl<I: Item> Tree<I> {
    /// The leaf that covers the probe.
    #[inline]
    pub(super) fn find_leaf<'p>(
        &'p self,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> LeafRef<'p, I> {
        if simd::wide() {
            self.find_leaf_by::<Vectors>(probe, pin)
        } else {
            self.find_leaf_by::<Words>(probe, pin)
        }
    }

    /// As [`Tree::find_leaf`].
    #[inline(always)]
    fn find_leaf_by<'p, L: Lanes>(
        &'p self,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> LeafRef<'p, I> {
        let mut node = self.root(pin);
        loop {
            let at = node.find_by::<L>(probe);
            if node.level() == 1 {
                return LeafRef::of(node, at);
            }
            node = Self::below(node, at);
        }
    }

    /// As [`Tree::find_leaf`], with the fences.
    pub(super) fn find_position<'p>(
        &'p self,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> Position<'p, I> {
        let mut node = self.root(pin);
        let (mut low, mut high) = (None, None);
        loop {
            let at = node.find(probe);
            if node.level() == 1 {
                return Position {
                    leaf_ref: LeafRef::of(node, at),
                    low,
                    high,
                };
            }
            if at > 0 {
                low = Some(node.fence(at - 1));
            }
            if at + 1 < node.len() {
                high = Some(node.fence(at));
            }
            node = Self::below(node, at);
        }
    }

    /// The inner node of this level that covers the probe; none if the tree is lower.
    pub(super) fn ancestor<'p>(
        &'p self,
        probe: &impl Probe<I::Key>,
        level: usize,
        pin: &'p impl Guard,
    ) -> Option<&'p Inner<I::Key>> {
        let mut node = self.root(pin);
        while node.level() > level {
            node = Self::below(node, node.find(probe));
        }
        (node.level() == level).then_some(node)
    }

    /// The inner node that is child `at` of a node above level 1.
    #[inline]
    fn below(node: &Inner<I::Key>, at: usize) -> &Inner<I::Key> {
        let child = node.child(at).cast::<Inner<I::Key>>();
        assert_not_reclaimed(child);
        Inner::prefetch(child);
        // SAFETY: (RECLAIM) a node above level 1 has inner nodes as children; in the tree since the pin
        // (invariant FROZEN).
        unsafe { &*child }
    }

    /// The item at the probe, with its key prefix.
    #[inline]
    pub(crate) fn find<'p>(
        &'p self,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> Option<(u64, &'p I)> {
        if simd::wide() {
            self.find_by::<Vectors>(probe, pin)
        } else {
            self.find_by::<Words>(probe, pin)
        }
    }

    /// As [`Tree::find`].
    #[inline(always)]
    fn find_by<'p, L: Lanes>(
        &'p self,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> Option<(u64, &'p I)> {
        let view: View<'p, I> = self.find_leaf_by::<L>(probe, pin).leaf.view();
        view.lookup::<L>(probe)
    }

    /// The version of the leaf that covers the probe: its generation, which no other leaf of the
    /// process has until 2^40 have been made, and its permutation word, which never returns to a
    /// value it had.
    pub(super) fn stamp(&self, probe: &impl Probe<I::Key>, pin: &impl Guard) -> Stamp {
        let view = self.find_leaf(probe, pin).leaf.view();
        Stamp(view.leaf.lock.word().generation(), view.perm.0)
    }
}
