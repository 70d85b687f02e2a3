//! [`JudyMap`], the tree with keys and values of any type that fits.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use fyris_index::key::PrefixKey;

use super::class::Account;
use super::iter::{Iter, IterMut, Keys, Range, Values};
use super::jp::Slot;
use super::order::Found;
use super::tree::Tree;
use super::words::Ones;

/// An ordered map from words to words: a Judy array (JudyL). See the [module](super) for the structure.
///
/// Keys are integers and what else is its own key prefix ([`PrefixKey`]). Values are of any type of at most eight bytes
/// (a larger one goes into a `Box`): they lie in the nodes.
///
/// ```
/// use fyris_judy::JudyMap;
///
/// let mut squares: JudyMap<u64, u32> = (0..1000).map(|n| (n * n, n as u32)).collect();
/// assert_eq!(squares.get(&961), Some(&31));
/// assert_eq!(squares.count_between(100..=10_000), 91);
/// assert_eq!(squares.nth(500), Some((250_000, &500)));
/// assert_eq!(squares.rank(&250_001), 501);
/// assert_eq!(squares.next_empty(0), Some(2));
/// squares.remove(&0);
/// assert_eq!(squares.first(), Some((1, &1)));
/// ```
///
/// # Cost
///
/// Every operation that names a key or a number takes O(depth) steps: at most eight nodes, whatever the number of
/// keys. In a branch it looks at one child; operations that count look at up to 32 children and eight counts, and
/// [`JudyMap::next_empty`] and [`JudyMap::prev_empty`] at up to 256. An insertion or a removal moves at most 64 words,
/// unless a node changes its form.
///
/// # Consistency
///
/// The map has no locks; the borrow checker lets a thread change it alone.
pub struct JudyMap<K, V> {
    tree: Tree,
    account: Account,
    pairs: PhantomData<(K, V)>,
}

// SAFETY: the map owns its keys and values, as a `Vec` of pairs does; the tree has no state besides.
unsafe impl<K: Send, V: Send> Send for JudyMap<K, V> {}
// SAFETY: as above; through a shared map values are only lent as shared.
unsafe impl<K: Sync, V: Sync> Sync for JudyMap<K, V> {}

/// Bytes of the nodes of a [`JudyMap`], or of a [`JudyBytes`](super::JudyBytes), by their kind, as they are asked of
/// the allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeBytes {
    /// Linear branches: up to seven children.
    pub linear_branches: usize,
    /// Bitmap branches, with the arrays of their children.
    pub bitmap_branches: usize,
    /// Uncompressed branches: 256 places for children.
    pub uncompressed_branches: usize,
    /// Leaves of sorted keys and their values.
    pub leaves: usize,
    /// Bitmap leaves, with the arrays of their values.
    pub bitmap_leaves: usize,
    /// Values of several keys that are in a pointer.
    pub immediates: usize,
    /// Heads of arrays behind a word, in a [`JudyBytes`](super::JudyBytes).
    pub arrays: usize,
    /// Values of a [`JudyBytes`](super::JudyBytes) with the bytes of keys that no word has.
    pub tails: usize,
}

impl NodeBytes {
    /// Returns the sum.
    pub fn total(&self) -> usize {
        self.linear_branches
            + self.bitmap_branches
            + self.uncompressed_branches
            + self.leaves
            + self.bitmap_leaves
            + self.immediates
            + self.arrays
            + self.tails
    }
}

impl<K, V> JudyMap<K, V> {
    /// Values lie in words.
    const FITS: () = assert!(
        size_of::<V>() <= size_of::<Slot>() && align_of::<V>() <= align_of::<Slot>(),
        "a value of a JudyMap has at most eight bytes: box it"
    );

    /// Makes an empty map, which has no memory besides itself.
    pub const fn new() -> Self {
        const { Self::FITS };
        Self {
            tree: Tree::new(),
            account: Account::new(),
            pairs: PhantomData,
        }
    }

    /// Returns the number of keys. O(1).
    #[inline]
    pub const fn len(&self) -> usize {
        self.tree.len
    }

    /// Returns whether there are no keys. O(1).
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.tree.len == 0
    }

    /// Returns the bytes of nodes by their kind. O(1).
    pub fn node_bytes(&self) -> NodeBytes {
        NodeBytes::of(&self.account)
    }

    /// Returns the bytes of the map: of itself and of all nodes, without what values own. O(1).
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.node_bytes().total()
    }

    /// Removes all keys, drops their values, and frees all nodes. O(n).
    ///
    /// If dropping a value panics, the values not yet dropped and their nodes leak.
    pub fn clear(&mut self) {
        self.tree
            .clear(&mut self.account, &mut |_, slot: *mut Slot| {
                if std::mem::needs_drop::<V>() {
                    // SAFETY: the place of a value, which is not used again.
                    unsafe { slot.cast::<V>().drop_in_place() }
                }
            });
    }

    #[cfg(test)]
    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }
}

impl<K: PrefixKey, V> JudyMap<K, V> {
    /// Lends a pair.
    #[inline]
    fn lend(&self, (key, slot): Found) -> (K, &V) {
        // SAFETY: the place of a value of this map, which is borrowed for as long.
        (K::from_key_prefix(key), unsafe { &*slot.cast() })
    }

    /// Returns a key's value.
    #[inline]
    pub fn get(&self, key: &K) -> Option<&V> {
        // SAFETY: null, or the place of a value of this map, which is borrowed for as long.
        unsafe { self.tree.get(key.key_prefix(0)).cast::<V>().as_ref() }
    }

    /// Returns a key's value, to change it.
    #[inline]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        // SAFETY: as in `get`; the map is borrowed for a change.
        unsafe { self.tree.get_mut(key.key_prefix(0)).cast::<V>().as_mut() }
    }

    /// Returns whether a key is there.
    #[inline]
    pub fn contains_key(&self, key: &K) -> bool {
        !self.tree.get(key.key_prefix(0)).is_null()
    }

    /// Puts a value under a key; returns the value that was there.
    #[inline]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let (slot, fresh) = self
            .tree
            .insert::<Ones>(key.key_prefix(0), &mut self.account);
        // SAFETY: the place of a value of this map: of one that is there, or of one that is not yet.
        unsafe {
            if fresh {
                slot.cast::<V>().write(value);
                None
            } else {
                Some(slot.cast::<V>().replace(value))
            }
        }
    }

    /// Returns a key's value, to change it; if there is none, puts there what `make` returns. If that panics, the map
    /// is as before.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let word = key.key_prefix(0);
        let mut slot = self.tree.get_mut(word);
        if slot.is_null() {
            let value = make();
            slot = self.tree.insert::<Ones>(word, &mut self.account).0;
            // SAFETY: the place of a value that is not there yet.
            unsafe { slot.cast::<V>().write(value) };
        }
        // SAFETY: the place of a value of this map, which is borrowed for as long.
        unsafe { &mut *slot.cast() }
    }

    /// Removes a key; returns its value.
    #[inline]
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.take(key.key_prefix(0))
    }

    #[inline]
    fn take(&mut self, key: u64) -> Option<V> {
        let slot = self.tree.remove::<Ones>(key, &mut self.account)?;
        // SAFETY: the value, moved out of the map.
        Some(unsafe { (&raw const slot).cast::<V>().read() })
    }

    /// Returns the first pair.
    pub fn first(&self) -> Option<(K, &V)> {
        self.seek(Bound::Unbounded)
    }

    /// Returns the last pair.
    pub fn last(&self) -> Option<(K, &V)> {
        self.seek_back(Bound::Unbounded)
    }

    /// Returns the first pair whose key is at or above the bound (above for `Excluded`; the first of all for
    /// `Unbounded`).
    pub fn seek(&self, from: Bound<K>) -> Option<(K, &V)> {
        let found = self.tree.nearest(lowest(from)?, true)?;
        Some(self.lend(found))
    }

    /// Returns the last pair whose key is at or below the bound (below for `Excluded`; the last of all for
    /// `Unbounded`).
    pub fn seek_back(&self, from: Bound<K>) -> Option<(K, &V)> {
        let found = self.tree.nearest(highest(from)?, false)?;
        Some(self.lend(found))
    }

    /// Removes the first pair, and returns it.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        let (key, _) = self.tree.nearest(0, true)?;
        Some((K::from_key_prefix(key), self.take(key)?))
    }

    /// Removes the last pair, and returns it.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        let (key, _) = self.tree.nearest(u64::MAX, false)?;
        Some((K::from_key_prefix(key), self.take(key)?))
    }

    /// Returns the `n`-th pair in the order of keys, from 0.
    pub fn nth(&self, n: usize) -> Option<(K, &V)> {
        let found = self.tree.nth::<Ones>(n)?.0;
        Some(self.lend(found))
    }

    /// Returns the number of keys below this one, which need not be there.
    pub fn rank(&self, key: &K) -> usize {
        self.tree.rank::<Ones>(key.key_prefix(0))
    }

    /// Returns the number of keys in a range; none if it ends before it begins.
    pub fn count_between(&self, range: impl RangeBounds<K>) -> usize {
        self.ranks(&bounds(&range))
            .map_or(0, |(from, to)| to - from)
    }

    /// Returns the numbers of keys below a range, and below its end.
    fn ranks(&self, words: &Option<(u64, u64)>) -> Option<(usize, usize)> {
        let (from, to) = (*words)?;
        let end = to
            .checked_add(1)
            .map_or(self.len(), |end| self.tree.rank::<Ones>(end));
        Some((self.tree.rank::<Ones>(from), end))
    }

    /// Returns the pairs in the order of keys, from either end.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Range::new(&self.tree, Some((0, u64::MAX)), self.len())
    }

    /// Returns the pairs of a range in the order of keys, from either end; none if it ends before it begins. The
    /// number of pairs left is known ([`ExactSizeIterator`]).
    pub fn range(&self, range: impl RangeBounds<K>) -> Range<'_, K, V> {
        let words = bounds(&range);
        let left = self.ranks(&words).map_or(0, |(from, to)| to - from);
        Range::new(&self.tree, words, left)
    }

    /// Returns the pairs in the order of keys, from either end, with values that can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut::new(&mut self.tree)
    }

    /// Returns the keys in order, from either end.
    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys::new(self.iter())
    }

    /// Returns the values in the order of keys, from either end.
    pub fn values(&self) -> Values<'_, K, V> {
        Values::new(self.iter())
    }
}

impl<V> JudyMap<u64, V> {
    /// Returns the first number at or above `from` that is not a key; `None` if all are keys.
    pub fn next_empty(&self, from: u64) -> Option<u64> {
        self.tree.gap(from, true)
    }

    /// Returns the last number at or below `from` that is not a key; `None` if all are keys.
    pub fn prev_empty(&self, from: u64) -> Option<u64> {
        self.tree.gap(from, false)
    }
}

impl<K, V> Drop for JudyMap<K, V> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Returns the lowest word at or above a lower bound.
pub(super) fn lowest<K: PrefixKey>(from: Bound<K>) -> Option<u64> {
    match from {
        Bound::Included(key) => Some(key.key_prefix(0)),
        Bound::Excluded(key) => key.key_prefix(0).checked_add(1),
        Bound::Unbounded => Some(0),
    }
}

/// Returns the highest word at or below an upper bound.
pub(super) fn highest<K: PrefixKey>(to: Bound<K>) -> Option<u64> {
    match to {
        Bound::Included(key) => Some(key.key_prefix(0)),
        Bound::Excluded(key) => key.key_prefix(0).checked_sub(1),
        Bound::Unbounded => Some(u64::MAX),
    }
}

/// Returns the first and the last word of a range; `None` if it is empty.
pub(super) fn bounds<K: PrefixKey>(range: &impl RangeBounds<K>) -> Option<(u64, u64)> {
    let from = lowest(range.start_bound().cloned())?;
    let to = highest(range.end_bound().cloned())?;
    (from <= to).then_some((from, to))
}
