//! The contents of a slot of a leaf.

use std::marker::PhantomData;

use crate::Entry;
use crate::key::{PrefixKey, TreeKey};

/// The payload of a slot: copied bitwise when a leaf is rebuilt, never dropped by the tree's core.
///
/// # Safety
///
/// Every copy names the same key, which does not change; `key` may be called while the thread is pinned (invariant
/// RECLAIM) on an item that was in the tree since.
pub unsafe trait Item: Copy {
    /// The keys of the items.
    type Key: TreeKey + ?Sized;

    /// Returns the key. Not asked for where the key is [`TreeKey::EXACT`].
    fn key(&self) -> &Self::Key;

    /// Prefetches the entry that the item names.
    #[inline]
    fn prefetch(&self) {}

    /// Frees the entry that the item names.
    ///
    /// # Safety
    ///
    /// Only the caller can reach it, and it is freed once.
    unsafe fn dispose(self);
}

/// The handle of an [`Entry`].
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Handle<E>(pub(crate) E);

// SAFETY: the contract of `Entry`.
unsafe impl<E: Entry> Item for Handle<E>
where
    E::Key: TreeKey,
{
    type Key = E::Key;

    #[inline]
    fn key(&self) -> &E::Key {
        self.0.key()
    }

    #[inline]
    fn prefetch(&self) {
        self.0.prefetch();
    }

    unsafe fn dispose(self) {
        // SAFETY: the caller's contract is that of `Entry::dispose`.
        unsafe { self.0.dispose() }
    }
}

/// A value beside its key prefix, which is its key.
pub struct InlineValue<K, V> {
    pub(crate) value: V,
    key: PhantomData<K>,
}

impl<K, V> InlineValue<K, V> {
    pub(crate) fn new(value: V) -> Self {
        Self {
            value,
            key: PhantomData,
        }
    }
}

impl<K, V: Copy> Clone for InlineValue<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, V: Copy> Copy for InlineValue<K, V> {}

// SAFETY: the key prefix names the key and moves with the item.
unsafe impl<K: PrefixKey, V: Copy> Item for InlineValue<K, V> {
    type Key = K;

    fn key(&self) -> &K {
        unreachable!("the key_prefix is the key: every PrefixKey is EXACT")
    }

    unsafe fn dispose(self) {}
}
