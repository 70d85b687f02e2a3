//! scc's ordered index: a B+ tree with lock-free reads. It has no update in place that counts.

use std::ops::Bound;

use fyris_harness::{Seen, Subject};
use scc::{Guard, TreeIndex};

use super::key::PeerKey;

pub struct SccTree<K: PeerKey>(TreeIndex<K::Stored, u64>);

impl<K: PeerKey> Subject<K> for SccTree<K> {
    const ORDERED: bool = true;
    const ADDS: Option<bool> = None;

    fn new() -> Self {
        Self(TreeIndex::new())
    }
    #[inline]
    fn insert(&self, key: &K, value: u64) {
        self.0.upsert_sync(key.stored(), value);
    }
    #[inline]
    fn get(&self, key: &K) -> Option<u64> {
        self.0.peek_with(key.look(), |_, value| *value)
    }
    #[inline]
    fn remove(&self, key: &K) -> bool {
        self.0.remove_sync(key.look())
    }
    fn add(&self, _: &K) {}
    fn scan(&self) -> Seen {
        let (mut seen, guard) = (Seen::default(), Guard::new());
        self.0.iter(&guard).for_each(|(_, value)| seen.add(*value));
        seen
    }
    fn range(&self, from: &K, limit: u64) -> Seen {
        let (mut seen, guard) = (Seen::default(), Guard::new());
        let bounds = (Bound::Included(from.look()), Bound::Unbounded);
        let range = self.0.range::<K::Look, _>(bounds, &guard);
        range
            .take(limit as usize)
            .for_each(|(_, value)| seen.add(*value));
        seen
    }
}
