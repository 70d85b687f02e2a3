//! The room that a map is asked for.

use std::error::Error;
use std::fmt;

/// The pairs for which a map makes room before it has met them, because an iterator says that there are that many.
pub(crate) const TRUSTED: usize = 1 << 20;

/// There is no memory for that many pairs: the error of `try_with_capacity`.
///
/// ```
/// let map = fyris_index::InlineMap::<u8, u8>::try_with_capacity(usize::MAX);
/// assert!(map.unwrap_err().to_string().contains("capacity"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityError {
    capacity: usize,
}

impl CapacityError {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity }
    }

    /// Returns the number of pairs that were asked for.
    ///
    /// ```
    /// let map = fyris_index::InlineMap::<u8, u8>::try_with_capacity(usize::MAX);
    /// assert_eq!(map.unwrap_err().capacity(), usize::MAX);
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "capacity overflow: no memory for {} pairs",
            self.capacity
        )
    }
}

impl Error for CapacityError {}

/// Returns what there is, or panics with the error.
pub(crate) fn or_panic<T>(made: Result<T, CapacityError>) -> T {
    made.unwrap_or_else(|error| panic!("{error}"))
}
