//! Traversal in hash order.
//!
//! A cursor is a point in the order of (hash, key). The bucket that covers that point is read, in
//! whichever table is live for it at the moment; the next point is where that bucket's range ends.
//! Growing and shrinking change how long the ranges are, not the order, so nothing is met twice or
//! left out by them.

use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash};

use super::HashIndex;
use super::bucket::Bucket;
use super::word::{tag, tag_of};
use crate::{Batch, Entry};

impl<E: Entry, S: BuildHasher> HashIndex<E, S>
where
    E::Key: Hash + Eq,
{
    /// Appends the entries of one bucket whose hashes are `from` or above, in no order. Returns where the next
    /// bucket begins, `None` after the last. The caller is pinned.
    ///
    /// An entry that is there throughout is appended exactly once, and no key twice.
    pub(crate) fn bucket_batch(&self, from: u64, out: &mut Batch<E>) -> Option<u64> {
        self.batch(from, out, |bucket, out| {
            bucket.for_each(|word| out.push(Self::entry(word)));
        })
    }

    /// Appends what `read` reads of the bucket of `from`, but no entries of hashes below. Returns where the next bucket
    /// begins, `None` after the last.
    #[inline]
    fn batch(
        &self,
        from: u64,
        out: &mut Batch<E>,
        read: impl FnOnce(&Bucket, &mut Batch<E>),
    ) -> Option<u64> {
        let (table, bucket, before) = self.live(from)?;
        let begin = table.index(from) as u64;
        let shift = 64 - table.bits();
        let already = out.len();
        read(bucket, out);
        if begin << shift != from {
            // The cursor is from a larger table: the front of this range has been handed out.
            out.retain_from(already, |e| self.hash_of_entry(e) >= from);
        }
        if bucket.header() != before {
            // A key that was taken out and put in again meanwhile may have been met twice.
            drop_repeated_keys(out, already);
        }
        let end = begin + 1;
        (end < table.len() as u64).then_some(end << shift)
    }
}

impl<E: Entry, S: BuildHasher> HashIndex<E, S>
where
    E::Key: Hash + Ord,
{
    /// Appends the entries of one bucket whose hashes are `from` or above, in the order of (hash, key). Returns where
    /// the next bucket begins, `None` after the last.
    #[inline]
    pub(super) fn ordered_batch(&self, from: u64, out: &mut Batch<E>) -> Option<u64> {
        self.batch(from, out, |bucket, out| {
            let already = out.len();
            let mut any_alike = false;
            // In a bucket tags are in the order of hashes.
            bucket.in_order(|words, alike| {
                out.extend(words.iter().map(|&word| Self::entry(word)));
                any_alike = alike;
            });
            if cfg!(fyris_mutant = "hash_scan_unsorted") {
                out[already..].reverse();
            } else if any_alike {
                out.truncate(already);
                self.sorted_batch(bucket, out);
            }
        })
    }

    /// Appends the entries of a bucket, put in order by their hashes and keys.
    #[cold]
    fn sorted_batch(&self, bucket: &Bucket, out: &mut Batch<E>) {
        let already = out.len();
        bucket.for_each(|word| out.push(Self::entry(word)));
        self.sort(&mut out[already..]);
    }

    /// Appends the entries of all buckets that now cover what bucket `slot` of the root covered, in order.
    pub(super) fn slot_batch(&self, slot: usize, out: &mut Batch<E>) {
        let Some(table) = self.root().filter(|table| slot < table.len()) else {
            return;
        };
        let shift = 64 - table.bits();
        let (begin, end) = ((slot as u64) << shift, (slot as u64 + 1).checked_shl(shift));
        let end = end.filter(|end| *end != 0);
        let already = out.len();
        let mut from = Some(begin);
        while let Some(at) = from.filter(|at| end.is_none_or(|end| *at < end)) {
            from = self.ordered_batch(at, out);
        }
        // A merged bucket covers more than was asked for.
        out.retain_from(already, |e| {
            end.is_none_or(|end| self.hash_of_entry(e) < end)
        });
    }

    /// Returns the first entry after a key, in the order of (hash, key). The caller is pinned.
    pub(super) fn first_after(&self, after: Option<&E::Key>) -> Option<E> {
        let after = after.map(|key| (self.hash_of(key), key));
        let mut from = after.map_or(0, |(hash, _)| hash);
        loop {
            let (table, bucket, _) = self.live(from)?;
            if let Some(entry) = self.first_of_bucket(bucket, table.window(), from, after) {
                return Some(entry);
            }
            let end = table.index(from) as u64 + 1;
            if end == table.len() as u64 {
                return None;
            }
            from = end << (64 - table.bits());
        }
    }

    /// Returns the first entry of a bucket whose hash is `from` or above, and that comes after `after`.
    ///
    /// Only entries with the tag of `from`, and those that share theirs with another one, are looked at. If a key was
    /// taken out and put in again meanwhile, its former entry is an answer as good as the present one.
    fn first_of_bucket(
        &self,
        bucket: &Bucket,
        window: u32,
        from: u64,
        after: Option<(u64, &E::Key)>,
    ) -> Option<E> {
        let low = tag_of(from, window);
        let mut found = None;
        bucket.in_order(|words, _| {
            let passed = words.iter().filter(|&&word| tag(word) < low).count();
            let mut left = words[passed..].chunk_by(|&a, &b| tag(a) == tag(b));
            found = left.find_map(|same| {
                if let [word] = *same
                    && tag(word) > low
                {
                    return Some(Self::entry(word));
                }
                let entries = same.iter().map(|&word| Self::entry(word));
                let ahead = entries.filter(|entry| {
                    let hash = self.hash_of_entry(entry);
                    hash >= from && after.is_none_or(|after| place(hash, entry, after).is_gt())
                });
                ahead.min_by(|a, b| self.compare(a, b))
            });
            if let Some(next) = left.next() {
                // A traversal from key to key wants to see what this one names next.
                Self::entry(next[0]).prefetch();
            }
        });
        found
    }
}

/// Compares an entry, filed under this hash, with a point in the order of (hash, key).
#[inline]
pub(super) fn place<E: Entry>(hash: u64, entry: &E, point: (u64, &E::Key)) -> Ordering
where
    E::Key: Ord,
{
    hash.cmp(&point.0).then_with(|| entry.key().cmp(point.1))
}

/// Keeps of the entries from `already` on those that come last under their key.
fn drop_repeated_keys<E: Entry>(out: &mut Batch<E>, already: usize)
where
    E::Key: Eq,
{
    let mut i = already;
    while i < out.len() {
        if out[i + 1..].iter().any(|later| later.key() == out[i].key()) {
            out.remove(i);
        } else {
            i += 1;
        }
    }
}

trait RetainFrom<T> {
    /// Drops those of the elements from `start` on that `keep` says no to.
    fn retain_from(&mut self, start: usize, keep: impl FnMut(&T) -> bool);
}

impl<T: Copy> RetainFrom<T> for Vec<T> {
    fn retain_from(&mut self, start: usize, mut keep: impl FnMut(&T) -> bool) {
        let mut end = start;
        for i in start..self.len() {
            let item = self[i];
            if keep(&item) {
                self[end] = item;
                end += 1;
            }
        }
        self.truncate(end);
    }
}
