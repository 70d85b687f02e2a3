//! The standard traits of a map.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use fyris_sync::reclaim::{LocalGuard, pin};

use super::storage::{MakeEntry, MapStorage, RemakeEntry};
use super::{Map, MapIter, PinnedMap};
use crate::capacity::{TRUSTED, or_panic};
use crate::hash::Entries;
use crate::into_iter::{IntoIter, OwnedPair};

impl<K: ?Sized, V, S: MapStorage<K, V>, H: Default> Default for Map<K, V, S, H> {
    /// Makes an empty map.
    fn default() -> Self {
        Self::with_hasher(H::default())
    }
}

impl<K, V, S, H> fmt::Debug for Map<K, V, S, H>
where
    K: Hash + Eq + fmt::Debug + ?Sized,
    V: fmt::Debug,
    S: MapStorage<K, V>,
    H: BuildHasher,
{
    /// Writes the pairs as [`Map::iter`] meets them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter(&pin())).finish()
    }
}

impl<K, V, S, H> fmt::Debug for PinnedMap<'_, K, V, S, H>
where
    K: Hash + Eq + fmt::Debug + ?Sized,
    V: fmt::Debug,
    S: MapStorage<K, V>,
    H: BuildHasher,
{
    /// Writes the pairs as [`Map::iter`] meets them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K, V, S, H> Clone for Map<K, V, S, H>
where
    K: Hash + Eq + ?Sized,
    V: Clone,
    S: RemakeEntry<K, V>,
    H: BuildHasher + Clone,
{
    /// Copies the pairs as [`Map::iter`] meets them.
    fn clone(&self) -> Self {
        let copy = or_panic(Self::try_sized(self.len(), self.hasher().clone()));
        let pin = pin();
        for entry in Entries::new(&self.index, &pin) {
            // SAFETY: met under the pin (RECLAIM).
            copy.put(S::remake(entry, unsafe { S::value(entry) }.clone()), &pin);
        }
        copy
    }
}

impl<G, K, V, S, H> Extend<(G, V)> for Map<K, V, S, H>
where
    K: Hash + Eq + ?Sized,
    S: MakeEntry<G, K, V>,
    H: BuildHasher,
{
    fn extend<T: IntoIterator<Item = (G, V)>>(&mut self, pairs: T) {
        for (key, value) in pairs {
            // A pin for each, so that what is replaced can be freed on the way.
            self.insert(key, value, &pin());
        }
    }
}

/// What is replaced is freed when the view goes.
impl<G, K, V, S, H> Extend<(G, V)> for PinnedMap<'_, K, V, S, H>
where
    K: Hash + Eq + ?Sized,
    S: MakeEntry<G, K, V>,
    H: BuildHasher,
{
    fn extend<T: IntoIterator<Item = (G, V)>>(&mut self, pairs: T) {
        let pairs = pairs.into_iter();
        pairs.for_each(|(key, value)| _ = self.insert(key, value));
    }
}

impl<G, K, V, S, H> FromIterator<(G, V)> for Map<K, V, S, H>
where
    K: Hash + Eq + ?Sized,
    S: MakeEntry<G, K, V>,
    H: BuildHasher + Default,
{
    fn from_iter<T: IntoIterator<Item = (G, V)>>(pairs: T) -> Self {
        let pairs = pairs.into_iter();
        let room = pairs.size_hint().0.min(TRUSTED);
        let mut map = or_panic(Self::try_sized(room, H::default()));
        map.extend(pairs);
        map
    }
}

impl<G, K, V, S, const N: usize> From<[(G, V); N]> for Map<K, V, S>
where
    K: Hash + Eq + ?Sized,
    S: MakeEntry<G, K, V>,
{
    fn from(pairs: [(G, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}

/// `for (key, value) in map`, in no order that means anything. Takes 8 bytes a pair until it is dropped.
impl<K: ?Sized, V, S: MapStorage<K, V>, H> IntoIterator for Map<K, V, S, H> {
    type Item = (<S::Entry as OwnedPair>::Key, V);
    type IntoIter = IntoIter<S::Entry>;

    fn into_iter(self) -> IntoIter<S::Entry> {
        // SAFETY: taken out of the map, which was the caller's alone.
        unsafe { IntoIter::new(self.index.into_entries()) }
    }
}

/// `for (key, value) in &map.pin()`. There is none for `&Map`: its references would need a pin that outlives the
/// iterator.
impl<'g, K, V, S, H> IntoIterator for &'g PinnedMap<'_, K, V, S, H>
where
    K: Hash + Eq + ?Sized,
    S: MapStorage<K, V>,
    H: BuildHasher,
{
    type Item = (&'g K, &'g V);
    type IntoIter = MapIter<'g, K, V, S, H, LocalGuard>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
