//! The two seams: [`Index`] and [`OrderedIndex`].

use std::ops::Bound;

use fyris_sync::reclaim::Pin;

use crate::Entry;

/// What becomes of a slot after an [`Index::upsert`] closure has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<E> {
    /// Leave the slot as it is.
    Keep,
    /// Put this entry there, instead of the old one if there was one. Its key equals the key asked for.
    Put(E),
    /// Take the old entry out. With no old entry, the same as `Keep`.
    Remove,
}

/// The version of the place where a key is or would be: a bucket or a leaf.
///
/// Two equal stamps of one key mean that no entry came, went or was replaced there in between, so
/// a transaction can validate what it read, absence included. The reverse does not hold: a stamp
/// may change although the key's own entry did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(pub u64, pub u64);

/// Entries handed out by one step of a traversal, in the index's order.
pub type Batch<E> = Vec<E>;

/// A concurrent index.
///
/// # Consistency
///
/// `get` and `upsert` are linearizable. `get`, `next_batch` and `slot` take no lock and write no
/// shared line. An entry that is in the index throughout a traversal is handed out exactly once.
///
/// # Ownership
///
/// Entries that an operation puts out of the index belong to the caller of that operation.
/// Dropping the index disposes of those that are still in it.
pub trait Index<E: Entry>: Send + Sync {
    /// Makes room for so many entries, if the index is empty and can make room beforehand.
    fn reserve(&mut self, _capacity: usize) {}

    /// The entry with this key.
    fn get(&self, key: &E::Key, pin: &impl Pin) -> Option<E>;

    /// Runs `f` on the entry with this key (or on its absence), under the slot's protection, and does
    /// as it says; returns `f`'s second result.
    ///
    /// While `f` runs nobody else can change the slot. `f` must be short, must not block and must
    /// not use this index; if it panics the slot is released and unchanged.
    fn upsert<R>(
        &self,
        key: &E::Key,
        pin: &impl Pin,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R;

    /// As [`Index::upsert`] for the first of some ascending keys, one at least, in their order: as many as the index
    /// comes by at once. `f` says what becomes of a key, given its place among them; `None`: nothing, and none of those
    /// behind it is looked at. Returns how many were done.
    ///
    /// Each key changes by itself, at the latest when the call returns; `f` is held to what is said there.
    fn upsert_run<'k>(
        &self,
        keys: impl Fn(usize) -> Option<&'k E::Key>,
        pin: &impl Pin,
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

    /// Says that [`Index::upsert`] is going to be asked for this key, so that the memory it will need
    /// can be on its way meanwhile. Advice: it changes nothing.
    #[inline]
    fn prefetch(&self, _key: &E::Key, _pin: &impl Pin) {}

    /// Says that [`Index::get`] is going to be asked for this key. Advice, as [`Index::prefetch`], without a claim
    /// to what it brings near.
    #[inline]
    fn expect(&self, _key: &E::Key, _pin: &impl Pin) {}

    /// Appends the entries that follow `after` (from the start: `None`) in the index's order, at
    /// least one unless there are none; how many is the index's choice (a bucket, a leaf).
    ///
    /// `after` need not be in the index: the order is a property of keys alone (hash order here), so a
    /// cursor survives growth, shrinking and the deletion of the key it names.
    fn next_batch(&self, after: Option<&E::Key>, pin: &impl Pin, out: &mut Batch<E>);

    /// The first of those entries.
    fn next_entry(&self, after: Option<&E::Key>, pin: &impl Pin) -> Option<E> {
        let mut batch = Batch::new();
        self.next_batch(after, pin, &mut batch);
        batch.first().copied()
    }

    /// The version of the place where `key` is or would be.
    fn stamp(&self, key: &E::Key, pin: &impl Pin) -> Stamp;

    /// How many entries; exact when nobody is writing.
    fn len(&self) -> usize;

    /// True when there are no entries; exact when nobody is writing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the index itself has allocated, without what is behind the entries. O(1).
    fn memory(&self) -> usize;

    /// How many slots [`Index::slot`] can be asked for now.
    fn slots(&self) -> usize;

    /// Appends the entries of one slot (a bucket; in an ordered index the `slot`-th entry).
    fn slot(&self, slot: usize, pin: &impl Pin, out: &mut Batch<E>);
}

/// An index whose order is the order of keys.
pub trait OrderedIndex<E: Entry>: Index<E> {
    /// The first entry at or above the bound (above for `Excluded`; the first of all for `Unbounded`).
    fn seek(&self, from: Bound<&E::Key>, pin: &impl Pin) -> Option<E>;

    /// The last entry at or below the bound (below for `Excluded`; the last of all for `Unbounded`).
    fn seek_back(&self, from: Bound<&E::Key>, pin: &impl Pin) -> Option<E>;

    /// Appends entries from the bound upwards, at least one unless there are none: a leaf's worth, read at one
    /// moment.
    fn range_batch(&self, from: Bound<&E::Key>, pin: &impl Pin, out: &mut Batch<E>);

    /// As [`OrderedIndex::range_batch`], downwards.
    fn range_back_batch(&self, from: Bound<&E::Key>, pin: &impl Pin, out: &mut Batch<E>);
}
