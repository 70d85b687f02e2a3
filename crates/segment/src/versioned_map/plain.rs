//! A map over plain bytes.

use super::editor::Editor;
use super::layout::Region;
use super::{MapResult, View, insert, remove, seal};

/// A map over any [`Region`], without versions: the core of [`VersionedMap`](super::VersionedMap).
///
/// ```
/// use fyris_segment::versioned_map::Plain;
///
/// let mut map = Plain::create(vec![0; 1 << 20])?;
/// map.insert(b"Fyris", b"a river")?;
/// assert_eq!(map.view().get(b"Fyris")?, Some(&b"a river"[..]));
/// # Ok::<(), fyris_segment::versioned_map::MapError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Plain<R> {
    region: R,
}

impl<R: Region> Plain<R> {
    /// Lays out an empty map over the whole region, which must begin with 4096 zero bytes.
    ///
    /// ```
    /// use fyris_segment::versioned_map::{MapError, Plain};
    ///
    /// assert!(matches!(Plain::create(vec![0; 100]), Err(MapError::TooSmall { .. })));
    /// assert!(matches!(Plain::create(vec![1; 1 << 20]), Err(MapError::NotEmpty)));
    /// ```
    ///
    /// # Errors
    ///
    /// [`NotEmpty`](super::MapError::NotEmpty), [`TooSmall`](super::MapError::TooSmall).
    pub fn create(mut region: R) -> MapResult<Plain<R>> {
        Editor::create(&mut region)?;
        Ok(Plain { region })
    }

    /// Opens the map in a region.
    ///
    /// ```
    /// use fyris_segment::versioned_map::{MapError, Plain};
    ///
    /// let bytes = Plain::create(vec![0; 1 << 20])?.into_region();
    /// assert!(Plain::open(bytes)?.view().is_empty()?);
    /// assert!(matches!(Plain::open(vec![0; 1 << 20]), Err(MapError::NotAMap)));
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Errors in the header. The rest is checked when it is used, or by [`View::check`].
    pub fn open(region: R) -> MapResult<Plain<R>> {
        let map = Plain { region };
        map.view().len()?;
        seal::verify(map.region.bytes())?;
        Ok(map)
    }

    /// Returns the map to read.
    ///
    /// ```
    /// use fyris_segment::versioned_map::{MapError, Plain};
    ///
    /// let map = Plain::create(vec![0; 1 << 20])?;
    /// assert_eq!(map.view().len()?, 0);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn view(&self) -> View<'_> {
        View::new(self.region.bytes())
    }

    /// Maps `key` to `value`; whether the key was there before. O(log n).
    ///
    /// ```
    /// use fyris_segment::versioned_map::{MapError, Plain};
    ///
    /// let mut map = Plain::create(vec![0; 1 << 16])?;
    /// assert!(!map.insert(b"key", b"value")?); // it was not there
    /// assert!(matches!(map.insert(b"long", &[0; 1 << 16]), Err(MapError::Full { .. })));
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Full`](super::MapError::Full), [`KeyTooLong`](super::MapError::KeyTooLong),
    /// [`ValueTooLong`](super::MapError::ValueTooLong): nothing is done.
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> MapResult<bool> {
        insert::insert(&mut self.region, key, value)
    }

    /// Removes a key; whether it was there. O(log n).
    ///
    /// ```
    /// use fyris_segment::versioned_map::{MapError, Plain};
    ///
    /// let mut map = Plain::create(vec![0; 1 << 20])?;
    /// assert!(!map.remove(b"key")?); // no error
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](super::MapError::Corrupt).
    pub fn remove(&mut self, key: &[u8]) -> MapResult<bool> {
        remove::remove(&mut self.region, key)
    }

    /// Removes everything. O(pages / 32,768).
    ///
    /// ```
    /// use fyris_segment::versioned_map::{MapError, Plain};
    ///
    /// let mut map = Plain::create(vec![0; 1 << 20])?;
    /// map.insert(b"key", b"value")?;
    /// map.clear()?;
    /// assert!(map.view().is_empty()?);
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](super::MapError::Corrupt).
    pub fn clear(&mut self) -> MapResult<()> {
        Editor::open(&mut self.region)?.clear()
    }

    /// Takes the bytes into the map that the region has gained at its end; whether there are any.
    ///
    /// ```
    /// use fyris_segment::versioned_map::{MapError, Plain};
    ///
    /// let mut map = Plain::create(vec![0; 1 << 16])?;
    /// map.region_mut().resize(1 << 20, 0);
    /// assert!(map.adopt()?);
    /// assert_eq!(map.view().memory()?.total, 1 << 20);
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Corrupt`](super::MapError::Corrupt).
    pub fn adopt(&mut self) -> MapResult<bool> {
        Editor::open(&mut self.region)?.adopt()
    }

    /// Returns the region.
    ///
    /// ```
    /// use fyris_segment::versioned_map::{MapError, Plain};
    ///
    /// assert_eq!(Plain::create(vec![0; 1 << 20])?.region().len(), 1 << 20);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn region(&self) -> &R {
        &self.region
    }

    /// Returns the region; the map in it is only good as long as its bytes are.
    ///
    /// ```
    /// use fyris_segment::versioned_map::{MapError, Plain};
    ///
    /// let mut map = Plain::create(vec![0; 1 << 20])?;
    /// map.region_mut().fill(0);
    /// assert!(map.view().len().is_err()); // no map any more
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn region_mut(&mut self) -> &mut R {
        &mut self.region
    }

    /// Returns the region, without the map around it.
    ///
    /// ```
    /// use fyris_segment::versioned_map::{MapError, Plain};
    ///
    /// let bytes = Plain::create(vec![0; 1 << 20])?.into_region();
    /// assert!(bytes.starts_with(b"FyrisMap"));
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn into_region(self) -> R {
        self.region
    }

    /// Renews the seal, before the first change of a batch.
    pub(super) fn stamp(&mut self) -> MapResult<()> {
        seal::stamp(&mut self.region)
    }

    /// Checks the seal.
    pub(super) fn verify(&self) -> MapResult<()> {
        seal::verify(self.region.bytes())
    }
}
