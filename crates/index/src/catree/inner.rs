//! Inner nodes (the papers' route nodes): immutable separators, child pointers replaced in place.
//!
//! ```text
//! offset  0  lock word
//!         8  number of children, level (1: above base nodes), place of the child pointers, prefix length
//!        16  the last key prefix of each line of key prefixes but the last line: six words
//!        64  key prefixes of the separators, in lines, padded with all ones
//!         .  child pointers
//!         .  separators (none where the key prefix is all of it)
//! ```
//!
//! A separator that comes or goes means a new node: the separators move bitwise, the old node is retired, and its
//! memory is freed without dropping them. The holder of the lock may replace a child pointer. All separators of a node
//! share a prefix of `prefix` bytes, which a probe is compared with once; key prefixes stand for what follows it.

use std::cmp::Ordering as Order;
use std::marker::PhantomData;
use std::ptr::NonNull;

use fyris_sync::alloc::{LINE, allocate_lines, free_lines};
use fyris_sync::atomic::{AtomicPtr, Ordering};
use fyris_sync::lock::{StatLock, StatWord};
use fyris_sync::reclaim::{PROTECT, Retire};

use super::FANOUT;
use super::draft::Draft;
use crate::key::TreeKey;
use crate::key::probe::{Fence, Probe};
use crate::simd::{self, Lanes, Line};

/// Offset of the line of the last key prefixes: that of the header, but in a model, whose atomics are large.
const FIRST: usize = if cfg!(any(loom, shuttle)) {
    size_of::<Inner<u64>>().next_multiple_of(LINE)
} else {
    0
};

/// Offset of the last key prefixes in their line.
const LASTS: usize = 16;

/// Offset of the key prefixes: on the next cache line.
const HEADS: usize = FIRST + LINE;

/// Key prefixes that are compared in one go: a cache line.
const BLOCK: usize = size_of::<Line>() / 8;

/// A child: a base node below level 1, else an inner node.
pub(crate) enum Node {}

/// An inner node; the arrays follow the header. See the module.
#[repr(C)]
pub(crate) struct Inner<K: TreeKey + ?Sized> {
    pub(super) lock: StatLock,
    len: u8,
    level: u8,
    /// Offset of the child pointers, in words.
    at_children: u8,
    /// Mask of the words of the first line that are the last key prefixes of blocks: see [`Lanes::rank`].
    lasts: u8,
    prefix: u32,
    key: PhantomData<fn() -> Box<K>>,
}

/// Returns the layout of a node: its size, and where children and separators begin.
#[inline]
fn layout<S>(children: usize) -> (usize, usize, usize) {
    const { assert!(align_of::<S>() <= LINE) };
    let at_children = HEADS + blocks(children) * LINE;
    let at_seps =
        (at_children + children * size_of::<AtomicPtr<Node>>()).next_multiple_of(align_of::<S>());
    (
        at_seps + (children - 1) * size_of::<S>(),
        at_children,
        at_seps,
    )
}

/// Returns the number of cache lines of key prefixes: at least one, so that there is one to look at.
#[inline]
fn blocks(children: usize) -> usize {
    (children - 1).div_ceil(BLOCK).max(1)
}

impl<K: TreeKey + ?Sized> Inner<K> {
    /// Makes a node of the children `from..to` of a draft and the separators between them.
    pub(super) fn alloc(draft: &Draft<K>, from: usize, to: usize) -> NonNull<Self> {
        const {
            assert!(FANOUT <= 1 + 7 * BLOCK && size_of::<Self>() <= FIRST + LASTS);
        }
        let children = to - from;
        let (size, at_children, at_seps) = layout::<K::Sep>(children);
        let raw = allocate_lines(size).as_ptr();
        // SAFETY: just allocated.
        let node = unsafe { NonNull::new_unchecked(raw.cast::<Self>()) };
        let prefix = draft.prefix(from, to);
        let blocks = blocks(children);
        let header = Self {
            lock: StatLock::new(StatWord::new(0)),
            len: children as u8,
            level: draft.level,
            at_children: (at_children / 8) as u8,
            lasts: ((1 << (blocks - 1)) - 1) << (LASTS / 8),
            prefix: prefix as u32,
            key: PhantomData,
        };
        let seps = children - 1;
        // SAFETY: the offsets come from `layout` for this number of children; the block is ours alone. Separators move
        // bitwise: the draft does not drop them.
        unsafe {
            node.write(header);
            let key_prefixes = raw.add(HEADS).cast::<u64>();
            key_prefixes
                .add(blocks * BLOCK - BLOCK)
                .cast::<Line>()
                .write([u64::MAX; BLOCK]);
            draft.write_key_prefixes(from, seps, prefix, key_prefixes);
            let lasts = raw.add(FIRST + LASTS).cast::<u64>();
            for block in 0..BLOCK - LASTS / 8 {
                let last = if block + 1 < blocks {
                    key_prefixes.add(block * BLOCK + BLOCK - 1).read()
                } else {
                    u64::MAX
                };
                lasts.add(block).write(last);
            }
            let to = raw.add(at_children).cast::<AtomicPtr<Node>>();
            for (at, &child) in draft.children()[from..from + children].iter().enumerate() {
                to.add(at).write(AtomicPtr::new(child));
            }
            let from_seps = draft.seps().as_ptr().add(from);
            from_seps.copy_to_nonoverlapping(raw.add(at_seps).cast(), seps);
        }
        node
    }

    /// Returns the number of children: at least one.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Returns the distance to the base nodes: at least 1.
    #[inline]
    pub(crate) fn level(&self) -> usize {
        self.level as usize
    }

    /// Returns whether the node has been unlinked. `false` may be out of date.
    #[inline]
    pub(crate) fn is_dead(&self) -> bool {
        self.lock.is_dead()
    }

    /// Returns the number of bytes allocated for the node.
    pub(super) fn bytes(&self) -> usize {
        layout::<K::Sep>(self.len()).0
    }

    /// Returns the number of bytes that all separators share and the key prefixes leave out.
    #[inline]
    pub(super) fn prefix(&self) -> usize {
        self.prefix as usize
    }

    /// Returns the key prefixes of the separators, behind the common prefix.
    #[inline]
    pub(super) fn key_prefixes(&self) -> &[u64] {
        let base = std::ptr::from_ref(self).cast::<u8>();
        // SAFETY: `alloc` wrote that many there, and they are not written again.
        unsafe { std::slice::from_raw_parts(base.add(HEADS).cast(), self.len() - 1) }
    }

    /// Returns the number of separators whose key prefix is at most `key_prefix`.
    #[inline(always)]
    fn rank<L: Lanes>(&self, key_prefix: u64) -> usize {
        // SAFETY: the lines are as `alloc` has written them.
        let rank = unsafe {
            let first = std::ptr::from_ref(self).byte_add(FIRST).cast();
            L::rank(first, self.lasts, key_prefix)
        };
        // The padding counts for the highest key prefix of all.
        rank.min(self.len() - 1)
    }

    /// Returns the separators; child `i` lies between the separators `i - 1` and `i`.
    #[inline]
    pub(super) fn seps(&self) -> &[K::Sep] {
        let base = std::ptr::from_ref(self).cast::<u8>();
        let at = layout::<K::Sep>(self.len()).2;
        // SAFETY: as in `key_prefixes`.
        unsafe { std::slice::from_raw_parts(base.add(at).cast(), self.len() - 1) }
    }

    #[inline]
    fn children(&self) -> &[AtomicPtr<Node>] {
        let base = std::ptr::from_ref(self).cast::<u64>();
        let at = usize::from(self.at_children);
        // SAFETY: `alloc` wrote that many there; from then on they are accessed as atomics only.
        unsafe { std::slice::from_raw_parts(base.add(at).cast(), self.len()) }
    }

    /// Returns the child at `at`.
    #[inline]
    pub(crate) fn child(&self, at: usize) -> *mut Node {
        // PROTECT: pairs with the Release in `set_child`; the node is read under the pin.
        self.children()[at].load(PROTECT)
    }

    /// Replaces the child at `at`. The caller holds the lock.
    pub(super) fn set_child(&self, at: usize, node: *mut Node) {
        if cfg!(fyris_mutant = "ordered_child_unpublished") {
            return self.children()[at].store(node, Ordering::Relaxed);
        }
        // Release: pairs with the PROTECT load in `child`.
        self.children()[at].store(node, Ordering::Release);
    }

    /// Returns the separator to the right of child `at`, as a fence.
    pub(super) fn fence(&self, at: usize) -> Fence<'_, K> {
        Fence {
            key_prefix: self.key_prefixes()[at],
            sep: &self.seps()[at],
        }
    }

    /// Brings the header and the key prefixes near, before the node's size is known.
    #[inline]
    pub(super) fn prefetch(node: *const Self) {
        for line in 0..1 + (FANOUT - 1).div_ceil(BLOCK) {
            crate::prefetch::read(node.cast::<u8>().wrapping_add(LINE * line));
        }
    }

    /// Returns the place of the child that covers the probe.
    #[inline]
    pub(crate) fn find(&self, probe: &impl Probe<K>) -> usize {
        if simd::wide() {
            self.find_by::<simd::Vectors>(probe)
        } else {
            self.find_by::<simd::Words>(probe)
        }
    }

    /// Returns the index of the child that covers the probe, found by comparisons of `L`.
    #[inline(always)]
    pub(super) fn find_by<L: Lanes>(&self, probe: &impl Probe<K>) -> usize {
        if !K::EXACT && self.prefix > 0 {
            match probe.cmp_prefix(&self.seps()[0], self.prefix as usize) {
                Order::Less => return 0,
                Order::Equal => {}
                Order::Greater => return self.len() - 1,
            }
        }
        let key_prefix = probe.key_prefix(self.prefix as usize);
        let at = self.rank::<L>(key_prefix);
        if at == 0 || self.key_prefixes()[at - 1] != key_prefix {
            return at;
        }
        if probe.is_above_equals(self.prefix as usize) {
            return at;
        }
        self.find_equal::<L>(probe, key_prefix, at)
    }

    /// Goes on among the separators with this key prefix, of which the one before `at` is the last.
    #[inline(never)]
    fn find_equal<L: Lanes>(&self, probe: &impl Probe<K>, key_prefix: u64, at: usize) -> usize {
        let first = key_prefix
            .checked_sub(1)
            .map_or(0, |below| self.rank::<L>(below));
        let equal = &self.seps()[first..at];
        first + equal.partition_point(|sep| probe.cmp_sep(sep) != Order::Less)
    }
}

impl<K: TreeKey + ?Sized> Inner<K> {
    /// Frees the node's memory. Its separators are not dropped: they have moved, or are dropped beforehand by
    /// [`Inner::drop_seps`] (invariant SEPARATOR).
    ///
    /// # Safety
    ///
    /// Only the caller can reach it, and it is freed once.
    pub(super) unsafe fn free(node: *mut Self) {
        // SAFETY: from `alloc`, by the caller's contract.
        unsafe {
            let size = (*node).bytes();
            free_lines(NonNull::new_unchecked(node.cast()), size);
        }
    }

    /// Drops the separators.
    ///
    /// # Safety
    ///
    /// Only the caller can reach the node, its separators have not moved, and it is only freed afterwards.
    pub(super) unsafe fn drop_seps(node: *mut Self) {
        // SAFETY: initialised by `alloc`; dropped once, by the caller's contract.
        unsafe { std::ptr::drop_in_place(std::ptr::from_ref((*node).seps()).cast_mut()) }
    }
}

impl<K: TreeKey + ?Sized> Retire for Inner<K> {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: (RECLAIM) the contract of `reclaim`.
        unsafe { Self::free(ptr) }
    }
}
