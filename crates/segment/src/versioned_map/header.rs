//! The header block: geometry, root, counters.

use super::layout::{
    FIRST, HEADER, MAX_LEVEL, MIN_BYTES, NODE, Region, corrupt, put_u32, put_u64, u32_at, u64_at,
};
use super::{MapError, MapResult};

const MAGIC: u64 = u64::from_le_bytes(*b"FyrisMap");
/// Format 1, and the size of a node.
const FORMAT: u64 = 1 << 32 | NODE as u64;

const FORMAT_AT: usize = 8;
const PAGES_AT: usize = 16;
const ROOT_AT: usize = 20;
const LEVEL_AT: usize = 24;
const FREE_AT: usize = 28;
const LEN_AT: usize = 32;
const HINT_AT: usize = 40;
const USED: usize = 48;

/// The header's fields, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Pages of the map, those of the header included.
    pub pages: u32,
    /// The page of the root.
    pub root: u32,
    /// The level of the root.
    pub level: u32,
    /// Free pages.
    pub free: u32,
    /// No page below this one is free.
    pub hint: u32,
    /// Entries.
    pub len: u64,
}

impl Header {
    /// Reads the header of a map.
    pub(super) fn read(bytes: &[u8]) -> MapResult<Header> {
        let Some(head) = bytes.first_chunk::<USED>() else {
            return Err(too_small(bytes.len(), MIN_BYTES));
        };
        if u64_at(head, 0) != MAGIC {
            return Err(MapError::NotAMap);
        }
        let found = u64_at(head, FORMAT_AT);
        if found != FORMAT {
            let known = FORMAT;
            return Err(MapError::WrongFormat { found, known });
        }
        let header = Header {
            pages: u32_at(head, PAGES_AT),
            root: u32_at(head, ROOT_AT),
            level: u32_at(head, LEVEL_AT),
            free: u32_at(head, FREE_AT),
            hint: u32_at(head, HINT_AT),
            len: u64_at(head, LEN_AT),
        };
        header.sane(bytes.len())?;
        Ok(header)
    }

    /// Checks the conditions that hold independently of the rest of the map.
    fn sane(&self, has: usize) -> MapResult<()> {
        let needs = (self.pages as usize).saturating_mul(NODE);
        let entries = (needs as u64) / 8;
        match self {
            _ if needs > has || has < MIN_BYTES => Err(too_small(has, needs)),
            _ if self.pages < FIRST + 2 => Err(corrupt(PAGES_AT, "too few pages")),
            _ if self.root >= self.pages => Err(corrupt(ROOT_AT, "root outside the map")),
            _ if self.level as usize > MAX_LEVEL => Err(corrupt(LEVEL_AT, "tree too high")),
            _ if self.free > self.pages => Err(corrupt(FREE_AT, "more free pages than pages")),
            _ if self.hint > self.pages => Err(corrupt(HINT_AT, "hint outside the map")),
            _ if self.len > entries => Err(corrupt(LEN_AT, "more entries than fit")),
            _ => Ok(()),
        }
    }

    /// Writes the header.
    pub(super) fn write<R: Region>(&self, region: &mut R) -> MapResult<()> {
        let head = region.edit(0..USED)?;
        put_u64(head, 0, MAGIC);
        put_u64(head, FORMAT_AT, FORMAT);
        put_u32(head, PAGES_AT, self.pages);
        put_u32(head, ROOT_AT, self.root);
        put_u32(head, LEVEL_AT, self.level);
        put_u32(head, FREE_AT, self.free);
        put_u64(head, LEN_AT, self.len);
        put_u32(head, HINT_AT, self.hint);
        Ok(())
    }
}

/// Returns the number of pages that a region of `len` bytes has; page numbers are 32 bits wide.
pub(super) fn pages_in(len: usize) -> MapResult<u32> {
    if len < MIN_BYTES {
        return Err(too_small(len, MIN_BYTES));
    }
    Ok(u32::try_from(len / NODE).unwrap_or(u32::MAX))
}

/// Returns whether the header block has never been written to.
pub(super) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().take(HEADER).all(|&byte| byte == 0)
}

fn too_small(has: usize, needs: usize) -> MapError {
    MapError::TooSmall { has, needs }
}
