//! Filling a map that one thread has to itself.

use std::hash::{BuildHasher, Hash};

use super::{InlineMap, Word};
use crate::Action;
use crate::capacity::{TRUSTED, or_panic};

impl<K: Word + Hash, V: Word, S: BuildHasher> InlineMap<K, V, S> {
    /// Puts a value under a key, for a thread that has the map to itself: it locks nothing.
    #[inline]
    fn insert_alone(&mut self, key: K, value: V) {
        let hash = self.hash_of(&key);
        let hint = self.hint();
        let mut own = None;
        if hint.is_steady() {
            // SAFETY: an array of this map (MEMORY_TYPE).
            own = unsafe { hint.bucket(hash) }.own();
        }
        let locked = match own {
            Some(own) => (hint.bits(), own),
            None => self.lock_while_moving(hash),
        };
        self.change_locked(locked, key.into_word(), |_| Action::Put(value.into_word()));
    }
}

impl<K: Word + Hash, V: Word, const N: usize> From<[(K, V); N]> for InlineMap<K, V> {
    fn from(pairs: [(K, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}

impl<K: Word + Hash, V: Word, S: BuildHasher> Extend<(K, V)> for InlineMap<K, V, S> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, pairs: T) {
        pairs
            .into_iter()
            .for_each(|(key, value)| self.insert_alone(key, value));
    }
}

impl<K, V, S> FromIterator<(K, V)> for InlineMap<K, V, S>
where
    K: Word + Hash,
    V: Word,
    S: BuildHasher + Default,
{
    fn from_iter<T: IntoIterator<Item = (K, V)>>(pairs: T) -> Self {
        let pairs = pairs.into_iter();
        let mut map = or_panic(Self::try_sized(
            pairs.size_hint().0.min(TRUSTED),
            S::default(),
        ));
        map.extend(pairs);
        map
    }
}
