//! Finding places in the list: from the highest level down, to the right on each.

use std::cmp::Ordering;
use std::ops::Bound;

use super::node::NodeRef;
use crate::Entry;
use crate::key::TreeKey;

/// A place in the order of keys.
pub(super) trait Place<E> {
    /// Compares a node, which is not the head, with the place.
    fn side(&self, node: NodeRef<'_>) -> Ordering;
}

/// The place of a key: a node of the key is `Equal`.
pub(super) struct ByKey<'k, K: ?Sized> {
    key: &'k K,
    pub(super) prefix: u64,
}

impl<'k, K: TreeKey + ?Sized> ByKey<'k, K> {
    #[inline]
    pub(super) fn new(key: &'k K) -> Self {
        Self {
            key,
            prefix: key.key_prefix(0),
        }
    }

    /// Compares the key of a node that has the same key prefix.
    #[inline]
    fn cmp_key<E: Entry<Key = K>>(&self, node: NodeRef<'_>) -> Ordering {
        if self.key.is_exact(0) {
            return Ordering::Equal;
        }
        node.any_entry::<E>().key().cmp(self.key)
    }
}

impl<K: TreeKey + ?Sized, E: Entry<Key = K>> Place<E> for ByKey<'_, K> {
    #[inline]
    fn side(&self, node: NodeRef<'_>) -> Ordering {
        let order = node.prefix().cmp(&self.prefix);
        order.then_with(|| self.cmp_key::<E>(node))
    }
}

/// A place between keys: just before or behind a key, or at an end. No node is `Equal`.
pub(super) enum Cut<'k, K: ?Sized> {
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
    pub(super) fn begin(bound: Bound<&'k K>) -> Self {
        match bound {
            Bound::Included(key) => Self::Before(ByKey::new(key)),
            Bound::Excluded(key) => Self::Behind(ByKey::new(key)),
            Bound::Unbounded => Self::First,
        }
    }

    /// Returns the place where a range with this upper bound ends.
    pub(super) fn end(bound: Bound<&'k K>) -> Self {
        match bound {
            Bound::Included(key) => Self::Behind(ByKey::new(key)),
            Bound::Excluded(key) => Self::Before(ByKey::new(key)),
            Bound::Unbounded => Self::Last,
        }
    }
}

impl<K: TreeKey + ?Sized, E: Entry<Key = K>> Place<E> for Cut<'_, K> {
    #[inline]
    fn side(&self, node: NodeRef<'_>) -> Ordering {
        match self {
            Self::First => Ordering::Greater,
            Self::Before(key) => Place::<E>::side(key, node).then(Ordering::Greater),
            Self::Behind(key) => Place::<E>::side(key, node).then(Ordering::Less),
            Self::Last => Ordering::Less,
        }
    }
}

/// Walks along a level as far as nodes are before the place; returns the last of them, and the node of the place if
/// there is one behind it.
#[inline]
pub(super) fn walk<'g, E>(
    mut at: NodeRef<'g>,
    level: usize,
    place: &impl Place<E>,
) -> (NodeRef<'g>, Option<NodeRef<'g>>) {
    while let Some(next) = at.next(level) {
        if level > 0 {
            // Where the walk goes on if `next` is behind the place.
            at.prefetch(level - 1);
        }
        match place.side(next) {
            Ordering::Less => at = next,
            Ordering::Equal => return (at, Some(next)),
            Ordering::Greater => break,
        }
    }
    (at, None)
}

/// Descends from the first `levels` levels of the head to `bottom`, or to the node of the place if there is one higher
/// up; returns the last node before the place that it has met, and the node of the place. `note` is told of each level
/// and the last node before the place there.
#[inline]
pub(super) fn descend<'g, E>(
    head: NodeRef<'g>,
    levels: usize,
    bottom: usize,
    place: &impl Place<E>,
    mut note: impl FnMut(usize, NodeRef<'g>),
) -> (NodeRef<'g>, Option<NodeRef<'g>>) {
    let (mut at, mut found) = (head, None);
    for level in (bottom..levels).rev() {
        (at, found) = walk(at, level, place);
        note(level, at);
        if found.is_some() {
            break;
        }
    }
    (at, found)
}
