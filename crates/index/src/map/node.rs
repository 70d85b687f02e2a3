//! A key and a value behind one pointer.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::{self, NonNull};

use fyris_sync::alloc as record;
use fyris_sync::reclaim::{Guard, Retire};

use crate::Entry;
use crate::into_iter::OwnedPair;

/// An immutable pair, to which a [`NodeRef`] points.
pub(super) struct PairNode<K, V> {
    key: K,
    value: V,
}

/// The entry of a map: a pointer to its key and value.
pub struct NodeRef<K, V>(NonNull<PairNode<K, V>>);

impl<K, V> Clone for NodeRef<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for NodeRef<K, V> {}

impl<K, V> PartialEq for NodeRef<K, V> {
    /// Returns whether they are the same node, not an equal one.
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

// SAFETY: a `NodeRef` gives shared access to `K` and `V`, and whichever thread retires it may have
// them dropped on any thread.
unsafe impl<K: Send + Sync, V: Send + Sync> Send for NodeRef<K, V> {}
// SAFETY: as above.
unsafe impl<K: Send + Sync, V: Send + Sync> Sync for NodeRef<K, V> {}

impl<K, V> NodeRef<K, V> {
    const LAYOUT: Layout = Layout::new::<PairNode<K, V>>();
    /// Whether the record allocator aligns such a node.
    const IS_RECORD: bool = Self::LAYOUT.align() <= 8;

    /// Makes a node.
    #[inline]
    pub(super) fn new(key: K, value: V) -> Self {
        let ptr = if Self::IS_RECORD {
            record::allocate(Self::LAYOUT.size()).cast()
        } else {
            // SAFETY: an alignment above 8 makes the size at least as much, so it is not zero.
            let ptr = unsafe { alloc(Self::LAYOUT) };
            NonNull::new(ptr.cast()).unwrap_or_else(|| handle_alloc_error(Self::LAYOUT))
        };
        // SAFETY: freshly allocated with the layout of a node.
        unsafe { ptr.write(PairNode { key, value }) };
        Self(ptr)
    }

    /// Returns the key and the value, and frees the node.
    ///
    /// # Safety
    ///
    /// Only the caller can reach the node, and uses it no more.
    pub(super) unsafe fn into_parts(self) -> (K, V) {
        // SAFETY: the caller gives the node up; its memory is freed without dropping what was read.
        let PairNode { key, value } = unsafe { self.0.read() };
        // SAFETY: as above.
        unsafe { Self::deallocate(self.0) };
        (key, value)
    }

    /// Returns the key and the value, for as long as the node is known to live.
    ///
    /// # Safety
    ///
    /// The node is not freed during `'g`.
    #[inline]
    pub(super) unsafe fn pair<'g>(self) -> (&'g K, &'g V) {
        // SAFETY: the caller's contract.
        let node = unsafe { self.0.as_ref() };
        (&node.key, &node.value)
    }

    /// Frees the memory, not what is in it.
    ///
    /// # Safety
    ///
    /// `ptr` comes from [`NodeRef::new`] and is not used any more.
    #[inline]
    unsafe fn deallocate(ptr: NonNull<PairNode<K, V>>) {
        if Self::IS_RECORD {
            // SAFETY: allocated there in `new`, with this size.
            unsafe { record::free(ptr.cast(), Self::LAYOUT.size()) }
        } else {
            // SAFETY: allocated there in `new`, with this layout.
            unsafe { dealloc(ptr.as_ptr().cast(), Self::LAYOUT) }
        }
    }
}

impl<K, V> OwnedPair for NodeRef<K, V> {
    type Key = K;
    type Value = V;

    unsafe fn into_pair(self) -> (K, V) {
        // SAFETY: the caller's contract.
        unsafe { self.into_parts() }
    }

    unsafe fn let_go(self) {
        // SAFETY: as above.
        unsafe { self.dispose() }
    }
}

impl<K, V> Retire for PairNode<K, V> {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: the caller's contract: ours alone, once; a retired node is not null.
        unsafe {
            ptr::drop_in_place(ptr);
            NodeRef::deallocate(NonNull::new_unchecked(ptr));
        }
    }
}

// SAFETY: a pointer is non-zero, and user space ends below 2^48 on every 64-bit system we know; the
// key is immutable, and lives until the node is retired and no pin could see it (RECLAIM).
unsafe impl<K, V> Entry for NodeRef<K, V> {
    type Key = K;

    #[inline]
    fn key(&self) -> &K {
        // SAFETY: by the contract of `Entry` an index asks only for entries that live.
        unsafe { &self.0.as_ref().key }
    }

    #[inline]
    fn into_bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    #[inline]
    unsafe fn from_bits(bits: u64) -> Self {
        let ptr = ptr::with_exposed_provenance_mut(bits as usize);
        // SAFETY: `bits` comes from `into_bits`, of a non-null pointer.
        Self(unsafe { NonNull::new_unchecked(ptr) })
    }

    #[inline]
    unsafe fn retire(self, pin: &impl Guard) {
        if cfg!(fyris_mutant = "hash_early_free") {
            // SAFETY: none; this is the mistake that the tests must notice.
            return unsafe { PairNode::reclaim(self.0.as_ptr()) };
        }
        // SAFETY: the caller's contract.
        unsafe { pin.retire(self.0.as_ptr()) };
    }

    unsafe fn dispose(self) {
        // SAFETY: the caller's contract.
        unsafe { PairNode::reclaim(self.0.as_ptr()) };
    }
}
