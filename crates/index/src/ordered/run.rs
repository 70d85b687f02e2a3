//! Changing neighbouring entries under one lock.
//!
//! # Why
//!
//! A list that is inserted in one step puts a cell under each of its keys and takes it out again. Neighbours lie in one
//! leaf, so it is found and locked once for all of them. And when its slots run out it is written anew once, with all
//! that is to change in it, not once for every few changes.
//!
//! # How
//!
//! While the leaf has slots left each change is published by itself, as by [`LeafTree::upsert`]. The rest of the run is
//! collected and published together, by the store of a child pointer: the leaf becomes one leaf, or two.

use std::borrow::Borrow;

use fyris_sync::lock::StatGuard;
use fyris_sync::reclaim::Guard;

use super::base::Put;
use super::item::Item;
use super::leaf::{Parts, View};
use super::write::REBUILD_MAX;
use super::{LeafRef, LeafTree, SLOTS};
use crate::Action;
use crate::key::TreeKey;
use crate::key::probe::{ByKey, Fence, Probe};

/// Entries that a leaf and what a run adds to it may have together: two leaves.
const MOST: usize = 2 * SLOTS;

/// The keys of a run that are left, as far as one leaf covers them.
struct Rest<'p, I: Item, F> {
    keys: F,
    /// The end of what the leaf covers, with its key prefix.
    high: Option<(u64, Fence<'p, I::Key>)>,
    done: usize,
}

impl<'k, I: Item, F, Q> Rest<'_, I, F>
where
    I::Key: Borrow<Q>,
    Q: TreeKey<Sep = <I::Key as TreeKey>::Sep> + ?Sized + 'k,
    F: Fn(usize) -> Option<&'k Q>,
{
    /// Returns the next key, if the leaf covers it.
    #[inline]
    fn next(&self) -> Option<&'k Q> {
        let key = (self.keys)(self.done)?;
        // If the key prefixes differ they decide.
        let is_beyond = |(key_prefix, fence): &(u64, Fence<'_, I::Key>)| {
            key.key_prefix(0) >= *key_prefix && !ByKey(key).is_below(fence)
        };
        let is_other = self.done > 0 && self.high.as_ref().is_some_and(is_beyond);
        (!is_other || cfg!(fyris_mutant = "ordered_run_too_far")).then_some(key)
    }
}

/// A change to a leaf: what becomes of the entry at `pos`, or, unless it was `found`, before it.
struct Change<I> {
    pos: usize,
    found: bool,
    key_prefix: u64,
    action: Action<I>,
}

impl<I: Item> LeafTree<I> {
    /// Changes the entries of the first of some ascending keys, under one lock: those that the leaf of the first one
    /// covers and has room for. `f` returns the action for a key, given its place among them, or `None` to end the run
    /// before it. Returns the number of keys done.
    ///
    /// Each change is linearizable. If `f` panics the leaf is unlocked, and unchanged but for changes of other keys.
    pub(crate) fn upsert_run<'p, 'k, Q>(
        &'p self,
        keys: impl Fn(usize) -> Option<&'k Q>,
        pin: &'p impl Guard,
        mut f: impl FnMut(usize, Option<&'p I>) -> Option<Action<I>>,
    ) -> usize
    where
        I::Key: Borrow<Q>,
        Q: TreeKey<Sep = <I::Key as TreeKey>::Sep> + ?Sized + 'k,
    {
        let Some(first) = keys(0) else { return 0 };
        let probe = ByKey(first);
        let (position, held) = loop {
            let position = self.planted().find_position(&probe, pin);
            // A dead leaf has been replaced: its successor is found from the root.
            if let Some(held) = position.base_ref.base.lock.lock() {
                break (position, held);
            }
        };
        // The range of keys that a leaf covers never changes (invariant FROZEN_NODE).
        let high = position
            .high()
            .map(|fence| (fence.key_prefix_at_start(), fence));
        let leaf_ref = position.base_ref;
        let mut rest = Rest::<I, _> {
            keys,
            high,
            done: 0,
        };
        let mut removed = false;
        while let Some(change) = next_change(&rest, leaf_ref.base.view(), &mut f) {
            let view = leaf_ref.base.view();
            match change.action {
                Action::Put(_) if view.perm.is_full() => {
                    self.rewrite_run(leaf_ref, held, &mut rest, change, f, &probe, pin);
                    return rest.done;
                }
                Action::Put(item) => {
                    if !change.found {
                        self.counters.entries.add(1);
                    }
                    let Change {
                        pos,
                        found,
                        key_prefix,
                        ..
                    } = change;
                    // SAFETY: `held` is the leaf's lock, and `view` was loaded under it.
                    unsafe { leaf_ref.base.write(view.perm, pos, found, key_prefix, item) };
                }
                Action::Remove if change.found => {
                    leaf_ref.base.remove(view.perm, change.pos);
                    self.counters.entries.add(-1);
                    removed = true;
                }
                Action::Remove | Action::Keep => {}
            }
            rest.done += 1;
        }
        let left = removed.then(|| leaf_ref.base.view().len());
        // SAFETY: `probe` led to the leaf, whose lock is `held`.
        unsafe { self.settle(leaf_ref, held, left, &probe, pin) };
        rest.done
    }

    /// Goes on with a leaf that has no slot left for `change`: writes it anew with that and the changes that follow.
    #[expect(clippy::too_many_arguments, reason = "the state of a loop")]
    fn rewrite_run<'p, 'k, Q, F>(
        &'p self,
        leaf_ref: LeafRef<'p, I>,
        mut held: StatGuard<'p>,
        rest: &mut Rest<'p, I, F>,
        change: Change<I>,
        mut f: impl FnMut(usize, Option<&'p I>) -> Option<Action<I>>,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) where
        I::Key: Borrow<Q>,
        Q: TreeKey<Sep = <I::Key as TreeKey>::Sep> + ?Sized + 'k,
        F: Fn(usize) -> Option<&'k Q>,
    {
        let view = leaf_ref.base.view();
        let mut parts = Parts::new();
        let (mut from, mut changed, mut last) = (0, 0, 0);
        let mut next = Some(change);
        while let Some(change) = next.take() {
            rest.done += 1;
            if !matches!(change.action, Action::Keep) {
                parts.extend(view, from, change.pos);
                from = change.pos + usize::from(change.found);
                changed += 1;
            }
            if let Action::Put(item) = change.action {
                parts.push(change.key_prefix, item);
                last = parts.len();
            }
            if parts.len() + (view.len() - from) < MOST {
                next = next_change(rest, view, &mut f);
            }
        }
        parts.extend(view, from, view.len());
        let grown = parts.len() as i64 - view.len() as i64;
        // Before they can be seen, and removals after that: a count is never too low.
        if grown > 0 {
            self.counters.entries.add(grown);
        }
        held.count();
        // If most entries are new, as when a list is inserted, the leaf will not run out of slots again at once.
        let fits = parts.len() <= REBUILD_MAX.max(1) || 2 * changed > parts.len();
        if fits && parts.len() <= SLOTS {
            self.rewrite(leaf_ref, held, &parts, probe, pin);
        } else {
            let put = if last == parts.len() {
                Put::Last
            } else {
                Put::Within
            };
            self.split_full(put, leaf_ref, held, &mut parts, probe, pin);
        }
        if grown < 0 {
            self.counters.entries.add(grown);
        }
    }
}

/// Returns the change that `f` makes of the next key.
#[inline]
fn next_change<'p, 'k, I: Item, F, Q>(
    rest: &Rest<'p, I, F>,
    view: View<'p, I>,
    f: &mut impl FnMut(usize, Option<&'p I>) -> Option<Action<I>>,
) -> Option<Change<I>>
where
    I::Key: Borrow<Q>,
    Q: TreeKey<Sep = <I::Key as TreeKey>::Sep> + ?Sized + 'k,
    F: Fn(usize) -> Option<&'k Q>,
{
    let key = rest.next()?;
    let (pos, found) = view.search(&ByKey(key));
    let action = f(rest.done, found.then(|| view.item(pos)))?;
    Some(Change {
        pos,
        found,
        key_prefix: key.key_prefix(view.leaf.skip()),
        action,
    })
}
