//! Growing and shrinking, a few buckets at a time, by the threads that write.
//!
//! A table moves to its successor in *units*: one bucket that splits into two, or two that merge
//! into one. A writer that finds a move under way takes a chunk of units, so the move is done when
//! about a thirtieth as many operations have passed as there are buckets. Readers do not take part
//! and are not held up. The thread that completes the last unit makes the successor the root.
//!
//! Only the root may begin to move (invariant FROZEN_BUCKET): a successor could otherwise move a bucket on before it
//! was filled.
//!
//! A unit is prepared before anything is written, so that a user's hash function which panics
//! leaves everything as it was: a later write moves it.

use std::hash::{BuildHasher, Hash};

use fyris_sync::atomic::Ordering;
use fyris_sync::reclaim::Guard;
use smallvec::SmallVec;

use super::HashIndex;
use super::bucket::{Bucket, Locked};
use super::table::Table;
use super::word::{self, MIN_BITS};
use crate::Entry;

/// Units one writer takes on at a time.
const CHUNK: usize = if cfg!(any(fyris_small, loom, shuttle)) {
    1
} else {
    32
};
/// Entries in ten buckets above which a table grows.
const FULL: usize = if cfg!(any(fyris_small, loom, shuttle)) {
    15
} else {
    48
};
/// Entries in ten buckets below which a table shrinks.
const EMPTY: usize = 6;
/// From this size on, counts are kept in stripes.
pub(super) const INFLATE_BITS: u32 = 6;
/// The largest table: 2^40 buckets, more than there is memory for.
const MAX_BITS: u32 = 40;

/// Returns the size (its binary logarithm) of the smallest table that holds `capacity` entries without growing, if
/// there is one.
pub(super) fn bits_for(capacity: usize) -> Option<u32> {
    let buckets = capacity.checked_mul(10)? / FULL + 1;
    let bits = buckets.checked_next_power_of_two()?.ilog2();
    (bits <= MAX_BITS).then_some(bits.max(MIN_BITS))
}

impl<E: Entry, S: BuildHasher> HashIndex<E, S>
where
    E::Key: Hash,
{
    /// Begins to grow if the table is full. Called when a bucket has overflown.
    #[cold]
    pub(super) fn grow_if_full(&self, table: &Table) {
        let full = self.count().saturating_mul(10) > table.len().saturating_mul(FULL);
        if full && table.bits() < MAX_BITS {
            self.begin(table, table.bits() + 1);
        }
    }

    /// Begins to shrink if the table is nearly empty. Called for the `nth` removal of a stripe; looks
    /// now and then.
    #[inline]
    pub(super) fn shrink_if_empty(&self, table: &Table, nth: u64) {
        let every = (table.len() as u64 / 4).clamp(1, 256);
        if nth.is_multiple_of(every) && table.bits() > self.floor {
            self.shrink_if_empty_now(table);
        }
    }

    #[cold]
    fn shrink_if_empty_now(&self, table: &Table) {
        if self.count().saturating_mul(10) < table.len().saturating_mul(EMPTY) {
            self.begin(table, table.bits() - 1);
        }
    }

    /// Makes the next table, unless another thread has begun to, or this table is still being filled. If there is no
    /// memory for it this table goes on, with overflow buckets, and a later overflow tries again.
    fn begin(&self, table: &Table, bits: u32) {
        // Acquire: pairs with the Release in `finish`; the root has been filled.
        let is_root = std::ptr::eq(self.root.load(Ordering::Acquire), table);
        // Relaxed: the winner of the swap is alone, and publishes by `set_next`.
        if !is_root || table.moving.begun.swap(1, Ordering::Relaxed) != 0 {
            return;
        }
        let Some(next) = Table::try_new(bits) else {
            // Relaxed: as above.
            return table.moving.begun.store(0, Ordering::Relaxed);
        };
        // Relaxed: a number.
        self.counts
            .bytes
            .fetch_add(next.memory(), Ordering::Relaxed);
        if bits >= INFLATE_BITS {
            self.counts.entries.inflate();
        }
        table.set_next(next);
    }

    /// Does a chunk of the move from `table` to `next`, if any is left:
    /// * units that no thread has taken on: the next chunk of these, wherever the caller's own key lies;
    /// * none, but a panic has left one undone: that one;
    /// * none at all: other threads are at the last ones. The caller waits for none of them, unless for the bucket of
    ///   its own key.
    ///
    /// The thread that counts the last unit makes `next` the root.
    #[cold]
    pub(super) fn help(&self, table: &Table, next: &Table, pin: &impl Guard) {
        let units = table.len().min(next.len());
        // Relaxed, twice: units are independent; the locks order what is in them.
        let moving = &table.moving;
        let first = match moving.claimed.load(Ordering::Relaxed) {
            claimed if claimed < units => moving.claimed.fetch_add(CHUNK, Ordering::Relaxed),
            claimed => claimed,
        };
        let chunk = if first < units {
            first..units.min(first + CHUNK)
        } else if let Some(unit) = moving.progress.take_abandoned(0) {
            unit..unit + 1
        } else {
            return;
        };
        let one = |unit| self.move_unit(table, next, unit, pin);
        if moving.progress.run(0, chunk, units, one) {
            self.finish(table, next, pin);
        }
    }

    /// Makes `next` the root and retires `table`.
    fn finish(&self, table: &Table, next: &Table, pin: &impl Guard) {
        // Release: pairs with the PROTECT load in `root` and the Acquire in `begin`.
        self.root
            .store(std::ptr::from_ref(next).cast_mut(), Ordering::Release);
        // Relaxed: a number.
        self.counts
            .bytes
            .fetch_sub(table.memory(), Ordering::Relaxed);
        pin.weigh(table.memory());
        // SAFETY: the only way to it was the root; one thread completes the last unit, once.
        unsafe { pin.retire(std::ptr::from_ref(table).cast_mut()) };
    }

    fn move_unit(&self, table: &Table, next: &Table, unit: usize, pin: &impl Guard) {
        // 1. Lock the bucket that splits, or the two that merge: they hold still. No thread touches the buckets of the
        //    next table that they move to before they say *moved* (FROZEN_BUCKET).
        // 2. Find out where each word goes, and as what. If the user's hash function panics here, nothing was written.
        // 3. Fill the buckets of the next table.
        // 4. Mark each locked bucket as moved. The store that unlocks it shows what was filled: with it the keys have
        //    moved. Readers that are still in the old chain find it frozen; it is retired.
        let grows = next.len() > table.len();
        let sources: SmallVec<[usize; 2]> = if grows {
            [unit].into_iter().collect()
        } else {
            [2 * unit, 2 * unit + 1].into_iter().collect()
        };
        let locked: SmallVec<[Locked<'_>; 2]> = sources
            .iter()
            .filter_map(|&source| table.nth(source).lock())
            .collect();
        debug_assert_eq!(locked.len(), sources.len(), "a unit is moved once");
        let mut words: SmallVec<[(usize, u64); 16]> = SmallVec::new();
        for (source, locked) in sources.iter().zip(&locked) {
            locked
                .bucket()
                .for_each(|word| words.push(self.relocate(table, next, *source, word)));
        }
        let mut overflow = 0;
        for (to, word) in words {
            overflow += next.nth(to).fill(word);
        }
        let gone = locked
            .into_iter()
            .map(|source| thaw_elsewhere(source, pin))
            .sum::<usize>();
        // Relaxed, both: a number.
        self.counts
            .bytes
            .fetch_add(overflow * size_of::<Bucket>(), Ordering::Relaxed);
        self.counts
            .bytes
            .fetch_sub(gone * size_of::<Bucket>(), Ordering::Relaxed);
    }

    /// Returns the bucket of the next table for a word of bucket `source`, and the word there.
    #[inline]
    fn relocate(&self, table: &Table, next: &Table, source: usize, word: u64) -> (usize, u64) {
        if table.window() != next.window() {
            // The tag's window moves: only the key knows the bits that come into view.
            let hash = self.hash_of_entry(&Self::entry(word));
            let tag = word::tag_of(hash, next.window());
            return (next.index(hash), word::word(tag, word::handle(word)));
        }
        if next.len() < table.len() {
            return (source / 2, word);
        }
        let half = if cfg!(fyris_mutant = "hash_lost_split") {
            0
        } else {
            word::half(word, table.bits())
        };
        (2 * source + half, word)
    }
}

/// Marks a bucket as moved and retires its overflow buckets; returns their number.
fn thaw_elsewhere(source: Locked<'_>, pin: &impl Guard) -> usize {
    let bucket = source.bucket();
    source.set_moved();
    let chain: SmallVec<[*mut Bucket; 4]> = bucket.overflow_chain().collect();
    for &overflow in &chain {
        // SAFETY: a thread that pins later finds the bucket moved and does not enter it; the thread that
        // moved it retires its chain, once.
        unsafe { pin.retire(overflow) };
    }
    chain.len()
}
