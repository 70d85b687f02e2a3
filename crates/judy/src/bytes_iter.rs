//! Iterators over a [`JudyBytes`].

use std::fmt;
use std::ops::{Bound, Index};

use super::JudyBytes;
use super::iter::iterator;
use super::strings::StringsWalk;
use super::tail::Tails;

/// An encoded bound that is kept until a walk begins.
type Kept = Bound<Vec<u8>>;

/// The pairs of a [`JudyBytes`] in a range, in the order of keys, from either end. See [`JudyBytes::range`].
pub struct BytesRange<'a, V> {
    map: &'a JudyBytes<V>,
    from: Kept,
    to: Kept,
    /// What is left between the two ends: so neither has to know where the other is.
    left: usize,
    front: Option<StringsWalk<'static, Tails>>,
    back: Option<StringsWalk<'static, Tails>>,
}

/// All pairs of a [`JudyBytes`]. See [`JudyBytes::iter`].
pub type BytesIter<'a, V> = BytesRange<'a, V>;

/// The keys of a [`JudyBytes`]. See [`JudyBytes::keys`].
pub struct BytesKeys<'a, V>(BytesRange<'a, V>);

/// The values of a [`JudyBytes`]. See [`JudyBytes::values`].
pub struct BytesValues<'a, V>(BytesRange<'a, V>);

impl<'a, V> BytesRange<'a, V> {
    pub(super) fn new(map: &'a JudyBytes<V>, from: Kept, to: Kept, left: usize) -> Self {
        Self {
            map,
            from,
            to,
            left,
            front: None,
            back: None,
        }
    }

    fn step(&mut self, up: bool) -> Option<(Vec<u8>, &'a V)> {
        self.left = self.left.checked_sub(1)?;
        let (walk, bound) = if up {
            (&mut self.front, &self.from)
        } else {
            (&mut self.back, &self.to)
        };
        let walk = walk.get_or_insert_with(|| {
            let from = bound.as_ref().map(Vec::as_slice);
            StringsWalk::new(&self.map.strings, from, Bound::Unbounded, up)
        });
        let found = walk.next()?;
        Some(self.map.lend(walk.built.clone(), found))
    }
}

impl<'a, V> BytesKeys<'a, V> {
    pub(super) fn new(pairs: BytesRange<'a, V>) -> Self {
        Self(pairs)
    }
}

impl<'a, V> BytesValues<'a, V> {
    pub(super) fn new(pairs: BytesRange<'a, V>) -> Self {
        Self(pairs)
    }
}

// SAFETY: as a shared reference to the map: the walks lead to its nodes.
unsafe impl<V: Sync> Send for BytesRange<'_, V> {}
// SAFETY: as above.
unsafe impl<V: Sync> Sync for BytesRange<'_, V> {}

impl<V> Clone for BytesRange<'_, V> {
    fn clone(&self) -> Self {
        Self {
            map: self.map,
            from: self.from.clone(),
            to: self.to.clone(),
            left: self.left,
            front: self.front.clone(),
            back: self.back.clone(),
        }
    }
}

iterator!([] BytesRange, (Vec<u8>, &'a V), range => range, pair => pair);
iterator!([] BytesKeys, Vec<u8>, keys => keys.0, pair => pair.0);
iterator!([] BytesValues, &'a V, values => values.0, pair => pair.1);

impl<V> Default for JudyBytes<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Clone> Clone for JudyBytes<V> {
    /// Makes a map of the same keys with clones of the values. O(n).
    fn clone(&self) -> Self {
        let pairs = self.iter();
        pairs.map(|(key, value)| (key, value.clone())).collect()
    }
}

impl<K: AsRef<[u8]>, V> Extend<(K, V)> for JudyBytes<V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        for (key, value) in pairs {
            self.insert(key, value);
        }
    }
}

impl<K: AsRef<[u8]>, V> FromIterator<(K, V)> for JudyBytes<V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::new();
        map.extend(pairs);
        map
    }
}

impl<'a, V> IntoIterator for &'a JudyBytes<V> {
    type Item = (Vec<u8>, &'a V);
    type IntoIter = BytesIter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<Q: AsRef<[u8]> + ?Sized, V> Index<&Q> for JudyBytes<V> {
    type Output = V;

    /// Returns a key's value.
    ///
    /// # Panics
    ///
    /// If the key is not there.
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("no such key in the map")
    }
}

impl<V: PartialEq> PartialEq for JudyBytes<V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other)
    }
}

impl<V: Eq> Eq for JudyBytes<V> {}

impl<V: fmt::Debug> fmt::Debug for JudyBytes<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}
