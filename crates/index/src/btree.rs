//! `btree`: the standard library's B-tree under one reader-writer lock.
//!
//! The plainest ordered index there is, as the papers compare theirs with, and an example of what it takes to plug an
//! index in: the required methods of [`Index`] and [`OrderedIndex`], and an [`IndexFactory`]. All the rest are
//! defaults.
//!
//! # Progress
//!
//! Readers share the lock, a writer has it alone while its closure runs. Nothing is lock-free. A scan holds the lock
//! while it appends, so what one call appends was there at one moment.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use fyris_sync::reclaim::Guard;

use crate::plug::{DynIndex, DynOrderedIndex, IndexFactory, PlugEntry};
use crate::{Action, Batch, Entry, Index, IndexOptions, OrderedIndex, Range};

/// A B-tree of entries under one lock. See the [module](self).
pub struct LockedBTree<E: Entry<Key: Ord>>(RwLock<BTreeSet<ByKey<E>>>);

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

impl<E: Entry<Key: Ord>> Default for LockedBTree<E> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<E: Entry<Key: Ord>> LockedBTree<E> {
    fn read(&self) -> RwLockReadGuard<'_, BTreeSet<ByKey<E>>> {
        // A closure that panicked had not changed the tree.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
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

impl<E: Entry<Key: Ord> + Send + Sync> Index<E> for LockedBTree<E> {
    fn get(&self, key: &E::Key, _: &impl Guard) -> Option<E> {
        self.read().get(Key::of(key)).map(|entry| entry.0)
    }

    fn upsert<R>(
        &self,
        key: &E::Key,
        _: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        let mut tree = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let (action, result) = f(tree.get(Key::of(key)).map(|entry| entry.0));
        match action {
            Action::Keep => {}
            Action::Put(entry) => _ = tree.replace(ByKey(entry)),
            Action::Remove => _ = tree.remove(Key::of(key)),
        }
        result
    }

    fn scan(
        &self,
        range: Range<'_, E::Key>,
        want: usize,
        _: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        append(&mut within(&self.read(), range), want, out)
    }

    fn len(&self) -> usize {
        self.read().len()
    }

    /// Returns an estimate: the nodes of the standard library's tree, which does not tell, are two thirds full.
    fn memory(&self) -> usize {
        size_of::<Self>() + self.len() * size_of::<E>() * 3 / 2
    }
}

impl<E: Entry<Key: Ord> + Send + Sync> OrderedIndex<E> for LockedBTree<E> {
    fn seek(&self, from: Bound<&E::Key>, _: &impl Guard) -> Option<E> {
        let tree = self.read();
        within(&tree, (from, Bound::Unbounded))
            .next()
            .map(|entry| entry.0)
    }

    fn seek_back(&self, from: Bound<&E::Key>, _: &impl Guard) -> Option<E> {
        let tree = self.read();
        within(&tree, (Bound::Unbounded, from))
            .next_back()
            .map(|entry| entry.0)
    }

    fn scan_back(
        &self,
        range: Range<'_, E::Key>,
        want: usize,
        _: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        append(&mut within(&self.read(), range).rev(), want, out)
    }
}

impl<E: Entry<Key: Ord>> Drop for LockedBTree<E> {
    fn drop(&mut self) {
        let tree = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        while let Some(ByKey(entry)) = tree.pop_first() {
            // SAFETY: the index is being dropped, so only this thread can reach it; each entry is taken out once.
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
        Some(Box::new(LockedBTree::default()))
    }

    fn build_ordered<E: PlugEntry>(&self, _: &IndexOptions) -> Option<Box<dyn DynOrderedIndex<E>>> {
        Some(Box::new(LockedBTree::default()))
    }
}
