//! The nodes of a relaxed AVL tree: their versions, links and locks.
//!
//! ```text
//!        0         8        16       24       32       40       48
//!        +---------+--------+--------+--------+--------+--------+
//! node   | version | prefix | low    | high   | word   | parent |
//!        +---------+--------+--------+--------+--------+--------+
//! version:   bit 0 locked; bit 1 shrinking; bit 2 unlinked; bit 3 shared; bits 8-15 height;
//!            bits 16-63 how often the node has shrunk
//! prefix:    key prefix of the key
//! low, high: addresses of the children, 0 for none
//! word:      bits 0-47 handle of the entry; bit 63 dead
//! parent:    address of the parent, 0 for the holder of the root
//! ```

use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use fyris_index::Entry;
use fyris_sync::alloc::{allocate, free};
use fyris_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use fyris_sync::lock::{lock_bit, unlock};
use fyris_sync::reclaim::{Guard, PROTECT, Retire, assert_not_reclaimed};

use crate::place::Keyed;

/// A thread changes the node.
const LOCKED: u64 = 1;
/// The keys that the node is searched for are becoming fewer.
const SHRINKING: u64 = 1 << 1;
/// The node is out of the tree, or about to be.
const UNLINKED: u64 = 1 << 2;
/// Snapshots may have the node, and those below it.
const SHARED: u64 = 1 << 3;
const HEIGHT_SHIFT: u32 = 8;
const HEIGHT: u64 = 0xFF << HEIGHT_SHIFT;
/// One more time that the node has shrunk.
const SHRUNK: u64 = 1 << 16;

/// The entry is out of the index.
const DEAD: u64 = 1 << 63;
const HANDLE: u64 = (1 << 48) - 1;

/// The place of a child: that of the lower keys, or that of the higher.
pub(super) type Side = usize;
pub(super) const LOW: Side = 0;
pub(super) const HIGH: Side = 1;

/// Returns the opposite side.
#[inline]
pub(super) fn other(side: Side) -> Side {
    HIGH - side
}

/// A node.
#[repr(C)]
pub(super) struct AvlNode {
    version: AtomicU64,
    prefix: u64,
    children: [AtomicPtr<AvlNode>; 2],
    word: AtomicU64,
    parent: AtomicPtr<AvlNode>,
}

/// A node that stays allocated for `'g`: it was reachable under the caller's pin (RECLAIM), or holds the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AvlNodeRef<'g>(NonNull<AvlNode>, PhantomData<&'g AvlNode>);

/// What a node was when its version was read.
#[derive(Clone, Copy)]
pub(super) struct Version(u64);

impl Version {
    /// Returns whether all keys that belonged to the node at the one version do so at the other.
    #[inline]
    fn covers(self, other: Self) -> bool {
        (self.0 ^ other.0) & !(LOCKED | SHARED | HEIGHT) == 0
    }

    /// Returns whether the node is in the tree and is not shrinking.
    #[inline]
    pub(super) fn is_steady(self) -> bool {
        self.0 & (SHRINKING | UNLINKED) == 0
    }

    /// Returns whether the node is out of the tree, or about to be.
    #[inline]
    pub(super) fn is_unlinked(self) -> bool {
        self.0 & UNLINKED != 0
    }

    /// Returns whether a thread had the node locked.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    /// Returns whether snapshots may have the node, so that it does not change (invariant FROZEN_SHARED).
    #[inline]
    pub(super) fn is_shared(self) -> bool {
        self.0 & SHARED != 0
    }

    /// Returns the height that the node was known by.
    #[inline]
    pub(super) fn height(self) -> u8 {
        (self.0 >> HEIGHT_SHIFT) as u8
    }
}

impl<'g> AvlNodeRef<'g> {
    /// Bytes that a node takes.
    pub(super) const BYTES: usize = size_of::<AvlNode>();

    fn allocate(version: u64, prefix: u64, word: u64, parent: *mut AvlNode) -> Self {
        const { assert!(align_of::<AvlNode>() <= 8) };
        let node = allocate(size_of::<AvlNode>()).cast::<AvlNode>();
        let empty = AvlNode {
            version: AtomicU64::new(version),
            prefix,
            children: [AtomicPtr::default(), AtomicPtr::default()],
            word: AtomicU64::new(word),
            parent: AtomicPtr::new(parent),
        };
        // SAFETY: fresh memory with room for a node, aligned to 8.
        unsafe { node.write(empty) };
        Self(node, PhantomData)
    }

    /// Makes the holder of a root: a node without entry or parent, whose higher child is the root.
    pub(super) fn holder() -> Self {
        Self::allocate(0, 0, 0, ptr::null_mut())
    }

    /// Makes a holder for a snapshot of the tree with this root, and marks the root as shared. No thread writes.
    pub(super) fn snapshot_of(root: Option<AvlNodeRef<'_>>) -> Self {
        let holder = Self::holder();
        if let Some(root) = root {
            root.share();
            // Relaxed: this thread alone has the holder as yet.
            holder.node().children[HIGH].store(root.as_ptr(), Ordering::Relaxed);
        }
        holder
    }

    /// Marks the node as shared. No thread has it locked: none writes, or it is below a shared node, which is locked.
    fn share(self) {
        // Relaxed, the load: the height and the count do not change. Release: pairs with the Acquire in `version`; a
        // writer comes here by a link, or a gate, that was set after this.
        let version = self.node().version.load(Ordering::Relaxed);
        (self.node().version).store(version | SHARED, Ordering::Release);
    }

    /// Frees a node.
    ///
    /// # Safety
    ///
    /// Only the caller can reach it, and frees it once.
    pub(super) unsafe fn free(self) {
        // SAFETY: from `allocate`; otherwise the caller's contract.
        unsafe {
            self.0.drop_in_place();
            free(self.0.cast(), size_of::<AvlNode>());
        }
    }

    fn node(self) -> &'g AvlNode {
        assert_not_reclaimed(self.0.as_ptr());
        // SAFETY: a node stays allocated for `'g`, and all that changes in it is atomic.
        unsafe { self.0.as_ref() }
    }

    /// Returns the pointer to retire the node by.
    pub(super) fn as_ptr(self) -> *mut AvlNode {
        self.0.as_ptr()
    }

    /// Returns the version.
    #[inline]
    pub(super) fn version(self) -> Version {
        // Acquire: pairs with the Release in `unlock`: the links that came with the version are seen; and what is
        // loaded later is not older than it.
        Version(self.node().version.load(Ordering::Acquire))
    }

    /// Returns whether all keys that belonged to the node at `version` have done so until now.
    #[inline]
    pub(super) fn is_still(self, version: Version) -> bool {
        cfg!(fyris_mutant = "ravl_unvalidated") || self.version().covers(version)
    }

    /// Returns whether the node is out of the tree, and no link leads to it any more.
    pub(super) fn is_out(self) -> bool {
        // The thread that unlinks the node has it locked until the link is gone.
        self.version().0 & (LOCKED | UNLINKED) == UNLINKED
    }

    /// Returns the height that the node is known by.
    #[inline]
    pub(super) fn height(self) -> u8 {
        self.version().height()
    }

    /// Returns a child.
    #[inline]
    pub(super) fn child(self, side: Side) -> Option<AvlNodeRef<'g>> {
        // PROTECT: pairs with the Release in `LockedAvlNode::set_child`: the node is seen whole, and so are the marks
        // that were set before the link.
        Self::at(self.node().children[side].load(PROTECT))
    }

    /// Returns the parent, unless the node is the holder: the node that links it, or has done so until just now.
    #[inline]
    pub(super) fn parent(self) -> Option<AvlNodeRef<'g>> {
        // PROTECT: pairs with the Release in `LockedAvlNode::set_child`.
        Self::at(self.node().parent.load(PROTECT))
    }

    #[inline]
    fn at(node: *mut AvlNode) -> Option<Self> {
        let node = NonNull::new(node)?;
        assert_not_reclaimed(node.as_ptr());
        Some(Self(node, PhantomData))
    }

    /// Returns the side on which the node is linked by this one.
    pub(super) fn side_of(self, child: AvlNodeRef<'_>) -> Option<Side> {
        [LOW, HIGH]
            .into_iter()
            .find(|side| self.child(*side) == Some(child))
    }

    /// Returns the heights that the children are known by, 0 for none.
    #[inline]
    pub(super) fn heights(self) -> [u8; 2] {
        [LOW, HIGH].map(|side| self.child(side).map_or(0, AvlNodeRef::height))
    }

    /// Prefetches a child.
    #[inline]
    pub(super) fn prefetch(self, side: Side) {
        // Relaxed: the node is not looked at.
        fyris_index::prefetch::read(self.node().children[side].load(Ordering::Relaxed));
    }

    fn word(self) -> u64 {
        // PROTECT: pairs with the Release in `set_entry` and in `set_child`: the entry is seen whole.
        self.node().word.load(PROTECT)
    }

    /// Returns the entry, unless the node is dead.
    #[inline]
    pub(super) fn entry<E: Entry>(self) -> Option<E> {
        let word = self.word();
        // SAFETY: as in `any_entry`.
        (word & DEAD == 0).then(|| unsafe { E::from_bits(word & HANDLE) })
    }

    /// Returns whether the node has no entry any more.
    pub(super) fn is_dead(self) -> bool {
        self.word() & DEAD != 0
    }

    /// Waits for the lock of the node and takes it; `None` if the node is unlinked.
    #[inline]
    pub(super) fn lock(self) -> Option<LockedAvlNode<'g>> {
        let version = lock_bit(&self.node().version, LOCKED, UNLINKED);
        (version & UNLINKED == 0).then_some(LockedAvlNode {
            node: self,
            version,
        })
    }

    /// Waits for the lock of the node and takes it; `None` if the node is unlinked, or if a key that belonged to it at
    /// `version` does not any more.
    #[inline]
    pub(super) fn lock_at(self, version: Version) -> Option<LockedAvlNode<'g>> {
        let locked = self.lock()?;
        let is_still = cfg!(fyris_mutant = "ravl_locks_any_version")
            || Version(locked.version).covers(version);
        is_still.then_some(locked)
    }
}

impl Keyed for AvlNodeRef<'_> {
    #[inline]
    fn prefix(self) -> u64 {
        self.node().prefix
    }

    /// Returns the entry, or the last one if the node is dead: one with the node's key. Not for the holder.
    #[inline]
    fn any_entry<E: Entry>(self) -> E {
        // SAFETY: the handle of an entry that was put in. Its owner gets it when the node has another one or is out of
        // the tree (NEVER_EMPTY), so that was after the beginning of this thread's pin.
        unsafe { E::from_bits(self.word() & HANDLE) }
    }
}

/// A node that this thread has locked. Dropping it unlocks the node.
pub(super) struct LockedAvlNode<'g> {
    pub(super) node: AvlNodeRef<'g>,
    /// The version to leave there.
    version: u64,
}

impl<'g> LockedAvlNode<'g> {
    /// Makes a locked leaf that is not in the tree.
    #[inline]
    pub(super) fn leaf<E: Entry>(prefix: u64, entry: E) -> Self {
        let mut leaf = Self::fresh(prefix, entry.into_bits());
        leaf.version |= 1 << HEIGHT_SHIFT;
        leaf
    }

    /// Makes a locked node with the key and the entry of this one, that is not in the tree and has no children and no
    /// height.
    pub(super) fn twin(&self) -> Self {
        Self::fresh(self.node.prefix(), self.node.word())
    }

    fn fresh(prefix: u64, word: u64) -> Self {
        Self {
            node: AvlNodeRef::allocate(LOCKED, prefix, word, ptr::null_mut()),
            version: 0,
        }
    }

    /// Sets a child, and the parent of that.
    #[inline]
    pub(super) fn set_child(&self, side: Side, child: Option<AvlNodeRef<'_>>) {
        let order = if cfg!(fyris_mutant = "ravl_unpublished") {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        let at = child.map_or(ptr::null_mut(), |child| {
            // Release: pairs with PROTECT in `parent`; this node was written before.
            child.node().parent.store(self.node.as_ptr(), order);
            child.as_ptr()
        });
        // Release: pairs with PROTECT in `child`; what is behind the link, and the marks, were written before.
        self.node.node().children[side].store(at, order);
    }

    /// Returns a child that no snapshot has: a copy, which it puts into the child's place, if snapshots have the child.
    #[inline]
    pub(super) fn own_child(&self, side: Side, pin: &impl Guard) -> Option<AvlNodeRef<'g>> {
        let child = self.node.child(side)?;
        if !child.version().is_shared() {
            return Some(child);
        }
        Some(self.copy_child(side, child, pin))
    }

    #[cold]
    fn copy_child(&self, side: Side, child: AvlNodeRef<'g>, pin: &impl Guard) -> AvlNodeRef<'g> {
        let mut copy = Self::fresh(child.prefix(), child.word());
        copy.version |= u64::from(child.height()) << HEIGHT_SHIFT;
        for side in [LOW, HIGH] {
            let below = child.child(side);
            if let Some(below) = below.filter(|_| !cfg!(fyris_mutant = "ravl_copy_unshared")) {
                below.share();
            }
            copy.set_child(side, below);
        }
        self.set_child(side, Some(copy.node));
        // SAFETY: this was the one link from the tree. Snapshots that have the node were pinned before (FROZEN_SHARED),
        // and a shared node is replaced by one thread, which has the node above locked.
        unsafe { pin.retire(child.as_ptr()) };
        copy.node
    }

    /// Sets the entry that the node has from now on.
    #[inline]
    pub(super) fn set_entry<E: Entry>(&self, entry: E) {
        // Release: pairs with PROTECT in `word`.
        (self.node.node().word).store(entry.into_bits(), Ordering::Release);
    }

    /// Takes the entry out: leaves the node dead.
    pub(super) fn kill(&self) {
        let word = self.node.word();
        // Release: pairs with PROTECT in `word`.
        (self.node.node().word).store(word | DEAD, Ordering::Release);
    }

    /// Computes the height from those of the children; returns whether it was another.
    #[inline]
    pub(super) fn measure(&mut self) -> bool {
        let [low, high] = self.node.heights();
        let height = u64::from(low.max(high).saturating_add(1)) << HEIGHT_SHIFT;
        let old = self.version;
        self.version = old & !HEIGHT | height;
        old != self.version
    }

    /// Marks the node as shrinking, until it is unlocked. To be called before the links change.
    pub(super) fn shrink(&mut self) {
        if cfg!(fyris_mutant = "ravl_shrinks_unmarked") {
            return;
        }
        self.mark(SHRINKING);
        self.version += SHRUNK;
    }

    /// Marks the node as out of the tree, for good. To be called before the links change.
    pub(super) fn unlink(&mut self) {
        self.mark(UNLINKED);
        self.version |= UNLINKED;
    }

    fn mark(&self, bit: u64) {
        // Relaxed: a reader that sees a link that is changed behind this, by PROTECT, sees this.
        (self.node.node().version).store(self.version | LOCKED | bit, Ordering::Relaxed);
    }
}

impl Drop for LockedAvlNode<'_> {
    #[inline]
    fn drop(&mut self) {
        // Pairs with the Acquire in `version` and in `lock_bit`; VISIBLE.
        unlock(&self.node.node().version, self.version);
    }
}

impl Retire for AvlNode {
    unsafe fn reclaim(node: *mut Self) {
        // SAFETY: a node's pointer, by the caller's contract reclaimed once.
        unsafe { AvlNodeRef(NonNull::new_unchecked(node), PhantomData).free() };
    }
}
