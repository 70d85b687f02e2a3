//! Measures the trees under one lock and the contention adapting trees over them, beside `ordered`: medians of
//! interleaved runs, and the memory of each.
//!
//! `cargo run --release -p fyris-classic --example trees_speed [thousands of entries] [runs]`
#![allow(missing_docs)]

mod number;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Bound;
use std::time::Instant;

use fyris_classic::sequential::{Avl, SearchTree, Treap};
use fyris_classic::{CaTree, Locked, LockedBTree};
use fyris_index::reclaim::pin;
use fyris_index::{Action, Batch, Ordered, OrderedIndex};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use number::Number;

/// Numbers that look random.
fn put(index: &impl OrderedIndex<Number>, key: u64) {
    index.upsert(&key, &pin(), |_| (Action::Put(Number(key)), ()));
}

/// Returns the nanoseconds that one of `count` calls takes.
fn timed(count: u64, mut f: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    (0..count).for_each(&mut f);
    start.elapsed().as_nanos() as f64 / count as f64
}

/// Half of the operations are lookups, a quarter inserts and a quarter removals, in each of `threads` threads.
fn mix(index: &impl OrderedIndex<Number>, keys: u64, threads: u64) -> f64 {
    let each = keys / 2;
    let start = Instant::now();
    std::thread::scope(|s| {
        for thread in 0..threads {
            s.spawn(move || {
                let mut random = SmallRng::seed_from_u64(thread);
                for round in 0..each {
                    let key = random.random_range(0..2 * keys);
                    match round % 4 {
                        0 => put(index, key),
                        1 => index.upsert(&key, &pin(), |_| (Action::Remove, ())),
                        _ => _ = black_box(index.get(&key, &pin())),
                    }
                }
            });
        }
    });
    start.elapsed().as_nanos() as f64 / (each * threads) as f64
}

/// Runs everything once; returns the figures by name.
fn run<I: OrderedIndex<Number>>(index: &I, keys: u64) -> Vec<(&'static str, f64)> {
    let mut order: Vec<u64> = (0..keys).map(|key| 2 * key).collect();
    order.shuffle(&mut SmallRng::seed_from_u64(1));
    let insert = timed(keys, |at| put(index, order[at as usize]));
    let bytes = index.memory() as f64 / keys as f64;
    order.reverse();
    let hit = timed(keys, |at| {
        assert!(index.get(&order[at as usize], &pin()).is_some());
    });
    let mut batch = Batch::new();
    let range = timed(keys / 50, |at| {
        batch.clear();
        let from = Bound::Included(&order[at as usize]);
        index.scan((from, Bound::Unbounded), 100, &pin(), &mut batch);
    });
    let (one, two) = (mix(index, keys, 1), mix(index, keys, 2));
    vec![
        ("insert", insert),
        ("hit", hit),
        ("range100", range),
        ("mix50, 1 thread", one),
        ("mix50, 2 threads", two),
        ("bytes an entry", bytes),
    ]
}

fn main() {
    let mut args = std::env::args()
        .skip(1)
        .map(|arg| arg.parse().expect("a number"));
    let keys = args.next().unwrap_or(1000) * 1000;
    let runs = args.next().unwrap_or(3);
    let mut figures: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for _ in 0..runs {
        let all = [
            ("avl", run(&Locked::<SearchTree<_, Avl>>::default(), keys)),
            (
                "treap",
                run(&Locked::<SearchTree<_, Treap>>::default(), keys),
            ),
            ("btree", run(&LockedBTree::default(), keys)),
            (
                "ca_avl",
                run(&CaTree::<SearchTree<_, Avl>>::default(), keys),
            ),
            (
                "ca_treap",
                run(&CaTree::<SearchTree<_, Treap>>::default(), keys),
            ),
            ("ordered", run(&Ordered::new(), keys)),
        ];
        for (name, figure, value) in all
            .into_iter()
            .flat_map(|(name, values)| values.into_iter().map(move |(f, value)| (name, f, value)))
        {
            figures.entry((figure, name)).or_default().push(value);
        }
    }
    for ((figure, name), values) in &mut figures {
        values.sort_by(f64::total_cmp);
        println!("{figure:18} {name:10} {:8.1}", values[values.len() / 2]);
    }
}
