//! Reading a tree: one key, the ends, ranges.

use std::borrow::Borrow;
use std::ops::RangeBounds;

use fyris_sync::reclaim::Guard;

use super::{Storage, TreeIter, TreeKeys, TreeMap, TreeRange, TreeValues};
use crate::key::probe::ByKey;
use crate::ordered::TreeKey;
use crate::{AsKey, KeyBounds};

impl<K: TreeKey + ?Sized, V, S: Storage<K, V>> TreeMap<K, V, S> {
    /// Returns the value of a key. O(log n).
    ///
    /// # Consistency
    ///
    /// Linearizable and lock-free: no lock, no write.
    ///
    /// ```
    /// let tree = fyris_index::ConcurrentTree::from([(String::from("key"), 1)]);
    /// assert_eq!(tree.pin().get("key"), Some(&1));
    /// ```
    #[inline]
    pub fn get<'g, Q>(&'g self, key: &Q, pin: &'g impl Guard) -> Option<&'g V>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: TreeKey<Sep = K::Sep>,
    {
        self.tree
            .find(&ByKey(key.as_key()), pin)
            .map(|(_, item)| S::value(item))
    }

    /// Returns the stored key and the value of a key. O(log n). Consistency as [`TreeMap::get`].
    ///
    /// ```
    /// let tree = fyris_index::BytesTree::from([("key", 1)]);
    /// assert_eq!(tree.pin().get_key_value("key"), Some((&b"key"[..], &1)));
    /// ```
    pub fn get_key_value<'g, Q>(
        &'g self,
        key: &Q,
        pin: &'g impl Guard,
    ) -> Option<(S::Key<'g>, &'g V)>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: TreeKey<Sep = K::Sep>,
    {
        self.tree.find(&ByKey(key.as_key()), pin).map(Self::pair)
    }

    /// Returns whether a key is there. O(log n). Consistency as [`TreeMap::get`].
    ///
    /// ```
    /// let tree = fyris_index::InlineTree::from([(1, 1.5)]);
    /// assert!(tree.pin().contains_key(&1));
    /// ```
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q, pin: &impl Guard) -> bool
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: TreeKey<Sep = K::Sep>,
    {
        self.tree.find(&ByKey(key.as_key()), pin).is_some()
    }

    /// Returns the first pair. O(log n). Consistency as [`TreeMap::get`].
    ///
    /// ```
    /// let tree = fyris_index::InlineTree::from([(1, 1.5), (2, 2.5)]);
    /// assert_eq!(tree.pin().first(), Some((1, &1.5)));
    /// ```
    pub fn first<'g>(&'g self, pin: &'g impl Guard) -> Option<(S::Key<'g>, &'g V)> {
        self.start(pin).next().map(Self::pair)
    }

    /// Returns the last pair. O(log n). Consistency as [`TreeMap::get`].
    ///
    /// ```
    /// let tree = fyris_index::InlineTree::from([(1, 1.5), (2, 2.5)]);
    /// assert_eq!(tree.pin().last(), Some((2, &2.5)));
    /// ```
    pub fn last<'g>(&'g self, pin: &'g impl Guard) -> Option<(S::Key<'g>, &'g V)> {
        self.end(pin).prev().map(Self::pair)
    }

    /// Returns an iterator over all pairs, in order, from either end.
    ///
    /// It is `Send` if the pin is an [`OwnedGuard`](crate::reclaim::OwnedGuard).
    ///
    /// # Consistency
    ///
    /// The pairs of a leaf (up to 15) are read at one moment. A pair that is there throughout is met exactly once, no
    /// key twice. Writers are not held up.
    ///
    /// ```
    /// let tree: fyris_index::InlineTree<u32, u32> = (0..9).map(|n| (n, n * n)).collect();
    /// let pinned = tree.pin();
    /// let mut pairs = pinned.iter();
    /// assert_eq!((pairs.next(), pairs.next_back()), (Some((0, &0)), Some((8, &64))));
    /// assert_eq!(pairs.count(), 7);
    /// ```
    pub fn iter<'g, P: Guard>(&'g self, pin: &'g P) -> TreeIter<'g, K, V, S, P> {
        TreeIter::new(&self.tree, pin)
    }

    /// Returns an iterator over all keys, as [`TreeMap::iter`].
    ///
    /// ```
    /// let tree = fyris_index::InlineTree::from([(2, 2.5), (1, 1.5)]);
    /// assert!(tree.pin().keys().rev().eq([2, 1]));
    /// ```
    pub fn keys<'g, P: Guard>(&'g self, pin: &'g P) -> TreeKeys<'g, K, V, S, P> {
        TreeKeys::new(self.iter(pin))
    }

    /// Returns an iterator over all values in the order of their keys, as [`TreeMap::iter`].
    ///
    /// ```
    /// let tree = fyris_index::InlineTree::from([(2, 2.5), (1, 1.5)]);
    /// assert!(tree.pin().values().eq(&[1.5, 2.5]));
    /// ```
    pub fn values<'g, P: Guard>(&'g self, pin: &'g P) -> TreeValues<'g, K, V, S, P> {
        TreeValues::new(self.iter(pin))
    }

    /// Returns an iterator over the pairs whose keys lie in `bounds`, in order, from either end. Empty if the bounds
    /// are the wrong way round. Its first step from an end is O(log n). Consistency as [`TreeMap::iter`].
    ///
    /// ```
    /// let tree: fyris_index::InlineTree<u32, u32> = (0..9).map(|n| (n, n * n)).collect();
    /// let pinned = tree.pin();
    /// assert!(pinned.range(3..6).map(|(key, _)| key).eq([3, 4, 5]));
    /// assert!(pinned.range(..=2).rev().map(|(key, _)| key).eq([2, 1, 0]));
    /// ```
    ///
    /// A [`BytesTree`](crate::BytesTree) takes ranges of whatever is bytes. Of a tree of `String`, a pair of bounds of
    /// `str` where that form is named, as of a `BTreeMap`: `"E".."L"` is no range of `str`.
    ///
    /// ```
    /// use std::ops::Bound::{Excluded, Included};
    ///
    /// use fyris_index::{BytesTree, ConcurrentTree};
    ///
    /// let rivers = BytesTree::from([("Dal", 542), ("Fyris", 80), ("Ljusnan", 430)]);
    /// assert!(rivers.pin().range("E".."L").eq([(&b"Fyris"[..], &80)]));
    /// let rivers = ConcurrentTree::from([("Dal".to_owned(), 542), ("Fyris".to_owned(), 80)]);
    /// assert_eq!(rivers.pin().range::<str, _>((Included("E"), Excluded("L"))).count(), 1);
    /// ```
    pub fn range<'g, Q, R, P>(
        &'g self,
        bounds: R,
        pin: &'g P,
    ) -> TreeRange<'g, K, V, S, P, R::Bounds, Q>
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
        R: KeyBounds<K, Bounds: RangeBounds<Q>>,
        P: Guard,
    {
        TreeRange::new(&self.tree, bounds.key_bounds(), pin)
    }
}
