//! Changing a tree.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::ops::RangeBounds;

use fyris_sync::reclaim::Guard;

use super::{Computed, MakeItem, RemakeItem, Storage, TreeMap, TreeRange};
use crate::key::probe::ByKey;
use crate::made::AtEnd;
use crate::ordered::TreeKey;
use crate::ordered::item::Item;
use crate::{Action, AsKey, KeyBounds};

impl<K: TreeKey + ?Sized, V, S: Storage<K, V>> TreeMap<K, V, S> {
    /// Puts a pair in and returns the value that it replaces. The stored key is replaced too. O(log n).
    ///
    /// # Consistency
    ///
    /// Linearizable. Waits only for writers of the same leaf.
    ///
    /// ```
    /// use fyris_index::{BytesTree, ConcurrentTree};
    ///
    /// let tree = ConcurrentTree::new();
    /// assert_eq!(tree.pin().insert(String::from("key"), 1), None);
    /// assert_eq!(tree.pin().insert(String::from("key"), 2), Some(&1));
    /// let bytes = BytesTree::new();
    /// assert_eq!(bytes.pin().insert("key", 1), None);
    /// ```
    #[inline]
    pub fn insert<'g, G>(&'g self, key: G, value: V, pin: &'g impl Guard) -> Option<&'g V>
    where
        S: MakeItem<G, K, V>,
    {
        let (name, item) = S::make(key, value);
        self.insert_made(&name, item, pin)
    }

    /// Puts a pair in that has been made, and returns the value that it replaces.
    #[inline]
    pub(super) fn insert_made<'g, G>(
        &'g self,
        name: &<S as MakeItem<G, K, V>>::Name,
        item: S::Item,
        pin: &'g impl Guard,
    ) -> Option<&'g V>
    where
        S: MakeItem<G, K, V>,
    {
        let made = Self::unless_put(item);
        let old = self
            .tree
            .upsert(S::named(name), pin, |old| (Action::Put(item), old));
        made.defuse();
        self.taken_out(old, pin)
    }

    /// Takes a key out and returns its value. O(log n). Consistency as [`TreeMap::insert`]. When the value is dropped
    /// is said [there](TreeMap#when-values-are-dropped).
    ///
    /// ```
    /// let tree = fyris_index::ConcurrentTree::from([(1, "value")]);
    /// assert_eq!(tree.pin().remove(&1), Some(&"value"));
    /// assert_eq!(tree.pin().remove(&1), None);
    /// ```
    #[inline]
    pub fn remove<'g, Q>(&'g self, key: &Q, pin: &'g impl Guard) -> Option<&'g V>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: TreeKey<Sep = K::Sep>,
    {
        if self.tree.is_bare() {
            return None;
        }
        let old = self
            .tree
            .upsert(key.as_key(), pin, |old| (Action::Remove, old));
        self.taken_out(old, pin)
    }

    /// Takes a key out and returns the stored key and its value. O(log n). Consistency as [`TreeMap::insert`].
    ///
    /// ```
    /// let tree = fyris_index::BytesTree::from([("key", 1)]);
    /// assert_eq!(tree.pin().remove_entry("key"), Some((&b"key"[..], &1)));
    /// ```
    pub fn remove_entry<'g, Q>(
        &'g self,
        key: &Q,
        pin: &'g impl Guard,
    ) -> Option<(S::Key<'g>, &'g V)>
    where
        K: Borrow<Q::Key>,
        Q: AsKey<K> + ?Sized,
        Q::Key: TreeKey<Sep = K::Sep>,
    {
        if self.tree.is_bare() {
            return None;
        }
        self.take_key(key.as_key(), pin)
    }

    /// Takes a key out, whatever its value is at that moment, and returns the pair.
    fn take_key<'g, Q>(&'g self, key: &Q, pin: &'g impl Guard) -> Option<(S::Key<'g>, &'g V)>
    where
        K: Borrow<Q> + 'g,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
    {
        let old = self.tree.upsert(key, pin, |old| (Action::Remove, old))?;
        self.taken_out(Some(old), pin);
        Some((S::key(key.key_prefix(0), old), S::value(old)))
    }

    /// Takes the first pair out and returns it. The pair was the first when it was looked for: a smaller one may
    /// come in between. O(log n).
    ///
    /// ```
    /// let tree = fyris_index::InlineTree::from([(1, 1.5), (2, 2.5)]);
    /// assert_eq!(tree.pin().pop_first(), Some((1, &1.5)));
    /// ```
    pub fn pop_first<'g>(&'g self, pin: &'g impl Guard) -> Option<(S::Key<'g>, &'g V)> {
        self.take(pin, || self.start(pin).next())
    }

    /// Takes the last pair out and returns it; as [`TreeMap::pop_first`].
    ///
    /// ```
    /// let tree = fyris_index::InlineTree::from([(1, 1.5), (2, 2.5)]);
    /// assert_eq!(tree.pin().pop_last(), Some((2, &2.5)));
    /// ```
    pub fn pop_last<'g>(&'g self, pin: &'g impl Guard) -> Option<(S::Key<'g>, &'g V)> {
        self.take(pin, || self.end(pin).prev())
    }

    /// Takes out and returns the pair that is found.
    fn take<'g>(
        &'g self,
        pin: &'g impl Guard,
        find: impl Fn() -> Option<(u64, &'g S::Item)>,
    ) -> Option<(S::Key<'g>, &'g V)> {
        loop {
            let (key_prefix, item) = find()?;
            let key = S::key(key_prefix, item);
            // Another thread may have taken or replaced it: then look again.
            let taken = self.swap(key.borrow(), Some(item), Action::Remove, pin);
            if taken.is_some() {
                return Some((key, S::value(item)));
            }
        }
    }

    /// Replaces, inserts or removes the value of a key by the action that the closure returns for the present one;
    /// returns the value that the closure's last call saw and the one that it left. `Put` replaces the stored key too.
    /// O(log n) without the closure.
    ///
    /// The closure runs outside all locks: it may block, panic, and use the tree, this key included. If the pair
    /// changes meanwhile it runs again, on the value that is there then.
    ///
    /// # Consistency
    ///
    /// Linearizable: the value that the closure saw was in the tree until its result replaced it; in an
    /// [`InlineTree`](crate::InlineTree) that value or one of the same bytes, which counts as unchanged. Where `V` has
    /// padding its bytes count too: a pair keeps them however its leaf is rebuilt, and one that is put in anew may have
    /// others, so the closure may run again on an equal value.
    ///
    /// ```
    /// use fyris_index::{Action, ConcurrentTree};
    ///
    /// let stock = ConcurrentTree::from([(7, 1)]);
    /// let take_one = |n: Option<&u32>| match n {
    ///     None => Action::Keep,
    ///     Some(1) => Action::Remove,
    ///     Some(n) => Action::Put(n - 1),
    /// };
    /// assert_eq!(stock.pin().compute(7, take_one).new, None);
    /// ```
    pub fn compute<'g, G>(
        &'g self,
        mut key: G,
        pin: &'g impl Guard,
        mut f: impl FnMut(Option<&'g V>) -> Action<V>,
    ) -> Computed<'g, V>
    where
        S: MakeItem<G, K, V>,
    {
        loop {
            let seen = self.tree.find(&ByKey(S::given(&key)), pin);
            let seen = seen.map(|(_, item)| item);
            let old = seen.map(S::value);
            match f(old) {
                // The value read last is the answer; the operation takes effect at that read.
                Action::Keep => return Computed { old, new: old },
                Action::Remove => {
                    let key = S::given(&key);
                    if seen.is_none() || self.swap(key, seen, Action::Remove, pin).is_some() {
                        return Computed { old, new: None };
                    }
                }
                Action::Put(value) => {
                    let (name, item) = S::make(key, value);
                    if let Some(now) = self.swap(S::named(&name), seen, Action::Put(item), pin) {
                        let new = now.map(S::value);
                        return Computed { old, new };
                    }
                    // SAFETY: made above, and the swap did not take it.
                    key = unsafe { S::into_parts(name, item) };
                }
            }
            // Another thread changed this key since it was read: look again.
        }
    }

    /// Returns the value of a key, which is put there first if there is none. O(log n). Consistency as
    /// [`TreeMap::compute`].
    ///
    /// ```
    /// let tree = fyris_index::ConcurrentTree::new();
    /// assert_eq!(tree.pin().get_or_insert(1, "one"), &"one");
    /// assert_eq!(tree.pin().get_or_insert(1, "two"), &"one");
    /// ```
    #[inline]
    pub fn get_or_insert<'g, G>(&'g self, key: G, value: V, pin: &'g impl Guard) -> &'g V
    where
        S: MakeItem<G, K, V>,
    {
        self.get_or_insert_with(key, pin, || value)
    }

    /// Returns the value of a key, which the closure makes first if there is none. O(log n) without the closure.
    ///
    /// The closure runs outside all locks and at most once; if another
    /// thread puts a value in first, that one is returned. Where one thread only is to make the value, let it be a cell,
    /// as [there](TreeMap::get_or_try_insert_with_key). Consistency as [`TreeMap::compute`].
    ///
    /// ```
    /// let tree = fyris_index::BytesTree::new();
    /// assert_eq!(tree.pin().get_or_insert_with("key", || 1), &1);
    /// ```
    pub fn get_or_insert_with<'g, G>(
        &'g self,
        key: G,
        pin: &'g impl Guard,
        make: impl FnOnce() -> V,
    ) -> &'g V
    where
        S: MakeItem<G, K, V>,
    {
        self.get_or_insert_with_key(key, pin, |_| make())
    }

    /// As [`TreeMap::get_or_insert_with`], with a closure that sees the key.
    ///
    /// ```
    /// let lengths = fyris_index::ConcurrentTree::new();
    /// assert_eq!(lengths.pin().get_or_insert_with_key("key", |key| key.len()), &3);
    /// ```
    pub fn get_or_insert_with_key<'g, G>(
        &'g self,
        key: G,
        pin: &'g impl Guard,
        make: impl FnOnce(&K) -> V,
    ) -> &'g V
    where
        S: MakeItem<G, K, V>,
    {
        let Ok(value) =
            self.get_or_try_insert_with_key(key, pin, |key| Ok::<V, Infallible>(make(key)));
        value
    }

    /// As [`TreeMap::get_or_insert_with_key`], with a closure that may fail: its error is returned, and nothing is put
    /// in.
    ///
    /// Several threads may each make a value of one key, of which one is put in. Where it is to be made once, let the
    /// value be a cell:
    ///
    /// ```
    /// use std::num::ParseIntError;
    /// use std::sync::{Arc, OnceLock};
    ///
    /// let numbers = fyris_index::ConcurrentTree::new();
    /// let pinned = numbers.pin();
    /// let number = |text: &'static str| pinned.get_or_try_insert_with_key(text, |text| text.parse::<u32>());
    /// assert_eq!(number("7"), Ok(&7));
    /// assert!(number("seven").is_err());
    /// assert_eq!(pinned.len(), 1);
    ///
    /// let cells = fyris_index::ConcurrentTree::new();
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
        S: MakeItem<G, K, V>,
    {
        if let Some((_, item)) = self.tree.find(&ByKey(S::given(&key)), pin) {
            return Ok(S::value(item));
        }
        let value = make(S::given(&key))?;
        let (name, item) = S::make(key, value);
        let put = |old: Option<&'g S::Item>| match old {
            Some(_) => (Action::Keep, old),
            None => (Action::Put(item), None),
        };
        let made = Self::unless_put(item);
        let (old, now) = self.tree.upsert_in_place(S::named(&name), pin, put);
        made.defuse();
        if let Some(now) = now {
            return Ok(S::value(now));
        }
        // SAFETY: made above, and the tree did not take it.
        drop(unsafe { S::into_parts(name, item) });
        match old {
            Some(old) => Ok(S::value(old)),
            None => unreachable!("nothing there, and nothing put"),
        }
    }

    /// Replaces a key's value by one made of it; returns the new value, `None` if the key is absent. O(log n) without
    /// the closure, which runs outside all locks, and again if the pair changes meanwhile. Linearizable, see
    /// [`TreeMap::compute`]. The stored key is cloned.
    ///
    /// ```
    /// let tree = fyris_index::ConcurrentTree::from([(1, 10)]);
    /// assert_eq!(tree.pin().update(&1, |n| n + 1), Some(&11));
    /// assert_eq!(tree.pin().update(&2, |n| n + 1), None);
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
        Q::Key: TreeKey<Sep = K::Sep>,
        S: RemakeItem<K, V>,
    {
        loop {
            let (key_prefix, seen) = self.tree.find(&ByKey(key.as_key()), pin)?;
            let stored = S::key(key_prefix, seen);
            let item = S::remake(stored.borrow(), f(S::value(seen)));
            if let Some(now) = self.swap(stored.borrow(), Some(seen), Action::Put(item), pin) {
                return now.map(S::value);
            }
            // SAFETY: made above, and the swap did not take it.
            unsafe { S::forget(item) };
            // Another thread changed this key since it was read: look again.
        }
    }

    /// Replaces a key's value by one made of it, or puts `value` there if there is none; returns the value that is
    /// there then. The stored key is replaced too. O(log n) without the closure, which runs outside all locks, and
    /// again if the pair changes meanwhile. Linearizable, see [`TreeMap::compute`].
    ///
    /// ```
    /// let words = fyris_index::BytesTree::new();
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
        S: MakeItem<G, K, V>,
        V: Clone,
    {
        let put = |old: Option<&'g V>| Action::Put(old.map_or_else(|| value.clone(), &mut f));
        match self.compute(key, pin, put).new {
            Some(new) => new,
            None => unreachable!("a value was put"),
        }
    }

    /// Takes out every pair that the closure says no to. O(n log n).
    ///
    /// The closure runs outside all locks and may see several values of one key.
    ///
    /// # Consistency
    ///
    /// Pairs that are there throughout are shown to the closure, others may be. Each removal is linearizable by itself,
    /// and takes out exactly the value that the closure saw.
    ///
    /// ```
    /// let tree: fyris_index::InlineTree<u32, u32> = (0..9).map(|n| (n, n * n)).collect();
    /// tree.pin().retain(|_, square| square % 2 == 0);
    /// assert_eq!(tree.len(), 5);
    /// ```
    pub fn retain(&self, pin: &impl Guard, mut keep: impl FnMut(&K, &V) -> bool) {
        let mut cursor = self.start(pin);
        while let Some((key_prefix, mut item)) = cursor.next() {
            let key = S::key(key_prefix, item);
            let key = key.borrow();
            while !keep(key, S::value(item))
                && self.swap(key, Some(item), Action::Remove, pin).is_none()
            {
                // It was replaced or taken out meanwhile: ask about what is there now.
                let Some((_, now)) = self.tree.find(&ByKey(key), pin) else {
                    break;
                };
                item = now;
            }
        }
    }

    /// Takes out the pairs whose keys lie in `bounds`; returns how many. Bounds are given as to [`TreeMap::range`], and
    /// if they are the wrong way round there is nothing to take out. O((k + 1) log n) for k pairs.
    ///
    /// # Consistency
    ///
    /// Each pair is taken out at one moment, with the value that it has then; the range as a whole is not. Pairs that
    /// are there throughout are taken out, by this thread or another one. A pair that comes meanwhile may be taken out
    /// or stay. What comes behind the last key that there was when the call began stays, so a thread that goes on
    /// appending does not hold up the end.
    ///
    /// ```
    /// let tree: fyris_index::InlineTree<u32, u32> = (0..9).map(|n| (n, n * n)).collect();
    /// assert_eq!(tree.pin().delete_range(3..6), 3);
    /// assert!(tree.pin().keys().eq([0, 1, 2, 6, 7, 8]));
    /// ```
    pub fn delete_range<Q, R>(&self, bounds: R, pin: &impl Guard) -> usize
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
        R: KeyBounds<K, Bounds: RangeBounds<Q>>,
    {
        self.take_each(bounds.key_bounds(), pin).count()
    }

    /// Takes out the pairs whose keys lie in `bounds` and returns them in the order of their keys. Of several threads
    /// one gets a pair. Bounds, cost and consistency as [`TreeMap::delete_range`].
    ///
    /// ```
    /// let jobs = fyris_index::InlineTree::from([(10, 'a'), (20, 'b'), (30, 'c')]);
    /// let pinned = jobs.pin();
    /// assert_eq!(pinned.take_range(..=20), [(10, &'a'), (20, &'b')]);
    /// assert_eq!(pinned.len(), 1);
    /// ```
    pub fn take_range<'g, Q, R>(
        &'g self,
        bounds: R,
        pin: &'g impl Guard,
    ) -> Vec<(S::Key<'g>, &'g V)>
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
        R: KeyBounds<K, Bounds: RangeBounds<Q>>,
    {
        self.take_each(bounds.key_bounds(), pin).collect()
    }

    /// Takes out every pair that is there throughout; a pair that comes meanwhile may stay. Cost and consistency as
    /// [`TreeMap::delete_range`]. When the values are dropped is said [there](TreeMap#when-values-are-dropped).
    ///
    /// ```
    /// let tree = fyris_index::InlineTree::from([(1, 1.5)]);
    /// tree.pin().clear();
    /// assert!(tree.is_empty());
    /// ```
    pub fn clear(&self, pin: &impl Guard) {
        self.take_each::<K, _>(.., pin).for_each(drop);
    }

    /// Takes out the pairs of a range one after the other, as they are asked for.
    fn take_each<'g, Q, R>(
        &'g self,
        bounds: R,
        pin: &'g impl Guard,
    ) -> impl Iterator<Item = (S::Key<'g>, &'g V)>
    where
        K: Borrow<Q> + 'g,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
        R: RangeBounds<Q>,
    {
        let mut range = TreeRange::<K, V, S, _, _, _>::new(&self.tree, bounds, pin);
        // What the back has handed out is the end of what the front goes over.
        let last = range.next_back();
        let taken = move |(key, _): (S::Key<'g>, _)| self.take_key::<K>(key.borrow(), pin);
        range.chain(last).filter_map(taken)
    }

    /// Frees an item if a comparison panics before it is in the tree.
    #[inline]
    pub(super) fn unless_put(item: S::Item) -> AtEnd<impl FnMut()> {
        // SAFETY: called once at most, when an upsert has panicked: then it has put nothing in.
        AtEnd::new(move || unsafe { item.dispose() })
    }

    /// Retires an item that this thread has just taken out; returns its value, which stays readable under the pin.
    #[inline]
    fn taken_out<'g>(&self, old: Option<&'g S::Item>, pin: &'g impl Guard) -> Option<&'g V> {
        let old = old?;
        // SAFETY: taken out by the caller; the slot that names it stays until the pin ends.
        unsafe { S::retire(old, &self.retired, pin) };
        Some(S::value(old))
    }

    /// Performs `action` if the pair is still `seen`; then returns the slot of the item that was put.
    fn swap<'g>(
        &'g self,
        key: &K,
        seen: Option<&'g S::Item>,
        action: Action<S::Item>,
        pin: &'g impl Guard,
    ) -> Option<Option<&'g S::Item>> {
        let made = match action {
            Action::Put(item) => Some(Self::unless_put(item)),
            _ => None,
        };
        let (done, now) = self.tree.upsert_in_place(key, pin, |old| {
            let unchanged = match (seen, old) {
                (None, None) => true,
                (Some(a), Some(b)) => S::same(a, b),
                _ => false,
            };
            (if unchanged { action } else { Action::Keep }, unchanged)
        });
        if let Some(made) = made {
            made.defuse();
        }
        if !done {
            return None;
        }
        self.taken_out(seen, pin);
        Some(now)
    }
}
