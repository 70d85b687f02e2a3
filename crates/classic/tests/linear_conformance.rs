//! The conformance suite for `linear_hash`, bare and behind a pointer, with locks of fixed and of changing number.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

use std::hash::{BuildHasherDefault, Hasher};

use fyris_classic::LinearHash;
use fyris_index::conformance::{self, Census, Object, suite};
use fyris_index::plug::{DynIndex, Features, Plugged};
use fyris_index::reclaim::pin;
use fyris_index::{Action, BucketLocks, Build, Index, IndexOptions};

fn with_locks(locks: usize) -> LinearHash<Object> {
    let mut options = IndexOptions::default();
    options.bucket_locks = BucketLocks::Fixed(locks);
    LinearHash::build(&options)
}

mod adapting {
    use super::*;
    suite!(LinearHash::<Object>::default());
}

mod one_lock {
    use super::*;
    suite!(with_locks(1));
}

mod many_locks {
    use super::*;
    suite!(with_locks(1000));
}

/// Returns a table without bucket locks.
fn without_bucket_locks(read_concurrency: bool) -> LinearHash<Object> {
    let mut options = IndexOptions::default();
    options.bucket_locks = BucketLocks::None;
    options.read_concurrency = read_concurrency;
    options.decentralized_counters = Some(read_concurrency);
    LinearHash::build(&options)
}

mod no_bucket_locks {
    use super::*;
    suite!(without_bucket_locks(false));
}

mod no_bucket_locks_and_reader_groups {
    use super::*;
    suite!(without_bucket_locks(true));
}

mod reader_groups {
    use super::*;

    fn with_reader_groups() -> LinearHash<Object> {
        let mut options = IndexOptions::default();
        options.read_concurrency = true;
        options.reader_groups = Some(4);
        LinearHash::build(&options)
    }

    suite!(with_reader_groups());
}

mod plugged {
    use super::*;

    fn plugged() -> Plugged<dyn DynIndex<Object>> {
        Plugged::new(Box::new(LinearHash::<Object>::default()), Features::ALL)
    }

    suite!(plugged());
}

/// Hashes that few keys have to themselves.
#[derive(Default)]
struct Few(u64);

impl Hasher for Few {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.iter().map(|&b| u64::from(b % 5)).sum::<u64>();
    }
}

mod long_chains {
    use super::*;
    suite!(LinearHash::<Object, BuildHasherDefault<Few>>::default());
}

#[test]
fn it_grows_and_shrinks_by_single_buckets() {
    let (census, index) = (Census::new(), with_locks(4));
    assert_eq!(index.bucket_locks(), 4);
    let (small, memory) = (index.slots(), index.memory());
    let mut sizes = vec![small];
    for key in 0..5000 {
        conformance::put(&index, &census, key, key, &pin());
        sizes.push(index.slots());
    }
    // Looked at every eighth time, and then for as many as have come.
    assert!(sizes.windows(2).all(|pair| pair[1] - pair[0] <= 16));
    assert!((4980..=5000).contains(&index.slots()), "{}", index.slots());
    for key in 0..5000 {
        conformance::remove(&index, key, &pin());
    }
    assert!(
        index.slots() <= small + 16,
        "{} buckets are left",
        index.slots()
    );
    assert!(index.memory() <= memory + 20_000, "segments go");
    drop(index);
    census.assert_all_freed();
}

#[test]
fn the_number_of_locks_is_a_power_of_two() {
    for (wanted, made) in [(0, 1), (1, 1), (3, 4), (8, 8)] {
        let index = with_locks(wanted);
        assert_eq!(index.bucket_locks(), made);
        assert!(index.slots() >= made, "a bucket has one lock");
    }
}

/// Many locks are not made before there are as many buckets, and go with these.
#[test]
fn many_locks_come_with_the_buckets() {
    let entries = 40_000;
    for (wanted, made) in [(3000, 4096), (32_768, 32_768), (100_000, 32_768)] {
        let (census, index) = (Census::new(), with_locks(wanted));
        let (few, memory) = (index.bucket_locks(), index.memory());
        assert!(few <= 1024);
        for key in 0..entries {
            conformance::put(&index, &census, key, key, &pin());
        }
        assert_eq!(index.bucket_locks(), made);
        for key in 0..entries {
            assert!(index.get(&key, &pin()).is_some());
            conformance::remove(&index, key, &pin());
        }
        // With tiny constants the table is empty before the last of them go: they are halved when a thread looks.
        assert!(index.bucket_locks() < made);
        assert!(cfg!(fyris_small) || (index.bucket_locks(), index.memory()) == (few, memory));
        drop(index);
        census.assert_all_freed();
    }
}

/// A lock that is found taken again and again is divided.
#[test]
fn contention_makes_locks() {
    let (census, index) = (Census::new(), LinearHash::<Object>::default());
    for key in 0..3000 {
        conformance::put(&index, &census, key, key, &pin());
    }
    let few = index.bucket_locks();
    let contend = || {
        // A closure that stays until another thread has come to the same lock, or has had every chance to.
        index.upsert(&7, &pin(), |_| {
            (0..100).for_each(|_| std::thread::yield_now());
            (Action::Keep, ())
        });
    };
    let start = std::time::Instant::now();
    while index.bucket_locks() <= few {
        assert!(start.elapsed().as_secs() < 60, "no more locks");
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..8).for_each(|_| contend()));
            }
        });
    }
    drop(index);
    census.assert_all_freed();
}

/// A lock that is always free for its writers leads to half as many locks.
#[test]
fn no_contention_halves_the_locks() {
    // One more than the uncontended writes that ETS waits for.
    let enough = if cfg!(fyris_small) { 51 } else { 10_000_001 };
    let (census, index) = (Census::new(), LinearHash::<Object>::default());
    // Few enough not to halve the locks themselves.
    for key in 0..20 {
        conformance::put(&index, &census, key, key, &pin());
    }
    let many = index.bucket_locks();
    let pin = pin();
    for _ in 0..enough {
        index.upsert(&7, &pin, |_| (Action::Keep, ()));
    }
    assert_eq!(index.bucket_locks(), many / 2);
    assert!((0..20).all(|key| index.get(&key, &pin).is_some()));
    drop((pin, index));
    census.assert_all_freed();
}
