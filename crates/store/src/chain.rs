//! Several objects under one key: persistent chains of cells.
//!
//! # Why
//!
//! A bag has one index entry a key, however many objects the key has, so that a lookup is one probe
//! and `delete/2` one removal. The entry points to the newest cell; each cell points to what was there
//! before it. A cell is never written after it is published (invariant PERSISTENT), so a reader
//! that has a chain has all the objects the key held at one moment, and prepending is O(1).
//! A key with a single object, the common case, has no cell: the entry is the bare record.
//!
//! Read from the end, a chain gives the objects in insertion order, as the bags promise.
//!
//! Taking an object out rebuilds the cells newer than it and shares the older ones.

use std::ptr::NonNull;

use fyris_sync::reclaim::{Guard, Retire};

use crate::record::RecordPtr;
use crate::slot::{Content, Kind};

/// One object of several.
pub(crate) struct Cell {
    pub(crate) record: RecordPtr,
    /// The objects inserted before.
    pub(crate) older: Content,
    /// This object and the older ones.
    pub(crate) count: u32,
}

/// A pointer to a live cell.
#[derive(Clone, Copy)]
pub(crate) struct CellPtr(NonNull<Cell>);

impl CellPtr {
    pub(crate) fn bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// # Safety
    ///
    /// `bits` comes from [`CellPtr::bits`] of a cell that has not been freed.
    pub(crate) unsafe fn from_bits(bits: u64) -> CellPtr {
        let ptr = std::ptr::with_exposed_provenance_mut(bits as usize);
        // SAFETY: the bits came from a NonNull.
        CellPtr(unsafe { NonNull::new_unchecked(ptr) })
    }

    #[inline]
    pub(crate) fn get<'c>(self) -> &'c Cell {
        // SAFETY: live by RECLAIM, as the caller holds it under a pin or owns it; never written (PERSISTENT).
        unsafe { self.0.as_ref() }
    }
}

impl Retire for Cell {
    unsafe fn reclaim(ptr: *mut Cell) {
        // SAFETY: made by `Box` in `push`, and reclaimed once.
        drop(unsafe { Box::from_raw(ptr) });
    }
}

/// `record`, a block, on top of `older`; the bare record when there is nothing older.
pub(crate) fn push(record: RecordPtr, older: Option<Content>) -> Content {
    debug_assert!(!record.is_materialized() && !older.is_some_and(Content::is_inline));
    let Some(older) = older else {
        return Content::one(record);
    };
    let count = older.count() as u32 + 1;
    let cell = Box::leak(Box::new(Cell {
        record,
        older,
        count,
    }));
    Content::many(CellPtr(NonNull::from(cell)))
}

/// The records from the newest to the oldest.
pub(crate) fn newest_first(content: Option<Content>) -> impl Iterator<Item = RecordPtr> {
    let mut rest = content;
    std::iter::from_fn(move || match rest?.kind() {
        Kind::One(record) => {
            rest = None;
            Some(record)
        }
        Kind::Many(cell) => {
            rest = Some(cell.get().older);
            Some(cell.get().record)
        }
    })
}

/// The records in insertion order.
pub(crate) fn oldest_first(content: Content) -> Vec<RecordPtr> {
    let mut records: Vec<_> = newest_first(Some(content)).collect();
    records.reverse();
    records
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

/// The chain without the records that `gone` accepts.
pub(crate) struct Without {
    pub(crate) rest: Option<Content>,
    /// The lowest content that old and new chain share.
    shared: Option<Content>,
    pub(crate) removed: usize,
}

/// Takes out the records that `gone` accepts; O(objects).
///
/// Records that stay keep their place and their owner; cells newer than the oldest one removed are new.
pub(crate) fn without(old: Content, gone: impl Fn(RecordPtr) -> bool) -> Without {
    // Walk down remembering what is newer; the part below the last removal is shared.
    let mut newer: Vec<RecordPtr> = Vec::new();
    let mut kept_newer = 0;
    let (mut shared, mut removed) = (Some(old), 0);
    let mut at = Some(old);
    while let Some(content) = at {
        let (record, older) = match content.kind() {
            Kind::One(record) => (record, None),
            Kind::Many(cell) => (cell.get().record, Some(cell.get().older)),
        };
        if gone(record) {
            removed += 1;
            shared = older;
            kept_newer = newer.len();
        } else {
            newer.push(record);
        }
        at = older;
    }
    let rest = newer[..kept_newer]
        .iter()
        .rev()
        .fold(shared, |rest, &r| Some(push(r, rest)));
    Without {
        rest,
        shared,
        removed,
    }
}

/// Retires what [`without`] took out: the removed records and the cells that were rebuilt.
///
/// # Safety
///
/// The chain without them has taken the old one's place.
pub(crate) unsafe fn retire_removed(
    old: Content,
    change: &Without,
    gone: impl Fn(RecordPtr) -> bool,
    pin: &impl Guard,
) -> usize {
    let mut bytes = 0;
    let mut at = Some(old);
    while at != change.shared {
        let Some(content) = at else { break };
        let (record, cell) = parts(content);
        at = cell.map(|c| c.get().older);
        if gone(record) {
            bytes += record.size();
            // SAFETY: not in the new chain, and the old one is unreachable.
            unsafe { record.retire(pin) };
        }
        if let Some(cell) = cell {
            // SAFETY: above the shared part, so not in the new chain.
            unsafe { pin.retire(cell.0.as_ptr()) };
        }
    }
    bytes
}

/// The chain with some records in the place of others, all cells new; `None` if `other` knows none of its records.
pub(crate) fn with_others(
    old: Content,
    other: impl Fn(RecordPtr) -> Option<RecordPtr>,
) -> Option<Content> {
    let mut any = false;
    let mut change = |record| match other(record) {
        Some(new) => {
            any = true;
            new
        }
        None => record,
    };
    let records: Vec<_> = oldest_first(old).into_iter().map(&mut change).collect();
    if !any {
        return None;
    }
    records
        .into_iter()
        .fold(None, |older, record| Some(push(record, older)))
}

/// Retires what [`with_others`] took out: all cells, and the records that were `replaced`.
///
/// # Safety
///
/// The new chain has taken the old one's place.
pub(crate) unsafe fn retire_replaced(
    old: Content,
    replaced: impl Fn(RecordPtr) -> bool,
    pin: &impl Guard,
) {
    let mut at = Some(old);
    while let Some(content) = at {
        let (record, cell) = parts(content);
        at = cell.map(|c| c.get().older);
        // SAFETY: the new chain has cells of its own, and not these records; retired once.
        unsafe {
            if replaced(record) {
                record.retire(pin);
            }
            if let Some(cell) = cell {
                pin.retire(cell.0.as_ptr());
            }
        }
    }
}

/// The objects inserted before the newest.
pub(crate) fn older(content: Content) -> Option<Content> {
    parts(content).1.map(|cell| cell.get().older)
}

fn parts(content: Content) -> (RecordPtr, Option<CellPtr>) {
    match content.kind() {
        Kind::One(record) => (record, None),
        Kind::Many(cell) => (cell.get().record, Some(cell)),
    }
}

/// Bytes of the cells and records of `top` down to `bottom`, which is not counted.
pub(crate) fn size_above(top: Content, bottom: Option<Content>) -> usize {
    let mut bytes = 0;
    let mut at = Some(top);
    while let Some(content) = at.filter(|_| at != bottom) {
        let (record, cell) = parts(content);
        bytes += record.size() + cell.map_or(0, |_| size_of::<Cell>());
        at = cell.map(|c| c.get().older);
    }
    bytes
}

/// Retires the cells and records of `top` down to `bottom`, which stays.
///
/// # Safety
///
/// They are in no slot any more, and are retired once.
pub(crate) unsafe fn retire_above(top: Content, bottom: Option<Content>, pin: &impl Guard) {
    let mut at = Some(top);
    while let Some(content) = at.filter(|_| at != bottom) {
        let (record, cell) = parts(content);
        at = cell.map(|c| c.get().older);
        // SAFETY: forwarded, for the record and its cell.
        unsafe {
            record.retire(pin);
            if let Some(cell) = cell {
                pin.retire(cell.0.as_ptr());
            }
        }
    }
}

/// Retires the cells of `top` down to `bottom`, which stays, but not the records.
///
/// # Safety
///
/// As [`retire_above`].
pub(crate) unsafe fn retire_cells_above(top: Content, bottom: Option<Content>, pin: &impl Guard) {
    let mut at = Some(top);
    while let Some(content) = at.filter(|_| at != bottom) {
        let (_, cell) = parts(content);
        at = cell.map(|c| c.get().older);
        if let Some(cell) = cell {
            // SAFETY: forwarded.
            unsafe { pin.retire(cell.0.as_ptr()) };
        }
    }
}

/// Frees a whole chain.
///
/// # Safety
///
/// Nobody else can reach it.
pub(crate) unsafe fn free(top: Content) {
    // SAFETY: forwarded.
    unsafe { free_above(top, None) }
}

/// Frees the cells and records of `top` down to `bottom`, which stays.
///
/// # Safety
///
/// Nobody else can reach them.
pub(crate) unsafe fn free_above(top: Content, bottom: Option<Content>) {
    let mut at = Some(top);
    while let Some(content) = at.filter(|_| at != bottom) {
        let (record, cell) = parts(content);
        at = cell.map(|c| c.get().older);
        // SAFETY: forwarded, for the record and its cell.
        unsafe {
            record.free();
            if let Some(cell) = cell {
                Cell::reclaim(cell.0.as_ptr());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fyris_term::Term;

    use super::*;
    use crate::record::with_scratch;

    fn record(n: i64) -> RecordPtr {
        let object = Term::Tuple(vec![Term::Int(0), Term::Int(n)]);
        with_scratch(|s| s.record(&object, 1))
            .expect("a record")
            .publish_block()
    }

    fn chain(numbers: &[i64]) -> Content {
        let top = numbers
            .iter()
            .fold(None, |older, &n| Some(push(record(n), older)));
        top.expect("not empty")
    }

    fn numbers(content: Option<Content>) -> Vec<i64> {
        let records = content.map(oldest_first).unwrap_or_default();
        let number = |r| match crate::record::object(r, 1).element(2) {
            Some(Term::Int(n)) => n,
            other => panic!("{other:?}"),
        };
        records.into_iter().map(number).collect()
    }

    #[test]
    fn what_is_taken_out_leaves_the_rest_in_order_and_shares_the_older() {
        for (before, gone, after) in [
            (&[1, 2, 3, 4][..], 3, &[1, 2, 4][..]),
            (&[1, 2, 3], 3, &[1, 2]),
            (&[1, 2, 3], 1, &[2, 3]),
            (&[1, 2], 2, &[1]),
            (&[5, 1, 5, 2, 5], 5, &[1, 2]),
            (&[7], 7, &[]),
            (&[7, 7], 7, &[]),
            (&[1, 2, 3], 9, &[1, 2, 3]),
        ] {
            let old = chain(before);
            let like = record(gone);
            let is_gone = |r: RecordPtr| r.same_object(like);
            let bytes = old.size();
            let change = without(old, is_gone);
            assert_eq!(numbers(change.rest), after);
            assert_eq!(change.removed, before.len() - after.len());
            assert_eq!(change.rest.map_or(0, Content::count), after.len());
            let pin = fyris_sync::reclaim::pin();
            // SAFETY: nobody else has either chain.
            unsafe {
                let freed = retire_removed(old, &change, is_gone, &pin);
                assert!(freed <= bytes);
                if let Some(rest) = change.rest {
                    free(rest);
                }
                like.free();
            }
        }
    }

    #[test]
    fn sizes_count_cells_and_records() {
        let (one, three) = (chain(&[1]), chain(&[1, 2, 3]));
        assert_eq!(three.size(), 3 * one.size() + 2 * size_of::<Cell>());
        let more = push(record(4), Some(three));
        assert_eq!(
            size_above(more, Some(three)),
            one.size() + size_of::<Cell>()
        );
        // SAFETY: nobody else has them.
        unsafe {
            free_above(more, Some(three));
            free(three);
            one.free();
        }
    }
}
