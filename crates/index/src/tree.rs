//! `ConcurrentTree`: the contention adapting tree as an ordered map.
//!
//! The pairs are boxed ([`Boxed`]), or lie in the leaves themselves ([`Inline`], for integer keys
//! and small `Copy` values), or are blocks that hold the bytes of the key too ([`Packed`]). References are tied to a pin, never to a lock: no operation waits for
//! a reference that somebody holds, and closures given by the caller run outside all locks.

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Bound, RangeBounds};

use fyris_sync::reclaim::{Pin, pin};

use crate::Action;
pub use crate::map::Computed;
use crate::ordered::probe::ByKey;

pub use crate::ordered::storage::{Boxed, Given, Inline, Packed, Storage};
use crate::ordered::walk::Cursor;
use crate::ordered::{Stats, Tree, TreeKey};

pub use iter::{Iter, Range, RangeRev};

mod bytes;
mod iter;

pub use bytes::BytesTree;

/// A [`ConcurrentTree`] that keeps its values in the leaves.
pub type InlineTree<K, V> = ConcurrentTree<K, V, Inline>;

/// A concurrent ordered map with lock-free reads.
///
/// # Consistency
///
/// Operations on one key are linearizable. Reads take no lock and write no cache line that another
/// thread reads. An iteration reads the entries of a leaf (up to 15) at one moment; an entry that
/// is there throughout is met exactly once, in order.
///
/// # Pins
///
/// What an operation returns lives as long as the pin it was given, even if the entry is replaced
/// or removed meanwhile. While a pin lives nothing is freed, so keep it short.
///
/// ```
/// use fyris_index::tree::ConcurrentTree;
/// use fyris_sync::reclaim::pin;
///
/// let tree = ConcurrentTree::<String, u32>::new();
/// let pin = pin();
/// tree.insert("river".to_string(), 1, &pin);
/// tree.insert("tree".to_string(), 2, &pin);
/// assert_eq!(tree.get("tree", &pin), Some(&2));
/// let up_to_s: Vec<_> = tree.range(.."s".to_string(), &pin).map(|(_, v)| *v).collect();
/// assert_eq!(up_to_s, [1]);
/// ```
pub struct ConcurrentTree<K: TreeKey + ?Sized, V: 'static, S: Storage<K, V> = Boxed> {
    tree: Tree<S::Item>,
}

impl<K: TreeKey + ?Sized, V: 'static, S: Storage<K, V>> Default for ConcurrentTree<K, V, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: TreeKey + ?Sized, V: 'static, S: Storage<K, V>> ConcurrentTree<K, V, S> {
    /// An empty tree: a few hundred bytes.
    pub fn new() -> Self {
        Self { tree: Tree::new() }
    }

    /// The value of `key`.
    #[inline]
    pub fn get<'g, Q>(&'g self, key: &Q, pin: &'g impl Pin) -> Option<&'g V>
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
    {
        self.tree
            .find(&ByKey(key), pin)
            .map(|(_, item)| S::value(item))
    }

    /// The stored key and the value of `key`.
    pub fn get_key_value<'g, Q>(&'g self, key: &Q, pin: &'g impl Pin) -> Option<(S::Key<'g>, &'g V)>
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
    {
        self.tree.find(&ByKey(key), pin).map(Self::pair)
    }

    /// Whether `key` is there.
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
    {
        self.tree.find(&ByKey(key), &pin()).is_some()
    }

    #[inline]
    fn pair<'g>((head, item): (u64, &'g S::Item)) -> (S::Key<'g>, &'g V) {
        (S::key(head, item), S::value(item))
    }

    /// Takes a key out; returns its value.
    #[inline]
    pub fn remove<'g, Q>(&'g self, key: &Q, pin: &'g impl Pin) -> Option<&'g V>
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
    {
        let old = self.tree.upsert(key, pin, |old| (Action::Remove, old));
        self.taken_out(old, pin)
    }

    /// Retires an item that this thread has just taken out; its value stays readable under the pin.
    #[inline]
    fn taken_out<'g>(&self, old: Option<&'g S::Item>, pin: &'g impl Pin) -> Option<&'g V> {
        let old = old?;
        // SAFETY: taken out by the caller; the slot that names it stays until the pin ends.
        unsafe { S::retire(old, pin) };
        Some(S::value(old))
    }

    /// Does `action` if the slot still holds what was seen; then returns the slot of what was put.
    fn swap<'g>(
        &'g self,
        key: &K,
        seen: Option<&'g S::Item>,
        action: Action<S::Item>,
        pin: &'g impl Pin,
    ) -> Option<Option<&'g S::Item>> {
        let (done, now) = self.tree.upsert_in_place(key, pin, |old| {
            let unchanged = match (seen, old) {
                (None, None) => true,
                (Some(a), Some(b)) => S::same(a, b),
                _ => false,
            };
            (if unchanged { action } else { Action::Keep }, unchanged)
        });
        if !done {
            return None;
        }
        self.taken_out(seen, pin);
        Some(now)
    }

    /// The first pair.
    pub fn first<'g>(&'g self, pin: &'g impl Pin) -> Option<(S::Key<'g>, &'g V)> {
        Cursor::before::<K>(&self.tree, Bound::Unbounded, pin)
            .next()
            .map(Self::pair)
    }

    /// The last pair.
    pub fn last<'g>(&'g self, pin: &'g impl Pin) -> Option<(S::Key<'g>, &'g V)> {
        Cursor::behind::<K>(&self.tree, Bound::Unbounded, pin)
            .prev()
            .map(Self::pair)
    }

    /// Takes the first pair out. The pair was the first when it was looked for: a smaller one may
    /// come in between.
    pub fn pop_first<'g>(&'g self, pin: &'g impl Pin) -> Option<(S::Key<'g>, &'g V)> {
        self.pop(pin, || {
            Cursor::before::<K>(&self.tree, Bound::Unbounded, pin).next()
        })
    }

    /// Takes the last pair out; as [`ConcurrentTree::pop_first`].
    pub fn pop_last<'g>(&'g self, pin: &'g impl Pin) -> Option<(S::Key<'g>, &'g V)> {
        self.pop(pin, || {
            Cursor::behind::<K>(&self.tree, Bound::Unbounded, pin).prev()
        })
    }

    fn pop<'g>(
        &'g self,
        pin: &'g impl Pin,
        find: impl Fn() -> Option<(u64, &'g S::Item)>,
    ) -> Option<(S::Key<'g>, &'g V)> {
        loop {
            let (head, item) = find()?;
            let key = S::key(head, item);
            // Somebody else may have taken or replaced it: then look again.
            if self
                .swap(key.borrow(), Some(item), Action::Remove, pin)
                .is_some()
            {
                return Some((key, S::value(item)));
            }
        }
    }

    /// All pairs, in order.
    ///
    /// The iterator is `Send` if the pin is a [`fyris_sync::reclaim::OwnedGuard`].
    pub fn iter<'g, P: Pin>(&'g self, pin: &'g P) -> Iter<'g, K, V, S, P> {
        Iter::new(&self.tree, pin)
    }

    /// The pairs whose keys lie in `bounds`, in order. Empty if the bounds are the wrong way round.
    pub fn range<'g, Q, R, P>(&'g self, bounds: R, pin: &'g P) -> Range<'g, K, V, S, P, R, Q>
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
        R: RangeBounds<Q>,
        P: Pin,
    {
        Range::new(&self.tree, bounds, pin)
    }

    /// As [`ConcurrentTree::range`], from the last pair to the first.
    pub fn range_rev<'g, Q, R, P>(&'g self, bounds: R, pin: &'g P) -> RangeRev<'g, K, V, S, P, R, Q>
    where
        K: Borrow<Q>,
        Q: TreeKey<Sep = K::Sep> + ?Sized,
        R: RangeBounds<Q>,
        P: Pin,
    {
        RangeRev::new(&self.tree, bounds, pin)
    }

    /// How many pairs; exact while nobody writes. O(threads).
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// True if there are no pairs; exact while nobody writes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes the pairs that are there, one after the other: those that come meanwhile may stay.
    pub fn clear(&self) {
        let pin = pin();
        for (key, _) in self.iter(&pin) {
            self.remove::<K>(key.borrow(), &pin);
        }
    }

    /// Bytes allocated for the tree itself, boxed pairs not counted. O(threads).
    pub fn memory(&self) -> usize {
        self.tree.memory()
    }

    /// The shape of the tree, and what has shaped it.
    pub fn stats(&self) -> Stats {
        self.tree.stats(&pin())
    }
}

/// What puts pairs in.
impl<K: TreeKey, V: 'static, S: Given<K, V>> ConcurrentTree<K, V, S> {
    /// Puts a pair in; returns the value that it replaces. The stored key is replaced too.
    #[inline]
    pub fn insert<'g>(&'g self, key: K, value: V, pin: &'g impl Pin) -> Option<&'g V> {
        let (name, item) = S::make(key, value);
        let old = self
            .tree
            .upsert(name.borrow(), pin, |old| (Action::Put(item), old));
        self.taken_out(old, pin)
    }

    /// Replaces, inserts or removes the value of `key` as `f` says that sees the present one.
    ///
    /// `f` runs outside all locks: it may block, panic, and use the tree, this key included. If the
    /// entry changes meanwhile `f` runs again, on what is there then.
    ///
    /// # Consistency
    ///
    /// Linearizable: what `f` saw was in the tree until its result replaced it.
    pub fn compute<'g>(
        &'g self,
        mut key: K,
        pin: &'g impl Pin,
        mut f: impl FnMut(Option<&'g V>) -> Action<V>,
    ) -> Computed<'g, V> {
        loop {
            let seen = self.tree.find(&ByKey(&key), pin).map(|(_, item)| item);
            let old = seen.map(S::value);
            match f(old) {
                // What was read last is the answer, and reading it was the operation.
                Action::Keep => return Computed { old, new: old },
                Action::Remove => {
                    if seen.is_none() || self.swap(&key, seen, Action::Remove, pin).is_some() {
                        return Computed { old, new: None };
                    }
                }
                Action::Put(value) => {
                    let (name, item) = S::make(key, value);
                    if let Some(now) = self.swap(name.borrow(), seen, Action::Put(item), pin) {
                        return Computed {
                            old,
                            new: now.map(S::value),
                        };
                    }
                    // SAFETY: made above, and the swap did not take it.
                    key = unsafe { S::unmake(name, item) }.0;
                }
            }
            // Somebody changed this key since it was read: look again.
        }
    }

    /// The value of `key`; if there is none, the one that `f` makes, outside all locks. If another
    /// thread puts one in first, that one.
    pub fn get_or_insert_with<'g>(
        &'g self,
        key: K,
        pin: &'g impl Pin,
        f: impl FnOnce() -> V,
    ) -> &'g V {
        if let Some((_, item)) = self.tree.find(&ByKey(&key), pin) {
            return S::value(item);
        }
        let (name, item) = S::make(key, f());
        let (old, now) = self
            .tree
            .upsert_in_place(name.borrow(), pin, |old| match old {
                Some(_) => (Action::Keep, old),
                None => (Action::Put(item), None),
            });
        if let Some(now) = now {
            return S::value(now);
        }
        // SAFETY: made above, and the tree did not take it.
        drop(unsafe { S::unmake(name, item) });
        match old {
            Some(old) => S::value(old),
            None => unreachable!("nothing there, and nothing put"),
        }
    }
}

impl<K: TreeKey, V: 'static, S: Given<K, V>> FromIterator<(K, V)> for ConcurrentTree<K, V, S> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(pairs: T) -> Self {
        let mut tree = Self::new();
        tree.extend(pairs);
        tree
    }
}

impl<K: TreeKey, V: 'static, S: Given<K, V>> Extend<(K, V)> for ConcurrentTree<K, V, S> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, pairs: T) {
        for (key, value) in pairs {
            // A pin for each, so that what is replaced can be freed on the way.
            self.insert(key, value, &pin());
        }
    }
}

impl<K, V, S> fmt::Debug for ConcurrentTree<K, V, S>
where
    K: TreeKey + fmt::Debug + ?Sized,
    V: fmt::Debug + 'static,
    S: Storage<K, V>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pin = pin();
        let mut map = f.debug_map();
        for (key, value) in self.iter(&pin) {
            map.entry(&Borrow::<K>::borrow(&key), value);
        }
        map.finish()
    }
}
