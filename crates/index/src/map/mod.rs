//! [`ConcurrentMap`]: the `hash` index with keys and values of any type.
//!
//! # Why references tied to a pin
//!
//! A map of locks hands out lock guards, and two guards in one thread are a deadlock waiting for its
//! day. This map hands out plain references: a value is immutable, an update puts another in its
//! place, and the old one is freed when nobody is pinned who could see it. A reference lives as
//! long as the pin it was got under. Nothing a caller holds can block anybody else; a pin held long
//! only delays the freeing of memory.
//!
//! # Why closures run outside locks
//!
//! [`ConcurrentMap::compute`], `update` and `get_or_insert_with` call the user's closure with no
//! lock held and then put the result in place if the entry is still the one that the closure saw
//! (the same allocation: under the pin no address comes up twice); if not, they call it again. So a
//! closure may use the map itself.

mod iter;
mod node;
mod pinned;

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};

use fyris_sync::reclaim::{Pin, pin};

pub use self::iter::{Iter, Keys, Values};
use self::node::NodeRef;
pub use self::pinned::PinnedMap;
use crate::hash::{Entries, RandomState};
use crate::{Action, Entry, HashIndex};

/// A concurrent hash map with lock-free reads.
///
/// ```
/// use fyris_index::ConcurrentMap;
///
/// let ages = ConcurrentMap::new();
/// let pinned = ages.pin();
/// pinned.insert("Ada", 36);
/// pinned.update("Ada", |age| age + 1);
/// assert_eq!(pinned.get("Ada"), Some(&37));
/// ```
///
/// [`ConcurrentMap::pin`] gives a view that is pinned once for several operations. The methods here
/// take the pin as an argument, so that one pin can serve several maps:
///
/// ```
/// # use fyris_index::{ConcurrentMap, reclaim};
/// let ages = ConcurrentMap::new();
/// std::thread::scope(|s| {
///     s.spawn(|| ages.insert("Ada", 36, &reclaim::pin()).is_none());
///     s.spawn(|| ages.insert("Alan", 41, &reclaim::pin()).is_none());
/// });
/// let pin = reclaim::pin();
/// assert_eq!(ages.get("Alan", &pin), Some(&41));
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
/// A hit waits for two cache misses, one after the other: the bucket and the entry. An entry takes 13 to 27
/// bytes of the table, and its own size in steps of the allocator.
pub struct ConcurrentMap<K: 'static, V: 'static, S = RandomState> {
    index: HashIndex<NodeRef<K, V>, S>,
}

/// What [`ConcurrentMap::compute`] found and what it left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Computed<'g, V> {
    /// The value that the closure's last call saw.
    pub old: Option<&'g V>,
    /// The value in the map right after.
    pub new: Option<&'g V>,
}

impl<K, V> ConcurrentMap<K, V> {
    /// An empty map; takes 128 bytes for its first entries.
    pub fn new() -> Self {
        Self::with_hasher(RandomState::default())
    }

    /// An empty map that holds `capacity` entries before it grows.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, RandomState::default())
    }
}

impl<K, V, S> ConcurrentMap<K, V, S> {
    /// An empty map with this hasher.
    pub fn with_hasher(hasher: S) -> Self {
        Self {
            index: HashIndex::with_hasher(hasher),
        }
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

    /// Whether there are no entries; as exact as [`ConcurrentMap::len`].
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

impl<K, V, S> ConcurrentMap<K, V, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher,
{
    /// Pins this thread and gives a view of the map whose methods need no pin.
    #[inline]
    pub fn pin(&self) -> PinnedMap<'_, K, V, S> {
        PinnedMap::new(self, pin())
    }

    /// The value of a key.
    ///
    /// # Consistency
    ///
    /// Linearizable and lock-free: no lock, no write, no retry unless the bucket is on the move.
    #[inline]
    pub fn get<'g, Q>(&'g self, key: &Q, pin: &'g impl Pin) -> Option<&'g V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        // SAFETY: found under the pin, which `'g` does not outlast; nor does it the map (R).
        self.find(key, pin).map(|node| unsafe { node.value() })
    }

    /// The stored key and the value of a key. Consistency as [`ConcurrentMap::get`].
    pub fn get_key_value<'g, Q>(&'g self, key: &Q, pin: &'g impl Pin) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        // SAFETY: as in `get`.
        self.find(key, pin).map(|node| unsafe { node.pair() })
    }

    /// Whether a key is there. Consistency as [`ConcurrentMap::get`].
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q, pin: &impl Pin) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.find(key, pin).is_some()
    }

    /// Puts a value under a key; returns the value that was there. The stored key is replaced too.
    ///
    /// # Consistency
    ///
    /// Linearizable. Waits only for writers of the same bucket.
    #[inline]
    pub fn insert<'g>(&'g self, key: K, value: V, pin: &'g impl Pin) -> Option<&'g V> {
        let hash = self.index.hash_of(&key);
        // The bucket's line is on its way while the node is made.
        self.index.prefetch(hash);
        let node = NodeRef::new(key, value);
        let is_it = |e: &NodeRef<K, V>| e.key() == node.key();
        let old = self
            .index
            .upsert_by(hash, is_it, pin, |old| (Action::Put(node), old));
        old.map(|old| Self::retire(old, pin).1)
    }

    /// Takes a key out; returns its value. Consistency as [`ConcurrentMap::insert`].
    #[inline]
    pub fn remove<'g, Q>(&'g self, key: &Q, pin: &'g impl Pin) -> Option<&'g V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.remove_entry(key, pin).map(|(_, value)| value)
    }

    /// Takes a key out; returns the stored key and its value. Consistency as
    /// [`ConcurrentMap::insert`].
    #[inline]
    pub fn remove_entry<'g, Q>(&'g self, key: &Q, pin: &'g impl Pin) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let is_it = |e: &NodeRef<K, V>| e.key().borrow() == key;
        let hash = self.index.hash_of(key);
        let old = self
            .index
            .upsert_by(hash, is_it, pin, |old| (Action::Remove, old));
        old.map(|old| Self::retire(old, pin))
    }

    /// Replaces, inserts or removes a key's value as the closure says that sees the present one.
    ///
    /// The closure may be called several times, runs with no lock held, and may use the map.
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
    ///
    /// # Consistency
    ///
    /// Linearizable: what the closure saw was in the map until its result replaced it.
    pub fn compute<'g>(
        &'g self,
        key: K,
        pin: &'g impl Pin,
        mut f: impl FnMut(Option<&'g V>) -> Action<V>,
    ) -> Computed<'g, V> {
        let hash = self.index.hash_of(&key);
        let mut key = key;
        loop {
            let seen = self.index.find(hash, |e| *e.key() == key);
            // SAFETY: as in `get`.
            let old = seen.map(|node| unsafe { node.value() });
            match f(old) {
                // What was read last is the answer, and reading it was the operation.
                Action::Keep => return Computed { old, new: old },
                Action::Remove if seen.is_none() => return Computed { old, new: None },
                Action::Remove => {
                    if self.swap(hash, &key, seen, None, pin) {
                        return Computed { old, new: None };
                    }
                }
                Action::Put(value) => {
                    let node = NodeRef::new(key, value);
                    if self.swap(hash, node.key(), seen, Some(node), pin) {
                        // SAFETY: published under the pin: whoever retires it does so later (R).
                        let new = unsafe { node.value() };
                        return Computed {
                            old,
                            new: Some(new),
                        };
                    }
                    // SAFETY: it was not put in, so nobody has seen it.
                    key = unsafe { node.into_parts() }.0;
                }
            }
            // Somebody changed this key since it was read: look again.
        }
    }

    /// The value of a key, which is put there first if there is none.
    ///
    /// The closure runs with no lock held, at most once, and may use the map; its value is dropped
    /// if another thread was first. Consistency as [`ConcurrentMap::compute`].
    pub fn get_or_insert_with<'g>(
        &'g self,
        key: K,
        pin: &'g impl Pin,
        make: impl FnOnce() -> V,
    ) -> &'g V {
        let hash = self.index.hash_of(&key);
        if let Some(node) = self.index.find(hash, |e| *e.key() == key) {
            // SAFETY: as in `get`.
            return unsafe { node.value() };
        }
        let node = NodeRef::new(key, make());
        let is_it = |e: &NodeRef<K, V>| e.key() == node.key();
        let present = self.index.upsert_by(hash, is_it, pin, |old| match old {
            Some(old) => (Action::Keep, old),
            None => (Action::Put(node), node),
        });
        if present != node {
            // SAFETY: it was not put in, so nobody has seen it.
            drop(unsafe { node.into_parts() });
        }
        // SAFETY: `present` was in the map under the pin (R).
        unsafe { present.value() }
    }

    /// Replaces a key's value by one made of it; returns the new value, `None` if the key is absent.
    /// Closure and consistency as [`ConcurrentMap::compute`].
    pub fn update<'g, Q>(
        &'g self,
        key: &Q,
        pin: &'g impl Pin,
        mut f: impl FnMut(&'g V) -> V,
    ) -> Option<&'g V>
    where
        K: Borrow<Q> + Clone,
        Q: Hash + Eq + ?Sized,
    {
        let (stored, _) = self.get_key_value(key, pin)?;
        let put = |old: Option<&'g V>| old.map_or(Action::Keep, |old| Action::Put(f(old)));
        self.compute(stored.clone(), pin, put).new
    }

    /// All entries, in no order that means anything.
    ///
    /// Under an [`OwnedGuard`](crate::reclaim::OwnedGuard) the iterator is `Send`.
    ///
    /// # Consistency
    ///
    /// An entry that is there throughout is met exactly once. Writers are not held up.
    pub fn iter<'g, P: Pin>(&'g self, pin: &'g P) -> Iter<'g, K, V, S, P> {
        Iter::new(Entries::new(&self.index, pin))
    }

    /// All keys, as [`ConcurrentMap::iter`].
    pub fn keys<'g, P: Pin>(&'g self, pin: &'g P) -> Keys<'g, K, V, S, P> {
        Keys::new(self.iter(pin))
    }

    /// All values, as [`ConcurrentMap::iter`].
    pub fn values<'g, P: Pin>(&'g self, pin: &'g P) -> Values<'g, K, V, S, P> {
        Values::new(self.iter(pin))
    }

    /// Takes out every entry that the closure says no to.
    ///
    /// The closure runs with no lock held and may see several values of one key.
    ///
    /// # Consistency
    ///
    /// As [`ConcurrentMap::iter`]; each removal is linearizable by itself, and takes out exactly the
    /// value that the closure saw.
    pub fn retain(&self, pin: &impl Pin, mut keep: impl FnMut(&K, &V) -> bool) {
        for mut node in Entries::new(&self.index, pin) {
            let hash = self.index.hash_of(node.key());
            // SAFETY: as in `get`.
            while let (key, value) = unsafe { node.pair() }
                && !keep(key, value)
                && !self.swap(hash, key, Some(node), None, pin)
            {
                // It was replaced or taken out meanwhile: ask about what is there now.
                let Some(now) = self.index.find(hash, |e| e.key() == key) else {
                    break;
                };
                node = now;
            }
        }
    }

    /// Takes everything out that is there throughout. Consistency as [`ConcurrentMap::retain`].
    pub fn clear(&self, pin: &impl Pin) {
        self.retain(pin, |_, _| false);
    }

    #[inline]
    fn find<Q>(&self, key: &Q, _: &impl Pin) -> Option<NodeRef<K, V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.index
            .find(self.index.hash_of(key), |e| e.key().borrow() == key)
    }

    /// Puts `new` (or nothing) in the place of `seen` (or nothing) if that is still there.
    fn swap(
        &self,
        hash: u64,
        key: &K,
        seen: Option<NodeRef<K, V>>,
        new: Option<NodeRef<K, V>>,
        pin: &impl Pin,
    ) -> bool {
        let swapped = self.index.swap(hash, |e| e.key() == key, seen, new, pin);
        if let (true, Some(old)) = (swapped, seen) {
            Self::retire(old, pin);
        }
        swapped
    }

    /// Retires a node that this thread took out; what it holds can be used under the pin.
    #[inline]
    fn retire(old: NodeRef<K, V>, pin: &impl Pin) -> (&K, &V) {
        // SAFETY: an upsert of this thread took it out, and hands it out once. It is freed after
        // the pin is gone (R).
        unsafe {
            old.retire(pin);
            old.pair()
        }
    }
}

impl<K, V, S: Default> Default for ConcurrentMap<K, V, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K, V, S> fmt::Debug for ConcurrentMap<K, V, S>
where
    K: Hash + Eq + Send + Sync + fmt::Debug + 'static,
    V: Send + Sync + fmt::Debug + 'static,
    S: BuildHasher,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter(&pin())).finish()
    }
}

impl<K, V, S> Extend<(K, V)> for ConcurrentMap<K, V, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher,
{
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, pairs: T) {
        let pinned = self.pin();
        for (key, value) in pairs {
            pinned.insert(key, value);
        }
    }
}

impl<K, V, S> FromIterator<(K, V)> for ConcurrentMap<K, V, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Default,
{
    fn from_iter<T: IntoIterator<Item = (K, V)>>(pairs: T) -> Self {
        let pairs = pairs.into_iter();
        let mut map = Self::with_capacity_and_hasher(pairs.size_hint().0, S::default());
        map.extend(pairs);
        map
    }
}
