//! What puts pairs into a [`BytesTree`]: the keys are copied.

use std::ops::ControlFlow;

use fyris_sync::reclaim::{Pin, pin};

use super::{Computed, ConcurrentTree, Packed};
use crate::bytes_entry::BytesRef;
use crate::ordered::probe::ByKey;
use crate::ordered::storage::{Packet, Sealed};
use crate::{Action, Entry};

/// A [`ConcurrentTree`] of byte strings that keeps each in one block with its value.
///
/// A hit waits for two cache misses, the leaf and the block, where a tree of `Box<[u8]>` waits for three, and a
/// pair is one block to allocate and to free.
///
/// ```
/// use std::ops::Bound;
///
/// use fyris_index::BytesTree;
/// use fyris_index::reclaim::pin;
///
/// let tree = BytesTree::new();
/// let pin = pin();
/// tree.insert(b"river", 1, &pin);
/// tree.insert(b"tree", 2, &pin);
/// assert_eq!(tree.get(&b"tree"[..], &pin), Some(&2));
/// let from_s = (Bound::Included(&b"s"[..]), Bound::Unbounded);
/// let pairs: Vec<_> = tree.range::<[u8], _, _>(from_s, &pin).collect();
/// assert_eq!(pairs, [(&b"tree"[..], &2)]);
/// ```
///
/// # Cost
///
/// As [`ConcurrentTree`]; O(length of the key) for a comparison. A pair takes 4 bytes more than key and value, in steps
/// of the allocator, and 17 to 34 bytes of leaves.
///
/// # Panics
///
/// Whatever puts a key of 4 GiB or more panics.
pub type BytesTree<V> = ConcurrentTree<[u8], V, Packed>;

impl<V: Send + Sync + 'static> BytesTree<V> {
    /// Puts a pair in; returns the value that it replaces. The stored key is replaced too.
    #[inline]
    pub fn insert<'g>(
        &'g self,
        key: impl AsRef<[u8]>,
        value: V,
        pin: &'g impl Pin,
    ) -> Option<&'g V> {
        let key = key.as_ref();
        let item = Packet(BytesRef::new(key, value));
        let old = self.tree.upsert(key, pin, |old| (Action::Put(item), old));
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
        key: impl AsRef<[u8]>,
        pin: &'g impl Pin,
        mut f: impl FnMut(Option<&'g V>) -> Action<V>,
    ) -> Computed<'g, V> {
        let key = key.as_ref();
        loop {
            if let ControlFlow::Break(computed) = self.try_compute(key, pin, &mut f) {
                return computed;
            }
            // Somebody changed this key since it was read: look again.
        }
    }

    fn try_compute<'g>(
        &'g self,
        key: &[u8],
        pin: &'g impl Pin,
        f: &mut impl FnMut(Option<&'g V>) -> Action<V>,
    ) -> ControlFlow<Computed<'g, V>> {
        let seen = self.tree.find(&ByKey(key), pin).map(|(_, item)| item);
        let old = seen.map(Packed::value);
        let action = match f(old) {
            // What was read last is the answer, and reading it was the operation.
            Action::Keep => return ControlFlow::Break(Computed { old, new: old }),
            Action::Remove if seen.is_none() => {
                return ControlFlow::Break(Computed { old, new: None });
            }
            Action::Remove => Action::Remove,
            Action::Put(value) => Action::Put(Packet(BytesRef::new(key, value))),
        };
        if let Some(now) = self.swap(key, seen, action, pin) {
            let new = now.map(Packed::value);
            return ControlFlow::Break(Computed { old, new });
        }
        if let Action::Put(item) = action {
            // SAFETY: made above, and the swap did not take it.
            unsafe { item.0.dispose() };
        }
        ControlFlow::Continue(())
    }

    /// The value of `key`; if there is none, the one that `f` makes, outside all locks. If another
    /// thread puts one in first, that one.
    pub fn get_or_insert_with<'g>(
        &'g self,
        key: impl AsRef<[u8]>,
        pin: &'g impl Pin,
        f: impl FnOnce() -> V,
    ) -> &'g V {
        let key = key.as_ref();
        if let Some(value) = self.get(key, pin) {
            return value;
        }
        let item = Packet(BytesRef::new(key, f()));
        let (old, now) = self.tree.upsert_in_place(key, pin, |old| match old {
            Some(_) => (Action::Keep, old),
            None => (Action::Put(item), None),
        });
        if let Some(now) = now {
            return Packed::value(now);
        }
        // SAFETY: made above, and the tree did not take it.
        unsafe { item.0.dispose() };
        match old {
            Some(old) => Packed::value(old),
            None => unreachable!("nothing there, and nothing put"),
        }
    }
}

impl<B: AsRef<[u8]>, V: Send + Sync + 'static> FromIterator<(B, V)> for BytesTree<V> {
    fn from_iter<T: IntoIterator<Item = (B, V)>>(pairs: T) -> Self {
        let mut tree = Self::new();
        tree.extend(pairs);
        tree
    }
}

impl<B: AsRef<[u8]>, V: Send + Sync + 'static> Extend<(B, V)> for BytesTree<V> {
    fn extend<T: IntoIterator<Item = (B, V)>>(&mut self, pairs: T) {
        for (key, value) in pairs {
            // A pin for each, so that what is replaced can be freed on the way.
            self.insert(key, value, &pin());
        }
    }
}
