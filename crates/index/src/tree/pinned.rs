//! A tree with the pin built in.

use std::borrow::Borrow;
use std::ops::RangeBounds;

use fyris_sync::reclaim::LocalGuard;

use super::{
    Computed, MakeItem, RemakeItem, Storage, TreeIter, TreeKeys, TreeMap, TreeRange, TreeValues,
};
use crate::ordered::TreeKey;
use crate::{Action, AsKey};

/// A [`TreeMap`] seen by a pinned thread: its methods without the pin. See [`TreeMap::pin`].
///
/// References got from it live as long as it does. Keep it for a few operations, not for long:
/// while it lives nothing retired since is freed.
///
/// ```
/// let tree = fyris_index::ConcurrentTree::new();
/// let pinned = tree.pin();
/// pinned.insert(1, "value");
/// for (key, value) in &pinned {
///     assert_eq!((*key, *value), (1, "value"));
/// }
/// ```
pub struct PinnedTree<'m, K: TreeKey + ?Sized, V, S: Storage<K, V>> {
    tree: &'m TreeMap<K, V, S>,
    guard: LocalGuard,
}

impl<'m, K: TreeKey + ?Sized, V, S: Storage<K, V>> PinnedTree<'m, K, V, S> {
    #[inline]
    pub(super) fn new(tree: &'m TreeMap<K, V, S>, guard: LocalGuard) -> Self {
        Self { tree, guard }
    }

    /// Returns the tree.
    pub fn map(&self) -> &'m TreeMap<K, V, S> {
        self.tree
    }

    /// Returns the pin.
    pub fn guard(&self) -> &LocalGuard {
        &self.guard
    }

    /// See [`TreeMap::get`].
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: TreeKey<Sep = K::Sep>,
    {
        self.tree.get(key, &self.guard)
    }

    /// See [`TreeMap::get_key_value`].
    pub fn get_key_value<Q>(&self, key: &Q) -> Option<(S::Key<'_>, &V)>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: TreeKey<Sep = K::Sep>,
    {
        self.tree.get_key_value(key, &self.guard)
    }

    /// See [`TreeMap::contains_key`].
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: TreeKey<Sep = K::Sep>,
    {
        self.tree.contains_key(key, &self.guard)
    }

    /// See [`TreeMap::insert`].
    #[inline]
    pub fn insert<G>(&self, key: G, value: V) -> Option<&V>
    where
        S: MakeItem<G, K, V>,
    {
        self.tree.insert(key, value, &self.guard)
    }

    /// See [`TreeMap::remove`].
    #[inline]
    pub fn remove<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: TreeKey<Sep = K::Sep>,
    {
        self.tree.remove(key, &self.guard)
    }

    /// See [`TreeMap::remove_entry`].
    pub fn remove_entry<Q>(&self, key: &Q) -> Option<(S::Key<'_>, &V)>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: TreeKey<Sep = K::Sep>,
    {
        self.tree.remove_entry(key, &self.guard)
    }

    /// See [`TreeMap::compute`].
    pub fn compute<'g, G>(
        &'g self,
        key: G,
        f: impl FnMut(Option<&'g V>) -> Action<V>,
    ) -> Computed<'g, V>
    where
        S: MakeItem<G, K, V>,
    {
        self.tree.compute(key, &self.guard, f)
    }

    /// See [`TreeMap::get_or_insert`].
    pub fn get_or_insert<G>(&self, key: G, value: V) -> &V
    where
        S: MakeItem<G, K, V>,
    {
        self.tree.get_or_insert(key, value, &self.guard)
    }

    /// See [`TreeMap::get_or_insert_with`].
    pub fn get_or_insert_with<G>(&self, key: G, make: impl FnOnce() -> V) -> &V
    where
        S: MakeItem<G, K, V>,
    {
        self.tree.get_or_insert_with(key, &self.guard, make)
    }

    /// See [`TreeMap::update`].
    pub fn update<'g, Q>(&'g self, key: &Q, f: impl FnMut(&'g V) -> V) -> Option<&'g V>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: TreeKey<Sep = K::Sep>,
        S: RemakeItem<K, V>,
    {
        self.tree.update(key, &self.guard, f)
    }

    /// See [`TreeMap::update_or_insert`].
    pub fn update_or_insert<'g, G>(&'g self, key: G, f: impl FnMut(&'g V) -> V, value: V) -> &'g V
    where
        S: MakeItem<G, K, V>,
        V: Clone,
    {
        self.tree.update_or_insert(key, &self.guard, f, value)
    }

    /// See [`TreeMap::first`].
    pub fn first(&self) -> Option<(S::Key<'_>, &V)> {
        self.tree.first(&self.guard)
    }

    /// See [`TreeMap::last`].
    pub fn last(&self) -> Option<(S::Key<'_>, &V)> {
        self.tree.last(&self.guard)
    }

    /// See [`TreeMap::pop_first`].
    pub fn pop_first(&self) -> Option<(S::Key<'_>, &V)> {
        self.tree.pop_first(&self.guard)
    }

    /// See [`TreeMap::pop_last`].
    pub fn pop_last(&self) -> Option<(S::Key<'_>, &V)> {
        self.tree.pop_last(&self.guard)
    }

    /// See [`TreeMap::iter`].
    pub fn iter(&self) -> TreeIter<'_, K, V, S> {
        self.tree.iter(&self.guard)
    }

    /// See [`TreeMap::keys`].
    pub fn keys(&self) -> TreeKeys<'_, K, V, S> {
        self.tree.keys(&self.guard)
    }

    /// See [`TreeMap::values`].
    pub fn values(&self) -> TreeValues<'_, K, V, S> {
        self.tree.values(&self.guard)
    }

    /// See [`TreeMap::range`].
    pub fn range<Q, R>(&self, bounds: R) -> TreeRange<'_, K, V, S, LocalGuard, R, Q>
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
        R: RangeBounds<Q>,
    {
        self.tree.range(bounds, &self.guard)
    }

    /// See [`TreeMap::retain`].
    pub fn retain(&self, keep: impl FnMut(&K, &V) -> bool) {
        self.tree.retain(&self.guard, keep);
    }

    /// See [`TreeMap::clear`].
    pub fn clear(&self) {
        self.tree.clear(&self.guard);
    }

    /// See [`TreeMap::len`].
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// See [`TreeMap::exact_len`].
    pub fn exact_len(&self) -> usize {
        self.tree.exact_len()
    }

    /// See [`TreeMap::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }
}
