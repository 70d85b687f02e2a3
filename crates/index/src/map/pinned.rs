//! A map with the pin built in.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use fyris_sync::reclaim::LocalGuard;

use super::storage::{MakeEntry, MapStorage, RemakeEntry};
use super::{Computed, Map, MapIter, MapKeys, MapValues};
use crate::hash::RandomState;
use crate::{Action, AsKey};

/// A [`Map`] seen by a pinned thread: its methods without the pin. See [`Map::pin`].
///
/// References got from it live as long as it does. Keep it for a few operations, not for long:
/// while it lives nothing retired since is freed.
///
/// ```
/// let map = fyris_index::ConcurrentMap::new();
/// let pinned = map.pin();
/// pinned.insert("key", 1);
/// for (key, value) in &pinned {
///     assert_eq!((*key, *value), ("key", 1));
/// }
/// ```
pub struct PinnedMap<'m, K: ?Sized, V, S: MapStorage<K, V>, H = RandomState> {
    map: &'m Map<K, V, S, H>,
    guard: LocalGuard,
}

impl<'m, K: ?Sized, V, S: MapStorage<K, V>, H> PinnedMap<'m, K, V, S, H> {
    #[inline]
    pub(super) fn new(map: &'m Map<K, V, S, H>, guard: LocalGuard) -> Self {
        Self { map, guard }
    }

    /// Returns the map.
    pub fn map(&self) -> &'m Map<K, V, S, H> {
        self.map
    }

    /// Returns the pin.
    pub fn guard(&self) -> &LocalGuard {
        &self.guard
    }

    /// See [`Map::len`].
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// See [`Map::exact_len`].
    pub fn exact_len(&self) -> usize {
        self.map.exact_len()
    }

    /// See [`Map::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

impl<K, V, S, H> PinnedMap<'_, K, V, S, H>
where
    K: Hash + Eq + ?Sized,
    S: MapStorage<K, V>,
    H: BuildHasher,
{
    /// See [`Map::get`].
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: Hash + Eq,
    {
        self.map.get(key, &self.guard)
    }

    /// See [`Map::get_key_value`].
    #[inline]
    pub fn get_key_value<Q>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: Hash + Eq,
    {
        self.map.get_key_value(key, &self.guard)
    }

    /// See [`Map::contains_key`].
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: Hash + Eq,
    {
        self.map.contains_key(key, &self.guard)
    }

    /// See [`Map::insert`].
    #[inline]
    pub fn insert<G>(&self, key: G, value: V) -> Option<&V>
    where
        S: MakeEntry<G, K, V>,
    {
        self.map.insert(key, value, &self.guard)
    }

    /// See [`Map::remove`].
    #[inline]
    pub fn remove<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: Hash + Eq,
    {
        self.map.remove(key, &self.guard)
    }

    /// See [`Map::remove_entry`].
    #[inline]
    pub fn remove_entry<Q>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: Hash + Eq,
    {
        self.map.remove_entry(key, &self.guard)
    }

    /// See [`Map::compute`].
    pub fn compute<'g, G>(
        &'g self,
        key: G,
        f: impl FnMut(Option<&'g V>) -> Action<V>,
    ) -> Computed<'g, V>
    where
        S: MakeEntry<G, K, V>,
    {
        self.map.compute(key, &self.guard, f)
    }

    /// See [`Map::get_or_insert`].
    #[inline]
    pub fn get_or_insert<G>(&self, key: G, value: V) -> &V
    where
        S: MakeEntry<G, K, V>,
    {
        self.map.get_or_insert(key, value, &self.guard)
    }

    /// See [`Map::get_or_insert_with`].
    pub fn get_or_insert_with<G>(&self, key: G, make: impl FnOnce() -> V) -> &V
    where
        S: MakeEntry<G, K, V>,
    {
        self.map.get_or_insert_with(key, &self.guard, make)
    }

    /// See [`Map::update`].
    pub fn update<'g, Q>(&'g self, key: &Q, f: impl FnMut(&'g V) -> V) -> Option<&'g V>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: Hash + Eq,
        S: RemakeEntry<K, V>,
    {
        self.map.update(key, &self.guard, f)
    }

    /// See [`Map::update_or_insert`].
    pub fn update_or_insert<'g, G>(&'g self, key: G, f: impl FnMut(&'g V) -> V, value: V) -> &'g V
    where
        S: MakeEntry<G, K, V>,
        V: Clone,
    {
        self.map.update_or_insert(key, &self.guard, f, value)
    }

    /// See [`Map::iter`].
    pub fn iter(&self) -> MapIter<'_, K, V, S, H> {
        self.map.iter(&self.guard)
    }

    /// See [`Map::keys`].
    pub fn keys(&self) -> MapKeys<'_, K, V, S, H> {
        self.map.keys(&self.guard)
    }

    /// See [`Map::values`].
    pub fn values(&self) -> MapValues<'_, K, V, S, H> {
        self.map.values(&self.guard)
    }

    /// See [`Map::retain`].
    pub fn retain(&self, keep: impl FnMut(&K, &V) -> bool) {
        self.map.retain(&self.guard, keep);
    }

    /// See [`Map::clear`].
    pub fn clear(&self) {
        self.map.clear(&self.guard);
    }
}
