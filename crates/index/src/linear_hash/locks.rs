//! The locks of buckets: an array of them, whose number follows contention.
//!
//! A lock is for the hashes that begin with its number. A table has at least as many buckets as locks, so all hashes of
//! a bucket have one lock (ONE_LOCK), also while the bucket is split or merged.

use lock_api::{RawRwLock, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::IndexOptions;

/// The most locks that a table can be told to have.
const MAX_LOCKS: usize = 1 << 15;
/// Locks of a table that chooses for itself: at first, at least and at most.
const FIRST: usize = if cfg!(fyris_small) { 2 } else { 64 };
const FEWEST: usize = 1;
const MOST: usize = 1 << 13;

/// What a write that found its lock taken, and one that did not, add to the score of the lock.
const CONTENDED: i64 = 100;
const UNCONTENDED: i64 = -1;
/// Scores from which on there are too few locks, and too many.
const TOO_FEW: i64 = if cfg!(fyris_small) { 200 } else { 1000 };
const TOO_MANY: i64 = if cfg!(fyris_small) { -50 } else { -10_000_000 };

/// A lock, on lines of its own, and its score, which is changed under the lock.
#[repr(align(128))]
struct Stripe<L>(RwLock<L, i64>);

/// The locks of a table.
pub(super) struct Locks<L> {
    stripes: Box<[Stripe<L>]>,
    adapts: bool,
}

/// A number of locks, seen and wanted.
#[derive(Clone, Copy)]
pub(super) struct Wish {
    pub(super) seen: usize,
    pub(super) wanted: usize,
}

impl<L: RawRwLock> Locks<L> {
    /// Makes as many locks as the options say, rounded to a power of two up to 32,768; if they say nothing, as many as
    /// contention asks for.
    pub(super) fn new(options: &IndexOptions) -> Self {
        let fixed = options.locks.map(|locks| locks.clamp(1, MAX_LOCKS));
        Self::with_number(fixed.unwrap_or(FIRST).next_power_of_two(), fixed.is_none())
    }

    /// Makes `number` locks, a power of two.
    pub(super) fn with_number(number: usize, adapts: bool) -> Self {
        let stripes = (0..number).map(|_| Stripe(RwLock::new(0))).collect();
        Self { stripes, adapts }
    }

    /// Returns the number of locks.
    pub(super) fn number(&self) -> usize {
        self.stripes.len()
    }

    /// Returns the number of bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.stripes)
    }

    #[inline]
    fn stripe(&self, hash: u64) -> &RwLock<L, i64> {
        let bits = self.stripes.len().ilog2();
        // In two steps, as one lock has no bits.
        &self.stripes[(hash >> 1 >> (63 - bits)) as usize].0
    }

    /// Locks the bucket of a hash for reading.
    #[inline]
    pub(super) fn read(&self, hash: u64) -> RwLockReadGuard<'_, L, i64> {
        self.stripe(hash).read()
    }

    /// Locks the bucket of a hash for writing; says also whether there should be another number of locks.
    #[inline]
    pub(super) fn write(&self, hash: u64) -> (RwLockWriteGuard<'_, L, i64>, Option<Wish>) {
        let lock = self.stripe(hash);
        let (mut score, change) = match lock.try_write() {
            Some(score) => (score, UNCONTENDED),
            None => (lock.write(), CONTENDED),
        };
        if !self.adapts {
            return (score, None);
        }
        *score += change;
        let wish = self.wish(*score);
        if wish.is_some() {
            // If it cannot be granted, the score has to come up again.
            *score = 0;
        }
        (score, wish)
    }

    #[inline]
    fn wish(&self, score: i64) -> Option<Wish> {
        let seen = self.number();
        let wanted = if score > TOO_FEW {
            (2 * seen).min(MOST)
        } else if score < TOO_MANY {
            (seen / 2).max(FEWEST)
        } else {
            return None;
        };
        (wanted != seen).then_some(Wish { seen, wanted })
    }
}
