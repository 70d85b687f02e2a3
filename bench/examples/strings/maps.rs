//! The maps that are compared. Keys end in a zero, which those that take any bytes are spared, as none needs it: but an
//! adaptive radix tree does not take a key that begins with another one.

use std::collections::BTreeMap;

use blart::TreeMap;
use fyris_judy::JudyBytes;
use rart::{AdaptiveRadixTree, VectorKey};

use super::judysl::JudySL;

/// A map as the benchmark uses it.
pub trait Map {
    fn new() -> Self;
    fn insert(&mut self, key: &[u8], value: u64);
    fn get(&self, key: &[u8]) -> Option<u64>;
    fn remove(&mut self, key: &[u8]) -> bool;
}

impl Map for JudyBytes<u64> {
    fn new() -> Self {
        JudyBytes::new()
    }
    fn insert(&mut self, key: &[u8], value: u64) {
        JudyBytes::insert(self, &key[..key.len() - 1], value);
    }
    fn get(&self, key: &[u8]) -> Option<u64> {
        JudyBytes::get(self, &key[..key.len() - 1]).copied()
    }
    fn remove(&mut self, key: &[u8]) -> bool {
        JudyBytes::remove(self, &key[..key.len() - 1]).is_some()
    }
}

impl Map for JudySL {
    fn new() -> Self {
        JudySL::new()
    }
    fn insert(&mut self, key: &[u8], value: u64) {
        *self.place(key) = value;
    }
    fn get(&self, key: &[u8]) -> Option<u64> {
        JudySL::get(self, key)
    }
    fn remove(&mut self, key: &[u8]) -> bool {
        JudySL::remove(self, key)
    }
}

impl Map for TreeMap<Box<[u8]>, u64> {
    fn new() -> Self {
        TreeMap::new()
    }
    fn insert(&mut self, key: &[u8], value: u64) {
        let done = self.try_insert(key.into(), value);
        assert!(done.is_ok(), "no key begins with another one");
    }
    fn get(&self, key: &[u8]) -> Option<u64> {
        TreeMap::get(self, key).copied()
    }
    fn remove(&mut self, key: &[u8]) -> bool {
        TreeMap::remove(self, key).is_some()
    }
}

impl Map for AdaptiveRadixTree<VectorKey, u64> {
    fn new() -> Self {
        AdaptiveRadixTree::new()
    }
    fn insert(&mut self, key: &[u8], value: u64) {
        self.insert_k(&VectorKey::new_from_vec(key.to_vec()), value);
    }
    fn get(&self, key: &[u8]) -> Option<u64> {
        self.get_bytes(key).copied()
    }
    fn remove(&mut self, key: &[u8]) -> bool {
        self.remove_k(&VectorKey::new_from_vec(key.to_vec()))
            .is_some()
    }
}

impl Map for BTreeMap<Box<[u8]>, u64> {
    fn new() -> Self {
        BTreeMap::new()
    }
    fn insert(&mut self, key: &[u8], value: u64) {
        BTreeMap::insert(self, key.into(), value);
    }
    fn get(&self, key: &[u8]) -> Option<u64> {
        BTreeMap::get(self, key).copied()
    }
    fn remove(&mut self, key: &[u8]) -> bool {
        BTreeMap::remove(self, key).is_some()
    }
}
