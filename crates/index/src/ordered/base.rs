//! Leaves as the base nodes of a contention adapting tree: splitting, joining and rewriting them.
//!
//! Old leaves stay as they are (invariant FROZEN_NODE): the entries are copied.

use std::ptr::NonNull;

use fyris_sync::lock::{StatGuard, StatLock};
use fyris_sync::reclaim::Guard;

use super::item::Item;
use super::leaf::{Leaf, Parts};
use super::word::{MAX_SKIP, word};
use super::{LeafRef, LeafTree, SLOTS};
use crate::catree::{Base, Bounds, Halves, Held, Learnt, Sep};
use crate::key::probe::{Fence, Probe};
use crate::key::{Separator, TreeKey};
use crate::made::{AtEnd, for_all};

/// The place of a new entry among the parts of a leaf, as far as it matters to where they are cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// The last one is new.
    Last,
    /// Another one is.
    Within,
}

impl<I: Item> LeafTree<I> {
    /// Returns the tree itself, with nodes, which it is given if it has none (PLANTED).
    #[inline]
    pub(super) fn planted(&self) -> &Self {
        if self.is_bare() {
            self.plant_leaf();
        }
        self
    }

    #[cold]
    fn plant_leaf(&self) {
        let word = word(0, Learnt::default());
        // SAFETY: just allocated; valid until it is reclaimed.
        unsafe { self.plant(Leaf::alloc(word, &Parts::new(), 0, 0)) }
    }

    /// Takes all items out, in order; they are the caller's then. Each with its key prefix, as its leaf has it.
    pub(crate) fn into_items(mut self) -> Vec<(u64, I)> {
        let mut items = Vec::new();
        self.take_apart(|leaf| {
            // SAFETY: the leaf is ours alone.
            let view = unsafe { (*leaf).view() };
            items.extend((0..view.len()).map(|pos| (view.key_prefix(pos), *view.item(pos))));
            // SAFETY: as above; it is handed out once.
            unsafe { Leaf::free(leaf) };
        });
        items
    }
}

// SAFETY: leaves come from `Leaf::alloc`.
unsafe impl<I: Item> Base for Leaf<I> {
    type Key = I::Key;
    type Lock = StatLock;

    const FEW: usize = SLOTS.div_ceil(4);
    const JOIN_MAX: usize = SLOTS - SLOTS / 3;

    #[inline]
    fn lock(&self) -> &StatLock {
        &self.lock
    }

    #[inline]
    unsafe fn entries(&self) -> usize {
        self.view().len()
    }

    #[inline]
    fn prefetch(leaf: *const Self) {
        Self::prefetch(leaf);
    }

    unsafe fn split(&self, bounds: Bounds<'_, I::Key>, learnt: Learnt) -> Halves<Self> {
        let view = self.view();
        let mut parts = Parts::new();
        parts.extend(view, 0, view.len());
        let middle = parts.len() / 2;
        halves(&mut parts, middle, self.skip(), bounds, learnt)
    }

    unsafe fn join(
        low: &Self,
        high: &Self,
        bounds: Bounds<'_, I::Key>,
        learnt: Learnt,
    ) -> NonNull<Self> {
        let mut parts = Parts::new();
        for view in [low.view(), high.view()] {
            parts.extend(view, 0, view.len());
        }
        let mut skip = common_skip(&bounds);
        let skips = (low.skip(), high.skip());
        if skips.0 == skips.1 && skips.0 <= skip {
            // Key prefixes behind a shorter prefix are right too, and at hand.
            skip = skips.0;
        } else {
            parts.rehead(skip);
        }
        Self::alloc(word(skip, learnt), &parts, 0, parts.len())
    }

    unsafe fn dispose(leaf: *mut Self) {
        // Also if the drop of a pair panics.
        // SAFETY: the caller's contract: the leaf and what its items name are ours alone.
        let _leaf = AtEnd::new(|| unsafe { Self::free(leaf) });
        // SAFETY: as above.
        let view = unsafe { (*leaf).view() };
        // SAFETY: as above.
        for_all(0..view.len(), |pos| unsafe { view.item(pos).dispose() });
    }
}

impl<I: Item> LeafTree<I> {
    /// Replaces a locked leaf by two that hold `parts`, no more than fit; returns the slot of the part that is
    /// `wanted`.
    pub(super) fn split_full<'p>(
        &'p self,
        put: Put,
        leaf_ref: LeafRef<'p, I>,
        held: StatGuard<'p>,
        parts: &mut Parts<I>,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> &'p I {
        let bounds = self.find_position(probe, pin).bounds();
        // An ascending load fills its leaves: the last leaf keeps all, and the next begins.
        let at = if put == Put::Last && bounds.high.is_none() {
            (parts.len() - 1).min(SLOTS)
        } else {
            parts.len() / 2
        };
        let skip = leaf_ref.base.skip();
        let halves = halves(parts, at, skip, bounds, Learnt::default());
        // SAFETY: (RECLAIM) not published yet, and from then on protected by the pin.
        let (low, high) = unsafe { (halves.low.as_ref().view(), halves.high.as_ref().view()) };
        let of = parts.wanted;
        let slot = if of < at {
            low.item(of)
        } else {
            high.item(of - at)
        };
        self.replace_by_two(leaf_ref, held, halves, false, probe, pin);
        slot
    }

    /// Replaces a locked leaf by one that holds `parts`; returns the slot of the part that is `wanted`.
    pub(super) fn rewrite<'p>(
        &'p self,
        leaf_ref: LeafRef<'p, I>,
        held: StatGuard<'p>,
        parts: &Parts<I>,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> &'p I {
        let word = word(leaf_ref.base.skip(), held.learnt());
        let leaf = Leaf::alloc(word, parts, 0, parts.len());
        // SAFETY: (RECLAIM) not published yet, and from then on protected by the pin.
        let slot = unsafe { leaf.as_ref() }.view().item(parts.wanted);
        self.replace_by_one(leaf_ref, held, leaf, probe, pin);
        slot
    }
}

/// Makes two leaves of parts: those before `at`, and the others. `skip` is that of the leaf they come from.
fn halves<I: Item>(
    parts: &mut Parts<I>,
    at: usize,
    skip: usize,
    bounds: Bounds<'_, I::Key>,
    learnt: Learnt,
) -> Halves<Leaf<I>> {
    let between = (parts.key_prefix(at), parts.item(at));
    let sep = separator(parts.item(at - 1), between);
    let between = Some(sep.fence());
    let Bounds { low, high } = bounds;
    let below = better_skip(parts, skip, &Bounds { low, high: between });
    if below != skip {
        parts.rehead(below);
    }
    let left = Leaf::alloc(word(below, learnt), parts, 0, at);
    let above = better_skip(parts, skip, &Bounds { low: between, high });
    if above != below {
        parts.rehead(above);
    }
    let right = Leaf::alloc(word(above, learnt), parts, at, parts.len());
    Halves {
        low: left,
        sep,
        high: right,
    }
}

/// Returns a separator of an entry and a higher one, which comes with its key prefix.
pub(super) fn separator<I: Item>(low: &I, (key_prefix, high): (u64, &I)) -> Sep<I::Key> {
    if I::Key::EXACT {
        Sep::exact(key_prefix)
    } else {
        Sep::between(low.key(), high.key())
    }
}

/// Returns the prefix to skip in a leaf of these bounds: the old one, which still holds, unless its key prefixes tell
/// little and the bounds know better.
pub(super) fn better_skip<I: Item>(
    parts: &Parts<I>,
    old: usize,
    bounds: &Bounds<'_, I::Key>,
) -> usize {
    let told = parts.key_prefix(0) ^ parts.key_prefix(parts.len() - 1);
    if told.leading_zeros() < 32 {
        return old;
    }
    old.max(common_skip(bounds))
}

/// Returns the number of bytes that all keys between two fences share.
fn common_skip<K: TreeKey + ?Sized>(bounds: &Bounds<'_, K>) -> usize {
    match (bounds.low, bounds.high) {
        (Some(Fence { sep: low, .. }), Some(Fence { sep: high, .. })) if !K::EXACT => {
            low.common(high).min(MAX_SKIP)
        }
        _ => 0,
    }
}
