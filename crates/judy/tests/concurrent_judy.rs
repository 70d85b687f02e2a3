//! `ConcurrentJudy` under threads: as recorded histories, beside steady keys, and against a model.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use fyris_index::Action;
use fyris_index::conformance::{Step, is_linearizable};
use fyris_judy::ConcurrentJudy;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Keys of the same small number that lie in nodes of different forms: neighbours, spread, and behind narrow links.
fn key(shape: u64, i: u64) -> u64 {
    match shape % 4 {
        0 => i,
        1 => (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        2 => (i / 40) << 43 | (i % 40),
        _ => i << 8 | 7 << 50,
    }
}

type Record = (u64, u64, Step, u128, u128);

/// Records what threads did to four keys, while others come and go in the same nodes.
fn record(round: u64) -> Vec<Record> {
    let (map, stop, start) = (
        ConcurrentJudy::<u64, u64>::new(),
        AtomicBool::new(false),
        Instant::now(),
    );
    std::thread::scope(|s| {
        let (map, stop) = (&map, &stop);
        s.spawn(move || {
            // Relaxed: a flag, as where it is stored; nothing is read because of it.
            while !stop.load(Ordering::Relaxed) {
                for count in [5, 60, 600] {
                    (4..count).for_each(|i| _ = map.insert(key(round, i), i));
                    (4..count).for_each(|i| _ = map.remove(&key(round, i)));
                }
            }
        });
        let work = move |thread: u64| -> Vec<Record> {
            let mut rng = SmallRng::seed_from_u64(round << 8 | thread);
            let one = |i| {
                let (nth, fresh) = (rng.random_range(0..4), thread << 32 | i);
                let key = key(round, nth);
                let called = start.elapsed().as_nanos();
                let step = match rng.random_range(0..6) {
                    0 => Step {
                        seen: map.insert(key, fresh),
                        left: Some(fresh),
                    },
                    1 => Step {
                        seen: map.remove(&key),
                        left: None,
                    },
                    2 => {
                        let (seen, left) = map.compute(key, |old| match old {
                            Some(_) => Action::Put(fresh),
                            None => Action::Keep,
                        });
                        Step { seen, left }
                    }
                    3 => {
                        let seen = map.range(key..=key).next().map(|(_, value)| value);
                        Step { seen, left: seen }
                    }
                    _ => {
                        let seen = map.get(&key);
                        Step { seen, left: seen }
                    }
                };
                (nth, thread, step, called, start.elapsed().as_nanos())
            };
            (0..150).map(one).collect()
        };
        let workers: Vec<_> = (0..4).map(|t| s.spawn(move || work(t))).collect();
        let records = workers
            .into_iter()
            .flat_map(|w| w.join().unwrap())
            .collect();
        stop.store(true, Ordering::Relaxed);
        records
    })
}

#[test]
fn histories_are_linearizable() {
    for round in 0..12 {
        let records = record(round);
        for nth in 0..4 {
            let mut steps: Vec<_> = records
                .iter()
                .filter(|(n, ..)| *n == nth)
                .map(|(_, t, s, a, b)| (*t, *s, *a, *b))
                .collect();
            steps.sort_by_key(|(.., called, _)| *called);
            assert!(is_linearizable(&steps), "not linearizable: {steps:?}");
        }
    }
}

/// Keys come and go around steady ones, so that their nodes change their form: a reader finds the steady ones at each
/// look, meets them once in each walk, and never gets another key's value; the counts stay near the truth.
#[test]
fn steady_keys_are_always_there() {
    const STEADY: u64 = 100;
    for shape in 0..4 {
        let (map, stop) = (ConcurrentJudy::<u64, u64>::new(), AtomicBool::new(false));
        let at = |i: u64| key(shape, i);
        let steady: BTreeMap<u64, u64> =
            (0..STEADY).map(|i| (at(17 * i), at(17 * i) ^ 5)).collect();
        let coming = |i: &u64| !i.is_multiple_of(17);
        steady
            .iter()
            .for_each(|(key, value)| _ = map.insert(*key, *value));
        std::thread::scope(|s| {
            let (map, stop, steady) = (&map, &stop, &steady);
            let writer = move |seed: u64| {
                let mut rng = SmallRng::seed_from_u64(seed);
                for _ in 0..150 {
                    let (from, count) = (rng.random_range(0..1700), rng.random_range(1..600));
                    let keys = || (from..(from + count).min(1700)).filter(coming).map(at);
                    keys().for_each(|key| _ = map.insert(key, key ^ 5));
                    keys().for_each(|key| _ = map.remove(&key));
                }
            };
            s.spawn(move || {
                // Relaxed: as above.
                while !stop.load(Ordering::Relaxed) {
                    for (key, value) in steady {
                        assert_eq!(map.get(key), Some(*value));
                        let found = map.seek(std::ops::Bound::Included(*key));
                        assert_eq!(found, Some((*key, *value)));
                    }
                    let walks: [Vec<(u64, u64)>; 2] = [map.iter().collect(), {
                        let mut back: Vec<_> = map.iter().rev().collect();
                        back.reverse();
                        back
                    }];
                    for walk in walks {
                        assert!(walk.is_sorted_by(|a, b| a.0 < b.0), "each once");
                        assert!(walk.iter().all(|(key, value)| *value == key ^ 5));
                        let met = walk.iter().filter(|(key, _)| steady.contains_key(key));
                        assert_eq!(met.count() as u64, STEADY);
                    }
                    assert!((0..=1700).contains(&map.len()));
                    let nth = map.nth(50).expect("there are a hundred at least");
                    assert_eq!(nth.1, nth.0 ^ 5);
                }
            });
            let writers = [1, 2].map(|seed| s.spawn(move || writer(seed)));
            writers
                .into_iter()
                .for_each(|writer| writer.join().unwrap());
            stop.store(true, Ordering::Relaxed);
        });
        assert!(map.iter().eq(steady.clone()));
        assert_eq!(map.count_between(..), steady.len());
    }
}

#[test]
fn compute_loses_nothing() {
    let map: ConcurrentJudy<u32, u32> = ConcurrentJudy::default();
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for i in 0..20_000 {
                    map.update_or_insert((i % 3) << 20, |n| n + 1, 1);
                }
            });
        }
    });
    assert_eq!(map.values().sum::<u32>(), 80_000);
    assert_eq!(map.get_or_insert_with(9, || 7), 7);
    assert_eq!(map.update(&9, |n| n + 1), Some(8));
    assert_eq!((map.len(), map.first()), (4, Some((0, 26_668))));
    map.clear();
    assert!(map.is_empty());
}

#[test]
fn the_surface_is_that_of_the_maps() {
    let map: ConcurrentJudy<i32, char> = [(-1, 'a'), (2, 'b')].into_iter().collect();
    let map = map.pin();
    assert_eq!(map.get(&-1), Some('a'));
    assert_eq!(
        (map.get_or_insert(3, 'c'), map.get_or_insert(3, 'd')),
        ('c', 'c')
    );
    assert_eq!(map.keys().collect::<Vec<_>>(), [-1, 2, 3]);
    assert_eq!(map.values().rev().collect::<String>(), "cba");
    assert_eq!(format!("{map:?}"), "{-1: 'a', 2: 'b', 3: 'c'}");
    assert_eq!((map.first(), map.last()), (Some((-1, 'a')), Some((3, 'c'))));
    assert_eq!((map.rank(&2), map.nth(2)), (1, Some((3, 'c'))));
    assert_eq!(map.count_between(..3), 2);
    assert!(map.contains_key(&2) && map.remove(&2) == Some('b') && !map.contains_key(&2));
}
