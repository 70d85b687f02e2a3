//! [`InlineMap`]: the `hash` design for keys and values of one word, without entries behind pointers.
//!
//! # Why
//!
//! In [`ConcurrentMap`](crate::ConcurrentMap) a hit waits for two cache misses: the bucket, then the
//! entry. Keys and values that fit into a word each can lie in the bucket itself, so a hit waits for one
//! (the bucket's second line, with the values, is fetched at the same time as the first). There is
//! nothing to allocate, nothing to free, and so nothing to be pinned for.
//!
//! # Invariant **VERSION**: a read is true at one moment
//!
//! A bucket's header says which slots hold pairs, and a version that changes whenever that set does. A
//! reader loads the header, reads, and loads the header again. If it is the same (but for the lock
//! bit), no pair came, went or changed its slot in between, so the pair that was found (or its absence) was there
//! throughout; a value is one word, replaced by one store, and what the reader saw of it was true when it looked. If
//! the header has changed, a writer has finished meanwhile, and the reader looks again: a read waits for no writer, it
//! repeats only because one has succeeded. A slot is written before a header says that it is occupied, and by `Release`
//! stores: a reader that sees a new pair's word also sees the header by which the old pair was taken out.
//!
//! # Invariant **ONE_PLACE**: each hash has one bucket that is live
//!
//! A bucket is *live* or not, by a bit of its header. For each hash one bucket is live, in the array of
//! the present size or in that of the next; while pairs move both are for a moment, locked and equal
//! (see `resize`). Not live means: look elsewhere. Memory keeps its type (invariant MEMORY_TYPE, in `space`).
//!
//! So it does not matter how a thread has come to a bucket that it finds live. The *hint* is where it looks first: the
//! array that was the present one a moment ago. There is none before the first pair comes: a map that has never had one
//! is this struct, and nothing else.
//!
//! # Invariant **HINTED**: there is a hint before there is a pair
//!
//! A reader that finds no hint answers that nothing is there. A writer sees to it that there is a hint, and never takes
//! it away again, before it locks a bucket.
//!
//! # Invariant **FRESH**: the first array is live before anyone has written it
//!
//! A map with room for millions is made in no time: the system's zeros are its buckets. So a header of zero means that
//! the bucket is live and empty, while the array is the map's first and has not been moved out of: a bucket's header is
//! not zero once it has been written, not even when it is dead, and an array is discarded only when a root has been
//! published that says so. Who finds a zero looks at the root *again*: if that is as it was, the zero is no discarded
//! one. Readers take it for an empty bucket; who wants to write, or to move it, brings it to life with its neighbours
//! first, under the lock that discarding takes.

mod bucket;
mod fill;
mod iter;
#[cfg(any(loom, shuttle))]
mod model;
mod resize;
mod space;
mod state;
mod word;

use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

use fyris_sync::atomic::{AtomicU64, Ordering};
use fyris_sync::counter::Striped;
use fyris_sync::lock::Backoff;

use self::bucket::{InlineBucket, LockedInline, Read};
pub use self::iter::InlineIter;
use self::space::Place;
use self::state::InlineState;
pub use self::word::Word;
use crate::Action;
use crate::capacity::{CapacityError, or_panic};
use crate::hash::RandomState;
use crate::into_iter::IntoIter;
use crate::once_box::OnceBox;

/// A concurrent hash map of keys and values of one word each: integers, `bool`, `char`, and `f64` as values.
///
/// **When to take it**: for integers, `bool` and `char` as keys, where their order does not matter.
///
/// ```
/// use fyris_index::InlineMap;
///
/// let squares = InlineMap::new();
/// std::thread::scope(|s| {
///     for t in 0..4u32 {
///         let squares = &squares;
///         s.spawn(move || (0..100).for_each(|i| _ = squares.insert(4 * i + t, i)));
///     }
/// });
/// assert_eq!(squares.get(&399), Some(99));
/// assert_eq!(squares.len(), 400);
/// ```
///
/// # Consistency
///
/// Operations on one key are linearizable. Readers take no lock and write nothing. A traversal sees
/// each bucket at one moment, and meets a pair that is there throughout exactly once.
///
/// # Cost
///
/// A hit waits for one cache miss. A pair takes 26 to 51 bytes, about 35 at random; nothing is
/// allocated but the table.
pub struct InlineMap<K, V, S = RandomState> {
    /// The [`Place`] of the array to look in first; 0 before the first pair.
    hint: AtomicU64,
    hasher: S,
    /// None before the first pair.
    state: OnceBox<InlineState>,
    /// The binary logarithm of the least number of buckets.
    floor: u32,
    entries: PairCount,
    pairs: PhantomData<Invariant<K, V>>,
}

/// Pairs that one thread puts in others take out: the type of a map is invariant in `K` and `V`.
type Invariant<K, V> = fn(K, V) -> (K, V);

/// The number of pairs, which writers write, on a line apart from those that readers read.
#[repr(align(64))]
#[derive(Default)]
struct PairCount(Striped);

impl<K: Word + Hash, V: Word> InlineMap<K, V> {
    /// Makes an empty map. Allocates nothing before the first pair, and then some 500 bytes.
    ///
    /// ```
    /// let map = fyris_index::InlineMap::new();
    /// map.insert('a', 1.5);
    /// ```
    pub fn new() -> Self {
        Self::with_hasher(RandomState::default())
    }

    /// Makes an empty map that holds `capacity` pairs before its table grows (some lie beside it), and never shrinks
    /// below that. O(1): its memory is the system's until it is written, by pages (of 2 MiB, where the system has
    /// such).
    ///
    /// ```
    /// let map = fyris_index::InlineMap::with_capacity(1000);
    /// let before = map.memory();
    /// (0..1000).for_each(|n| _ = map.insert(n, n));
    /// assert!(map.memory() < 2 * before);
    /// ```
    ///
    /// # Panics
    ///
    /// If there is no memory for that many, "capacity overflow".
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, RandomState::default())
    }

    /// Makes an empty map that holds `capacity` pairs before its table grows, as
    /// [`with_capacity`](Self::with_capacity); an error if there is no memory for that many.
    ///
    /// ```
    /// let map = fyris_index::InlineMap::<u32, u32>::try_with_capacity(1000);
    /// assert!(map.is_ok());
    /// let map = fyris_index::InlineMap::<u32, u32>::try_with_capacity(usize::MAX);
    /// assert_eq!(map.err().map(|error| error.capacity()), Some(usize::MAX));
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        Self::try_with_capacity_and_hasher(capacity, RandomState::default())
    }
}

impl<K, V, S> InlineMap<K, V, S> {
    /// Returns the number of pairs.
    ///
    /// # Consistency
    ///
    /// As of the other maps: [`Map::len`](crate::map::Map::len). O(processors).
    ///
    /// ```
    /// let map = fyris_index::InlineMap::from([(1, 10), (2, 20)]);
    /// assert_eq!(map.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        usize::try_from(self.entries.0.sum()).unwrap_or(0)
    }

    /// Returns whether there are no pairs; as exact as [`InlineMap::len`]: never true while there is one throughout.
    ///
    /// ```
    /// assert!(fyris_index::InlineMap::<u32, u32>::new().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of pairs at one moment during the call, and consistent with other operations as
    /// [`Map::exact_len`](crate::map::Map::exact_len) says. Takes long while others write without a pause.
    ///
    /// ```
    /// let map = fyris_index::InlineMap::from([(1, 10), (2, 20)]);
    /// assert_eq!(map.exact_len(), 2);
    /// ```
    pub fn exact_len(&self) -> usize {
        usize::try_from(self.entries.0.exact()).unwrap_or(0)
    }

    /// Returns the number of bytes allocated. O(1).
    ///
    /// ```
    /// let map: fyris_index::InlineMap<u32, u32> = (0..1000).map(|n| (n, n)).collect();
    /// assert!(map.memory() > 1000 * 16); // keys and values are words
    /// ```
    pub fn memory(&self) -> usize {
        let state = self
            .state
            .get()
            .map_or(0, |state| size_of_val(state) + state.space.memory());
        size_of::<Self>() + state + self.entries.0.memory()
    }

    /// Returns the array to look in first (HINTED).
    #[inline]
    fn hint(&self) -> Place {
        // Acquire: pairs with the Release in `set_hint` and in `made`: the array has been made.
        Place(self.hint.load(Ordering::Acquire))
    }

    fn set_hint(&self, place: Place) {
        // Release: pairs with the Acquire in `hint`.
        self.hint.store(place.0, Ordering::Release);
    }

    /// Returns the buckets, made now if need be, and sees to it that there is a hint (HINTED). Aborts if there is no
    /// memory.
    #[cold]
    fn made(&self) -> &InlineState {
        let state = self.state.get_or_make(|| {
            let made = InlineState::try_new(resize::MIN_BITS);
            made.unwrap_or_else(|| handle_alloc_error(Layout::new::<[InlineBucket; 2]>()))
        });
        if self.hint().0 == 0 && !cfg!(fyris_mutant = "inline_writes_unhinted") {
            let place = state.space.place(0).steady();
            // Release: pairs with the Acquire in `hint`. If another thread has set it, that serves as well.
            let _ = (self.hint).compare_exchange(0, place.0, Ordering::Release, Ordering::Relaxed);
        }
        state
    }
}

impl<K: Word + Hash, V: Word, S: BuildHasher> InlineMap<K, V, S> {
    /// Makes an empty map with this hasher.
    ///
    /// ```
    /// use std::hash::RandomState;
    ///
    /// let map = fyris_index::InlineMap::with_hasher(RandomState::new());
    /// map.insert(1, 10);
    /// ```
    pub fn with_hasher(hasher: S) -> Self {
        or_panic(Self::try_sized(0, hasher))
    }

    /// Makes an empty map with this hasher that holds `capacity` pairs before it grows, as
    /// [`InlineMap::with_capacity`].
    ///
    /// ```
    /// use std::hash::RandomState;
    ///
    /// let map = fyris_index::InlineMap::with_capacity_and_hasher(1000, RandomState::new());
    /// map.insert(1, 10);
    /// ```
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        or_panic(Self::try_with_capacity_and_hasher(capacity, hasher))
    }

    /// Makes an empty map with this hasher that holds `capacity` pairs before its table grows; an error if there is no
    /// memory for that many.
    ///
    /// ```
    /// use fyris_index::InlineMap;
    /// use std::hash::RandomState;
    ///
    /// let map = InlineMap::<u8, u8, _>::try_with_capacity_and_hasher(usize::MAX, RandomState::new());
    /// assert!(map.is_err());
    /// ```
    pub fn try_with_capacity_and_hasher(capacity: usize, hasher: S) -> Result<Self, CapacityError> {
        let mut map = Self::try_sized(capacity, hasher)?;
        map.floor = map
            .state
            .get()
            .map_or(map.floor, |state| state.root().now());
        Ok(map)
    }

    /// Makes an empty map with room for `capacity` pairs, which it need not keep.
    fn try_sized(capacity: usize, hasher: S) -> Result<Self, CapacityError> {
        let mut map = Self {
            hint: AtomicU64::new(0),
            hasher,
            state: OnceBox::default(),
            floor: resize::MIN_BITS,
            entries: PairCount::default(),
            pairs: PhantomData,
        };
        if capacity > 0 {
            let bits = resize::bits_for(capacity);
            let state = bits.and_then(InlineState::try_new);
            let state = state.ok_or(CapacityError::new(capacity))?;
            if state.root().now() >= resize::INFLATE_BITS {
                map.entries.0.inflate();
            }
            map.hint = AtomicU64::new(state.space.place(0).steady().0);
            map.state = OnceBox::of(state);
        }
        Ok(map)
    }

    /// Returns the value of a key.
    ///
    /// # Consistency
    ///
    /// Linearizable and lock-free.
    ///
    /// ```
    /// let map = fyris_index::InlineMap::from([(1, 10)]);
    /// assert_eq!((map.get(&1), map.get(&2)), (Some(10), None)); // a copy: nothing is pinned
    /// ```
    #[inline]
    pub fn get(&self, key: &K) -> Option<V> {
        // SAFETY: values are only ever put in as words of `V`.
        self.get_word(key).map(|word| unsafe { V::from_word(word) })
    }

    /// Returns whether a key is there. Consistency as [`InlineMap::get`].
    ///
    /// ```
    /// let map = fyris_index::InlineMap::from([(1, 10)]);
    /// assert!(map.contains_key(&1));
    /// ```
    #[inline]
    pub fn contains_key(&self, key: &K) -> bool {
        self.get_word(key).is_some()
    }

    /// Puts a value under a key; returns the value that was there.
    ///
    /// # Consistency
    ///
    /// Linearizable. Waits only for writers of the same bucket.
    ///
    /// ```
    /// let map = fyris_index::InlineMap::new();
    /// assert_eq!((map.insert(1, 10), map.insert(1, 20)), (None, Some(10)));
    /// ```
    #[inline]
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        // SAFETY: as in `get`.
        self.change(key, |_| Action::Put(value.into_word()))
            .map(|old| unsafe { V::from_word(old) })
    }

    /// Takes a key out; returns its value. Consistency as [`InlineMap::insert`].
    ///
    /// ```
    /// let map = fyris_index::InlineMap::from([(1, 10)]);
    /// assert_eq!((map.remove(&1), map.remove(&1)), (Some(10), None));
    /// ```
    #[inline]
    pub fn remove(&self, key: &K) -> Option<V> {
        if self.hint().0 == 0 {
            // No pair has come yet (HINTED).
            return None;
        }
        // SAFETY: as in `get`.
        self.change(*key, |_| Action::Remove)
            .map(|old| unsafe { V::from_word(old) })
    }

    /// Replaces, inserts or removes a key's value as the closure says that sees the present one.
    /// Returns the value that the closure's last call saw and the one in the map right after.
    ///
    /// The closure may be called several times, runs with no lock held, and may use the map.
    ///
    /// # Consistency
    ///
    /// Linearizable: the result replaces the very value that the closure saw (or an equal one).
    ///
    /// ```
    /// use fyris_index::{Action, InlineMap};
    ///
    /// let lives = InlineMap::from([('c', 1)]);
    /// let lose = |n: Option<u32>| match n {
    ///     Some(n) if n > 1 => Action::Put(n - 1),
    ///     _ => Action::Remove,
    /// };
    /// assert_eq!(lives.compute('c', lose), (Some(1), None));
    /// ```
    pub fn compute(
        &self,
        key: K,
        mut f: impl FnMut(Option<V>) -> Action<V>,
    ) -> (Option<V>, Option<V>) {
        loop {
            let seen = self.get_word(&key);
            // SAFETY: as in `get`.
            let old = seen.map(|word| unsafe { V::from_word(word) });
            let (action, new) = match f(old) {
                Action::Keep => return (old, old),
                Action::Remove if old.is_none() => return (None, None),
                Action::Remove => (Action::Remove, None),
                Action::Put(new) => (Action::Put(new.into_word()), Some(new)),
            };
            if self.change(key, |now| if now == seen { action } else { Action::Keep }) == seen {
                return (old, new);
            }
            // Another thread changed this key since it was read: look again.
        }
    }

    /// Returns the value of a key, which is put there first if there is none: what the closure makes, which runs once,
    /// outside of locks, and is discarded if another thread was quicker.
    ///
    /// ```
    /// let squares = fyris_index::InlineMap::new();
    /// assert_eq!(squares.get_or_insert_with(7, || 7 * 7), 49);
    /// assert_eq!(squares.get_or_insert_with(7, || unreachable!()), 49);
    /// ```
    pub fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> V {
        if let Some(value) = self.get(&key) {
            return value;
        }
        let made = make();
        let put = |now: Option<u64>| now.map_or(Action::Put(made.into_word()), |_| Action::Keep);
        // SAFETY: as in `get`.
        self.change(key, put)
            .map_or(made, |there| unsafe { V::from_word(there) })
    }

    /// Returns the value of a key, which is put there first if there is none. Consistency as [`InlineMap::compute`].
    ///
    /// ```
    /// let map = fyris_index::InlineMap::new();
    /// assert_eq!((map.get_or_insert(1, 10), map.get_or_insert(1, 20)), (10, 10));
    /// ```
    pub fn get_or_insert(&self, key: K, value: V) -> V {
        self.get_or_insert_with(key, || value)
    }

    /// Replaces a key's value by one made of it, or puts `value` there if there is none; returns what is there then.
    /// Closure and consistency as [`InlineMap::compute`].
    ///
    /// ```
    /// let counts = fyris_index::InlineMap::new();
    /// "hello".chars().for_each(|letter| _ = counts.update_or_insert(letter, |n| n + 1, 1));
    /// assert_eq!(counts.get(&'l'), Some(2));
    /// ```
    pub fn update_or_insert(&self, key: K, mut f: impl FnMut(V) -> V, value: V) -> V {
        let put = |old: Option<V>| Action::Put(old.map_or(value, &mut f));
        self.compute(key, put).1.unwrap_or(value)
    }

    /// Replaces a key's value by one made of it; returns the new value, `None` if the key is absent.
    /// Closure and consistency as [`InlineMap::compute`].
    ///
    /// ```
    /// let map = fyris_index::InlineMap::from([(1, 10)]);
    /// assert_eq!((map.update(&1, |n| n + 1), map.update(&2, |n| n + 1)), (Some(11), None));
    /// ```
    pub fn update(&self, key: &K, mut f: impl FnMut(V) -> V) -> Option<V> {
        self.compute(*key, |old| {
            old.map_or(Action::Keep, |old| Action::Put(f(old)))
        })
        .1
    }

    /// Returns an iterator over all pairs, in no particular order. The iterator is `Send`.
    ///
    /// # Consistency
    ///
    /// A pair that is there throughout is met exactly once. Writers are not held up.
    ///
    /// ```
    /// let map = fyris_index::InlineMap::from([(1, 10), (2, 20)]);
    /// map.iter().for_each(|(key, value)| _ = map.insert(key, value + 1)); // no lock is held
    /// assert_eq!(map.values().sum::<i32>(), 32);
    /// ```
    pub fn iter(&self) -> InlineIter<'_, K, V, S> {
        InlineIter::new(self)
    }

    /// Returns an iterator over all keys, as [`InlineMap::iter`].
    ///
    /// ```
    /// let map = fyris_index::InlineMap::from([(1, 10), (2, 20)]);
    /// assert_eq!(map.keys().max(), Some(2));
    /// ```
    pub fn keys(&self) -> impl Iterator<Item = K> + Send + '_
    where
        S: Sync,
    {
        self.iter().map(|(key, _)| key)
    }

    /// Returns an iterator over all values, as [`InlineMap::iter`].
    ///
    /// ```
    /// let map = fyris_index::InlineMap::from([(1, 10), (2, 20)]);
    /// assert_eq!(map.values().max(), Some(20));
    /// ```
    pub fn values(&self) -> impl Iterator<Item = V> + Send + '_
    where
        S: Sync,
    {
        self.iter().map(|(_, value)| value)
    }

    /// Returns the map itself: pairs are copied out of it, so nothing has to be pinned. The other maps have such a
    /// method; code that is written for one fits another.
    ///
    /// ```
    /// let map = fyris_index::InlineMap::from([(1, 10)]);
    /// assert_eq!(map.pin().get(&1), map.get(&1));
    /// ```
    #[inline]
    pub fn pin(&self) -> &Self {
        self
    }

    /// Takes out every pair that the closure says no to; it runs with no lock held, and again for a pair
    /// that has changed since. Consistency as [`InlineMap::iter`].
    ///
    /// ```
    /// let map = fyris_index::InlineMap::from([(1, 10), (2, 20)]);
    /// map.retain(|_, value| *value > 10);
    /// assert!(map.keys().eq([2]));
    /// ```
    pub fn retain(&self, mut keep: impl FnMut(&K, &V) -> bool) {
        for (key, _) in self.iter() {
            self.compute(key, |value| match value {
                Some(value) if !keep(&key, &value) => Action::Remove,
                _ => Action::Keep,
            });
        }
    }

    /// Takes everything out that is there throughout. Consistency as [`InlineMap::retain`].
    ///
    /// ```
    /// let map = fyris_index::InlineMap::from([(1, 10), (2, 20)]);
    /// map.clear();
    /// assert!(map.is_empty());
    /// ```
    pub fn clear(&self) {
        self.retain(|_, _| false);
    }

    #[inline]
    fn get_word(&self, key: &K) -> Option<u64> {
        let hint = self.hint();
        if hint.0 == 0 {
            // No pair has come yet (HINTED).
            return None;
        }
        let (hash, key) = (self.hash_of(key), key.into_word());
        // SAFETY: an array of this map (MEMORY_TYPE).
        if let Read::Answer(answer) = unsafe { hint.bucket(hash) }.get(key) {
            return answer;
        }
        self.get_word_again(hash, key)
    }

    #[cold]
    fn get_word_again(&self, hash: u64, key: u64) -> Option<u64> {
        let state = self.state.get()?;
        let mut backoff = Backoff::new();
        loop {
            // The live bucket of the hash is in the array of the present size or of the next (ONE_PLACE). Each is
            // asked:
            // * it answers: no pair came or went while it was read, so that was true at one moment (VERSION);
            // * its header is zero, and the root is the same after that: nobody has ever written there (FRESH), so
            //   there is no pair;
            // * it is not live: its content is in the other array, or it has none yet;
            // * another thread has finished a change of it meanwhile: to be read again.
            // If none has answered, a move or a change was completed between two looks: again, from the root of now.
            let root = state.root();
            for place in state.places(root) {
                // SAFETY: an array of this map (MEMORY_TYPE).
                let bucket = unsafe { place.bucket(hash) };
                match bucket.get(key) {
                    Read::Answer(answer) => return answer,
                    _ if state.is_fresh(root, place, bucket) => return None,
                    _ => {}
                }
            }
            backoff.wait();
        }
    }

    /// Runs `f` on the value of a key under the bucket's lock, does as it says, returns the old value.
    /// `f` is ours: it neither blocks nor panics.
    #[inline]
    fn change(&self, key: K, f: impl FnOnce(Option<u64>) -> Action<u64>) -> Option<u64> {
        let hash = self.hash_of(&key);
        let locked = self.lock(hash);
        self.change_locked(locked, key.into_word(), f)
    }

    /// As [`change`](Self::change), in the bucket of the key, which is locked, and whose array has this size.
    #[inline]
    fn change_locked(
        &self,
        (bits, mut locked): (u32, LockedInline<'_>),
        key: u64,
        f: impl FnOnce(Option<u64>) -> Action<u64>,
    ) -> Option<u64> {
        let found = locked.find(key);
        let old = found.map(|(_, value)| value);
        match (f(old), found) {
            (Action::Put(value), Some((place, _))) => {
                locked.replace(place, value);
                drop(locked);
            }
            (Action::Put(value), None) => {
                // Before it can be seen, and a removal after that: a count is never too low.
                self.entries.0.add(1);
                let overflows = locked.insert(key, value, &mut || self.made().space.spare());
                drop(locked);
                if overflows {
                    self.grow_if_full(bits);
                }
            }
            (Action::Remove, Some((place, _))) => {
                locked.remove(place);
                if let Some(spare) = locked.unlock() {
                    self.made().space.take_back([spare]);
                }
                let nth = self.entries.0.add(-1);
                self.shrink_if_empty(bits, nth);
            }
            (Action::Keep, _) | (Action::Remove, None) => drop(locked),
        }
        old
    }

    /// Locks the live bucket of a hash; on the way, does a share of a move that is under way. Returns also the binary
    /// logarithm of the size of its array.
    #[inline]
    fn lock(&self, hash: u64) -> (u32, LockedInline<'_>) {
        let hint = self.hint();
        if hint.is_steady() {
            // SAFETY: an array of this map (MEMORY_TYPE).
            let bucket = unsafe { hint.bucket(hash) };
            if let Some(locked) = bucket.lock() {
                return (hint.bits(), locked);
            }
        }
        self.lock_while_moving(hash)
    }

    #[cold]
    fn lock_while_moving(&self, hash: u64) -> (u32, LockedInline<'_>) {
        let state = self.made();
        loop {
            // * A move is under way: first a chunk of it, so that it ends.
            // * The bucket of the present size, or else of the next, is live: once locked it is the one of the hash
            //   (ONE_PLACE).
            // * Neither is: the sizes have changed since they were looked at, or nobody has written here yet. Then it
            //   is brought to life (FRESH), and all begins again from the root of now.
            let root = state.root();
            if root.is_moving() {
                self.help(state, root);
            }
            for place in state.places(root) {
                // SAFETY: an array of this map (MEMORY_TYPE).
                if let Some(locked) = unsafe { place.bucket(hash) }.lock() {
                    return (place.bits(), locked);
                }
            }
            let now = state.now(root);
            state.freshen(root, now, now.index(hash));
        }
    }

    #[inline]
    fn hash_of(&self, key: &K) -> u64 {
        crate::hash::spread(self.hasher.hash_one(key))
    }

    #[inline]
    fn hash_of_word(&self, key: u64) -> u64 {
        // SAFETY: keys are only ever put in as words of `K`.
        self.hash_of(&unsafe { K::from_word(key) })
    }
}

impl<K: Word + Hash, V: Word, S: BuildHasher + Default> Default for InlineMap<K, V, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K, V, S> fmt::Debug for InlineMap<K, V, S>
where
    K: Word + Hash + fmt::Debug,
    V: Word + fmt::Debug,
    S: BuildHasher,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Word + Hash, V: Word, S: BuildHasher + Clone> Clone for InlineMap<K, V, S> {
    /// Copies the pairs as [`InlineMap::iter`] meets them.
    fn clone(&self) -> Self {
        let mut copy = or_panic(Self::try_sized(self.len(), self.hasher.clone()));
        copy.extend(self);
        copy
    }
}

impl<'m, K: Word + Hash, V: Word, S: BuildHasher> IntoIterator for &'m InlineMap<K, V, S> {
    type Item = (K, V);
    type IntoIter = InlineIter<'m, K, V, S>;

    fn into_iter(self) -> InlineIter<'m, K, V, S> {
        self.iter()
    }
}

/// `for (key, value) in map`, in no order that means anything.
impl<K: Word + Hash, V: Word, S: BuildHasher> IntoIterator for InlineMap<K, V, S> {
    type Item = (K, V);
    type IntoIter = IntoIter<(K, V)>;

    fn into_iter(self) -> IntoIter<(K, V)> {
        // SAFETY: copies.
        unsafe { IntoIter::new(self.iter().collect()) }
    }
}
