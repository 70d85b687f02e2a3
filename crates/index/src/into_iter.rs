//! The pairs of a map that is used up.

use std::fmt;
use std::iter::FusedIterator;
use std::vec;

use crate::made::for_all;

/// A pair that was taken out of a map whose owner used it up. Cannot be implemented elsewhere.
pub trait OwnedPair {
    /// The key, as it is handed out.
    type Key;
    /// The value.
    type Value;

    /// Returns the key and the value, and frees what held them.
    ///
    /// # Safety
    ///
    /// Only the caller can reach the pair, and uses it no more.
    #[doc(hidden)]
    unsafe fn into_pair(self) -> (Self::Key, Self::Value);

    /// Drops the pair.
    ///
    /// # Safety
    ///
    /// Only the caller can reach the pair, and uses it no more.
    #[doc(hidden)]
    unsafe fn let_go(self);
}

/// A pair that nothing holds.
impl<K, V> OwnedPair for (K, V) {
    type Key = K;
    type Value = V;

    unsafe fn into_pair(self) -> (K, V) {
        self
    }

    unsafe fn let_go(self) {}
}

/// The pairs of a map or tree, by value: of a tree in order. What `for (key, value) in map` goes over. Those that are
/// not asked for are dropped with it.
///
/// ```
/// let map = fyris_index::ConcurrentMap::from([(1, "one".to_owned())]);
/// let texts: Vec<String> = map.into_iter().map(|(_, text)| text).collect(); // not copies
/// assert_eq!(texts, ["one"]);
/// ```
pub struct IntoIter<P: OwnedPair>(vec::IntoIter<P>);

impl<P: OwnedPair> IntoIter<P> {
    /// # Safety
    ///
    /// Only the caller can reach the pairs, each of which is there once.
    pub(crate) unsafe fn new(pairs: Vec<P>) -> Self {
        Self(pairs.into_iter())
    }
}

impl<P: OwnedPair> Iterator for IntoIter<P> {
    type Item = (P::Key, P::Value);

    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: `new` demands that it is ours alone; it is out of the list.
        self.0.next().map(|pair| unsafe { pair.into_pair() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<P: OwnedPair> DoubleEndedIterator for IntoIter<P> {
    fn next_back(&mut self) -> Option<Self::Item> {
        // SAFETY: as in `next`.
        self.0.next_back().map(|pair| unsafe { pair.into_pair() })
    }
}

impl<P: OwnedPair> ExactSizeIterator for IntoIter<P> {}
impl<P: OwnedPair> FusedIterator for IntoIter<P> {}

impl<P: OwnedPair> Drop for IntoIter<P> {
    fn drop(&mut self) {
        // SAFETY: as in `next`.
        for_all(self.0.by_ref(), |pair| unsafe { pair.let_go() });
    }
}

impl<P: OwnedPair> fmt::Debug for IntoIter<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter").finish_non_exhaustive()
    }
}
