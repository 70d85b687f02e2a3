//! Contention adapting trees over sequential trees under random schedules:
//! `RUSTFLAGS='--cfg shuttle --cfg fyris_small' cargo test -p fyris-classic --release --test ca_shuttle`.
//!
//! One wait for a base node is contention here, and 21 scans across several base nodes are its lack, so that base nodes
//! split and join within a few operations. An entry that is looked at when it would have been freed fails the model.
#![cfg(shuttle)]

#[path = "../../index/tests/models/mod.rs"]
mod models;

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fyris_classic::sequential::{Avl, Balance, SearchTree, Treap};
use fyris_classic::{CaTree, SharedCaTree};
use fyris_index::reclaim::{check, pin};
use fyris_index::{Action, Batch, Entry, Index, OrderedIndex};
use fyris_sync::thread::spawn;

use models::{Handle, add, get, put, remove};

type Tree<B> = CaTree<SearchTree<Handle, B>>;
type Shared<B> = SharedCaTree<SearchTree<Handle, B>>;

/// A tree with counts of its splits and joins.
trait Adapts: OrderedIndex<Handle> + Default + 'static {
    fn adaptations(&self) -> [u64; 2];
}

impl<B: Balance> Adapts for Tree<B> {
    fn adaptations(&self) -> [u64; 2] {
        let stats = self.stats(&pin());
        [stats.contention_splits, stats.contention_joins]
    }
}

impl<B: Balance> Adapts for Shared<B> {
    fn adaptations(&self) -> [u64; 2] {
        let stats = self.stats(&pin());
        [stats.contention_splits, stats.contention_joins]
    }
}

/// Schedules of a model.
const SCHEDULES: usize = 4000;

/// Counts of splits and joins over all schedules of a model: one that splits nothing proves nothing about splits.
struct Seen([AtomicU64; 2]);

impl Seen {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 2])
    }

    fn add(&self, index: &impl Adapts) {
        for (sum, count) in self.0.iter().zip(index.adaptations()) {
            sum.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn assert(&self) {
        let sums = self.0.each_ref().map(|sum| sum.load(Ordering::Relaxed));
        assert!(
            sums.iter().all(|sum| *sum > 0),
            "splits and joins: {sums:?}"
        );
    }
}

fn tree<T: Adapts>(keys: impl IntoIterator<Item = u64>) -> Arc<T> {
    let index = Arc::new(T::default());
    keys.into_iter().for_each(|key| put(&*index, key, 1));
    index
}

/// Runs all of it at once, each in a thread of its own.
fn together<T: Adapts>(index: &Arc<T>, work: &[fn(&T)]) {
    let threads: Vec<_> = work
        .iter()
        .map(|&work| {
            let index = index.clone();
            spawn(move || work(&index))
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// Returns the keys upwards or downwards, by scans of `want`.
fn keys(index: &impl Adapts, back: bool, want: usize) -> Vec<u64> {
    let (mut keys, mut more) = (Vec::<u64>::new(), true);
    while more {
        let (pin, mut batch) = (pin(), Batch::new());
        let last = keys.last().map_or(Bound::Unbounded, Bound::Excluded);
        more = if back {
            index.scan_back((Bound::Unbounded, last), want, &pin, &mut batch)
        } else {
            index.scan((last, Bound::Unbounded), want, &pin, &mut batch)
        };
        keys.extend(batch.iter().map(|entry| *entry.key()));
        assert!(
            keys.is_sorted_by(|a, b| (a < b) != back && a != b),
            "each once: {keys:?}"
        );
    }
    keys
}

/// Looks at everything again and again; `stays` is there throughout.
fn read(index: &impl Adapts, stays: &[u64]) {
    for round in 0..24 {
        let found = keys(index, round % 2 == 1, if round % 8 == 0 { 1 } else { 100 });
        assert!(stays.iter().all(|key| found.contains(key)), "{found:?}");
    }
    let (low, high) = (stays[0], stays[stays.len() - 1]);
    let found = index.seek(Bound::Included(&low), &pin());
    assert_eq!(found.map(|entry| *entry.key()), Some(low));
    let found = index.seek_back(Bound::Included(&high), &pin());
    assert_eq!(found.map(|entry| *entry.key()), Some(high));
}

/// Ranges go across base nodes while these split, join, gain and lose entries.
fn ranges<T: Adapts>() {
    static SEEN: Seen = Seen::new();
    check(SCHEDULES, || {
        let index = tree::<T>([2, 4, 6, 8]);
        together(
            &index,
            &[
                |index| {
                    for _ in 0..3 {
                        [1, 5, 9].into_iter().for_each(|key| put(index, key, 1));
                        [1, 5, 9].into_iter().for_each(|key| remove(index, key));
                    }
                },
                |index| (0..6).for_each(|_| [4, 6].into_iter().for_each(|key| add(index, key))),
                |index| read(index, &[2, 4, 6, 8]),
            ],
        );
        assert_eq!(
            (keys(&*index, false, 3), index.len()),
            (vec![2, 4, 6, 8], 4)
        );
        for key in [4, 6] {
            assert_eq!(get(&*index, key), Some(7), "no update is lost");
        }
        SEEN.add(&*index);
    });
    SEEN.assert();
}

#[test]
fn ranges_go_across_base_nodes_of_avl_trees() {
    ranges::<Tree<Avl>>();
}

#[test]
fn ranges_go_across_base_nodes_of_treaps() {
    ranges::<Tree<Treap>>();
}

#[test]
fn ranges_go_across_base_nodes_that_readers_share() {
    ranges::<Shared<Avl>>();
}

/// What waits for a base node goes on to its successor, also where that is joined again.
#[test]
fn base_nodes_that_are_waited_for_split_and_join() {
    static SEEN: Seen = Seen::new();
    check(SCHEDULES / 2, || {
        let index = tree::<Tree<Avl>>(1..=4);
        let write: fn(&Tree<Avl>) =
            |index| (0..4).for_each(|_| (1..=4).for_each(|key| add(index, key)));
        together(&index, &[write, write, write]);
        // No thread waits any more, and the other thread meets the nodes that are joined.
        let touch: fn(&Tree<Avl>) = |index| {
            for key in (0..440).map(|n| 1 + n % 2) {
                index.upsert(&key, &pin(), |_| (Action::Keep, ()));
            }
        };
        let write: fn(&Tree<Avl>) = |index| (3..=4).for_each(|key| add(index, key));
        together(&index, &[touch, write]);
        for key in 1..=4 {
            let twice = u64::from(key > 2);
            assert_eq!(get(&*index, key), Some(13 + twice), "no update is lost");
        }
        SEEN.add(&*index);
    });
    SEEN.assert();
}
