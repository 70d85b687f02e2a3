//! Random schedules of Judy arrays that threads share, with more threads and nodes than loom can exhaust:
//! `RUSTFLAGS='--cfg shuttle --cfg fyris_small' cargo test -p fyris-judy --release --test shuttle_judy`.
#![cfg(shuttle)]

use std::collections::BTreeMap;
use std::sync::Arc;

use fyris_index::reclaim::check;
use fyris_judy::ConcurrentJudy;
use fyris_sync::thread::spawn;

type Map = ConcurrentJudy<u64, u64>;

const SCHEDULES: usize = 2000;

/// Keys that make narrow branches, which others are put above and taken away, and nodes of every form.
fn key(i: u64) -> u64 {
    match i % 4 {
        0 => i / 4,
        1 => 0x100 * (i / 4),
        2 => (i / 4) << 24,
        _ => 0x7_0000 + i / 4,
    }
}

/// Puts keys in and takes some of them out again; returns what is left.
fn come_and_go(map: &Map, thread: u64) -> BTreeMap<u64, u64> {
    let mine = |i: u64| key(3 * i + thread + 4) | thread << 60;
    let shared = |i: u64| 0x800 + 3 * i + thread;
    let mut left = BTreeMap::new();
    let keys: Vec<u64> = (0..6).map(mine).chain((0..6).map(shared)).collect();
    for key in &keys {
        assert_eq!(map.insert(*key, thread), left.insert(*key, thread));
    }
    for key in keys.iter().filter(|key| *key % 4 != 1) {
        assert_eq!(map.remove(key), left.remove(key));
    }
    for key in keys.iter().filter(|key| *key % 3 == 0) {
        assert_eq!(map.insert(*key, 9), left.insert(*key, 9));
    }
    left
}

/// Three writers and a reader: what is there throughout is found and met once, and at rest everything is counted.
#[test]
fn a_judy_array_keeps_its_keys() {
    check(SCHEDULES, || {
        let steady = [0x7FF, 0x8_0000_0000, 0x8_0000_0100, u64::MAX];
        let map: Arc<Map> = Arc::new(steady.map(|key| (key, key)).into_iter().collect());
        let writers = [0, 1, 2].map(|thread| {
            let map = map.clone();
            spawn(move || come_and_go(&map, thread))
        });
        for _ in 0..2 {
            for key in steady {
                assert_eq!(map.get(&key), Some(key), "it is there throughout");
            }
            let up: Vec<u64> = map.keys().collect();
            assert!(up.is_sorted_by(|a, b| a < b), "each once: {up:x?}");
            assert!(steady.iter().all(|key| up.binary_search(key).is_ok()));
            let down: Vec<u64> = map.keys().rev().collect();
            assert!(down.is_sorted_by(|a, b| a > b), "each once: {down:x?}");
            assert!(steady.iter().all(|key| down.contains(key)));
            assert!(map.nth(3).is_some() && map.rank(&u64::MAX) < 60);
        }
        let mut left: BTreeMap<u64, u64> = steady.map(|key| (key, key)).into();
        for writer in writers {
            left.extend(writer.join().unwrap());
        }
        assert!(map.iter().eq(left.clone()));
        assert_eq!(map.len(), left.len());
        for (i, (key, value)) in left.into_iter().enumerate() {
            assert_eq!((map.rank(&key), map.nth(i)), (i, Some((key, value))));
        }
    });
}

/// A map that is cleared beside writers has whole keys, all of them counted.
#[test]
fn a_judy_array_is_cleared() {
    check(SCHEDULES, || {
        let map: Arc<Map> = Arc::default();
        let writers = [0, 1].map(|thread| {
            let map = map.clone();
            spawn(move || (0..12).for_each(|i| _ = map.insert(key(2 * i + thread), i)))
        });
        map.clear();
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        let keys: Vec<u64> = map.keys().collect();
        assert_eq!(map.len(), keys.len());
        for (i, key) in keys.iter().enumerate() {
            assert_eq!((map.rank(key), map.remove(key).is_some()), (0, true), "{i}");
        }
        assert!(map.is_empty());
    });
}
