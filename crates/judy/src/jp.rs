//! The pointer of two words ([`Jp`]), its kinds, and its place in a tree ([`At`]).

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::digits::{above, at_level};

/// The place of a value: a word.
pub(super) type Slot = MaybeUninit<u64>;

/// The first word of a [`Jp`].
#[derive(Clone, Copy)]
union Word {
    /// The address of a node, or of the values of keys that are in the pointer.
    node: *mut u8,
    /// The value of the one key that is in the pointer.
    value: Slot,
}

/// A pointer to a subtree: a word, and what is known of the subtree without a look at it. See the module.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Jp {
    word: Word,
    pub(super) meta: Meta,
}

/// The second word of a [`Jp`]: what its subtree is. Readers read it alone: while a value in the first word is lent,
/// who has borrowed it may change it (a value may be an atomic).
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Meta(pub(super) u64);

/// The bits of `meta` below the kind.
pub(super) const LOW: u64 = (1 << 56) - 1;
/// The digit of a key that `meta` has no room for.
pub(super) const TOP: u64 = !LOW;

const EMPTY: u8 = 0;
const LEAF: u8 = 1;
const BITS: u8 = 2;
const ONE: u8 = 3;
/// Keys of one byte in the pointer; those of two and three bytes follow.
const FEW: u8 = 4;
const SHAPE: u8 = 7;
/// The kinds of branches, whose lower bits are the shift of their digit.
const LINEAR: u8 = 0b01 << 6;
const UNCOMPRESSED: u8 = 0b10 << 6;
const BITMAP: u8 = 0b11 << 6;
const BRANCH: u8 = 0b11 << 6;

/// What a pointer leads to. `level` is the number of bytes of a key that are undecoded above the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Empty,
    /// One key and its value, in the pointer.
    One,
    /// `len` keys of `width` bytes in the pointer, and their values behind it.
    Few {
        width: usize,
        len: usize,
    },
    Leaf {
        level: usize,
        len: usize,
    },
    /// A leaf of level 1 that has a bit for each key.
    Bits {
        len: usize,
    },
    Branch {
        level: usize,
        form: Form,
    },
}

/// The forms of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Linear,
    Bitmap,
    Uncompressed,
}

impl Jp {
    pub(super) const EMPTY: Self = Self {
        word: Word {
            value: Slot::new(0),
        },
        meta: Meta(0),
    };

    #[inline]
    fn with(word: Word, kind: u8, low: u64) -> Self {
        Self {
            word,
            meta: Meta(u64::from(kind) << 56 | low & LOW),
        }
    }

    /// Makes a pointer that holds one key.
    #[inline]
    pub(super) fn one(key: u64, value: Slot) -> Self {
        Self::with(Word { value }, ONE, key)
    }

    /// Makes a pointer that holds `len` keys of `width` bytes, packed into `keys`.
    pub(super) fn few(values: *mut u8, width: usize, len: usize, keys: u64) -> Self {
        debug_assert!(width * len <= 7 && len > 1);
        let kind = (len as u8) << 3 | (FEW + width as u8 - 1);
        Self::with(Word { node: values }, kind, keys)
    }

    /// Makes a pointer to a leaf whose keys share the bits of `key` above its level (DECODED).
    #[inline]
    pub(super) fn leaf(node: *mut u8, level: usize, len: usize, key: u64) -> Self {
        let kind = (level as u8 - 1) << 3 | LEAF;
        Self::with(Word { node }, kind, key & above(level) | (len as u64 - 1))
    }

    /// Makes a pointer to a bitmap leaf; `key` as for a leaf.
    pub(super) fn bits(node: *mut u8, len: usize, key: u64) -> Self {
        Self::with(Word { node }, BITS, key & above(1) | (len as u64 - 1))
    }

    /// Makes a pointer to a branch; `key` as for a leaf.
    pub(super) fn branch(node: *mut u8, level: usize, form: Form, key: u64) -> Self {
        let form = match form {
            Form::Linear => LINEAR,
            Form::Bitmap => BITMAP,
            Form::Uncompressed => UNCOMPRESSED,
        };
        let kind = form | (level as u8 - 1) << 3;
        Self::with(Word { node }, kind, key & above(level))
    }
}

/// The place of a pointer of a living tree (NODES). Nobody changes a tree but who has it alone; who has it shared
/// reads.
#[derive(Clone, Copy)]
pub(super) struct At(NonNull<Jp>);

impl At {
    /// Returns the place of a pointer. It is to be read only if the pointer was borrowed to be read.
    #[inline(always)]
    pub(super) fn of(jp: NonNull<Jp>) -> Self {
        Self(jp)
    }

    #[inline(always)]
    pub(super) fn meta(self) -> Meta {
        // SAFETY: a pointer of a living tree (NODES).
        unsafe { (*self.0.as_ptr()).meta }
    }

    /// Returns the pointer.
    #[inline(always)]
    pub(super) fn get(self) -> Jp {
        // SAFETY: as in `meta`.
        unsafe { self.0.read() }
    }

    /// Replaces the pointer. What it led to is moved or freed by now.
    #[inline(always)]
    pub(super) fn set(self, jp: Jp) {
        // SAFETY: as in `meta`, of a tree that the caller has alone.
        unsafe { self.0.write(jp) }
    }

    /// Replaces the node of a leaf by another one of `len` keys.
    #[inline(always)]
    pub(super) fn set_leaf(self, node: *mut u8, len: usize) {
        // SAFETY: as in `set`.
        unsafe { (*self.0.as_ptr()).word.node = node };
        self.set_len(len);
    }

    /// Sets the number of keys of a leaf.
    #[inline(always)]
    pub(super) fn set_len(self, len: usize) {
        // SAFETY: as in `set`.
        let meta = unsafe { &mut (*self.0.as_ptr()).meta };
        meta.0 = meta.0 & !0xFF | (len as u64 - 1);
    }

    /// Returns the address of the node, or of the values of several keys in the pointer, which is no key alone. The
    /// rest of the pointer is not looked at.
    #[inline(always)]
    pub(super) fn node(self) -> *mut u8 {
        // SAFETY: as in `meta`; the word is an address, or zero.
        unsafe { (*self.0.as_ptr()).word.node }
    }

    /// Returns the place of the value of the one key that is in the pointer.
    #[inline(always)]
    pub(super) fn slot(self) -> *mut Slot {
        // SAFETY: as in `meta`.
        unsafe { (&raw mut (*self.0.as_ptr()).word).cast() }
    }

    /// Returns where keys lie that are in the pointer.
    #[inline(always)]
    pub(super) fn keys(self) -> *const u8 {
        // SAFETY: as in `meta`.
        unsafe { (&raw const (*self.0.as_ptr()).meta).cast() }
    }

    /// Returns whether a key has all digits that the pointer decodes, here (NARROW).
    #[inline(always)]
    pub(super) fn fits(self, key: u64, place: Place) -> bool {
        let meta = self.meta();
        let differ = (place.prefix & TOP | meta.0 & LOW) ^ key;
        meta.level().is_none_or(|level| differ & above(level) == 0)
    }
}

/// What is decoded above a pointer: the number of bytes that are not, and the bits of its keys above these.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) level: usize,
    pub(super) prefix: u64,
    pub(super) is_root: bool,
}

impl Place {
    /// Returns the place of a root whose keys have this prefix.
    #[inline(always)]
    pub(super) fn root(prefix: u64) -> Self {
        Self {
            level: 8,
            prefix,
            is_root: true,
        }
    }

    /// Returns the place of a child of a branch of this level, below which a key belongs.
    #[inline(always)]
    pub(super) fn below(level: usize, key: u64) -> Self {
        Self {
            level: level - 1,
            prefix: key & above(level - 1),
            is_root: false,
        }
    }

    /// Returns the place of the child of a digit, given the branch's own.
    #[inline(always)]
    pub(super) fn child(self, digit: usize) -> Self {
        Self {
            level: self.level - 1,
            prefix: self.prefix | at_level(digit, self.level),
            is_root: false,
        }
    }

    /// Returns the place of the node itself that a pointer here leads to, or the same if it has none: the keys have its
    /// prefix, which has no bits below its level.
    #[inline(always)]
    pub(super) fn of_node(self, meta: Meta) -> Self {
        Self {
            level: meta.level().unwrap_or(self.level),
            prefix: meta.prefix(self.prefix),
            ..self
        }
    }

    /// Compares the bits of a key above the level with those of the keys here.
    #[inline(always)]
    pub(super) fn cmp(self, key: u64) -> std::cmp::Ordering {
        (key & above(self.level)).cmp(&self.prefix)
    }

    /// Returns the last key that can be here: upwards, or downwards.
    pub(super) fn last(self, up: bool) -> u64 {
        let first = self.prefix & above(self.level);
        if up {
            first | !above(self.level)
        } else {
            first
        }
    }
}

impl Meta {
    #[inline(always)]
    pub(super) fn kind(self) -> u8 {
        (self.0 >> 56) as u8
    }

    #[inline(always)]
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Says what the pointer leads to.
    #[inline(always)]
    pub(super) fn what(self) -> Node {
        let kind = self.kind();
        let (number, low) = ((kind >> 3 & 7) as usize, (self.0 & 0xFF) as usize);
        let level = number + 1;
        match (kind & BRANCH, kind & SHAPE) {
            (UNCOMPRESSED, _) => Node::Branch {
                level,
                form: Form::Uncompressed,
            },
            (BITMAP, _) => Node::Branch {
                level,
                form: Form::Bitmap,
            },
            (LINEAR, _) => Node::Branch {
                level,
                form: Form::Linear,
            },
            (_, LEAF) => Node::Leaf {
                level,
                len: low + 1,
            },
            (_, BITS) => Node::Bits { len: low + 1 },
            (_, ONE) => Node::One,
            (_, EMPTY) => Node::Empty,
            (_, few) => Node::Few {
                width: (few - FEW + 1) as usize,
                len: number,
            },
        }
    }

    /// Returns the number of bytes undecoded above the node; `None` for what is in the pointer.
    #[inline(always)]
    pub(super) fn level(self) -> Option<usize> {
        match self.what() {
            Node::Leaf { level, .. } | Node::Branch { level, .. } => Some(level),
            Node::Bits { .. } => Some(1),
            Node::Empty | Node::One | Node::Few { .. } => None,
        }
    }

    /// Returns the number of words in what is no branch.
    #[inline(always)]
    pub(super) fn words(self) -> usize {
        match self.what() {
            Node::Empty | Node::Branch { .. } => 0,
            Node::One => 1,
            Node::Few { len, .. } | Node::Leaf { len, .. } | Node::Bits { len } => len,
        }
    }

    /// Returns the bits of the subtree's keys above its node, given those above the place of the pointer.
    #[inline(always)]
    pub(super) fn prefix(self, above_place: u64) -> u64 {
        match self.level() {
            Some(level) => (above_place & TOP | self.0 & LOW) & above(level),
            None => above_place,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_says_what_was_put_in() {
        let node = std::ptr::without_provenance_mut(64);
        let key = 0x0123_4567_89AB_CDEF;
        for level in 1..=8 {
            for form in [Form::Linear, Form::Bitmap, Form::Uncompressed] {
                let jp = Jp::branch(node, level, form, key);
                assert_eq!(jp.meta.what(), Node::Branch { level, form });
                assert_eq!(jp.meta.prefix(key), key & above(level));
            }
            for len in [1, 2, 50] {
                let jp = Jp::leaf(node, level, len, key);
                assert_eq!(jp.meta.what(), Node::Leaf { level, len });
                assert_eq!(jp.meta.prefix(key), key & above(level));
            }
        }
        for (width, len) in [(1, 2), (1, 7), (2, 2), (2, 3), (3, 2)] {
            let jp = Jp::few(node, width, len, key);
            assert_eq!(jp.meta.what(), Node::Few { width, len });
        }
        assert_eq!(
            Jp::bits(node, 256, key).meta.what(),
            Node::Bits { len: 256 }
        );
        assert_eq!(Jp::one(key, Slot::new(1)).meta.what(), Node::One);
        assert_eq!(Jp::EMPTY.meta.what(), Node::Empty);
    }
}
