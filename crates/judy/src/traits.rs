//! The traits of collections for [`JudyMap`].

use std::fmt;
use std::ops::Index;

use fyris_index::key::PrefixKey;

use super::JudyMap;
use super::iter::{Iter, IterMut};

impl<K, V> Default for JudyMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: PrefixKey, V: Clone> Clone for JudyMap<K, V> {
    /// Makes a map of the same keys with clones of the values. O(n).
    fn clone(&self) -> Self {
        self.iter()
            .map(|(key, value)| (key, value.clone()))
            .collect()
    }
}

impl<K: PrefixKey, V> Extend<(K, V)> for JudyMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        for (key, value) in pairs {
            self.insert(key, value);
        }
    }
}

impl<K: PrefixKey, V> FromIterator<(K, V)> for JudyMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::new();
        map.extend(pairs);
        map
    }
}

impl<'a, K: PrefixKey, V> IntoIterator for &'a JudyMap<K, V> {
    type Item = (K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K: PrefixKey, V> IntoIterator for &'a mut JudyMap<K, V> {
    type Item = (K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K: PrefixKey, V> Index<&K> for JudyMap<K, V> {
    type Output = V;

    /// Returns a key's value.
    ///
    /// # Panics
    ///
    /// If the key is not there.
    fn index(&self, key: &K) -> &V {
        self.get(key).expect("no such key in the map")
    }
}

impl<K: PrefixKey, V: PartialEq> PartialEq for JudyMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .zip(other)
                .all(|((key, value), (other_key, other))| {
                    key.key_prefix(0) == other_key.key_prefix(0) && value == other
                })
    }
}

impl<K: PrefixKey, V: Eq> Eq for JudyMap<K, V> {}

impl<K: PrefixKey + fmt::Debug, V: fmt::Debug> fmt::Debug for JudyMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}
