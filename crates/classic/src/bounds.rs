//! Whether a key is on the right side of a bound.

use std::ops::Bound;

/// Returns whether `key` is at or above the lower bound of a range.
pub(crate) fn is_above<K: Ord + ?Sized>(from: Bound<&K>, key: &K) -> bool {
    match from {
        Bound::Included(from) => key >= from,
        Bound::Excluded(from) => key > from,
        Bound::Unbounded => true,
    }
}

/// Returns whether `key` is at or below the upper bound of a range.
pub(crate) fn is_below<K: Ord + ?Sized>(to: Bound<&K>, key: &K) -> bool {
    match to {
        Bound::Included(to) => key <= to,
        Bound::Excluded(to) => key < to,
        Bound::Unbounded => true,
    }
}
