//! `BytesMap` as a user meets it, against a model, and under threads.
#![cfg(not(any(loom, shuttle)))]

mod conformance;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use conformance::{Step, is_linearizable};
use fyris_index::reclaim::{flush, pin, pin_owned};
use fyris_index::{Action, BytesMap};
use proptest::prelude::*;

/// Counts its drops.
struct Counted(u64, Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Clone, Debug)]
enum Command {
    Insert(Vec<u8>, u64),
    Remove(Vec<u8>),
    Get(Vec<u8>),
    /// Adds, or removes what is a multiple of three, or keeps what is a multiple of five.
    Compute(Vec<u8>),
    GetOrInsert(Vec<u8>, u64),
    Update(Vec<u8>),
    Retain(u64),
}

/// Keys that meet again, with common beginnings and the lengths at which an entry changes its size.
fn key() -> impl Strategy<Value = Vec<u8>> {
    (0..40usize, 0..3u8).prop_map(|(length, last)| {
        let mut key = vec![7; length];
        key.push(last);
        key
    })
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        6 => (key(), any::<u64>()).prop_map(|(k, v)| Command::Insert(k, v)),
        3 => key().prop_map(Command::Remove),
        2 => key().prop_map(Command::Get),
        3 => key().prop_map(Command::Compute),
        2 => (key(), any::<u64>()).prop_map(|(k, v)| Command::GetOrInsert(k, v)),
        1 => key().prop_map(Command::Update),
        1 => any::<u64>().prop_map(Command::Retain),
    ]
}

fn computed(old: Option<&u64>) -> Action<u64> {
    match old {
        None => Action::Put(1),
        Some(n) if n % 3 == 0 => Action::Remove,
        Some(n) if n % 5 == 0 => Action::Keep,
        Some(n) => Action::Put(n.wrapping_add(1)),
    }
}

fn compute_in_model(model: &mut HashMap<Vec<u8>, u64>, key: Vec<u8>) -> Option<u64> {
    match computed(model.get(&key)) {
        Action::Keep => {}
        Action::Remove => _ = model.remove(&key),
        Action::Put(new) => _ = model.insert(key.clone(), new),
    }
    model.get(&key).copied()
}

fn run(map: &BytesMap<u64>, model: &mut HashMap<Vec<u8>, u64>, command: Command) {
    let map = map.pin();
    match command {
        Command::Insert(k, v) => assert_eq!(map.insert(&k, v).copied(), model.insert(k, v)),
        Command::Remove(k) => assert_eq!(map.remove(&k).copied(), model.remove(&k)),
        Command::Get(k) => {
            assert_eq!(map.get(&k), model.get(&k));
            assert_eq!(map.contains_key(&k), model.contains_key(&k));
        }
        Command::Compute(k) => {
            let old = model.get(&k).copied();
            let done = map.compute(&k, computed);
            assert_eq!(done.old.copied(), old);
            assert_eq!(done.new.copied(), compute_in_model(model, k));
        }
        Command::GetOrInsert(k, v) => {
            assert_eq!(
                map.get_or_insert_with(&k, || v),
                model.entry(k).or_insert(v)
            );
        }
        Command::Update(k) => {
            let expected = model.get_mut(&k).map(|v| {
                *v ^= 1;
                *v
            });
            assert_eq!(map.update(&k, |v| v ^ 1).copied(), expected);
        }
        Command::Retain(bit) => {
            map.retain(|key, v| v & 1 == bit & 1 || key.len() > 3);
            model.retain(|key, v| *v & 1 == bit & 1 || key.len() > 3);
        }
    }
    assert_eq!(map.len(), model.len());
}

proptest! {
    #[test]
    fn answers_as_the_model_does(commands in prop::collection::vec(command(), 1..400)) {
        let (map, mut model) = (BytesMap::new(), HashMap::new());
        for command in commands {
            run(&map, &mut model, command);
        }
        let pin = pin();
        let all: HashMap<Vec<u8>, u64> = map.iter(&pin).map(|(k, v)| (k.to_vec(), *v)).collect();
        prop_assert_eq!(all, model);
    }
}

#[test]
fn a_reference_outlives_the_removal_of_its_key_and_everything_is_dropped_once() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let map = BytesMap::new();
    let counted = |n| Counted(n, dropped.clone());
    let guard = pin_owned();
    map.insert(b"key", counted(1), &guard);
    let held = map.get(b"key", &guard).unwrap();
    std::thread::scope(|s| {
        s.spawn(|| {
            assert_eq!(map.remove(b"key", &pin()).unwrap().0, 1);
            map.insert(b"key", counted(2), &pin());
            map.insert(b"key", counted(3), &pin());
            map.compute(b"key", &pin(), |_| Action::Put(counted(4)));
            map.get_or_insert_with(b"key", &pin(), || counted(5));
            flush();
        });
    });
    assert_eq!(held.0, 1);
    assert_eq!(dropped.load(Ordering::SeqCst), 0, "freed under a pin");
    drop(guard);
    let begun = Instant::now();
    while dropped.load(Ordering::SeqCst) < 3 && begun.elapsed() < Duration::from_secs(30) {
        // What the thread left is another's to free, who takes its place.
        std::thread::scope(|s| _ = s.spawn(flush));
    }
    assert_eq!(dropped.load(Ordering::SeqCst), 3);
    drop(map);
    assert_eq!(dropped.load(Ordering::SeqCst), 4);
}

#[test]
fn compute_and_update_are_atomic_and_may_use_the_map() {
    let map = BytesMap::new();
    map.pin().insert("hot", 0u64);
    std::thread::scope(|s| {
        for t in 0..4 {
            let map = &map;
            s.spawn(move || {
                for i in 0..1000u64 {
                    let pinned = map.pin();
                    pinned.compute("sum", |n| {
                        pinned.insert([t, i as u8], i);
                        Action::Put(n.map_or(1, |n| n + 1))
                    });
                    pinned.update("hot", |n| n + 1);
                }
            });
        }
    });
    assert_eq!(map.pin().get("sum"), Some(&4000));
    assert_eq!(map.pin().get("hot"), Some(&4000));
    assert_eq!(map.exact_len(), 2 + 4 * 256);
}

#[test]
fn what_stays_is_met_once_while_the_table_grows_and_shrinks() {
    let map = BytesMap::new();
    (0..500u64).for_each(|i| _ = map.insert(format!("stays {i}").as_bytes(), i, &pin()));
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                (0..2000u64).for_each(|i| _ = map.insert(&i.to_le_bytes(), i, &pin()));
                (0..2000u64).for_each(|i| _ = map.remove(&i.to_le_bytes(), &pin()));
            }
        });
        for _ in 0..60 {
            let mut seen = [0u8; 500];
            let pin = pin();
            map.iter(&pin)
                .filter(|(key, _)| key.starts_with(b"stays"))
                .for_each(|(_, i)| seen[*i as usize] += 1);
            assert!(seen.iter().all(|times| *times == 1));
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn histories_are_linearizable() {
    for round in 0..20u64 {
        let (map, start) = (BytesMap::new(), Instant::now());
        let steps: Vec<_> = std::thread::scope(|s| {
            let workers: Vec<_> = (0..3u64)
                .map(|t| {
                    let map = &map;
                    s.spawn(move || (0..60).map(|i| step(map, start, t, i, round)).collect())
                })
                .collect();
            workers
                .into_iter()
                .flat_map(|w| -> Vec<_> { w.join().unwrap() })
                .collect()
        });
        assert!(is_linearizable(&steps), "not linearizable: {steps:?}");
    }
}

/// One operation on the one key, with the times before and after it.
fn step(
    map: &BytesMap<u64>,
    start: Instant,
    thread: u64,
    i: u64,
    round: u64,
) -> (u64, Step, u128, u128) {
    let (key, fresh, pin) = (b"the key", thread << 32 | i, pin());
    let called = start.elapsed().as_nanos();
    let step = match (thread * 7 + i * 5 + round) % 5 {
        0 => Step {
            seen: map.insert(key, fresh, &pin).copied(),
            left: Some(fresh),
        },
        1 => Step {
            seen: map.remove(key, &pin).copied(),
            left: None,
        },
        2 => {
            let done = map.compute(key, &pin, |old| {
                old.map_or(Action::Put(fresh), |_| Action::Remove)
            });
            let (seen, left) = (done.old.copied(), done.new.copied());
            Step { seen, left }
        }
        _ => {
            let seen = map.get(key, &pin).copied();
            Step { seen, left: seen }
        }
    };
    if i.is_multiple_of(3) {
        std::thread::yield_now();
    }
    (thread, step, called, start.elapsed().as_nanos())
}

#[test]
fn owned_pins_make_iterators_send() {
    let map: BytesMap<u64> = (0..10_000u64).map(|i| (i.to_be_bytes(), i * i)).collect();
    assert_eq!(map.len(), 10_000);
    let pin = pin_owned();
    let mut iter = map.iter(&pin);
    let first = iter.next().unwrap();
    let rest: u64 =
        std::thread::scope(|s| s.spawn(move || iter.map(|(_, v)| v).sum()).join().unwrap());
    assert_eq!(rest + first.1, (0..10_000).map(|i| i * i).sum::<u64>());
    assert!(map.keys(&pin).all(|key| key.len() == 8));
    assert_eq!(map.values(&pin).max(), Some(&(9_999 * 9_999)));
}

#[test]
fn retain_clear_extend_and_debug() {
    let mut map: BytesMap<u32> = BytesMap::with_capacity(100);
    map.extend((0..100).map(|i| (format!("k{i}"), i)));
    map.retain(&pin(), |_, v| *v == 7);
    assert_eq!(map.exact_len(), 1);
    assert_eq!(format!("{map:?}"), "{[107, 55]: 7}");
    let pinned = map.pin();
    assert_eq!(pinned.get_or_insert_with("", || 1), &1);
    assert_eq!(pinned.get([]), Some(&1));
    pinned.clear();
    assert!(pinned.is_empty() && !pinned.contains_key("k7"));
}
