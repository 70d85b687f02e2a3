//! A map with the pin built in.

use std::fmt;
use std::hash::BuildHasher;

use fyris_sync::reclaim::Guard;

use super::{BytesMap, Iter, Keys, Values};
use crate::Action;
use crate::hash::RandomState;
use crate::map::Computed;

/// A [`BytesMap`] seen by a pinned thread. See [`BytesMap::pin`].
///
/// References got from it live as long as it does. Keep it for a few operations, not for long:
/// while it lives nothing retired since is freed.
pub struct PinnedBytesMap<'m, V: 'static, S = RandomState> {
    map: &'m BytesMap<V, S>,
    guard: Guard,
}

impl<'m, V: Send + Sync + 'static, S: BuildHasher> PinnedBytesMap<'m, V, S> {
    #[inline]
    pub(super) fn new(map: &'m BytesMap<V, S>, guard: Guard) -> Self {
        Self { map, guard }
    }

    /// The map.
    pub fn map(&self) -> &'m BytesMap<V, S> {
        self.map
    }

    /// The pin.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// See [`BytesMap::get`].
    #[inline]
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<&V> {
        self.map.get(key.as_ref(), &self.guard)
    }

    /// See [`BytesMap::contains_key`].
    #[inline]
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> bool {
        self.map.contains_key(key.as_ref(), &self.guard)
    }

    /// See [`BytesMap::insert`].
    #[inline]
    pub fn insert(&self, key: impl AsRef<[u8]>, value: V) -> Option<&V> {
        self.map.insert(key.as_ref(), value, &self.guard)
    }

    /// See [`BytesMap::remove`].
    #[inline]
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Option<&V> {
        self.map.remove(key.as_ref(), &self.guard)
    }

    /// See [`BytesMap::compute`].
    pub fn compute<'g>(
        &'g self,
        key: impl AsRef<[u8]>,
        f: impl FnMut(Option<&'g V>) -> Action<V>,
    ) -> Computed<'g, V> {
        self.map.compute(key.as_ref(), &self.guard, f)
    }

    /// See [`BytesMap::get_or_insert_with`].
    pub fn get_or_insert_with(&self, key: impl AsRef<[u8]>, make: impl FnOnce() -> V) -> &V {
        self.map.get_or_insert_with(key.as_ref(), &self.guard, make)
    }

    /// See [`BytesMap::update`].
    pub fn update<'g>(&'g self, key: impl AsRef<[u8]>, f: impl FnMut(&'g V) -> V) -> Option<&'g V> {
        self.map.update(key.as_ref(), &self.guard, f)
    }

    /// See [`BytesMap::iter`].
    pub fn iter(&self) -> Iter<'_, V, S, Guard> {
        self.map.iter(&self.guard)
    }

    /// See [`BytesMap::keys`].
    pub fn keys(&self) -> Keys<'_, V, S, Guard> {
        self.map.keys(&self.guard)
    }

    /// See [`BytesMap::values`].
    pub fn values(&self) -> Values<'_, V, S, Guard> {
        self.map.values(&self.guard)
    }

    /// See [`BytesMap::retain`].
    pub fn retain(&self, keep: impl FnMut(&[u8], &V) -> bool) {
        self.map.retain(&self.guard, keep);
    }

    /// See [`BytesMap::clear`].
    pub fn clear(&self) {
        self.map.clear(&self.guard);
    }

    /// See [`BytesMap::len`].
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// See [`BytesMap::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

impl<V: Send + Sync + fmt::Debug + 'static, S: BuildHasher> fmt::Debug
    for PinnedBytesMap<'_, V, S>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
