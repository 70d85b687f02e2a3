//! The locks of buckets: an array of them, whose number follows contention.
//!
//! A lock is for the hashes that begin with its number, and a table has at least as many buckets as locks. Invariant
//! **ONE_LOCK**: all hashes of a bucket have one lock, also while the bucket is split or merged.

use fyris_index::table_lock::{LockKind, Reading, TableLock, Writing};
use fyris_index::{BucketLocks, IndexOptions};
use fyris_sync::lock::rw::Groups;

/// Locks of a table that chooses for itself: at first, at least and at most.
const FIRST: usize = if cfg!(fyris_small) {
    2
} else {
    BucketLocks::USUAL
};
const FEWEST: usize = 1;
const MOST: usize = 1 << 13;

/// The most locks that a new table has, so that it is made, emptied and looked through in a fraction of a millisecond;
/// divided among the reader groups of each lock. It gets the others when it has as many buckets.
const AT_ONCE: usize = if cfg!(fyris_small) { 8 } else { 1024 };

/// What a write that found its lock taken, and one that did not, add to the score of the lock.
const CONTENDED: i64 = 100;
const UNCONTENDED: i64 = -1;
/// Scores from which on there are too few locks, and too many.
const TOO_FEW: i64 = if cfg!(any(loom, shuttle)) {
    50
} else if cfg!(fyris_small) {
    200
} else {
    1000
};
const TOO_MANY: i64 = if cfg!(any(loom, shuttle)) {
    -4
} else if cfg!(fyris_small) {
    -50
} else {
    -10_000_000
};

/// A lock, on lines of its own, and its score, which is changed under the lock.
#[repr(align(128))]
pub(super) struct Stripe(TableLock<i64>);

/// An array of locks.
type Stripes = Box<[Stripe]>;

/// The locks of a table; none, if the lock of the table is for all buckets.
pub(super) struct Locks {
    stripes: Stripes,
    kind: LockKind,
    adapts: bool,
    /// The numbers of locks that a table has with few entries, and at most.
    least: usize,
    most: usize,
    /// Conflicts of locks that others have replaced.
    past_conflicts: u64,
}

/// A number of locks, seen and wanted.
#[derive(Clone, Copy)]
pub(super) struct Wish {
    pub(super) seen: usize,
    pub(super) wanted: usize,
}

/// Returns the most locks of this kind that are made at once.
fn at_once(kind: LockKind) -> usize {
    match kind {
        LockKind::Normal => AT_ONCE,
        LockKind::FrequentReads(groups) => {
            (AT_ONCE / Groups::new(groups).number()).next_power_of_two()
        }
    }
}

fn stripes(number: usize, kind: LockKind) -> Stripes {
    let stripe = |_| Stripe(TableLock::new(kind, 0));
    (0..number).map(stripe).collect()
}

impl Locks {
    /// Makes as many locks as the options say, rounded up to a power of two.
    pub(super) fn new(options: &IndexOptions) -> Self {
        let kind = LockKind::new(options.read_concurrency, options);
        let (number, most) = match options.bucket_locks {
            BucketLocks::None => (0, 0),
            BucketLocks::Fixed(locks) => {
                let locks = locks.clamp(1, BucketLocks::MOST).next_power_of_two();
                (locks.min(at_once(kind)), locks)
            }
            BucketLocks::Auto => (FIRST, MOST),
        };
        Self {
            stripes: stripes(number, kind),
            kind,
            adapts: options.bucket_locks == BucketLocks::Auto,
            least: number,
            most,
            past_conflicts: 0,
        }
    }

    /// Makes `number` locks, a power of two, for [`Locks::replace`].
    pub(super) fn others(&self, number: usize) -> Stripes {
        stripes(number, self.kind)
    }

    /// Replaces the locks by others, and returns them.
    pub(super) fn replace(&mut self, others: Stripes) -> Stripes {
        self.past_conflicts = self.conflicts();
        std::mem::replace(&mut self.stripes, others)
    }

    /// Returns the number of locks.
    pub(super) fn number(&self) -> usize {
        self.stripes.len()
    }

    /// Returns how often a lock was not free for a thread that wanted it, of all locks so far.
    pub(super) fn conflicts(&self) -> u64 {
        let now = self.stripes.iter().map(|stripe| stripe.0.conflicts());
        self.past_conflicts + now.sum::<u64>()
    }

    /// Returns the number of reader groups of each lock, if they have them.
    pub(super) fn reader_groups(&self) -> Option<usize> {
        self.stripes.first()?.0.reader_groups()
    }

    /// Returns the number of bytes on the heap. O(locks) if they have reader groups.
    pub(super) fn memory(&self) -> usize {
        let groups = match self.kind {
            LockKind::Normal => 0,
            LockKind::FrequentReads(_) => self.stripes.iter().map(|s| s.0.memory()).sum(),
        };
        size_of_val(&*self.stripes) + groups
    }

    /// Returns the lock of a hash, if there are bucket locks.
    #[inline]
    fn stripe(&self, hash: u64) -> Option<&TableLock<i64>> {
        let bits = self.stripes.len().checked_ilog2()?;
        // In two steps, as one lock has no bits.
        Some(&self.stripes[(hash >> 1 >> (63 - bits)) as usize].0)
    }

    /// Returns the last hash that has the same lock as this one: the last of all, if there are no bucket locks.
    #[inline]
    pub(super) fn last(&self, hash: u64) -> u64 {
        let bits = self.stripes.len().checked_ilog2().unwrap_or(0);
        hash | u64::MAX >> bits
    }

    /// Locks the bucket of a hash for reading, if there are bucket locks.
    #[inline]
    pub(super) fn read(&self, hash: u64) -> Option<Reading<'_, i64>> {
        Some(self.stripe(hash)?.read())
    }

    /// Locks the bucket of a hash for writing, if there are bucket locks; says also whether there should be another
    /// number of them.
    #[inline]
    pub(super) fn write(&self, hash: u64) -> (Option<Writing<'_, i64>>, Option<Wish>) {
        let Some(lock) = self.stripe(hash) else {
            return (None, None);
        };
        if !self.adapts {
            return (Some(lock.write()), None);
        }
        let (mut score, change) = match lock.write_at_once() {
            Some(score) => (score, UNCONTENDED),
            None => (lock.write_after_conflict(), CONTENDED),
        };
        *score += change;
        let wish = self.wish(*score);
        if wish.is_some() {
            // If it cannot be granted, the score has to come up again.
            *score = 0;
        }
        (Some(score), wish)
    }

    /// Locks the bucket of a hash for writing, to split or merge it, if there are bucket locks.
    pub(super) fn write_to_resize(&self, hash: u64) -> Option<Writing<'_, i64>> {
        Some(self.stripe(hash)?.write())
    }

    /// Returns whether there should be more locks, now that there are `buckets`.
    pub(super) fn wish_for_more(&self, buckets: usize) -> Option<Wish> {
        let seen = self.number();
        let wanted = 2 * seen;
        let lacks = !self.adapts && seen < self.most && wanted <= buckets;
        lacks.then_some(Wish { seen, wanted })
    }

    /// Returns whether there should be fewer locks, as they keep more buckets than the entries need.
    pub(super) fn wish_for_fewer(&self) -> Option<Wish> {
        let seen = self.number();
        let wanted = seen / 2;
        (wanted >= self.least.max(1)).then_some(Wish { seen, wanted })
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
