//! ferntree: a B+ tree with optimistic lock coupling, read and written by its optimistic operations. Byte
//! strings are `Vec<u8>`: it takes no boxed slices.

use std::ops::Bound;

use ferntree::Tree;
use fyris_harness::{Seen, Subject};

use super::key::PeerKey;

pub struct Fern<K: PeerKey>(Tree<K::Optimistic, u64>);

impl<K: PeerKey> Subject<K> for Fern<K> {
    const ORDERED: bool = true;
    const ADDS: Option<bool> = None;

    fn new() -> Self {
        Self(Tree::new())
    }
    #[inline]
    fn insert(&self, key: &K, value: u64) {
        self.0.insert_defer(key.optimistic(), value);
    }
    #[inline]
    fn get(&self, key: &K) -> Option<u64> {
        self.0.lookup_optimistic(key.look(), |value| *value)
    }
    #[inline]
    fn remove(&self, key: &K) -> bool {
        self.0.remove_defer(key.look())
    }
    fn add(&self, _: &K) {}
    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        let mut values = self.0.values();
        while let Some(value) = values.next() {
            seen.add(*value);
        }
        seen
    }
    fn range(&self, from: &K, limit: u64) -> Seen {
        let mut seen = Seen::default();
        let mut range = self.0.range(Bound::Included(from.look()), Bound::Unbounded);
        while let Some((_, value)) = range.next() {
            seen.add(*value);
            if seen.entries == limit {
                break;
            }
        }
        seen
    }
}
