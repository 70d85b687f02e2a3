//! The conformance suite for `hash`.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

use fyris_index::HashIndex;

use fyris_index::conformance::{self, suite};

suite!(HashIndex::<conformance::Object>::new());

#[test]
fn room_is_made_beforehand() {
    use fyris_index::{Build, Index, IndexOptions, reclaim::pin};

    let census = conformance::Census::new();
    let smallest = HashIndex::<conformance::Object>::new().memory();
    let index = HashIndex::<conformance::Object>::build(&IndexOptions::with_capacity(10_000));
    let roomy = index.memory();
    assert!(roomy >= smallest + 10_000 * 8);
    for key in 0..10_000 {
        conformance::put(&index, &census, key, key, &pin());
    }
    assert!(
        index.memory() < roomy + roomy / 4,
        "overflow buckets, no growth"
    );
    drop(index);
    census.assert_all_freed();
}

/// Hashes that few keys have to themselves.
#[derive(Default)]
struct Few(u64);

impl std::hash::Hasher for Few {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.iter().map(|&b| u64::from(b % 5)).sum::<u64>();
    }
}

/// Among entries of one tag the hash decides what is next, among those of one hash the key.
#[test]
fn keys_of_one_hash_follow_each_other() {
    use fyris_index::{Entry, Index, reclaim::pin};
    use std::hash::{BuildHasher, BuildHasherDefault};
    use std::ops::Bound::{Excluded, Unbounded};

    let census = conformance::Census::new();
    let hasher = BuildHasherDefault::<Few>::default();
    let index = HashIndex::<conformance::Object, _>::with_hasher(hasher.clone());
    let pin = pin();
    for key in 0..300 {
        conformance::put(&index, &census, 7 * key, key, &pin);
    }
    let mut batch = Vec::new();
    let mut last = None;
    while {
        let after = last.as_ref().map_or(Unbounded, Excluded);
        index.scan((after, Unbounded), 1, &pin, &mut batch);
        last != batch.last().map(|e| *e.key())
    } {
        last = batch.last().map(|e| *e.key());
    }
    assert_eq!(batch.len(), 300);
    let hashes = batch.iter().map(|e| hasher.hash_one(e.key()));
    assert!(hashes.collect::<std::collections::HashSet<_>>().len() < 30);
    let mut at = None;
    for entry in &batch {
        at = index.next_entry(at.as_ref(), &pin).map(|e| *e.key());
        assert_eq!(at, Some(*entry.key()));
    }
    assert!(index.next_entry(at.as_ref(), &pin).is_none());
}

#[test]
fn keys_of_one_hash_keep_their_order_under_changes() {
    use std::hash::BuildHasherDefault;

    conformance::scans_under_changes(&|| {
        HashIndex::<conformance::Object, _>::with_hasher(BuildHasherDefault::<Few>::default())
    });
}
