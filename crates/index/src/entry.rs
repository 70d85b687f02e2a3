//! The entries of an index.

use std::hash::{BuildHasher, Hash};

use fyris_sync::reclaim::Guard;

/// A handle of something immutable that has a key: 48 bits, copied freely by the index.
///
/// The index never looks behind the handle but through [`Entry::key`] and what stands for it, and never frees what is
/// behind it but through [`Entry::dispose`], when the index itself is dropped. An entry that an
/// operation takes out (replaced or removed) goes back to the caller, which retires it.
///
/// # Safety
///
/// * `into_bits` is non-zero and below 2^48, and `from_bits(e.into_bits())` is `e`. The index keeps
///   all of the 48 bits: an implementation may keep tags of its own in the low ones.
/// * `key` returns the same key (for the index: equal, same hash, same order) as long as the entry
///   is in the index, and the reference is valid while the thread is pinned (invariant RECLAIM).
pub unsafe trait Entry: Copy {
    /// The key by which entries are found.
    type Key: ?Sized;

    /// Returns the entry's key.
    fn key(&self) -> &Self::Key;

    /// Returns whether this is the entry's key.
    #[inline]
    fn has_key(&self, key: &Self::Key) -> bool
    where
        Self::Key: PartialEq,
    {
        self.key() == key
    }

    /// Returns [`BuildHasher::hash_one`] of the entry's key.
    #[inline]
    fn hash_key(&self, hasher: &impl BuildHasher) -> u64
    where
        Self::Key: Hash,
    {
        hasher.hash_one(self.key())
    }

    /// Prefetches the entry that the handle names. Low bits may be tags; a prefetch of a wrong address does no harm.
    #[inline]
    fn prefetch(&self) {
        let at = self.into_bits() as usize;
        crate::prefetch::read(std::ptr::without_provenance::<u8>(at));
    }

    /// Returns the handle as a number: non-zero, below 2^48.
    fn into_bits(self) -> u64;

    /// Returns the handle of a number of [`Entry::into_bits`].
    ///
    /// # Safety
    ///
    /// `bits` comes from `into_bits` of an entry that has not been freed.
    unsafe fn from_bits(bits: u64) -> Self;

    /// Frees the entry behind the handle once no pinned thread can see it.
    ///
    /// # Safety
    ///
    /// The entry is in no index any more, and is retired once. The entry behind it may be dropped at any later time: it
    /// borrows nothing, or dropping it does nothing.
    unsafe fn retire(self, pin: &impl Guard);

    /// Frees the entry behind the handle now.
    ///
    /// # Safety
    ///
    /// No other thread can reach the entry: the index that held it is being dropped.
    unsafe fn dispose(self);
}
