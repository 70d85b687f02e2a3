//! Descents: from the root to the node of a key, or to the gap where it would be.

use std::cmp::Ordering;

use fyris_index::Entry;
use fyris_sync::lock::Backoff;
use fyris_sync::reclaim::Guard;

use crate::place::Place;

use super::node::{AvlNodeRef, HIGH, LOW, LockedAvlNode, Side, Version};

/// A point on a descent: at the version, the keys of the node's subtree on the side include those of the place.
#[derive(Clone, Copy)]
pub(super) struct At<'g> {
    pub(super) node: AvlNodeRef<'g>,
    pub(super) version: Version,
    pub(super) side: Side,
}

/// What a step downwards comes to.
pub(super) enum Step<'g> {
    /// A child.
    Down,
    /// The node of the place.
    Found(AvlNodeRef<'g>),
    /// No child: there was no node of the place at a moment of the step.
    Gap,
    /// A change has overtaken the descent, which has to begin anew.
    Lost,
}

impl<'g> At<'g> {
    /// Returns the beginning of a descent: the root is the higher child of its holder, which never shrinks.
    #[inline]
    pub(super) fn top(holder: AvlNodeRef<'g>) -> Self {
        Self {
            node: holder,
            version: holder.version(),
            side: HIGH,
        }
    }

    /// Goes on to the child (invariant HAND_OVER_HAND).
    #[inline]
    pub(super) fn step<E>(&mut self, place: &impl Place<E>) -> Step<'g> {
        let Some(child) = self.node.child(self.side) else {
            return if self.node.is_still(self.version) {
                Step::Gap
            } else {
                Step::Lost
            };
        };
        let side = match place.side(child) {
            Ordering::Less => HIGH,
            Ordering::Greater => LOW,
            Ordering::Equal => return Step::Found(child),
        };
        let version = child.version();
        // The child has this version while it is linked here, and this node has not shrunk until then.
        let is_linked = self.node.child(self.side) == Some(child);
        if !version.is_steady() || !is_linked || !self.node.is_still(self.version) {
            return Step::Lost;
        }
        *self = Self {
            node: child,
            version,
            side,
        };
        Step::Down
    }

    /// Locks the node of a gap; `None` if the gap may not be there any more.
    #[inline]
    pub(super) fn lock(self) -> Option<LockedAvlNode<'g>> {
        let locked = self.node.lock_at(self.version)?;
        let is_free =
            locked.node.child(self.side).is_none() || cfg!(fyris_mutant = "ravl_gap_unchecked");
        is_free.then_some(locked)
    }
}

/// Returns the node of a place, dead or not, or the gap where it would be.
#[inline]
pub(super) fn find<'g, E: Entry>(
    holder: AvlNodeRef<'g>,
    place: &impl Place<E>,
) -> Result<AvlNodeRef<'g>, At<'g>> {
    let mut backoff = Backoff::new();
    loop {
        // Downwards, hand over hand: each step goes on with a version under which the key belongs to the node
        // (HAND_OVER_HAND).
        // * A child: on from there.
        // * The node of the key, dead or alive: what it holds is the caller's to look at.
        // * No child, and the node has not shrunk: the key belonged there, and was absent.
        // * A version or a link has changed: the key may have come to belong elsewhere; from the root, after a pause.
        let mut at = At::top(holder);
        loop {
            match at.step(place) {
                Step::Down => {}
                Step::Found(node) => return Ok(node),
                Step::Gap => return Err(at),
                Step::Lost => break,
            }
        }
        backoff.wait();
    }
}

/// Returns the node of a place, or the gap where it would be, to a writer: neither the node nor one above it belongs to
/// a snapshot.
#[inline]
pub(super) fn find_own<'g, E: Entry>(
    holder: AvlNodeRef<'g>,
    place: &impl Place<E>,
    pin: &impl Guard,
) -> Result<AvlNodeRef<'g>, At<'g>> {
    let mut backoff = Backoff::new();
    loop {
        // As in `find`; but where the step comes to a node that a snapshot has too, a copy of that takes its place
        // (FROZEN_SHARED), with the node above locked at the version that it had. Then the step is made again. If that
        // node has changed, again from the root.
        let mut at = At::top(holder);
        loop {
            let above = at;
            let is_shared = match at.step(place) {
                Step::Down => at.version.is_shared(),
                Step::Found(node) if !node.version().is_shared() => return Ok(node),
                Step::Found(_) => true,
                Step::Gap => return Err(at),
                Step::Lost => break,
            };
            if is_shared {
                let Some(locked) = above.node.lock_at(above.version) else {
                    break;
                };
                locked.own_child(above.side, pin);
                at = above;
            }
        }
        backoff.wait();
    }
}
