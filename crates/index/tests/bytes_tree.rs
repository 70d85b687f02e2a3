//! `BytesTree` as a user meets it, against a model, and under threads.
#![cfg(not(any(loom, shuttle)))]

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use fyris_index::conformance::{Step, is_linearizable};
use fyris_index::reclaim::{flush, pin, pin_owned};
use fyris_index::{Action, BytesTree};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Command {
    Insert(Vec<u8>, u64),
    Remove(Vec<u8>),
    Get(Vec<u8>),
    /// Adds, or removes what is a multiple of three, or keeps what is a multiple of five.
    Compute(Vec<u8>),
    GetOrInsert(Vec<u8>, u64),
    Range(Bound<Vec<u8>>, Bound<Vec<u8>>),
    TakeRange(Bound<Vec<u8>>, Bound<Vec<u8>>),
    Pop,
}

/// Generates keys that meet again: with long common beginnings, that end in zeros or begin other keys, and with much
/// before what tells them apart.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let tail = prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..5);
    (0..30usize, tail).prop_map(|(length, tail)| {
        let mut key = vec![7; length / 10 * 10];
        key.extend(tail);
        key
    })
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        1 => Just(Bound::Unbounded),
        4 => key().prop_map(Bound::Included),
        4 => key().prop_map(Bound::Excluded),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        12 => (key(), any::<u64>()).prop_map(|(k, v)| Command::Insert(k, v)),
        5 => key().prop_map(Command::Remove),
        2 => key().prop_map(Command::Get),
        3 => key().prop_map(Command::Compute),
        3 => (key(), any::<u64>()).prop_map(|(k, v)| Command::GetOrInsert(k, v)),
        3 => (bound(), bound()).prop_map(|(a, b)| Command::Range(a, b)),
        1 => (bound(), bound()).prop_map(|(a, b)| Command::TakeRange(a, b)),
        1 => Just(Command::Pop),
    ]
}

fn computed(old: Option<&u64>) -> Action<u64> {
    match old {
        None => Action::Put(1),
        Some(n) if n.is_multiple_of(3) => Action::Remove,
        Some(n) if n.is_multiple_of(5) => Action::Keep,
        Some(n) => Action::Put(n.wrapping_add(1)),
    }
}

fn below(bound: &Bound<Vec<u8>>, key: &Vec<u8>) -> bool {
    match bound {
        Bound::Unbounded => true,
        Bound::Included(end) => key <= end,
        Bound::Excluded(end) => key < end,
    }
}

fn above(bound: &Bound<Vec<u8>>, key: &Vec<u8>) -> bool {
    match bound {
        Bound::Unbounded => true,
        Bound::Included(start) => key >= start,
        Bound::Excluded(start) => key > start,
    }
}

fn run(tree: &BytesTree<u64>, model: &mut BTreeMap<Vec<u8>, u64>, command: Command) {
    let pin = pin();
    match command {
        Command::Insert(key, value) => {
            let old = tree.insert(&key, value, &pin).copied();
            assert_eq!(old, model.insert(key, value));
        }
        Command::Remove(key) => {
            assert_eq!(tree.remove(&key[..], &pin).copied(), model.remove(&key));
        }
        Command::Get(key) => {
            assert_eq!(tree.get(&key[..], &pin), model.get(&key));
            let pair = tree.get_key_value(&key[..], &pin);
            assert_eq!(pair, model.get_key_value(&key).map(|(k, v)| (&k[..], v)));
        }
        Command::Compute(key) => {
            let old = model.get(&key).copied();
            match computed(old.as_ref()) {
                Action::Put(new) => _ = model.insert(key.clone(), new),
                Action::Remove => _ = model.remove(&key),
                Action::Keep => {}
            }
            let done = tree.compute(&key, &pin, computed);
            assert_eq!((done.old.copied(), done.new), (old, model.get(&key)));
        }
        Command::GetOrInsert(key, value) => {
            let got = *tree.get_or_insert_with(&key, &pin, || value);
            assert_eq!(got, *model.entry(key).or_insert(value));
        }
        Command::Range(from, to) => {
            let inside = model
                .iter()
                .filter(|(k, _)| above(&from, k) && below(&to, k));
            let mut want: Vec<_> = inside.map(|(k, v)| (&k[..], v)).collect();
            let slice = |bound: &'_ Bound<Vec<u8>>| bound.clone();
            let (from, to) = (slice(&from), slice(&to));
            let bounds = (from.as_ref().map(|k| &k[..]), to.as_ref().map(|k| &k[..]));
            assert!(
                tree.range::<[u8], _, _>(bounds, &pin)
                    .eq(want.iter().copied())
            );
            want.reverse();
            assert!(tree.range::<[u8], _, _>(bounds, &pin).rev().eq(want));
        }
        Command::TakeRange(from, to) => {
            let is_in = |key: &Vec<u8>| above(&from, key) && below(&to, key);
            let want: Vec<_> = model.iter().filter(|(k, _)| is_in(k)).collect();
            let got = tree.take_range((from.clone(), to.clone()), &pin);
            assert!(
                got.into_iter()
                    .eq(want.into_iter().map(|(k, v)| (&k[..], v)))
            );
            model.retain(|k, _| !is_in(k));
        }
        Command::Pop => {
            let first = tree.pop_first(&pin).map(|(k, v)| (k.to_vec(), *v));
            assert_eq!(first, model.pop_first());
            let last = tree.pop_last(&pin).map(|(k, v)| (k.to_vec(), *v));
            assert_eq!(last, model.pop_last());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn answers_as_the_model_does(commands in prop::collection::vec(command(), 1..600)) {
        let (tree, mut model) = (BytesTree::new(), BTreeMap::new());
        for command in commands {
            run(&tree, &mut model, command);
        }
        prop_assert_eq!(tree.len(), model.len());
        let pin = pin();
        prop_assert!(tree.iter(&pin).eq(model.iter().map(|(k, v)| (&k[..], v))));
    }
}

#[test]
fn a_range_is_given_as_whatever_is_bytes() {
    let words = ["be", "not", "or", "to"];
    let tree: BytesTree<usize> = words.into_iter().zip(0..).collect();
    let (pinned, owned) = (tree.pin(), String::from("or"));
    let bounds = (Bound::Excluded("be"), Bound::Included("or"));
    assert!(pinned.range(bounds).map(|(_, n)| *n).eq([1, 2]));
    assert!(pinned.range("n".."or").map(|(_, n)| *n).eq([1]));
    assert!(pinned.range(&owned..).map(|(_, n)| *n).eq([2, 3]));
    assert!(pinned.range(..=owned).map(|(_, n)| *n).eq([0, 1, 2]));
    assert!(pinned.range(b"be"..=b"or").map(|(_, n)| *n).eq([0, 1, 2]));
    assert!(pinned.range(..vec![b'n']).rev().map(|(_, n)| *n).eq([0]));
    assert!(pinned.range::<[u8], _>(..).map(|(_, n)| *n).eq(0..4));
    assert_eq!(pinned.delete_range("c".."p"), 2);
    assert!(pinned.keys().eq([&b"be"[..], b"to"]));
}

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn everything_is_dropped_once() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let tree = BytesTree::new();
    for i in 0..2000u64 {
        let pin = pin();
        let key = (i % 1000).to_be_bytes();
        tree.insert(key, Counted(dropped.clone()), &pin);
        // Made, and not taken: there is one already.
        tree.get_or_insert_with(key, &pin, || Counted(dropped.clone()));
    }
    (0..500u64).for_each(|i| _ = tree.remove(&i.to_be_bytes()[..], &pin()));
    assert_eq!(tree.len(), 500);
    drop(tree);
    flush();
    let start = Instant::now();
    while dropped.load(Ordering::SeqCst) != 2000 {
        // Another test of this process may be pinned for a moment.
        assert!(start.elapsed().as_secs() < 20, "{dropped:?} dropped");
        flush();
        std::thread::yield_now();
    }
}

#[test]
fn a_reference_outlives_the_removal_of_its_key() {
    let tree = BytesTree::new();
    let pin = pin();
    tree.insert("river", "Fyris".to_owned(), &pin);
    let (key, value) = tree.first(&pin).expect("just put in");
    std::thread::scope(|s| {
        s.spawn(|| {
            tree.remove(&b"river"[..], &fyris_index::reclaim::pin());
            (0..1000u32).for_each(|i| {
                _ = tree.insert(i.to_be_bytes(), String::new(), &fyris_index::reclaim::pin())
            });
            flush();
        });
    });
    assert_eq!((key, value.as_str()), (&b"river"[..], "Fyris"));
    assert_eq!(tree.get(&b"river"[..], &pin), None);
}

#[test]
fn compute_is_atomic_and_may_use_the_tree() {
    let tree = BytesTree::new();
    std::thread::scope(|s| {
        for t in 0..4u8 {
            let tree = &tree;
            s.spawn(move || {
                for i in 0..1000u64 {
                    let pin = pin();
                    tree.compute("sum", &pin, |n| {
                        tree.insert([t, i as u8], i, &pin);
                        Action::Put(n.map_or(1, |n| n + 1))
                    });
                }
            });
        }
    });
    assert_eq!(tree.get(&b"sum"[..], &pin()), Some(&4000));
    assert_eq!(tree.len(), 1 + 4 * 256);
}

#[test]
fn histories_are_linearizable() {
    for round in 0..20u64 {
        let (tree, start) = (BytesTree::new(), Instant::now());
        let steps: Vec<_> = std::thread::scope(|s| {
            let workers: Vec<_> = (0..3u64)
                .map(|t| {
                    let tree = &tree;
                    s.spawn(move || (0..60).map(|i| step(tree, start, t, i, round)).collect())
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

/// Runs one operation on the one key, with the times before and after it.
fn step(
    tree: &BytesTree<u64>,
    start: Instant,
    thread: u64,
    i: u64,
    round: u64,
) -> (u64, Step, u128, u128) {
    let (key, fresh, pin) = (&b"the key"[..], thread << 32 | i, pin());
    let called = start.elapsed().as_nanos();
    let step = match (thread * 7 + i * 5 + round) % 5 {
        0 => Step {
            seen: tree.insert(key, fresh, &pin).copied(),
            left: Some(fresh),
        },
        1 => Step {
            seen: tree.remove(key, &pin).copied(),
            left: None,
        },
        2 => {
            let done = tree.compute(key, &pin, |old| {
                old.map_or(Action::Put(fresh), |_| Action::Remove)
            });
            let (seen, left) = (done.old.copied(), done.new.copied());
            Step { seen, left }
        }
        _ => {
            let seen = tree.get(key, &pin).copied();
            Step { seen, left: seen }
        }
    };
    if i.is_multiple_of(3) {
        std::thread::yield_now();
    }
    (thread, step, called, start.elapsed().as_nanos())
}

#[test]
fn iterators_are_send_and_trees_are_collected() {
    let tree: BytesTree<u64> = (0..10_000u64).map(|i| (i.to_be_bytes(), i)).collect();
    let pin = pin_owned();
    let iter = tree.iter(&pin);
    let sum = std::thread::scope(|s| s.spawn(move || iter.map(|(_, v)| v).sum::<u64>()).join());
    assert_eq!(sum.unwrap(), (0..10_000).sum());
    let mut small: BytesTree<u32> = BytesTree::new();
    small.extend([("b", 2), ("a", 1)]);
    assert_eq!(format!("{small:?}"), "{[97]: 1, [98]: 2}");
    small.pin().clear();
    assert!(small.is_empty());
}
