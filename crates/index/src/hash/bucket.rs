//! One bucket: a cache line of a header and seven words, and the chain behind it.
//!
//! ```text
//!  byte 0        8       16                           56        64
//!      +--------+--------+--------+--  ...  --+--------+--------+
//!      | header | word 0 | word 1 |           | word 5 | word 6 |
//!      +--------+--------+--------+--  ...  --+--------+--------+
//!        |                                               `- an entry, or the link to an overflow
//!        `- bit 0 locked, bit 1 moved, above: version       bucket, which has the same shape
//! ```
//!
//! An overflow bucket is made when all seven words hold entries: it takes over the last word's
//! entry, and the link replaces that word. It is unlinked when it has become empty.

use std::ptr::with_exposed_provenance;

use fyris_sync::atomic::{AtomicU64, Ordering};
use fyris_sync::lock::{lock_bit, unlock};
use fyris_sync::reclaim::{Guard, PROTECT, Retire};
use smallvec::SmallVec;

use super::word::{LINK, handle, tag, word};
#[cfg(not(any(fyris_small, loom, shuttle)))]
use crate::simd;

/// Words of a bucket.
pub(super) const SLOTS: usize = if cfg!(any(fyris_small, loom, shuttle)) {
    3
} else {
    7
};
const LAST: usize = SLOTS - 1;

/// A sorting network: the pairs of places that, each put in order, one pair after another, put all in order.
#[cfg(not(any(fyris_small, loom, shuttle)))]
#[rustfmt::skip]
const SORT: [(usize, usize); 16] = [
    (0, 6), (2, 3), (4, 5), (0, 2), (1, 4), (3, 6), (0, 1), (2, 5),
    (3, 4), (1, 2), (4, 6), (2, 3), (4, 5), (1, 2), (3, 4), (5, 6),
];
/// The same for small buckets.
#[cfg(any(fyris_small, loom, shuttle))]
const SORT: [(usize, usize); 3] = [(0, 2), (0, 1), (1, 2)];

/// Header: a writer is at work.
const LOCKED: u64 = 1;
/// Header: the content has moved to the next table and stays here frozen.
const MOVED: u64 = 2;
/// Header: what one change adds.
const VERSION: u64 = 4;

/// A bucket, or an overflow bucket (whose header is not used).
#[repr(C, align(64))]
#[derive(Default)]
pub(super) struct Bucket {
    header: AtomicU64,
    words: [AtomicU64; SLOTS],
}

impl Bucket {
    /// Returns the header, for a reader that is about to read the words.
    #[inline]
    pub(super) fn header(&self) -> u64 {
        // PROTECT: pairs with the Release of `unlock`, when a `Locked` is dropped; the words are read after it
        // (invariant FROZEN_BUCKET). As the words themselves, it must not be older than the pin: the entries of a
        // bucket that had moved by then may have been retired from the next table and be gone (RECLAIM).
        self.header.load(PROTECT)
    }

    /// Returns whether a header says that the content has moved on.
    #[inline]
    pub(super) fn is_moved(header: u64) -> bool {
        header & MOVED != 0 && !cfg!(fyris_mutant = "hash_skip_moved_check")
    }

    /// Returns whether the content has moved on, for a thread that has the index to itself.
    pub(super) fn was_moved(&self) -> bool {
        self.header() & MOVED != 0
    }

    /// Locks, waiting for another writer; `None` if the content has moved on.
    #[inline]
    pub(super) fn lock(&self) -> Option<Locked<'_>> {
        let seen = lock_bit(&self.header, LOCKED, MOVED);
        if seen & MOVED != 0 {
            return None;
        }
        // Made only now: dropping a `Locked` writes the header.
        Some(Locked {
            bucket: self,
            release: seen,
        })
    }

    /// Returns the word in slot `i`.
    #[inline]
    pub(super) fn load(&self, i: usize) -> u64 {
        // PROTECT: pairs with the Release in `publish`: the entry, or the overflow bucket, behind the word is seen
        // whole.
        self.words[i].load(PROTECT)
    }

    /// Puts a word where readers see it.
    #[inline]
    fn publish(&self, i: usize, word: u64) {
        if cfg!(fyris_mutant = "hash_unpublished") {
            // Relaxed: the mutant; nothing pairs with `load`.
            return self.words[i].store(word, Ordering::Relaxed);
        }
        // Release: pairs with the PROTECT load in `load`; the entry was made before.
        self.words[i].store(word, Ordering::Release);
    }

    /// Returns a mask with bit `2 * slot` for each slot whose word has this tag.
    ///
    /// A hint where to look; `load` reads again. A word that was there before the operation began, and
    /// still is, is seen by any load.
    #[cfg(not(any(fyris_small, loom, shuttle)))]
    #[inline]
    pub(super) fn matches(&self, wanted: u16) -> u64 {
        const { assert!(size_of::<Bucket>() == size_of::<simd::SharedLine>()) };
        const { assert!(align_of::<Bucket>() == align_of::<simd::SharedLine>()) };
        // SAFETY: a bucket is a line of eight atomic words, the header first.
        let line = unsafe { &*std::ptr::from_ref(self).cast() };
        simd::tagged(line, wanted) >> 2
    }

    /// Returns a mask with bit `2 * slot` for each slot whose word has this tag.
    #[cfg(any(fyris_small, loom, shuttle))]
    pub(super) fn matches(&self, wanted: u16) -> u64 {
        let mut mask = 0;
        for (i, word) in self.words.iter().enumerate() {
            // Relaxed: as above, a hint.
            mask |= u64::from(tag(word.load(Ordering::Relaxed)) == wanted) << (2 * i);
        }
        mask
    }

    /// Returns the next bucket of the chain, read by a pinned thread.
    #[inline]
    pub(super) fn overflow(&self) -> Option<&Bucket> {
        let link = self.load(LAST);
        if tag(link) != LINK {
            return None;
        }
        // SAFETY: a link holds the address of a bucket that came from `Box::into_raw` in
        // `add_overflow`; it was reachable under this thread's pin, or the lock is held (RECLAIM).
        Some(unsafe { &*with_exposed_provenance(handle(link) as usize) })
    }

    /// Calls `f` with each entry's word in the chain, in slot order.
    ///
    /// The last slot is read once: an entry that a new overflow bucket takes over from there
    /// meanwhile is not met again in it.
    #[inline]
    pub(super) fn for_each(&self, mut f: impl FnMut(u64)) {
        let mut bucket = self;
        loop {
            for i in 0..LAST {
                let word = bucket.load(i);
                if word != 0 {
                    f(word);
                }
            }
            let last = bucket.load(LAST);
            if tag(last) != LINK {
                if last != 0 {
                    f(last);
                }
                return;
            }
            // SAFETY: as in `overflow`.
            bucket = unsafe { &*with_exposed_provenance(handle(last) as usize) };
        }
    }

    /// Shows `f` the words of the entries in the chain, in the order of their tags, and whether any two share one.
    #[inline]
    pub(super) fn in_order(&self, f: impl FnOnce(&[u64], bool)) {
        let mut words: [u64; SLOTS] = std::array::from_fn(|i| self.load(i));
        if tag(words[LAST]) == LINK {
            let words = self.chain_in_order();
            return f(
                &words,
                words.windows(2).any(|pair| tag(pair[0]) == tag(pair[1])),
            );
        }
        // Without branches, half of which would be foreseen wrongly.
        for (low, high) in SORT {
            let pair = (words[low], words[high]);
            (words[low], words[high]) = (pair.0.min(pair.1), pair.0.max(pair.1));
        }
        let empty: usize = words.iter().map(|&word| usize::from(word == 0)).sum();
        let alike = |i: usize| (tag(words[i]) == tag(words[i + 1])) & (words[i] != 0);
        let any_alike = (0..LAST).fold(false, |any, i| any | alike(i));
        f(&words[empty..], any_alike);
    }

    /// Returns the words that [`Bucket::in_order`] shows, where there are overflow buckets.
    #[cold]
    fn chain_in_order(&self) -> SmallVec<[u64; 4 * SLOTS]> {
        let mut words = SmallVec::new();
        self.for_each(|word| words.push(word));
        words.sort_unstable();
        words
    }

    /// Returns the first slot of the chain whose word `wanted` accepts.
    #[inline]
    fn position(&self, wanted: impl Fn(u64) -> bool) -> Option<SlotPosition<'_>> {
        let mut bucket = self;
        loop {
            if let Some(slot) = (0..SLOTS).find(|&i| wanted(bucket.load(i))) {
                return Some(SlotPosition { bucket, slot });
            }
            bucket = bucket.overflow()?;
        }
    }

    /// Adds a word to a bucket that no other thread sees yet. Returns the number of overflow buckets that it made.
    pub(super) fn fill(&self, word: u64) -> usize {
        let Some(place) = self.position(|w| w == 0) else {
            return self.add_overflow(word);
        };
        // Relaxed: published by the Release of `unlock`, when the bucket that this comes from has moved.
        place.bucket.words[place.slot].store(word, Ordering::Relaxed);
        0
    }

    /// Appends an overflow bucket that holds `word` and the entry it pushes out of the last slot.
    fn add_overflow(&self, added: u64) -> usize {
        let mut end = self;
        while let Some(next) = end.overflow() {
            end = next;
        }
        let overflow = Box::new(Bucket::default());
        // Relaxed, both: published by the Release in `publish` below, with the link.
        overflow.words[0].store(end.load(LAST), Ordering::Relaxed);
        overflow.words[1].store(added, Ordering::Relaxed);
        let link = Box::into_raw(overflow).expose_provenance() as u64;
        end.publish(LAST, word(LINK, link));
        1
    }

    /// Takes the overflow buckets out of a bucket whose readers are gone or pinned.
    pub(super) fn overflow_chain(&self) -> impl Iterator<Item = *mut Bucket> {
        std::iter::successors(self.overflow(), |b| b.overflow())
            .map(|b| std::ptr::from_ref(b).cast_mut())
    }
}

impl Retire for Bucket {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: only overflow buckets are retired one by one; they come from `Box::into_raw`,
        // and are reclaimed once by the caller's contract.
        drop(unsafe { Box::from_raw(ptr) });
    }
}

/// A slot in a chain.
#[derive(Clone, Copy)]
pub(super) struct SlotPosition<'a> {
    bucket: &'a Bucket,
    slot: usize,
}

/// A bucket that this thread has locked: it alone changes header and words.
///
/// Dropping it unlocks. If nothing was published the header is then as it was, so a panic under
/// the lock leaves the bucket as it was.
pub(super) struct Locked<'a> {
    bucket: &'a Bucket,
    release: u64,
}

impl<'a> Locked<'a> {
    /// Returns the bucket.
    pub(super) fn bucket(&self) -> &'a Bucket {
        self.bucket
    }

    /// Returns the place of the entry with this tag that `is_it` recognises, and its word.
    #[inline]
    pub(super) fn find(
        &self,
        wanted: u16,
        is_it: impl Fn(u64) -> bool,
    ) -> Option<(SlotPosition<'a>, u64)> {
        let mut bucket = self.bucket;
        loop {
            let mut mask = bucket.matches(wanted);
            while mask != 0 {
                let slot = (mask.trailing_zeros() / 2) as usize;
                let word = bucket.load(slot);
                if is_it(word) {
                    return Some((SlotPosition { bucket, slot }, word));
                }
                mask &= mask - 1;
            }
            bucket = bucket.overflow()?;
        }
    }

    /// Puts another word in a place.
    #[inline]
    pub(super) fn replace(&mut self, place: SlotPosition<'_>, word: u64) {
        self.release = self.release.wrapping_add(VERSION);
        place.bucket.publish(place.slot, word);
    }

    /// Adds a word in the first empty slot. Returns how many overflow buckets it had to make.
    #[inline]
    pub(super) fn insert(&mut self, word: u64) -> usize {
        self.release = self.release.wrapping_add(VERSION);
        let Some(place) = self.bucket.position(|w| w == 0) else {
            return self.bucket.add_overflow(word);
        };
        place.bucket.publish(place.slot, word);
        0
    }

    /// Empties a place. Returns how many overflow buckets became empty and were retired.
    #[inline]
    pub(super) fn remove(&mut self, place: SlotPosition<'_>, pin: &impl Guard) -> usize {
        self.replace(place, 0);
        if std::ptr::eq(place.bucket, self.bucket) {
            0
        } else {
            self.unlink(place.bucket, pin)
        }
    }

    /// Unlinks and retires an overflow bucket if it is empty.
    #[cold]
    fn unlink(&mut self, empty: &Bucket, pin: &impl Guard) -> usize {
        if (0..LAST).any(|i| empty.load(i) != 0) || !matches!(tag(empty.load(LAST)), 0 | LINK) {
            return 0;
        }
        let mut before = self.bucket;
        while let Some(next) = before.overflow() {
            if std::ptr::eq(next, empty) {
                // The successor of the empty bucket, or nothing, follows its predecessor.
                before.publish(LAST, empty.load(LAST));
                // SAFETY: the link that led to it is gone, so no thread that pins later finds it; only
                // the holder of the lock unlinks, once.
                unsafe { pin.retire(std::ptr::from_ref(empty).cast_mut()) };
                return 1;
            }
            before = next;
        }
        0
    }

    /// Unlocks for good: the content is frozen, and lives in the next table from now on.
    pub(super) fn set_moved(mut self) {
        self.release |= MOVED;
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        // Pairs with the Acquire in `lock_bit` and in `header`; VISIBLE.
        unlock(&self.bucket.header, self.release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_in_order_whatever_slots_they_are_in() {
        // A network that sorts all zeros and ones sorts everything.
        for mask in 0..1u64 << SLOTS {
            let bucket = Bucket::default();
            for (i, slot) in bucket.words.iter().enumerate() {
                // Relaxed: one thread.
                slot.store(word(1 + (mask >> i & 1) as u16, 1), Ordering::Relaxed);
            }
            bucket.in_order(|words, _| {
                assert_eq!(words.len(), SLOTS);
                assert!(words.is_sorted(), "{mask:b}");
            });
        }
    }
}
