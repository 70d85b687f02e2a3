//! Races: bytes that two threads have written, none of them knowing of the other's (`--conflicts`).
//!
//! For each byte of the segment there is a word, in memory that all processes share, with the thread that committed it
//! last and the place in the program where it did. An update that finds a byte changed on both sides looks there. All
//! of it is read and written by the holder of the token (invariant TOKEN).

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use fyris_dthreads_tools::record::{CONFLICTS, ConflictRecord, Number};

use crate::shared::control::record;
use crate::system::{LOCAL, site, sys};

static WRITERS: AtomicPtr<Number> = AtomicPtr::new(ptr::null_mut());

/// Looks for races from now on, in a segment of at most `len` bytes.
pub(crate) fn look(len: usize) {
    let words: *mut Number = sys::map_shared(len * size_of::<Number>()).cast();
    if words.is_null() {
        sys::say(format_args!(
            "no address space for the writers of {len} bytes"
        ));
        sys::exit_now(sys::REFUSED);
    }
    // Relaxed: stored once, before the program begins.
    WRITERS.store(words, Ordering::Relaxed);
}

/// Returns whether races are looked for.
pub(crate) fn are_wanted() -> bool {
    // Relaxed: stored once, before the program begins.
    !WRITERS.load(Ordering::Relaxed).is_null()
}

/// Returns the word of a byte of the segment.
fn writer(offset: usize) -> &'static Number {
    // Relaxed: stored once, before the program begins.
    // SAFETY: a word for each byte that the segment may have, mapped for ever; zeros are valid.
    unsafe { &*WRITERS.load(Ordering::Relaxed).add(offset) }
}

/// Notes that this thread commits these bytes, at the present place in the program.
pub(crate) fn wrote(bytes: std::ops::Range<usize>) {
    let mark = (LOCAL.me.get() as u64 + 1) << 48 | site::get();
    bytes.for_each(|offset| writer(offset).set(mark));
}

/// Notes that bytes at these offsets were changed on both sides; `address` says where a byte is.
pub(crate) fn found(offsets: &[usize], address: impl Fn(usize) -> usize) {
    let follows =
        |one: &usize, next: &usize| one + 1 == *next && writer(*one).get() == writer(*next).get();
    for run in offsets.chunk_by(follows) {
        let mark = writer(run[0]).get();
        // Written by no commit that was noted: what was there when the program began.
        if mark != 0 {
            note(address(run[0]) as u64, run.len() as u64, mark);
        }
    }
}

/// Counts a conflict in the record.
fn note(address: u64, len: u64, mark: u64) {
    let (record, me) = (record(), LOCAL.me.get() as u64);
    record.races.add(1);
    let (first, first_site) = ((mark >> 48) - 1, mark & ((1 << 48) - 1));
    let known = record.conflict_rows.get() as usize;
    let row = [address, len, first, first_site, me, site::get()];
    let words = |conflict: &'static ConflictRecord| {
        let of = conflict;
        [
            &of.address,
            &of.len,
            &of.first,
            &of.first_site,
            &of.second,
            &of.second_site,
        ]
    };
    let same = |at: &usize| {
        let has = words(&record.conflicts[*at]);
        has.iter().zip(row).all(|(word, value)| word.get() == value)
    };
    if let Some(at) = (0..known).rev().find(same) {
        return record.conflicts[at].count.add(1);
    }
    if known < CONFLICTS {
        let fresh = &record.conflicts[known];
        for (word, value) in words(fresh).into_iter().zip(row) {
            word.set(value);
        }
        fresh.count.set(1);
        record.conflict_rows.set(known as u64 + 1);
    }
}
