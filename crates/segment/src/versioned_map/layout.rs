//! Sizes, places, and checked access to the bytes that a map lives in.

use std::ops::Range;

use super::{MapError, MapResult};

/// Bytes in a node, and in every other page of the map: one page of the segment, so that a changed
/// node is one dirty page.
pub(super) const NODE: usize = if cfg!(fyris_small) { 256 } else { 4096 };
/// Bytes of the header block at the start.
pub(super) const HEADER: usize = 4096;
/// The page with the bitmap of the first group, right behind the header.
pub(super) const FIRST: u32 = (HEADER / NODE) as u32;
/// Pages that one page of bitmap speaks for.
pub(super) const GROUP: u32 = (NODE * 8) as u32;
/// The root's level is at most this; leaves have level 0.
pub(super) const MAX_LEVEL: usize = 31;
/// Bytes in front of a node's slots.
pub(super) const NODE_HEAD: usize = 16;
/// Bytes of a slot.
pub(super) const SLOT: usize = 8;
/// Bytes of a node for slots and cells.
pub(super) const ROOM: usize = NODE - NODE_HEAD;
/// A cell and its slot are at most a quarter of the room, so that two halves of an overfull node
/// always fit two nodes.
pub(super) const MAX_CELL: usize = ROOM / 4;

/// The longest key, in bytes: 512.
pub const MAX_KEY: usize = NODE / 8;
/// The longest value, in bytes: 64 MiB. An extent may not reach over a page of bitmap.
pub const MAX_VALUE: usize = GROUP as usize / 2 * NODE;
/// The smallest region that a map fits in, in bytes.
pub const MIN_BYTES: usize = HEADER + 4 * NODE;

/// The bytes that a map lives in: the working copy of a segment, or plain memory.
///
/// The content is not trusted. It must not change but through the map while the map borrows it.
pub trait Region {
    /// Returns all bytes.
    fn bytes(&self) -> &[u8];

    /// Returns the bytes of `range`, which are about to be written.
    ///
    /// # Errors
    ///
    /// [`MapError::Corrupt`] if the range is outside, and whatever keeps the region from being
    /// written to.
    fn edit(&mut self, range: Range<usize>) -> MapResult<&mut [u8]>;
}

impl Region for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn edit(&mut self, range: Range<usize>) -> MapResult<&mut [u8]> {
        let at = range.start;
        self.get_mut(range)
            .ok_or_else(|| corrupt(at, "place outside the map"))
    }
}

/// Makes the error for bytes that no correct program writes.
#[cold]
pub(super) fn corrupt(offset: usize, what: &'static str) -> MapError {
    MapError::Corrupt { offset, what }
}

/// Returns the offset of a page, in bytes. Saturates: the result is then outside of every region.
pub(super) fn place(page: u32) -> usize {
    (page as usize).saturating_mul(NODE)
}

/// Returns the bytes of a page.
pub(super) fn page(bytes: &[u8], page: u32) -> MapResult<&[u8; NODE]> {
    bytes
        .get(place(page)..)
        .and_then(|rest| rest.first_chunk())
        .ok_or_else(|| corrupt(place(page), "page number outside the map"))
}

/// Returns the bytes of a page, about to be written.
pub(super) fn page_mut<R: Region>(region: &mut R, page: u32) -> MapResult<&mut [u8; NODE]> {
    let at = place(page);
    region
        .edit(at..at.saturating_add(NODE))?
        .first_chunk_mut()
        .ok_or_else(|| corrupt(at, "page number outside the map"))
}

/// Returns the number of pages that `len` bytes of a value fill.
pub(super) fn pages_of(len: usize) -> u32 {
    len.div_ceil(NODE) as u32
}

/// Returns the little-endian number of two bytes at `at`, which are inside.
#[inline]
pub(super) fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

/// Returns the little-endian number of four bytes at `at`, which are inside.
#[inline]
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

/// Returns the little-endian number of eight bytes at `at`, which are inside.
#[inline]
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Writes a number below 65,536 at `at`, which is inside.
pub(super) fn put_u16(bytes: &mut [u8], at: usize, value: usize) {
    bytes[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
}

/// Writes a number in four bytes at `at`, which are inside.
pub(super) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Writes a number in eight bytes at `at`, which are inside.
pub(super) fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}
