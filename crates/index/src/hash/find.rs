//! Reading: find a key.

use std::hash::{BuildHasher, Hash};

use fyris_sync::reclaim::Guard;

use super::HashIndex;
use super::bucket::Bucket;
use super::table::Table;
use super::word::tag_of;
use crate::Entry;

impl<E: Entry, S> HashIndex<E, S> {
    /// Returns the live bucket for a hash, its table, and its header as it was before anything else in the bucket is
    /// read. `None`: no entry has come yet.
    #[inline]
    pub(super) fn live(&self, hash: u64) -> Option<(&Table, &Bucket, u64)> {
        let mut table = self.root()?;
        loop {
            let bucket = table.bucket(hash);
            let header = bucket.header();
            if !Bucket::is_moved(header) {
                return Some((table, bucket, header));
            }
            // The content has moved on (invariant FROZEN_BUCKET): the next table was published before.
            table = table.next().expect("a moved bucket has a next table");
        }
    }
}

impl<E: Entry, S: BuildHasher> HashIndex<E, S>
where
    E::Key: Hash,
{
    /// Returns the entry with this hash that `is_it` recognises. The caller is pinned.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(&E) -> bool) -> Option<E> {
        let (table, mut bucket, _) = self.live(hash)?;
        let tag = tag_of(hash, table.window());
        loop {
            let mut mask = bucket.matches(tag);
            while mask != 0 {
                let word = bucket.load((mask.trailing_zeros() / 2) as usize);
                // The word may have changed since its tag matched: to another entry's, which is then
                // not the one; to nothing or to a link, which is no entry at all.
                if super::word::tag(word) == tag {
                    let entry = Self::entry(word);
                    if is_it(&entry) {
                        return Some(entry);
                    }
                }
                mask &= mask - 1;
            }
            bucket = bucket.overflow()?;
        }
    }

    /// Returns the entry of a key that the caller has in another form: `key` hashes as the entry's key does, and
    /// `is_it` tells whether an entry has it. Linearizable.
    #[inline]
    pub fn get_by(&self, key: &impl Hash, is_it: impl Fn(&E) -> bool, _: &impl Guard) -> Option<E> {
        self.find(self.hash_of(key), is_it)
    }

    /// Fetches the line that an operation on this hash is going to write.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        if let Some(root) = self.root() {
            crate::prefetch::write(root.bucket(hash));
        }
    }
}
