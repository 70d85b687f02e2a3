//! A map with the pin built in.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};

use fyris_sync::reclaim::Guard;

use super::{Computed, ConcurrentMap, Iter, Keys, Values};
use crate::Action;
use crate::hash::RandomState;

/// A [`ConcurrentMap`] seen by a pinned thread. See [`ConcurrentMap::pin`].
///
/// References got from it live as long as it does. Keep it for a few operations, not for long:
/// while it lives nothing retired since is freed.
pub struct PinnedMap<'m, K: 'static, V: 'static, S = RandomState> {
    map: &'m ConcurrentMap<K, V, S>,
    guard: Guard,
}

impl<'m, K, V, S> PinnedMap<'m, K, V, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher,
{
    #[inline]
    pub(super) fn new(map: &'m ConcurrentMap<K, V, S>, guard: Guard) -> Self {
        Self { map, guard }
    }

    /// The map.
    pub fn map(&self) -> &'m ConcurrentMap<K, V, S> {
        self.map
    }

    /// The pin.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// See [`ConcurrentMap::get`].
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.map.get(key, &self.guard)
    }

    /// See [`ConcurrentMap::get_key_value`].
    pub fn get_key_value<Q>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.map.get_key_value(key, &self.guard)
    }

    /// See [`ConcurrentMap::contains_key`].
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.map.contains_key(key, &self.guard)
    }

    /// See [`ConcurrentMap::insert`].
    #[inline]
    pub fn insert(&self, key: K, value: V) -> Option<&V> {
        self.map.insert(key, value, &self.guard)
    }

    /// See [`ConcurrentMap::remove`].
    #[inline]
    pub fn remove<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.map.remove(key, &self.guard)
    }

    /// See [`ConcurrentMap::remove_entry`].
    pub fn remove_entry<Q>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.map.remove_entry(key, &self.guard)
    }

    /// See [`ConcurrentMap::compute`].
    pub fn compute<'g>(
        &'g self,
        key: K,
        f: impl FnMut(Option<&'g V>) -> Action<V>,
    ) -> Computed<'g, V> {
        self.map.compute(key, &self.guard, f)
    }

    /// See [`ConcurrentMap::get_or_insert_with`].
    pub fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> &V {
        self.map.get_or_insert_with(key, &self.guard, make)
    }

    /// See [`ConcurrentMap::update`].
    pub fn update<'g, Q>(&'g self, key: &Q, f: impl FnMut(&'g V) -> V) -> Option<&'g V>
    where
        K: Borrow<Q> + Clone,
        Q: Hash + Eq + ?Sized,
    {
        self.map.update(key, &self.guard, f)
    }

    /// See [`ConcurrentMap::iter`].
    pub fn iter(&self) -> Iter<'_, K, V, S, Guard> {
        self.map.iter(&self.guard)
    }

    /// See [`ConcurrentMap::keys`].
    pub fn keys(&self) -> Keys<'_, K, V, S, Guard> {
        self.map.keys(&self.guard)
    }

    /// See [`ConcurrentMap::values`].
    pub fn values(&self) -> Values<'_, K, V, S, Guard> {
        self.map.values(&self.guard)
    }

    /// See [`ConcurrentMap::retain`].
    pub fn retain(&self, keep: impl FnMut(&K, &V) -> bool) {
        self.map.retain(&self.guard, keep);
    }

    /// See [`ConcurrentMap::clear`].
    pub fn clear(&self) {
        self.map.clear(&self.guard);
    }

    /// See [`ConcurrentMap::len`].
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// See [`ConcurrentMap::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

impl<K, V, S> fmt::Debug for PinnedMap<'_, K, V, S>
where
    K: Hash + Eq + Send + Sync + fmt::Debug + 'static,
    V: Send + Sync + fmt::Debug + 'static,
    S: BuildHasher,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
