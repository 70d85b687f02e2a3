//! Changing one entry.

use std::borrow::Borrow;

use fyris_sync::reclaim::Guard;

use super::item::Item;
use super::key::TreeKey;
use super::leaf::{Leaf, Parts, View};
use super::lock::LockGuard;
use super::probe::{ByKey, Probe};
use super::read::LeafRef;
use super::stats::generation;
use super::{SLOTS, Tree, adapt};
use crate::Action;

/// Live entries up to which a leaf whose slots have run out is rewritten as one leaf. A fuller one
/// splits, because it would run out again at once.
pub(super) const REBUILD_MAX: usize = SLOTS - SLOTS / 5;

impl<I: Item> Tree<I> {
    /// Runs `f` on the item at `key` under its leaf's lock, and does as it says.
    ///
    /// Linearizable: takes effect when a permutation word or a child pointer is stored, or, if
    /// nothing changes, while the lock is held. If `f` panics the leaf is unlocked and unchanged.
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

    /// As [`Tree::upsert`]; returns also the slot of what was put in.
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
        let probe = ByKey(key);
        let (leaf_ref, held) = loop {
            let leaf_ref = self.find_leaf(&probe, pin);
            // A dead leaf has been replaced: what replaced it is found from the root.
            if let Some(held) = leaf_ref.leaf.lock.lock() {
                break (leaf_ref, held);
            }
        };
        let view = leaf_ref.leaf.view();
        let (pos, found) = view.search(&probe);
        let (action, out) = f(found.then(|| view.item(pos)));
        let now = match action {
            Action::Put(item) => {
                let key_prefix = key.key_prefix(leaf_ref.leaf.skip());
                let new = New {
                    key_prefix,
                    item,
                    pos,
                    found,
                };
                Some(self.put(leaf_ref, held, view, new, &probe, pin))
            }
            Action::Remove if found => {
                leaf_ref.leaf.remove(view.perm, pos);
                self.counters.entries.add(-1);
                self.settle(leaf_ref, held, Some(view.len() - 1), &probe, pin);
                None
            }
            Action::Remove | Action::Keep => {
                self.settle(leaf_ref, held, None, &probe, pin);
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
        held: LockGuard<'p>,
        view: View<'p, I>,
        new: New<I>,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> &'p I {
        if !new.found {
            self.counters.entries.add(1);
        }
        if view.perm.is_full() {
            return self.renew(leaf_ref, held, view, new, probe, pin);
        }
        let New {
            key_prefix,
            item,
            pos,
            found,
        } = new;
        // SAFETY: `held` is the leaf's lock, and `view` was loaded under it.
        let slot = unsafe { leaf_ref.leaf.write(view.perm, pos, found, key_prefix, item) };
        self.settle(leaf_ref, held, None, probe, pin);
        slot
    }

    /// Counts the acquisition, adapts if it is time to, and unlocks. `left`: how many entries are left
    /// after one was removed.
    #[inline]
    pub(super) fn settle<'p>(
        &'p self,
        leaf_ref: LeafRef<'p, I>,
        mut held: LockGuard<'p>,
        left: Option<usize>,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) {
        let stat = held.count();
        if let Some(why) = adapt::reason(stat, left, held.word) {
            self.adapt(why, leaf_ref, held, probe, pin);
        }
    }

    /// Puts an entry into a leaf that has no slot left: into one new leaf, or two.
    #[cold]
    fn renew<'p>(
        &'p self,
        leaf_ref: LeafRef<'p, I>,
        mut held: LockGuard<'p>,
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
            let why = adapt::Why::Full {
                appended: new.pos + 1 == parts.len(),
            };
            return self.split(why, leaf_ref, held, parts, probe, pin);
        }
        self.rewrite(leaf_ref, held, parts, probe, pin)
    }

    /// Replaces a locked leaf by one that holds `parts`; returns the slot of the part that is `wanted`.
    pub(super) fn rewrite<'p>(
        &'p self,
        leaf_ref: LeafRef<'p, I>,
        held: LockGuard<'p>,
        parts: Parts<I>,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> &'p I {
        let leaf = Leaf::alloc(held.word.renewed(generation()), &parts, 0, parts.len());
        // SAFETY: (RECLAIM) not published yet, and from then on protected by the pin.
        let slot = unsafe { leaf.as_ref() }.view().item(parts.wanted);
        self.counters.rebuilds.add(1);
        self.swap(&leaf_ref, leaf.as_ptr(), probe, pin);
        held.mark_dead();
        // SAFETY: (RECLAIM) `swap` has unlinked it, and whoever unlinks retires.
        unsafe { pin.retire(std::ptr::from_ref(leaf_ref.leaf).cast_mut()) };
        slot
    }
}

/// An entry on its way in.
struct New<I> {
    key_prefix: u64,
    item: I,
    pos: usize,
    found: bool,
}
