//! Copies of records with other bytes for some elements, without decoding the rest.

use std::ops::Range;
use std::ptr::NonNull;

use fyris_sync::alloc;
use fyris_term::Blob;
use fyris_term::value::{self, IntBytes};
use smallvec::SmallVec;

use super::build::{NewRecord, Scratch, with_scratch, with_values};
use super::{LONG_HEADER, RecordPtr, inline};
use crate::resource_ref;
use crate::slot::Content;

/// A place in the values of a record, and the bytes that come there.
type Edit<B> = (Range<usize>, B);

/// Edits that are made one after another: an object has few.
type Few<B> = SmallVec<[Edit<B>; 4]>;

impl RecordPtr {
    /// Returns a block that is a copy. The record has no keepers, or the caller sees to them, and is not freed
    /// meanwhile.
    #[inline]
    pub(crate) fn copied(self) -> RecordPtr {
        let shape = self.shape();
        let base = alloc::allocate(shape.len());
        // SAFETY: both blocks are as long as the shape says, no other thread has the new one, and the old one is not
        // written (IMMUTABLE). A blob that is copied is one more that is held.
        unsafe {
            if shape.blobs > 0 {
                self.blobs().iter().cloned().for_each(std::mem::forget);
            }
            base.copy_from_nonoverlapping(self.0, shape.len());
        }
        RecordPtr(base)
    }

    /// Returns a block that is a copy, and holds what the keepers of the record keep. The caller is pinned.
    pub(crate) fn copied_with_keepers(self) -> RecordPtr {
        let copy = self.copied();
        let blobs = copy.shape().blobs;
        if blobs > 0 && !cfg!(fyris_mutant = "store_told_unheld") {
            let first = copy.0.as_ptr().wrapping_add(LONG_HEADER).cast::<Blob>();
            // SAFETY: the copy has that many blobs there, and no other thread has it.
            resource_ref::hold_again(unsafe { std::slice::from_raw_parts_mut(first, blobs) });
        }
        copy
    }

    /// Puts bytes in the place of as many, a range of the values; returns `false` if they do not fit.
    ///
    /// # Safety
    ///
    /// The block is a copy that no other thread has, and nothing refers to its values.
    #[inline]
    pub(crate) unsafe fn put(self, at: &Range<usize>, bytes: &[u8]) -> bool {
        let shape = self.shape();
        let fits = at.len() == bytes.len() && at.end <= shape.values;
        if fits {
            // SAFETY: the place is within the values; the caller's contract.
            unsafe {
                self.0
                    .add(shape.values_at() + at.start)
                    .copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
            }
        }
        fits
    }
}

/// Returns the range in the values of `old` of the element at a checked position; `None` if the blobs of `old` may be
/// others without it.
#[inline(always)]
fn place_of(old: RecordPtr, keypos: usize, position: usize) -> Option<Range<usize>> {
    // SAFETY: the caller holds `old`.
    let (values, blobs) = unsafe { (old.values(), old.blobs()) };
    let known = "values were encoded by this process";
    let mut rest = values;
    let before = position - 1 - usize::from(keypos < position);
    value::skip_many(&mut rest, before).expect(known);
    let start = values.len() - rest.len();
    value::skip(&mut rest).expect(known);
    let place = start..values.len() - rest.len();
    (blobs.is_empty() || keeps_blobs(blobs, &values[place.clone()])).then_some(place)
}

/// Returns whether a record keeps these blobs when an element with these bytes goes: it refers to none of them, which
/// are numbered, and none is a keeper, which is told of each record that holds it.
#[inline(never)]
fn keeps_blobs(blobs: &[Blob], element: &[u8]) -> bool {
    resource_ref::without(blobs).len() == blobs.len() && !value::refers_to_blobs(element)
}

/// Returns a copy of `old`, which has no keepers, with other bytes at places in its values, put in one after another;
/// `None` if that is too large.
///
/// The bytes are made before the copy is: what was just copied cannot be read without waiting for it.
#[inline(always)]
fn spliced<B: AsRef<[u8]>>(old: RecordPtr, edits: &[Edit<B>]) -> Option<NewRecord> {
    let fit = |(place, bytes): &Edit<B>| place.len() == bytes.as_ref().len();
    // An inline object may stay one, and a block may become one, if it is built anew.
    if edits.iter().all(fit) && !old.is_materialized() {
        let copy = old.copied();
        for (place, bytes) in edits {
            // SAFETY: no other thread has the copy.
            assert!(unsafe { copy.put(place, bytes.as_ref()) });
        }
        return Some(NewRecord(Content::one(copy)));
    }
    let mut edits: SmallVec<[Edit<&[u8]>; 4]> = edits
        .iter()
        .map(|(place, bytes)| (place.clone(), bytes.as_ref()))
        .collect();
    // Stable: of a place the last counts.
    edits.sort_by_key(|(place, _)| place.start);
    edits.dedup_by(|next, last| {
        let same = next.0 == last.0;
        if same {
            last.1 = next.1;
        }
        same
    });
    resized(old, &edits)
}

#[inline(never)]
fn resized(old: RecordPtr, edits: &[Edit<&[u8]>]) -> Option<NewRecord> {
    with_scratch(|scratch| {
        let Scratch { values, blobs, .. } = scratch;
        // SAFETY: the caller holds `old`.
        let (all, all_blobs) = unsafe { (old.values(), old.blobs()) };
        blobs.clear();
        blobs.extend_from_slice(all_blobs);
        values.clear();
        let mut copied = 0;
        for (place, bytes) in edits {
            values.extend_from_slice(&all[copied..place.start]);
            values.extend_from_slice(bytes);
            copied = place.end;
        }
        values.extend_from_slice(&all[copied..]);
        with_values(old, values, blobs).ok()
    })
}

/// Returns a copy of `old` with other bytes for the element at a position that was checked, bytes that refer to no
/// blob; `None` if the element that goes refers to one, if `old` has keepers, or if the copy is too large.
#[inline]
pub(crate) fn overwritten(
    old: RecordPtr,
    keypos: usize,
    position: usize,
    bytes: &[u8],
) -> Option<NewRecord> {
    if let Some(new) = value::as_int(bytes).and_then(|value| with_int(old, value)) {
        return Some(new);
    }
    spliced(old, &[(place_of(old, keypos, position)?, bytes)])
}

/// Returns a copy of `old` with other bytes for several elements: pairs of position and bytes, of which the last of a
/// position counts. `None` where [`overwritten`] would return that for one.
pub(crate) fn all_overwritten<'b>(
    old: RecordPtr,
    keypos: usize,
    elements: impl Iterator<Item = (usize, &'b [u8])>,
) -> Option<NewRecord> {
    let mut edits: Few<&[u8]> = SmallVec::new();
    for (position, bytes) in elements {
        edits.push((place_of(old, keypos, position)?, bytes));
    }
    spliced(old, &edits)
}

/// Returns the inline object with the key of `old`, an inline object of two elements, and this value; `None` of any
/// other, and if it is too large.
#[inline]
fn with_int(old: RecordPtr, value: i64) -> Option<NewRecord> {
    let word = old.word().filter(|&word| inline::arity(word) == 2)?;
    NewRecord::of_ints((inline::key_int(word), value))
}

/// Returns a copy of `old` with what `step` makes of the integer at a position that was checked, and that in `new`;
/// `None` if either is not in 64 bits, if `old` has keepers, or if the copy is too large. (A pair would be returned in
/// memory, and waited for.)
#[inline]
pub(crate) fn counted(
    old: RecordPtr,
    keypos: usize,
    position: usize,
    step: impl Fn(i64) -> Option<i64>,
    new: &mut i64,
) -> Option<NewRecord> {
    if let Some(value) = old.word().and_then(inline::value_int) {
        *new = step(value)?;
        if let Some(record) = with_int(old, *new) {
            return Some(record);
        }
    }
    let place = place_of(old, keypos, position)?;
    // SAFETY: the caller holds `old`.
    let values = unsafe { old.values() };
    *new = step(value::as_int(&values[place.start..])?)?;
    spliced(old, &[(place, IntBytes::new(*new).as_bytes())])
}

/// Returns a copy of `old` with what several steps, one after another, make of its integers: pairs of position and
/// step. What each made is put into `all`. `None` where [`counted`] would return that for one.
pub(crate) fn all_counted<S: Fn(i64) -> Option<i64>>(
    old: RecordPtr,
    keypos: usize,
    steps: impl Iterator<Item = (usize, S)>,
    all: &mut [i64],
) -> Option<NewRecord> {
    // SAFETY: the caller holds `old`.
    let values = unsafe { old.values() };
    let mut edits: Few<IntBytes> = SmallVec::new();
    for (at, (position, step)) in steps.enumerate() {
        let place = place_of(old, keypos, position)?;
        let before = match edits.iter().rposition(|(earlier, _)| *earlier == place) {
            Some(earlier) => all[earlier],
            None => value::as_int(&values[place.start..])?,
        };
        all[at] = step(before)?;
        edits.push((place, IntBytes::new(all[at])));
    }
    spliced(old, &edits)
}
