//! Decisions to split and join base nodes, by contention and by size, and replacing them in the tree.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use fyris_sync::reclaim::Guard;

use super::base::{Base, BaseLock, Bounds, Halves, Held, HeldBase, Learnt};
use super::descend::{BaseRef, Position};
use super::draft::Draft;
use super::route::{Edit, FEW_CHILDREN, retire_sep};
use super::{Tree, as_node};
use crate::key::probe::Probe;

/// A base node splits above this statistic, and joins below the negative of it (ETS's figures).
pub const LIMIT: i64 = if cfg!(fyris_small) { 200 } else { 1000 };

/// The reason for a base node to change its shape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// Writers wait for each other.
    Contended,
    /// Writers have stopped waiting for each other.
    Calm,
    /// It is nearly empty.
    Few,
}

/// Returns the reason to change the shape of a node that has this statistic, and `left` entries if one was removed.
#[inline]
fn reason<B: Base>(statistic: i64, left: Option<usize>, held: &HeldBase<'_, B>) -> Option<Why> {
    if !(-LIMIT..=LIMIT).contains(&statistic) {
        return Some(if statistic > 0 {
            Why::Contended
        } else {
            Why::Calm
        });
    }
    left.is_some_and(|len| len < B::FEW && !held.learnt().forced)
        .then_some(Why::Few)
}

impl<B: Base> Tree<B> {
    /// Counts the acquisition, adapts if it is time to, and unlocks. `left`: the number of entries left after one was
    /// removed. The base node holds what it should.
    ///
    /// # Safety
    ///
    /// `base_ref` was found in this tree by `probe`, under `pin`, and `held` is its lock. No reference to what only
    /// the lock's holder may look at is left.
    #[inline]
    pub unsafe fn settle<'p>(
        &'p self,
        base_ref: BaseRef<'p, B>,
        mut held: HeldBase<'p, B>,
        left: Option<usize>,
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) {
        let statistic = held.count();
        if let Some(why) = reason::<B>(statistic, left, &held) {
            self.adapt(why, base_ref, held, probe, pin);
        }
    }

    /// Counts the acquisition as one of several by an operation that has only read the nodes, adapts if it is time to,
    /// and unlocks.
    ///
    /// # Safety
    ///
    /// `base_ref` was found in this tree by `probe`, under `pin`, and `held` is its lock. No reference to what only the
    /// lock's holder may look at is left.
    pub unsafe fn settle_several<'p>(
        &'p self,
        base_ref: BaseRef<'p, B>,
        mut held: HeldBase<'p, B>,
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) {
        let statistic = held.count_several();
        if let Some(why) = reason::<B>(statistic, None, &held) {
            self.adapt(why, base_ref, held, probe, pin);
        }
    }

    /// Changes the shape of the base node, or finds that it should stay, and unlocks it. If a comparison panics the
    /// shape stays as it is, and the operation that was to adapt it, which has been done, returns as always.
    #[cold]
    fn adapt<'p>(
        &'p self,
        why: Why,
        base_ref: BaseRef<'p, B>,
        held: HeldBase<'p, B>,
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) {
        // Every change of the shape is one store, before which nothing is seen of it.
        let adapt = AssertUnwindSafe(|| self.reshape(why, base_ref, held, probe, pin));
        let _ = catch_unwind(adapt);
    }

    fn reshape<'p>(
        &'p self,
        why: Why,
        base_ref: BaseRef<'p, B>,
        mut held: HeldBase<'p, B>,
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) {
        if why != Why::Few {
            held.set_statistic(0);
        }
        if why != Why::Contended {
            return self.join(why, base_ref, held, probe, pin);
        }
        // SAFETY: its lock is held.
        if unsafe { base_ref.base.entries() } < 2 {
            return;
        }
        let bounds = self.find_position(probe, pin).bounds();
        let learnt = Learnt {
            statistic: 0,
            forced: true,
        };
        // SAFETY: locked and alive, of two entries or more; `replace_by_two` marks it dead.
        let halves = unsafe { base_ref.base.split(bounds, learnt) };
        self.replace_by_two(base_ref, held, halves, true, probe, pin);
    }

    /// Replaces a locked base node by another one with the same range.
    pub(crate) fn replace_by_one<'p>(
        &'p self,
        base_ref: BaseRef<'p, B>,
        held: HeldBase<'p, B>,
        new: NonNull<B>,
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) {
        self.counters.shape().rebuilds.add(1);
        let edit = Edit::One(new.as_ptr().cast());
        self.replace_base(base_ref, held, edit, probe, pin);
    }

    /// Replaces a locked base node by two that share its range; `contended`: because writers wait for each other.
    pub(crate) fn replace_by_two<'p>(
        &'p self,
        base_ref: BaseRef<'p, B>,
        held: HeldBase<'p, B>,
        halves: Halves<B>,
        contended: bool,
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) {
        let splits = self.counters.shape();
        if contended {
            &splits.contention_splits
        } else {
            &splits.size_splits
        }
        .add(1);
        let Halves { low, sep, high } = halves;
        let edit = Edit::Two(low.as_ptr().cast(), sep, high.as_ptr().cast());
        self.replace_base(base_ref, held, edit, probe, pin);
        self.counters.base_came();
    }

    /// Replaces a locked base node.
    fn replace_base<'p>(
        &'p self,
        base_ref: BaseRef<'p, B>,
        held: HeldBase<'p, B>,
        edit: Edit<B::Key>,
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) {
        let BaseRef { parent, base, .. } = base_ref;
        self.replace(probe, 0, as_node(base), edit, Some(parent), pin);
        held.mark_dead();
        // SAFETY: (RECLAIM) `replace` has unlinked it, and the thread that unlinks retires.
        unsafe { pin.retire(std::ptr::from_ref(base).cast_mut()) };
    }

    /// Joins a locked base node with a neighbour under the same parent if they fit together.
    fn join<'p>(
        &'p self,
        why: Why,
        base_ref: BaseRef<'p, B>,
        held: HeldBase<'p, B>,
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) {
        let position = self.find_position(probe, pin);
        let at = position.base_ref.at;
        let mut held = Some(held);
        for left_at in [at.checked_sub(1), Some(at)].into_iter().flatten() {
            if left_at + 1 < position.base_ref.parent.len() {
                let pair = (position.sibling(left_at), position.sibling(left_at + 1));
                held = held.and_then(|held| self.join_pair(why, &base_ref, held, pair, probe, pin));
            }
        }
    }

    /// Joins two neighbours, one of them the base node of `base_ref`, which is locked. Returns its lock if they stay
    /// apart: if the neighbour's lock is not free, if contention made the neighbour small, if both have more entries
    /// than fit together, or if the parent was replaced since the descent.
    ///
    /// Else all three are locked, from the bottom up, and alive. A node with the entries of both is made, and a copy of
    /// the parent with one child less, which takes the parent's place by one store (`replace`); then the three die. If
    /// the copy has few children it looks for a neighbour in its turn (`thin`).
    fn join_pair<'p>(
        &'p self,
        why: Why,
        base_ref: &BaseRef<'p, B>,
        held: HeldBase<'p, B>,
        (left, right): (Position<'p, B>, Position<'p, B>),
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) -> Option<HeldBase<'p, B>> {
        let (parent, left_at) = (left.base_ref.parent, left.base_ref.at);
        let (low, high) = (left.base_ref.base, right.base_ref.base);
        let other = if std::ptr::eq(low, base_ref.base) {
            high
        } else {
            low
        };
        // Tried, not waited for (invariant LOCK_ORDER). If the lock is not free, another thread changes that node: give
        // up.
        let Some(other_held) = other.lock().try_lock() else {
            return Some(held);
        };
        // A neighbour that contention made small waits for its own calm.
        if why == Why::Few && other_held.learnt().forced {
            return Some(held);
        }
        // SAFETY: both locks are held.
        let (below, above) = unsafe { (low.entries(), high.entries()) };
        if below + above > B::JOIN_MAX && below * above > 0 {
            return Some(held);
        }
        let Some(parent_held) = parent.lock.lock() else {
            return Some(held);
        };
        // Both base nodes are alive and so is the parent, and the children of a living node with fixed separators are
        // replaced only by their own holders: they are still side by side.
        debug_assert_eq!(parent.child(left_at), as_node(low));
        debug_assert_eq!(parent.child(left_at + 1), as_node(high));
        let statistic = if why == Why::Few {
            held.learnt().statistic
        } else {
            0
        };
        let learnt = Learnt {
            statistic,
            forced: false,
        };
        let bounds = Bounds {
            low: left.low(),
            high: right.high(),
        };
        // SAFETY: both are locked and alive, and marked dead below.
        let joined = unsafe { B::join(low, high, bounds, learnt) };
        let mut draft = Draft::of(parent);
        let sep = draft.unsplit(left_at, joined.as_ptr().cast());
        let children = draft.len();
        let node = self.new_inner(&draft, 0, children);
        self.replace(probe, 1, as_node(parent), Edit::One(node), None, pin);
        let counters = self.counters.shape();
        self.counters.base_went();
        if why == Why::Few {
            &counters.size_joins
        } else {
            &counters.contention_joins
        }
        .add(1);
        self.retire(parent, parent_held, pin);
        other_held.mark_dead();
        held.mark_dead();
        // SAFETY: (RECLAIM, SEPARATOR) `replace` has unlinked both base nodes and taken the separator out.
        unsafe {
            pin.retire(std::ptr::from_ref(other).cast_mut());
            pin.retire(std::ptr::from_ref(base_ref.base).cast_mut());
            retire_sep::<B::Key>(sep, pin);
        }
        if children < FEW_CHILDREN {
            self.thin(probe, 1, pin);
        }
        None
    }
}
