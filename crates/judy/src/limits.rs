//! The numbers at which nodes change their form. With `cfg(fyris_small)` they are tiny, so that changes of form are
//! common.

use super::class::LARGEST;

const SMALL: bool = cfg!(any(fyris_small, loom, shuttle));

/// The most keys of a leaf by its level: what fits into the largest block with the values. At level 1 a bitmap leaf is
/// smaller from there on.
pub(super) const LEAF_MOST: [usize; 9] = {
    let mut most = [0; 9];
    let mut width: usize = 1;
    while width <= 8 {
        let mut len: usize = 1;
        while ((len + 1) * width).div_ceil(8) + len < LARGEST {
            len += 1;
        }
        most[width] = if SMALL { 9 } else { len };
        width += 1;
    }
    most[1] = if SMALL { 8 } else { 28 };
    most
};

/// The most keys that any leaf but a bitmap leaf has.
pub(super) const PAIRS: usize = LEAF_MOST[2];

/// The hysteresis between a leaf and what it grows into: a branch or a bitmap leaf becomes a leaf again when it has so
/// many keys less than a leaf can hold.
pub(super) const LEAF_SLACK: usize = if SMALL { 1 } else { 6 };

/// The most keys of a width that fit into a pointer.
pub(super) const fn few_most(width: usize) -> usize {
    if width > 7 { 0 } else { 7 / width }
}

/// The most children of a linear branch.
pub(super) const LINEAR_MOST: usize = if SMALL { 3 } else { 7 };
/// A bitmap branch with so many children becomes a linear one.
pub(super) const LINEAR_AGAIN: usize = if SMALL { 2 } else { 5 };
/// The most children of a bitmap branch.
pub(super) const BITMAP_MOST: usize = if SMALL { 12 } else { 128 };
/// An uncompressed branch with so many children becomes a bitmap branch.
pub(super) const BITMAP_AGAIN: usize = if SMALL { 10 } else { 112 };

const _: () = assert!(LEAF_MOST[2] >= LEAF_MOST[3] && LEAF_MOST[7] >= LEAF_MOST[8]);
