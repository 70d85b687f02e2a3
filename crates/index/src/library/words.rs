//! The words that a library keeps.
//!
//! # Invariant
//!
//! **WORDS**: a word is a place in this table and the number of its use. A library's word is looked up and never
//! followed: what is found at the place counts only if it has that very word. So a word that was made up, that belonged
//! to a key which has been removed, or that belongs to another index's use of the place, is found out.

use std::sync::{OnceLock, PoisonError};

use fyris_sync::atomic::{AtomicPtr, Ordering};
use fyris_sync::lock::Mutex;
use fyris_sync::reclaim::{Guard, PROTECT};

use super::held::{Stored, StoredRef};
use crate::Entry;

/// Places in the first segment; each further one has twice as many. All of them together are a little fewer than 2^32.
const FIRST: u32 = if cfg!(fyris_small) { 2 } else { 64 };
const SEGMENTS: usize = (u32::BITS - FIRST.ilog2()) as usize;

type WordSegment<E> = Box<[AtomicPtr<Stored<E>>]>;

/// What is held, by the words of it.
pub(super) struct LibraryWords<E> {
    segments: [OnceLock<WordSegment<E>>; SEGMENTS],
    free: Mutex<Free>,
}

/// Places that are free.
#[derive(Default)]
struct Free {
    /// The first place that has never been used.
    next: u32,
    /// Places that have been used, each with the number of its next use.
    used: Vec<(u32, u32)>,
}

/// Returns the segment of a place, and where in it.
fn segment_of(place: u32) -> (usize, usize) {
    let segment = (place / FIRST + 1).ilog2();
    (
        segment as usize,
        (place - FIRST * ((1 << segment) - 1)) as usize,
    )
}

fn word_of(place: u32, use_number: u32) -> u64 {
    u64::from(use_number) << 32 | u64::from(place)
}

impl<E: Entry> LibraryWords<E> {
    pub(super) fn new() -> Self {
        Self {
            segments: std::array::from_fn(|_| OnceLock::new()),
            free: Mutex::new(Free::default()),
        }
    }

    /// Makes what is to be held, with a word of its own, which is not zero, and enters it.
    pub(super) fn put(&self, make: impl FnOnce(u64) -> StoredRef<E>) -> StoredRef<E> {
        let (place, use_number) = self.free().take();
        let (segment, at) = segment_of(place);
        let segment = self.segments[segment].get_or_init(|| {
            let places = (FIRST as usize) << segment;
            (0..places).map(|_| AtomicPtr::default()).collect()
        });
        let held = make(word_of(place, use_number));
        // Release: pairs with PROTECT in `find`.
        segment[at].store(held.as_ptr(), Ordering::Release);
        held
    }

    /// Returns what has this word, if anything has (WORDS).
    pub(super) fn find(&self, word: u64, _pin: &impl Guard) -> Option<StoredRef<E>> {
        let (segment, at) = segment_of((word as u32).min(u32::MAX - FIRST));
        let place = self.segments.get(segment)?.get()?.get(at)?;
        // PROTECT: pairs with the Release in `put`. SAFETY: retired only after `remove` has taken it out (RECLAIM).
        let held = unsafe { StoredRef::from_ptr(place.load(PROTECT)) }?;
        (held.word() == word || cfg!(fyris_mutant = "library_word_reused")).then_some(held)
    }

    /// Takes something out. Its word is not used again.
    pub(super) fn remove(&self, held: StoredRef<E>) {
        let (place, use_number) = (held.word() as u32, (held.word() >> 32) as u32);
        let (segment, at) = segment_of(place);
        if let Some(segment) = self.segments[segment].get() {
            // Release: the place is empty before it is used again, which the lock of `free` orders.
            segment[at].store(std::ptr::null_mut(), Ordering::Release);
        }
        if let Some(next) = use_number.checked_add(1) {
            self.free().used.push((place, next));
        }
    }

    /// Returns the number of bytes allocated.
    pub(super) fn memory(&self) -> usize {
        let segments = self.segments.iter().filter_map(OnceLock::get);
        let places = segments.map(|segment| size_of_val(&**segment));
        places.sum::<usize>() + self.free().used.capacity() * size_of::<(u32, u32)>()
    }

    fn free(&self) -> fyris_sync::lock::MutexGuard<'_, Free> {
        // Nothing panics while it is half changed.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Free {
    fn take(&mut self) -> (u32, u32) {
        self.used.pop().unwrap_or_else(|| {
            let place = self.next;
            // There are more places than what is held has room for in memory.
            self.next += 1;
            (place, 1)
        })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn places_fill_the_segments_one_after_another() {
        let mut next = (0, 0);
        for place in 0..100_000 {
            assert_eq!(segment_of(place), next);
            next = match (FIRST as usize) << next.0 {
                places if next.1 + 1 == places => (next.0 + 1, 0),
                _ => (next.0, next.1 + 1),
            };
        }
        assert!(segment_of(u32::MAX - FIRST).0 < SEGMENTS);
    }
}
