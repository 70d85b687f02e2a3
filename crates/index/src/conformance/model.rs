//! One thread against a `BTreeMap`.

use std::collections::BTreeMap;

use std::ops::Bound::Unbounded;

use crate::{Action, Entry, Index};
use fyris_sync::reclaim::pin;
use proptest::prelude::*;

use super::cases;
use super::object::{Census, Object, put, remove};
use super::scans::behind;

#[derive(Clone, Debug)]
enum Command {
    Get(u64),
    Put(u64, u64),
    PutNew(u64, u64),
    Remove(u64),
    Keep(u64),
    /// This many consecutive keys at once, to make the index grow.
    Fill(u64, u64),
    /// The same taken out, to make it shrink.
    Drain(u64, u64),
    Traverse,
    Length,
}

/// Generates keys that crowd, keys that spread, and the ends of the range.
fn key() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..24u64,
        2 => 0..2000u64,
        1 => (0..24u64).prop_map(|k| k << 32),
        1 => (0..8u64).prop_map(|k| u64::MAX - k),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        4 => key().prop_map(Command::Get),
        4 => (key(), any::<u64>()).prop_map(|(k, v)| Command::Put(k, v)),
        2 => (key(), any::<u64>()).prop_map(|(k, v)| Command::PutNew(k, v)),
        4 => key().prop_map(Command::Remove),
        1 => key().prop_map(Command::Keep),
        1 => (0..2000u64, 1..300u64).prop_map(|(k, n)| Command::Fill(k, n)),
        1 => (0..2000u64, 1..600u64).prop_map(|(k, n)| Command::Drain(k, n)),
        1 => Just(Command::Traverse),
        1 => Just(Command::Length),
    ]
}

/// Runs random commands and compares every answer with a `BTreeMap`.
pub fn model<I: Index<Object>>(make: &dyn Fn() -> I) {
    proptest!(cases(120), |(commands in prop::collection::vec(command(), 1..120))| {
        let census = Census::new();
        let index = make();
        let mut model = BTreeMap::new();
        for command in commands {
            run(&index, &census, &mut model, command);
        }
        check_traversal(&index, &model);
        drop(index);
        census.assert_all_freed();
    });
}

fn run(
    index: &impl Index<Object>,
    census: &std::sync::Arc<Census>,
    model: &mut BTreeMap<u64, u64>,
    command: Command,
) {
    let pin = pin();
    match command {
        Command::Get(k) => {
            assert_eq!(
                index.get(&k, &pin).map(|e| e.value()),
                model.get(&k).copied()
            );
        }
        Command::Put(k, v) => {
            assert_eq!(put(index, census, k, v, &pin), model.insert(k, v));
        }
        Command::PutNew(k, v) => {
            let new = index.upsert(&k, &pin, |old| match old {
                Some(_) => (Action::Keep, false),
                None => (Action::Put(census.object(k, v)), true),
            });
            assert_eq!(new, !model.contains_key(&k));
            model.entry(k).or_insert(v);
        }
        Command::Remove(k) => assert_eq!(remove(index, k, &pin), model.remove(&k)),
        Command::Keep(k) => {
            let seen = index.upsert(&k, &pin, |old| (Action::Keep, old.map(|e| e.value())));
            assert_eq!(seen, model.get(&k).copied());
        }
        Command::Fill(k, n) => {
            for k in k..k + n {
                assert_eq!(put(index, census, k, k, &pin), model.insert(k, k));
            }
        }
        Command::Drain(k, n) => {
            for k in k..k + n {
                assert_eq!(remove(index, k, &pin), model.remove(&k));
            }
        }
        Command::Traverse => check_traversal(index, model),
        Command::Length => {
            assert_eq!(index.len(), model.len());
            assert_eq!(index.is_empty(), model.is_empty());
            assert!(index.memory() > 0);
        }
    }
}

/// Checks traversals by batches, by slots, and from every key: each meets each entry once, always
/// in one order.
pub(super) fn check_traversal(index: &impl Index<Object>, model: &BTreeMap<u64, u64>) {
    let pin = pin();
    let mut order = Vec::new();
    loop {
        let mut batch = Vec::new();
        index.scan((behind(order.last()), Unbounded), 1, &pin, &mut batch);
        if batch.is_empty() {
            break;
        }
        order.extend(batch.iter().map(|e| *e.key()));
        assert!(
            order.len() <= model.len(),
            "a traversal meets every key once"
        );
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(
        sorted.iter().eq(model.keys()),
        "a traversal meets every key once"
    );
    for pair in order.windows(2).step_by(1 + order.len() / 64) {
        let mut batch = Vec::new();
        index.scan((behind(Some(&pair[0])), Unbounded), 1, &pin, &mut batch);
        assert_eq!(*batch[0].key(), pair[1], "a cursor is any key");
    }
    let first = index.next_entry(None, &pin).map(|e| *e.key());
    let steps = std::iter::successors(first, |key| {
        index.next_entry(Some(key), &pin).map(|e| *e.key())
    });
    assert!(steps.eq(order), "key by key in the same order");
    let mut slots = Vec::new();
    for slot in 0..index.slots() {
        let mut batch = Vec::new();
        index.slot(slot, &pin, &mut batch);
        slots.extend(batch.iter().map(|e| *e.key()));
    }
    slots.sort_unstable();
    assert_eq!(slots, sorted, "the slots hold every key once");
}

/// Checks that a cursor survives all changes between two batches, the deletion of its key included.
pub fn traversal_with_changes<I: Index<Object>>(make: &dyn Fn() -> I) {
    proptest!(cases(30), |(steady in prop::collection::btree_set(0..4000u64, 1..200),
                        changes in prop::collection::vec((0..4000u64, 1..120u64, any::<bool>()), 1..60))| {
        let census = Census::new();
        let index = make();
        let pin = pin();
        // Steady keys are even, those that come and go are odd.
        for k in &steady {
            put(&index, &census, 2 * k, *k, &pin);
        }
        let mut seen = Vec::new();
        let mut changes = changes.iter().cycle();
        let mut cursor: Option<u64> = None;
        loop {
            let mut batch = Vec::new();
            index.scan((behind(cursor.as_ref()), Unbounded), 1, &pin, &mut batch);
            let Some(last) = batch.last() else { break };
            seen.extend(batch.iter().map(|e| *e.key()).filter(|k| k % 2 == 0));
            cursor = Some(*last.key());
            if cursor.is_some_and(|k| k % 2 == 1) {
                remove(&index, cursor.unwrap(), &pin);
            }
            let (from, n, add) = changes.next().unwrap();
            for k in *from..from + n {
                if *add {
                    put(&index, &census, 2 * k + 1, 0, &pin);
                } else {
                    remove(&index, 2 * k + 1, &pin);
                }
            }
            prop_assert!(seen.len() <= steady.len());
        }
        seen.sort_unstable();
        prop_assert!(seen.iter().copied().eq(steady.iter().map(|k| 2 * k)));
    });
}
