//! `btree`: the standard library's B-tree under one reader-writer lock ([`locked`](crate::locked)).

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;
use std::marker::PhantomData;
use std::ops::Bound;

use fyris_index::key::TreeKey;
use fyris_index::plug::{DynOrderedIndex, Features, IndexFactory, PlugEntry};
use fyris_index::{Action, Batch, Build, Entry, IndexOptions, Range};

use crate::locked::Locked;
use crate::sequential::SequentialTree;

/// A B-tree of entries under one lock.
pub type LockedBTree<E> = Locked<BTree<E>>;

/// The standard library's B-tree as an ordered set of entries. Each has its key prefix beside it, so that a comparison
/// rarely looks at the entry.
pub struct BTree<E: Entry<Key: TreeKey>>(BTreeMap<Element<E>, ()>);

// SAFETY: an element is changed with `&mut BTree` only, and entries go where the tree goes.
unsafe impl<E: Entry<Key: TreeKey> + Send> Send for BTree<E> {}
// SAFETY: as above; `&BTree` only reads, and hands out copies of entries.
unsafe impl<E: Entry<Key: TreeKey> + Send + Sync> Sync for BTree<E> {}

/// The bits of an element's word that are the entry, or the address of a key.
const ADDRESS: u64 = (1 << 48) - 1;
/// The word is the address of a reference to a key, on the stack of the search.
const IS_TARGET: u64 = 1 << 63;
/// The word is a target's, and no other key has its key prefix.
const IS_EXACT: u64 = 1 << 62;

/// An element of the tree, which is an entry; or a target, the key that the tree is searched for. Invariant **STORED**:
/// when a method has returned, or panicked, no target is in the tree.
struct Element<E> {
    key_prefix: u64,
    word: Cell<u64>,
    entry: PhantomData<E>,
}

impl<E: Entry<Key: TreeKey>> Element<E> {
    /// Makes a target. It must not outlive `key`.
    #[inline]
    fn target(key: &&E::Key) -> Self {
        let address = std::ptr::from_ref(key).expose_provenance() as u64;
        let exact = if key.is_exact(0) { IS_EXACT } else { 0 };
        Self {
            key_prefix: key.key_prefix(0),
            word: Cell::new(address | IS_TARGET | exact),
            entry: PhantomData,
        }
    }

    /// Returns the entry of an element of the tree.
    #[inline]
    fn entry(&self) -> E {
        debug_assert!(self.word.get() & IS_TARGET == 0, "STORED");
        // SAFETY: by STORED the word is an entry's, which has not been freed while it is in the tree.
        unsafe { E::from_bits(self.word.get() & ADDRESS) }
    }

    /// Compares two elements with one key prefix by their keys.
    fn cmp_keys(&self, other: &Self) -> Ordering {
        let [low, high] = [self, other].map(|element| element.word.get());
        let target = |word: u64| {
            let key = std::ptr::with_exposed_provenance::<&E::Key>((word & ADDRESS) as usize);
            // SAFETY: made from a reference by `target`, which the element does not outlive.
            unsafe { *key }
        };
        match (low & IS_TARGET != 0, high & IS_TARGET != 0) {
            (true, true) => target(low).cmp(target(high)),
            (true, false) => target(low).cmp(other.entry().key()),
            (false, true) => self.entry().key().cmp(target(high)),
            (false, false) => self.entry().key().cmp(other.entry().key()),
        }
    }
}

impl<E: Entry<Key: TreeKey>> Ord for Element<E> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match self.key_prefix.cmp(&other.key_prefix) {
            Ordering::Equal if (self.word.get() | other.word.get()) & IS_EXACT == 0 => {
                if cfg!(fyris_mutant = "btree_prefix_is_key") {
                    return Ordering::Equal;
                }
                self.cmp_keys(other)
            }
            order => order,
        }
    }
}

impl<E: Entry<Key: TreeKey>> PartialOrd for Element<E> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E: Entry<Key: TreeKey>> PartialEq for Element<E> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E: Entry<Key: TreeKey>> Eq for Element<E> {}

impl<E: Entry<Key: TreeKey>> Default for BTree<E> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<E: Entry<Key: TreeKey>> BTree<E> {
    /// Runs `f` on the entries of a range; on none if the range ends before it begins, where the standard library's
    /// method panics.
    fn within<R>(
        &self,
        (from, to): Range<'_, E::Key>,
        f: impl FnOnce(&mut dyn DoubleEndedIterator<Item = E>) -> R,
    ) -> R {
        use Bound::{Excluded, Included, Unbounded};
        let is_empty = match (from, to) {
            (Unbounded, _) | (_, Unbounded) => false,
            (Included(from), Included(to)) => from > to,
            (Included(from) | Excluded(from), Included(to) | Excluded(to)) => from >= to,
        };
        if is_empty {
            return f(&mut std::iter::empty());
        }
        let bounds = (
            from.as_ref().map(Element::target),
            to.as_ref().map(Element::target),
        );
        f(&mut self.0.range(bounds).map(|(element, ())| element.entry()))
    }
}

/// Appends entries until `want` are appended; returns whether there are more.
fn append<E>(entries: &mut dyn Iterator<Item = E>, want: usize, out: &mut Batch<E>) -> bool {
    out.extend(entries.take(want.max(1)));
    entries.next().is_some()
}

impl<E: Entry<Key: TreeKey>> SequentialTree for BTree<E> {
    type Entry = E;

    /// Returns an estimate: the standard library's tree does not tell. Its nodes are two thirds full, and a quarter of
    /// each is for other things than elements.
    fn memory(&self, entries: usize) -> usize {
        entries * size_of::<Element<E>>() * 2
    }

    #[inline]
    fn get(&self, key: &E::Key) -> Option<E> {
        let found = self.0.get_key_value(&Element::target(&key));
        found.map(|(element, ())| element.entry())
    }

    fn upsert<R>(&mut self, key: &E::Key, f: impl FnOnce(Option<E>) -> (Action<E>, R)) -> (R, i64) {
        match self.0.entry(Element::target(&key)) {
            Place::Vacant(place) => match f(None) {
                (Action::Put(entry), out) => {
                    // STORED: the entry, whose key is equal, takes the place of the key.
                    place.insert_entry(()).key().word.set(entry.into_bits());
                    (out, 1)
                }
                (Action::Keep | Action::Remove, out) => (out, 0),
            },
            Place::Occupied(place) => match f(Some(place.key().entry())) {
                (Action::Put(entry), out) => {
                    place.key().word.set(entry.into_bits());
                    (out, 0)
                }
                (Action::Keep, out) => (out, 0),
                (Action::Remove, out) => {
                    place.remove();
                    (out, -1)
                }
            },
        }
    }

    fn seek(&self, from: Bound<&E::Key>) -> Option<E> {
        self.within((from, Bound::Unbounded), |entries| entries.next())
    }

    fn seek_back(&self, from: Bound<&E::Key>) -> Option<E> {
        self.within((Bound::Unbounded, from), |entries| entries.next_back())
    }

    fn scan(&self, range: Range<'_, E::Key>, want: usize, out: &mut Batch<E>) -> bool {
        self.within(range, |mut entries| append(&mut entries, want, out))
    }

    fn scan_back(&self, range: Range<'_, E::Key>, want: usize, out: &mut Batch<E>) -> bool {
        self.within(range, |entries| append(&mut entries.rev(), want, out))
    }
}

impl<E: Entry<Key: TreeKey>> Drop for BTree<E> {
    fn drop(&mut self) {
        for (element, ()) in std::mem::take(&mut self.0) {
            // SAFETY: the tree is being dropped, so only this thread can reach it; each entry is taken out once.
            unsafe { element.entry().dispose() };
        }
    }
}

/// Makes [`LockedBTree`]s.
pub struct LockedBTrees;

// SAFETY: a tree holds exactly the entries that were put in and not replaced or removed, under the lock, and disposes
// of them when it is dropped.
unsafe impl IndexFactory for LockedBTrees {
    fn features(&self) -> Features {
        Features::ALL.without_bucket_locks()
    }

    fn build_ordered<E: PlugEntry>(
        &self,
        options: &IndexOptions,
    ) -> Option<Box<dyn DynOrderedIndex<E>>> {
        Some(Box::new(LockedBTree::<E>::build(options)))
    }
}
