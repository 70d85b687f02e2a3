//! The header: what the table is, and whether the file was closed.

use md5::{Digest, Md5};

use super::{DetsInfo, DetsType};
use crate::source::Source;
use crate::{FileError, Inflated};

/// Bytes that say something.
const HEADER: u64 = 188;
/// The header with what is reserved, and the positions of parts.
pub(super) const BASE: u64 = 1336;
/// The positions of parts.
pub(super) const PARTS: u64 = 312;
/// Marks a dets file.
const MARK: u32 = 0x00ab_cdef;
const VERSION: u32 = 9;
/// Slots that 256 parts have room for.
const MAX_SLOTS: u32 = 256 * 512 * 256;

/// A checked header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) info: DetsInfo,
    /// The number of slots in use.
    pub(super) slots: u32,
    m: u32,
    n: u32,
    /// The size up to which dets' repair reads on for a collection.
    pub(super) repaired: u64,
    /// Are keys placed by `phash2`?
    pub(super) phash2: bool,
}

impl Header {
    pub(super) fn read(source: &Source) -> Result<Header, FileError> {
        let foreign = |why: &str| Err(FileError::foreign(source.path(), why));
        if source.length() < HEADER {
            return foreign("it is no dets file: it is too short");
        }
        let mut bytes = Vec::new();
        source.read(0, HEADER, &mut bytes)?;
        let word = |at: usize| word(&bytes, at);
        if word(4) != MARK {
            return foreign("it is no dets file: it does not have the mark of one");
        }
        if word(16) != VERSION {
            return foreign("it is a dets file, and not of version 9");
        }
        let sum: [u8; 16] = Md5::digest(&bytes[12..168]).into();
        if bytes[168..184] != [0; 16] && bytes[168..184] != sum {
            return foreign(
                "its header is damaged: the checksum does not fit (dets does not open it)",
            );
        }
        let table_type = match word(12) {
            1 => DetsType::Set,
            2 => DetsType::Bag,
            3 => DetsType::DuplicateBag,
            _ => return foreign("its header is damaged: it has no type of table"),
        };
        let marked = match word(8) {
            0 => false,
            1 => true,
            _ => return foreign("its header is damaged: it says neither closed nor open"),
        };
        let (m, slots, n) = (word(20), word(24), word(52));
        if !m.is_power_of_two() || m > MAX_SLOTS || slots > MAX_SLOTS || n > m || word(28) == 0 {
            return foreign("its header is damaged: no table has such slots and such a key");
        }
        Ok(Header {
            info: DetsInfo {
                table_type,
                keypos: word(28) as usize,
                objects: word(32).into(),
                closed: marked && ends_closed(source, word(184))?,
            },
            slots,
            m,
            n,
            repaired: repaired(&bytes, source.length()),
            phash2: word(48) == 1,
        })
    }

    /// Returns the slot of a key with this hash.
    pub(super) fn slot(&self, hash: u32) -> u32 {
        match hash % self.m {
            slot if slot < self.n => hash % (2 * self.m),
            slot => slot,
        }
    }
}

/// Returns whether the last number of the file gives its length.
fn ends_closed(source: &Source, base: u32) -> Result<bool, FileError> {
    let mut last = Vec::new();
    source.read(source.length() - 4, 4, &mut last)?;
    Ok(u64::from(word(&last, 0)) + u64::from(base) == source.length())
}

/// Returns the size up to which dets' repair reads on for a collection that its buffer does not hold as a whole: that
/// of
/// the largest block that the header counts.
fn repaired(header: &[u8], length: u64) -> u64 {
    let counted = (0..28_u32)
        .rev()
        .find(|i| word(header, 56 + 4 * *i as usize) > 0);
    let summed = header[168..184] != [0; 16];
    match counted {
        Some(i) if summed => 1 << (i + 4),
        None if summed && word(header, 32) == 0 => 1,
        _ => length,
    }
}

pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |word| u32::from_be_bytes(*word))
}

/// Returns a decoder of the objects; dets itself writes none that are compressed.
pub(super) fn decoder() -> Inflated {
    Inflated::new(64 << 20)
}
