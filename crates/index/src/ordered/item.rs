//! The contents of a slot of a leaf.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

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

    /// Returns whether both lie in memory as the same bytes, those of padding included.
    pub(crate) fn has_bytes_of(&self, other: &Self) -> bool {
        let (mut one, mut two) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let to: [*mut Self; 2] = [one.as_mut_ptr(), two.as_mut_ptr()];
        // SAFETY: a copy of each, untyped: padding comes along.
        unsafe {
            to[0].copy_from_nonoverlapping(self, 1);
            to[1].copy_from_nonoverlapping(other, 1);
        }
        bytes(&mut one) == bytes(&mut two)
    }
}

/// Returns the bytes of a value; of padding, whatever lies there.
fn bytes<T>(value: &mut MaybeUninit<T>) -> &[u8] {
    let at = value.as_mut_ptr();
    #[cfg(not(miri))]
    // SAFETY: no instruction. The compiler has to assume that one wrote every byte: none is uninitialised behind it.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) at, options(nostack, preserves_flags));
    }
    // SAFETY: the memory of the value, which is borrowed as long as the bytes are.
    unsafe { std::slice::from_raw_parts(at.cast(), size_of::<T>()) }
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
