//! dashmap: shards of hashbrown, each under a reader-writer lock; as many shards as it chooses.

use dashmap::DashMap;
use fyris_harness::{Seen, Subject};

use super::hasher::Hasher;
use super::key::PeerKey;

pub struct Dash<K: PeerKey>(DashMap<K::Stored, u64, Hasher>);

impl<K: PeerKey> Subject<K> for Dash<K> {
    const ORDERED: bool = false;
    const ADDS: Option<bool> = Some(true);

    fn new() -> Self {
        Self(DashMap::with_hasher(Hasher::default()))
    }
    #[inline]
    fn insert(&self, key: &K, value: u64) {
        self.0.insert(key.stored(), value);
    }
    #[inline]
    fn get(&self, key: &K) -> Option<u64> {
        self.0.get(key.look()).map(|value| *value)
    }
    #[inline]
    fn remove(&self, key: &K) -> bool {
        self.0.remove(key.look()).is_some()
    }
    #[inline]
    fn add(&self, key: &K) {
        if let Some(mut value) = self.0.get_mut(key.look()) {
            *value += 1;
        }
    }
    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        self.0.iter().for_each(|entry| seen.add(*entry));
        seen
    }
}
