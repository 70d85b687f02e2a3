//! The queue of a subscription that wants to know the newest change of each key alone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::queue::{Announced, Queued};
use crate::ids::TableId;

/// A key of a table, by the bytes that the table tells keys apart by.
pub(super) type WatchedKey = (TableId, Box<[u8]>);

/// Changes of one key that are told as one: what was there before the first, and what is there after the last.
pub(super) struct LatestChange {
    pub(super) key: WatchedKey,
    pub(super) first: Arc<Announced>,
    pub(super) last: Arc<Announced>,
}

impl LatestChange {
    pub(super) fn is_told(&self) -> bool {
        self.first.told().is_some() && self.last.told().is_some()
    }
}

/// Entries in the order of the last change of each key.
#[derive(Default)]
pub(super) struct Latest {
    entries: BTreeMap<u64, Queued>,
    places: HashMap<WatchedKey, u64>,
    next: u64,
}

impl Latest {
    /// Appends an entry that is not about one key.
    pub(super) fn push(&mut self, entry: Queued) {
        self.entries.insert(self.next, entry);
        self.next += 1;
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Queued> {
        self.entries.last_entry().map(|entry| entry.into_mut())
    }

    /// Puts a change of a key in the place of the one that waits. Returns `false` if none does.
    pub(super) fn replace(&mut self, key: &WatchedKey, event: &Arc<Announced>) -> bool {
        let Some(place) = self.places.get_mut(key) else {
            return false;
        };
        if let Some(Queued::Latest(change)) = self.entries.get_mut(place) {
            change.last = event.clone();
        }
        if let Some(entry) = self.entries.remove(place) {
            *place = self.next;
            self.push(entry);
        }
        true
    }

    /// Appends the first change of a key that waits.
    pub(super) fn add(&mut self, key: WatchedKey, event: &Arc<Announced>) {
        self.places.insert(key.clone(), self.next);
        let (first, last) = (event.clone(), event.clone());
        self.push(Queued::Latest(LatestChange { key, first, last }));
    }

    /// Lets what comes be told by itself, whatever waits.
    pub(super) fn begin_anew(&mut self) {
        self.places.clear();
    }

    pub(super) fn pop(&mut self) -> Option<Queued> {
        let (place, entry) = self.entries.pop_first()?;
        if let Queued::Latest(change) = &entry
            && self.places.get(&change.key) == Some(&place)
        {
            self.places.remove(&change.key);
        }
        Some(entry)
    }
}
