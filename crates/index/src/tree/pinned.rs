//! A tree with the pin built in.

use std::borrow::Borrow;
use std::ops::RangeBounds;

use fyris_sync::reclaim::LocalGuard;

use super::{
    Computed, MakeItem, RemakeItem, Storage, TreeIter, TreeKeys, TreeMap, TreeRange, TreeValues,
};
use crate::ordered::TreeKey;
use crate::pinned::pinned_methods;
use crate::{Action, AsKey, KeyBounds};

/// A [`TreeMap`] seen by a pinned thread: its methods without the pin. See [`TreeMap::pin`].
///
/// References got from it live as long as it does; what the compiler says where they would not is explained
/// [there](crate::map#errors-of-the-compiler-and-what-they-mean). Keep it for a few operations, not for long: while it
/// lives nothing retired since is freed.
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
    ///
    /// ```
    /// let tree = fyris_index::ConcurrentTree::<u32, u32>::new();
    /// let pinned = tree.pin();
    /// assert!(std::ptr::eq(pinned.map(), &tree));
    /// ```
    pub fn map(&self) -> &'m TreeMap<K, V, S> {
        self.tree
    }

    /// Returns the pin.
    ///
    /// ```
    /// let (ages, heights) = (fyris_index::ConcurrentTree::new(), fyris_index::ConcurrentTree::new());
    /// let ages = ages.pin();
    /// ages.insert(1, 36);
    /// heights.insert(1, 165, ages.guard()); // one pin for both
    /// ```
    pub fn guard(&self) -> &LocalGuard {
        &self.guard
    }

    pinned_methods! {
        tree, asked: [TreeKey<Sep = K::Sep>], given: MakeItem;

        /// Returns the value of a key: [`TreeMap::get`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::from([("Ada".to_owned(), 36)]);
        /// let pinned = tree.pin();
        /// let age = pinned.get("Ada"); // by `&str`
        /// pinned.remove("Ada");
        /// assert_eq!(age, Some(&36)); // as long as the pin lives
        /// ```
        asked get() -> Option<&'g V>;

        /// Returns the stored key and the value of a key: [`TreeMap::get_key_value`].
        ///
        /// ```
        /// let tree = fyris_index::InlineTree::from([(1_u32, 10)]);
        /// assert_eq!(tree.pin().get_key_value(&1), Some((1, &10))); // a key in the leaf is copied
        /// ```
        asked get_key_value() -> Option<(S::Key<'g>, &'g V)>;

        /// Returns whether a key is there: [`TreeMap::contains_key`].
        ///
        /// ```
        /// let tree = fyris_index::BytesTree::from([("Ada", 36)]);
        /// assert!(tree.pin().contains_key(b"Ada"));
        /// ```
        asked contains_key() -> bool;

        /// Puts a pair in and returns the value that it replaces: [`TreeMap::insert`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::new();
        /// let pinned = tree.pin();
        /// assert_eq!((pinned.insert(1, "one"), pinned.insert(1, "uno")), (None, Some(&"one")));
        /// ```
        given insert(value: V) -> Option<&'g V>;

        /// Takes a key out and returns its value: [`TreeMap::remove`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::from([(1, "one")]);
        /// let pinned = tree.pin();
        /// assert_eq!((pinned.remove(&1), pinned.remove(&1)), (Some(&"one"), None));
        /// ```
        asked remove() -> Option<&'g V>;

        /// Takes a key out and returns the stored key and its value: [`TreeMap::remove_entry`].
        ///
        /// ```
        /// let tree = fyris_index::BytesTree::from([("Ada", 36)]);
        /// assert_eq!(tree.pin().remove_entry("Ada"), Some((&b"Ada"[..], &36)));
        /// ```
        asked remove_entry() -> Option<(S::Key<'g>, &'g V)>;

        /// Replaces, inserts or removes the value of a key by the action that the closure returns for the present one;
        /// returns the value that the closure's last call saw and the one that it left: [`TreeMap::compute`].
        ///
        /// ```
        /// use fyris_index::{Action, ConcurrentTree};
        ///
        /// let tree = ConcurrentTree::from([(1, 10)]);
        /// let pinned = tree.pin();
        /// let computed = pinned.compute(1, |old| old.map_or(Action::Keep, |_| Action::Remove));
        /// assert_eq!((computed.old, computed.new), (Some(&10), None));
        /// ```
        given compute(; f: impl FnMut(Option<&'g V>) -> Action<V>) -> Computed<'g, V>;

        /// Returns the value of a key, which is put there first if there is none: [`TreeMap::get_or_insert`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::new();
        /// let pinned = tree.pin();
        /// assert_eq!((pinned.get_or_insert(1, 10), pinned.get_or_insert(1, 20)), (&10, &10));
        /// ```
        given get_or_insert(value: V) -> &'g V;

        /// Returns the value of a key, which the closure makes first if there is none: [`TreeMap::get_or_insert_with`].
        ///
        /// ```
        /// let squares = fyris_index::ConcurrentTree::new();
        /// let pinned = squares.pin();
        /// assert_eq!(pinned.get_or_insert_with(7, || 7 * 7), &49);
        /// assert_eq!(pinned.get_or_insert_with(7, || unreachable!()), &49);
        /// ```
        given get_or_insert_with(; make: impl FnOnce() -> V) -> &'g V;

        /// As `get_or_insert_with`, with a closure that sees the key: [`TreeMap::get_or_insert_with_key`].
        ///
        /// ```
        /// let lengths = fyris_index::ConcurrentTree::new();
        /// assert_eq!(lengths.pin().get_or_insert_with_key("key", |key| key.len()), &3);
        /// ```
        given get_or_insert_with_key(; make: impl FnOnce(&K) -> V) -> &'g V;

        /// Replaces a key's value by one made of it; returns the new value, `None` if the key is absent:
        /// [`TreeMap::update`].
        ///
        /// ```
        /// let ages = fyris_index::BytesTree::from([("Ada", 36)]);
        /// let pinned = ages.pin();
        /// assert_eq!(pinned.update("Ada", |age| age + 1), Some(&37)); // the new value
        /// assert_eq!(pinned.update("Bob", |age| age + 1), None);
        /// ```
        asked update(; f: impl FnMut(&'g V) -> V) -> Option<&'g V> where [S: RemakeItem<K, V>];

        /// Replaces a key's value by one made of it, or puts `value` there if there is none; returns the value that is
        /// there then: [`TreeMap::update_or_insert`].
        ///
        /// ```
        /// let counts = fyris_index::InlineTree::new();
        /// let pinned = counts.pin();
        /// "hello".bytes().for_each(|letter| _ = pinned.update_or_insert(letter, |n| n + 1, 1));
        /// assert_eq!(pinned.get(&b'l'), Some(&2));
        /// ```
        given update_or_insert(; f: impl FnMut(&'g V) -> V, value: V) -> &'g V where [V: Clone];

        /// Returns the first pair: [`TreeMap::first`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::from([(2, "two"), (1, "one")]);
        /// assert_eq!(tree.pin().first(), Some((&1, &"one")));
        /// ```
        pinned first() -> Option<(S::Key<'g>, &'g V)>;

        /// Returns the last pair: [`TreeMap::last`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::from([(2, "two"), (1, "one")]);
        /// assert_eq!(tree.pin().last(), Some((&2, &"two")));
        /// ```
        pinned last() -> Option<(S::Key<'g>, &'g V)>;

        /// Takes the first pair out and returns it: [`TreeMap::pop_first`].
        ///
        /// ```
        /// let queue = fyris_index::InlineTree::from([(20_u32, 'b'), (10, 'a')]);
        /// let pinned = queue.pin();
        /// assert_eq!(pinned.pop_first(), Some((10, &'a'))); // of several threads one gets it
        /// assert_eq!(pinned.len(), 1);
        /// ```
        pinned pop_first() -> Option<(S::Key<'g>, &'g V)>;

        /// Takes the last pair out and returns it: [`TreeMap::pop_last`].
        ///
        /// ```
        /// let queue = fyris_index::InlineTree::from([(20_u32, 'b'), (10, 'a')]);
        /// assert_eq!(queue.pin().pop_last(), Some((20, &'b')));
        /// ```
        pinned pop_last() -> Option<(S::Key<'g>, &'g V)>;

        /// Returns an iterator over all pairs, in order, from either end: [`TreeMap::iter`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::from([(2, 20), (1, 10)]);
        /// assert!(tree.pin().iter().rev().eq([(&2, &20), (&1, &10)]));
        /// ```
        pinned iter() -> TreeIter<'g, K, V, S>;

        /// Returns an iterator over all keys, in order, from either end: [`TreeMap::keys`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::from([(2, 20), (1, 10)]);
        /// assert!(tree.pin().keys().eq(&[1, 2]));
        /// ```
        pinned keys() -> TreeKeys<'g, K, V, S>;

        /// Returns an iterator over all values in the order of their keys, from either end: [`TreeMap::values`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::from([(2, 20), (1, 10)]);
        /// assert!(tree.pin().values().eq(&[10, 20])); // in the order of the keys
        /// ```
        pinned values() -> TreeValues<'g, K, V, S>;
    }

    /// Returns an iterator over the pairs whose keys lie in `bounds`, in order, from either end: [`TreeMap::range`].
    ///
    /// ```
    /// let tree: fyris_index::InlineTree<u32, u32> = (0..100).map(|n| (n, n * n)).collect();
    /// let pinned = tree.pin();
    /// let mut range = pinned.range(7..=9);
    /// assert_eq!((range.next(), range.next_back()), (Some((7, &49)), Some((9, &81))));
    /// ```
    pub fn range<Q, R>(&self, bounds: R) -> TreeRange<'_, K, V, S, LocalGuard, R::Bounds, Q>
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
        R: KeyBounds<K, Bounds: RangeBounds<Q>>,
    {
        self.tree.range(bounds, &self.guard)
    }

    /// Takes out the pairs whose keys lie in `bounds`, each at one moment, and returns how many:
    /// [`TreeMap::delete_range`].
    ///
    /// ```
    /// let sessions = fyris_index::BytesTree::from([("ada/1", 1), ("ada/2", 2), ("bob/1", 3)]);
    /// let pinned = sessions.pin();
    /// assert_eq!(pinned.delete_range("ada/".."ada0"), 2); // '0' is the character behind '/'
    /// assert_eq!(pinned.len(), 1);
    /// ```
    pub fn delete_range<Q, R>(&self, bounds: R) -> usize
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
        R: KeyBounds<K, Bounds: RangeBounds<Q>>,
    {
        self.tree.delete_range(bounds, &self.guard)
    }

    /// Takes out the pairs whose keys lie in `bounds`, each at one moment, and returns them in the order of their keys:
    /// [`TreeMap::take_range`].
    ///
    /// ```
    /// let jobs = fyris_index::ConcurrentTree::from([(30, "eat"), (10, "wash"), (20, "cook")]);
    /// assert_eq!(jobs.pin().take_range(..=20), [(&10, &"wash"), (&20, &"cook")]); // those that are due
    /// assert_eq!(jobs.len(), 1);
    /// ```
    pub fn take_range<Q, R>(&self, bounds: R) -> Vec<(S::Key<'_>, &V)>
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
        R: KeyBounds<K, Bounds: RangeBounds<Q>>,
    {
        self.tree.take_range(bounds, &self.guard)
    }

    pinned_methods! {
        tree, asked: [TreeKey<Sep = K::Sep>], given: MakeItem;

        /// Takes out every pair that the closure says no to: [`TreeMap::retain`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::from([(1, 10), (2, 20)]);
        /// let pinned = tree.pin();
        /// pinned.retain(|_, value| *value > 10);
        /// assert!(pinned.keys().eq(&[2]));
        /// ```
        pinned retain(; keep: impl FnMut(&K, &V) -> bool);

        /// Takes out every pair that is there throughout; a pair that comes meanwhile may stay: [`TreeMap::clear`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::from([(1, 10), (2, 20)]);
        /// tree.pin().clear();
        /// assert!(tree.is_empty());
        /// ```
        pinned clear();

        /// Returns the number of pairs; exact while no thread writes: [`TreeMap::len`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::from([(1, 10), (2, 20)]);
        /// assert_eq!(tree.pin().len(), 2);
        /// ```
        unpinned len() -> usize;

        /// Returns the number of pairs at one moment during the call: [`TreeMap::exact_len`].
        ///
        /// ```
        /// let tree = fyris_index::ConcurrentTree::from([(1, 10), (2, 20)]);
        /// assert_eq!(tree.pin().exact_len(), 2);
        /// ```
        unpinned exact_len() -> usize;

        /// Returns whether there are no pairs, never true while there is a pair throughout: [`TreeMap::is_empty`].
        ///
        /// ```
        /// assert!(fyris_index::ConcurrentTree::<u32, u32>::new().pin().is_empty());
        /// ```
        unpinned is_empty() -> bool;
    }

    /// As `get_or_insert_with_key`, with a closure that may fail; nothing is put in then:
    /// [`TreeMap::get_or_try_insert_with_key`].
    ///
    /// ```
    /// let numbers = fyris_index::ConcurrentTree::new();
    /// let pinned = numbers.pin();
    /// let number = |text: &'static str| pinned.get_or_try_insert_with_key(text, |text| text.parse::<u32>());
    /// assert!(number("7") == Ok(&7) && number("seven").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// That of the closure.
    pub fn get_or_try_insert_with_key<G, E>(
        &self,
        key: G,
        make: impl FnOnce(&K) -> Result<V, E>,
    ) -> Result<&V, E>
    where
        S: MakeItem<G, K, V>,
    {
        self.tree.get_or_try_insert_with_key(key, &self.guard, make)
    }
}
