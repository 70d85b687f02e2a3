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
///
/// ```
/// use fyris_segment::versioned_map::{MapError, Plain, View};
///
/// let mut map = Plain::create(vec![0; 1 << 20])?;
/// map.insert(b"key", b"value")?;
/// let bytes: Vec<u8> = map.into_region(); // from a file, say
/// assert_eq!(View::new(&bytes).get(b"key")?, Some(&b"value"[..]));
/// # Ok::<(), MapError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    bytes: &'a [u8],
    /// Different for maps that differ; `None` if the caller gave no stamp.
    stamp: Option<u64>,
}

impl<'a> View<'a> {
    /// Looks at the map in these bytes. Nothing is read yet.
    ///
    /// ```
    /// use fyris_segment::versioned_map::View;
    ///
    /// assert!(View::new(b"no map").len().is_err()); // any bytes
    /// ```
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
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"key", b"value"))?;
    /// assert_eq!(map.view().get(b"key")?, Some(&b"value"[..]));
    /// # Ok::<(), MapError>(())
    /// ```
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
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// assert_eq!(map.view().len()?, 0);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn len(&self) -> MapResult<u64> {
        Ok(Header::read(self.bytes)?.len)
    }

    /// Returns whether there are none.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// assert!(map.view().is_empty()?);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn is_empty(&self) -> MapResult<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns the entry with the smallest key.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"key", b"value"))?;
    /// assert_eq!(map.view().first()?, Some((&b"key"[..], &b"value"[..])));
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn first(&self) -> MapResult<Option<Entry<'a>>> {
        self.first_in(Bound::Unbounded)
    }

    /// Returns the entry with the largest key.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"key", b"value"))?;
    /// assert_eq!(map.view().last()?, map.view().first()?);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn last(&self) -> MapResult<Option<Entry<'a>>> {
        self.last_in(Bound::Unbounded)
    }

    /// Returns the entry with the smallest key above `low`, or not below it if included.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// use std::ops::Bound;
    /// map.write(|batch| batch.insert(b"b", b"2"))?;
    /// let view = map.view();
    /// assert!(view.first_in(Bound::Included(b"a"))?.is_some());
    /// assert!(view.first_in(Bound::Excluded(b"b"))?.is_none());
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn first_in(&self, low: Bound<&[u8]>) -> MapResult<Option<Entry<'a>>> {
        let header = Header::read(self.bytes)?;
        match first_in(self.bytes, &header, low)? {
            Some(walk) => walk.entry(),
            None => Ok(None),
        }
    }

    /// Returns the entry with the largest key below `high`, or not above it if included.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// use std::ops::Bound;
    /// map.write(|batch| batch.insert(b"b", b"2"))?;
    /// let view = map.view();
    /// assert!(view.last_in(Bound::Included(b"c"))?.is_some());
    /// assert!(view.last_in(Bound::Excluded(b"b"))?.is_none());
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn last_in(&self, high: Bound<&[u8]>) -> MapResult<Option<Entry<'a>>> {
        let header = Header::read(self.bytes)?;
        match last_in(self.bytes, &header, high)? {
            Some(walk) => walk.entry(),
            None => Ok(None),
        }
    }

    /// Returns the entries within bounds, from either end. Bounds that contradict each other hold nothing.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"b", b"2"))?;
    /// assert_eq!(map.view().range("a".."c")?.count(), 1);
    /// assert_eq!(map.view().range("c".."a")?.count(), 0);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn range<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>) -> MapResult<Range<'a>> {
        let low = bounds.start_bound().map(AsRef::as_ref);
        let high = bounds.end_bound().map(AsRef::as_ref);
        Range::new(self.bytes, low, high)
    }

    /// Returns an iterator over all entries.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"key", b"value"))?;
    /// assert_eq!(map.view().iter()?.count(), 1);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn iter(&self) -> MapResult<Range<'a>> {
        Range::new(self.bytes, Bound::Unbounded, Bound::Unbounded)
    }

    /// Returns the entries whose keys begin with `prefix`.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"river/Dal", b"541"))?;
    /// assert_eq!(map.view().prefix(b"river/")?.count(), 1);
    /// assert_eq!(map.view().prefix(b"")?.count(), 1);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn prefix(&self, prefix: &[u8]) -> MapResult<Range<'a>> {
        let end = prefix_end(prefix);
        let high = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        Range::new(self.bytes, Bound::Included(prefix), high)
    }

    /// Returns the memory of the map in its region, and the free part. O(1).
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// assert!(map.view().memory()?.used < map.view().memory()?.free);
    /// # Ok::<(), MapError>(())
    /// ```
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
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// assert_eq!(map.view().check()?.entries, 0);
    /// # Ok::<(), MapError>(())
    /// ```
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
