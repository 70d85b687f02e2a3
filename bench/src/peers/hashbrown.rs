//! hashbrown under one reader-writer lock of parking_lot.

use fyris_harness::{Seen, Subject};
use hashbrown::HashMap;
use parking_lot::RwLock;

use super::hasher::Hasher;
use super::key::PeerKey;

pub struct Hashbrown<K: PeerKey>(RwLock<HashMap<K::Stored, u64, Hasher>>);

impl<K: PeerKey> Subject<K> for Hashbrown<K> {
    const ORDERED: bool = false;
    const ADDS: Option<bool> = Some(true);

    fn new() -> Self {
        Self(RwLock::new(HashMap::with_hasher(Hasher::default())))
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
}
