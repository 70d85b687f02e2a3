//! [`BytesMap`]: the `hash` index for byte strings as keys, each in one block with its value.
//!
//! # Why
//!
//! In a [`ConcurrentMap<Box<[u8]>, V>`](crate::ConcurrentMap) a hit waits for three cache misses, one after the other:
//! the bucket, the pair, the bytes of the key. Here the bytes lie behind the value in the entry itself
//! (`bytes_entry`): two misses, and one block to allocate and to free. Everything else is as in
//! [`ConcurrentMap`](crate::ConcurrentMap): references tied to a pin, closures outside locks.

mod iter;
mod pinned;

use std::fmt;
use std::hash::BuildHasher;

use fyris_sync::reclaim::{Pin, pin};

pub use self::iter::{Iter, Keys, Values};
pub use self::pinned::PinnedBytesMap;
use crate::bytes_entry::BytesRef;
use crate::hash::{Entries, RandomState};
use crate::map::Computed;
use crate::{Action, Entry, HashIndex};

/// A concurrent hash map from byte strings, with lock-free reads.
///
/// ```
/// use fyris_index::BytesMap;
///
/// let ages = BytesMap::new();
/// let pinned = ages.pin();
/// pinned.insert("Ada", 36);
/// pinned.update("Ada", |age| age + 1);
/// assert_eq!(pinned.get(b"Ada"), Some(&37));
/// ```
///
/// The methods here take the pin as an argument, so that one pin can serve several maps:
///
/// ```
/// # use fyris_index::{BytesMap, reclaim};
/// let ages = BytesMap::new();
/// std::thread::scope(|s| {
///     s.spawn(|| ages.insert(b"Ada", 36, &reclaim::pin()).is_none());
///     s.spawn(|| ages.insert(b"Alan", 41, &reclaim::pin()).is_none());
/// });
/// let pin = reclaim::pin();
/// assert_eq!(ages.get(b"Alan", &pin), Some(&41));
/// assert_eq!(ages.len(), 2);
/// ```
///
/// # Consistency
///
/// Operations on one key are linearizable. Readers take no lock and write no line that another
/// thread reads. A traversal meets every entry that is there throughout exactly once, whatever the
/// table's growth; an entry that comes or goes meanwhile may be met or not.
///
/// # Cost
///
/// Operations on a key are O(its length). A hit waits for two cache misses, one after the other: the bucket and the
/// entry. An entry takes 13 to 27 bytes of the table, and 4 bytes more than value and key in steps of the allocator.
///
/// # Panics
///
/// Whatever puts a key of 4 GiB or more panics.
pub struct BytesMap<V: 'static, S = RandomState> {
    index: HashIndex<BytesRef<V>, S>,
}

impl<V> BytesMap<V> {
    /// An empty map; takes 128 bytes for its first entries.
    pub fn new() -> Self {
        Self::with_hasher(RandomState::default())
    }

    /// An empty map that holds `capacity` entries before it grows.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, RandomState::default())
    }
}

impl<V, S> BytesMap<V, S> {
    /// An empty map with this hasher.
    pub fn with_hasher(hasher: S) -> Self {
        Self::with_capacity_and_hasher(0, hasher)
    }

    /// An empty map with this hasher that holds `capacity` entries before it grows.
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        Self {
            index: HashIndex::with_capacity_and_hasher(capacity, hasher),
        }
    }

    /// The hasher.
    pub fn hasher(&self) -> &S {
        self.index.hasher()
    }

    /// How many entries.
    ///
    /// # Consistency
    ///
    /// Counts every finished operation. While others write it is never too low for the moment in
    /// the middle of the call, and may be too high by operations under way. O(processors).
    pub fn len(&self) -> usize {
        self.index.count()
    }

    /// Whether there are no entries; as exact as [`BytesMap::len`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries there were at one moment during the call.
    ///
    /// # Consistency
    ///
    /// Linearizable. Takes long while others write without a pause.
    pub fn exact_len(&self) -> usize {
        self.index.exact_len()
    }
}

impl<V: Send + Sync + 'static, S: BuildHasher> BytesMap<V, S> {
    /// Pins this thread and gives a view of the map whose methods need no pin.
    #[inline]
    pub fn pin(&self) -> PinnedBytesMap<'_, V, S> {
        PinnedBytesMap::new(self, pin())
    }

    /// The value of a key.
    ///
    /// # Consistency
    ///
    /// Linearizable and lock-free: no lock, no write, no retry unless the bucket is on the move.
    #[inline]
    pub fn get<'g>(&'g self, key: &[u8], _: &'g impl Pin) -> Option<&'g V> {
        let entry = self.find(self.index.hash_of(key), key)?;
        // SAFETY: found under the pin, which `'g` does not outlast; nor does it the map (R).
        Some(unsafe { entry.value() })
    }

    /// Whether a key is there. Consistency as [`BytesMap::get`].
    #[inline]
    pub fn contains_key(&self, key: &[u8], pin: &impl Pin) -> bool {
        self.get(key, pin).is_some()
    }

    /// Puts a value under a key; returns the value that was there.
    ///
    /// # Consistency
    ///
    /// Linearizable. Waits only for writers of the same bucket.
    #[inline]
    pub fn insert<'g>(&'g self, key: &[u8], value: V, pin: &'g impl Pin) -> Option<&'g V> {
        let hash = self.index.hash_of(key);
        // The bucket's line is on its way while the entry is made.
        self.index.prefetch(hash);
        let new = BytesRef::new(key, value);
        let put = |old| (Action::Put(new), old);
        let old = self.index.upsert_by(hash, |e| e.key() == key, pin, put);
        old.map(|old| Self::retire(old, pin))
    }

    /// Takes a key out; returns its value. Consistency as [`BytesMap::insert`].
    #[inline]
    pub fn remove<'g>(&'g self, key: &[u8], pin: &'g impl Pin) -> Option<&'g V> {
        let (hash, remove) = (self.index.hash_of(key), |old| (Action::Remove, old));
        let old = self.index.upsert_by(hash, |e| e.key() == key, pin, remove);
        old.map(|old| Self::retire(old, pin))
    }

    /// Replaces, inserts or removes a key's value as the closure says that sees the present one.
    ///
    /// The closure may be called several times, runs with no lock held, and may use the map.
    ///
    /// ```
    /// use fyris_index::{Action, BytesMap};
    ///
    /// let stock = BytesMap::new();
    /// let stock = stock.pin();
    /// stock.insert("apples", 1);
    /// let take_one = |n: Option<&u32>| match n {
    ///     None => Action::Keep,
    ///     Some(1) => Action::Remove,
    ///     Some(n) => Action::Put(n - 1),
    /// };
    /// assert_eq!(stock.compute("apples", take_one).new, None);
    /// ```
    ///
    /// # Consistency
    ///
    /// Linearizable: what the closure saw was in the map until its result replaced it.
    pub fn compute<'g>(
        &'g self,
        key: &[u8],
        pin: &'g impl Pin,
        mut f: impl FnMut(Option<&'g V>) -> Action<V>,
    ) -> Computed<'g, V> {
        let hash = self.index.hash_of(key);
        loop {
            let seen = self.find(hash, key);
            // SAFETY: as in `get`.
            let old = seen.map(|entry| unsafe { entry.value() });
            let new = match f(old) {
                // What was read last is the answer, and reading it was the operation.
                Action::Keep => return Computed { old, new: old },
                Action::Remove if seen.is_none() => return Computed { old, new: None },
                Action::Remove => None,
                Action::Put(value) => Some(BytesRef::new(key, value)),
            };
            if self.swap(hash, key, seen, new, pin) {
                // SAFETY: published under the pin: whoever retires it does so later (R).
                let new = new.map(|entry| unsafe { entry.value() });
                return Computed { old, new };
            }
            // Somebody changed this key since it was read: look again.
            if let Some(new) = new {
                // SAFETY: it was not put in, so nobody has seen it.
                unsafe { new.dispose() };
            }
        }
    }

    /// The value of a key, which is put there first if there is none.
    ///
    /// The closure runs with no lock held, at most once, and may use the map; its value is dropped
    /// if another thread was first. Consistency as [`BytesMap::compute`].
    pub fn get_or_insert_with<'g>(
        &'g self,
        key: &[u8],
        pin: &'g impl Pin,
        make: impl FnOnce() -> V,
    ) -> &'g V {
        let hash = self.index.hash_of(key);
        if let Some(there) = self.find(hash, key) {
            // SAFETY: as in `get`.
            return unsafe { there.value() };
        }
        let made = BytesRef::new(key, make());
        let put = |old: Option<BytesRef<V>>| match old {
            Some(old) => (Action::Keep, old),
            None => (Action::Put(made), made),
        };
        let present = self.index.upsert_by(hash, |e| e.key() == key, pin, put);
        if present != made {
            // SAFETY: it was not put in, so nobody has seen it.
            unsafe { made.dispose() };
        }
        // SAFETY: `present` was in the map under the pin (R).
        unsafe { present.value() }
    }

    /// Replaces a key's value by one made of it; returns the new value, `None` if the key is absent.
    /// Closure and consistency as [`BytesMap::compute`].
    pub fn update<'g>(
        &'g self,
        key: &[u8],
        pin: &'g impl Pin,
        mut f: impl FnMut(&'g V) -> V,
    ) -> Option<&'g V> {
        let put = |old: Option<&'g V>| old.map_or(Action::Keep, |old| Action::Put(f(old)));
        self.compute(key, pin, put).new
    }

    /// All entries, in no order that means anything.
    ///
    /// Under an [`OwnedGuard`](crate::reclaim::OwnedGuard) the iterator is `Send`.
    ///
    /// # Consistency
    ///
    /// An entry that is there throughout is met exactly once. Writers are not held up.
    pub fn iter<'g, P: Pin>(&'g self, pin: &'g P) -> Iter<'g, V, S, P> {
        Iter::new(Entries::new(&self.index, pin))
    }

    /// All keys, as [`BytesMap::iter`].
    pub fn keys<'g, P: Pin>(&'g self, pin: &'g P) -> Keys<'g, V, S, P> {
        self.iter(pin).keys()
    }

    /// All values, as [`BytesMap::iter`].
    pub fn values<'g, P: Pin>(&'g self, pin: &'g P) -> Values<'g, V, S, P> {
        self.iter(pin).values()
    }

    /// Takes out every entry that the closure says no to.
    ///
    /// The closure runs with no lock held and may see several values of one key.
    ///
    /// # Consistency
    ///
    /// As [`BytesMap::iter`]; each removal is linearizable by itself, and takes out exactly the
    /// value that the closure saw.
    pub fn retain(&self, pin: &impl Pin, mut keep: impl FnMut(&[u8], &V) -> bool) {
        for entry in Entries::new(&self.index, pin) {
            // SAFETY: met under the pin (R).
            let (key, value) = unsafe { entry.pair() };
            let hash = self.index.hash_of(key);
            if !keep(key, value) && !self.swap(hash, key, Some(entry), None, pin) {
                // It was replaced or taken out meanwhile: ask about what is there now.
                self.compute(key, pin, |now| match now {
                    Some(value) if !keep(key, value) => Action::Remove,
                    _ => Action::Keep,
                });
            }
        }
    }

    /// Takes everything out that is there throughout. Consistency as [`BytesMap::retain`].
    pub fn clear(&self, pin: &impl Pin) {
        self.retain(pin, |_, _| false);
    }

    /// The entry of a key. The caller is pinned.
    #[inline]
    fn find(&self, hash: u64, key: &[u8]) -> Option<BytesRef<V>> {
        self.index.find(hash, |e| e.key() == key)
    }

    /// Puts `new` (or nothing) in the place of `seen` (or nothing) if that is still there.
    fn swap(
        &self,
        hash: u64,
        key: &[u8],
        seen: Option<BytesRef<V>>,
        new: Option<BytesRef<V>>,
        pin: &impl Pin,
    ) -> bool {
        let swapped = self.index.swap(hash, |e| e.key() == key, seen, new, pin);
        if let (true, Some(old)) = (swapped, seen) {
            Self::retire(old, pin);
        }
        swapped
    }

    /// Retires an entry that this thread took out; its value can be used under the pin.
    #[inline]
    fn retire(old: BytesRef<V>, pin: &impl Pin) -> &V {
        // SAFETY: an upsert of this thread took it out, and hands it out once. It is freed after
        // the pin is gone (R).
        unsafe {
            old.retire(pin);
            old.value()
        }
    }
}

impl<V, S: Default> Default for BytesMap<V, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<V: Send + Sync + fmt::Debug + 'static, S: BuildHasher> fmt::Debug for BytesMap<V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter(&pin())).finish()
    }
}

impl<B: AsRef<[u8]>, V: Send + Sync + 'static, S: BuildHasher> Extend<(B, V)> for BytesMap<V, S> {
    fn extend<T: IntoIterator<Item = (B, V)>>(&mut self, pairs: T) {
        let pinned = self.pin();
        for (key, value) in pairs {
            pinned.insert(key, value);
        }
    }
}

impl<B, V, S> FromIterator<(B, V)> for BytesMap<V, S>
where
    B: AsRef<[u8]>,
    V: Send + Sync + 'static,
    S: BuildHasher + Default,
{
    fn from_iter<T: IntoIterator<Item = (B, V)>>(pairs: T) -> Self {
        let pairs = pairs.into_iter();
        let mut map = Self::with_capacity_and_hasher(pairs.size_hint().0, S::default());
        map.extend(pairs);
        map
    }
}
