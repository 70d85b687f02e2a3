//! Snapshots: what they see, beside writers and without, and what is freed after them.

use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Included, Unbounded};

use fyris_index::conformance::{Census, Object, put, remove};
use fyris_index::reclaim::pin;
use fyris_index::{Action, Entry, Index};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::tests::keys;
use super::{RelaxedAvl, Snapshot};

type Tree = RelaxedAvl<Object, true>;

/// Returns the keys and values, after a check that all ways to read them agree.
fn content(snapshot: &Snapshot<'_, Object>, want: usize) -> BTreeMap<u64, u64> {
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let mut last: Option<u64> = None;
    while {
        let from = last.as_ref().map_or(Unbounded, Excluded);
        snapshot.scan((from, Unbounded), want, &mut up)
    } {
        last = up.last().map(|entry| *entry.key());
    }
    let all = (Unbounded, Unbounded);
    assert!(!snapshot.scan_back(all, usize::MAX, &mut down));
    down.reverse();
    assert_eq!(up, down);
    assert_eq!(snapshot.len(), up.len());
    assert_eq!(snapshot.is_empty(), up.is_empty());
    assert_eq!(snapshot.seek(Unbounded), up.first().copied());
    assert_eq!(snapshot.seek_back(Unbounded), up.last().copied());
    let pair = |entry: &Object| (*entry.key(), entry.value());
    for entry in &up {
        assert_eq!(snapshot.get(entry.key()), Some(*entry));
        let at: Bound<&u64> = Included(entry.key());
        assert_eq!(snapshot.seek(at), snapshot.seek_back(at));
    }
    up.iter().map(pair).collect()
}

#[derive(Clone, Debug)]
enum Step {
    Put(u64),
    Remove(u64),
    Take,
    Drop(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u64..60).prop_map(Step::Put),
        8 => (0u64..60).prop_map(Step::Remove),
        1 => Just(Step::Take),
        1 => (0usize..4).prop_map(Step::Drop),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_snapshot_stays_as_it_was(steps in prop::collection::vec(step(), 1..200), want in 1usize..20) {
        let (census, tree, mut model) = (Census::new(), Tree::default(), BTreeMap::new());
        let mut taken: Vec<(Snapshot<'_, Object>, BTreeMap<u64, u64>)> = Vec::new();
        for (nth, step) in steps.into_iter().enumerate() {
            let value = nth as u64;
            match step {
                Step::Put(key) => {
                    prop_assert_eq!(put(&tree, &census, key, value, &pin()), model.insert(key, value));
                }
                Step::Remove(key) => prop_assert_eq!(remove(&tree, key, &pin()), model.remove(&key)),
                Step::Take => taken.push((tree.snapshot(), model.clone())),
                Step::Drop(at) if at < taken.len() => drop(taken.swap_remove(at)),
                Step::Drop(_) => {}
            }
            prop_assert!(keys(&tree).iter().eq(model.keys()));
        }
        for (snapshot, then) in &taken {
            prop_assert_eq!(&content(snapshot, want), then);
        }
        drop(taken);
        drop(tree);
        census.assert_all_freed();
    }
}

/// Each writer adds one to a key, then to another: a snapshot sees the first as far as the second, or one further.
#[test]
fn a_snapshot_is_of_one_moment() {
    const WRITERS: u64 = 3;
    const ROUNDS: u64 = if cfg!(fyris_small) { 300 } else { 3000 };
    let (census, tree) = (Census::new(), Tree::default());
    for key in 0..400 {
        put(&tree, &census, key, 0, &pin());
    }
    std::thread::scope(|s| {
        let (census, tree) = (&census, &tree);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                s.spawn(move || {
                    for round in 1..=ROUNDS {
                        for key in [writer, 399 - writer] {
                            put(tree, census, key, round, &pin());
                        }
                    }
                })
            })
            .collect();
        s.spawn(move || {
            let mut random = SmallRng::seed_from_u64(7);
            for _ in 0..ROUNDS {
                let key = random.random_range(100..300);
                remove(tree, key, &pin());
                put(tree, census, key, 0, &pin());
            }
        });
        let mut seen = [0; WRITERS as usize];
        while !writers.iter().all(|writer| writer.is_finished()) {
            let snapshot = tree.snapshot();
            let value = |key: u64| snapshot.get(&key).expect("it is there").value();
            for (writer, seen) in (0..WRITERS).zip(&mut seen) {
                let (first, second) = (value(writer), value(399 - writer));
                assert!(first == second || first == second + 1, "{first} {second}");
                assert!(*seen <= second, "snapshots go forwards");
                *seen = second;
            }
            let met = content(&snapshot, 64).len();
            assert!((399..=400).contains(&met), "{met} keys at one moment");
        }
    });
    assert_eq!(keys(&tree).len(), 400);
    drop(tree);
    census.assert_all_freed();
}

/// Writers of keys of their own, which they know, beside one another and beside snapshots.
#[test]
fn writers_lose_nothing_beside_snapshots() {
    const ROUNDS: u64 = if cfg!(fyris_small) { 2 } else { 8 };
    let (census, tree) = (Census::new(), Tree::default());
    for round in 0..ROUNDS {
        let known: Vec<BTreeMap<u64, u64>> = std::thread::scope(|s| {
            let (census, tree) = (&census, &tree);
            let write = move |writer: u64| {
                let mut random = SmallRng::seed_from_u64(round << 8 | writer);
                let mut known = BTreeMap::new();
                for step in 0..3000 {
                    let (key, pin) = (4 * random.random_range(0..60) + writer, pin());
                    match random.random_range(0..4) {
                        0 => assert_eq!(remove(tree, key, &pin), known.remove(&key)),
                        1 => {
                            let seen = tree.get(&key, &pin).map(|entry| entry.value());
                            assert_eq!(seen, known.get(&key).copied());
                        }
                        _ => {
                            let old = put(tree, census, key, step, &pin);
                            assert_eq!(old, known.insert(key, step));
                        }
                    }
                }
                known
            };
            let writers: Vec<_> = (0..4)
                .map(|writer| s.spawn(move || write(writer)))
                .collect();
            while !writers.iter().all(|writer| writer.is_finished()) {
                let snapshot = tree.snapshot();
                std::thread::yield_now();
                assert_eq!(content(&snapshot, 7), content(&snapshot, 1000));
            }
            let join = |writer: std::thread::ScopedJoinHandle<'_, _>| writer.join().unwrap();
            writers.into_iter().map(join).collect()
        });
        let mut all: Vec<u64> = known
            .iter()
            .flat_map(|known| known.keys().copied())
            .collect();
        all.sort_unstable();
        assert_eq!(keys(&tree), all);
        for key in all {
            remove(&tree, key, &pin());
        }
    }
    drop(tree);
    census.assert_all_freed();
}

#[test]
fn a_snapshot_may_go_to_another_thread() {
    let (census, tree) = (Census::new(), Tree::default());
    assert!(tree.snapshot().is_empty());
    (0..10).for_each(|key| _ = put(&tree, &census, key, key, &pin()));
    let snapshot = tree.snapshot();
    (0..10).for_each(|key| _ = remove(&tree, key, &pin()));
    std::thread::scope(|s| {
        s.spawn(move || assert_eq!(content(&snapshot, 3).len(), 10));
    });
    let none = tree.upsert(&1, &pin(), |old| (Action::Keep, old));
    assert!(none.is_none() && tree.snapshot().is_empty());
    drop(tree);
    census.assert_all_freed();
}
