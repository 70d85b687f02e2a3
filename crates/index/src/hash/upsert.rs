//! Writing: one bucket, locked for the length of a closure.

use std::hash::{BuildHasher, Hash};

use fyris_sync::atomic::Ordering;
use fyris_sync::reclaim::Guard;

use super::HashIndex;
use super::bucket::{Bucket, Locked};
use super::table::Table;
use super::word::{tag_of, word};
use crate::{Action, Entry};

/// The change of the counts by an action.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CountChange {
    /// As many entries as before.
    None,
    /// One more entry, and the number of new overflow buckets.
    Added(usize),
    /// One entry less, and the number of overflow buckets retired.
    Removed(usize),
}

impl<E: Entry, S: BuildHasher> HashIndex<E, S>
where
    E::Key: Hash,
{
    /// Runs `f` on the entry of a key, with its bucket locked, and does as it says
    /// ([`Index::upsert`](crate::Index::upsert)), for a caller that has the key in another form: `key` hashes as the
    /// entry's key does, and `is_it` tells whether an entry has it.
    #[inline]
    pub fn upsert_by<R>(
        &self,
        key: &impl Hash,
        is_it: impl Fn(&E) -> bool,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        self.upsert_hashed(self.hash_of(key), is_it, pin, f)
    }

    /// Runs `f` on the entry with this hash that `is_it` recognises, or on its absence, with its bucket locked;
    /// performs the action that it returns, and returns its second result.
    #[inline]
    pub(crate) fn upsert_hashed<R>(
        &self,
        hash: u64,
        is_it: impl Fn(&E) -> bool,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        // The bucket that is locked is the live one of the hash: all who look for the key come to it, and only this
        // thread changes it. `f` decides on what is found there, and then
        // * put in the place of an entry: one store, of the word in the same slot (STABLE_SLOT);
        // * put where there was none: one store, of the word in an empty slot of the chain, or of the link to a new
        //   overflow bucket that has the last slot's entry and the new one;
        // * remove: one store of zero; an overflow bucket that is empty then is unlinked and retired;
        // * remove of nothing, or keep: no store, and the version stays.
        // When it is unlocked, the counts may tell to begin a move to another size (`account`); writers that come later
        // carry it out, a chunk each (`help`).
        let (table, mut locked) = self.lock(hash, pin);
        let tag = tag_of(hash, table.window());
        let found = locked.find(tag, |w| is_it(&Self::entry(w)));
        let (action, result) = f(found.map(|(_, w)| Self::entry(w)));
        let change = match (action, found) {
            (Action::Put(new), Some((place, _))) => {
                locked.replace(place, word(tag, new.into_bits()));
                CountChange::None
            }
            (Action::Put(new), None) => {
                // Before it can be seen, and a removal after that: a count is never too low.
                let added = || self.counts.entries.add(1);
                if !cfg!(fyris_mutant = "hash_counts_late") {
                    added();
                }
                let overflow = locked.insert(word(tag, new.into_bits()));
                if cfg!(fyris_mutant = "hash_counts_late") {
                    (0..100).for_each(|_| fyris_sync::thread::spin_loop());
                    added();
                }
                CountChange::Added(overflow)
            }
            (Action::Remove, Some((place, _))) => CountChange::Removed(locked.remove(place, pin)),
            (Action::Remove, None) | (Action::Keep, _) => CountChange::None,
        };
        drop(locked);
        self.account(table, change);
        result
    }

    /// Puts `new` (or nothing) in the place of `seen` (or nothing) if the entry that `is_it` recognises is still
    /// `seen`, the very same; says whether it did. Under a pin no handle comes up twice.
    pub(crate) fn swap(
        &self,
        hash: u64,
        is_it: impl Fn(&E) -> bool,
        seen: Option<E>,
        new: Option<E>,
        pin: &impl Guard,
    ) -> bool {
        self.upsert_hashed(hash, is_it, pin, |now| {
            let is_same = now.map(E::into_bits) == seen.map(E::into_bits);
            let action = new.map_or(Action::Remove, Action::Put);
            (if is_same { action } else { Action::Keep }, is_same)
        })
    }

    /// Locks the live bucket of a hash; on the way, does a share of a move that is under way.
    #[inline]
    fn lock(&self, hash: u64, pin: &impl Guard) -> (&Table, Locked<'_>) {
        let mut table = self.root().unwrap_or_else(|| self.make());
        if let Some(next) = table.next() {
            self.help(table, next, pin);
        }
        loop {
            if let Some(locked) = table.bucket(hash).lock() {
                return (table, locked);
            }
            // The content has moved on (invariant FROZEN_BUCKET): the next table was published before.
            table = table.next().expect("a moved bucket has a next table");
        }
    }

    #[inline]
    fn account(&self, table: &Table, change: CountChange) {
        match change {
            CountChange::None => {}
            CountChange::Added(overflow) => {
                if overflow > 0 {
                    // Relaxed: a number.
                    let bytes = overflow * size_of::<Bucket>();
                    self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
                    self.grow_if_full(table);
                }
            }
            CountChange::Removed(overflow) => {
                let nth = self.counts.entries.add(-1);
                if overflow > 0 {
                    // Relaxed: a number.
                    let bytes = overflow * size_of::<Bucket>();
                    self.counts.bytes.fetch_sub(bytes, Ordering::Relaxed);
                }
                self.shrink_if_empty(table, nth);
            }
        }
    }
}
