//! The numbers of pairs of the maps, beside writers.
#![cfg(not(loom))]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fyris_index::{BytesMap, BytesTree, ConcurrentMap, ConcurrentTree, InlineMap, InlineTree};

/// What is asked of every map.
trait Counted: Sync {
    fn new() -> Self;
    fn put(&self, key: u64);
    fn take(&self, key: u64);
    fn has(&self, key: u64) -> bool;
    fn number(&self) -> usize;
    fn exact(&self) -> usize;
    fn none(&self) -> bool;
}

macro_rules! counted {
    ($map:ty, |$key:ident| $given:expr) => {
        impl Counted for $map {
            fn new() -> Self {
                Self::new()
            }
            fn put(&self, $key: u64) {
                self.pin().insert($given, 1);
            }
            fn take(&self, $key: u64) {
                self.pin().remove(&$given);
            }
            fn has(&self, $key: u64) -> bool {
                self.pin().contains_key(&$given)
            }
            fn number(&self) -> usize {
                self.len()
            }
            fn exact(&self) -> usize {
                self.exact_len()
            }
            fn none(&self) -> bool {
                self.is_empty()
            }
        }
    };
}
counted!(ConcurrentMap<u64, u64>, |key| key);
counted!(BytesMap<u64>, |key| key.to_be_bytes());
counted!(InlineMap<u64, u64>, |key| key);
counted!(ConcurrentTree<u64, u64>, |key| key);
counted!(BytesTree<u64>, |key| key.to_be_bytes());
counted!(InlineTree<u64, u64>, |key| key);

/// One key beside one that stays, which three threads put in and take out: besides it each may have one under way. A
/// thread that was held up between the sums of additions and removals counted thousands.
fn few_are_counted_too_many<M: Counted>() {
    const WRITERS: usize = 3;
    let map = M::new();
    map.put(1);
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        for _ in 0..WRITERS {
            s.spawn(|| {
                // Relaxed, as the store below: a flag; nothing is read because of it.
                while !stop.load(Ordering::Relaxed) {
                    map.put(7);
                    map.take(7);
                }
            });
        }
        let until = Instant::now() + Duration::from_millis(150);
        let (mut most, mut exactly) = (0, 0);
        while Instant::now() < until {
            most = most.max(map.number());
            assert!(!map.none());
            let exact = map.exact();
            assert!(exact > 0);
            exactly = exactly.max(exact);
        }
        stop.store(true, Ordering::Relaxed);
        assert!(most <= 2 + WRITERS, "{most} of two keys");
        assert!(exactly <= 2 + WRITERS, "{exactly} of two keys, exactly");
    });
    assert_eq!((map.number(), map.exact()), (1, 1));
}

/// A pair that a thread has seen is counted, however soon it asks.
fn what_is_seen_is_counted<M: Counted>() {
    const KEYS: u64 = 60_000;
    let map = M::new();
    let late = std::thread::scope(|s| {
        s.spawn(|| (0..KEYS).for_each(|key| map.put(key)));
        let mut late = 0;
        for key in 0..KEYS {
            let mut looks = 0;
            while !map.has(key) {
                looks += 1;
                if looks > 1000 {
                    std::thread::yield_now();
                }
            }
            // Exact or not: on a machine of one processor either may be the one that meets the writer.
            let number = if key % 2 == 0 {
                map.number()
            } else {
                map.exact()
            };
            late += u64::from((number as u64) <= key);
        }
        late
    });
    assert_eq!(late, 0, "pairs seen and not counted");
    // And what is gone is counted as long as it can be seen.
    let late = std::thread::scope(|s| {
        s.spawn(|| (1..KEYS).rev().for_each(|key| map.take(key)));
        let mut late = 0;
        while map.has(1) {
            late += u64::from(map.none() || map.number() < 1);
        }
        late
    });
    assert_eq!(late, 0, "a map with a pair is not empty");
}

macro_rules! of_each {
    ($($name:ident: $map:ty),*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn few_too_many() {
                few_are_counted_too_many::<$map>();
            }

            #[test]
            fn none_too_few() {
                what_is_seen_is_counted::<$map>();
            }
        })*
    };
}
of_each!(
    concurrent_map: ConcurrentMap<u64, u64>, bytes_map: BytesMap<u64>, inline_map: InlineMap<u64, u64>,
    concurrent_tree: ConcurrentTree<u64, u64>, bytes_tree: BytesTree<u64>, inline_tree: InlineTree<u64, u64>
);
