//! Reading a map.

use std::ops::{Bound, RangeBounds};

use super::check::{self, MapReport};
use super::header::Header;
use super::layout::NODE;
use super::range::{Range, first_in, last_in, prefix_end};
use super::tree::{Entry, find, value};
use super::{MapResult, Memory};

/// A map to read, over any bytes: a working copy, a file, memory.
///
/// The bytes may be anything; all that is read from them is checked. A map that fails [`View::check`] may still answer,
/// but not necessarily the truth.
///
/// # Cost and errors
///
/// A key, a first or last entry and the begin of a range are found in O(log n); each further entry of a range is O(1).
/// Reading is a [`MapError`](super::MapError) if the bytes are no map, or are damaged where they were read.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    bytes: &'a [u8],
    /// Different for maps that differ; `None` if the caller gave no stamp.
    stamp: Option<u64>,
}

impl<'a> View<'a> {
    /// Looks at the map in these bytes. Nothing is read yet.
    pub fn new(bytes: &'a [u8]) -> View<'a> {
        View { bytes, stamp: None }
    }

    /// Makes a view like [`View::new`]; the caller gives another stamp when the map has changed.
    pub(super) fn stamped(bytes: &'a [u8], stamp: u64) -> View<'a> {
        View {
            bytes,
            stamp: Some(stamp),
        }
    }

    pub(super) fn stamp(&self) -> Option<u64> {
        self.stamp
    }

    /// Returns the value of a key, where it lies. O(log n), no allocation.
    ///
    /// # Errors
    ///
    /// [`Corrupt`](super::MapError::Corrupt) and the header's errors, as all methods here.
    pub fn get(&self, key: &[u8]) -> MapResult<Option<&'a [u8]>> {
        let header = Header::read(self.bytes)?;
        let position = find(self.bytes, &header, key)?;
        if !position.exact {
            return Ok(None);
        }
        let cell = position.leaf.cell(position.pos)?;
        value(self.bytes, &position.leaf, &cell).map(Some)
    }

    /// Returns the number of entries. O(1).
    pub fn len(&self) -> MapResult<u64> {
        Ok(Header::read(self.bytes)?.len)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> MapResult<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns the entry with the smallest key.
    pub fn first(&self) -> MapResult<Option<Entry<'a>>> {
        self.first_in(Bound::Unbounded)
    }

    /// Returns the entry with the largest key.
    pub fn last(&self) -> MapResult<Option<Entry<'a>>> {
        self.last_in(Bound::Unbounded)
    }

    /// Returns the entry with the smallest key above `low`, or not below it if included.
    pub fn first_in(&self, low: Bound<&[u8]>) -> MapResult<Option<Entry<'a>>> {
        let header = Header::read(self.bytes)?;
        match first_in(self.bytes, &header, low)? {
            Some(walk) => walk.entry(),
            None => Ok(None),
        }
    }

    /// Returns the entry with the largest key below `high`, or not above it if included.
    pub fn last_in(&self, high: Bound<&[u8]>) -> MapResult<Option<Entry<'a>>> {
        let header = Header::read(self.bytes)?;
        match last_in(self.bytes, &header, high)? {
            Some(walk) => walk.entry(),
            None => Ok(None),
        }
    }

    /// Returns the entries within bounds, from either end. Bounds that contradict each other hold nothing.
    pub fn range<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>) -> MapResult<Range<'a>> {
        let low = bounds.start_bound().map(AsRef::as_ref);
        let high = bounds.end_bound().map(AsRef::as_ref);
        Range::new(self.bytes, low, high)
    }

    /// Returns an iterator over all entries.
    pub fn iter(&self) -> MapResult<Range<'a>> {
        Range::new(self.bytes, Bound::Unbounded, Bound::Unbounded)
    }

    /// Returns the entries whose keys begin with `prefix`.
    pub fn prefix(&self, prefix: &[u8]) -> MapResult<Range<'a>> {
        let end = prefix_end(prefix);
        let high = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        Range::new(self.bytes, Bound::Included(prefix), high)
    }

    /// Returns the memory of the map in its region, and the free part. O(1).
    pub fn memory(&self) -> MapResult<Memory> {
        let header = Header::read(self.bytes)?;
        let total = header.pages as usize * NODE;
        let free = header.free as usize * NODE;
        Ok(Memory {
            total,
            free,
            used: total - free,
        })
    }

    /// Reads everything and verifies it. O(n); allocates two bits a page.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, and where.
    pub fn check(&self) -> MapResult<MapReport> {
        check::check(self.bytes)
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}
