//! `linear_hash`: linear hashing with an array of bucket locks, as the hash tables of ETS have it.
//!
//! The table grows and shrinks one bucket at a time (2013 paper on the scalability of ETS, section 2), under a table
//! lock that operations share and an array of reader-writer locks, each for a part of the buckets (sections 3.2 and
//! 3.4). Their number is set when the table is made, or follows contention (section 6.1).
//!
//! # Locks
//!
//! * The *table lock*, over the array of bucket locks: an operation has it for reading, a change of the number of
//!   bucket locks has it for writing.
//! * A *bucket lock*: a reader of the bucket has it for reading, a writer for writing, and so has the thread that
//!   splits or merges the bucket. Buckets that are split or merged with each other have one lock, so that no thread
//!   ever needs two. Without bucket locks the table lock is the lock of all buckets, and a write has it for writing.
//! * Growing and shrinking is one thread's at a time, and left to it: it is tried for, not waited for.
//!
//! They are taken in this order. A write that finds its bucket lock taken adds 100 to the lock's score, another takes 1
//! away; above 1000 the number of locks is doubled (up to 8192), below -10,000,000 halved. It begins with 64. A number
//! of locks that is set holds from when the table has as many buckets; with fewer it has 1024 at most, or a lock for
//! each bucket if that is more. Where entries go, the locks that keep empty buckets go too.
//!
//! # Progress
//!
//! All operations block: readers wait for a writer of their lock, writers for readers and writers. A scan holds a lock
//! for a few buckets at a time.
//!
//! # Options
//!
//! As Table 1 of the paper (section 5.2.1) has them: [`IndexOptions::bucket_locks`] is the number of bucket locks.
//! Without them the table lock is normal, or has reader groups for `read_concurrency`; with them it has reader groups,
//! and the bucket locks are normal, or have reader groups for `read_concurrency`. `reader_groups` is the number of
//! groups of each. `decentralized_counters` decides how entries are counted. All options are used.
//!
//! # Order
//!
//! That of hashes, then keys. The number of a bucket is the top of a hash, and the buckets are laid out by
//! levels (`levels.rs`), so the order does not depend on their number.
//!
//! # Sizes
//!
//! A bucket has room for one entry (`chain.rs`) and is 16 bytes, as is the node of each further one; a bucket lock is
//! 128. There are half as many to as many entries as buckets, and all buckets of a level are allocated together: 22 to
//! 38 bytes an entry where entries come, and up to 67 where half of them go. A table that chooses for itself begins
//! with 64 buckets and 8 KiB of locks.

mod buckets;
mod chain;
mod locks;

use std::hash::{BuildHasher, Hash};
use std::ops::{Bound, Deref};
use std::sync::TryLockError;

use fyris_index::hash::{RandomState, spread};
use fyris_index::plug::{DynIndex, IndexFactory, PlugEntry};
use fyris_index::table_lock::kind;
use fyris_index::table_lock::{LockKind, Reading, TableLock, Writing};
use fyris_index::{Action, Batch, BucketLocks, Build, Entry, Figures, Index, IndexOptions, Range};
use fyris_sync::counter::Striped;
use fyris_sync::lock::Mutex;
use fyris_sync::reclaim::Guard;

use self::buckets::LinearBuckets;
use self::chain::{Cell, HASH};
use self::locks::{Locks, Wish};

/// Additions or removals of a thread after which the number of entries is compared with that of buckets.
const EVERY: u64 = if cfg!(any(loom, shuttle)) { 2 } else { 8 };
/// The most buckets that a scan looks at under one lock.
const TOGETHER: usize = if cfg!(fyris_small) { 2 } else { 16 };
/// Entries from which on they are counted in stripes.
const INFLATE: usize = 256;

/// A hash table under locks. See the [module](self).
pub struct LinearHash<E: Entry, S = RandomState> {
    /// The table lock, over the bucket locks.
    locks: TableLock<Locks>,
    /// Whether the table lock is the lock of all buckets.
    one_lock: bool,
    buckets: LinearBuckets<E>,
    /// Held by the thread that splits or merges buckets.
    resizing: Mutex<()>,
    hasher: S,
    entries: Striped,
    /// Whether the counter of entries becomes one of stripes when the table has grown.
    inflates: bool,
}

/// The locks of a table, under the table lock: for writing if that is what protects the bucket that is written to.
enum Held<'a> {
    Reading(Reading<'a, Locks>),
    Writing(Writing<'a, Locks>),
}

impl Deref for Held<'_> {
    type Target = Locks;

    #[inline]
    fn deref(&self) -> &Locks {
        match self {
            Held::Reading(locks) => locks,
            Held::Writing(locks) => locks,
        }
    }
}

impl<E: Entry, S: Default> Default for LinearHash<E, S> {
    fn default() -> Self {
        Self::build(&IndexOptions::default())
    }
}

impl<E: Entry, S: Default> Build for LinearHash<E, S> {
    fn build(options: &IndexOptions) -> Self {
        let locks = Locks::new(options);
        let buckets = options.capacity.max(LinearBuckets::<E>::least());
        let buckets = buckets.max(locks.number()).next_power_of_two();
        let entries = Striped::new();
        let inflates = options.decentralized_counters.is_none();
        if options.decentralized_counters.unwrap_or(buckets >= INFLATE) {
            entries.inflate();
        }
        let one_lock = options.bucket_locks == BucketLocks::None;
        let table_lock = LockKind::new(!one_lock || options.read_concurrency, options);
        Self {
            locks: TableLock::new(table_lock, locks),
            one_lock,
            buckets: LinearBuckets::new(buckets),
            resizing: Mutex::new(()),
            hasher: S::default(),
            entries,
            inflates,
        }
    }
}

impl<E: Entry, S> LinearHash<E, S> {
    /// Returns the number of bucket locks: zero without them.
    pub fn bucket_locks(&self) -> usize {
        self.locks.read().number()
    }

    /// Takes the table lock for a write to a bucket.
    #[inline]
    fn write(&self) -> Held<'_> {
        if self.one_lock && !cfg!(fyris_mutant = "linear_one_lock_shared") {
            Held::Writing(self.locks.write())
        } else {
            Held::Reading(self.locks.read())
        }
    }

    fn count(&self) -> usize {
        usize::try_from(self.entries.sum()).unwrap_or(0)
    }

    /// Adds to the number of entries. After every eighth change of a thread it splits or merges buckets, if there are
    /// too few or too many, and returns the number of locks that there should be.
    fn account(&self, change: i64, locks: &Locks) -> Option<Wish> {
        if change == 0 || !self.entries.add(change).is_multiple_of(EVERY) {
            return None;
        }
        let _alone = match self.resizing.try_lock() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        if self.inflates && self.count() >= INFLATE {
            self.entries.inflate();
        }
        let before = self.buckets.count();
        // Twice the additions or removals that a thread makes between two looks.
        for _ in 0..2 * EVERY {
            let (count, buckets) = (self.count(), self.buckets.count());
            if count > buckets && self.buckets.can_split() {
                let _bucket = locks.write_to_resize(self.buckets.next_split());
                // SAFETY: the lock of the bucket, or of the table, for writing; alone in resizing.
                unsafe { self.buckets.split() };
            } else if count < buckets / 2
                && buckets > locks.number().max(LinearBuckets::<E>::least())
            {
                let _bucket = locks.write_to_resize(self.buckets.next_merge());
                // SAFETY: as above; more buckets than locks.
                unsafe { self.buckets.merge() };
            } else if count < buckets / 2 {
                return locks.wish_for_fewer();
            } else {
                break;
            }
        }
        let buckets = self.buckets.count();
        (buckets > before)
            .then(|| locks.wish_for_more(buckets))
            .flatten()
    }

    /// Changes the number of bucket locks, if it is still what was seen, and there are buckets enough.
    #[cold]
    fn change_locks(&self, wish: Wish) {
        // No thread waits while they are made, and while the old ones are freed.
        let others = self.locks.read().others(wish.wanted);
        let mut locks = self.locks.write();
        if locks.number() == wish.seen && wish.wanted <= self.buckets.count() {
            let old = locks.replace(others);
            drop(locks);
            drop(old);
        }
    }
}

impl<E: Entry, S: BuildHasher> LinearHash<E, S>
where
    E::Key: Hash,
{
    #[inline]
    fn hash_of(&self, key: &E::Key) -> u64 {
        spread(self.hasher.hash_one(key)) & HASH
    }
}

impl<E: Entry, S: BuildHasher> LinearHash<E, S>
where
    E::Key: Hash + Eq + Ord,
{
    /// Changes the entry of a key under the lock of its bucket; returns also by how much the number of entries has
    /// changed, and which number of locks there should be.
    fn change<R>(
        &self,
        key: &E::Key,
        locks: &Locks,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> (R, i64, Option<Wish>) {
        let hash = self.hash_of(key);
        let (_bucket, wish) = locks.write(hash);
        // SAFETY: the lock of the hash, which is that of the table if there are no bucket locks, is held for writing
        // until the end of this function, which asks for no other chain.
        let chain = unsafe { self.buckets.chain_mut(hash) };
        let old = chain.find(hash, |entry| entry.has_key(key));
        let (action, result) = f(old);
        let change = match (action, old) {
            (Action::Put(new), Some(old)) => {
                chain.replace(old, new);
                0
            }
            (Action::Put(entry), None) => {
                chain.add(hash, entry);
                1
            }
            (Action::Remove, Some(old)) => {
                chain.remove(old);
                -1
            }
            (Action::Keep, _) | (Action::Remove, None) => 0,
        };
        (result, change, wish)
    }

    /// Appends the entries of a bucket that `keep` accepts, in order.
    fn append(chain: &Cell<E>, keep: impl Fn(u64, &E) -> bool, out: &mut Batch<E>) {
        let mut found = smallvec::SmallVec::<[(u64, E); 8]>::new();
        let cells = chain.iter().map(|cell| (cell.hash(), cell.entry()));
        found.extend(cells.filter(|(hash, entry)| keep(*hash, entry)));
        if !cfg!(fyris_mutant = "linear_scan_unsorted") {
            let place = |(hash, entry): &(u64, E), (other, to): &(u64, E)| {
                hash.cmp(other).then_with(|| entry.key().cmp(to.key()))
            };
            found.sort_unstable_by(place);
        }
        out.extend(found.iter().map(|(_, entry)| *entry));
    }

    /// Appends the entries of a few buckets that have one lock, beginning with that of a hash; returns the last hash of
    /// the last bucket. Stops where `out` has `full` entries.
    fn scan_locked(
        &self,
        (first, last): (u64, u64),
        keep: impl Fn(u64, &E) -> bool,
        full: usize,
        out: &mut Batch<E>,
    ) -> u64 {
        let locks = self.locks.read();
        let _bucket = locks.read(first);
        let last = last.min(locks.last(first));
        // A bucket that was merged since may have hashes before the first.
        let repeats = cfg!(fyris_mutant = "linear_scan_repeats");
        let keep =
            |hash, entry: &E| (first <= hash || repeats) && hash <= last && keep(hash, entry);
        let mut at = first;
        for _ in 0..TOGETHER {
            // SAFETY: the lock of these hashes (ONE_LOCK) is held until the end of this function.
            let chain = unsafe { self.buckets.chain(at) };
            Self::append(chain, keep, out);
            let end = self.buckets.span(at).last;
            if end >= last || out.len() >= full {
                return end;
            }
            at = end + 1;
        }
        at - 1
    }

    /// Appends the entries with hashes from `first` to `last` that `keep` accepts, lock by lock, until there are `want`
    /// of them; returns whether there may be more.
    fn scan_hashes(
        &self,
        (first, last): (u64, u64),
        keep: impl Fn(u64, &E) -> bool,
        want: usize,
        out: &mut Batch<E>,
    ) -> bool {
        let full = out.len().saturating_add(want.max(1));
        let mut at = first;
        loop {
            let end = self.scan_locked((at, last), &keep, full, out);
            if end >= last {
                return false;
            }
            if out.len() >= full {
                return true;
            }
            at = end + 1;
        }
    }
}

/// All operations lock a bucket. See the [module](self).
impl<E, S> Index<E> for LinearHash<E, S>
where
    E: Entry<Key: Hash + Eq + Ord> + Send + Sync,
    S: BuildHasher + Send + Sync,
{
    fn get(&self, key: &E::Key, _: &impl Guard) -> Option<E> {
        let hash = self.hash_of(key);
        let locks = self.locks.read();
        let _bucket = locks.read(hash);
        // SAFETY: the lock of the hash is held until the end of this function.
        let chain = unsafe { self.buckets.chain(hash) };
        chain.find(hash, |entry| entry.has_key(key))
    }

    fn upsert<R>(
        &self,
        key: &E::Key,
        _: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        let locks = self.write();
        let (result, change, wish) = self.change(key, &locks, f);
        let wish = self.account(change, &locks).or(wish);
        drop(locks);
        if let Some(wish) = wish {
            self.change_locks(wish);
        }
        result
    }

    fn scan(
        &self,
        (from, to): Range<'_, E::Key>,
        want: usize,
        _: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        let hash_at = |bound| match bound {
            Bound::Included(key) | Bound::Excluded(key) => Some(self.hash_of(key)),
            Bound::Unbounded => None,
        };
        let (first, last) = (hash_at(from), hash_at(to));
        let is_within = |hash, entry: &E| {
            (Some(hash) != first || crate::bounds::is_above(from, entry.key()))
                && (Some(hash) != last || crate::bounds::is_below(to, entry.key()))
        };
        let hashes = (first.unwrap_or(0), last.unwrap_or(u64::MAX));
        self.scan_hashes(hashes, is_within, want, out)
    }

    fn len(&self) -> usize {
        self.count()
    }

    fn memory(&self) -> usize {
        size_of::<Self>()
            + self.locks.memory()
            + self.locks.read().memory()
            + self.buckets.memory(self.count())
            + self.entries.memory()
    }

    fn describe(&self, _: &impl Guard) -> Figures {
        let locks = self.locks.read();
        let figures = Figures::new()
            .table_lock(&self.locks)
            .count("bucket_locks", locks.number() as u64);
        let figures = if self.one_lock {
            figures
        } else {
            figures
                .word("bucket_lock", kind(locks.reader_groups()))
                .count("bucket_conflicts", locks.conflicts())
        };
        figures.count("buckets", self.slots() as u64)
    }

    fn slots(&self) -> usize {
        self.buckets.count()
    }

    fn slot(&self, slot: usize, _: &impl Guard, out: &mut Batch<E>) {
        if let Some(span) = self.buckets.nth(slot) {
            self.scan_hashes((span.first, span.last), |_, _| true, usize::MAX, out);
        }
    }
}

impl<E: Entry, S> Drop for LinearHash<E, S> {
    fn drop(&mut self) {
        // SAFETY: the index is being dropped, so only this thread can reach it; each entry is met once.
        self.buckets.drain(|entry| unsafe { entry.dispose() });
    }
}

/// Makes [`LinearHash`] indexes, for tables without an order of keys.
pub struct LinearHashes;

// SAFETY: an entry is in the chain of its bucket from when it is put in until it is replaced or removed, and is looked
// at under the bucket's lock; the index disposes of those that are in it when it is dropped.
unsafe impl IndexFactory for LinearHashes {
    fn build<E: PlugEntry>(&self, options: &IndexOptions) -> Option<Box<dyn DynIndex<E>>> {
        Some(Box::new(LinearHash::<E>::build(options)))
    }
}
