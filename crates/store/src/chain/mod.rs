//! Several objects under one key: persistent chains of cells.
//!
//! # Why
//!
//! A bag has one index entry a key, however many objects the key has, so that a lookup is one probe and `delete/2` one
//! removal. The entry points to the newest cell; each cell points to what was there before it. Invariant
//! **PERSISTENT**: a cell is never written after it is published. So a reader that has a chain has all the objects the
//! key held at one moment, and prepending is O(1). A key with a single object, the common case, has no cell: the entry
//! is the bare record.
//!
//! Read from the end, a chain gives the objects in insertion order, as the bags promise.
//!
//! # Deleting
//!
//! To delete an object of a long chain, a *tombstone* is prepended: a cell without an object, which has the sequence
//! number of the deleted one. A walk from the newest meets the tombstone first, and never reads the record, which is
//! retired. When there are many tombstones in proportion to the objects, and in short chains always, the cells above
//! the lowest deleted object are made anew without tombstones, on top of the older cells; so a deletion allocates O(1)
//! cells, amortized.
//!
//! # Searching
//!
//! An object is found by its [fingerprint](fyris_term::value::fingerprint), which its cell holds beside the pointer to
//! the record: the records of other objects are not read. In long chains the cells stand in [sorted runs](run) as well,
//! and a search passes over most cells, too.

mod alike;
mod cell;
mod edit;
mod run;
#[cfg(test)]
mod tests;

use std::collections::BinaryHeap;

use fyris_sync::reclaim::Guard;
use smallvec::SmallVec;

use crate::record::RecordPtr;
use crate::slot::{Content, Kind};

pub(crate) use alike::Alike;
pub(crate) use cell::CellPtr;
pub(crate) use edit::{Edited, with_others, without};
pub(crate) use run::{ANY, Fingerprints, search};

/// Returns `record`, a block, on top of `older`; the bare record when there is nothing older.
pub(crate) fn push(record: RecordPtr, older: Option<Content>) -> Content {
    push_known(record, None, older)
}

/// Returns `record`, a block whose fingerprint may be known, on top of `older`.
fn push_known(record: RecordPtr, fingerprint: Option<u64>, older: Option<Content>) -> Content {
    debug_assert!(!record.is_materialized() && !older.is_some_and(Content::is_inline));
    match older {
        None => Content::one(record),
        Some(older) => {
            let fingerprint = fingerprint.unwrap_or_else(|| record.fingerprint());
            cell::object(record, fingerprint, older)
        }
    }
}

/// A live object of a chain.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    pub(crate) record: RecordPtr,
    seq: u32,
    /// `None` for the oldest, which has no cell.
    cell: Option<CellPtr>,
}

impl Member {
    /// Returns the oldest object of a chain, or the only one of a key.
    fn oldest(record: RecordPtr) -> Member {
        Member {
            record,
            seq: 0,
            cell: None,
        }
    }

    fn fingerprint(&self) -> u64 {
        self.known_fingerprint()
            .unwrap_or_else(|| self.record.fingerprint())
    }

    fn known_fingerprint(&self) -> Option<u64> {
        self.cell.map(|cell| cell.get().fingerprint)
    }
}

/// The sequence numbers of deleted objects that are further down: the object with the greatest is visited next.
#[derive(Default)]
struct Dead(BinaryHeap<u32>);

impl Dead {
    /// Returns the object in a cell if it is alive; a tombstone is remembered. Cells are visited from the newest to the
    /// oldest.
    #[inline]
    fn visit(&mut self, cell: CellPtr) -> Option<Member> {
        if let Some(seq) = cell.get().deleted() {
            self.0.push(seq);
        }
        cell.object().filter(|object| !self.has(object))
    }

    /// Returns whether an object was deleted; each deleted one is asked for once.
    #[inline]
    fn has(&mut self, object: &Member) -> bool {
        let is_dead = self.0.peek() == Some(&object.seq);
        if is_dead {
            self.0.pop();
        }
        is_dead && !cfg!(fyris_mutant = "chain_tombstone_unseen")
    }
}

/// One step of a walk from the newest: a cell, unless it is the bare oldest record, and the live object in it.
struct ChainStep {
    cell: Option<CellPtr>,
    object: Option<Member>,
}

impl ChainStep {
    /// Returns whether it is at an object that was deleted.
    fn is_dead(&self) -> bool {
        let is_tombstone = |cell: CellPtr| cell.get().deleted().is_some();
        self.object.is_none() && !self.cell.is_some_and(is_tombstone)
    }
}

/// A walk over a chain, from the newest object.
struct Walk {
    rest: Option<Content>,
    bottom: Option<Content>,
    dead: Dead,
}

/// Walks from `top` down to `bottom`, which is not met.
#[inline]
fn walk(top: Option<Content>, bottom: Option<Content>) -> Walk {
    Walk {
        rest: top,
        bottom,
        dead: Dead::default(),
    }
}

impl Iterator for Walk {
    type Item = ChainStep;

    #[inline]
    fn next(&mut self) -> Option<ChainStep> {
        let content = self.rest.filter(|_| self.rest != self.bottom)?;
        Some(match content.kind() {
            Kind::One(record) => {
                self.rest = None;
                let oldest = Some(Member::oldest(record));
                ChainStep {
                    cell: None,
                    object: oldest.filter(|object| !self.dead.has(object)),
                }
            }
            Kind::Many(cell) => {
                self.rest = Some(cell.get().older);
                ChainStep {
                    cell: Some(cell),
                    object: self.dead.visit(cell),
                }
            }
        })
    }
}

#[inline]
fn objects(content: Option<Content>) -> impl Iterator<Item = Member> {
    walk(content, None).filter_map(|step| step.object)
}

/// Returns the records from the newest to the oldest.
#[inline]
pub(crate) fn newest_first(content: Option<Content>) -> impl Iterator<Item = RecordPtr> {
    objects(content).map(|object| object.record)
}

/// Returns the records of a chain down to a lower part of it, which are not in that, from the newest on.
pub(crate) fn above(
    top: Option<Content>,
    bottom: Option<Content>,
) -> impl Iterator<Item = RecordPtr> {
    walk(top, bottom)
        .filter_map(|step| step.object)
        .map(|object| object.record)
}

/// Returns the records in insertion order.
pub(crate) fn oldest_first(content: Content) -> Vec<RecordPtr> {
    let mut records = Vec::with_capacity(content.count());
    records.extend(newest_first(Some(content)).inspect(|record| record.prefetch()));
    records.reverse();
    records
}

/// Returns the objects of a key that are exactly equal to a record, the newest first.
pub(crate) fn like(content: Content, record: RecordPtr) -> impl Iterator<Item = Member> {
    let fingerprints = match content.is_chain() {
        true => record.fingerprints(),
        // A single object has no fingerprint beside it.
        false => ANY,
    };
    search(content, fingerprints).filter(move |object| object.record.same_object(record))
}

/// Returns whether a key has this very object.
pub(crate) fn has(content: Option<Content>, record: RecordPtr) -> bool {
    content.is_some_and(|content| like(content, record).next().is_some())
}

/// Returns whether two chains of a key have an object in common. O(n log n).
pub(crate) fn share(a: Content, b: Content) -> bool {
    let words = |chain| newest_first(Some(chain)).map(RecordPtr::bits);
    let mut of_a: Vec<u64> = words(a).collect();
    of_a.sort_unstable();
    words(b).any(|word| of_a.binary_search(&word).is_ok())
}

/// Shows `f` the objects of a key in insertion order, each as a content.
#[inline]
pub(crate) fn each(content: Content, f: impl FnMut(Content)) {
    if content.is_chain() {
        oldest_first(content)
            .into_iter()
            .map(Content::one)
            .for_each(f);
    } else {
        std::iter::once(content).for_each(f);
    }
}

/// Shows `f` the objects of a key in insertion order; of a chain it may leave out those with other fingerprints.
pub(crate) fn each_alike(content: Content, alike: &Fingerprints, f: impl FnMut(Content)) {
    if !content.is_chain() || *alike == ANY {
        return each(content, f);
    }
    let found = search(content, alike.clone()).map(|object| object.record);
    let newest_first: SmallVec<[RecordPtr; 4]> = found.collect();
    newest_first.into_iter().rev().map(Content::one).for_each(f);
}

/// Returns the chain below the newest cell.
pub(crate) fn older(content: Content) -> Option<Content> {
    match content.kind() {
        Kind::One(_) => None,
        Kind::Many(cell) => Some(cell.get().older),
    }
}

/// Returns the number of bytes of the cells and records of `top` down to `bottom`, which is not counted.
pub(crate) fn size_above(top: Content, bottom: Option<Content>) -> usize {
    let bytes = |step: ChainStep| {
        step.object.map_or(0, |object| object.record.size()) + step.cell.map_or(0, CellPtr::size)
    };
    walk(Some(top), bottom).map(bytes).sum()
}

/// Retires the cells and records of `top` down to `bottom`, which stays.
///
/// # Safety
///
/// They are in no slot any more, and are retired once.
pub(crate) unsafe fn retire_above(top: Content, bottom: Option<Content>, pin: &impl Guard) {
    for step in walk(Some(top), bottom) {
        // SAFETY: forwarded, for the record and its cell.
        unsafe {
            if let Some(object) = step.object {
                object.record.retire(pin);
            }
            if let Some(cell) = step.cell {
                cell.retire(pin);
            }
        }
    }
}

/// Retires the cells of `top` down to `bottom`, which stays, but not the records.
///
/// # Safety
///
/// They are in no slot any more, and are retired once.
pub(crate) unsafe fn retire_cells_above(top: Content, bottom: Option<Content>, pin: &impl Guard) {
    for cell in walk(Some(top), bottom).filter_map(|step| step.cell) {
        // SAFETY: forwarded.
        unsafe { cell.retire(pin) };
    }
}

/// Frees a whole chain.
///
/// # Safety
///
/// No other thread can reach it.
pub(crate) unsafe fn free(top: Content) {
    // SAFETY: forwarded.
    unsafe { free_above(top, None) }
}

/// Frees the cells and records of `top` down to `bottom`, which stays.
///
/// # Safety
///
/// No other thread can reach them.
pub(crate) unsafe fn free_above(top: Content, bottom: Option<Content>) {
    for step in walk(Some(top), bottom) {
        // SAFETY: forwarded, for the record and its cell; the walk is below it already.
        unsafe {
            if let Some(object) = step.object {
                object.record.free();
            }
            if let Some(cell) = step.cell {
                cell.free();
            }
        }
    }
}
