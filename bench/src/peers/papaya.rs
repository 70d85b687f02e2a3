//! papaya: a lock-free hash table; one pin an operation.

use fyris_harness::{Seen, Subject};
use papaya::HashMap;

use super::hasher::Hasher;
use super::key::PeerKey;

pub struct Papaya<K: PeerKey>(HashMap<K::Stored, u64, Hasher>);

impl<K: PeerKey> Subject<K> for Papaya<K> {
    const ORDERED: bool = false;
    const ADDS: Option<bool> = Some(true);

    fn new() -> Self {
        Self(HashMap::with_hasher(Hasher::default()))
    }
    #[inline]
    fn insert(&self, key: &K, value: u64) {
        self.0.pin().insert(key.stored(), value);
    }
    #[inline]
    fn get(&self, key: &K) -> Option<u64> {
        self.0.pin().get(key.look()).copied()
    }
    #[inline]
    fn remove(&self, key: &K) -> bool {
        self.0.pin().remove(key.look()).is_some()
    }
    #[inline]
    fn add(&self, key: &K) {
        self.0.pin().update(key.stored(), |value| value + 1);
    }
    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        self.0.pin().iter().for_each(|(_, value)| seen.add(*value));
        seen
    }
}
