//! A batch of changes that is committed as one.

use super::{MapError, Result, VersionedMap, View};
use crate::Error;

/// The changes of one run of the closure of [`VersionedMap::write`].
#[derive(Debug)]
pub struct Batch<'m> {
    map: &'m mut VersionedMap,
}

impl<'m> Batch<'m> {
    pub(super) fn new(map: &'m mut VersionedMap) -> Batch<'m> {
        Batch { map }
    }

    /// Returns the map to read, with the changes made so far.
    pub fn view(&self) -> View<'_> {
        self.map.view()
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    ///
    /// As [`View::get`].
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        self.map.get(key)
    }

    /// Works like [`VersionedMap::insert`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.map.insert(key, value)
    }

    /// Works like [`VersionedMap::remove`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn remove(&mut self, key: &[u8]) -> Result<bool> {
        self.map.remove(key)
    }

    /// Works like [`VersionedMap::clear`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn clear(&mut self) -> Result<()> {
        self.map.clear()
    }

    /// Commits and returns true; if another writer was first, discards these changes and returns
    /// false.
    pub(super) fn commit(self) -> Result<bool> {
        match self.map.commit() {
            Ok(_) => Ok(true),
            Err(MapError::Segment(Error::Behind { .. })) => {
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
