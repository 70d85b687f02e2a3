//! Leaves: the layout of the sequential form, whose keys never change once a link leads to them.

use std::marker::PhantomData;

use fyris_sync::atomic::Ordering;
use fyris_sync::reclaim::{LocalGuard, assert_not_reclaimed};

use super::super::jp::above;
use super::super::keys::{self, stored, with_width};
use super::super::leaf::{values_at, words};
use super::block::{self, Cell};
use super::link::Link;

/// A leaf that is looked at: for as long as the thread is pinned, or it is the caller's.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'a> {
    keys: *const u8,
    values: *const Cell,
    level: usize,
    len: usize,
    lives: PhantomData<&'a Cell>,
}

impl<'a> Leaf<'a> {
    /// Looks at the leaf that a link leads to.
    ///
    /// # Safety
    ///
    /// The link leads to a leaf, which lives as long as `'a` (RECLAIM, or it is the caller's).
    #[inline(always)]
    pub(super) unsafe fn of(link: Link) -> Self {
        let (node, level, len) = (link.address().cast::<Cell>(), link.level(), link.len());
        assert_not_reclaimed(node);
        Self {
            keys: node.cast(),
            // SAFETY: within the block, whose class has room for keys and values.
            values: unsafe { node.add(values_at(level, len)) },
            level,
            len,
            lives: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn len(self) -> usize {
        self.len
    }

    /// Returns the number of keys below the key, and whether it is there. The keys share its bits above their level.
    #[inline(always)]
    pub(super) fn search(self, key: u64) -> (usize, bool) {
        // SAFETY: `len` sorted keys, of as many bytes as the level says, which do not change (FROZEN_BRANCH).
        unsafe { keys::search_any(self.keys, self.level, self.len, stored(key, self.level)) }
    }

    /// Returns the lower bytes of the key at an index.
    #[inline(always)]
    pub(super) fn key(self, i: usize) -> u64 {
        assert!(i < self.len);
        // SAFETY: one of the keys.
        unsafe { keys::read_any(self.keys, self.level, i) }
    }

    /// Returns the place of the value at an index.
    #[inline(always)]
    pub(super) fn value(self, i: usize) -> &'a Cell {
        assert!(i < self.len);
        // SAFETY: one of the values, which live as long as the leaf.
        unsafe { &*self.values.add(i) }
    }

    /// Returns the pairs; `prefix` is the bits above the leaf's level. Under the lock, so that values stand still.
    pub(super) fn pairs(self, prefix: u64) -> impl Iterator<Item = (u64, u64)> + Clone + use<'a> {
        let prefix = prefix & above(self.level);
        // Relaxed: values change under the lock that the caller has (LOCKED).
        (0..self.len).map(move |i| (prefix | self.key(i), self.value(i).load(Ordering::Relaxed)))
    }

    /// Makes a leaf with one more pair at an index.
    #[inline]
    pub(super) fn with(self, at: usize, key: u64, value: u64) -> Link {
        let (len, level) = (self.len + 1, self.level);
        let node = block::allocate(words(level, len));
        // SAFETY: a new block with room for them; the keys of this one do not change.
        unsafe {
            let (to, values) = (node.cast::<u8>(), node.add(values_at(level, len)));
            std::ptr::copy_nonoverlapping(self.keys, to, at * level);
            with_width!(level, W => keys::write::<W>(to, at, key));
            let behind = (self.len - at) * level;
            std::ptr::copy_nonoverlapping(
                self.keys.add(at * level),
                to.add((at + 1) * level),
                behind,
            );
            self.move_values(0..at, values);
            values.add(at).write(Cell::new(value));
            self.move_values(at..self.len, values.add(1));
        }
        Link::leaf(node, level, len)
    }

    /// Makes a leaf without the pair at an index: nothing if it is the last one.
    #[inline]
    pub(super) fn without(self, at: usize) -> Link {
        let (len, level) = (self.len - 1, self.level);
        if len == 0 {
            return Link::EMPTY;
        }
        let node = block::allocate(words(level, len));
        // SAFETY: as in `with`.
        unsafe {
            let (to, values) = (node.cast::<u8>(), node.add(values_at(level, len)));
            std::ptr::copy_nonoverlapping(self.keys, to, at * level);
            let behind = (len - at) * level;
            std::ptr::copy_nonoverlapping(
                self.keys.add((at + 1) * level),
                to.add(at * level),
                behind,
            );
            self.move_values(0..at, values);
            self.move_values(at + 1..self.len, values.sub(1));
        }
        Link::leaf(node, level, len)
    }

    /// Copies values to the same indexes from `to` on. Under the lock.
    ///
    /// # Safety
    ///
    /// There is room for them in a block that is the caller's.
    #[inline(always)]
    unsafe fn move_values(self, range: std::ops::Range<usize>, to: *mut Cell) {
        for i in range {
            // Relaxed: as in `pairs`.
            let value = self.value(i).load(Ordering::Relaxed);
            // SAFETY: the caller's contract.
            unsafe { to.add(i).write(Cell::new(value)) };
        }
    }
}

/// Makes a leaf of these pairs, in the order of keys, one at least.
pub(super) fn make(pairs: &[(u64, u64)], level: usize) -> Link {
    let len = pairs.len();
    let node = block::allocate(words(level, len));
    // SAFETY: a new block with room for them.
    unsafe {
        let values = node.add(values_at(level, len));
        for (i, (key, value)) in pairs.iter().enumerate() {
            with_width!(level, W => keys::write::<W>(node.cast(), i, *key));
            values.add(i).write(Cell::new(*value));
        }
    }
    Link::leaf(node, level, len)
}

/// Retires the leaf that a link led to.
///
/// # Safety
///
/// The link leads to a leaf that no link in the tree leads to any more; it is retired once.
#[inline]
pub(super) unsafe fn retire(link: Link, pin: &LocalGuard) {
    // SAFETY: the caller's contract; the size that it was allocated with.
    unsafe { block::retire(link.address().cast(), words(link.level(), link.len()), pin) }
}

/// Frees the leaf that a link leads to.
///
/// # Safety
///
/// Only the caller can still reach it.
pub(super) unsafe fn free(link: Link) {
    // SAFETY: the caller's contract; the size that it was allocated with.
    unsafe { block::free(link.address().cast(), words(link.level(), link.len())) }
}

/// Returns the bytes of the leaf that a link leads to.
pub(super) fn bytes(link: Link) -> usize {
    8 * words(link.level(), link.len())
}
