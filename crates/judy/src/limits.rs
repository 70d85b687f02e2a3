//! The numbers at which nodes change their form. In tests with tiny constants changes of form are common.

use super::class::LARGEST;
use super::jp::Form;

/// The numbers of a form of the array.
pub(super) struct Limits {
    /// The most keys of a leaf by its level.
    pub(super) leaf_most: [usize; 9],
    /// The hysteresis between a leaf and what it grows into: a branch or a bitmap leaf becomes a leaf again when it has
    /// this many keys less than a leaf can hold.
    pub(super) leaf_slack: usize,
    /// The most children of a linear branch.
    pub(super) linear_most: usize,
    /// A bitmap branch with this many children becomes a linear one.
    pub(super) linear_again: usize,
    /// The most children of a bitmap branch.
    pub(super) bitmap_most: usize,
    /// An uncompressed branch with this many children becomes a bitmap branch.
    pub(super) bitmap_again: usize,
}

const SMALL: bool = cfg!(any(fyris_small, loom, shuttle));

/// Those of the array of one thread, if they are not to be tiny.
const USUAL: Limits = Limits {
    leaf_most: {
        // What fits into the largest block with the values. At level 1 a bitmap leaf is smaller from there on.
        let mut most = [0, 28, 0, 0, 0, 0, 0, 0, 0];
        let mut width: usize = 2;
        while width <= 8 {
            let mut len: usize = 1;
            while ((len + 1) * width).div_ceil(8) + len < LARGEST {
                len += 1;
            }
            most[width] = len;
            width += 1;
        }
        most
    },
    leaf_slack: 6,
    linear_most: 7,
    linear_again: 5,
    bitmap_most: 128,
    bitmap_again: 112,
};

/// Those of the array of one thread. A leaf has more keys than a pointer.
pub(super) const LIMITS: Limits = if SMALL {
    Limits {
        leaf_most: [0, 8, 9, 9, 9, 9, 9, 9, 9],
        leaf_slack: 1,
        linear_most: 3,
        linear_again: 2,
        bitmap_most: 12,
        bitmap_again: 10,
    }
} else {
    USUAL
};

/// Those of the array that threads share.
pub(super) const SHARED: Limits = if SMALL {
    Limits {
        leaf_most: [0, 3, 3, 3, 3, 3, 3, 3, 3],
        leaf_slack: 1,
        linear_most: 3,
        linear_again: 2,
        bitmap_most: 6,
        bitmap_again: 5,
    }
} else {
    USUAL
};

/// The most keys that any leaf but a bitmap leaf has.
pub(super) const PAIRS: usize = LIMITS.leaf_most[2];

/// The most keys of a width that fit into a pointer.
pub(super) const fn few_most(width: usize) -> usize {
    if width > 7 { 0 } else { 7 / width }
}

/// The most values of a closed group of a bitmap leaf that threads share: an open one takes at most twice the room.
pub(super) const CLOSED_MOST: usize = if SMALL { 1 } else { 7 };
/// An open group with this number of values is closed.
pub(super) const CLOSED_AGAIN: usize = if SMALL { 1 } else { 4 };

/// The most values of a bitmap leaf that threads share: an uncompressed one takes twice the room, and one cache miss
/// less.
pub(super) const BITS_MOST: usize = if SMALL { 5 } else { 112 };
/// An uncompressed leaf with this number of values becomes a bitmap leaf.
pub(super) const BITS_AGAIN: usize = if SMALL { 4 } else { 96 };

impl Limits {
    /// Returns the form of a branch with this number of children.
    pub(super) const fn form(&self, children: usize) -> Form {
        if children <= self.linear_most {
            Form::Linear
        } else if children <= self.bitmap_most {
            Form::Bitmap
        } else {
            Form::Uncompressed
        }
    }

    /// Returns the most children of a branch of a form.
    pub(super) const fn most(&self, form: Form) -> usize {
        match form {
            Form::Linear => self.linear_most,
            Form::Bitmap => self.bitmap_most,
            Form::Uncompressed => 256,
        }
    }

    /// Returns the form that a branch with so few children should have, if it is another.
    pub(super) const fn smaller(&self, form: Form, children: usize) -> Option<Form> {
        match form {
            Form::Bitmap if children <= self.linear_again => Some(Form::Linear),
            Form::Uncompressed if children <= self.bitmap_again => Some(Form::Bitmap),
            _ => None,
        }
    }

    /// Returns the number of keys with which what grew out of a leaf of this level becomes one again.
    pub(super) const fn leaf_again(&self, level: usize) -> usize {
        self.leaf_most[level] - self.leaf_slack
    }
}

const _: () = assert!(PAIRS >= LIMITS.leaf_most[3] && LIMITS.leaf_most[7] >= LIMITS.leaf_most[8]);
