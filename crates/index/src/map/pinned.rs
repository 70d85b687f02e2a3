//! A map with the pin built in.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use fyris_sync::reclaim::LocalGuard;

use super::storage::{MakeEntry, MapStorage, RemakeEntry};
use super::{Computed, Map, MapIter, MapKeys, MapValues};
use crate::hash::RandomState;
use crate::pinned::pinned_methods;
use crate::{Action, AsKey};

/// A [`Map`] seen by a pinned thread: its methods without the pin. See [`Map::pin`].
///
/// References got from it live as long as it does; what the compiler says where they would not is explained
/// [there](super#errors-of-the-compiler-and-what-they-mean). Keep it for a few operations, not for long: while it lives
/// nothing retired since is freed.
///
/// ```
/// let map = fyris_index::ConcurrentMap::new();
/// let pinned = map.pin();
/// pinned.insert("key", 1);
/// for (key, value) in &pinned {
///     assert_eq!((*key, *value), ("key", 1));
/// }
/// ```
pub struct PinnedMap<'m, K: ?Sized, V, S: MapStorage<K, V>, H = RandomState> {
    map: &'m Map<K, V, S, H>,
    guard: LocalGuard,
}

impl<'m, K: ?Sized, V, S: MapStorage<K, V>, H> PinnedMap<'m, K, V, S, H> {
    #[inline]
    pub(super) fn new(map: &'m Map<K, V, S, H>, guard: LocalGuard) -> Self {
        Self { map, guard }
    }

    /// Returns the map.
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::<u32, u32>::new();
    /// let pinned = map.pin();
    /// assert!(std::ptr::eq(pinned.map(), &map));
    /// ```
    pub fn map(&self) -> &'m Map<K, V, S, H> {
        self.map
    }

    /// Returns the pin.
    ///
    /// ```
    /// let (ages, heights) = (fyris_index::ConcurrentMap::new(), fyris_index::ConcurrentMap::new());
    /// let ages = ages.pin();
    /// ages.insert("Ada", 36);
    /// heights.insert("Ada", 165, ages.guard()); // one pin for both
    /// ```
    pub fn guard(&self) -> &LocalGuard {
        &self.guard
    }

    pinned_methods! {
        map, asked: [Hash + Eq], given: MakeEntry;

        /// Returns how many pairs there are: [`Map::len`].
        ///
        /// ```
        /// let map = fyris_index::ConcurrentMap::from([(1, "one"), (2, "two")]);
        /// assert_eq!(map.pin().len(), 2);
        /// ```
        unpinned len() -> usize;

        /// Returns how many pairs there were at one moment during the call: [`Map::exact_len`].
        ///
        /// ```
        /// let map = fyris_index::ConcurrentMap::from([(1, "one"), (2, "two")]);
        /// assert_eq!(map.pin().exact_len(), 2);
        /// ```
        unpinned exact_len() -> usize;

        /// Returns whether there are no pairs, never true while there is a pair throughout: [`Map::is_empty`].
        ///
        /// ```
        /// assert!(fyris_index::ConcurrentMap::<u32, u32>::new().pin().is_empty());
        /// ```
        unpinned is_empty() -> bool;
    }
}

impl<K, V, S, H> PinnedMap<'_, K, V, S, H>
where
    K: Hash + Eq + ?Sized,
    S: MapStorage<K, V>,
    H: BuildHasher,
{
    pinned_methods! {
        map, asked: [Hash + Eq], given: MakeEntry;

        /// Returns the value of a key: [`Map::get`].
        ///
        /// ```
        /// let map = fyris_index::ConcurrentMap::from([("Ada".to_owned(), 36)]);
        /// let pinned = map.pin();
        /// let age = pinned.get("Ada"); // by `&str`
        /// pinned.remove("Ada");
        /// assert_eq!(age, Some(&36)); // as long as the pin lives
        /// ```
        asked get() -> Option<&'g V>;

        /// Returns the stored key and the value of a key: [`Map::get_key_value`].
        ///
        /// ```
        /// let map = fyris_index::BytesMap::from([("Ada", 36)]);
        /// assert_eq!(map.pin().get_key_value("Ada"), Some((&b"Ada"[..], &36)));
        /// ```
        asked get_key_value() -> Option<(&'g K, &'g V)>;

        /// Returns whether a key is there: [`Map::contains_key`].
        ///
        /// ```
        /// let map = fyris_index::BytesMap::from([("Ada", 36)]);
        /// assert!(map.pin().contains_key(b"Ada"));
        /// ```
        asked contains_key() -> bool;

        /// Puts a value under a key and returns the value that was there: [`Map::insert`].
        ///
        /// ```
        /// let map = fyris_index::ConcurrentMap::new();
        /// let pinned = map.pin();
        /// assert_eq!((pinned.insert(1, "one"), pinned.insert(1, "uno")), (None, Some(&"one")));
        /// ```
        given insert(value: V) -> Option<&'g V>;

        /// Takes a key out and returns its value: [`Map::remove`].
        ///
        /// ```
        /// let map = fyris_index::ConcurrentMap::from([(1, "one")]);
        /// let pinned = map.pin();
        /// assert_eq!((pinned.remove(&1), pinned.remove(&1)), (Some(&"one"), None));
        /// ```
        asked remove() -> Option<&'g V>;

        /// Takes a key out and returns the stored key and its value: [`Map::remove_entry`].
        ///
        /// ```
        /// let map = fyris_index::BytesMap::from([("Ada", 36)]);
        /// assert_eq!(map.pin().remove_entry("Ada"), Some((&b"Ada"[..], &36)));
        /// ```
        asked remove_entry() -> Option<(&'g K, &'g V)>;

        /// Replaces, inserts or removes a key's value by the action that the closure returns for the present one;
        /// returns the value that the closure's last call saw and the one that it left: [`Map::compute`].
        ///
        /// ```
        /// use fyris_index::{Action, ConcurrentMap};
        ///
        /// let lives = ConcurrentMap::from([("cat", 1)]);
        /// let pinned = lives.pin();
        /// let lose = |n: Option<&u32>| match n {
        ///     Some(n) if *n > 1 => Action::Put(n - 1),
        ///     _ => Action::Remove,
        /// };
        /// let computed = pinned.compute("cat", lose);
        /// assert_eq!((computed.old, computed.new), (Some(&1), None));
        /// ```
        given compute(; f: impl FnMut(Option<&'g V>) -> Action<V>) -> Computed<'g, V>;

        /// Returns the value of a key, which is put there first if there is none: [`Map::get_or_insert`].
        ///
        /// ```
        /// let map = fyris_index::ConcurrentMap::new();
        /// let pinned = map.pin();
        /// assert_eq!((pinned.get_or_insert(1, 10), pinned.get_or_insert(1, 20)), (&10, &10));
        /// ```
        given get_or_insert(value: V) -> &'g V;

        /// Returns the value of a key, which the closure makes first if there is none: [`Map::get_or_insert_with`].
        ///
        /// ```
        /// let squares = fyris_index::ConcurrentMap::new();
        /// let pinned = squares.pin();
        /// assert_eq!(pinned.get_or_insert_with(7, || 7 * 7), &49);
        /// assert_eq!(pinned.get_or_insert_with(7, || unreachable!()), &49);
        /// ```
        given get_or_insert_with(; make: impl FnOnce() -> V) -> &'g V;

        /// As `get_or_insert_with`, with a closure that sees the key: [`Map::get_or_insert_with_key`].
        ///
        /// ```
        /// let lengths = fyris_index::ConcurrentMap::new();
        /// assert_eq!(lengths.pin().get_or_insert_with_key("key", |key| key.len()), &3);
        /// ```
        given get_or_insert_with_key(; make: impl FnOnce(&K) -> V) -> &'g V;

        /// Replaces a key's value by one made of it; returns the new value, `None` if the key is absent:
        /// [`Map::update`].
        ///
        /// ```
        /// let ages = fyris_index::ConcurrentMap::from([("Ada", 36)]);
        /// let pinned = ages.pin();
        /// assert_eq!(pinned.update("Ada", |age| age + 1), Some(&37)); // the new value
        /// assert_eq!(pinned.update("Bob", |age| age + 1), None);
        /// ```
        asked update(; f: impl FnMut(&'g V) -> V) -> Option<&'g V> where [S: RemakeEntry<K, V>];

        /// Replaces a key's value by one made of it, or puts `value` there if there is none; returns the value that is
        /// there then: [`Map::update_or_insert`].
        ///
        /// ```
        /// let counts = fyris_index::ConcurrentMap::new();
        /// let pinned = counts.pin();
        /// "hello".chars().for_each(|letter| _ = pinned.update_or_insert(letter, |n| n + 1, 1));
        /// assert_eq!(pinned.get(&'l'), Some(&2));
        /// ```
        given update_or_insert(; f: impl FnMut(&'g V) -> V, value: V) -> &'g V where [V: Clone];

        /// Returns an iterator over all pairs, in no order that means anything: [`Map::iter`].
        ///
        /// ```
        /// let map = fyris_index::ConcurrentMap::from([(1, 10), (2, 20)]);
        /// let pinned = map.pin();
        /// pinned.iter().for_each(|(key, value)| _ = pinned.insert(*key, value + 1)); // no lock is held
        /// assert_eq!(pinned.values().sum::<i32>(), 32);
        /// ```
        pinned iter() -> MapIter<'g, K, V, S, H>;

        /// Returns an iterator over all keys, in no order that means anything: [`Map::keys`].
        ///
        /// ```
        /// let map = fyris_index::ConcurrentMap::from([(1, 10), (2, 20)]);
        /// assert_eq!(map.pin().keys().sum::<i32>(), 3);
        /// ```
        pinned keys() -> MapKeys<'g, K, V, S, H>;

        /// Returns an iterator over all values, in no order that means anything: [`Map::values`].
        ///
        /// ```
        /// let map = fyris_index::ConcurrentMap::from([(1, 10), (2, 20)]);
        /// assert_eq!(map.pin().values().sum::<i32>(), 30);
        /// ```
        pinned values() -> MapValues<'g, K, V, S, H>;

        /// Takes out every pair that the closure says no to: [`Map::retain`].
        ///
        /// ```
        /// let map = fyris_index::ConcurrentMap::from([(1, 10), (2, 20)]);
        /// let pinned = map.pin();
        /// pinned.retain(|_, value| *value > 10);
        /// assert!(pinned.keys().eq(&[2]));
        /// ```
        pinned retain(; keep: impl FnMut(&K, &V) -> bool);

        /// Takes everything out that is there throughout: [`Map::clear`].
        ///
        /// ```
        /// let map = fyris_index::ConcurrentMap::from([(1, 10), (2, 20)]);
        /// map.pin().clear();
        /// assert!(map.is_empty());
        /// ```
        pinned clear();
    }

    /// As `get_or_insert_with_key`, with a closure that may fail; nothing is put in then:
    /// [`Map::get_or_try_insert_with_key`].
    ///
    /// ```
    /// let numbers = fyris_index::ConcurrentMap::new();
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
        S: MakeEntry<G, K, V>,
    {
        self.map.get_or_try_insert_with_key(key, &self.guard, make)
    }
}
