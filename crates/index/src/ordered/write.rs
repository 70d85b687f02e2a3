//! Changing one entry.

use std::borrow::Borrow;

use fyris_sync::lock::StatGuard;
use fyris_sync::reclaim::Guard;

use super::base::Put;
use super::item::Item;
use super::leaf::{Parts, View};
use super::{LeafRef, LeafTree, SLOTS};
use crate::Action;
use crate::key::TreeKey;
use crate::key::probe::{ByKey, Probe};
use crate::made::AtEnd;

/// Live entries up to which a leaf whose slots have run out is rewritten as one leaf. A fuller one splits, because it
/// would run out again at once.
pub(super) const REBUILD_MAX: usize = SLOTS - SLOTS / 5;

impl<I: Item> LeafTree<I> {
    /// Runs `f` on the item at `key` under its leaf's lock, and does as it says.
    ///
    /// Linearizable: takes effect when a permutation word or a child pointer is stored, or, if nothing changes, while
    /// the lock is held. If `f` or a comparison panics the leaf is unlocked and nothing has changed.
    #[inline]
    pub(crate) fn upsert<'p, Q, R>(
        &'p self,
        key: &Q,
        pin: &'p impl Guard,
        f: impl FnOnce(Option<&'p I>) -> (Action<I>, R),
    ) -> R
    where
        I::Key: Borrow<Q>,
        Q: TreeKey<Sep = <I::Key as TreeKey>::Sep> + ?Sized,
    {
        self.upsert_in_place(key, pin, f).0
    }

    /// Runs `f` on the item at `key` under its leaf's lock, and does as it says; returns its result, and the slot of
    /// the entry that was put in.
    #[inline]
    pub(crate) fn upsert_in_place<'p, Q, R>(
        &'p self,
        key: &Q,
        pin: &'p impl Guard,
        f: impl FnOnce(Option<&'p I>) -> (Action<I>, R),
    ) -> (R, Option<&'p I>)
    where
        I::Key: Borrow<Q>,
        Q: TreeKey<Sep = <I::Key as TreeKey>::Sep> + ?Sized,
    {
        // A leaf that was locked alive covers the key for good, and until it is unlocked only this thread changes it
        // (FROZEN_NODE): what the search finds there holds while `f` decides. Then
        // * put, and a slot is left: the entry goes into a slot that no word has named, and one store of the word shows
        //   it, in the place of the old one if there was one (WRITTEN_ONCE);
        // * put, and no slot is left: `renew` copies what lives, and the new entry, to one new leaf or to two. One
        //   store of a child pointer shows them, and the old leaf dies as it was;
        // * remove: one store of a word that does not name the entry any more. Its slot is not used again;
        // * remove of nothing, or keep: nothing is stored.
        // `settle` counts the acquisition and unlocks; a leaf that is contended, calm or nearly empty it first splits
        // or joins.
        let probe = ByKey(key);
        let (leaf_ref, held) = self.planted().lock_base(&probe, pin);
        let view = leaf_ref.base.view();
        let (pos, found) = view.search(&probe);
        let (action, out) = f(found.then(|| view.item(pos)));
        let now = match action {
            Action::Put(item) => {
                let key_prefix = key.key_prefix(leaf_ref.base.skip());
                let new = New {
                    key_prefix,
                    item,
                    pos,
                    found,
                };
                Some(self.put(leaf_ref, held, view, new, &probe, pin))
            }
            Action::Remove if found => {
                leaf_ref.base.remove(view.perm, pos);
                self.counters.entries.add(-1);
                // SAFETY: `probe` led to the leaf, whose lock is `held`.
                unsafe { self.settle(leaf_ref, held, Some(view.len() - 1), &probe, pin) };
                None
            }
            Action::Remove | Action::Keep => {
                // SAFETY: as above.
                unsafe { self.settle(leaf_ref, held, None, &probe, pin) };
                None
            }
        };
        (out, now)
    }

    /// Puts an entry into a locked leaf, and unlocks it; returns the slot.
    #[inline]
    fn put<'p>(
        &'p self,
        leaf_ref: LeafRef<'p, I>,
        held: StatGuard<'p>,
        view: View<'p, I>,
        new: New<I>,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> &'p I {
        if !new.found {
            // Before it can be seen, and a removal after that: a count is never too low.
            self.counters.entries.add(1);
        }
        if view.perm.is_full() {
            let counted = -i64::from(!new.found);
            let counted = AtEnd::new(|| _ = self.counters.entries.add(counted));
            let slot = self.renew(leaf_ref, held, view, new, probe, pin);
            counted.defuse();
            return slot;
        }
        let New {
            key_prefix,
            item,
            pos,
            found,
        } = new;
        // SAFETY: `held` is the leaf's lock, and `view` was loaded under it.
        let slot = unsafe { leaf_ref.base.write(view.perm, pos, found, key_prefix, item) };
        // SAFETY: `probe` led to the leaf, whose lock is `held`.
        unsafe { self.settle(leaf_ref, held, None, probe, pin) };
        slot
    }

    /// Puts an entry into a leaf that has no slot left: into one new leaf, or two.
    #[cold]
    fn renew<'p>(
        &'p self,
        leaf_ref: LeafRef<'p, I>,
        mut held: StatGuard<'p>,
        view: View<'p, I>,
        new: New<I>,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> &'p I {
        held.count();
        let mut parts = Parts::new();
        parts.extend(view, 0, new.pos);
        parts.wanted = new.pos;
        parts.push(new.key_prefix, new.item);
        parts.extend(view, new.pos + usize::from(new.found), view.len());
        if parts.len() > REBUILD_MAX.max(1) {
            let put = if new.pos + 1 == parts.len() {
                Put::Last
            } else {
                Put::Within
            };
            return self.split_full(put, leaf_ref, held, &mut parts, probe, pin);
        }
        self.rewrite(leaf_ref, held, &parts, probe, pin)
    }
}

/// An entry on its way in.
struct New<I> {
    key_prefix: u64,
    item: I,
    pos: usize,
    found: bool,
}
