//! Places in the order of keys, compared with the nodes of lists and trees that keep one entry each.

use std::cmp::Ordering;
use std::ops::Bound;

use fyris_index::Entry;
use fyris_index::key::TreeKey;

/// A node with a key, which stays the same.
pub(crate) trait Keyed: Copy {
    /// Returns the key prefix of the node's key.
    fn prefix(self) -> u64;

    /// Returns an entry of the node's key.
    fn any_entry<E: Entry>(self) -> E;
}

/// A place in the order of keys.
pub(crate) trait Place<E> {
    /// Compares a node with the place.
    fn side(&self, node: impl Keyed) -> Ordering;
}

/// The place of a key: a node of the key is `Equal`.
pub(crate) struct ByKey<'k, K: ?Sized> {
    key: &'k K,
    pub(crate) prefix: u64,
}

impl<'k, K: TreeKey + ?Sized> ByKey<'k, K> {
    #[inline]
    pub(crate) fn new(key: &'k K) -> Self {
        Self {
            key,
            prefix: key.key_prefix(0),
        }
    }

    /// Compares the key of a node that has the same key prefix.
    #[inline]
    fn cmp_key<E: Entry<Key = K>>(&self, node: impl Keyed) -> Ordering {
        if self.key.is_exact(0) {
            return Ordering::Equal;
        }
        node.any_entry::<E>().key().cmp(self.key)
    }
}

impl<K: TreeKey + ?Sized, E: Entry<Key = K>> Place<E> for ByKey<'_, K> {
    #[inline]
    fn side(&self, node: impl Keyed) -> Ordering {
        let order = node.prefix().cmp(&self.prefix);
        order.then_with(|| self.cmp_key::<E>(node))
    }
}

/// A place between keys: just before or behind a key, or at an end. No node is `Equal`.
pub(crate) enum Cut<'k, K: ?Sized> {
    /// Before all keys.
    First,
    /// Just before a key.
    Before(ByKey<'k, K>),
    /// Just behind a key.
    Behind(ByKey<'k, K>),
    /// Behind all keys.
    Last,
}

impl<'k, K: TreeKey + ?Sized> Cut<'k, K> {
    /// Returns the place where a range with this lower bound begins.
    pub(crate) fn begin(bound: Bound<&'k K>) -> Self {
        match bound {
            Bound::Included(key) => Self::Before(ByKey::new(key)),
            Bound::Excluded(key) => Self::Behind(ByKey::new(key)),
            Bound::Unbounded => Self::First,
        }
    }

    /// Returns the place where a range with this upper bound ends.
    pub(crate) fn end(bound: Bound<&'k K>) -> Self {
        match bound {
            Bound::Included(key) => Self::Behind(ByKey::new(key)),
            Bound::Excluded(key) => Self::Before(ByKey::new(key)),
            Bound::Unbounded => Self::Last,
        }
    }
}

impl<K: TreeKey + ?Sized, E: Entry<Key = K>> Place<E> for Cut<'_, K> {
    #[inline]
    fn side(&self, node: impl Keyed) -> Ordering {
        match self {
            Self::First => Ordering::Greater,
            Self::Before(key) => Place::<E>::side(key, node).then(Ordering::Greater),
            Self::Behind(key) => Place::<E>::side(key, node).then(Ordering::Less),
            Self::Last => Ordering::Less,
        }
    }
}
