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
//! # Deleting
//!
//! To delete an object of a long chain, a *tombstone* is prepended: a cell without an object, which has the sequence
//! number of the deleted one. A walk from the newest meets the tombstone first, and never reads the record, which is
//! retired. When there are many tombstones in proportion to the objects, and in short chains always, the cells above
//! the lowest deleted object are made anew without tombstones, on top of the older cells; so a deletion allocates O(1)
//! cells, amortized.
//!
//! An object is found by its fingerprint, which its cell holds beside the pointer to the record: the records of other
//! objects are not read.

use std::collections::BinaryHeap;
use std::ptr::NonNull;

use fyris_sync::alloc;
use fyris_sync::reclaim::{Guard, Retire};
use smallvec::SmallVec;

use crate::record::RecordPtr;
use crate::slot::{Content, Kind};

/// One object of several, or a tombstone.
pub(crate) struct Cell {
    /// The object; in a tombstone the newest live object.
    pub(crate) record: RecordPtr,
    /// The chain below.
    older: Content,
    /// The number of live objects, in this cell and below.
    pub(crate) count: u32,
    /// The number of tombstones, this cell's and those below.
    tombstones: u32,
    /// The sequence number of the newest object, in this cell or below: one more than that of the object before it. The
    /// oldest object has 0.
    seq: u32,
    kind: CellKind,
}

#[derive(Clone, Copy)]
enum CellKind {
    /// An object, with its [fingerprint](RecordPtr::fingerprint).
    Object(u32),
    /// A tombstone, with the sequence number of the object that was deleted.
    Tombstone(u32),
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

    /// Retires it.
    ///
    /// # Safety
    ///
    /// It is in no slot any more, and retired once.
    unsafe fn retire(self, pin: &impl Guard) {
        // SAFETY: forwarded.
        unsafe { pin.retire(self.0.as_ptr()) }
    }
}

impl Retire for Cell {
    unsafe fn reclaim(ptr: *mut Cell) {
        const { assert!(!std::mem::needs_drop::<Cell>()) };
        // SAFETY: allocated in `cell` with this size, and reclaimed once; no pointer to an object is null.
        unsafe { alloc::free(NonNull::new_unchecked(ptr.cast()), size_of::<Cell>()) };
    }
}

fn cell(cell: Cell) -> Content {
    const { assert!(align_of::<Cell>() <= 8) };
    let at = alloc::allocate(size_of::<Cell>()).cast::<Cell>();
    // SAFETY: allocated just now, with this size and an alignment of 8.
    unsafe { at.write(cell) };
    Content::many(CellPtr(at))
}

/// Returns the number of tombstones of a chain, and the sequence number of its newest object.
fn tombstones_and_seq(content: Content) -> (u32, u32) {
    match content.kind() {
        Kind::One(_) => (0, 0),
        Kind::Many(cell) => (cell.get().tombstones, cell.get().seq),
    }
}

/// Returns `record`, a block, on top of `older`; the bare record when there is nothing older.
pub(crate) fn push(record: RecordPtr, older: Option<Content>) -> Content {
    push_known(record, None, older)
}

/// Works as [`push`], for a record whose fingerprint may be known.
fn push_known(record: RecordPtr, fingerprint: Option<u32>, older: Option<Content>) -> Content {
    debug_assert!(!record.is_materialized() && !older.is_some_and(Content::is_inline));
    let Some(older) = older else {
        return Content::one(record);
    };
    let (tombstones, seq) = tombstones_and_seq(older);
    cell(Cell {
        record,
        older,
        count: older.count() as u32 + 1,
        tombstones,
        seq: seq + 1,
        kind: CellKind::Object(fingerprint.unwrap_or_else(|| record.fingerprint())),
    })
}

/// Returns a tombstone on top of `older`, for the object with a sequence number; `newest` is the newest live object.
fn push_tombstone(deleted: u32, newest: RecordPtr, older: Content) -> Content {
    let (tombstones, seq) = tombstones_and_seq(older);
    cell(Cell {
        record: newest,
        older,
        count: older.count() as u32 - 1,
        tombstones: tombstones + 1,
        seq,
        kind: CellKind::Tombstone(deleted),
    })
}

/// One step of a walk from the newest: a cell, unless it is the bare oldest record, and the live object in it.
struct Step {
    cell: Option<CellPtr>,
    object: Option<Member>,
}

impl Step {
    /// Returns whether it is at an object that was deleted.
    fn is_dead(&self) -> bool {
        let is_tombstone = |cell: CellPtr| matches!(cell.get().kind, CellKind::Tombstone(_));
        self.object.is_none() && !self.cell.is_some_and(is_tombstone)
    }
}

/// A live object of a chain.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    pub(crate) record: RecordPtr,
    seq: u32,
    /// `None` for the oldest, which has no cell.
    fingerprint: Option<u32>,
}

impl Member {
    /// Returns the oldest object of a chain, or the only one of a key.
    fn oldest(record: RecordPtr) -> Member {
        Member {
            record,
            seq: 0,
            fingerprint: None,
        }
    }
}

impl Cell {
    /// Returns the object in the cell, dead or alive; `None` for a tombstone.
    fn object(&self) -> Option<Member> {
        match self.kind {
            CellKind::Tombstone(_) => None,
            CellKind::Object(fingerprint) => Some(Member {
                record: self.record,
                seq: self.seq,
                fingerprint: Some(fingerprint),
            }),
        }
    }
}

/// Returns a test for objects that are exactly equal to a record.
pub(crate) fn equals(like: RecordPtr) -> impl Fn(&Member) -> bool {
    let fingerprint = like.fingerprint();
    move |object| {
        object.fingerprint.is_none_or(|of| of == fingerprint) && object.record.same_object(like)
    }
}

/// A walk over a chain, from the newest object.
struct Walk {
    rest: Option<Content>,
    bottom: Option<Content>,
    /// The sequence numbers of deleted objects that lie further down: the greatest is met next.
    deleted: BinaryHeap<u32>,
}

/// Walks from `top` down to `bottom`, which is not met.
#[inline]
fn walk(top: Option<Content>, bottom: Option<Content>) -> Walk {
    Walk {
        rest: top,
        bottom,
        deleted: BinaryHeap::new(),
    }
}

impl Walk {
    /// Returns whether the object with a sequence number was deleted; each deleted one is asked for once.
    #[inline]
    fn is_dead(&mut self, object: &Member) -> bool {
        let is_dead = self.deleted.peek() == Some(&object.seq);
        if is_dead {
            self.deleted.pop();
        }
        is_dead && !cfg!(fyris_mutant = "chain_tombstone_unseen")
    }
}

impl Iterator for Walk {
    type Item = Step;

    #[inline]
    fn next(&mut self) -> Option<Step> {
        let content = self.rest.filter(|_| self.rest != self.bottom)?;
        let (cell, object) = match content.kind() {
            Kind::One(record) => {
                self.rest = None;
                (None, Some(Member::oldest(record)))
            }
            Kind::Many(cell) => {
                self.rest = Some(cell.get().older);
                if let CellKind::Tombstone(seq) = cell.get().kind {
                    self.deleted.push(seq);
                }
                (Some(cell), cell.get().object())
            }
        };
        let object = object.filter(|object| !self.is_dead(object));
        Some(Step { cell, object })
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

/// Returns the records in insertion order.
pub(crate) fn oldest_first(content: Content) -> Vec<RecordPtr> {
    let mut records = Vec::with_capacity(content.count());
    records.extend(newest_first(Some(content)).inspect(|record| record.prefetch()));
    records.reverse();
    records
}

/// Returns whether a key has this very object.
pub(crate) fn has(content: Option<Content>, like: RecordPtr) -> bool {
    let is_like = equals(like);
    objects(content).any(|object| is_like(&object))
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

/// A chain without some of its records.
pub(crate) struct Without {
    pub(crate) rest: Option<Content>,
    /// The highest content that the old and the new chain share.
    shared: Option<Content>,
    removed: SmallVec<[Member; 1]>,
    /// The number of cells that only the new chain has.
    fresh: usize,
}

/// A deletion leaves no tombstone in a chain of up to 16 objects, nor among the newest 16 of a chain without
/// tombstones.
const SHORT: usize = 16;
/// A chain has at most one tombstone for each 8 objects.
const PART: usize = 8;

/// Takes out the objects that `gone` accepts, the newest first and no more than `most`; `None` if there are none.
/// O(objects), but most of it is passing over cells.
///
/// Records that stay keep their place and their owner.
pub(crate) fn without(
    old: Content,
    gone: impl Fn(&Member) -> bool,
    most: usize,
) -> Option<Without> {
    let removed: SmallVec<[Member; 1]> = objects(Some(old)).filter(gone).take(most).collect();
    let lowest = removed.last()?.seq;
    let (tombstones, newest) = tombstones_and_seq(old);
    let few = removed.len() + tombstones as usize <= old.count() / PART;
    // A stack of objects is not to gather tombstones that each pop walks past.
    let is_near = tombstones == 0 && ((newest - lowest) as usize) < SHORT;
    Some(if few && !is_near && old.count() > SHORT {
        with_tombstones(old, removed)
    } else {
        rebuilt(old, removed)
    })
}

fn with_tombstones(old: Content, removed: SmallVec<[Member; 1]>) -> Without {
    // Both come newest first.
    let mut gone = removed.iter().peekable();
    let stays = |object: &Member| gone.next_if(|next| next.seq == object.seq).is_none();
    let newest = objects(Some(old)).find(stays);
    let newest = newest.expect("few objects are taken out").record;
    let add = |older, object: &Member| push_tombstone(object.seq, newest, older);
    Without {
        rest: Some(removed.iter().fold(old, add)),
        shared: Some(old),
        fresh: removed.len(),
        removed,
    }
}

fn rebuilt(old: Content, removed: SmallVec<[Member; 1]>) -> Without {
    // Walk down remembering what is newer; the part below the lowest deleted object is shared.
    let mut newer: Vec<Member> = Vec::new();
    let mut kept_newer = 0;
    let mut shared = Some(old);
    let mut left = removed.iter().peekable();
    // Objects that were deleted before, whose tombstones lie above them.
    let (mut dead, _) = tombstones_and_seq(old);
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
    let add = |rest, kept: &Member| Some(push_known(kept.record, kept.fingerprint, rest));
    // The first has no cell if nothing is below.
    let fresh = kept_newer - usize::from(shared.is_none() && kept_newer > 0);
    Without {
        rest: newer[..kept_newer].iter().rev().fold(shared, add),
        shared,
        removed,
        fresh,
    }
}

impl Without {
    /// Returns the number of objects that were taken out.
    pub(crate) fn removed(&self) -> usize {
        self.removed.len()
    }

    /// Retires the records that were taken out of `old` and the cells that the new chain has not; returns how many
    /// bytes more the new chain takes, or fewer.
    ///
    /// # Safety
    ///
    /// The new chain has taken the old one's place.
    pub(crate) unsafe fn retire(self, old: Content, pin: &impl Guard) -> i64 {
        let mut bytes = (self.fresh * size_of::<Cell>()) as i64;
        for object in &self.removed {
            bytes -= object.record.size() as i64;
            // SAFETY: not in the new chain, and the old one is unreachable.
            unsafe { object.record.retire(pin) };
        }
        for cell in walk(Some(old), self.shared).filter_map(|step| step.cell) {
            bytes -= size_of::<Cell>() as i64;
            // SAFETY: above the shared part, so not in the new chain.
            unsafe { cell.retire(pin) };
        }
        bytes
    }
}

/// Returns the chain with some records in the place of others, all cells new; `None` if `other` knows none of its
/// records.
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
    for step in walk(Some(old), None) {
        // SAFETY: the new chain has cells of its own, and not these records; retired once.
        unsafe {
            if let Some(object) = step.object.filter(|object| replaced(object.record)) {
                object.record.retire(pin);
            }
            if let Some(cell) = step.cell {
                cell.retire(pin);
            }
        }
    }
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
    let bytes = |step: Step| {
        step.object.map_or(0, |object| object.record.size())
            + step.cell.map_or(0, |_| size_of::<Cell>())
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
/// As [`retire_above`].
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

    fn number(record: RecordPtr) -> i64 {
        match crate::record::object(record, 1).element(2) {
            Some(Term::Int(n)) => n,
            other => panic!("{other:?}"),
        }
    }

    fn numbers(content: Option<Content>) -> Vec<i64> {
        let records = content.map(oldest_first).unwrap_or_default();
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
            check_without(old, like, after);
        }
    }

    /// Takes out what is like a record, which is freed with both chains.
    fn check_without(old: Content, like: RecordPtr, after: &[i64]) {
        let (count, bytes) = (old.count(), old.size() as i64);
        let change = without(old, equals(like), usize::MAX);
        let rest = change.as_ref().map_or(Some(old), |change| change.rest);
        assert_eq!(numbers(rest), after);
        assert_eq!(rest.map_or(0, Content::count), after.len());
        let removed = change.as_ref().map_or(0, Without::removed);
        assert_eq!(removed, count - after.len());
        let pin = fyris_sync::reclaim::pin();
        // SAFETY: no other thread has either chain.
        unsafe {
            let more = change.map_or(0, |change| change.retire(old, &pin));
            assert_eq!(bytes + more, rest.map_or(0, Content::size) as i64);
            rest.into_iter().for_each(|rest| free(rest));
            like.free();
        }
    }

    /// Objects come and go at random, in chains that are short and long, one or several at a time; a vector is
    /// compared.
    #[test]
    fn a_chain_holds_what_was_put_in_and_not_taken_out() {
        let mut seed = 7_u64;
        let mut random = move |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let pin = fyris_sync::reclaim::pin();
        let (mut chain, mut all, mut bytes) = (None, Vec::new(), 0);
        let (mut buried, mut next) = (false, 0);
        for round in 0..6000 {
            let wanted = [5, 60, 300][round / 500 % 3];
            if random(wanted * 2) >= all.len() {
                // Every tenth is there twice.
                next += i64::from(random(10) > 0);
                let top = push(record(next), chain);
                bytes += size_above(top, chain) as i64;
                (chain, all) = (Some(top), [all, vec![next]].concat());
            } else {
                let part = [1, 1, 1, 40][random(4)];
                let chosen: Vec<i64> = (0..part).map(|_| all[random(all.len())]).collect();
                let old = chain.expect("it has objects");
                let is_one = |object: &Member| chosen.contains(&number(object.record));
                let change = without(old, is_one, usize::MAX).expect("they are there");
                chain = change.rest;
                // SAFETY: no other thread has the chains.
                bytes += unsafe { change.retire(old, &pin) };
                all.retain(|n| !chosen.contains(n));
            }
            let (tombstones, newest) = chain.map_or((0, 0), tombstones_and_seq);
            buried |= tombstones > 1;
            assert!(newest as usize <= all.len() + tombstones as usize);
            assert_eq!(numbers(chain), all);
            assert_eq!(chain.map_or(0, Content::count), all.len());
            assert_eq!(chain.map_or(0, Content::size) as i64, bytes);
            let newest = chain.map(|chain| number(chain.newest()));
            assert_eq!(newest.as_ref(), all.last());
        }
        assert!(buried);
        // SAFETY: no other thread has it.
        unsafe { chain.into_iter().for_each(|chain| free(chain)) };
    }

    fn tombstones(chain: Option<Content>) -> u32 {
        chain.map_or(0, |chain| tombstones_and_seq(chain).0)
    }

    /// If the last object to come is the first to go, no cell is made.
    #[test]
    fn a_stack_leaves_no_tombstones() {
        let pin = fyris_sync::reclaim::pin();
        let all: Vec<i64> = (0..100).collect();
        let mut top = chain(&all);
        for n in (50..100).rev() {
            let like = record(n);
            let change = without(top, equals(like), 1).expect("it is there");
            let rest = change.rest.expect("others are there");
            assert_eq!((change.fresh, tombstones(change.rest)), (0, 0));
            // SAFETY: no other thread has the chains.
            unsafe {
                change.retire(top, &pin);
                like.free();
            }
            top = rest;
        }
        assert_eq!(numbers(Some(top)), all[..50]);
        // SAFETY: no other thread has it.
        unsafe { free(top) };
    }

    /// The newest that stays is found beneath many that go, whether cells are made anew or not.
    #[test]
    fn many_go_at_once() {
        let pin = fyris_sync::reclaim::pin();
        let all: Vec<i64> = (0..4000).collect();
        let mut top = chain(&all);
        for keep in [3600, 3500, 10] {
            let goes = |object: &Member| number(object.record) >= keep;
            let change = without(top, goes, usize::MAX).expect("they are there");
            let rest = change.rest.expect("others are there");
            // SAFETY: no other thread has the chains.
            unsafe { change.retire(top, &pin) };
            top = rest;
            assert_eq!(top.count() as i64, keep);
            assert_eq!(numbers(Some(Content::one(top.newest()))), [keep - 1]);
        }
        // SAFETY: no other thread has it.
        unsafe { free(top) };
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
        // SAFETY: no other thread has them.
        unsafe {
            free_above(more, Some(three));
            free(three);
            one.free();
        }
    }
}
