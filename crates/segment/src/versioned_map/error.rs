//! Errors of maps, by name.

use super::{MAX_KEY, MAX_VALUE, MIN_BYTES};
use crate::Error;

/// The error of every operation on a map. A failed change leaves the map as it was, unless the error
/// is `Corrupt`: then the changes since the last commit are to be discarded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// No room for the entry, or no free pages in one piece for its value. The map can
    /// [grow](super::VersionedMap::grow).
    #[error("the map is full: {wanted} page(s) wanted, {free} free in all")]
    Full {
        /// Pages that were asked for, in one piece if for a value.
        wanted: u32,
        /// Free pages there are.
        free: u32,
    },
    /// The region holds something that no correct program writes.
    #[error("the map is corrupt at byte {offset}: {what}")]
    Corrupt {
        /// The offset of the error, in bytes from the start of the region.
        offset: usize,
        /// The error.
        what: &'static str,
    },
    /// Two versions of the map were merged by words, by a program that went around it.
    #[error("two changed maps were merged by words: discard, or restore the segment")]
    Merged,
    /// The key is longer than [`MAX_KEY`].
    #[error("a key of {0} bytes is longer than {MAX_KEY}")]
    KeyTooLong(usize),
    /// The value is longer than [`MAX_VALUE`].
    #[error("a value of {0} bytes is longer than {MAX_VALUE}")]
    ValueTooLong(usize),
    /// There is something, but not a map.
    #[error("the segment does not hold a map")]
    NotAMap,
    /// There is something in the segment already; a map would overwrite it.
    #[error("the segment is not empty")]
    NotEmpty,
    /// Written by another version of Fyris, or with other sizes.
    #[error("map format {found:#x}, this program knows {known:#x}")]
    WrongFormat {
        /// The format found.
        found: u64,
        /// The format of this program.
        known: u64,
    },
    /// The region is too small for a map, or for the map that its header speaks of.
    #[error("the region has {has} bytes, the map needs {needs} (at least {MIN_BYTES})")]
    TooSmall {
        /// Bytes there are.
        has: usize,
        /// Bytes there should be.
        needs: usize,
    },
    /// There are changes that were neither committed nor discarded.
    #[error("the map has changes that are neither committed nor discarded")]
    Uncommitted,
    /// Another writer has committed since the version that the changes were made on. Maps are not merged.
    #[error(
        "another writer was first: the map is at version {trunk}, this copy at {local}; discard, update, and make the \
         changes again"
    )]
    Behind {
        /// The version of the working copy, in commits, as [`VersionedMap::version`](super::VersionedMap::version).
        local: u64,
        /// The latest version.
        trunk: u64,
    },
    /// Maps need a segment with an editing unit of at most 8 bytes.
    #[error("the segment's unit is {0} bytes, a map needs 8 or less")]
    Unit(usize),
    /// The segment refused.
    #[error(transparent)]
    Segment(#[from] Error),
}

/// The result of every operation on a map.
pub type MapResult<T> = std::result::Result<T, MapError>;
