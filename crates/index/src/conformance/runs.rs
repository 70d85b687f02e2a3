//! Runs of neighbouring keys: each key changes as if by itself.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::{Action, Entry, Index};
use fyris_sync::reclaim::{self, pin};
use proptest::prelude::*;

use super::cases;
use super::object::{Census, Object, put, settle};

/// The change to make under one key.
#[derive(Clone, Copy, Debug)]
enum Wish {
    Keep,
    Put(u64),
    Remove,
    /// The run ends before this key.
    Stop,
}

/// Generates ascending keys, close together or far apart, some of them neighbours, each with a
/// wish.
fn run() -> impl Strategy<Value = Vec<(u64, Wish)>> {
    let wish = prop_oneof![
        1 => Just(Wish::Keep),
        6 => any::<u64>().prop_map(Wish::Put),
        2 => Just(Wish::Remove),
    ];
    let keys = (0..500u64, 1..40u64, 0..2u32).prop_map(|(k, step, far)| (k, step << (16 * far)));
    let wishes = prop::collection::vec(wish, 0..90);
    (keys, wishes, any::<prop::sample::Index>(), any::<bool>()).prop_map(
        |((first, step), mut wishes, at, stops)| {
            if stops && !wishes.is_empty() {
                let at = at.index(wishes.len());
                wishes[at] = Wish::Stop;
            }
            let keys = (0..).map(|i| first + i * step);
            keys.zip(wishes).collect()
        },
    )
}

/// Does a run until it stops, step by step; returns the number of keys done.
fn apply(index: &impl Index<Object>, census: &Arc<Census>, run: &[(u64, Wish)]) -> usize {
    let pin = pin();
    let mut done = 0;
    loop {
        let mut gone = Vec::new();
        let key = |at: usize| run.get(done + at).map(|(key, _)| key);
        let more = index.upsert_run(key, &pin, |at, old| {
            let (key, wish) = run[done + at];
            assert!(old.is_none_or(|old| *old.key() == key));
            let action = match wish {
                Wish::Stop => return None,
                Wish::Keep => return Some(Action::Keep),
                Wish::Put(value) => Action::Put(census.object(key, value)),
                Wish::Remove => Action::Remove,
            };
            gone.push(old);
            Some(action)
        });
        for old in gone {
            settle(old, &pin);
        }
        if more == 0 {
            return done;
        }
        done += more;
    }
}

/// Runs random runs and compares them with a map.
pub fn runs<I: Index<Object>>(make: &dyn Fn() -> I) {
    proptest!(cases(200), |(runs in prop::collection::vec(run(), 1..30))| {
        let census = Census::new();
        let index = make();
        let mut model = BTreeMap::new();
        for run in runs {
            let done = apply(&index, &census, &run);
            let stop = run.iter().position(|(_, wish)| matches!(wish, Wish::Stop));
            prop_assert_eq!(done, stop.unwrap_or(run.len()));
            for &(key, wish) in &run[..done] {
                match wish {
                    Wish::Put(value) => _ = model.insert(key, value),
                    Wish::Remove => _ = model.remove(&key),
                    Wish::Keep | Wish::Stop => {}
                }
            }
            prop_assert_eq!(index.len(), model.len());
            let pin = pin();
            for (key, _) in &run {
                prop_assert_eq!(index.get(key, &pin).map(|e| e.value()), model.get(key).copied());
            }
        }
        super::model::check_traversal(&index, &model);
        drop(index);
        census.assert_all_freed();
    });
}

/// Checks that threads which add one to every key of the same runs lose none of each other's
/// additions.
pub fn runs_of_threads<I: Index<Object>>(make: &dyn Fn() -> I) {
    const THREADS: u64 = 3;
    const ROUNDS: u64 = 40;
    const KEYS: u64 = 200;
    let (census, index) = (Census::new(), make());
    std::thread::scope(|s| {
        for t in 0..THREADS {
            let (census, index) = (&census, &index);
            s.spawn(move || {
                for round in 0..ROUNDS {
                    // All of them, in two runs that part at another place each time.
                    let middle = (t + 7 * round) % KEYS;
                    add_one(index, census, &(0..middle).collect::<Vec<_>>());
                    add_one(index, census, &(middle..KEYS).collect::<Vec<_>>());
                }
                reclaim::flush();
            });
        }
    });
    let pin = pin();
    for key in 0..KEYS {
        let value = index.get(&key, &pin).map(|e| e.value());
        assert_eq!(value, Some(THREADS * ROUNDS), "{key}");
    }
    drop(pin);
    drop(index);
    census.assert_all_freed();
}

fn add_one(index: &impl Index<Object>, census: &Arc<Census>, keys: &[u64]) {
    let pin = pin();
    let mut done = 0;
    while done < keys.len() {
        let mut gone = Vec::new();
        done += index.upsert_run(
            |at| keys.get(done + at),
            &pin,
            |at, old| {
                let value = old.map_or(0, |old| old.value());
                gone.push(old);
                Some(Action::Put(census.object(keys[done + at], value + 1)))
            },
        );
        for old in gone {
            settle(old, &pin);
        }
    }
}

/// Checks that a closure that panics in the midst of a run leaves its key as it was, and no lock
/// behind.
pub fn panic_in_run<I: Index<Object>>(make: &dyn Fn() -> I) {
    let (census, index) = (Census::new(), make());
    let pin = pin();
    for k in 0..100 {
        put(&index, &census, 2 * k, k, &pin);
    }
    for first in 0..200u64 {
        let keys: Vec<u64> = (first..first + 30).collect();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let mut done = 0;
            while done < 30 {
                done += index.upsert_run(
                    |at| keys.get(done + at),
                    &pin,
                    |at, _| {
                        assert!(done + at < 17, "on purpose");
                        Some(Action::Keep)
                    },
                );
            }
        }));
        assert!(caught.is_err());
    }
    assert_eq!(index.len(), 100);
    std::thread::scope(|s| {
        s.spawn(|| add_one(&index, &census, &(0..240).collect::<Vec<_>>()));
    });
    assert_eq!(index.len(), 240);
}
