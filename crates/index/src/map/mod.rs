//! [`ConcurrentMap`], [`BytesMap`] and [`CopyMap`]: the `hash` index with keys and values of the user's types.
//!
//! They are one implementation, [`Map`], and differ in how a pair is stored ([`MapStorage`]):
//!
//! | map | storage | keys |
//! |---|---|---|
//! | [`ConcurrentMap<K, V>`] | [`Boxed`]: key and value behind one pointer | any `K: Hash + Eq` that borrows nothing |
//! | [`CopyMap<K, V>`] | [`Copied`]: the same | `Copy`, and may borrow: `&str` of a text read by several threads |
//! | [`BytesMap<V>`] | [`Packed`]: the bytes of the key behind the value | byte strings, copied into the map |
//!
//! In a `ConcurrentMap<Box<[u8]>, V>` a hit waits for three cache misses, one after the other: the bucket, the pair,
//! the bytes of the key. In a [`BytesMap`] it waits for two, and a pair is one block to allocate and to free.
//!
//! # Why references tied to a pin
//!
//! A map of locks hands out lock guards, and two guards in one thread are a deadlock waiting for its
//! day. This map hands out plain references: a value is immutable, an update puts another in its
//! place, and the old one is freed when no thread is pinned that could see it. A reference lives as
//! long as the pin it was got under. Nothing that a caller holds can block another thread; a pin held long only delays
//! the freeing of memory.
//!
//! # Why there is no `entry`
//!
//! The `Entry` of the standard library's maps is the right to change one key, held over several calls. In a map that is
//! shared, such a right is a lock that the caller holds. So each of its uses is one call here, whose closure runs with
//! no lock held; the result is put in place if the pair is still the one that the closure saw (the same allocation:
//! under the pin no address comes up twice), and otherwise the closure runs again. So a closure may use the map itself.
//!
//! | `std` | here |
//! |---|---|
//! | `entry(k).or_insert(v)` | [`get_or_insert(k, v)`](Map::get_or_insert) |
//! | `entry(k).or_insert_with(f)` | [`get_or_insert_with(k, f)`](Map::get_or_insert_with) |
//! | `entry(k).and_modify(f)` | [`update(&k, f)`](Map::update) |
//! | `entry(k).and_modify(f).or_insert(v)` | [`update_or_insert(k, f, v)`](Map::update_or_insert) |
//! | `match entry(k)`, and everything else | [`compute(k, f)`](Map::compute) |
//!
//! Two of them differ from their model. `update_or_insert` and `compute` with `Put` replace the stored key too, by the
//! one that was given; `and_modify` keeps it. And several threads that find a key absent at the same time each run the
//! closure of their own call of `get_or_insert_with`; one value is put in, and the others are dropped. Where it has to
//! run once, the value is a cell, as [there](Map::get_or_try_insert_with_key).
//!
//! # Why keys are `'static`
//!
//! A pair that a map has put out is freed at some later time, perhaps after the map itself is gone: one collector
//! serves every structure of the process. The drop of a key or value may use what it borrows, and a borrow could have
//! ended by then. So keys and values borrow nothing, but where they are `Copy` and dropping them runs no code:
//! [`CopyMap`].
//!
#![doc = include_str!("errors.md")]

mod iter;
mod node;
mod pinned;
mod read;
mod storage;
mod traits;
mod write;

use fyris_sync::reclaim::pin;

pub use self::iter::{MapIter, MapKeys, MapValues};
pub use self::pinned::PinnedMap;
pub use self::storage::{Boxed, Copied, MakeEntry, MapStorage, Packed, RemakeEntry};
use crate::HashIndex;
use crate::capacity::{CapacityError, or_panic};
use crate::hash::RandomState;
use crate::retired::Retired;

/// A concurrent hash map with lock-free reads.
///
/// **When to take it**: for any keys and values that borrow nothing, where their order does not matter.
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
/// Its methods are those of [`Map`], which says what they promise and cost. Why keys and values are `'static`, and why
/// there is no `entry`, is said in the [module](self). Keys that borrow go into a [`CopyMap`] or, as bytes, into a
/// [`BytesMap`].
pub type ConcurrentMap<K, V, H = RandomState> = Map<K, V, Boxed, H>;

/// A [`ConcurrentMap`] of `Copy` keys and values, which may borrow.
///
/// **When to take it**: for keys or values that are references into something that outlives the map.
///
/// ```
/// use fyris_index::CopyMap;
///
/// let text = String::from("to be or not to be");
/// let words = CopyMap::new();
/// std::thread::scope(|s| {
///     for half in [&text[..8], &text[9..]] {
///         let words = &words;
///         s.spawn(move || {
///             let words = words.pin();
///             for word in half.split(' ') {
///                 words.update_or_insert(word, |n| n + 1, 1);
///             }
///         });
///     }
/// });
/// assert_eq!(words.pin().get("be"), Some(&2));
/// ```
pub type CopyMap<K, V, H = RandomState> = Map<K, V, Copied, H>;

/// A concurrent hash map from byte strings, each in one block with its value.
///
/// **When to take it**: for texts and byte strings as keys, which the map is to own; their order does not matter.
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
/// Its methods are those of [`Map`]. A key is given, and asked for, as anything that is `AsRef<[u8]>`; it is copied.
/// A pair takes 4 bytes more than value and key, in steps of the allocator.
///
/// # Panics
///
/// Inserting a key of 4 GiB or more panics.
pub type BytesMap<V, H = RandomState> = Map<[u8], V, Packed, H>;

/// The map that [`ConcurrentMap`], [`CopyMap`] and [`BytesMap`] are.
///
/// [`Map::pin`] gives a view that is pinned once for several operations. The methods here
/// take the pin as an argument, so that one pin can serve several maps:
///
/// ```
/// use fyris_index::{ConcurrentMap, reclaim};
///
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
/// thread reads. A traversal meets every pair that is there throughout exactly once, whatever the
/// table's growth; a pair that comes or goes meanwhile may be met or not.
///
/// # Cost
///
/// Operations on a key are O(1), and hash the key. A hit waits for two cache misses, one after the other: the bucket
/// and the pair. A pair takes 13 to 27 bytes of the table, and its own size in steps of the allocator.
///
/// # Keys of your own
///
/// Closures run with no lock held, values are dropped with no lock held. But a write compares keys, and hashes them
/// when the table grows, while it has the bucket's lock: a comparison that waits holds up writers of the bucket, and
/// one that writes the same map may wait for itself for ever. If one panics the operation has not been done, and
/// nothing else is lost. (A write moves some pairs of others while a table grows or shrinks: a key's hash that panics
/// there makes later writes try again.) If the drops of values panic when a map is dropped, the others are dropped all
/// the same; a second panic ends the process, as in the drop of a `Vec`.
///
/// # Forks
///
/// A child inherits a map as it is. If another thread was in a write at that moment its lock stays taken in the
/// child, where a write of the same bucket waits for ever; reads go on. So a child of a process with several threads
/// should leave inherited maps alone, or read them, before it calls `exec` or `_exit`.
///
/// # When values are dropped
///
/// A value that was replaced or removed is dropped when no pin could see it any more, and its thread hands in what has
/// gathered: at the latest when it has retired 512 blocks or ends, or, of 16 blocks and more that have waited for two
/// milliseconds, at its next write. What a thread that has gone quiet has left is dropped within a tenth of a second of
/// a write by which another thread replaces or removes something; at once by
/// [`reclaim::flush`](crate::reclaim::flush) on any thread that is not pinned; and when the map itself is dropped,
/// which flushes if the map has ever replaced or removed anything. A value's drop that panics comes out of whatever
/// freed it: the end of a pin, of any thread, a flush, or the drop of a map. What a value owns is not known: a map of
/// large values [weighs](Self::with_weigher) them, so that at most 256 KiB wait for each thread.
///
/// # Variance
///
/// A map is invariant in its keys and values, as everything is that can be changed through `&`:
///
/// ```compile_fail
/// use fyris_index::ConcurrentMap;
///
/// fn shorten<'m, 'a>(map: &'m ConcurrentMap<u8, for<'b> fn(&'b str)>) -> &'m ConcurrentMap<u8, fn(&'static str)> {
///     map
/// }
/// ```
pub struct Map<K: ?Sized, V, S: MapStorage<K, V>, H = RandomState> {
    index: HashIndex<S::Entry, H>,
    /// Goes after the index, whose pairs are dropped first.
    retired: Retired<K, V>,
}

/// The value that [`Map::compute`] found, and the one that it left.
///
/// ```
/// use fyris_index::{Action, ConcurrentMap};
///
/// let map = ConcurrentMap::from([(1, 10)]);
/// let pinned = map.pin();
/// let computed = pinned.compute(1, |old| old.map_or(Action::Keep, |old| Action::Put(old + 1)));
/// assert_eq!((computed.old, computed.new), (Some(&10), Some(&11)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Computed<'g, V> {
    /// The value that the closure's last call saw.
    pub old: Option<&'g V>,
    /// The value in the map right after.
    pub new: Option<&'g V>,
}

impl<K: ?Sized, V, S: MapStorage<K, V>> Map<K, V, S> {
    /// Makes an empty map. Allocates nothing before the first pair, and then 256 bytes for some.
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::<String, u32>::new();
    /// assert!(map.is_empty());
    /// ```
    pub fn new() -> Self {
        Self::with_hasher(RandomState::default())
    }

    /// Makes an empty map that holds `capacity` pairs before its table grows, and never shrinks below that. O(1): its
    /// memory is the system's until it is written, by pages (of 2 MiB, where the system has such).
    ///
    /// # Panics
    ///
    /// If there is no memory for that many, "capacity overflow".
    ///
    /// ```
    /// let map = fyris_index::BytesMap::<u32>::with_capacity(1000);
    /// assert!(map.is_empty());
    /// ```
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, RandomState::default())
    }

    /// Makes an empty map that holds `capacity` pairs before it grows; an error if there is no memory for that many.
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::<u32, u32>::try_with_capacity(1000);
    /// assert!(map.is_ok());
    /// let map = fyris_index::ConcurrentMap::<u32, u32>::try_with_capacity(usize::MAX);
    /// assert_eq!(map.err().map(|error| error.capacity()), Some(usize::MAX));
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        Self::try_with_capacity_and_hasher(capacity, RandomState::default())
    }
}

impl<K: ?Sized, V, S: MapStorage<K, V>, H> Map<K, V, S, H> {
    /// Makes an empty map with this hasher.
    ///
    /// ```
    /// use std::hash::RandomState;
    ///
    /// let map = fyris_index::ConcurrentMap::<u32, u32, _>::with_hasher(RandomState::new());
    /// assert!(map.is_empty());
    /// ```
    pub fn with_hasher(hasher: H) -> Self {
        or_panic(Self::try_sized(0, hasher))
    }

    /// Makes an empty map with this hasher that holds `capacity` pairs before it grows, as
    /// [`Map::with_capacity`](Map#method.with_capacity).
    ///
    /// ```
    /// use std::hash::RandomState;
    ///
    /// let map = fyris_index::BytesMap::<u32, _>::with_capacity_and_hasher(1000, RandomState::new());
    /// assert!(map.is_empty());
    /// ```
    pub fn with_capacity_and_hasher(capacity: usize, hasher: H) -> Self {
        or_panic(Self::try_with_capacity_and_hasher(capacity, hasher))
    }

    /// Makes an empty map with this hasher that holds `capacity` pairs before it grows; an error if there is no memory
    /// for that many.
    ///
    /// ```
    /// use fyris_index::BytesMap;
    /// use std::hash::RandomState;
    ///
    /// let map = BytesMap::<u8, _>::try_with_capacity_and_hasher(usize::MAX, RandomState::new());
    /// assert!(map.is_err());
    /// ```
    pub fn try_with_capacity_and_hasher(capacity: usize, hasher: H) -> Result<Self, CapacityError> {
        let mut map = Self::try_sized(capacity, hasher)?;
        map.index.keep_capacity();
        Ok(map)
    }

    /// Makes an empty map with room for `capacity` pairs, which it need not keep.
    fn try_sized(capacity: usize, hasher: H) -> Result<Self, CapacityError> {
        Ok(Self {
            index: HashIndex::try_with_capacity_and_hasher(capacity, hasher)?,
            retired: Retired::new(),
        })
    }

    /// Weighs pairs that are replaced or removed: the function says how many bytes one owns besides itself, and what
    /// waits to be freed is bounded by these too: 256 KiB for each thread, nothing of 64 KiB and more. It runs with no
    /// lock held and must not panic.
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::new().with_weigher(|_, text: &Vec<u8>| text.capacity());
    /// map.pin().insert(1, vec![0; 1 << 20]);
    /// ```
    #[must_use]
    pub fn with_weigher(mut self, weigher: fn(&K, &V) -> usize) -> Self {
        self.retired.weigh_by(weigher);
        self
    }

    /// Returns the hasher.
    ///
    /// ```
    /// use std::hash::RandomState;
    ///
    /// let map = fyris_index::BytesMap::<u32, _>::with_hasher(RandomState::new());
    /// let _: &RandomState = map.hasher();
    /// ```
    pub fn hasher(&self) -> &H {
        self.index.hasher()
    }

    /// Returns how many pairs there are. O(processors).
    ///
    /// # Consistency
    ///
    /// Counts every finished operation. An insertion is counted before it can be seen, and a removal after it has been
    /// done: so while others write the count is never too low for a moment during the call, and too high by the
    /// operations under way at that moment, at most one for each thread; where others remove without a pause, also by
    /// removals that end while the numbers are read. They are read up to 64 times, and the quietest is taken.
    ///
    /// ```
    /// let map: fyris_index::ConcurrentMap<u32, u32> = (0..9).map(|n| (n, n * n)).collect();
    /// assert_eq!(map.len(), 9);
    /// ```
    pub fn len(&self) -> usize {
        self.index.count()
    }

    /// Returns whether there are no pairs; as exact as [`Map::len`], and as dear: never true while there is a pair
    /// throughout.
    ///
    /// ```
    /// let map = fyris_index::BytesMap::new();
    /// assert!(map.is_empty());
    /// map.pin().insert("Ada", 36);
    /// assert!(!map.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many pairs there were at one moment during the call.
    ///
    /// # Consistency
    ///
    /// The numbers are those of one moment. If no write is under way at that moment this is linearizable with all other
    /// operations. A write that is under way then, which no other thread need have seen, counts as one that has been
    /// done if it inserts, and as one that has not if it removes: so the answer is never too low, and too high by at
    /// most one for each thread that is in a write of its own. Takes long while others write without a pause.
    ///
    /// ```
    /// let map: fyris_index::BytesMap<u32> = [("a", 1), ("b", 2)].into_iter().collect();
    /// assert_eq!(map.exact_len(), 2);
    /// ```
    pub fn exact_len(&self) -> usize {
        self.index.exact_len()
    }

    /// Returns how many bytes are allocated for the map itself, pairs not counted. O(processors).
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::<u64, u64>::with_capacity(1000);
    /// assert!(map.memory() > 8 * 1000);
    /// ```
    pub fn memory(&self) -> usize {
        self.index.bytes()
    }

    /// Pins this thread and returns a view of the map whose methods need no pin. A few nanoseconds.
    ///
    /// ```
    /// let map = fyris_index::ConcurrentMap::new();
    /// let pinned = map.pin();
    /// pinned.insert("key", "value");
    /// assert_eq!(pinned.get("key"), Some(&"value"));
    /// ```
    #[inline]
    pub fn pin(&self) -> PinnedMap<'_, K, V, S, H> {
        PinnedMap::new(self, pin())
    }
}
