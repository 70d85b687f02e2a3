//! `InlineMap`: against a model, under threads, and as recorded histories.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use fyris_index::conformance::{Step, is_linearizable};
use fyris_index::{Action, InlineMap};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

#[derive(Clone, Debug)]
enum Command {
    Get(u64),
    Insert(u64, u64),
    Remove(u64),
    Compute(u64, Action<u64>),
    Fill(u64, u64),
    Drain(u64, u64),
    Traverse,
    Retain(u64),
}

fn command() -> impl Strategy<Value = Command> {
    let key =
        prop_oneof![4 => 0..24u64, 2 => 0..3000u64, 1 => (0..9u64).prop_map(|k| u64::MAX - k)];
    let action = prop_oneof![
        Just(Action::Keep),
        Just(Action::Remove),
        any::<u64>().prop_map(Action::Put)
    ];
    prop_oneof![
        4 => key.clone().prop_map(Command::Get),
        4 => (key.clone(), any::<u64>()).prop_map(|(k, v)| Command::Insert(k, v)),
        4 => key.clone().prop_map(Command::Remove),
        2 => (key, action).prop_map(|(k, a)| Command::Compute(k, a)),
        1 => (0..3000u64, 1..400u64).prop_map(|(k, n)| Command::Fill(k, n)),
        1 => (0..3000u64, 1..900u64).prop_map(|(k, n)| Command::Drain(k, n)),
        1 => Just(Command::Traverse),
        1 => (2..9u64).prop_map(Command::Retain),
    ]
}

fn run(map: &mut InlineMap<u64, u64>, model: &mut HashMap<u64, u64>, command: Command) {
    match command {
        Command::Get(k) => assert_eq!(map.get(&k), model.get(&k).copied()),
        Command::Insert(k, v) => assert_eq!(map.insert(k, v), model.insert(k, v)),
        Command::Remove(k) => assert_eq!(map.remove(&k), model.remove(&k)),
        Command::Compute(k, action) => {
            let old = model.get(&k).copied();
            let new = match action {
                Action::Keep => old,
                Action::Remove => model.remove(&k).and(None),
                Action::Put(v) => model.insert(k, v).or(Some(v)).and(Some(v)),
            };
            assert_eq!(map.compute(k, |_| action), (old, new));
        }
        Command::Fill(k, n) => {
            (k..k + n).for_each(|k| assert_eq!(map.insert(k, k), model.insert(k, k)))
        }
        Command::Drain(k, n) => {
            (k..k + n).for_each(|k| assert_eq!(map.remove(&k), model.remove(&k)))
        }
        Command::Retain(n) => {
            map.retain(|k, _| k % n != 0);
            model.retain(|k, _| k % n != 0);
        }
        Command::Traverse => {
            let mut pairs: Vec<_> = map.iter().collect();
            let mut expected: Vec<_> = model.iter().map(|(k, v)| (*k, *v)).collect();
            pairs.sort_unstable();
            expected.sort_unstable();
            assert_eq!(pairs, expected);
        }
    }
    assert_eq!(map.len(), model.len());
}

#[test]
fn model() {
    let config = ProptestConfig {
        cases: 150,
        failure_persistence: None,
        ..Default::default()
    };
    proptest!(config, |(commands in prop::collection::vec(command(), 1..120))| {
        let (mut map, mut model) = (InlineMap::new(), HashMap::new());
        commands.into_iter().for_each(|command| run(&mut map, &mut model, command));
        run(&mut map, &mut model, Command::Traverse);
    });
}

/// Keys come and go in the same slots, tables grow and shrink: a reader never gets another key's value, and
/// steady keys are found by every look and met once by every traversal.
#[test]
fn readers_see_only_their_keys() {
    const STEADY: u64 = 100;
    let map: InlineMap<u64, u64> = (0..STEADY).map(|k| (k, k << 32)).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        let (map, stop) = (&map, &stop);
        for t in 0..2u64 {
            s.spawn(move || {
                let mut rng = SmallRng::seed_from_u64(t);
                for round in 0..60u64 {
                    let span = if round % 3 == 0 { 4000 } else { 40 };
                    for n in 0..3000 {
                        let key = STEADY + rng.random_range(0..span);
                        if rng.random() {
                            map.insert(key, key << 32 | n);
                        } else if let Some(old) = map.remove(&key) {
                            assert_eq!(old >> 32, key);
                        }
                    }
                    (STEADY..STEADY + 4000).for_each(|key| _ = map.remove(&key));
                }
                stop.store(true, Ordering::Relaxed);
            });
        }
        s.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for key in 0..STEADY + 60 {
                    let value = map.get(&key);
                    assert!(value.is_none_or(|value| value >> 32 == key));
                    assert!(value.is_some() || key >= STEADY);
                }
                let mut met = [0; STEADY as usize];
                for (key, value) in map.iter() {
                    assert_eq!(value >> 32, key);
                    met.get_mut(key as usize).into_iter().for_each(|n| *n += 1);
                }
                assert_eq!(met, [1; STEADY as usize]);
            }
        });
    });
    map.retain(|key, _| *key < STEADY);
    assert_eq!(map.exact_len() as u64, STEADY);
}

#[test]
fn compute_loses_nothing() {
    let map: InlineMap<u8, u32> = InlineMap::default();
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for i in 0..20_000u32 {
                    map.compute((i % 3) as u8, |n| Action::Put(n.unwrap_or(0) + 1));
                }
            });
        }
    });
    assert_eq!(map.iter().map(|(_, n)| n).sum::<u32>(), 80_000);
    assert_eq!(map.get_or_insert_with(9, || 7), 7);
    assert_eq!(map.update(&9, |n| n + 1), Some(8));
    map.clear();
    assert!(map.is_empty() && map.memory() > 0);
}

#[test]
fn histories_are_linearizable() {
    for round in 0..12 {
        let records = record(round);
        for key in 0..4 {
            let mut steps: Vec<_> = records
                .iter()
                .filter(|(k, ..)| *k == key)
                .map(|(_, t, s, a, b)| (*t, *s, *a, *b))
                .collect();
            steps.sort_by_key(|(.., called, _)| *called);
            assert!(is_linearizable(&steps), "not linearizable: {steps:?}");
        }
    }
}

type Record = (u64, u64, Step, u128, u128);

fn record(round: u64) -> Vec<Record> {
    let (map, stop, start) = (
        InlineMap::<u64, u64>::new(),
        AtomicBool::new(false),
        Instant::now(),
    );
    std::thread::scope(|s| {
        let (map, stop) = (&map, &stop);
        s.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                (100..700).for_each(|key| _ = map.insert(key, key));
                (100..700).for_each(|key| _ = map.remove(&key));
            }
        });
        let work = move |thread: u64| -> Vec<Record> {
            let mut rng = SmallRng::seed_from_u64(round << 8 | thread);
            let one = |i| {
                let (key, fresh) = (rng.random_range(0..4), thread << 32 | i);
                let called = start.elapsed().as_nanos();
                let step = match rng.random_range(0..5) {
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
                    _ => {
                        let seen = map.get(&key);
                        Step { seen, left: seen }
                    }
                };
                (key, thread, step, called, start.elapsed().as_nanos())
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
fn memory_follows_the_table_down() {
    let map: InlineMap<u64, u64> = InlineMap::new();
    (0..200_000).for_each(|k| _ = map.insert(k, k));
    let full = map.memory();
    assert!(full < 200_000 * 64 || cfg!(fyris_small), "{full}");
    (0..200_000).for_each(|k| _ = map.remove(&k));
    assert!(
        map.memory() < full || cfg!(fyris_small),
        "{} of {full}",
        map.memory()
    );
    (0..200_000).for_each(|k| _ = map.insert(k, k));
    assert!((0..200_000).all(|k| map.get(&k) == Some(k)));
}

#[test]
fn the_surface_is_that_of_the_maps() {
    let map = InlineMap::from([(1, 1), (2, 2)]);
    let (map, copy) = (map.pin(), map.clone());
    assert_eq!(map.update_or_insert(1, |n| n + 10, 0), 11);
    assert_eq!(map.update_or_insert(3, |n| n + 10, 7), 7);
    assert_eq!(map.get_or_insert(3, 0), 7);
    assert_eq!(
        (map.keys().sum::<i32>(), map.values().sum::<i32>()),
        (6, 20)
    );
    assert_eq!(map.into_iter().count(), 3);
    let mut pairs: Vec<_> = (&copy).into_iter().collect();
    pairs.sort_unstable();
    assert_eq!(pairs, [(1, 1), (2, 2)]);
}
