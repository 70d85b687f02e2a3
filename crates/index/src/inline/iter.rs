//! Iteration: a bucket at a time, each as it is at one moment.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::iter::FusedIterator;

use fyris_sync::lock::Backoff;

use super::bucket::Read;
use super::{InlineMap, Word};

/// All pairs of an [`InlineMap`], by value. See [`InlineMap::iter`].
///
/// ```
/// let map = fyris_index::InlineMap::from([(1, 10), (2, 20)]);
/// assert_eq!(map.iter().map(|(key, value)| key * value).sum::<i32>(), 50); // copies, not references
/// ```
pub struct InlineIter<'m, K, V, S> {
    map: &'m InlineMap<K, V, S>,
    /// The hash at which the next bucket begins; `None` after the last.
    from: Option<u64>,
    ahead: Vec<(u64, u64)>,
}

impl<'m, K, V, S> InlineIter<'m, K, V, S> {
    pub(super) fn new(map: &'m InlineMap<K, V, S>) -> Self {
        Self {
            map,
            from: Some(0),
            ahead: Vec::new(),
        }
    }
}

impl<K: Word + Hash, V: Word, S: BuildHasher> InlineIter<'_, K, V, S> {
    #[inline]
    fn next_word(&mut self) -> Option<(u64, u64)> {
        loop {
            if let Some(pair) = self.ahead.pop() {
                return Some(pair);
            }
            self.from = self.map.bucket_pairs(self.from?, &mut self.ahead);
        }
    }
}

impl<K: Word + Hash, V: Word, S: BuildHasher> Iterator for InlineIter<'_, K, V, S> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<(K, V)> {
        // SAFETY: the map holds only words of keys and values.
        self.next_word()
            .map(|(key, value)| unsafe { (K::from_word(key), V::from_word(value)) })
    }
}

impl<K: Word + Hash, V: Word, S: BuildHasher> FusedIterator for InlineIter<'_, K, V, S> {}

impl<K, V, S> fmt::Debug for InlineIter<'_, K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

impl<K: Word + Hash, V: Word, S: BuildHasher> InlineMap<K, V, S> {
    /// Appends the pairs of one bucket whose hashes are `from` or above. Returns where the next bucket
    /// begins, `None` after the last.
    fn bucket_pairs(&self, from: u64, out: &mut Vec<(u64, u64)>) -> Option<u64> {
        let state = self.state.get()?;
        let mut backoff = Backoff::new();
        loop {
            let root = state.root();
            for place in state.places(root) {
                out.clear();
                // SAFETY: an array of this map (MEMORY_TYPE).
                let bucket = unsafe { place.bucket(from) };
                let is_read =
                    matches!(bucket.pairs(&mut |k, v| out.push((k, v))), Read::Answer(()));
                if is_read || state.is_fresh(root, place, bucket) {
                    let (bits, begin) = (place.bits(), place.index(from) as u64);
                    if begin << (64 - bits) != from {
                        // The cursor is from a larger table: the front has been handed out.
                        out.retain(|(key, _)| self.hash_of_word(*key) >= from);
                    }
                    return (begin + 1 < 1 << bits).then(|| (begin + 1) << (64 - bits));
                }
            }
            // It is being moved or changed: look again where it is.
            backoff.wait();
        }
    }
}
