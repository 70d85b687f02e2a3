//! The nodes of search trees.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ptr::NonNull;

use fyris_index::Entry;
use fyris_index::key::TreeKey;
use fyris_sync::alloc;
use smallvec::SmallVec;

/// A pointer to a node, or null.
pub(super) type ChildLink<E> = *mut TreeNode<E>;

/// The links on a search path, from the root's. Valid as long as none of the nodes that they lie in is freed.
pub(super) type Path<E> = SmallVec<[*mut ChildLink<E>; 48]>;

/// The place of a child in its parent: that of the lower keys, or that of the higher.
pub(super) type ChildSide = usize;
pub(super) const LOW: ChildSide = 0;
pub(super) const HIGH: ChildSide = 1;

/// The bits of a node's word that are the entry.
const ENTRY_BITS: u32 = 48;
const ENTRY: u64 = (1 << ENTRY_BITS) - 1;

/// A node: an entry, the key prefix of its key, and 16 bits that belong to the balance.
pub struct TreeNode<E> {
    key_prefix: u64,
    /// The entry; above it the tag.
    word: u64,
    pub(super) children: [ChildLink<E>; 2],
    entry: PhantomData<E>,
}

/// A key that is searched for, with its key prefix.
pub struct SearchKey<'k, K: ?Sized> {
    key: &'k K,
    pub(super) key_prefix: u64,
    is_exact: bool,
}

impl<'k, K: TreeKey + ?Sized> SearchKey<'k, K> {
    #[inline]
    pub(super) fn new(key: &'k K) -> Self {
        Self {
            key,
            key_prefix: key.key_prefix(0),
            is_exact: key.is_exact(0),
        }
    }

    /// Compares the key with that of a node. Looks at the entry only where the key prefixes do not tell.
    #[inline]
    pub(super) fn cmp<E: Entry<Key = K>>(&self, node: &TreeNode<E>) -> Ordering {
        match self.key_prefix.cmp(&node.key_prefix) {
            Ordering::Equal if !self.is_exact => self.key.cmp(node.entry().key()),
            order => order,
        }
    }
}

/// Returns the side on which a key lies that compares so with a node's.
#[inline]
pub(super) fn side(order: Ordering) -> ChildSide {
    usize::from(order == Ordering::Greater)
}

impl<E: Entry> TreeNode<E> {
    /// Makes a node without children.
    #[inline]
    pub(super) fn alloc(key_prefix: u64, entry: E, tag: u16) -> ChildLink<E> {
        let node: NonNull<Self> = alloc::allocate(size_of::<Self>()).cast();
        // SAFETY: just allocated, for a node.
        unsafe {
            node.write(Self {
                key_prefix,
                word: entry.into_bits() | u64::from(tag) << ENTRY_BITS,
                children: [std::ptr::null_mut(); 2],
                entry: PhantomData,
            });
        }
        node.as_ptr()
    }

    /// Frees a node, without the entry.
    ///
    /// # Safety
    ///
    /// From `alloc`, unlinked, and freed once.
    #[inline]
    pub(super) unsafe fn free(node: ChildLink<E>) {
        // SAFETY: the caller's contract; what comes from `alloc` is not null.
        unsafe { alloc::free(NonNull::new_unchecked(node).cast(), size_of::<Self>()) }
    }

    /// Returns the entry.
    #[inline]
    pub(super) fn entry(&self) -> E {
        // SAFETY: from `into_bits`; an entry in a tree has not been freed.
        unsafe { E::from_bits(self.word & ENTRY) }
    }

    /// Puts an entry with an equal key in the place of the entry.
    #[inline]
    pub(super) fn set_entry(&mut self, entry: E) {
        self.word = self.word & !ENTRY | entry.into_bits();
    }

    /// Takes the entry of another node, with its key prefix.
    pub(super) fn take_entry(&mut self, other: &Self) {
        self.key_prefix = other.key_prefix;
        self.set_entry(other.entry());
    }

    /// Returns the balance's bits.
    #[inline]
    pub(super) fn tag(&self) -> u16 {
        (self.word >> ENTRY_BITS) as u16
    }

    #[inline]
    pub(super) fn set_tag(&mut self, tag: u16) {
        self.word = self.word & ENTRY | u64::from(tag) << ENTRY_BITS;
    }
}
