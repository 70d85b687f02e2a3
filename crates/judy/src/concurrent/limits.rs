//! The numbers at which nodes change their form: those of the sequential form, or tiny ones for tests.

use super::super::limits as sequential;

const SMALL: bool = cfg!(any(fyris_small, loom, shuttle));

/// The most keys of a leaf by its level.
pub(super) const LEAF_MOST: [usize; 9] = if SMALL {
    [0, 3, 3, 3, 3, 3, 3, 3, 3]
} else {
    sequential::LEAF_MOST
};

/// A branch or a bitmap leaf becomes a leaf again when it has this number of keys less than a leaf can hold.
pub(super) const LEAF_SLACK: usize = if SMALL { 1 } else { sequential::LEAF_SLACK };

/// The most values of a closed group of a bitmap leaf: an open one takes at most twice the room.
pub(super) const CLOSED_MOST: usize = if SMALL { 1 } else { 7 };
/// An open group with this number of values is closed.
pub(super) const CLOSED_AGAIN: usize = if SMALL { 1 } else { 4 };

/// The most values of a bitmap leaf: an uncompressed one takes twice the room, and one cache miss less.
pub(super) const BITS_MOST: usize = if SMALL { 5 } else { 112 };
/// An uncompressed leaf with this number of values becomes a bitmap leaf.
pub(super) const BITS_AGAIN: usize = if SMALL { 4 } else { 96 };

/// The most children of a linear branch.
pub(super) const LINEAR_MOST: usize = if SMALL { 3 } else { sequential::LINEAR_MOST };
/// A bitmap branch with this number of children becomes a linear one.
pub(super) const LINEAR_AGAIN: usize = if SMALL { 2 } else { sequential::LINEAR_AGAIN };
/// The most children of a bitmap branch.
pub(super) const BITMAP_MOST: usize = if SMALL { 6 } else { sequential::BITMAP_MOST };
/// An uncompressed branch with this number of children becomes a bitmap branch.
pub(super) const BITMAP_AGAIN: usize = if SMALL { 5 } else { sequential::BITMAP_AGAIN };
