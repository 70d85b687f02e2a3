//! Deleting objects of a chain, and putting others in their places.

use std::collections::HashSet;

use fyris_sync::reclaim::Guard;
use smallvec::SmallVec;

use super::cell::{Figures, figures};
use super::{CellPtr, Member, above, cell, objects, push, push_known, run, walk};
use crate::record::RecordPtr;
use crate::slot::Content;

/// A chain that was made of another one, which loses some of its records to it or to nobody.
pub(crate) struct Edited {
    old: Content,
    /// The new chain; `None` if all objects went.
    pub(crate) new: Option<Content>,
    /// The highest content that the old and the new chain share.
    shared: Option<Content>,
    /// The objects that the new chain does not have.
    pub(crate) gone: SmallVec<[Member; 1]>,
    /// The bytes of what only the new chain has.
    pub(super) fresh: usize,
}

/// A deletion leaves no tombstone in a chain of up to 16 objects, nor among the newest 16 of a chain without
/// tombstones.
const SHORT: usize = 16;
/// A chain has at most one tombstone for each 8 objects.
const PART: usize = 8;

/// Takes out objects of a chain, given with the newest first; `None` if there are none. O(1) for a few objects, on
/// average over the deletions of many.
///
/// Records that stay keep their place and their owner.
pub(crate) fn without(old: Content, removed: SmallVec<[Member; 1]>) -> Option<Edited> {
    let lowest = removed.last()?.seq;
    let Figures {
        tombstones,
        seq: newest,
        ..
    } = figures(old);
    let few = removed.len() + tombstones as usize <= old.count() / PART;
    // A stack of objects is not to gather tombstones that each pop walks past, nor to make a large run again and again.
    let is_near =
        tombstones == 0 && ((newest - lowest) as usize) < SHORT && !run::has_large(lowest, newest);
    Some(if few && !is_near && old.count() > SHORT {
        with_tombstones(old, removed)
    } else {
        rebuilt(old, removed)
    })
}

fn with_tombstones(old: Content, removed: SmallVec<[Member; 1]>) -> Edited {
    let newest = newest_that_stays(old, &removed);
    let add = |older, object: &Member| cell::tombstone(object, newest, older);
    let rest = removed.iter().fold(old, add);
    Edited {
        old,
        new: Some(rest),
        shared: Some(old),
        fresh: size_of_cells(Some(rest), Some(old)),
        gone: removed,
    }
}

/// Returns the newest object of a chain except those that are removed, which are given with the newest first.
fn newest_that_stays(old: Content, removed: &[Member]) -> RecordPtr {
    let newest = old.newest();
    if newest != removed[0].record {
        return newest;
    }
    // The newest object below it is the newest again, unless objects were deleted since it came.
    let below = removed[0].cell.map(|cell| cell.get().older);
    let as_before = |below: &Content| figures(*below).tombstones == figures(old).tombstones;
    if let (Some(below), [_]) = (below.filter(as_before), removed) {
        return below.newest();
    }
    // Both come newest first.
    let mut gone = removed.iter().peekable();
    let stays = |object: &Member| gone.next_if(|next| next.seq == object.seq).is_none();
    let newest = objects(Some(old)).find(stays);
    newest.expect("few objects are taken out").record
}

fn rebuilt(old: Content, removed: SmallVec<[Member; 1]>) -> Edited {
    // Walk down remembering what is newer; the part below the lowest deleted object is shared.
    let mut newer: SmallVec<[Member; SHORT]> = SmallVec::new();
    let mut kept_newer = 0;
    let mut shared = Some(old);
    let mut left = removed.iter().peekable();
    // Objects that were deleted before, whose tombstones lie above them.
    let mut dead = figures(old).tombstones;
    for step in walk(Some(old), None) {
        dead -= u32::from(step.is_dead());
        let goes = match step.object {
            Some(object) => left.next_if(|next| next.seq == object.seq).is_some(),
            None => true,
        };
        if goes {
            shared = step.cell.map(|cell| cell.get().older);
            kept_newer = newer.len();
        } else {
            newer.extend(step.object);
        }
        if dead == 0 && left.peek().is_none() {
            break;
        }
    }
    let add = |rest, kept: &Member| Some(push_known(kept.record, kept.known_fingerprint(), rest));
    let rest = newer[..kept_newer].iter().rev().fold(shared, add);
    Edited {
        old,
        new: rest,
        shared,
        fresh: size_of_cells(rest, shared),
        gone: removed,
    }
}

/// Puts other records in the places of some, all cells new; `None` if `other` knows none of the chain's records.
pub(crate) fn with_others(
    old: Content,
    other: impl Fn(RecordPtr) -> Option<RecordPtr>,
) -> Option<Edited> {
    let (mut gone, mut fresh) = (SmallVec::new(), 0);
    let mut change = |object: Member| match other(object.record) {
        Some(new) => {
            gone.push(object);
            fresh += new.size();
            new
        }
        None => object.record,
    };
    let records: Vec<_> = objects(Some(old)).map(&mut change).collect();
    if gone.is_empty() {
        return None;
    }
    let add = |older, &record| Some(push(record, older));
    let new = records.iter().rev().fold(None, add);
    Some(Edited {
        old,
        new,
        shared: None,
        fresh: fresh + size_of_cells(new, None),
        gone,
    })
}

/// Returns the bytes of the cells of `top` down to `bottom`, which is not counted.
fn size_of_cells(top: Option<Content>, bottom: Option<Content>) -> usize {
    let cells = walk(top, bottom).filter_map(|step| step.cell);
    cells.map(CellPtr::size).sum()
}

impl Edited {
    /// Returns the records that the new chain has and the old one has not, the newest first.
    pub(crate) fn came(&self) -> Vec<RecordPtr> {
        let before: HashSet<u64> = above(Some(self.old), self.shared)
            .map(RecordPtr::bits)
            .collect();
        above(self.new, self.shared)
            .filter(|record| !before.contains(&record.bits()))
            .collect()
    }

    /// Returns the number of objects that the new chain has fewer.
    pub(crate) fn fewer(&self) -> usize {
        self.old.count() - self.new.map_or(0, Content::count)
    }

    /// Returns how many bytes more the new chain takes than the old one, or fewer.
    pub(crate) fn more_bytes(&self) -> i64 {
        self.fresh as i64 - self.bytes() as i64
    }

    /// Returns the bytes of what the new chain does not have.
    pub(crate) fn bytes(&self) -> usize {
        let gone: usize = self.gone.iter().map(|object| object.record.size()).sum();
        gone + size_of_cells(Some(self.old), self.shared)
    }

    /// Returns whether another chain of the key has any of what the new chain does not have: an object that went, or a
    /// cell above the shared part, and then the lowest one.
    pub(crate) fn is_in(&self, other: Content) -> bool {
        let has = |object: &Member| {
            let alike = super::search(other, object.record.fingerprints());
            alike
                .map(|object| object.record)
                .any(|record| record == object.record)
        };
        let cells = |of, bottom| walk(of, bottom).filter_map(|step: super::ChainStep| step.cell);
        let lowest = cells(Some(self.old), self.shared).last();
        let reaches = |lowest: CellPtr| {
            let above = |cell: &CellPtr| cell.get().place() >= lowest.get().place();
            cells(Some(other), None)
                .take_while(above)
                .any(|cell| cell == lowest)
        };
        self.gone.iter().any(has) || lowest.is_some_and(reaches)
    }

    /// Retires the records and cells of the old chain that the new one does not have.
    ///
    /// # Safety
    ///
    /// The new chain has taken the old one's place, for all who pin from now on.
    pub(crate) unsafe fn retire(self, pin: &impl Guard) {
        for object in &self.gone {
            // SAFETY: not in the new chain, and the old one is unreachable.
            unsafe { object.record.retire(pin) };
        }
        for cell in walk(Some(self.old), self.shared).filter_map(|step| step.cell) {
            // SAFETY: above the shared part, so not in the new chain.
            unsafe { cell.retire(pin) };
        }
    }
}
