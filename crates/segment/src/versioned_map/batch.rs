//! A batch of changes that is committed as one.

use super::{MapError, MapResult, VersionedMap, View};

/// The changes of one run of the closure of [`VersionedMap::write`].
///
/// ```
/// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
/// # let segment = Segment::nameless(1 << 20, &Options::new())?;
/// # let mut map = VersionedMap::open(segment)?;
/// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
/// let refused = map.write(|batch| {
///     batch.insert(b"a", b"1")?;
///     batch.insert(&[0; 5000], b"2") // too long
/// });
/// assert!(matches!(refused, Err(MapError::KeyTooLong(5000))));
/// assert!(map.is_empty()?); // all or nothing
/// # Ok::<(), MapError>(())
/// ```
#[derive(Debug)]
pub struct Batch<'m> {
    map: &'m mut VersionedMap,
}

impl<'m> Batch<'m> {
    pub(super) fn new(map: &'m mut VersionedMap) -> Batch<'m> {
        Batch { map }
    }

    /// Returns the map to read, with the changes made so far.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| {
    ///     batch.insert(b"key", b"value")?;
    ///     assert_eq!(batch.view().len()?, 1); // with what was changed so far
    ///     Ok::<_, MapError>(())
    /// })?;
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn view(&self) -> View<'_> {
        self.map.view()
    }

    /// Returns the value of a key.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| {
    ///     assert_eq!(batch.get(b"key")?, None);
    ///     batch.insert(b"key", b"value")
    /// })?;
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](MapError::Corrupt) and errors in the header.
    pub fn get(&self, key: &[u8]) -> MapResult<Option<&[u8]>> {
        self.map.get(key)
    }

    /// Maps `key` to `value`; whether the key was there before. O(log n).
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// let was_there = map.write(|batch| batch.insert(b"key", b"value"))?;
    /// assert!(!was_there && map.write(|batch| batch.insert(b"key", b"another"))?);
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Full`](MapError::Full), [`KeyTooLong`](MapError::KeyTooLong), [`ValueTooLong`](MapError::ValueTooLong): the
    /// entry is not inserted. [`Corrupt`](MapError::Corrupt).
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> MapResult<bool> {
        self.map.insert(key, value)
    }

    /// Removes a key; whether it was there. O(log n).
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// assert!(!map.write(|batch| batch.remove(b"key"))?); // no error
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](MapError::Corrupt).
    pub fn remove(&mut self, key: &[u8]) -> MapResult<bool> {
        self.map.remove(key)
    }

    /// Removes everything.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"old", b"1"))?;
    /// map.write(|batch| batch.clear().and(batch.insert(b"new", b"2")))?; // one step for others
    /// assert_eq!(map.len()?, 1);
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](MapError::Corrupt).
    pub fn clear(&mut self) -> MapResult<()> {
        self.map.clear()
    }

    /// Commits and returns true; if another writer was first, discards these changes and returns
    /// false.
    pub(super) fn commit(self) -> MapResult<bool> {
        match self.map.commit() {
            Ok(_) => Ok(true),
            Err(MapError::Behind { .. }) => {
                self.map.discard()?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Batch<'_> {
    /// Discards the changes that were not committed, whether by an error or by a panic.
    fn drop(&mut self) {
        if self.map.is_dirty() {
            // If this fails the map stays dirty, and says so at the next update.
            let _ = self.map.discard();
        }
    }
}
