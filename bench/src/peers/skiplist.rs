//! crossbeam's skip list, which has no update in place.

use std::ops::Bound;

use crossbeam_skiplist::SkipMap;
use fyris_harness::{Seen, Subject};

use super::key::PeerKey;

pub struct Skiplist<K: PeerKey>(SkipMap<K::Stored, u64>);

impl<K: PeerKey> Subject<K> for Skiplist<K> {
    const ORDERED: bool = true;
    const ADDS: Option<bool> = None;

    fn new() -> Self {
        Self(SkipMap::new())
    }
    #[inline]
    fn insert(&self, key: &K, value: u64) {
        self.0.insert(key.stored(), value);
    }
    #[inline]
    fn get(&self, key: &K) -> Option<u64> {
        self.0.get(key.look()).map(|entry| *entry.value())
    }
    #[inline]
    fn remove(&self, key: &K) -> bool {
        self.0.remove(key.look()).is_some()
    }
    fn add(&self, _: &K) {}
    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        self.0.iter().for_each(|entry| seen.add(*entry.value()));
        seen
    }
    fn range(&self, from: &K, limit: u64) -> Seen {
        let mut seen = Seen::default();
        let range = self
            .0
            .range::<K::Look, _>((Bound::Included(from.look()), Bound::Unbounded));
        range
            .take(limit as usize)
            .for_each(|entry| seen.add(*entry.value()));
        seen
    }
}
