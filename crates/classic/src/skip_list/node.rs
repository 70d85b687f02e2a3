//! The nodes of a skip list: their words, their towers of links, their locks.
//!
//! ```text
//!        0        8        16       24       32
//!        +--------+--------+--------+--------+--------+
//! node   | word   | prefix | next 0 | next 1 | next 2 | ...   a link for each level that the node is in
//!        +--------+--------+--------+--------+--------+
//! word:   bits 0-47 handle of the entry; bits 48-55 height; bit 62 dead; bit 63 locked
//! prefix: key prefix of the entry's key
//! next:   address of the next node of the level, 0 for none
//! ```

use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use fyris_index::Entry;
use fyris_sync::alloc::{allocate, free, usable_size};
use fyris_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use fyris_sync::lock::{lock_bit, unlock};
use fyris_sync::reclaim::{PROTECT, Retire, assert_not_reclaimed};

use crate::place::Keyed;

/// A thread changes the node.
const LOCKED: u64 = 1 << 63;
/// The node's entry is out of the index.
const DEAD: u64 = 1 << 62;
const HEIGHT_SHIFT: u32 = 48;
const HEIGHT: u64 = 0xFF << HEIGHT_SHIFT;
const HANDLE: u64 = (1 << HEIGHT_SHIFT) - 1;

/// Levels on which a scan looks ahead.
const AHEAD: usize = 5;

/// The largest size that the allocator rounds to a multiple of 16.
const FINE: usize = 128;

/// The first part of a node; a link for each of its levels lies behind it.
#[repr(C)]
pub(super) struct SkipNode {
    word: AtomicU64,
    prefix: u64,
}

/// The way to the next node of a level.
type LevelLink = AtomicPtr<SkipNode>;

/// A node that stays allocated for `'g`: it was reachable under the caller's pin (RECLAIM), or is the head.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SkipNodeRef<'g>(NonNull<SkipNode>, PhantomData<&'g SkipNode>);

const fn size_of_node(height: usize) -> usize {
    size_of::<SkipNode>() + height * size_of::<LevelLink>()
}

impl<'g> SkipNodeRef<'g> {
    /// Makes a node with this word that leads nowhere and is in no list.
    fn allocate(word: u64, prefix: u64) -> Self {
        const { assert!(align_of::<SkipNode>() <= 8 && align_of::<LevelLink>() <= 8) };
        let height = height_of(word);
        let node = allocate(size_of_node(height)).cast::<SkipNode>();
        let empty = SkipNode {
            word: AtomicU64::new(word),
            prefix,
        };
        // SAFETY: fresh memory, aligned to 8, with room for this and `height` links.
        unsafe {
            node.write(empty);
            for level in 0..height {
                link_at(node, level).write(LevelLink::default());
            }
        }
        Self(node, PhantomData)
    }

    /// Makes the head of a list: a node before all keys, without entry.
    pub(super) fn head(height: usize) -> Self {
        Self::allocate((height as u64) << HEIGHT_SHIFT, 0)
    }

    /// Frees a node.
    ///
    /// # Safety
    ///
    /// Only the caller can reach it, and frees it once.
    pub(super) unsafe fn free(self) {
        let height = self.height();
        // SAFETY: from `allocate`, with this height, which does not change; otherwise the caller's contract.
        unsafe {
            for level in 0..height {
                link_at(self.0, level).drop_in_place();
            }
            self.0.drop_in_place();
            free(self.0.cast(), size_of_node(height));
        }
    }

    fn node(self) -> &'g SkipNode {
        assert_not_reclaimed(self.0.as_ptr());
        // SAFETY: a node stays allocated for `'g`, and all that changes in it is atomic.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    fn link(self, level: usize) -> &'g LevelLink {
        debug_assert!(level < self.height());
        // SAFETY: as in `node`; the node has been met at this level, so it has a link there.
        unsafe { link_at(self.0, level).as_ref() }
    }

    fn word(self) -> u64 {
        // PROTECT: pairs with the Release in `unlock` and in `set_next`: the entry is seen whole.
        self.node().word.load(PROTECT)
    }

    /// Returns the pointer to retire the node by.
    pub(super) fn as_ptr(self) -> *mut SkipNode {
        self.0.as_ptr()
    }

    /// Returns the number of levels that the node is in, or is to be in.
    pub(super) fn height(self) -> usize {
        // Relaxed: the height does not change, and was written before the link that led here was published.
        height_of(self.node().word.load(Ordering::Relaxed))
    }

    /// Returns the number of bytes that the node takes.
    pub(super) fn bytes(self) -> usize {
        let size = size_of_node(self.height());
        if size <= FINE {
            return size.next_multiple_of(16);
        }
        // SAFETY: from `allocate`, with this size.
        unsafe { usable_size(self.0.cast(), size) }
    }

    /// Returns the entry, unless the node is dead.
    #[inline]
    pub(super) fn entry<E: Entry>(self) -> Option<E> {
        let word = self.word();
        // SAFETY: as in `any_entry`.
        (word & DEAD == 0).then(|| unsafe { E::from_bits(word & HANDLE) })
    }

    /// Returns the next node of the level.
    #[inline]
    pub(super) fn next(self, level: usize) -> Option<SkipNodeRef<'g>> {
        // PROTECT: pairs with the Release in `set_next`: the node is seen whole.
        let next = NonNull::new(self.link(level).load(PROTECT))?;
        assert_not_reclaimed(next.as_ptr());
        Some(Self(next, PhantomData))
    }

    /// Prefetches the next node of a level.
    #[inline]
    pub(super) fn prefetch(self, level: usize) {
        // Relaxed: the node is not looked at.
        fyris_index::prefetch::read(self.link(level).load(Ordering::Relaxed));
    }

    /// Prefetches the nodes that the links above the lowest lead to.
    #[inline]
    pub(super) fn prefetch_next(self) {
        for level in 1..self.height().min(AHEAD) {
            // Relaxed: the node is not looked at.
            fyris_index::prefetch::read(self.link(level).load(Ordering::Relaxed));
        }
    }

    /// Waits for the lock of the node and takes it; `None` if the node is dead.
    #[inline]
    pub(super) fn lock(self) -> Option<LockedSkipNode<'g>> {
        let dead = if cfg!(fyris_mutant = "skip_dead_is_locked") {
            0
        } else {
            DEAD
        };
        let word = lock_bit(&self.node().word, LOCKED, dead);
        (word & dead == 0).then_some(LockedSkipNode { node: self, word })
    }
}

impl Keyed for SkipNodeRef<'_> {
    #[inline]
    fn prefix(self) -> u64 {
        self.node().prefix
    }

    /// Returns the entry, or the last one if the node is dead: one with the node's key. Not for the head.
    #[inline]
    fn any_entry<E: Entry>(self) -> E {
        // SAFETY: the handle of an entry that was put in. Its owner gets it when the node has another one or is in no
        // list (NEVER_EMPTY), so that was after the beginning of this thread's pin.
        unsafe { E::from_bits(self.word() & HANDLE) }
    }
}

/// Returns where the link of a level is.
///
/// # Safety
///
/// `node` has room for the link.
#[inline]
unsafe fn link_at(node: NonNull<SkipNode>, level: usize) -> NonNull<LevelLink> {
    // SAFETY: the caller's contract: links lie behind the first part.
    unsafe { node.add(1).cast::<LevelLink>().add(level) }
}

fn height_of(word: u64) -> usize {
    ((word & HEIGHT) >> HEIGHT_SHIFT) as usize
}

/// A node that this thread has locked. Dropping it unlocks the node.
pub(super) struct LockedSkipNode<'g> {
    pub(super) node: SkipNodeRef<'g>,
    /// The word to leave there.
    word: u64,
}

impl<'g> LockedSkipNode<'g> {
    /// Makes a locked node that is in no list.
    pub(super) fn fresh<E: Entry>(height: usize, prefix: u64, entry: E) -> Self {
        let word = (height as u64) << HEIGHT_SHIFT | entry.into_bits();
        let lock = if cfg!(fyris_mutant = "skip_linked_unlocked") {
            0
        } else {
            LOCKED
        };
        Self {
            node: SkipNodeRef::allocate(word | lock, prefix),
            word,
        }
    }

    /// Sets the entry that the node has from now on.
    #[inline]
    pub(super) fn put<E: Entry>(&mut self, entry: E) {
        self.word = self.word & HEIGHT | entry.into_bits();
    }

    /// Unlocks the node and leaves it dead; returns it.
    pub(super) fn kill(mut self) -> SkipNodeRef<'g> {
        self.word |= DEAD;
        self.node
    }

    /// Sets the next node of a level.
    #[inline]
    pub(super) fn set_next(&self, level: usize, next: Option<SkipNodeRef<'_>>) {
        let order = if cfg!(fyris_mutant = "skip_unpublished") {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        // Release: pairs with PROTECT in `next`; what is behind `next` was written before.
        let at = next.map_or(ptr::null_mut(), |next| next.0.as_ptr());
        self.node.link(level).store(at, order);
    }
}

impl Drop for LockedSkipNode<'_> {
    #[inline]
    fn drop(&mut self) {
        // Pairs with PROTECT in `word` and the Acquire in `lock_bit`; VISIBLE.
        unlock(&self.node.node().word, self.word);
    }
}

impl Retire for SkipNode {
    unsafe fn reclaim(node: *mut Self) {
        // SAFETY: a node's pointer, by the caller's contract reclaimed once.
        unsafe { SkipNodeRef(NonNull::new_unchecked(node), PhantomData).free() };
    }
}
