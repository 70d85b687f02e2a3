//! The map in a segment: reads, updates, commits, growth.

use fyris_sync::atomic::{AtomicU64, Ordering};
use std::ops::RangeBounds;
use std::path::Path;

use super::batch::Batch;
use super::editor::Editor;
use super::header::is_blank;
use super::insert::check_sizes;
use super::layout::{NODE, Region, corrupt};
use super::tree::Entry;
use super::{MapError, MapReport, MapResult, Memory, Plain, Range, View};
use crate::segment::let_others_pass;
use crate::{Error, Options, Segment, Updated};

/// Gives each state of each map of this process a number of its own, for cursors.
static STAMPS: AtomicU64 = AtomicU64::new(0);

fn fresh_stamp() -> u64 {
    // Relaxed: only uniqueness counts.
    STAMPS.fetch_add(1, Ordering::Relaxed)
}

/// The working copy of a segment, every write declared.
#[derive(Debug)]
struct WorkingCopy(Segment);

impl Region for WorkingCopy {
    fn bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    fn edit(&mut self, range: std::ops::Range<usize>) -> MapResult<&mut [u8]> {
        let outside = range.end > self.0.len();
        if outside && !self.0.is_forked() {
            return Err(corrupt(range.start, "place outside the map"));
        }
        self.0.touch(range.clone())?;
        let bytes = self.0.as_mut_slice().get_mut(range);
        bytes.ok_or_else(|| Error::ReadOnly.into())
    }
}

/// An ordered map in a segment, shared by processes. See the [module](crate::versioned_map).
///
/// # Consistency
///
/// Reads see the version of the last [`update`](VersionedMap::update), and this process's own
/// changes since. [`write`](VersionedMap::write) is serializable, and others see all of it at their next update, or
/// nothing. Several threads may read one `&VersionedMap` together.
///
/// ```
/// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
/// # let segment = Segment::nameless(1 << 20, &Options::new())?;
/// # let mut map = VersionedMap::open(segment)?;
/// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
/// map.write(|batch| batch.insert(b"Fyris", b"80 km"))?;
/// assert!(theirs.is_empty()?); // its version, until it is updated
/// theirs.update()?;
/// assert_eq!(theirs.get(b"Fyris")?, Some(&b"80 km"[..]));
/// # Ok::<(), MapError>(())
/// ```
#[derive(Debug)]
pub struct VersionedMap {
    map: Plain<WorkingCopy>,
    /// Whether there are changes that were neither committed nor discarded.
    dirty: bool,
    /// Whether the seal was whole at the last update.
    whole: bool,
    stamp: u64,
}

impl VersionedMap {
    /// Checks a segment out and opens the map in it; if the segment is blank, creates an empty map.
    /// The map declares its writes, so nothing is tracked, whatever the options say. `size` is in
    /// bytes; 0 attaches to an existing segment whatever its size. With a
    /// [`max_size`](Options::max_size) the segment grows as the map does. A read-only checkout makes no segment.
    ///
    /// ```
    /// use fyris_segment::{MapError, Options, Segment, VersionedMap};
    ///
    /// let name = format!("map-{}", std::process::id());
    /// let reading = Options::new().read_only(true);
    /// assert!(VersionedMap::checkout(&name, 1 << 20, &reading).is_err()); // makes none
    /// let map = VersionedMap::checkout(&name, 1 << 20, &Options::new())?;
    /// assert!(VersionedMap::checkout(&name, 0, &reading)?.is_empty()?);
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the segment ([`Segment::checkout`]), and of a segment that holds no map ([`VersionedMap::open`]).
    /// Options that a map cannot have are refused before anything is made: [`private`](Options::private), and a
    /// [`unit`](Options::unit) above 8.
    pub fn checkout(
        name: impl AsRef<Path>,
        size: usize,
        options: &Options,
    ) -> MapResult<VersionedMap> {
        options.check_map()?;
        check_unit(options.unit.unwrap_or(8) as usize)?;
        // To read: there would be nothing in it, and nobody to make it a map.
        let create = options.create && !options.is_read_only();
        let options = options.clone().declared().create(create);
        Segment::checkout_as(name.as_ref(), size, &options, VersionedMap::open)
    }

    /// Updates the segment and opens the map in it; if the segment is blank, creates an empty map and
    /// commits it.
    ///
    /// ```
    /// use fyris_segment::{MapError, Options, Segment, VersionedMap};
    ///
    /// let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// let map = VersionedMap::open(segment)?;
    /// assert_eq!((map.len()?, map.version()), (0, 1)); // the empty map was committed
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Errors in the header; [`Unit`](MapError::Unit) if words of the segment are larger
    /// than 8 bytes; [`TooSmall`](MapError::TooSmall); [`Error::BadArgument`] if bytes of it are
    /// [`private`](Options::private); [`Error::Uncommitted`] if it has changes that were neither committed nor
    /// discarded; the segment's errors. The rest is checked when it is used, or by [`View::check`].
    pub fn open(mut segment: Segment) -> MapResult<VersionedMap> {
        segment.options().check_map()?;
        check_unit(segment.unit())?;
        segment.check_settled()?;
        let mut copy = WorkingCopy(segment);
        copy.0.update()?;
        while is_blank(copy.bytes()) && !create(&mut copy)? {}
        Ok(VersionedMap {
            map: Plain::open(copy)?,
            dirty: false,
            whole: true,
            stamp: fresh_stamp(),
        })
    }

    /// Returns the map to read, as this process sees it now. In a forked child there is none:
    /// [`TooSmall`](MapError::TooSmall), where the methods here say [`Error::Forked`].
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// let (first, second) = (map.view(), map.view()); // `Copy`, for several threads
    /// assert_eq!((first.len()?, second.len()?), (0, 0));
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn view(&self) -> View<'_> {
        View::stamped(self.map.region().bytes(), self.stamp)
    }

    /// Returns the map to read; an error in a forked process, as the copy stayed with its parent.
    fn live(&self) -> MapResult<View<'_>> {
        match self.segment().is_forked() {
            true => Err(Error::Forked.into()),
            false => Ok(self.view()),
        }
    }

    /// Returns the value of a key, where it lies. O(log n), no system call, no copy.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"key", b"value"))?;
    /// assert_eq!((map.get(b"key")?, map.get(b"no key")?), (Some(&b"value"[..]), None));
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](MapError::Corrupt) and errors in the header; [`Error::Forked`] in a forked child.
    pub fn get(&self, key: &[u8]) -> MapResult<Option<&[u8]>> {
        self.live()?.get(key)
    }

    /// Returns the number of entries. O(1).
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"key", b"value"))?;
    /// assert_eq!((map.len()?, theirs.len()?), (1, 0)); // of this version
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](MapError::Corrupt) and errors in the header; [`Error::Forked`] in a forked child.
    pub fn len(&self) -> MapResult<u64> {
        self.live()?.len()
    }

    /// Returns whether there are none.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// assert!(map.is_empty()?);
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](MapError::Corrupt) and errors in the header; [`Error::Forked`] in a forked child.
    pub fn is_empty(&self) -> MapResult<bool> {
        self.live()?.is_empty()
    }

    /// Returns the entry with the smallest key. O(log n).
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"b", b"2").and(batch.insert(b"a", b"1")))?;
    /// assert_eq!(map.first()?, Some((&b"a"[..], &b"1"[..])));
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](MapError::Corrupt) and errors in the header; [`Error::Forked`] in a forked child.
    pub fn first(&self) -> MapResult<Option<Entry<'_>>> {
        self.live()?.first()
    }

    /// Returns the entry with the largest key. O(log n).
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"b", b"2").and(batch.insert(b"a", b"1")))?;
    /// assert_eq!(map.last()?, Some((&b"b"[..], &b"2"[..])));
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](MapError::Corrupt) and errors in the header; [`Error::Forked`] in a forked child.
    pub fn last(&self) -> MapResult<Option<Entry<'_>>> {
        self.live()?.last()
    }

    /// Returns an iterator over all entries in ascending order of keys; `rev()` descends.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"b", b"2").and(batch.insert(b"a", b"1")))?;
    /// let keys = map.iter()?.rev().map(|entry| Ok(entry?.0)).collect::<Result<Vec<_>, MapError>>()?;
    /// assert_eq!(keys, [b"b", b"a"]);
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](MapError::Corrupt) and errors in the header; [`Error::Forked`] in a forked child.
    pub fn iter(&self) -> MapResult<Range<'_>> {
        self.live()?.iter()
    }

    /// Returns the entries within bounds.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"b", b"2").and(batch.insert(b"a", b"1")))?;
    /// assert_eq!(map.range("b"..)?.count(), 1);
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](MapError::Corrupt) and errors in the header; [`Error::Forked`] in a forked child.
    pub fn range<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>) -> MapResult<Range<'_>> {
        self.live()?.range(bounds)
    }

    /// Returns the entries whose keys begin with `prefix`.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"river/Dal", b"541").and(batch.insert(b"town", b"")))?;
    /// assert_eq!(map.prefix(b"river/")?.count(), 1);
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](MapError::Corrupt) and errors in the header; [`Error::Forked`] in a forked child.
    pub fn prefix(&self, prefix: &[u8]) -> MapResult<Range<'_>> {
        self.live()?.prefix(prefix)
    }

    /// Returns the memory of the map in its segment, in bytes. O(1).
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// let memory = map.memory()?;
    /// assert_eq!((memory.total, memory.used + memory.free), (1 << 20, 1 << 20));
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](MapError::Corrupt) and errors in the header; [`Error::Forked`] in a forked child.
    pub fn memory(&self) -> MapResult<Memory> {
        self.live()?.memory()
    }

    /// Verifies the whole map. O(n).
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"key", b"value"))?;
    /// let report = map.check()?;
    /// assert_eq!((report.entries, report.data_bytes), (1, 8));
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, and where; [`Error::Forked`] in a forked child.
    pub fn check(&self) -> MapResult<MapReport> {
        self.live()?.check()
    }

    /// Returns the version this process sees, counted in commits to the segment.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// let before = map.version();
    /// map.write(|batch| batch.insert(b"key", b"value"))?;
    /// assert_eq!(map.version(), before + 1);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn version(&self) -> u64 {
        self.segment().version()
    }

    /// Returns whether others have committed since. One load, no system call.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"key", b"value"))?;
    /// assert!(theirs.is_behind() && !map.is_behind());
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn is_behind(&self) -> bool {
        self.segment().is_behind()
    }

    /// Returns whether there are changes that were neither committed nor discarded.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.insert(b"key", b"value")?;
    /// assert!(map.is_dirty());
    /// map.commit()?;
    /// assert!(!map.is_dirty());
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// Takes the latest version.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// theirs.insert(b"key", b"theirs")?;
    /// assert!(matches!(theirs.update(), Err(MapError::Uncommitted))); // maps are not merged
    /// theirs.discard()?;
    /// theirs.update()?;
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Uncommitted`](MapError::Uncommitted): maps cannot be merged; [`Merged`](MapError::Merged) if they were merged
    /// by other means; the segment's errors.
    pub fn update(&mut self) -> MapResult<Updated> {
        self.segment().check_between()?;
        if self.dirty {
            return Err(MapError::Uncommitted);
        }
        let updated = self.map.region_mut().0.update()?;
        if updated.pages > 0 {
            self.stamp = fresh_stamp();
            self.whole = self.map.verify().is_ok();
        }
        match self.whole {
            true => Ok(updated),
            false => Err(MapError::Merged),
        }
    }

    /// Changes the map by a closure, on the latest version, as one step: others see all or nothing of
    /// it. The closure runs again, on a newer version, whenever another writer committed meanwhile; so
    /// all that it does outside the map must bear repetition. If it fails or panics, nothing of what it did remains.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"n", &[1]))?;
    /// let before = theirs.write(|batch| {
    ///     let n = batch.get(b"n")?.map_or(0, |value| value[0]); // of the latest version
    ///     batch.insert(b"n", &[n + 1])?;
    ///     Ok::<_, MapError>(n)
    /// })?;
    /// assert_eq!((before, theirs.get(b"n")?), (1, Some(&[2][..])));
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The closure's; [`Uncommitted`](MapError::Uncommitted) if changes were made before; those of
    /// [`VersionedMap::update`] and of the segment's commit.
    pub fn write<T, E: From<MapError>>(
        &mut self,
        mut change: impl FnMut(&mut Batch<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let mut lost = 0;
        loop {
            self.update()?;
            let mut batch = Batch::new(self);
            let value = change(&mut batch)?;
            if batch.commit()? {
                return Ok(value);
            }
            let_others_pass(lost);
            lost += 1;
        }
    }

    /// Begins a change of a binding, whose callers have no `&mut` that keeps them from a second call: until
    /// [`VersionedMap::end_change`] updates, commits and discards are [`Error::Busy`], as is another change.
    #[doc(hidden)]
    pub fn begin_change(&mut self) -> MapResult<Updated> {
        let updated = self.update()?;
        self.map.region_mut().0.set_changing(true);
        Ok(updated)
    }

    /// Ends it: commits, if the changes are to be kept, and returns the version. `None`: they were taken back, also
    /// because another process was faster.
    #[doc(hidden)]
    pub fn end_change(&mut self, keep: bool) -> MapResult<Option<u64>> {
        self.map.region_mut().0.set_changing(false);
        let committed = match keep.then(|| self.commit()) {
            Some(Ok(version)) => return Ok(Some(version)),
            Some(Err(MapError::Behind { .. })) | None => Ok(None),
            Some(Err(error)) => Err(error),
        };
        let undone = self.discard();
        committed.and_then(|none| undone.map(|()| none))
    }

    /// Maps `key` to `value` in this process's copy; whether the key was there before. O(log n). The
    /// segment grows if need be, as far as it may.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// assert!(!map.insert(b"key", b"value")?); // it was not there
    /// assert!(map.insert(b"key", b"another")?);
    /// map.commit()?;
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Full`](MapError::Full), [`KeyTooLong`](MapError::KeyTooLong),
    /// [`ValueTooLong`](MapError::ValueTooLong): the entry is not inserted. After
    /// [`Corrupt`](MapError::Corrupt), discard.
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> MapResult<bool> {
        check_sizes(key, value)?;
        self.begin()?;
        loop {
            match self.map.insert(key, value) {
                Err(MapError::Full { wanted, free }) if !self.make_room(wanted)? => {
                    return Err(MapError::Full { wanted, free });
                }
                Err(MapError::Full { .. }) => {}
                done => return done,
            }
        }
    }

    /// Removes a key from this process's copy; whether it was there. O(log n).
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.insert(b"key", b"value")?;
    /// assert!(map.remove(b"key")? && !map.remove(b"key")?);
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// After [`Corrupt`](MapError::Corrupt), discard.
    pub fn remove(&mut self, key: &[u8]) -> MapResult<bool> {
        if self.get(key)?.is_none() {
            return Ok(false);
        }
        self.begin()?;
        self.map.remove(key)
    }

    /// Removes everything from this process's copy.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.insert(b"key", b"value")?;
    /// map.clear()?;
    /// assert!(map.is_empty()? && map.is_dirty());
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// After [`Corrupt`](MapError::Corrupt), discard.
    pub fn clear(&mut self) -> MapResult<()> {
        self.begin()?;
        self.map.clear()
    }

    /// Publishes the changes since the last commit; the new version, or the present one if there are
    /// none. For programs that cannot use [`VersionedMap::write`].
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.insert(b"a", b"1")?;
    /// theirs.insert(b"b", b"2")?;
    /// map.commit()?;
    /// assert!(theirs.commit().is_err()); // another key, and `MapError::Behind` all the same
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Behind`](MapError::Behind): another writer was first. [`discard`](VersionedMap::discard),
    /// [`update`](VersionedMap::update), and make the changes again.
    pub fn commit(&mut self) -> MapResult<u64> {
        self.segment().check_between()?;
        if !self.dirty {
            return Ok(self.version());
        }
        match self.map.region_mut().0.commit() {
            Ok(version) => {
                self.dirty = false;
                Ok(version)
            }
            Err(Error::Behind { .. }) => Err(MapError::Behind {
                local: self.version(),
                trunk: self.segment().trunk_version(),
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes back the changes since the last commit.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.insert(b"key", b"value")?;
    /// map.discard()?;
    /// assert!(map.is_empty()? && !map.is_dirty());
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The segment's.
    pub fn discard(&mut self) -> MapResult<()> {
        self.segment().check_between()?;
        self.stamp = fresh_stamp();
        self.map.region_mut().0.discard()?;
        self.dirty = false;
        self.whole = self.map.verify().is_ok();
        Ok(())
    }

    /// Makes the segment longer, to `bytes` at least, and takes the new pages into the map: a change, to
    /// be committed. The map does it by itself while the segment may grow.
    ///
    /// ```
    /// use fyris_segment::{MapError, Options, Segment, VersionedMap};
    ///
    /// let segment = Segment::nameless(1 << 16, &Options::new().max_size(1 << 20))?;
    /// let mut map = VersionedMap::open(segment)?;
    /// map.grow(1 << 20)?;
    /// map.commit()?;
    /// assert_eq!(map.memory()?.total, 1 << 20);
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`].
    pub fn grow(&mut self, bytes: usize) -> MapResult<()> {
        if bytes > self.segment().len() {
            self.map.region_mut().0.grow(bytes)?;
        }
        self.begin()?;
        self.map.adopt().map(drop)
    }

    /// Checks the map out anew in a forked child, at its latest version, without the parent's uncommitted changes. Does
    /// nothing elsewhere.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.reattach()?; // nothing to do here; to be called in a forked child
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of checking the segment out ([`Segment::reattach`]), and [`Merged`](MapError::Merged) if the map was
    /// merged by other means.
    pub fn reattach(&mut self) -> MapResult<()> {
        if !self.segment().is_forked() {
            return Ok(());
        }
        self.map.region_mut().0.reattach()?;
        self.dirty = false;
        self.stamp = fresh_stamp();
        self.whole = self.map.verify().is_ok();
        self.update().map(drop)
    }

    /// Returns the segment.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// assert_eq!(map.segment().len(), 1 << 20);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn segment(&self) -> &Segment {
        &self.map.region().0
    }

    /// Returns the segment, with the changes that were not committed. Merging these into it ruins the map;
    /// others will notice.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// map.write(|batch| batch.insert(b"key", b"value"))?;
    /// let segment = map.into_segment();
    /// assert_eq!(VersionedMap::open(segment)?.len()?, 1);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn into_segment(self) -> Segment {
        self.map.into_region().0
    }

    /// Prepares a change; called before each.
    fn begin(&mut self) -> MapResult<()> {
        self.live()?;
        if !self.whole {
            return Err(MapError::Merged);
        }
        self.stamp = fresh_stamp();
        if !self.dirty {
            self.map.stamp()?;
            self.dirty = true;
        }
        Ok(())
    }

    /// Takes in bytes that the segment has gained, or doubles it; whether there are more now.
    fn make_room(&mut self, wanted: u32) -> MapResult<bool> {
        if self.map.adopt()? {
            return Ok(true);
        }
        let (len, max) = (self.segment().len(), self.segment().max_len());
        let wanted = (wanted as usize + 1).saturating_mul(NODE);
        let aim = len.saturating_add(len.max(wanted)).min(max);
        if aim > len {
            self.map.region_mut().0.grow(aim)?;
        }
        self.map.adopt()
    }
}

fn check_unit(bytes: usize) -> MapResult<()> {
    match bytes <= 8 {
        true => Ok(()),
        false => Err(MapError::Unit(bytes)),
    }
}

/// Lays out an empty map and commits it; whether this process was the first to do so. If not, takes
/// what the other one made.
fn create(copy: &mut WorkingCopy) -> MapResult<bool> {
    Editor::create(copy)?;
    match copy.0.commit() {
        Err(Error::Behind { .. }) => {
            copy.0.discard()?;
            copy.0.update()?;
            Ok(false)
        }
        done => Ok(done.map(|_| true)?),
    }
}
