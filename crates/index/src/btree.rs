//! `btree`: the standard library's B-tree under one reader-writer lock ([`locked`](crate::locked)).

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Bound;

use crate::locked::Locked;
use crate::plug::{DynIndex, DynOrderedIndex, IndexFactory, PlugEntry};
use crate::sequential::SequentialTree;
use crate::{Action, Batch, Entry, IndexOptions, Range};

/// A B-tree of entries under one lock.
pub type LockedBTree<E> = Locked<BTree<E>>;

/// The standard library's B-tree as an ordered set of entries.
pub struct BTree<E: Entry<Key: Ord>>(BTreeSet<ByKey<E>>);

/// An entry, compared by its key.
struct ByKey<E>(E);

/// A key, in the form in which a set of [`ByKey`] is asked for it.
#[repr(transparent)]
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<K: ?Sized>(K);

impl<K: ?Sized> Key<K> {
    fn of(key: &K) -> &Key<K> {
        // SAFETY: `Key` is a transparent wrapper.
        unsafe { &*(std::ptr::from_ref(key) as *const Key<K>) }
    }
}

impl<E: Entry> Borrow<Key<E::Key>> for ByKey<E> {
    fn borrow(&self) -> &Key<E::Key> {
        Key::of(self.0.key())
    }
}

impl<E: Entry<Key: Ord>> Ord for ByKey<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key().cmp(other.0.key())
    }
}

impl<E: Entry<Key: Ord>> PartialOrd for ByKey<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E: Entry<Key: Ord>> PartialEq for ByKey<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E: Entry<Key: Ord>> Eq for ByKey<E> {}

impl<E: Entry<Key: Ord>> Default for BTree<E> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

/// Returns the entries of a tree in a range; none if the range ends before it begins, where the standard library's
/// method panics.
fn within<'t, E: Entry<Key: Ord>>(
    tree: &'t BTreeSet<ByKey<E>>,
    (from, to): Range<'_, E::Key>,
) -> impl DoubleEndedIterator<Item = &'t ByKey<E>> {
    use Bound::{Excluded, Included, Unbounded};
    let is_empty = match (from, to) {
        (Unbounded, _) | (_, Unbounded) => false,
        (Included(from), Included(to)) => from > to,
        (Included(from) | Excluded(from), Included(to) | Excluded(to)) => from >= to,
    };
    let bounds = (from.map(Key::of), to.map(Key::of));
    (!is_empty)
        .then(|| tree.range::<Key<E::Key>, _>(bounds))
        .into_iter()
        .flatten()
}

/// Appends entries until `want` are appended; returns whether there are more.
fn append<'t, E: Entry + 't>(
    entries: &mut dyn Iterator<Item = &'t ByKey<E>>,
    want: usize,
    out: &mut Batch<E>,
) -> bool {
    out.extend(entries.take(want.max(1)).map(|entry| entry.0));
    entries.next().is_some()
}

impl<E: Entry<Key: Ord>> SequentialTree for BTree<E> {
    type Entry = E;

    /// Returns an estimate: the nodes of the standard library's tree, which does not tell, are two thirds full.
    fn memory_of(entries: usize) -> usize {
        entries * size_of::<E>() * 3 / 2
    }

    fn get(&self, key: &E::Key) -> Option<E> {
        self.0.get(Key::of(key)).map(|entry| entry.0)
    }

    fn upsert<R>(&mut self, key: &E::Key, f: impl FnOnce(Option<E>) -> (Action<E>, R)) -> (R, i64) {
        let (action, out) = f(self.get(key));
        let change = match action {
            Action::Keep => 0,
            Action::Put(entry) => i64::from(self.0.replace(ByKey(entry)).is_none()),
            Action::Remove => -i64::from(self.0.remove(Key::of(key))),
        };
        (out, change)
    }

    fn seek(&self, from: Bound<&E::Key>) -> Option<E> {
        let mut entries = within(&self.0, (from, Bound::Unbounded));
        entries.next().map(|entry| entry.0)
    }

    fn seek_back(&self, from: Bound<&E::Key>) -> Option<E> {
        let mut entries = within(&self.0, (Bound::Unbounded, from));
        entries.next_back().map(|entry| entry.0)
    }

    fn scan(&self, range: Range<'_, E::Key>, want: usize, out: &mut Batch<E>) -> bool {
        append(&mut within(&self.0, range), want, out)
    }

    fn scan_back(&self, range: Range<'_, E::Key>, want: usize, out: &mut Batch<E>) -> bool {
        append(&mut within(&self.0, range).rev(), want, out)
    }
}

impl<E: Entry<Key: Ord>> Drop for BTree<E> {
    fn drop(&mut self) {
        while let Some(ByKey(entry)) = self.0.pop_first() {
            // SAFETY: the tree is being dropped, so only this thread can reach it; each entry is taken out once.
            unsafe { entry.dispose() };
        }
    }
}

/// Makes [`LockedBTree`]s.
pub struct LockedBTrees;

// SAFETY: a tree holds exactly the entries that were put in and not replaced or removed, under the lock, and disposes
// of them when it is dropped.
unsafe impl IndexFactory for LockedBTrees {
    fn build<E: PlugEntry>(&self, _: &IndexOptions) -> Option<Box<dyn DynIndex<E>>> {
        Some(Box::new(LockedBTree::<E>::default()))
    }

    fn build_ordered<E: PlugEntry>(&self, _: &IndexOptions) -> Option<Box<dyn DynOrderedIndex<E>>> {
        Some(Box::new(LockedBTree::<E>::default()))
    }
}
