//! scc's hash table: a lock a bucket; reads by closure, as its documentation prefers.

use fyris_harness::{Seen, Subject};
use scc::HashMap;

use super::hasher::Hasher;
use super::key::PeerKey;

pub struct SccHash<K: PeerKey>(HashMap<K::Stored, u64, Hasher>);

impl<K: PeerKey> Subject<K> for SccHash<K> {
    const ORDERED: bool = false;
    const ADDS: Option<bool> = Some(true);

    fn new() -> Self {
        Self(HashMap::with_hasher(Hasher::default()))
    }
    #[inline]
    fn insert(&self, key: &K, value: u64) {
        self.0.upsert_sync(key.stored(), value);
    }
    #[inline]
    fn get(&self, key: &K) -> Option<u64> {
        self.0.read_sync(key.look(), |_, value| *value)
    }
    #[inline]
    fn remove(&self, key: &K) -> bool {
        self.0.remove_sync(key.look()).is_some()
    }
    #[inline]
    fn add(&self, key: &K) {
        self.0.update_sync(key.look(), |_, value| *value += 1);
    }
    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        self.0.iter_sync(|_, value| {
            seen.add(*value);
            true
        });
        seen
    }
}
