//! masstree: a trie of B+ trees over byte strings, values inline; one guard an operation.

use fyris_harness::{Seen, Subject};
use masstree::{MassTree, RangeBound};

use super::key::PeerKey;

pub struct Masstree(MassTree<u64>);

impl<K: PeerKey> Subject<K> for Masstree {
    const ORDERED: bool = true;
    const ADDS: Option<bool> = None;

    fn new() -> Self {
        Self(MassTree::<u64>::new())
    }
    #[inline]
    fn insert(&self, key: &K, value: u64) {
        key.with_bytes(|key| self.0.insert_with_guard(key, value, &self.0.guard()));
    }
    #[inline]
    fn get(&self, key: &K) -> Option<u64> {
        key.with_bytes(|key| self.0.get_with_guard(key, &self.0.guard()))
    }
    #[inline]
    fn remove(&self, key: &K) -> bool {
        key.with_bytes(|key| self.0.remove_with_guard(key, &self.0.guard()))
            .is_ok_and(|removed| removed.is_some())
    }
    fn add(&self, _: &K) {}
    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        let all = (RangeBound::Unbounded, RangeBound::Unbounded);
        let each = |value| {
            seen.add(value);
            true
        };
        self.0.scan_values(all.0, all.1, each, &self.0.guard());
        seen
    }
    fn range(&self, from: &K, limit: u64) -> Seen {
        let mut seen = Seen::default();
        let each = |_: &[u8], value| {
            seen.add(value);
            seen.entries < limit
        };
        from.with_bytes(|from| {
            let from = RangeBound::Included(from);
            self.0
                .scan_intra_leaf_batch(from, RangeBound::Unbounded, each, &self.0.guard())
        });
        seen
    }
}
