//! Scans: many buckets at a time, in the order of hashes.
//!
//! Buckets are read one behind another, which the processor foresees. Their entries are put in order by their tags
//! alone but for those that share one. The entries at either end are prefetched: the first are looked at first, and the
//! last is where the next scan goes on.

use std::hash::{BuildHasher, Hash};
use std::ops::Bound;

use super::HashIndex;
use super::cursor::place;
use crate::{Batch, Entry, Range};

/// Entries at either end of a scan that are prefetched: memory takes about as long as coming by as many.
const PREFETCHED: usize = 24;

/// A bound with the hash of its key.
type Point<'k, K> = Bound<(u64, &'k K)>;

impl<E: Entry, S: BuildHasher> HashIndex<E, S>
where
    E::Key: Hash + Eq + Ord,
{
    /// Appends the entries between two bounds in the order of (hash, key), bucket by bucket, until there are `want` of
    /// them; returns whether there may be more. The caller is pinned.
    pub(super) fn scan_buckets(
        &self,
        (from, to): Range<'_, E::Key>,
        want: usize,
        out: &mut Batch<E>,
    ) -> bool {
        let (from, to) = (self.point(from), self.point(to));
        let first = hash_at(from).unwrap_or(0);
        let last = hash_at(to).unwrap_or(u64::MAX);
        let already = out.len();
        let mut at = first;
        loop {
            let start = out.len();
            let next = self.ordered_batch(at, out);
            let begins = at == first && !matches!(from, Bound::Unbounded);
            let ends = !matches!(to, Bound::Unbounded) && next.is_none_or(|next| next > last);
            if begins || ends {
                self.keep_between(start, from, to, out);
            }
            if start - already < PREFETCHED || out.len() - already + PREFETCHED >= want {
                out[start..].iter().for_each(Entry::prefetch);
            }
            let next = next.filter(|_| !ends);
            if (next.is_some() || want <= 1) && out.len() - already >= want.max(1) {
                return next.is_some();
            }
            let Some(next) = next else { return false };
            at = next;
        }
    }

    /// Appends the first entry from each of `parts - 1` evenly spaced hashes on: places to cut a scan at. None if there
    /// are fewer entries than parts. The caller is pinned.
    pub(super) fn split_at_hashes(&self, parts: usize, out: &mut Batch<E>) {
        if self.count() < parts {
            return;
        }
        let already = out.len();
        for part in 1..parts as u64 {
            let at = (u64::MAX / parts as u64) * part;
            out.extend(self.first_at(at));
        }
        self.sort(&mut out[already..]);
        let mut last = None;
        out.retain(|e| last.replace(e.into_bits()) != Some(e.into_bits()));
    }
}

impl<E: Entry, S: BuildHasher> HashIndex<E, S>
where
    E::Key: Hash + Ord,
{
    fn point<'k>(&self, bound: Bound<&'k E::Key>) -> Point<'k, E::Key> {
        bound.map(|key| (self.hash_of(key), key))
    }

    /// Drops the entries from `start` on that are not between the two points.
    fn keep_between(
        &self,
        start: usize,
        from: Point<'_, E::Key>,
        to: Point<'_, E::Key>,
        out: &mut Batch<E>,
    ) {
        let mut end = start;
        for i in start..out.len() {
            let entry = out[i];
            let hash = self.hash_of_entry(&entry);
            if is_above(from, hash, &entry) && is_below(to, hash, &entry) {
                out[end] = entry;
                end += 1;
            }
        }
        out.truncate(end);
    }

    /// Returns the first entry at or behind a hash.
    fn first_at(&self, hash: u64) -> Option<E> {
        let mut bucket = Vec::new();
        let mut at = Some(hash);
        while let Some(from) = at.filter(|_| bucket.is_empty()) {
            at = self.ordered_batch(from, &mut bucket);
        }
        bucket.first().copied()
    }

    pub(super) fn compare(&self, a: &E, b: &E) -> std::cmp::Ordering {
        let hashes = self.hash_of_entry(a).cmp(&self.hash_of_entry(b));
        hashes.then_with(|| a.key().cmp(b.key()))
    }

    /// Puts entries in the order of (hash, key).
    pub(super) fn sort(&self, entries: &mut [E]) {
        entries.sort_by(|a, b| self.compare(a, b));
    }
}

fn hash_at<K: ?Sized>(point: Point<'_, K>) -> Option<u64> {
    match point {
        Bound::Included((hash, _)) | Bound::Excluded((hash, _)) => Some(hash),
        Bound::Unbounded => None,
    }
}

fn is_above<E: Entry>(from: Point<'_, E::Key>, hash: u64, entry: &E) -> bool
where
    E::Key: Ord,
{
    match from {
        Bound::Included(from) => place(hash, entry, from).is_ge(),
        Bound::Excluded(from) => place(hash, entry, from).is_gt(),
        Bound::Unbounded => true,
    }
}

fn is_below<E: Entry>(to: Point<'_, E::Key>, hash: u64, entry: &E) -> bool
where
    E::Key: Ord,
{
    match to {
        Bound::Included(to) => place(hash, entry, to).is_le(),
        Bound::Excluded(to) => place(hash, entry, to).is_lt(),
        Bound::Unbounded => true,
    }
}
