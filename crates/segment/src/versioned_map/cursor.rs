//! A cursor that borrows nothing.

use std::cmp::Ordering;
use std::ops::Bound;

use super::header::Header;
use super::range::{first_in, last_in};
use super::tree::{Entry, Path, Walk};
use super::{MapResult, View};

/// A place in a map, for callers that cannot hold a borrow: other languages, and loops that update or
/// change the map between two steps.
///
/// A cursor is in front of all keys when new, then on a key, or behind all. It remembers its key: after a change
/// or an update it goes on from there, whether the key still exists or not. It may move from map to map.
///
/// ```
/// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
/// # let segment = Segment::nameless(1 << 20, &Options::new())?;
/// # let mut map = VersionedMap::open(segment)?;
/// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
/// use fyris_segment::versioned_map::Cursor;
///
/// map.write(|batch| batch.insert(b"a", b"1").and(batch.insert(b"b", b"2")))?;
/// let mut cursor = Cursor::new();
/// cursor.next(map.view())?;
/// map.write(|batch| batch.remove(b"a"))?; // it borrows nothing
/// assert_eq!(cursor.key(), Some(&b"a"[..]));
/// assert_eq!(cursor.next(map.view())?, Some((&b"b"[..], &b"2"[..])));
/// # Ok::<(), MapError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cursor {
    place: CursorPlace,
    key: Vec<u8>,
    /// The path to `key`, in the map of this stamp.
    path: Option<(u64, Path)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CursorPlace {
    #[default]
    Start,
    On,
    End,
}

impl Cursor {
    /// Makes a cursor in front of all keys.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// use fyris_segment::versioned_map::Cursor;
    ///
    /// assert_eq!(Cursor::new().key(), None);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn new() -> Cursor {
        Cursor::default()
    }

    /// Returns the key it is on.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// use fyris_segment::versioned_map::Cursor;
    ///
    /// map.write(|batch| batch.insert(b"a", b"1"))?;
    /// let mut cursor = Cursor::new();
    /// cursor.next(map.view())?;
    /// assert_eq!(cursor.key(), Some(&b"a"[..]));
    /// cursor.next(map.view())?;
    /// assert_eq!(cursor.key(), None); // behind all
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn key(&self) -> Option<&[u8]> {
        (self.place == CursorPlace::On).then_some(&self.key)
    }

    /// Goes in front of all keys.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// use fyris_segment::versioned_map::Cursor;
    ///
    /// map.write(|batch| batch.insert(b"a", b"1"))?;
    /// let mut cursor = Cursor::new();
    /// while cursor.next(map.view())?.is_some() {}
    /// cursor.rewind();
    /// assert!(cursor.next(map.view())?.is_some());
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn rewind(&mut self) {
        self.place = CursorPlace::Start;
    }

    /// Goes behind all keys.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// use fyris_segment::versioned_map::Cursor;
    ///
    /// map.write(|batch| batch.insert(b"a", b"1"))?;
    /// let mut cursor = Cursor::new();
    /// cursor.to_end();
    /// assert_eq!(cursor.previous(map.view())?, Some((&b"a"[..], &b"1"[..])));
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn to_end(&mut self) {
        self.place = CursorPlace::End;
    }

    /// Goes to the first key that is not below `key`; its entry. O(log n).
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// use fyris_segment::versioned_map::Cursor;
    ///
    /// map.write(|batch| batch.insert(b"b", b"2"))?;
    /// let mut cursor = Cursor::new();
    /// assert!(cursor.seek(map.view(), b"a")?.is_some()); // the next one
    /// assert_eq!(cursor.key(), Some(&b"b"[..]));
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](super::MapError::Corrupt) and errors in the header; the cursor stays.
    pub fn seek<'a>(&mut self, map: View<'a>, key: &[u8]) -> MapResult<Option<Entry<'a>>> {
        let header = Header::read(map.bytes())?;
        let walk = first_in(map.bytes(), &header, Bound::Included(key))?;
        self.settle(map, walk, CursorPlace::End)
    }

    /// Goes to the next key; its entry. O(1) if the map has not changed, else O(log n).
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// use fyris_segment::versioned_map::Cursor;
    ///
    /// map.write(|batch| batch.insert(b"a", b"1"))?;
    /// let (mut cursor, mut count) = (Cursor::new(), 0);
    /// while let Some((_key, _value)) = cursor.next(map.view())? {
    ///     count += 1;
    /// }
    /// assert_eq!(count, 1);
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](super::MapError::Corrupt) and errors in the header; the cursor stays.
    pub fn next<'a>(&mut self, map: View<'a>) -> MapResult<Option<Entry<'a>>> {
        let header = Header::read(map.bytes())?;
        let walk = match (self.place, self.resume(map, &header)?) {
            (CursorPlace::Start, _) => first_in(map.bytes(), &header, Bound::Unbounded)?,
            (CursorPlace::End, _) => None,
            (CursorPlace::On, Some(mut walk)) => match walk.forward()? {
                true => Some(self.in_order(walk, Ordering::Less)?),
                false => None,
            },
            (CursorPlace::On, None) => first_in(map.bytes(), &header, Bound::Excluded(&self.key))?,
        };
        self.settle(map, walk, CursorPlace::End)
    }

    /// Goes to the key before; its entry. O(1) if the map has not changed, else O(log n).
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// use fyris_segment::versioned_map::Cursor;
    ///
    /// map.write(|batch| batch.insert(b"a", b"1").and(batch.insert(b"b", b"2")))?;
    /// let mut cursor = Cursor::new();
    /// assert_eq!(cursor.previous(map.view())?, None); // in front of all keys
    /// cursor.seek(map.view(), b"b")?;
    /// assert_eq!(cursor.previous(map.view())?, Some((&b"a"[..], &b"1"[..])));
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](super::MapError::Corrupt) and errors in the header; the cursor stays.
    pub fn previous<'a>(&mut self, map: View<'a>) -> MapResult<Option<Entry<'a>>> {
        let header = Header::read(map.bytes())?;
        let walk = match (self.place, self.resume(map, &header)?) {
            (CursorPlace::Start, _) => None,
            (CursorPlace::End, _) => last_in(map.bytes(), &header, Bound::Unbounded)?,
            (CursorPlace::On, Some(mut walk)) => match walk.backward()? {
                true => Some(self.in_order(walk, Ordering::Greater)?),
                false => None,
            },
            (CursorPlace::On, None) => last_in(map.bytes(), &header, Bound::Excluded(&self.key))?,
        };
        self.settle(map, walk, CursorPlace::Start)
    }

    /// Returns the walk if the cursor's key and the one it stands on are in this order. In a damaged map they may not
    /// be, and the cursor could go on for ever.
    fn in_order<'a>(&self, walk: Walk<'a>, order: Ordering) -> MapResult<Walk<'a>> {
        let unchecked = cfg!(fyris_mutant = "map_walks_unchecked");
        match unchecked
            || walk
                .key()?
                .is_none_or(|key| self.key.as_slice().cmp(key) == order)
        {
            true => Ok(walk),
            false => Err(walk.disorder()),
        }
    }

    /// Returns the walk of the last step, if the map is still the same.
    fn resume<'a>(&self, map: View<'a>, header: &Header) -> MapResult<Option<Walk<'a>>> {
        match self.path {
            Some((stamp, path)) if Some(stamp) == map.stamp() => {
                Walk::resume(map.bytes(), header, path).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Takes the place of a walk, or one beyond all keys.
    fn settle<'a>(
        &mut self,
        map: View<'a>,
        walk: Option<Walk<'a>>,
        beyond: CursorPlace,
    ) -> MapResult<Option<Entry<'a>>> {
        let entry = match &walk {
            Some(walk) => walk.entry()?,
            None => None,
        };
        self.place = beyond;
        if let Some((key, _)) = entry {
            self.place = CursorPlace::On;
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        self.path = walk.and_then(|walk| Some((map.stamp()?, walk.path())));
        Ok(entry)
    }
}
