//! The interface between indexes and the structures built on them: [`Index`], and [`OrderedIndex`] on top of it.
//!
//! An implementation provides [`get`](Index::get), [`upsert`](Index::upsert), [`scan`](Index::scan),
//! [`len`](Index::len) and [`memory`](Index::memory); with an order also [`seek`](OrderedIndex::seek),
//! [`seek_back`](OrderedIndex::seek_back) and [`scan_back`](OrderedIndex::scan_back). An index is made by its [`Build`]
//! implementation, or by its [factory](crate::plug::IndexFactory): an index behind a pointer cannot be made by its
//! type. All else has a default, which an implementation replaces where it can do better. The traits say what an
//! operation does. Each implementation documents which of its operations take locks, and which progress they make
//! beside others.

use std::ops::Bound;

use fyris_sync::reclaim::Guard;

use crate::{Entry, Figures};

/// The action on a slot, as an [`Index::upsert`] closure decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<E> {
    /// Leave the slot as it is.
    Keep,
    /// Put this entry there, instead of the old one if there was one. Its key equals the key asked for.
    Put(E),
    /// Take the old entry out. With no old entry, the same as `Keep`.
    Remove,
}

/// Entries appended by a scan.
pub type Batch<E> = Vec<E>;

/// A range of keys, in the index's own order: that of keys, or that of hashes.
pub type Range<'k, K> = (Bound<&'k K>, Bound<&'k K>);

/// The options of an index when it is made. An index without a use for one of them passes over it: its module says
/// which it uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexOptions {
    /// Entries to make room for beforehand.
    pub capacity: usize,
    /// Locks of an index that can have an array of them.
    pub bucket_locks: BucketLocks,
    /// Whether locks note readers in reader groups ([`Groups`](fyris_sync::lock::rw::Groups)), so that readers write no
    /// common line.
    pub read_concurrency: bool,
    /// Reader groups of each lock that has them: `None` for as many as there are processors, at most 64. Rounded up to
    /// a power of two.
    pub reader_groups: Option<usize>,
    /// Whether each thread counts entries in a place of its own from the beginning (`Some(true)`), or all in one word
    /// (`Some(false)`). `None`: the one when the index has grown, the other before.
    pub decentralized_counters: Option<bool>,
}

/// The number of bucket locks of an index that can have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BucketLocks {
    /// No bucket locks: the lock of the table is for all.
    None,
    /// As many as this: rounded up to a power of two from 1 to [`BucketLocks::MOST`].
    Fixed(usize),
    /// As many as contention asks for.
    #[default]
    Auto,
}

impl BucketLocks {
    /// The largest number of bucket locks.
    pub const MOST: usize = 1 << 15;
    /// The number that ETS has for `{write_concurrency, true}`.
    pub const USUAL: usize = 64;
}

impl IndexOptions {
    /// Makes options with room for `capacity` entries.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            capacity,
            ..Self::default()
        }
    }
}

/// An index that can be made without more ado.
pub trait Build {
    /// Makes an empty index.
    fn build(options: &IndexOptions) -> Self;
}

/// A concurrent index.
///
/// # Consistency
///
/// `get` and `upsert` are linearizable. An entry that is in the index throughout one or several scans of a range is
/// appended exactly once.
///
/// # Ownership
///
/// Entries that an operation puts out of the index belong to the caller of that operation.
/// Dropping the index disposes of those that are still in it.
pub trait Index<E: Entry>: Send + Sync {
    /// Returns the entry with this key.
    fn get(&self, key: &E::Key, pin: &impl Guard) -> Option<E>;

    /// Runs `f` on the entry with this key (or on its absence), under the slot's protection, performs the action that
    /// it returns, and returns its second result.
    ///
    /// While `f` runs no other thread can change the slot. `f` must be short, must not block and must not use this
    /// index; if it panics the slot is released and unchanged.
    fn upsert<R>(
        &self,
        key: &E::Key,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R;

    /// Appends the entries of a range, in the index's order; returns whether there may be more.
    ///
    /// All of them if it returns `false`; otherwise at least `want` of them and at least one, and the last one appended
    /// is a place to go on from: every entry of the range at or before it in the index's order has been appended, none
    /// behind it has.
    ///
    /// Keys that bound the range need not be in the index: the order is a property of keys alone, so that a cursor,
    /// which is a key, survives growth, shrinking and the deletion of the key it names.
    fn scan(
        &self,
        range: Range<'_, E::Key>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool;

    /// Returns the number of entries; exact while no thread writes, and never less than before while entries are only
    /// put in.
    fn len(&self) -> usize;

    /// Returns the number of bytes that the index itself has allocated, without the memory behind the entries. O(1).
    fn memory(&self) -> usize;

    /// Returns what the index reports about its locks, its shape and contention; nothing, by default.
    ///
    /// An index with buckets reports their number; [`Figures::lengths`] looks at them. O(1), and nothing of it
    /// costs the other operations anything but where a thread waits for another.
    fn describe(&self, _pin: &impl Guard) -> Figures {
        Figures::new()
    }

    /// Returns whether there are no entries; exact while no thread writes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs `f` on the entries of the first of some ascending keys, one at least, in their order: as many as the index
    /// comes by at once. `f` returns the action for a key, given its place among them, or `None` to leave it and all
    /// keys behind it alone. Returns the number of keys done.
    ///
    /// Each key changes by itself, at the latest when the call returns; `f` runs under the slot's protection, and must
    /// keep to the rules of [`Index::upsert`].
    fn upsert_run<'k>(
        &self,
        keys: impl Fn(usize) -> Option<&'k E::Key>,
        pin: &impl Guard,
        mut f: impl FnMut(usize, Option<E>) -> Option<Action<E>>,
    ) -> usize
    where
        E::Key: 'k,
    {
        let Some(key) = keys(0) else { return 0 };
        self.upsert(key, pin, |old| match f(0, old) {
            Some(action) => (action, 1),
            None => (Action::Keep, 0),
        })
    }

    /// Returns the first entry behind `after` (of all: `None`) in the index's order.
    fn next_entry(&self, after: Option<&E::Key>, pin: &impl Guard) -> Option<E> {
        let mut batch = Batch::new();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.scan((from, Bound::Unbounded), 1, pin, &mut batch);
        batch.first().copied()
    }

    /// Prefetches the memory that [`Index::upsert`] of this key is going to read. Changes nothing.
    #[inline]
    fn prefetch_write(&self, _key: &E::Key, _pin: &impl Guard) {}

    /// Prefetches the memory that [`Index::get`] of this key is going to read. Changes nothing.
    #[inline]
    fn prefetch_read(&self, _key: &E::Key, _pin: &impl Guard) {}

    /// Appends entries, fewer than `parts` and in the index's order, whose keys cut the index into `parts` of about
    /// the same size; fewer when there is too little to cut, or when the index knows no such keys.
    fn split(&self, _parts: usize, _pin: &impl Guard, _out: &mut Batch<E>) {}

    /// Returns how many slots [`Index::slot`] can be asked for now: one an entry, unless the index has buckets.
    fn slots(&self) -> usize {
        self.len()
    }

    /// Appends the entries of one slot: of a bucket, or the `slot`-th entry, which takes O(slot). Those of all slots,
    /// one slot after another, are in the index's order.
    fn slot(&self, slot: usize, pin: &impl Guard, out: &mut Batch<E>) {
        let mut batch = Batch::new();
        self.scan(
            (Bound::Unbounded, Bound::Unbounded),
            slot + 1,
            pin,
            &mut batch,
        );
        out.extend(batch.get(slot));
    }
}

/// An index whose order is the order of keys, in which its scans append.
pub trait OrderedIndex<E: Entry>: Index<E> {
    /// Returns the first entry at or above the bound (above for `Excluded`; the first of all for `Unbounded`).
    fn seek(&self, from: Bound<&E::Key>, pin: &impl Guard) -> Option<E>;

    /// Returns the last entry at or below the bound (below for `Excluded`; the last of all for `Unbounded`).
    fn seek_back(&self, from: Bound<&E::Key>, pin: &impl Guard) -> Option<E>;

    /// Appends the entries of a range from its end downwards; returns whether there may be more, after at least `want`
    /// of them and at least one ([`Index::scan`], turned round).
    fn scan_back(
        &self,
        range: Range<'_, E::Key>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool;

    /// Returns about which part of the entries, from 0 to 1, lies below the bound; 0.5 for an index that cannot tell.
    fn estimated_rank(&self, bound: Bound<&E::Key>, _pin: &impl Guard) -> f64 {
        match bound {
            Bound::Unbounded => 0.0,
            _ => 0.5,
        }
    }

    /// Returns whether the index knows how many entries are before a key: [`OrderedIndex::nth`] and
    /// [`OrderedIndex::count`].
    fn counts(&self) -> bool {
        false
    }

    /// Returns the `n`-th entry, from 0, at one moment; `None` if there are no more than `n`, or the index does not
    /// count.
    fn nth(&self, _n: usize, _pin: &impl Guard) -> Option<E> {
        None
    }

    /// Returns the number of entries of a range at one moment; `None` if the index does not count.
    fn count(&self, _range: Range<'_, E::Key>, _pin: &impl Guard) -> Option<usize> {
        None
    }
}
