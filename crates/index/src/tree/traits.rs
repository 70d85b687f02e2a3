//! The standard traits of a tree.

use std::borrow::Borrow;
use std::fmt;

use fyris_sync::reclaim::{LocalGuard, pin};

use super::{MakeItem, PinnedTree, RemakeItem, Storage, TreeIter, TreeMap};
use crate::Action;
use crate::into_iter::{IntoIter, OwnedPair};
use crate::ordered::TreeKey;
use crate::ordered::item::Item;
use crate::ordered::load::{Load, Placed};

impl<K: TreeKey + ?Sized, V, S: Storage<K, V>> Default for TreeMap<K, V, S> {
    /// Makes an empty tree.
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V, S> fmt::Debug for TreeMap<K, V, S>
where
    K: TreeKey + fmt::Debug + ?Sized,
    V: fmt::Debug,
    S: Storage<K, V>,
{
    /// Writes the pairs as [`TreeMap::iter`] meets them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pin().fmt(f)
    }
}

impl<K, V, S> fmt::Debug for PinnedTree<'_, K, V, S>
where
    K: TreeKey + fmt::Debug + ?Sized,
    V: fmt::Debug,
    S: Storage<K, V>,
{
    /// Writes the pairs as [`TreeMap::iter`] meets them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (key, value) in self {
            map.entry(&Borrow::<K>::borrow(&key), value);
        }
        map.finish()
    }
}

impl<K: TreeKey + ?Sized, V: Clone, S: RemakeItem<K, V>> Clone for TreeMap<K, V, S> {
    /// Copies the pairs as [`TreeMap::iter`] meets them.
    fn clone(&self) -> Self {
        let copy = Self::new();
        let pin = pin();
        for (key, value) in self.iter(&pin) {
            let key = key.borrow();
            let item = S::remake(key, value.clone());
            // The copy is ours alone and has no such key: nothing is taken out.
            copy.tree.upsert(key, &pin, |_| (Action::Put(item), ()));
        }
        copy
    }
}

impl<G, K, V, S> Extend<(G, V)> for TreeMap<K, V, S>
where
    K: TreeKey + ?Sized,
    S: MakeItem<G, K, V>,
{
    fn extend<T: IntoIterator<Item = (G, V)>>(&mut self, pairs: T) {
        for (key, value) in pairs {
            // A pin for each, so that what is replaced can be freed on the way.
            self.insert(key, value, &pin());
        }
    }
}

/// What is replaced is freed when the view goes.
impl<G, K, V, S> Extend<(G, V)> for PinnedTree<'_, K, V, S>
where
    K: TreeKey + ?Sized,
    S: MakeItem<G, K, V>,
{
    fn extend<T: IntoIterator<Item = (G, V)>>(&mut self, pairs: T) {
        let pairs = pairs.into_iter();
        pairs.for_each(|(key, value)| _ = self.insert(key, value));
    }
}

/// Pairs that come in the order of their keys take a small part of the time that inserts take: they are laid side by
/// side as long as each comes behind the one before, and from the first that does not on all are inserted.
impl<G, K, V, S> FromIterator<(G, V)> for TreeMap<K, V, S>
where
    K: TreeKey + ?Sized,
    S: MakeItem<G, K, V>,
{
    fn from_iter<T: IntoIterator<Item = (G, V)>>(pairs: T) -> Self {
        let mut pairs = pairs.into_iter();
        let mut load = Load::new();
        while let Some((key, value)) = pairs.next() {
            let (name, item) = S::make(key, value);
            let made = Self::unless_put(item);
            let placed = load.put(S::named(&name).key_prefix(0), item);
            made.defuse();
            match placed {
                Placed::Last => {}
                // SAFETY: it was in the load, which nobody else has seen, and is not any more.
                Placed::Instead(old) => unsafe { old.dispose() },
                Placed::Before => {
                    let mut tree = Self::of(load.finish());
                    tree.insert_made::<G>(&name, item, &pin());
                    tree.extend(pairs);
                    return tree;
                }
            }
        }
        Self::of(load.finish())
    }
}

impl<G, K, V, S, const N: usize> From<[(G, V); N]> for TreeMap<K, V, S>
where
    K: TreeKey + ?Sized,
    S: MakeItem<G, K, V>,
{
    fn from(pairs: [(G, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}

/// `for (key, value) in tree`, in order. Takes 8 bytes a pair or more until it is dropped.
impl<K: TreeKey + ?Sized, V, S: Storage<K, V>> IntoIterator for TreeMap<K, V, S> {
    type Item = (<S::Owned as OwnedPair>::Key, V);
    type IntoIter = IntoIter<S::Owned>;

    fn into_iter(self) -> IntoIter<S::Owned> {
        let items = self.tree.into_items().into_iter();
        let pairs = items.map(|(key_prefix, item)| S::owned(key_prefix, item));
        // SAFETY: taken out of the tree, which was the caller's alone.
        unsafe { IntoIter::new(pairs.collect()) }
    }
}

/// `for (key, value) in &tree.pin()`. There is none for `&TreeMap`: its references would need a pin that outlives the
/// iterator.
impl<'g, K, V, S> IntoIterator for &'g PinnedTree<'_, K, V, S>
where
    K: TreeKey + ?Sized,
    S: Storage<K, V>,
{
    type Item = (S::Key<'g>, &'g V);
    type IntoIter = TreeIter<'g, K, V, S, LocalGuard>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
