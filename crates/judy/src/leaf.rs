//! Leaves of sorted keys, and keys in the pointer.

use super::class::{Account, LARGEST, Use, class, class_of};
use super::jp::{Jp, Node, Slot};
use super::keys::{self, stored, with_width};
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
pub(super) fn values_at(level: usize, len: usize) -> usize {
    SHAPES[level].values_at[len] as usize
}

/// Sorted keys and their values, wherever they are.
#[derive(Clone, Copy)]
pub(super) struct View {
    pub(super) keys: *const u8,
    pub(super) values: *mut Slot,
    pub(super) len: usize,
    pub(super) width: usize,
}

impl View {
    /// Makes the view of a leaf's keys, or of those in the pointer; `None` for a bitmap leaf, a branch and nothing.
    ///
    /// # Safety
    ///
    /// The pointer is one of a living tree (NODES), and stays where it is for as long as the view is used.
    #[inline(always)]
    pub(super) unsafe fn of(jp: *mut Jp) -> Option<Self> {
        // SAFETY: the caller's contract; the places in the pointer and in the leaf are those where they are written.
        unsafe {
            Some(match (*jp).meta.what() {
                Node::One => Self {
                    keys: (&raw const (*jp).meta).cast(),
                    values: (&raw mut (*jp).word).cast(),
                    len: 1,
                    width: 7,
                },
                Node::Few { width, len } => Self {
                    keys: (&raw const (*jp).meta).cast(),
                    values: Jp::node_at(jp).cast(),
                    len,
                    width,
                },
                Node::Leaf { level, len } => Self::leaf(Jp::node_at(jp), level, len),
                Node::Empty | Node::Bits { .. } | Node::Branch { .. } => return None,
            })
        }
    }

    /// Makes the view of a leaf.
    ///
    /// # Safety
    ///
    /// `node` is a leaf of that level with so many keys.
    #[inline(always)]
    pub(super) unsafe fn leaf(node: *mut u8, level: usize, len: usize) -> Self {
        Self {
            keys: node,
            // SAFETY: within the leaf, whose class has room for keys and values.
            values: unsafe { node.add(8 * values_at(level, len)) }.cast(),
            len,
            width: level,
        }
    }

    /// Returns the key at an index, as it is stored.
    ///
    /// # Safety
    ///
    /// `i` is less than the number of keys; what the view is of lives.
    #[inline(always)]
    pub(super) unsafe fn key(&self, i: usize) -> u64 {
        // SAFETY: the caller's contract.
        unsafe { keys::read_any(self.keys, self.width, i) }
    }

    /// Returns the number of keys below the key, and whether it is there. The keys share its bits above their width.
    ///
    /// # Safety
    ///
    /// What the view is of lives.
    #[inline(always)]
    pub(super) unsafe fn search(&self, key: u64) -> (usize, bool) {
        let key = stored(key, self.width);
        // SAFETY: the caller's contract; a view has a key at least.
        unsafe { keys::search_any(self.keys, self.width, self.len, key) }
    }
}

/// Inserts a key that is not there into a leaf that has room for one more, at the index where it belongs. Returns the
/// place of its value, which the caller fills.
///
/// # Safety
///
/// `jp` leads to a leaf of this level, which has `len` keys, fewer than a leaf can have; it owns the leaf.
#[inline]
pub(super) unsafe fn insert(
    jp: &mut Jp,
    level: usize,
    len: usize,
    at: usize,
    key: u64,
    account: &mut Account,
) -> *mut Slot {
    let (old, mut node) = (jp.node(), jp.node());
    let (words_before, words_after) = (words(level, len), words(level, len + 1));
    // SAFETY: the old leaf has `len` keys and values, the new one room for one more (`SHAPES`); both are ours alone.
    unsafe {
        let from = View::leaf(old, level, len);
        if words_before != words_after {
            node = account.allocate(Use::Leaf, words_after);
            jp.word.node = node;
        }
        let to = View::leaf(node, level, len + 1);
        if node != old {
            std::ptr::copy_nonoverlapping(from.keys, node, at * level);
            std::ptr::copy_nonoverlapping(from.values, to.values, at);
        }
        with_width!(level, W => {
            std::ptr::copy(from.keys.add(at * W), node.add((at + 1) * W), (len - at) * W);
            keys::write::<W>(node, at, key);
        });
        std::ptr::copy(from.values.add(at), to.values.add(at + 1), len - at);
        if node != old {
            account.free(Use::Leaf, old, words_before);
        }
        jp.set_len(len + 1);
        to.values.add(at)
    }
}

/// Removes the key at an index from a leaf of at least two; returns its value.
///
/// # Safety
///
/// `jp` leads to a leaf of this level with `len` keys, more than `at`; it owns the leaf.
#[inline]
pub(super) unsafe fn remove(
    jp: &mut Jp,
    level: usize,
    len: usize,
    at: usize,
    account: &mut Account,
) -> Slot {
    let (old, mut node) = (jp.node(), jp.node());
    let (words_before, words_after) = (words(level, len), words(level, len - 1));
    // SAFETY: as in `insert`, with one key less.
    unsafe {
        let from = View::leaf(old, level, len);
        let value = from.values.add(at).read();
        if words_before != words_after {
            node = account.allocate(Use::Leaf, words_after);
            jp.word.node = node;
        }
        let to = View::leaf(node, level, len - 1);
        if node != old {
            std::ptr::copy_nonoverlapping(from.keys, node, at * level);
            std::ptr::copy_nonoverlapping(from.values, to.values, at);
        }
        let behind = len - at - 1;
        std::ptr::copy(
            from.keys.add((at + 1) * level),
            node.add(at * level),
            behind * level,
        );
        std::ptr::copy(from.values.add(at + 1), to.values.add(at), behind);
        if node != old {
            account.free(Use::Leaf, old, words_before);
        }
        jp.set_len(len - 1);
        value
    }
}

/// Frees what a pointer to keys owns; the values stay the caller's.
///
/// # Safety
///
/// `jp` leads to nothing, or to keys in the pointer or in a leaf that is not a bitmap leaf. It is not used again.
pub(super) unsafe fn free(jp: &Jp, account: &mut Account) {
    // SAFETY: allocated with these arguments, where the pointer was made.
    unsafe {
        match jp.meta.what() {
            Node::Leaf { level, len } => account.free(Use::Leaf, jp.node(), words(level, len)),
            Node::Few { len, .. } => account.free(Use::Few, jp.node(), class(len)),
            Node::Empty | Node::One => {}
            Node::Bits { .. } | Node::Branch { .. } => unreachable!("not keys"),
        }
    }
}

/// Makes a leaf of these keys, which share their bits above the level.
pub(super) fn make_leaf(pairs: &[(u64, Slot)], level: usize, account: &mut Account) -> Jp {
    let len = pairs.len();
    let node = account.allocate(Use::Leaf, words(level, len));
    // SAFETY: the new leaf has room for them.
    unsafe {
        let view = View::leaf(node, level, len);
        for (i, (key, value)) in pairs.iter().enumerate() {
            with_width!(level, W => keys::write::<W>(node, i, *key));
            view.values.add(i).write(*value);
        }
    }
    Jp::leaf(node, level, len, pairs[0].0)
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
