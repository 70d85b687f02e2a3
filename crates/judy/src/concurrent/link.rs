//! [`Link`]: a pointer to a subtree in one word, so that one store replaces the subtree.

use super::super::jp::Form;
use super::block::Cell;

/// A word that leads to a node, or to nothing:
///
/// ```text
/// bits 0 to 47     address
/// bits 48 to 50    kind
/// bits 51 to 54    level
/// bits 55 to 60    keys of a leaf, less one
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(pub(super) u64);

/// What a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Empty,
    /// Sorted keys and their values.
    Leaf,
    /// A branch of up to seven children.
    Linear,
    /// A branch with a bit for each child.
    Bitmap,
    /// A branch of 256 places.
    Uncompressed,
    /// A leaf with a bit for each of 256 keys: a branch of level 1 whose children are values.
    Bits,
    /// A bitmap leaf with room for 256 values.
    Full,
    /// The place of the root: a branch of level 9 with one child for all keys.
    Root,
}

impl From<Form> for Kind {
    fn from(form: Form) -> Self {
        match form {
            Form::Linear => Self::Linear,
            Form::Bitmap => Self::Bitmap,
            Form::Uncompressed => Self::Uncompressed,
        }
    }
}

impl Kind {
    /// Returns the form of a branch; `None` for what else is there.
    pub(super) fn form(self) -> Option<Form> {
        match self {
            Self::Linear => Some(Form::Linear),
            Self::Bitmap => Some(Form::Bitmap),
            Self::Uncompressed => Some(Form::Uncompressed),
            _ => None,
        }
    }
}

const ADDRESS: u64 = (1 << 48) - 1;

impl Link {
    pub(super) const EMPTY: Self = Self(0);

    #[inline]
    fn new(node: *const u8, kind: Kind, level: usize, len: usize) -> Self {
        let address = node.expose_provenance() as u64;
        debug_assert!(address <= ADDRESS, "an address of 48 bits");
        Self(address | (kind as u64) << 48 | (level as u64) << 51 | (len as u64) << 55)
    }

    /// Makes a link to a leaf of `len` keys.
    #[inline]
    pub(super) fn leaf(node: *const Cell, level: usize, len: usize) -> Self {
        Self::new(node.cast(), Kind::Leaf, level, len - 1)
    }

    /// Makes a link to a branch.
    #[inline]
    pub(super) fn branch(node: *const u8, kind: Kind, level: usize) -> Self {
        Self::new(node, kind, level, 0)
    }

    #[inline(always)]
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    pub(super) fn address(self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut((self.0 & ADDRESS) as usize)
    }

    #[inline(always)]
    pub(super) fn kind(self) -> Kind {
        match self.0 >> 48 & 7 {
            0 => Kind::Empty,
            1 => Kind::Leaf,
            2 => Kind::Linear,
            3 => Kind::Bitmap,
            4 => Kind::Uncompressed,
            5 => Kind::Bits,
            6 => Kind::Full,
            _ => Kind::Root,
        }
    }

    #[inline(always)]
    pub(super) fn is_branch(self) -> bool {
        self.0 >> 48 & 7 >= Kind::Linear as u64
    }

    /// Returns whether the words of what the link leads to are values.
    #[inline(always)]
    pub(super) fn is_bits(self) -> bool {
        matches!(self.kind(), Kind::Bits | Kind::Full)
    }

    /// Returns the number of bytes of a key that are undecoded above the node.
    #[inline(always)]
    pub(super) fn level(self) -> usize {
        (self.0 >> 51 & 15) as usize
    }

    /// Returns the number of keys of a leaf.
    #[inline(always)]
    pub(super) fn len(self) -> usize {
        (self.0 >> 55 & 63) as usize + 1
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_link_says_what_was_put_in() {
        let node: *const u8 = std::ptr::without_provenance(0x7FFF_FFFF_FFF0);
        for level in 1..=9 {
            for kind in [
                Kind::Linear,
                Kind::Bitmap,
                Kind::Uncompressed,
                Kind::Bits,
                Kind::Full,
                Kind::Root,
            ] {
                let link = Link::branch(node, kind, level);
                assert_eq!((link.kind(), link.level()), (kind, level));
                assert!(link.is_branch() && link.address().addr() == node.addr());
            }
        }
        for len in [1, 2, 51, 64] {
            let link = Link::leaf(node.cast(), 8, len);
            assert_eq!(
                (link.kind(), link.level(), link.len()),
                (Kind::Leaf, 8, len)
            );
            assert!(!link.is_branch() && !link.is_empty());
        }
        assert_eq!(Link::EMPTY.kind(), Kind::Empty);
    }
}
