//! The number of keys that a word stands for.
//!
//! In a [`JudyMap`](super::JudyMap) each word is a key. In an array of byte strings a word may be the beginning of
//! several, which have an array of their own behind it; a branch counts these (COUNTED).

use super::bits::Bits;
use super::branch::Branch;
use super::jp::{Jp, Node, Slot};
use super::leaf::View;

/// Tells how many keys a word stands for.
pub(super) trait Weigh {
    /// Whether that is one for every word.
    const ALL_ONE: bool;

    /// Returns the number of keys behind a word of which the lowest byte is known, given its value.
    ///
    /// # Safety
    ///
    /// The value is one that the owner of the tree has put there, and what it leads to lives.
    unsafe fn weight(low: u64, value: Slot) -> usize;
}

/// Each word is one key.
pub(super) enum Ones {}

impl Weigh for Ones {
    const ALL_ONE: bool = true;

    #[inline(always)]
    unsafe fn weight(_: u64, _: Slot) -> usize {
        1
    }
}

/// Returns the number of words in what a pointer leads to, which is no branch.
///
/// # Safety
///
/// `jp` is a pointer of a living tree (NODES).
#[inline]
pub(super) unsafe fn words_in(jp: *const Jp) -> usize {
    // SAFETY: the caller's contract.
    match unsafe { (*jp).meta.what() } {
        Node::Empty | Node::Branch { .. } => 0,
        Node::One => 1,
        Node::Few { len, .. } | Node::Leaf { len, .. } | Node::Bits { len } => len,
    }
}

/// Returns the number of keys below a pointer. For words that are keys O(1), but for a branch with the children of one
/// count; for others it looks at each word of a leaf.
///
/// # Safety
///
/// `jp` is a pointer of a living tree (NODES).
#[inline]
pub(super) unsafe fn keys_of<W: Weigh>(jp: *const Jp) -> usize {
    // SAFETY: the caller's contract; what the pointer says.
    unsafe {
        match (*jp).meta.what() {
            Node::Branch { form, .. } => Branch::of(jp, form).keys(),
            _ => keys_before::<W>(jp, words_in(jp)),
        }
    }
}

/// Returns the number of keys behind the first `n` words of what is no branch.
///
/// # Safety
///
/// `jp` is a pointer of a living tree (NODES) to no branch, and to at least `n` words.
#[inline]
pub(super) unsafe fn keys_before<W: Weigh>(jp: *const Jp, n: usize) -> usize {
    if W::ALL_ONE {
        return n;
    }
    let (mut keys, mut left) = (0, n);
    // SAFETY: the caller's contract.
    unsafe {
        each_word(jp, |low, value| {
            if left == 0 {
                return false;
            }
            left -= 1;
            keys += W::weight(low, value);
            true
        });
    }
    keys
}

/// Returns the index of the word that has the `n`-th key in what is no branch, and the number of keys before it there.
///
/// # Safety
///
/// `jp` is a pointer of a living tree (NODES) to no branch, and to more than `n` keys.
#[inline]
pub(super) unsafe fn word_of<W: Weigh>(jp: *const Jp, n: usize) -> (usize, usize) {
    if W::ALL_ONE {
        return (n, 0);
    }
    let (mut at, mut left) = (0, n);
    // SAFETY: the caller's contract.
    unsafe {
        each_word(jp, |low, value| {
            let keys = W::weight(low, value);
            if left < keys {
                return false;
            }
            (at, left) = (at + 1, left - keys);
            true
        });
    }
    (at, left)
}

/// Calls `f` with the lowest byte of each word, and its value, in order, until it returns `false`.
///
/// # Safety
///
/// `jp` is a pointer of a living tree (NODES) to no branch.
unsafe fn each_word(jp: *const Jp, mut f: impl FnMut(u64, Slot) -> bool) {
    // SAFETY: the caller's contract; only read.
    unsafe {
        if let Some(view) = View::of(jp.cast_mut()) {
            let mut words = 0..view.len;
            words.all(|i| f(view.key(i) & 0xFF, view.values.add(i).read()));
            return;
        }
        if !matches!((*jp).meta.what(), Node::Bits { .. }) {
            return;
        }
        for (at, quarter) in Bits::of(jp).0.iter().enumerate() {
            let mut bitmap = quarter.bitmap;
            for i in 0..quarter.len() {
                let low = at as u64 * 64 + u64::from(bitmap.trailing_zeros());
                bitmap &= bitmap - 1;
                if !f(low, quarter.values.add(i).read()) {
                    return;
                }
            }
        }
    }
}
