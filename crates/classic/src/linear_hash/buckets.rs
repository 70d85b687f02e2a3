//! Buckets whose number changes by one at a time (linear hashing).
//!
//! With `2^level + split` buckets, those at the first `split` positions of the level have been split: the others are
//! twice as wide. The next bucket to be made is split off the one at position `split` of the level, and is the next in
//! its segment; the last that was made is the first to be merged again.
//!
//! # Invariants
//!
//! * **UNDER_LOCK**: a bucket is looked at under its lock, and changed under its lock for writing. That is its bucket
//!   lock, or the table lock where there are none.
//! * **COUNT_UNDER_LOCK**: the number of buckets changes under the lock of the buckets that are split or merged. So the
//!   number that a thread reads under a lock, which may be an old one, tells the bucket of any hash of that lock.

use fyris_index::Entry;
use fyris_sync::atomic::{AtomicUsize, Ordering};
use fyris_sync::cell::UnsafeCell;

use crate::levels::{FIRST_BITS, Levels, MAX_BITS, Zeroed, level_of, segment_of};

use super::chain::{Cell, HASH_BITS};

/// The most levels: cells keep no more bits of a hash.
const MOST_BITS: u32 = if MAX_BITS < HASH_BITS {
    MAX_BITS
} else {
    HASH_BITS
};

/// The entries of a bucket behind a lock that is elsewhere (UNDER_LOCK).
struct Bucket<E>(UnsafeCell<Cell<E>>);

impl<E> Default for Bucket<E> {
    fn default() -> Self {
        Self(UnsafeCell::new(Cell::default()))
    }
}

// SAFETY: an empty cell is zeros.
unsafe impl<E> Zeroed for Bucket<E> {}

/// The buckets of a table.
pub(super) struct LinearBuckets<E> {
    count: AtomicUsize,
    levels: Levels<Bucket<E>>,
}

// SAFETY: chains are reached under locks (UNDER_LOCK), and hand entries from one thread to another.
unsafe impl<E: Send + Sync> Send for LinearBuckets<E> {}
// SAFETY: as above.
unsafe impl<E: Send + Sync> Sync for LinearBuckets<E> {}

/// The hashes of a bucket: its position, and the last of them.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) first: u64,
    pub(super) last: u64,
}

/// Returns the level that `count` buckets have in full.
#[inline]
fn level(count: usize) -> u32 {
    count.ilog2()
}

/// Returns the bucket of a hash among `count`.
#[inline]
fn span_of(hash: u64, count: usize) -> Span {
    let level = level(count);
    let split = (count - (1 << level)) as u64;
    let number = hash >> 1 >> (63 - level);
    let (first, width_bits) = if number < split {
        let half = hash >> (63 - level);
        (half << (63 - level), 63 - level)
    } else {
        (number << 1 << (63 - level), 64 - level)
    };
    let last = first | (u64::MAX >> 1 >> (63 - width_bits));
    Span { first, last }
}

/// Returns the position of the bucket that is split when there are `count`, and of the new one.
fn pair_of(count: usize) -> (u64, u64) {
    let level = level(count);
    let split = (count - (1 << level)) as u64;
    let shift = 63 - level;
    ((2 * split) << shift, (2 * split + 1) << shift)
}

impl<E: Entry> LinearBuckets<E> {
    /// Makes `count` empty buckets, a power of two that is not below the least number.
    pub(super) fn new(count: usize) -> Self {
        Self {
            count: AtomicUsize::new(count),
            levels: Levels::with_bits(level(count)),
        }
    }

    /// Returns the least number of buckets.
    pub(super) fn least() -> usize {
        1 << FIRST_BITS
    }

    /// Returns the number of buckets.
    #[inline]
    pub(super) fn count(&self) -> usize {
        // Acquire: pairs with the Release in `split` and `merge`: the segments are there.
        self.count.load(Ordering::Acquire)
    }

    /// Returns the number of bytes of the segments and of the nodes that `entries` have. It is not counted which
    /// entries are alone in their bucket; as hashes are spread evenly, of many entries the number is known.
    pub(super) fn memory(&self, entries: usize) -> usize {
        let count = self.count();
        let (full, split) = (1 << level(count), count - (1 << level(count)));
        let used = |buckets: usize, of: usize| {
            let each = entries as f64 / of as f64;
            buckets as f64 * -(-each).exp_m1()
        };
        let first = used(full - split, full) + used(2 * split, 2 * full);
        let nodes = entries.saturating_sub(first.round() as usize);
        self.levels.memory() + nodes * size_of::<Cell<E>>()
    }

    /// Returns the hashes of the bucket of a hash; those of that moment, if the caller does not hold its lock.
    #[inline]
    pub(super) fn span(&self, hash: u64) -> Span {
        span_of(hash, self.count())
    }

    /// Returns the hashes of the bucket with this number, in the order of hashes.
    pub(super) fn nth(&self, number: usize) -> Option<Span> {
        let count = self.count();
        let level = level(count);
        let split = count - (1 << level);
        let first = if number < 2 * split {
            (number as u64) << (63 - level)
        } else {
            ((number - split) as u64) << 1 << (63 - level)
        };
        (number < count).then(|| span_of(first, count))
    }

    /// Returns the chain of the bucket of a hash.
    ///
    /// # Safety
    ///
    /// The caller holds the hash's lock as long as it uses the result.
    #[inline]
    pub(super) unsafe fn chain(&self, hash: u64) -> &Cell<E> {
        // SAFETY: the bucket is there (COUNT_UNDER_LOCK); no thread changes it meanwhile (UNDER_LOCK).
        unsafe {
            self.levels
                .at(self.span(hash).first)
                .0
                .with(|chain| &*chain)
        }
    }

    /// Returns the chain of the bucket of a hash, to be changed.
    ///
    /// # Safety
    ///
    /// The caller holds the hash's lock for writing as long as it uses the result, and asks for no other chain under
    /// that lock meanwhile.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the lock is elsewhere")]
    pub(super) unsafe fn chain_mut(&self, hash: u64) -> &mut Cell<E> {
        // SAFETY: as in `chain`; this thread is alone (UNDER_LOCK).
        unsafe { self.at(self.span(hash).first) }
    }

    /// # Safety
    ///
    /// The caller holds the lock of this bucket's hashes for writing as long as it uses the result, has no other
    /// reference to its chain meanwhile, and the segment of the position is there.
    #[expect(clippy::mut_from_ref, reason = "the lock is elsewhere")]
    unsafe fn at(&self, position: u64) -> &mut Cell<E> {
        // SAFETY: the caller's contract.
        unsafe { self.levels.at(position).0.with_mut(|chain| &mut *chain) }
    }

    /// Returns whether one more bucket can be made.
    pub(super) fn can_split(&self) -> bool {
        level(self.count()) < MOST_BITS
    }

    /// Returns the position of the bucket that is split next.
    pub(super) fn next_split(&self) -> u64 {
        pair_of(self.count()).0
    }

    /// Returns the position of the bucket that the last one is merged with next.
    pub(super) fn next_merge(&self) -> u64 {
        pair_of(self.count() - 1).0
    }

    /// Splits the next bucket: one more.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of [`LinearBuckets::next_split`] for writing, and no other thread splits or merges.
    pub(super) unsafe fn split(&self) {
        let count = self.count();
        let (old, new) = pair_of(count);
        self.levels.add(segment_of(level_of(new)));
        // SAFETY: two buckets of which this thread holds the lock; their segments are there.
        let (from, upper) = unsafe { (self.at(old), self.at(new)) };
        from.give(upper, |hash| {
            hash >= new && !cfg!(fyris_mutant = "linear_split_stays")
        });
        // Release: pairs with the Acquire in `count`; made under the lock (COUNT_UNDER_LOCK).
        self.count.store(count + 1, Ordering::Release);
    }

    /// Merges the last bucket that was made with the one it was split from: one less.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of [`LinearBuckets::next_merge`] for writing, no other thread splits or merges, and
    /// there are more buckets than the least number.
    pub(super) unsafe fn merge(&self) {
        let count = self.count() - 1;
        let (old, new) = pair_of(count);
        // SAFETY: two buckets of which this thread holds the lock.
        let (to, from) = unsafe { (self.at(old), self.at(new)) };
        from.give(to, |_| true);
        // Release: as in `split`.
        self.count.store(count, Ordering::Release);
        if old == 0 {
            // SAFETY: the last bucket of the segment has been merged. Threads reach a bucket under its lock, by a
            // number of buckets that they read under it (COUNT_UNDER_LOCK), and each bucket of the segment was merged
            // under its lock: no thread is in one now, nor comes there before the segment is added again.
            unsafe { self.levels.remove(segment_of(level_of(new))) };
        }
    }
}

impl<E: Entry> LinearBuckets<E> {
    /// Calls `f` with each entry, once, and frees the nodes.
    pub(super) fn drain(&mut self, mut f: impl FnMut(E)) {
        for number in 0..self.count() {
            let Some(span) = self.nth(number) else { return };
            // SAFETY: `&mut self`: no other thread is in any bucket.
            unsafe { self.chain_mut(span.first) }.drain(&mut f);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use fyris_index::conformance::Object;

    #[test]
    fn buckets_cover_all_hashes_in_order() {
        for count in LinearBuckets::<Object>::least()..300 {
            let buckets = LinearBuckets::<Object>::new(LinearBuckets::<Object>::least());
            while buckets.count() < count {
                // SAFETY: one thread.
                unsafe { buckets.split() };
            }
            let mut next = Some(0);
            for number in 0..count {
                let span = buckets.nth(number).expect("a bucket of that number");
                assert_eq!(Some(span.first), next);
                for hash in [span.first, span.first / 2 + span.last / 2, span.last] {
                    let same = buckets.span(hash);
                    assert_eq!((same.first, same.last), (span.first, span.last));
                }
                next = span.last.checked_add(1);
            }
            assert_eq!(next, None, "{count} buckets end with the last hash");
            assert!(buckets.nth(count).is_none());
        }
    }

    #[test]
    fn the_last_bucket_is_merged_first() {
        let least = LinearBuckets::<Object>::least();
        let buckets = LinearBuckets::<Object>::new(least);
        let small = buckets.memory(0);
        for _ in 0..100 {
            let split = buckets.next_split();
            // SAFETY: one thread.
            unsafe { buckets.split() };
            assert_eq!(buckets.next_merge(), split);
        }
        while buckets.count() > least {
            // SAFETY: one thread.
            unsafe { buckets.merge() };
        }
        assert_eq!(buckets.memory(0), small, "segments go");
    }
}
