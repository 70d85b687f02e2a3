//! Leaves of sorted keys, which both forms of the array have, and keys in the pointer.
//!
//! **SORTED**: a leaf has as many ascending keys as the pointer to it says, of one byte for each level, and behind them
//! (`SHAPES`) a value of each.

use super::class::{Account, LARGEST, Use, class, class_of};
use super::gap;
use super::jp::{At, Jp, Node, Slot};
use super::keys::{self, stored};
use super::limits::PAIRS;

/// Words of a leaf of level 1 to 8 by the number of its keys, and the words that its keys take. Both are the same for
/// all numbers of keys that make one class, so that a leaf grows in place up to the class's end.
struct Shape {
    words: [u8; PAIRS + 1],
    values_at: [u8; PAIRS + 1],
}

static SHAPES: [Shape; 9] = {
    let mut shapes = [const {
        Shape {
            words: [0; PAIRS + 1],
            values_at: [0; PAIRS + 1],
        }
    }; 9];
    let mut level = 1;
    while level <= 8 {
        let mut len = 1;
        while len <= PAIRS && (len * level).div_ceil(8) + len <= LARGEST {
            let words = class_of((len * level).div_ceil(8) + len);
            let mut most = len;
            while ((most + 1) * level).div_ceil(8) + most < words {
                most += 1;
            }
            shapes[level].words[len] = words as u8;
            shapes[level].values_at[len] = (most * level).div_ceil(8) as u8;
            len += 1;
        }
        level += 1;
    }
    shapes
};

/// Returns the words of a leaf.
#[inline(always)]
pub(super) fn words(level: usize, len: usize) -> usize {
    SHAPES[level].words[len] as usize
}

/// Returns the number of words before the values of a leaf.
#[inline(always)]
fn values_at(level: usize, len: usize) -> usize {
    SHAPES[level].values_at[len] as usize
}

/// Sorted keys, which live for as long as they are looked at, and their values, wherever they are (SORTED). The values
/// of those that threads share are atomic.
pub(super) struct View<T> {
    keys: *const u8,
    values: *mut T,
    len: usize,
    width: usize,
}

impl<T> Clone for View<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<T> {}

impl View<Slot> {
    /// Makes the view of keys in a pointer.
    ///
    /// # Safety
    ///
    /// There are `len` of them, of `width` bytes each, and `len` values.
    #[inline(always)]
    pub(super) unsafe fn few(at: At, values: *mut Slot, width: usize, len: usize) -> Self {
        Self {
            keys: at.keys(),
            values,
            len,
            width,
        }
    }

    /// Inserts a key that is not there into a leaf that has room for one more, at the index where it belongs. Returns
    /// the place of its value, which the caller fills. The view is that of the pointer's leaf.
    #[inline(always)]
    pub(super) fn insert(self, at: At, i: usize, key: u64, account: &mut Account) -> *mut Slot {
        let mut place = self.values;
        self.resize(at, self.len + 1, account, |to| {
            // SAFETY: room for one more (`SHAPES`).
            unsafe {
                keys::insert(self.keys, to.keys.cast_mut(), self.width, self.len, i, key);
                gap::open(self.values, to.values, self.len, i);
                place = to.values.add(i);
            }
        });
        place
    }

    /// Removes the key at an index of a leaf of at least two; returns its value. The view is that of the pointer's
    /// leaf.
    #[inline(always)]
    pub(super) fn remove(self, at: At, i: usize, account: &mut Account) -> Slot {
        // SAFETY: one of the values.
        let value = unsafe { *self.value(i) };
        self.resize(at, self.len - 1, account, |to| {
            // SAFETY: room for all but one.
            unsafe {
                keys::remove(self.keys, to.keys.cast_mut(), self.width, self.len, i);
                gap::close(self.values, to.values, self.len, i);
            }
        });
        value
    }

    /// Makes the pointer of a leaf lead to one with another number of keys. `fill` moves what is here there, which is
    /// in the same block or in a new one. The tree is the caller's alone.
    #[inline(always)]
    fn resize(self, at: At, len: usize, account: &mut Account, fill: impl FnOnce(Self)) {
        let node = self.keys.cast_mut();
        let (before, after) = (words(self.width, self.len), words(self.width, len));
        let new = if before == after {
            node
        } else {
            account.allocate(Use::Leaf, after)
        };
        at.set_leaf(new, len);
        // SAFETY: a block of this size; the old one was allocated with these arguments, and what was in it is moved.
        unsafe {
            fill(Self::leaf(new, self.width, len));
            if before != after {
                account.free(Use::Leaf, node, before);
            }
        }
    }
}

impl<T> View<T> {
    /// Makes the view of a leaf.
    ///
    /// # Safety
    ///
    /// `node` is a block of a leaf of that level with `len` keys, which lives, and is filled before it is looked at.
    #[inline(always)]
    pub(super) unsafe fn leaf(node: *mut u8, level: usize, len: usize) -> Self {
        Self {
            keys: node,
            // SAFETY: within the leaf, whose class has room for keys and values.
            values: unsafe { node.cast::<T>().add(values_at(level, len)) },
            len,
            width: level,
        }
    }

    /// Writes pairs into a new block of a leaf, in their order; returns the view of it.
    ///
    /// # Safety
    ///
    /// `node` has room for them, and is the caller's alone.
    pub(super) unsafe fn write(
        node: *mut u8,
        level: usize,
        pairs: impl ExactSizeIterator<Item = (u64, T)>,
    ) -> Self {
        // SAFETY: the caller's contract.
        unsafe {
            let view = Self::leaf(node, level, pairs.len());
            for (i, (key, value)) in pairs.enumerate() {
                keys::write_any(node, level, i, key);
                view.values.add(i).write(value);
            }
            view
        }
    }

    #[inline(always)]
    pub(super) fn len(self) -> usize {
        self.len
    }

    /// Returns the number of bytes that each key has here.
    #[inline(always)]
    pub(super) fn width(self) -> usize {
        self.width
    }

    /// Returns where the keys lie.
    #[inline(always)]
    pub(super) fn keys(self) -> *const u8 {
        self.keys
    }

    /// Returns where the values lie.
    #[inline(always)]
    pub(super) fn values(self) -> *mut T {
        self.values
    }

    /// Returns the number of keys below the key, and whether it is there. The keys share its bits above their width.
    #[inline(always)]
    pub(super) fn search(self, key: u64) -> (usize, bool) {
        let key = stored(key, self.width);
        // SAFETY: `len` sorted keys, one at least (SORTED).
        unsafe { keys::search_any(self.keys, self.width, self.len, key) }
    }

    /// Returns the place of a key's value; null if it is not there.
    #[inline(always)]
    pub(super) fn find(self, key: u64) -> *mut T {
        match self.search(key) {
            // SAFETY: one of the values.
            (i, true) => unsafe { self.values.add(i) },
            (_, false) => std::ptr::null_mut(),
        }
    }

    /// Returns the key at an index, as it is stored.
    #[inline(always)]
    pub(super) fn key(self, i: usize) -> u64 {
        assert!(i < self.len);
        // SAFETY: one of the keys.
        unsafe { keys::read_any(self.keys, self.width, i) }
    }

    /// Returns the place of the value at an index.
    #[inline(always)]
    pub(super) fn value(self, i: usize) -> *mut T {
        assert!(i < self.len);
        // SAFETY: one of the values.
        unsafe { self.values.add(i) }
    }

    /// Returns the keys, as they are stored, and the places of their values, from an index to another.
    #[inline(always)]
    pub(super) fn pairs(self, from: usize, to: usize) -> ViewPairs<T> {
        assert!(from <= to && to <= self.len);
        ViewPairs {
            view: self,
            from,
            to,
        }
    }
}

/// Neighbouring keys, as they are stored, and the places of their values.
pub(super) struct ViewPairs<T> {
    view: View<T>,
    /// At most `to`, which is at most the number of keys.
    from: usize,
    to: usize,
}

impl<T> Clone for ViewPairs<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ViewPairs<T> {}

impl<T> ViewPairs<T> {
    #[inline(always)]
    fn get(&self, i: usize) -> (u64, *mut T) {
        let View { keys, values, .. } = self.view;
        // SAFETY: the callers' index is that of a key.
        unsafe { (keys::read_any(keys, self.view.width, i), values.add(i)) }
    }
}

impl<T> Iterator for ViewPairs<T> {
    type Item = (u64, *mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.from == self.to {
            return None;
        }
        self.from += 1;
        Some(self.get(self.from - 1))
    }
}

impl<T> DoubleEndedIterator for ViewPairs<T> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.from == self.to {
            return None;
        }
        self.to -= 1;
        Some(self.get(self.to))
    }
}

/// Frees what a pointer to keys owns; the values stay the caller's.
///
/// # Safety
///
/// It leads to nothing, or to keys in the pointer or in a leaf that is not a bitmap leaf. It is not used again.
pub(super) unsafe fn free(at: At, account: &mut Account) {
    // SAFETY: allocated with these arguments, where the pointer was made.
    unsafe {
        match at.meta().what() {
            Node::Leaf { level, len } => account.free(Use::Leaf, at.node(), words(level, len)),
            Node::Few { len, .. } => account.free(Use::Few, at.node(), class(len)),
            Node::Empty | Node::One => {}
            Node::Bits { .. } | Node::Branch { .. } => unreachable!("not keys"),
        }
    }
}

/// Makes a leaf of these keys, which share their bits above the level; returns also the place of the first value.
pub(super) fn make_leaf(
    pairs: &[(u64, Slot)],
    level: usize,
    account: &mut Account,
) -> (Jp, *mut Slot) {
    let node = account.allocate(Use::Leaf, words(level, pairs.len()));
    // SAFETY: the new leaf has room for them.
    let view = unsafe { View::write(node, level, pairs.iter().copied()) };
    (Jp::leaf(node, level, pairs.len(), pairs[0].0), view.values)
}

/// Makes a pointer that holds these keys, two at least, of which each has its lowest `width` bytes stored.
pub(super) fn make_few(pairs: &[(u64, Slot)], width: usize, account: &mut Account) -> Jp {
    let values = account.allocate(Use::Few, class(pairs.len()));
    let mut packed = 0;
    for (i, (key, value)) in pairs.iter().enumerate() {
        packed |= stored(*key, width) << (8 * width * i);
        // SAFETY: the block has room for as many values as there are pairs.
        unsafe { values.cast::<Slot>().add(i).write(*value) };
    }
    Jp::few(values, width, pairs.len(), packed)
}
