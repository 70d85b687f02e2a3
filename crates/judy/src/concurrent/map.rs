//! [`ConcurrentJudy`], the tree with keys and values of any type that fits.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use fyris_index::Action;
use fyris_index::inline::Word;
use fyris_index::key::PrefixKey;

use super::super::map::{bounds, highest, lowest};
use super::iter::{ConcurrentIter, ConcurrentRange};
use super::order::Pair;
use super::tree::SharedTree;

/// An ordered map from words to words that threads share: a Judy array whose readers take no lock. See the
/// [module](super) for the structure.
///
/// Keys are integers and what else is its own key prefix ([`PrefixKey`]), values what fits into a word ([`Word`]).
///
/// ```
/// use fyris_judy::ConcurrentJudy;
///
/// let squares: ConcurrentJudy<u64, u32> = ConcurrentJudy::new();
/// std::thread::scope(|s| {
///     for t in 0..4 {
///         let squares = &squares;
///         s.spawn(move || (t * 250..t * 250 + 250).for_each(|n| _ = squares.insert(n * n, n as u32)));
///     }
/// });
/// assert_eq!(squares.get(&961), Some(31));
/// assert_eq!(squares.count_between(100..=10_000), 91);
/// assert_eq!(squares.nth(500), Some((250_000, 500)));
/// assert_eq!(squares.range(..10).collect::<Vec<_>>(), [(0, 0), (1, 1), (4, 2), (9, 3)]);
/// ```
///
/// # Consistency
///
/// Operations on one key are linearizable. Reads are lock-free, and write nothing; a writer waits for writers in the
/// same node. Neighbours and ranges meet a key that is there throughout the call (for a range: until the range has
/// passed it) exactly once and in order; one that comes or goes meanwhile they meet or not.
///
/// [`len`](Self::len), [`rank`](Self::rank), [`count_between`](Self::count_between) and [`nth`](Self::nth) go by counts
/// in the branches. A writer brings them up to date from below after its change, and before it returns. So when no
/// writer is at work they are exact. Beside writers they are those of several moments of the call, each with all
/// changes that had returned by then and some of those under way: an answer may be off by as many keys as are changed
/// meanwhile.
///
/// # Cost
///
/// Every operation that names a key or a number takes O(depth) steps: at most eight nodes, whatever the number of keys.
/// Those that count look at up to 16 counts and 16 children in each. An insertion or a removal copies at most one
/// leaf, of at most 512 bytes, and adds to a count in each branch on its way.
pub struct ConcurrentJudy<K, V> {
    tree: SharedTree,
    pairs: PhantomData<Invariant<K, V>>,
}

/// Pairs that one thread puts in others take out: the type of a map is invariant in `K` and `V`.
type Invariant<K, V> = fn(K, V) -> (K, V);

impl<K, V> ConcurrentJudy<K, V> {
    /// Makes an empty map, which has no memory besides itself.
    pub fn new() -> Self {
        Self {
            tree: SharedTree::new(),
            pairs: PhantomData,
        }
    }

    /// Returns the number of keys. O(1). For what it is beside writers see the [type](Self#consistency).
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Returns whether there are no keys; consistency as [`ConcurrentJudy::len`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of the map and of all its nodes, as they are asked of the allocator. O(nodes); exact when no
    /// writer is at work.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.tree.memory()
    }

    /// Takes all keys out at one moment: linearizable. O(n), of which the first step is all that others wait for.
    pub fn clear(&self) {
        self.tree.clear();
    }

    pub(super) fn tree(&self) -> &SharedTree {
        &self.tree
    }
}

impl<K: PrefixKey, V: Word> ConcurrentJudy<K, V> {
    pub(super) fn pair((key, value): Pair) -> (K, V) {
        // SAFETY: values are only ever put in as words of `V`.
        (K::from_key_prefix(key), unsafe { V::from_word(value) })
    }

    /// Returns the value of a key.
    ///
    /// # Consistency
    ///
    /// Linearizable and wait-free: at most eight nodes, none twice.
    #[inline]
    pub fn get(&self, key: &K) -> Option<V> {
        let word = self.tree.get(key.key_prefix(0));
        // SAFETY: values are only ever put in as words of `V`.
        word.map(|word| unsafe { V::from_word(word) })
    }

    /// Returns whether a key is there. Consistency as [`ConcurrentJudy::get`].
    #[inline]
    pub fn contains_key(&self, key: &K) -> bool {
        self.tree.get(key.key_prefix(0)).is_some()
    }

    /// Runs `f` on a key's value under a lock, and does as it says. `f` is ours: it neither blocks nor panics.
    #[inline]
    fn change(&self, key: K, f: impl Fn(Option<u64>) -> Action<u64>) -> Option<V> {
        let old = self.tree.change(key.key_prefix(0), f);
        // SAFETY: values are only ever put in as words of `V`.
        old.map(|word| unsafe { V::from_word(word) })
    }

    /// Puts a value under a key; returns the value that was there.
    ///
    /// # Consistency
    ///
    /// Linearizable. Waits only for writers in the same branch, and then in those above it, one by one.
    #[inline]
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        let word = value.into_word();
        self.change(key, |_| Action::Put(word))
    }

    /// Takes a key out; returns its value. Consistency as [`ConcurrentJudy::insert`].
    #[inline]
    pub fn remove(&self, key: &K) -> Option<V> {
        self.change(*key, |_| Action::Remove)
    }

    /// Replaces, inserts or removes a key's value as the closure says that sees the present one. Returns the value that
    /// the closure's last call saw and the one in the map right after.
    ///
    /// The closure may be called several times, runs with no lock held, and may use the map.
    ///
    /// # Consistency
    ///
    /// Linearizable: the result replaces the very value that the closure saw (or an equal one).
    pub fn compute(
        &self,
        key: K,
        mut f: impl FnMut(Option<V>) -> Action<V>,
    ) -> (Option<V>, Option<V>) {
        let word = key.key_prefix(0);
        loop {
            let seen = self.tree.get(word);
            // SAFETY: values are only ever put in as words of `V`.
            let old = seen.map(|word| unsafe { V::from_word(word) });
            let (action, new) = match f(old) {
                Action::Keep => return (old, old),
                Action::Remove => (Action::Remove, None),
                Action::Put(new) => (Action::Put(new.into_word()), Some(new)),
            };
            let replace = |now| if now == seen { action } else { Action::Keep };
            if self.tree.change(word, replace) == seen {
                return (old, new);
            }
            // Another thread changed this key since it was read: look again.
        }
    }

    /// Returns the value of a key, which is put there first if there is none; the closure as in
    /// [`ConcurrentJudy::compute`].
    pub fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> V {
        if let Some(value) = self.get(&key) {
            return value;
        }
        let made = make();
        let word = made.into_word();
        let put = |now: Option<u64>| now.map_or(Action::Put(word), |_| Action::Keep);
        self.change(key, put).unwrap_or(made)
    }

    /// Returns the value of a key, which is put there first if there is none. Consistency as
    /// [`ConcurrentJudy::insert`].
    pub fn get_or_insert(&self, key: K, value: V) -> V {
        self.get_or_insert_with(key, || value)
    }

    /// Replaces a key's value by one made of it, or puts `value` there if there is none; returns what is there then.
    /// Closure and consistency as [`ConcurrentJudy::compute`].
    pub fn update_or_insert(&self, key: K, mut f: impl FnMut(V) -> V, value: V) -> V {
        let put = |old: Option<V>| Action::Put(old.map_or(value, &mut f));
        self.compute(key, put).1.unwrap_or(value)
    }

    /// Replaces a key's value by one made of it; returns the new value, `None` if the key is absent. Closure and
    /// consistency as [`ConcurrentJudy::compute`].
    pub fn update(&self, key: &K, mut f: impl FnMut(V) -> V) -> Option<V> {
        let put = |old: Option<V>| old.map_or(Action::Keep, |old| Action::Put(f(old)));
        self.compute(*key, put).1
    }

    /// Returns the first pair.
    pub fn first(&self) -> Option<(K, V)> {
        self.seek(Bound::Unbounded)
    }

    /// Returns the last pair.
    pub fn last(&self) -> Option<(K, V)> {
        self.seek_back(Bound::Unbounded)
    }

    /// Returns the first pair whose key is at or above the bound (above for `Excluded`; the first of all for
    /// `Unbounded`). No key that is there throughout the call lies between.
    pub fn seek(&self, from: Bound<K>) -> Option<(K, V)> {
        self.tree.nearest(lowest(from)?, true).map(Self::pair)
    }

    /// Returns the last pair whose key is at or below the bound (below for `Excluded`; the last of all for
    /// `Unbounded`). Consistency as [`ConcurrentJudy::seek`].
    pub fn seek_back(&self, from: Bound<K>) -> Option<(K, V)> {
        self.tree.nearest(highest(from)?, false).map(Self::pair)
    }

    /// Returns the `n`-th pair in the order of keys, from 0. For what it is beside writers see the
    /// [type](Self#consistency); it is a pair that was there during the call.
    pub fn nth(&self, n: usize) -> Option<(K, V)> {
        self.tree.nth(n).map(Self::pair)
    }

    /// Returns the number of keys below this one, which need not be there. For what it is beside writers see the
    /// [type](Self#consistency).
    pub fn rank(&self, key: &K) -> usize {
        self.tree.rank(key.key_prefix(0))
    }

    /// Returns the number of keys in a range; none if it ends before it begins. For what it is beside writers see the
    /// [type](Self#consistency).
    pub fn count_between(&self, range: impl RangeBounds<K>) -> usize {
        let Some((from, to)) = bounds(&range) else {
            return 0;
        };
        let end = to
            .checked_add(1)
            .map_or_else(|| self.len(), |end| self.tree.rank(end));
        end.saturating_sub(self.tree.rank(from))
    }

    /// Returns the pairs in the order of keys, from either end. Consistency as [`ConcurrentJudy::range`].
    pub fn iter(&self) -> ConcurrentIter<'_, K, V> {
        ConcurrentRange::new(self, Some((0, u64::MAX)))
    }

    /// Returns the pairs of a range in the order of keys, from either end; none if it ends before it begins.
    ///
    /// # Consistency
    ///
    /// Each pair was there at a moment when the iterator looked: it reads up to 128 pairs ahead. A key that is there
    /// from before the range is made until the range has passed it is met exactly once. Nothing is pinned between two
    /// calls, and no writer is held up.
    pub fn range(&self, range: impl RangeBounds<K>) -> ConcurrentRange<'_, K, V> {
        ConcurrentRange::new(self, bounds(&range))
    }

    /// Returns the keys in order, from either end, as [`ConcurrentJudy::range`].
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + '_ {
        self.iter().map(|(key, _)| key)
    }

    /// Returns the values in the order of keys, from either end, as [`ConcurrentJudy::range`].
    pub fn values(&self) -> impl DoubleEndedIterator<Item = V> + '_ {
        self.iter().map(|(_, value)| value)
    }

    /// Returns the map itself: pairs are copied out of it, so nothing stays pinned. The other maps have such a method;
    /// code that is written for one fits another.
    #[inline]
    pub fn pin(&self) -> &Self {
        self
    }
}

impl<K, V> Default for ConcurrentJudy<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: PrefixKey + fmt::Debug, V: Word + fmt::Debug> fmt::Debug for ConcurrentJudy<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: PrefixKey, V: Word> FromIterator<(K, V)> for ConcurrentJudy<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::new();
        map.extend(pairs);
        map
    }
}

impl<K: PrefixKey, V: Word> Extend<(K, V)> for ConcurrentJudy<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        pairs
            .into_iter()
            .for_each(|(key, value)| _ = self.insert(key, value));
    }
}

impl<'a, K: PrefixKey, V: Word> IntoIterator for &'a ConcurrentJudy<K, V> {
    type Item = (K, V);
    type IntoIter = ConcurrentIter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
