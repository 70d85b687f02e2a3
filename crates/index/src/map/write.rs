//! Changing a map.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::hash::{BuildHasher, Hash};

use fyris_sync::reclaim::Guard;

use super::storage::{MakeEntry, MapStorage, RemakeEntry};
use super::{Computed, Map};
use crate::hash::Entries;
use crate::made::AtEnd;
use crate::{Action, AsKey, Entry};

impl<K, V, S, H> Map<K, V, S, H>
where
    K: Hash + Eq + ?Sized,
    S: MapStorage<K, V>,
    H: BuildHasher,
{
    /// Puts a value under a key and returns the value that was there. The stored key is replaced too. O(1).
    ///
    /// # Consistency
    ///
    /// Linearizable. Waits only for writers of the same bucket.
    ///
    /// ```
    /// use fyris_index::{BytesMap, ConcurrentMap};
    ///
    /// let map = ConcurrentMap::new();
    /// assert_eq!(map.pin().insert(String::from("key"), 1), None);
    /// assert_eq!(map.pin().insert(String::from("key"), 2), Some(&1));
    /// let bytes = BytesMap::new();
    /// assert_eq!(bytes.pin().insert("key", 1), None);
    /// assert_eq!(bytes.pin().insert(b"key", 2), Some(&1));
    /// ```
    #[inline]
    pub fn insert<'g, G>(&'g self, key: G, value: V, pin: &'g impl Guard) -> Option<&'g V>
    where
        S: MakeEntry<G, K, V>,
    {
        let hash = self.index.hash_of(S::key(&key));
        // The bucket's line is on its way while the entry is made.
        self.index.prefetch(hash);
        let (entry, _) = S::make(key, value);
        let made = Self::unless_put(entry);
        let old = self.index.upsert_hashed(
            hash,
            |e| e.key() == entry.key(),
            pin,
            |old| (Action::Put(entry), old),
        );
        made.defuse();
        old.map(|old| self.retire(old, pin).1)
    }

    /// Takes a key out and returns its value. O(1). Consistency as [`Map::insert`]. When the value is dropped is said
    /// [there](Map#when-values-are-dropped).
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::from([("key", 1)]);
    /// assert_eq!(map.pin().remove("key"), Some(&1));
    /// assert_eq!(map.pin().remove("key"), None);
    /// ```
    #[inline]
    pub fn remove<'g, Q>(&'g self, key: &Q, pin: &'g impl Guard) -> Option<&'g V>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: Hash + Eq,
    {
        self.remove_entry(key, pin).map(|(_, value)| value)
    }

    /// Takes a key out and returns the stored key and its value. O(1). Consistency as [`Map::insert`].
    ///
    /// ```
    /// let map = fyris_index::BytesMap::from([("key", 1)]);
    /// assert_eq!(map.pin().remove_entry("key"), Some((&b"key"[..], &1)));
    /// ```
    #[inline]
    pub fn remove_entry<'g, Q>(&'g self, key: &Q, pin: &'g impl Guard) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: Hash + Eq,
    {
        if self.index.is_bare() {
            return None;
        }
        let key = key.as_key();
        let hash = self.index.hash_of(key);
        let is_it = |e: &S::Entry| e.key().borrow() == key;
        let old = self
            .index
            .upsert_hashed(hash, is_it, pin, |old| (Action::Remove, old));
        old.map(|old| self.retire(old, pin))
    }

    /// Replaces, inserts or removes a key's value by the action that the closure returns for the present one; returns
    /// the value that the closure's last call saw and the one that it left. `Put` replaces the stored key too. O(1)
    /// without the closure.
    ///
    /// The closure may be called several times, runs with no lock held, and may use the map. If it panics the map is
    /// unchanged.
    ///
    /// # Consistency
    ///
    /// Linearizable: the value that the closure saw was in the map until its result replaced it.
    ///
    /// ```
    /// use fyris_index::{Action, ConcurrentMap};
    ///
    /// let stock = ConcurrentMap::new();
    /// let stock = stock.pin();
    /// stock.insert("apples", 1);
    /// let take_one = |n: Option<&u32>| match n {
    ///     None => Action::Keep,
    ///     Some(1) => Action::Remove,
    ///     Some(n) => Action::Put(n - 1),
    /// };
    /// assert_eq!(stock.compute("apples", take_one).new, None);
    /// ```
    pub fn compute<'g, G>(
        &'g self,
        key: G,
        pin: &'g impl Guard,
        mut f: impl FnMut(Option<&'g V>) -> Action<V>,
    ) -> Computed<'g, V>
    where
        S: MakeEntry<G, K, V>,
    {
        let hash = self.index.hash_of(S::key(&key));
        let mut key = key;
        loop {
            let seen = self.index.find(hash, |e| e.key() == S::key(&key));
            // SAFETY: found under the pin, which `'g` does not outlast; nor does it the map (RECLAIM).
            let old = seen.map(|entry| unsafe { S::value(entry) });
            match f(old) {
                // The value read last is the answer; the operation takes effect at that read.
                Action::Keep => return Computed { old, new: old },
                Action::Remove => {
                    if seen.is_none() || self.swap(hash, S::key(&key), seen, None, pin) {
                        return Computed { old, new: None };
                    }
                }
                Action::Put(value) => {
                    let (entry, rest) = S::make(key, value);
                    if self.swap(hash, entry.key(), seen, Some(entry), pin) {
                        // SAFETY: published under the pin: a thread that retires it does so later (RECLAIM).
                        let new = Some(unsafe { S::value(entry) });
                        return Computed { old, new };
                    }
                    // SAFETY: made with `rest`; it was not put in, so no other thread has seen it.
                    key = unsafe { S::into_parts(entry, rest) };
                }
            }
            // Another thread changed this key since it was read: look again.
        }
    }

    /// Returns the value of a key, which is put there first if there is none. O(1). Consistency as [`Map::compute`].
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::new();
    /// assert_eq!(map.pin().get_or_insert("key", 1), &1);
    /// assert_eq!(map.pin().get_or_insert("key", 2), &1);
    /// ```
    #[inline]
    pub fn get_or_insert<'g, G>(&'g self, key: G, value: V, pin: &'g impl Guard) -> &'g V
    where
        S: MakeEntry<G, K, V>,
    {
        self.get_or_insert_with(key, pin, || value)
    }

    /// Returns the value of a key, which the closure makes first if there is none. O(1) without the closure.
    ///
    /// The closure runs with no lock held, at most once, and may use the map; its value is dropped
    /// if another thread was first. Where one thread only is to make the value, let it be a cell, as
    /// [there](Map::get_or_try_insert_with_key). Consistency as [`Map::compute`].
    ///
    /// ```
    /// let map = fyris_index::BytesMap::new();
    /// assert_eq!(map.pin().get_or_insert_with("key", || 1), &1);
    /// ```
    pub fn get_or_insert_with<'g, G>(
        &'g self,
        key: G,
        pin: &'g impl Guard,
        make: impl FnOnce() -> V,
    ) -> &'g V
    where
        S: MakeEntry<G, K, V>,
    {
        self.get_or_insert_with_key(key, pin, |_| make())
    }

    /// As [`Map::get_or_insert_with`], with a closure that sees the key.
    ///
    /// ```
    /// let lengths = fyris_index::ConcurrentMap::new();
    /// assert_eq!(lengths.pin().get_or_insert_with_key("key", |key| key.len()), &3);
    /// ```
    pub fn get_or_insert_with_key<'g, G>(
        &'g self,
        key: G,
        pin: &'g impl Guard,
        make: impl FnOnce(&K) -> V,
    ) -> &'g V
    where
        S: MakeEntry<G, K, V>,
    {
        let Ok(value) =
            self.get_or_try_insert_with_key(key, pin, |key| Ok::<V, Infallible>(make(key)));
        value
    }

    /// As [`Map::get_or_insert_with_key`], with a closure that may fail: its error is returned, and nothing is put in.
    ///
    /// Several threads may each make a value of one key, of which one is put in. Where it is to be made once, let the
    /// value be a cell:
    ///
    /// ```
    /// use std::num::ParseIntError;
    /// use std::sync::{Arc, OnceLock};
    ///
    /// let numbers = fyris_index::ConcurrentMap::new();
    /// let pinned = numbers.pin();
    /// let number = |text: &'static str| pinned.get_or_try_insert_with_key(text, |text| text.parse::<u32>());
    /// assert_eq!(number("7"), Ok(&7));
    /// assert!(number("seven").is_err());
    /// assert_eq!(pinned.len(), 1);
    ///
    /// let cells = fyris_index::ConcurrentMap::new();
    /// let cell = cells.pin().get_or_insert_with("slow", || Arc::new(OnceLock::new())).clone();
    /// assert_eq!(cell.get_or_init(|| 42), &42); // others wait for this one
    /// ```
    ///
    /// # Errors
    ///
    /// That of the closure.
    pub fn get_or_try_insert_with_key<'g, G, E>(
        &'g self,
        key: G,
        pin: &'g impl Guard,
        make: impl FnOnce(&K) -> Result<V, E>,
    ) -> Result<&'g V, E>
    where
        S: MakeEntry<G, K, V>,
    {
        let hash = self.index.hash_of(S::key(&key));
        if let Some(entry) = self.index.find(hash, |e| e.key() == S::key(&key)) {
            // SAFETY: as in `compute`.
            return Ok(unsafe { S::value(entry) });
        }
        let value = make(S::key(&key))?;
        let (made, rest) = S::make(key, value);
        let put = |old: Option<S::Entry>| match old {
            Some(old) => (Action::Keep, old),
            None => (Action::Put(made), made),
        };
        let unless_put = Self::unless_put(made);
        let present = self
            .index
            .upsert_hashed(hash, |e| e.key() == made.key(), pin, put);
        unless_put.defuse();
        if present != made {
            // SAFETY: made with `rest`; it was not put in, so no other thread has seen it.
            drop(unsafe { S::into_parts(made, rest) });
        }
        // SAFETY: `present` was in the map under the pin (RECLAIM).
        Ok(unsafe { S::value(present) })
    }

    /// Replaces a key's value by one made of it; returns the new value, `None` if the key is absent. O(1) without the
    /// closure, which runs with no lock held, and again if the value changes meanwhile. Linearizable, see
    /// [`Map::compute`]. The stored key is cloned.
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::from([("key", 1)]);
    /// assert_eq!(map.pin().update("key", |n| n + 1), Some(&2));
    /// assert_eq!(map.pin().update("other", |n| n + 1), None);
    /// ```
    pub fn update<'g, Q>(
        &'g self,
        key: &Q,
        pin: &'g impl Guard,
        mut f: impl FnMut(&'g V) -> V,
    ) -> Option<&'g V>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: Hash + Eq,
        S: RemakeEntry<K, V>,
    {
        let key = key.as_key();
        let hash = self.index.hash_of(key);
        loop {
            let seen = self.index.find(hash, |e| e.key().borrow() == key)?;
            // SAFETY: as in `compute`.
            let new = S::remake(seen, f(unsafe { S::value(seen) }));
            if self.swap(hash, new.key(), Some(seen), Some(new), pin) {
                // SAFETY: as in `compute`.
                return Some(unsafe { S::value(new) });
            }
            // SAFETY: it was not put in, so no other thread has seen it.
            unsafe { new.dispose() };
            // Another thread changed this key since it was read: look again.
        }
    }

    /// Replaces a key's value by one made of it, or puts `value` there if there is none; returns the value that is
    /// there then. The stored key is replaced too. O(1) without the closure, which runs with no lock held, and again if
    /// the value changes meanwhile. Linearizable, see [`Map::compute`].
    ///
    /// ```
    /// let words = fyris_index::ConcurrentMap::new();
    /// for word in "to be or not to be".split(' ') {
    ///     words.pin().update_or_insert(word, |n| n + 1, 1);
    /// }
    /// assert_eq!(words.pin().get("be"), Some(&2));
    /// ```
    pub fn update_or_insert<'g, G>(
        &'g self,
        key: G,
        pin: &'g impl Guard,
        mut f: impl FnMut(&'g V) -> V,
        value: V,
    ) -> &'g V
    where
        S: MakeEntry<G, K, V>,
        V: Clone,
    {
        let put = |old: Option<&'g V>| Action::Put(old.map_or_else(|| value.clone(), &mut f));
        match self.compute(key, pin, put).new {
            Some(new) => new,
            None => unreachable!("a value was put"),
        }
    }

    /// Takes out every pair that the closure says no to. O(pairs).
    ///
    /// The closure runs with no lock held and may see several values of one key.
    ///
    /// # Consistency
    ///
    /// Pairs that are there throughout are shown to the closure, others may be. Each removal is linearizable by itself,
    /// and takes out exactly the value that the closure saw.
    ///
    /// ```
    /// let map: fyris_index::ConcurrentMap<u32, u32> = (0..9).map(|n| (n, n * n)).collect();
    /// map.pin().retain(|_, square| square % 2 == 0);
    /// assert_eq!(map.len(), 5);
    /// ```
    pub fn retain(&self, pin: &impl Guard, mut keep: impl FnMut(&K, &V) -> bool) {
        for mut entry in Entries::new(&self.index, pin) {
            let hash = self.index.hash_of(entry.key());
            // SAFETY: met under the pin (RECLAIM).
            while let (key, value) = unsafe { S::pair(entry) }
                && !keep(key, value)
                && !self.swap(hash, key, Some(entry), None, pin)
            {
                // It was replaced or taken out meanwhile: ask about what is there now.
                let Some(now) = self.index.find(hash, |e| e.key() == key) else {
                    break;
                };
                entry = now;
            }
        }
    }

    /// Takes everything out that is there throughout. O(pairs). Consistency as [`Map::retain`]. When the values are
    /// dropped is said [there](Map#when-values-are-dropped).
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::from([("key", 1)]);
    /// map.pin().clear();
    /// assert!(map.is_empty());
    /// ```
    pub fn clear(&self, pin: &impl Guard) {
        self.retain(pin, |_, _| false);
    }

    /// Puts an entry in and retires the one that it replaces.
    pub(super) fn put(&self, entry: S::Entry, pin: &impl Guard) {
        let made = Self::unless_put(entry);
        let hash = self.index.hash_of(entry.key());
        let put = |old| (Action::Put(entry), old);
        let is_it = |e: &S::Entry| e.key() == entry.key();
        let old = self.index.upsert_hashed(hash, is_it, pin, put);
        made.defuse();
        old.map(|old| self.retire(old, pin));
    }

    /// Puts `new` (or nothing) in the place of `seen` (or nothing) if that is still there; returns whether it was.
    fn swap(
        &self,
        hash: u64,
        key: &K,
        seen: Option<S::Entry>,
        new: Option<S::Entry>,
        pin: &impl Guard,
    ) -> bool {
        let made = new.map(Self::unless_put);
        let swapped = self.index.swap(hash, |e| e.key() == key, seen, new, pin);
        if let Some(made) = made {
            made.defuse();
        }
        if let (true, Some(old)) = (swapped, seen) {
            self.retire(old, pin);
        }
        swapped
    }

    /// Frees an entry if a hash or a comparison panics before it is in the map.
    #[inline]
    fn unless_put(entry: S::Entry) -> AtEnd<impl FnMut()> {
        // SAFETY: called once at most, when an upsert has panicked: then it has put nothing in.
        AtEnd::new(move || unsafe { entry.dispose() })
    }

    /// Retires an entry that this thread took out; returns its key and value, which can be used under the pin.
    #[inline]
    fn retire<'g>(&self, old: S::Entry, pin: &'g impl Guard) -> (&'g K, &'g V) {
        // SAFETY: it was in the map under the pin (RECLAIM).
        let (key, value) = unsafe { S::pair(old) };
        self.retired.note(key, value, pin);
        // SAFETY: an upsert of this thread took it out, and hands it out once. It is freed after
        // the pin is gone (RECLAIM). Its key and value borrow nothing, or are `Copy`: the storages see to that.
        unsafe { old.retire(pin) };
        (key, value)
    }
}
