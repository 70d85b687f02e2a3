//! Reading a map: one key, or all pairs.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use fyris_sync::reclaim::Guard;

use super::storage::MapStorage;
use super::{Map, MapIter, MapKeys, MapValues};
use crate::hash::Entries;
use crate::{AsKey, Entry};

impl<K, V, S, H> Map<K, V, S, H>
where
    K: Hash + Eq + ?Sized,
    S: MapStorage<K, V>,
    H: BuildHasher,
{
    /// Returns the value of a key. O(1).
    ///
    /// # Consistency
    ///
    /// Linearizable and lock-free: no lock, no write, no retry unless the bucket is on the move.
    ///
    /// ```
    /// use fyris_index::{ConcurrentMap, reclaim::pin};
    ///
    /// let map = ConcurrentMap::from([(String::from("key"), 1)]);
    /// assert_eq!(map.get("key", &pin()), Some(&1));
    /// ```
    #[inline]
    pub fn get<'g, Q>(&'g self, key: &Q, pin: &'g impl Guard) -> Option<&'g V>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: Hash + Eq,
    {
        // SAFETY: found under the pin, which `'g` does not outlast; nor does it the map (RECLAIM).
        self.find(key.as_key(), pin)
            .map(|entry| unsafe { S::value(entry) })
    }

    /// Returns the stored key and the value of a key. O(1). Consistency as [`Map::get`].
    ///
    /// ```
    /// let map = fyris_index::BytesMap::from([("key", 1)]);
    /// assert_eq!(map.pin().get_key_value("key"), Some((&b"key"[..], &1)));
    /// ```
    #[inline]
    pub fn get_key_value<'g, Q>(&'g self, key: &Q, pin: &'g impl Guard) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: Hash + Eq,
    {
        // SAFETY: as in `get`.
        self.find(key.as_key(), pin)
            .map(|entry| unsafe { S::pair(entry) })
    }

    /// Returns whether a key is there. O(1). Consistency as [`Map::get`].
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::from([("key", 1)]);
    /// assert!(map.pin().contains_key("key"));
    /// ```
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q, pin: &impl Guard) -> bool
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: Hash + Eq,
    {
        self.find(key.as_key(), pin).is_some()
    }

    /// Returns an iterator over all pairs, in no order that means anything.
    ///
    /// Under an [`OwnedGuard`](crate::reclaim::OwnedGuard) the iterator is `Send`.
    ///
    /// # Consistency
    ///
    /// A pair that is there throughout is met exactly once. Writers are not held up.
    ///
    /// ```
    /// let map: fyris_index::ConcurrentMap<u32, u32> = (0..9).map(|n| (n, n * n)).collect();
    /// assert_eq!(map.pin().iter().map(|(_, square)| square).sum::<u32>(), 204);
    /// ```
    pub fn iter<'g, P: Guard>(&'g self, pin: &'g P) -> MapIter<'g, K, V, S, H, P> {
        MapIter::new(Entries::new(&self.index, pin))
    }

    /// Returns an iterator over all keys, as [`Map::iter`].
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::from([("key", 1)]);
    /// assert!(map.pin().keys().eq([&"key"]));
    /// ```
    pub fn keys<'g, P: Guard>(&'g self, pin: &'g P) -> MapKeys<'g, K, V, S, H, P> {
        MapKeys::new(self.iter(pin))
    }

    /// Returns an iterator over all values, as [`Map::iter`].
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::from([("key", 1)]);
    /// assert!(map.pin().values().eq([&1]));
    /// ```
    pub fn values<'g, P: Guard>(&'g self, pin: &'g P) -> MapValues<'g, K, V, S, H, P> {
        MapValues::new(self.iter(pin))
    }

    #[inline]
    pub(super) fn find<Q>(&self, key: &Q, _: &impl Guard) -> Option<S::Entry>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.index
            .find(self.index.hash_of(key), |e| e.key().borrow() == key)
    }
}
