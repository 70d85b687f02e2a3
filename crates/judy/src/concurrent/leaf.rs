//! Leaves: the layout of the sequential form, whose keys never change once a link leads to them.

use std::marker::PhantomData;

use fyris_sync::atomic::Ordering;
use fyris_sync::reclaim::{LocalGuard, assert_not_reclaimed};

use super::super::digits::above;
use super::super::keys;
use super::super::leaf::{View, words};
use super::block::{self, Cell};
use super::link::Link;

/// A leaf that is looked at: for as long as the thread is pinned, or it is the caller's. Its keys do not change
/// (FROZEN_BRANCH).
#[derive(Clone, Copy)]
pub(super) struct Leaf<'a> {
    view: View<Cell>,
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
        let node = link.address();
        assert_not_reclaimed(node.cast::<Cell>());
        Self {
            // SAFETY: the caller's contract; as the link says.
            view: unsafe { View::leaf(node, link.level(), link.len()) },
            lives: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn len(self) -> usize {
        self.view.len()
    }

    /// Returns the number of keys below the key, and whether it is there. The keys share its bits above their level.
    #[inline(always)]
    pub(super) fn search(self, key: u64) -> (usize, bool) {
        self.view.search(key)
    }

    /// Returns the place of the value at an index.
    #[inline(always)]
    pub(super) fn value(self, i: usize) -> &'a Cell {
        // SAFETY: one of the values, which live as long as the leaf.
        unsafe { &*self.view.value(i) }
    }

    /// Returns the keys, as they are stored, and their values, from an index to another.
    #[inline]
    pub(super) fn between(
        self,
        from: usize,
        to: usize,
    ) -> impl DoubleEndedIterator<Item = (u64, &'a Cell)> + Clone + use<'a> {
        let pairs = self.view.pairs(from, to);
        // SAFETY: as in `value`.
        pairs.map(|(low, value)| (low, unsafe { &*value }))
    }

    /// Returns the pairs; `prefix` is the bits above the leaf's level. Under the lock, so that values stand still.
    pub(super) fn pairs(self, prefix: u64) -> impl Iterator<Item = (u64, u64)> + Clone + use<'a> {
        let prefix = prefix & above(self.view.width());
        // Relaxed: values change under the lock that the caller has (LOCKED).
        let pair = move |(low, value): (u64, &Cell)| (prefix | low, value.load(Ordering::Relaxed));
        self.between(0, self.len()).map(pair)
    }

    /// Makes a leaf with one more pair at an index.
    #[inline]
    pub(super) fn with(self, at: usize, key: u64, value: u64) -> Link {
        let (len, level) = (self.len() + 1, self.view.width());
        let node = block::allocate(words(level, len));
        // SAFETY: a new block with room for them; the keys of this one do not change.
        unsafe {
            let to = View::<Cell>::leaf(node.cast(), level, len).values();
            keys::insert(self.view.keys(), node.cast(), level, self.len(), at, key);
            self.move_values(0..at, to);
            to.add(at).write(Cell::new(value));
            self.move_values(at..self.len(), to.add(1));
        }
        Link::leaf(node, level, len)
    }

    /// Makes a leaf without the pair at an index: nothing if it is the last one.
    #[inline]
    pub(super) fn without(self, at: usize) -> Link {
        let (len, level) = (self.len() - 1, self.view.width());
        if len == 0 {
            return Link::EMPTY;
        }
        let node = block::allocate(words(level, len));
        // SAFETY: as in `with`.
        unsafe {
            let to = View::<Cell>::leaf(node.cast(), level, len).values();
            keys::remove(self.view.keys(), node.cast(), level, self.len(), at);
            self.move_values(0..at, to);
            self.move_values(at + 1..self.len(), to.sub(1));
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
    let node = block::allocate(words(level, pairs.len()));
    let pairs_of_cells = pairs.iter().map(|(key, value)| (*key, Cell::new(*value)));
    // SAFETY: a new block with room for them.
    unsafe { View::write(node.cast(), level, pairs_of_cells) };
    Link::leaf(node, level, pairs.len())
}

/// Frees the leaf that a link led to: once no thread looks at it any more, or at once if there is no pin.
///
/// # Safety
///
/// No link in the tree leads to the leaf any more (only the caller can still reach it, if there is no pin); it is put
/// away once.
#[inline]
pub(super) unsafe fn put_away(link: Link, pin: Option<&LocalGuard>) {
    // SAFETY: the caller's contract; the size that it was allocated with.
    unsafe { block::put_away(link.address().cast(), words(link.level(), link.len()), pin) }
}

/// Returns the bytes of the leaf that a link leads to.
pub(super) fn bytes(link: Link) -> usize {
    8 * words(link.level(), link.len())
}
