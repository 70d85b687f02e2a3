//! Walks over the tree in the order of keys, both ways; cuts and ranks.

use std::cmp::Ordering;

use fyris_index::key::TreeKey;
use fyris_index::{Batch, Entry};
use fyris_sync::lock::Backoff;
use smallvec::SmallVec;

use crate::place::{ByKey, Cut, Keyed, Place};

use super::find::{At, Step};
use super::node::{AvlNodeRef, HIGH, LOW, Side, other};

/// Nodes to choose from for each cut.
const CHOICE: usize = 64;

/// A walk: upwards, or downwards if `BACK`. It meets each node that is in the tree throughout, once.
///
/// The walk remembers the nodes that it has passed on the way down to where it is and that come later in the order.
/// Between the node that it has met last and the next of these there was no node at some moment, when the way down
/// ended in a gap. Where the way down is lost, or one of the two has shrunk, the walk begins anew behind the last node.
pub(super) struct Walk<'g, const BACK: bool> {
    holder: AvlNodeRef<'g>,
    /// The nodes to come, the next one last, each with the version at which the walk has passed it.
    ahead: SmallVec<[At<'g>; 32]>,
    /// The node that was met last, whose further subtree is next.
    last: Option<At<'g>>,
}

impl<'g, const BACK: bool> Walk<'g, BACK> {
    /// The side that a walk comes to first.
    const NEAR: Side = if BACK { HIGH } else { LOW };
    /// How a place compares with the nodes that the walk meets before it.
    const AHEAD: Ordering = if BACK {
        Ordering::Less
    } else {
        Ordering::Greater
    };

    /// Begins a walk at a cut.
    pub(super) fn new<E: Entry<Key: TreeKey>>(
        holder: AvlNodeRef<'g>,
        from: &Cut<'_, E::Key>,
    ) -> Self {
        let mut walk = Self {
            holder,
            ahead: SmallVec::new(),
            last: None,
        };
        walk.seek::<E>(from);
        walk
    }

    /// Makes the first node behind a cut the next one.
    fn seek<E: Entry<Key: TreeKey>>(&mut self, from: &Cut<'_, E::Key>) {
        let mut backoff = Backoff::new();
        self.ahead.clear();
        while !self.descend::<E>(At::top(self.holder), from) {
            self.ahead.clear();
            backoff.wait();
        }
    }

    /// Goes down to a gap, and remembers the nodes that come later; returns false if the way is lost.
    fn descend<E: Entry<Key: TreeKey>>(&mut self, mut at: At<'g>, to: &Cut<'_, E::Key>) -> bool {
        loop {
            match at.step::<E>(to) {
                Step::Down => {
                    if at.side == Self::NEAR {
                        at.node.prefetch(other(Self::NEAR));
                        self.ahead.push(at);
                    }
                }
                Step::Gap => return true,
                // A cut is the place of no node.
                Step::Lost | Step::Found(_) => return false,
            }
        }
    }

    /// Returns the next node, dead or not.
    pub(super) fn next<E: Entry<Key: TreeKey>>(&mut self) -> Option<AvlNodeRef<'g>> {
        if let Some(last) = self.last.take() {
            let nearest = if BACK { Cut::Last } else { Cut::First };
            if !self.descend::<E>(last, &nearest) || self.has_turned(&last) {
                self.seek_behind::<E>(last.node);
            }
        }
        let at = self.ahead.pop()?;
        self.last = Some(At {
            side: other(Self::NEAR),
            ..at
        });
        Some(at.node)
    }

    /// Returns whether a rotation or a removal may have moved the last node, or the next one among those above, while
    /// the walk came down between them: then it may have met keys on the other side of these.
    fn has_turned(&self, last: &At<'_>) -> bool {
        let has_moved = |at: &At<'_>| !at.node.is_still(at.version);
        (has_moved(last) || self.ahead.last().is_some_and(has_moved))
            && !cfg!(fyris_mutant = "ravl_walk_unchecked")
    }

    #[cold]
    fn seek_behind<E: Entry<Key: TreeKey>>(&mut self, node: AvlNodeRef<'g>) {
        let entry = node.any_entry::<E>();
        let key = ByKey::new(entry.key());
        self.seek::<E>(&if BACK {
            Cut::Before(key)
        } else {
            Cut::Behind(key)
        });
    }

    /// Returns the next entry.
    pub(super) fn next_entry<E: Entry<Key: TreeKey>>(&mut self) -> Option<E> {
        loop {
            if let Some(entry) = self.next::<E>()?.entry() {
                return Some(entry);
            }
        }
    }

    /// Appends `want` entries up to a cut, one at least; returns whether there may be more.
    pub(super) fn append<E: Entry<Key: TreeKey>>(
        mut self,
        to: &Cut<'_, E::Key>,
        want: usize,
        out: &mut Batch<E>,
    ) -> bool {
        let full = out.len().saturating_add(want.max(1));
        while let Some(node) = self.next::<E>() {
            if Place::<E>::side(to, node) == Self::AHEAD {
                return false;
            }
            if out.len() >= full {
                return true;
            }
            out.extend(node.entry::<E>().inspect(E::prefetch));
        }
        false
    }
}

/// Appends entries that cut the tree into `parts`: chosen among those of its upper levels, by the heights of what lies
/// below these.
pub(super) fn cut<E: Entry<Key: TreeKey>>(
    holder: AvlNodeRef<'_>,
    parts: usize,
    out: &mut Batch<E>,
) {
    let levels = parts.saturating_mul(CHOICE).saturating_add(1).ilog2();
    let mut upper = Upper {
        entries: Vec::new(),
        size: 0.0,
    };
    upper.add(holder.child(HIGH), levels);
    if upper.entries.len() < parts {
        return;
    }
    let part_size = upper.size / parts as f64;
    let mut wanted = 1;
    for (before, entry) in upper.entries {
        if wanted < parts && before >= wanted as f64 * part_size {
            out.push(entry);
            wanted += 1;
        }
    }
}

/// The entries of upper levels in their order, each with the estimated number of nodes before it.
struct Upper<E> {
    entries: Vec<(f64, E)>,
    /// The estimated number of nodes met so far.
    size: f64,
}

impl<E: Entry<Key: TreeKey>> Upper<E> {
    /// Adds a subtree, without the entries that a rotation has moved to another place meanwhile.
    fn add(&mut self, root: Option<AvlNodeRef<'_>>, levels: u32) {
        let Some(node) = root else { return };
        if levels == 0 {
            self.size += size_of_height(node.height());
            return;
        }
        self.add(node.child(LOW), levels - 1);
        let is_behind = |entry: &E| {
            let last = self.entries.last();
            last.is_none_or(|(_, last)| last.key() < entry.key())
        };
        if let Some(entry) = node.entry::<E>().filter(is_behind) {
            self.entries.push((self.size, entry));
        }
        self.size += 1.0;
        self.add(node.child(HIGH), levels - 1);
    }
}

/// Returns about which part of the nodes lies before a place.
pub(super) fn rank<E: Entry<Key: TreeKey>>(holder: AvlNodeRef<'_>, place: &Cut<'_, E::Key>) -> f64 {
    let mut backoff = Backoff::new();
    loop {
        let (mut at, mut before, mut part) = (At::top(holder), 0.0, 1.0);
        loop {
            match at.step::<E>(place) {
                Step::Down => {
                    let low = part * share_of_low(at.node);
                    if at.side == HIGH {
                        before += low;
                        part -= low;
                    } else {
                        part = low;
                    }
                }
                Step::Gap => return before,
                Step::Lost | Step::Found(_) => break,
            }
        }
        backoff.wait();
    }
}

/// Estimates which part of the nodes below a node is on its lower side, from the heights.
fn share_of_low(node: AvlNodeRef<'_>) -> f64 {
    let [low, high] = node.heights().map(size_of_height);
    low / (low + high)
}

/// Estimates the number of nodes of a subtree, but for a factor.
fn size_of_height(height: u8) -> f64 {
    GROWTH.powi(height.into())
}

/// Nodes of a subtree, on average, for each of one that is lower by one: less than the 2 of full trees.
const GROWTH: f64 = 1.9;
