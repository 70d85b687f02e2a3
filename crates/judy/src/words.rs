//! [`Words`]: what a pointer leads to that is no branch, and the number of keys that its words stand for.
//!
//! In a [`JudyMap`](super::JudyMap) each word is a key. In an array of byte strings a word may be the beginning of
//! several, which have an array of their own behind it; a branch counts these (COUNTED).

use super::bits::{self, Bits};
use super::branch::Branch;
use super::class::Account;
use super::digits::above;
use super::jp::{At, Node, Place, Slot};
use super::leaf::{self, View};

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

/// What a pointer leads to.
pub(super) enum Below<'a> {
    Nothing,
    /// Keys in the pointer.
    Few(View<Slot>),
    Leaf(View<Slot>),
    /// A bitmap leaf, and the number of its keys.
    Bits(&'a Bits, usize),
    /// A branch, and its level.
    Branch(Branch, usize),
}

impl Below<'_> {
    #[inline(always)]
    pub(super) fn of(at: At) -> Self {
        // SAFETY: as the pointer says (NODES).
        unsafe {
            match at.meta().what() {
                Node::Empty => Self::Nothing,
                Node::One => Self::Few(View::few(at, at.slot(), 7, 1)),
                Node::Few { width, len } => Self::Few(View::few(at, at.node().cast(), width, len)),
                Node::Leaf { level, len } => Self::Leaf(View::leaf(at.node(), level, len)),
                Node::Bits { len } => Self::Bits(Bits::of(at), len),
                Node::Branch { level, form } => Self::Branch(Branch::at(at, form), level),
            }
        }
    }
}

impl<'a> Below<'a> {
    /// Returns the words that are here; `None` for a branch, and for nothing.
    #[inline(always)]
    pub(super) fn words(self) -> Option<Words<'a>> {
        match self {
            Self::Few(view) | Self::Leaf(view) => Some(Words::Sorted(view)),
            Self::Bits(bits, len) => Some(Words::Bits(bits, len)),
            Self::Nothing | Self::Branch(..) => None,
        }
    }
}

/// The words in a leaf or in a pointer, one at least.
pub(super) enum Words<'a> {
    Sorted(View<Slot>),
    Bits(&'a Bits, usize),
}

impl Words<'_> {
    /// Returns the number of bytes that each word has here: the lower ones.
    #[inline(always)]
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Sorted(view) => view.width(),
            Self::Bits(..) => 1,
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Sorted(view) => view.len(),
            Self::Bits(_, len) => *len,
        }
    }

    /// Returns the number of words below one, and whether it is there.
    #[inline]
    pub(super) fn search(&self, word: u64) -> (usize, bool) {
        match self {
            Self::Sorted(view) => view.search(word),
            Self::Bits(bits, _) => (bits.rank(word), !bits.get(word).is_null()),
        }
    }

    /// Returns the `n`-th word, as it is here, and the place of its value.
    #[inline]
    pub(super) fn nth(&self, n: usize) -> Option<(u64, *mut Slot)> {
        match self {
            Self::Sorted(view) => Some((view.key(n), view.value(n))),
            Self::Bits(bits, _) => bits.nth(n),
        }
    }

    /// Calls `f` with the words, as they are here, and the places of their values, until it returns `false`.
    #[inline]
    pub(super) fn each(&self, mut f: impl FnMut(u64, *mut Slot) -> bool) {
        let mut f = |(word, slot)| f(word, slot);
        match self {
            Self::Sorted(view) => view.pairs(0, view.len()).all(&mut f),
            Self::Bits(bits, _) => bits.iter().all(&mut f),
        };
    }

    /// Returns the number of keys behind the first `n` words. For words that are keys O(1); for others it looks at
    /// each.
    pub(super) fn keys_before<W: Weigh>(&self, n: usize) -> usize {
        if W::ALL_ONE {
            return n;
        }
        let (mut keys, mut left) = (0, n);
        self.each(|low, slot| {
            if left == 0 {
                return false;
            }
            left -= 1;
            // SAFETY: the value of a word of a living tree (NODES).
            keys += unsafe { W::weight(low, *slot) };
            true
        });
        keys
    }

    /// Returns the index of the word that has the `n`-th key, and the number of keys before it there; there are more
    /// than `n`.
    pub(super) fn word_of<W: Weigh>(&self, n: usize) -> (usize, usize) {
        if W::ALL_ONE {
            return (n, 0);
        }
        let (mut at, mut left) = (0, n);
        self.each(|low, slot| {
            // SAFETY: as in `keys_before`.
            let keys = unsafe { W::weight(low, *slot) };
            if left < keys {
                return false;
            }
            (at, left) = (at + 1, left - keys);
            true
        });
        (at, left)
    }
}

/// Returns the number of keys below a pointer: O(1) for a branch, but for one with the children of one count.
#[inline]
pub(super) fn keys_of<W: Weigh>(at: At) -> usize {
    match Below::of(at) {
        Below::Branch(branch, _) => branch.keys(),
        _ if W::ALL_ONE => at.meta().words(),
        below => below
            .words()
            .map_or(0, |words| words.keys_before::<W>(words.len())),
    }
}

/// Frees all nodes below a pointer of these keys; calls `f` with each word and the place of its value before, in the
/// order of words.
///
/// # Safety
///
/// The tree is the caller's alone, and the pointer is not used again.
pub(super) unsafe fn free(
    at: At,
    place: Place,
    account: &mut Account,
    f: &mut impl FnMut(u64, *mut Slot),
) {
    let (here, below) = (place.of_node(at.meta()), Below::of(at));
    if let Below::Branch(branch, _) = below {
        for (digit, child) in branch.iter() {
            // SAFETY: the caller's contract; each node is freed once, by its one pointer (NODES).
            unsafe { free(child, here.child(digit), account, f) };
        }
        return branch.free(account);
    }
    let Some(words) = below.words() else { return };
    let prefix = here.prefix & above(words.width());
    words.each(|word, slot| {
        f(prefix | word, slot);
        true
    });
    // SAFETY: as above; the values are the caller's by now.
    unsafe {
        match words {
            Words::Sorted(_) => leaf::free(at, account),
            Words::Bits(..) => bits::free(at, account),
        }
    }
}
