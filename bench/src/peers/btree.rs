//! The standard library's BTreeMap under one reader-writer lock of parking_lot.

use std::collections::BTreeMap;
use std::ops::Bound;

use fyris_harness::{Seen, Subject};
use parking_lot::RwLock;

use super::key::PeerKey;

pub struct BTree<K: PeerKey>(RwLock<BTreeMap<K::Stored, u64>>);

impl<K: PeerKey> Subject<K> for BTree<K> {
    const ORDERED: bool = true;
    const ADDS: Option<bool> = Some(true);

    fn new() -> Self {
        Self(RwLock::new(BTreeMap::new()))
    }
    #[inline]
    fn insert(&self, key: &K, value: u64) {
        let key = key.stored();
        self.0.write().insert(key, value);
    }
    #[inline]
    fn get(&self, key: &K) -> Option<u64> {
        self.0.read().get(key.look()).copied()
    }
    #[inline]
    fn remove(&self, key: &K) -> bool {
        self.0.write().remove(key.look()).is_some()
    }
    #[inline]
    fn add(&self, key: &K) {
        if let Some(value) = self.0.write().get_mut(key.look()) {
            *value += 1;
        }
    }
    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        self.0.read().values().for_each(|value| seen.add(*value));
        seen
    }
    fn range(&self, from: &K, limit: u64) -> Seen {
        let (mut seen, map) = (Seen::default(), self.0.read());
        let range = map.range::<K::Look, _>((Bound::Included(from.look()), Bound::Unbounded));
        range
            .take(limit as usize)
            .for_each(|(_, value)| seen.add(*value));
        seen
    }
}
