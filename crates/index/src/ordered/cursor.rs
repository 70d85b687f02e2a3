//! Going from leaf to leaf, in both directions.
//!
//! A cursor reads each leaf once, at one moment. It goes on through the parent while that is alive; otherwise, and at
//! the parent's end, it descends again to the fence where it stopped. Leaves are split and joined meanwhile, but the
//! fence stands for a place in the order of keys, so nothing that is there throughout is missed or met twice.

use std::borrow::Borrow;
use std::ops::{Bound, Range};

use fyris_sync::reclaim::Guard;

use super::item::Item;
use super::leaf::{Leaf, View};
use super::{LeafRef, LeafTree};
use crate::catree::Position;
use crate::key::TreeKey;
use crate::key::probe::{ByBound, ByFence, End, Fence, Probe};

/// Leaves that are on their way from memory before the cursor comes to them: going over one takes a small part of the
/// time that memory does.
const LEAVES: usize = 8;

/// A place between two entries of a leaf, as the leaf was when the cursor entered it.
pub(crate) struct Cursor<'p, I: Item, P> {
    tree: &'p LeafTree<I>,
    pin: &'p P,
    position: Position<'p, Leaf<I>>,
    view: View<'p, I>,
    /// The number of entries of the view before the cursor.
    pos: usize,
    /// The next leaves of this parent are on their way.
    foresees: bool,
}

impl<'p, I: Item, P: Guard> Cursor<'p, I, P> {
    /// Makes a cursor before the first entry at or above the bound (above, for `Excluded`).
    #[inline]
    pub(crate) fn before<Q>(tree: &'p LeafTree<I>, bound: Bound<&Q>, pin: &'p P) -> Self
    where
        I::Key: Borrow<Q>,
        Q: TreeKey<Sep = <I::Key as TreeKey>::Sep> + ?Sized,
    {
        match bound {
            Bound::Unbounded => Self::at(tree, &End::First, false, pin),
            Bound::Included(key) | Bound::Excluded(key) => Self::at(
                tree,
                &ByBound(key),
                matches!(bound, Bound::Excluded(_)),
                pin,
            ),
        }
    }

    /// Makes a cursor behind the last entry at or below the bound (below, for `Excluded`).
    #[inline]
    pub(crate) fn behind<Q>(tree: &'p LeafTree<I>, bound: Bound<&Q>, pin: &'p P) -> Self
    where
        I::Key: Borrow<Q>,
        Q: TreeKey<Sep = <I::Key as TreeKey>::Sep> + ?Sized,
    {
        match bound {
            Bound::Unbounded => Self::at(tree, &End::Last, true, pin),
            Bound::Included(key) => Self::at(tree, &ByBound(key), true, pin),
            Bound::Excluded(key) => Self::at(tree, &ByBound(key), false, pin),
        }
    }

    /// Makes a cursor before the probe, or, if `past`, behind an entry that equals it. Inlined: a cursor is 13 words to
    /// copy.
    #[inline(always)]
    fn at(tree: &'p LeafTree<I>, probe: &impl Probe<I::Key>, past: bool, pin: &'p P) -> Self {
        let position = tree.planted().find_position(probe, pin);
        let view = position.base_ref.base.view();
        let (pos, found) = view.search(probe);
        Self {
            tree,
            pin,
            position,
            view,
            pos: pos + usize::from(past && found),
            foresees: false,
        }
    }

    /// Returns the entries of this leaf that follow the cursor.
    pub(crate) fn ahead(&self) -> impl Iterator<Item = (u64, &'p I)> + use<'p, I, P> {
        let view = self.view;
        (self.pos..view.len()).map(move |pos| (view.key_prefix(pos), view.item(pos)))
    }

    /// Returns the entries of this leaf that are before the cursor, backwards.
    pub(crate) fn back(&self) -> impl Iterator<Item = (u64, &'p I)> + use<'p, I, P> {
        let view = self.view;
        (0..self.pos)
            .rev()
            .map(move |pos| (view.key_prefix(pos), view.item(pos)))
    }

    /// Goes over the next entry.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(u64, &'p I)> {
        while self.pos == self.view.len() {
            if !self.next_leaf() {
                return None;
            }
        }
        self.pos += 1;
        Some((
            self.view.key_prefix(self.pos - 1),
            self.view.item(self.pos - 1),
        ))
    }

    /// Goes back over the entry before.
    #[inline]
    pub(crate) fn prev(&mut self) -> Option<(u64, &'p I)> {
        while self.pos == 0 {
            if !self.prev_leaf() {
                return None;
            }
        }
        self.pos -= 1;
        Some((self.view.key_prefix(self.pos), self.view.item(self.pos)))
    }

    /// Goes to the beginning of the next leaf, and asks for what its entries name; false if there is none.
    pub(crate) fn next_leaf(&mut self) -> bool {
        let more = self.next_leaf_alone();
        self.prefetch_items();
        more
    }

    /// Goes to the end of the leaf before, and asks for what its entries name; false if there is none.
    pub(crate) fn prev_leaf(&mut self) -> bool {
        let more = self.prev_leaf_alone();
        self.prefetch_items();
        more
    }

    fn prefetch_items(&self) {
        (0..self.view.len()).for_each(|pos| self.view.item(pos).prefetch());
    }

    /// Goes to the beginning of the next leaf; false if there is none.
    pub(crate) fn next_leaf_alone(&mut self) -> bool {
        let LeafRef { parent, at, .. } = self.position.base_ref;
        if at + 1 < parent.len() && !parent.is_dead() {
            self.enter(at + 1);
            self.pos = 0;
        } else {
            let Some(fence) = self.position.high() else {
                return false;
            };
            self.descend(fence, false);
        }
        let at = self.position.base_ref.at;
        self.foresee(at + 1..at + LEAVES, at + LEAVES);
        true
    }

    /// Goes to the end of the leaf before; false if there is none.
    pub(crate) fn prev_leaf_alone(&mut self) -> bool {
        let LeafRef { parent, at, .. } = self.position.base_ref;
        if at > 0 && !parent.is_dead() {
            self.enter(at - 1);
            self.pos = self.view.len();
        } else {
            let Some(fence) = self.position.low() else {
                return false;
            };
            self.descend(fence, true);
        }
        let at = self.position.base_ref.at;
        self.foresee(at.saturating_sub(LEAVES - 1)..at, at.wrapping_sub(LEAVES));
        true
    }

    /// Goes to another leaf of the same parent.
    fn enter(&mut self, at: usize) {
        self.position.base_ref = LeafRef::of(self.position.base_ref.parent, at);
        self.view = self.position.base_ref.base.view();
    }

    /// Descends to a fence of the leaf that the cursor is in, and stands behind what lies before it.
    #[cold]
    #[inline(never)]
    fn descend(&mut self, fence: Fence<'p, I::Key>, below: bool) {
        *self = Self::at(self.tree, &ByFence { fence, below }, below, self.pin);
    }

    /// Asks for a leaf that will be entered some leaves later; the first time also for those `before` it.
    fn foresee(&mut self, before: Range<usize>, at: usize) {
        if !self.foresees {
            self.foresees = true;
            let end = before.end.min(self.position.base_ref.parent.len());
            (before.start..end).for_each(|at| self.prefetch(at));
        }
        self.prefetch(at);
    }

    /// Brings near a leaf that will be entered soon.
    fn prefetch(&self, at: usize) {
        let parent = self.position.base_ref.parent;
        if at < parent.len() {
            LeafRef::<I>::of(parent, at);
        }
    }
}

impl<'p, I: Item, P> Cursor<'p, I, P> {
    /// Returns the number of entries that follow in the leaf of the cursor.
    pub(crate) fn rest(&self) -> usize {
        self.view.len() - self.pos
    }

    /// Returns the number of entries of the leaf.
    pub(crate) fn leaf_len(&self) -> usize {
        self.view.len()
    }

    /// Goes over the next entry of this leaf if fewer than `stop` are before it.
    #[inline]
    pub(crate) fn next_below(&mut self, stop: usize) -> Option<(u64, &'p I)> {
        if self.pos >= stop {
            return None;
        }
        self.pos += 1;
        Some((
            self.view.key_prefix(self.pos - 1),
            self.view.item(self.pos - 1),
        ))
    }

    /// Goes back over the entry before if at least `stop` are before that.
    #[inline]
    pub(crate) fn prev_above(&mut self, stop: usize) -> Option<(u64, &'p I)> {
        if self.pos <= stop {
            return None;
        }
        self.pos -= 1;
        Some((self.view.key_prefix(self.pos), self.view.item(self.pos)))
    }

    /// Returns the number of entries of the leaf before the cursor.
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// Returns the entry `at` of this leaf.
    pub(crate) fn entry(&self, at: usize) -> (u64, &'p I) {
        (self.view.key_prefix(at), self.view.item(at))
    }

    /// Returns the entries of this leaf from one place to another.
    #[inline]
    pub(crate) fn run(&self, from: usize, to: usize) -> Run<'p, I> {
        assert!(to <= self.view.len());
        Run {
            view: Some(self.view),
            from,
            to,
        }
    }

    /// Returns the number of entries of this leaf before the end of a range.
    pub(crate) fn below_end<Q>(&self, end: Bound<&Q>) -> usize
    where
        I::Key: Borrow<Q>,
        Q: TreeKey<Sep = <I::Key as TreeKey>::Sep> + ?Sized,
    {
        match end {
            Bound::Unbounded => self.view.len(),
            Bound::Included(key) => self.below(key, true),
            Bound::Excluded(key) => self.below(key, false),
        }
    }

    /// Returns the number of entries of this leaf before the start of a range.
    pub(crate) fn below_start<Q>(&self, start: Bound<&Q>) -> usize
    where
        I::Key: Borrow<Q>,
        Q: TreeKey<Sep = <I::Key as TreeKey>::Sep> + ?Sized,
    {
        match start {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.below(key, false),
            Bound::Excluded(key) => self.below(key, true),
        }
    }

    /// Returns the number of entries of this leaf below a key that may lie elsewhere, or at it if `with`.
    fn below<Q>(&self, key: &Q, with: bool) -> usize
    where
        I::Key: Borrow<Q>,
        Q: TreeKey<Sep = <I::Key as TreeKey>::Sep> + ?Sized,
    {
        let probe = ByBound(key);
        // Key prefixes leave out the prefix that the keys of this leaf share; a key of another leaf may not share it,
        // so it is compared with the fences first.
        if let Some(fence) = self.position.low()
            && probe.is_below(&fence)
        {
            return 0;
        }
        if let Some(fence) = self.position.high()
            && !probe.is_below(&fence)
        {
            return self.view.len();
        }
        let (pos, found) = self.view.search(&probe);
        pos + usize::from(with && found)
    }
}

/// Consecutive entries of a leaf, as it was when a cursor entered it: the entries that may be handed out without
/// another look at the tree.
pub(crate) struct Run<'p, I> {
    /// There is one if `to` is not 0.
    view: Option<View<'p, I>>,
    /// The number of entries of the leaf before the run.
    from: usize,
    /// The number of entries before its end: never more than the view has.
    to: usize,
}

impl<I> Clone for Run<'_, I> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<I> Copy for Run<'_, I> {}

impl<'p, I: Item> Run<'p, I> {
    /// Makes a run of nothing.
    #[inline]
    pub(crate) fn empty() -> Self {
        Self {
            view: None,
            from: 0,
            to: 0,
        }
    }

    /// Gives the first entry.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(u64, &'p I)> {
        let at = self.from;
        if at >= self.to {
            return None;
        }
        self.from += 1;
        // SAFETY: just compared.
        Some(unsafe { self.entry(at) })
    }

    /// Gives the last entry.
    #[inline]
    pub(crate) fn prev(&mut self) -> Option<(u64, &'p I)> {
        if self.from >= self.to {
            return None;
        }
        self.to -= 1;
        // SAFETY: one less than what it was.
        Some(unsafe { self.entry(self.to) })
    }

    /// Returns the entry at `at`.
    ///
    /// # Safety
    ///
    /// `at` is below what `to` is or has been since the run was made.
    #[inline]
    unsafe fn entry(&self, at: usize) -> (u64, &'p I) {
        // SAFETY: `to` has not always been 0, and has never been more than the view has.
        let view = unsafe {
            let view = self.view.unwrap_unchecked();
            std::hint::assert_unchecked(at < view.len());
            view
        };
        (view.key_prefix(at), view.item(at))
    }

    /// Returns the number of entries of the leaf before the run.
    pub(crate) fn from(&self) -> usize {
        self.from
    }

    /// Returns the number of entries of the leaf before the end of the run.
    pub(crate) fn to(&self) -> usize {
        self.to
    }

    /// Returns whether there is nothing to give.
    pub(crate) fn is_empty(&self) -> bool {
        self.from >= self.to
    }

    /// Takes back what has not been given, when it is given from the front.
    pub(crate) fn end_here(&mut self) {
        self.to = self.to.min(self.from);
    }

    /// Takes back what has not been given, when it is given from the back.
    pub(crate) fn begin_here(&mut self) {
        self.from = self.from.max(self.to);
    }
}
