//! Random schedules of tables of lists and of linear hashing, with more threads and more growth than loom can exhaust:
//! `RUSTFLAGS='--cfg shuttle --cfg fyris_small' cargo test -p fyris-classic --release --test shuttle_lists`.
#![cfg(shuttle)]

#[path = "../../index/tests/models/mod.rs"]
mod models;

use std::ops::Bound;
use std::sync::Arc;

use fyris_classic::{LinearHash, MichaelHash, SplitOrdered};
use fyris_index::reclaim::{check, pin};
use fyris_index::{Action, BucketLocks, Build, Entry, Index, IndexOptions};
use fyris_sync::thread::spawn;

use models::{Chosen, Handle, add, get, put, remove};

const SCHEDULES: usize = 2000;

type Split = SplitOrdered<Handle, Chosen>;
type Fixed = MichaelHash<Handle, Chosen>;

/// Returns the `n`-th of some keys that lie all over the buckets, in pairs of one order.
fn key(n: u64) -> u64 {
    (n / 2).wrapping_mul(0x9E37_79B9_7F4A_7C15) & !7 | n % 2
}

/// Runs the work in threads, one function each, to their ends.
fn together<I: Send + Sync + 'static>(index: &Arc<I>, work: &[fn(&I)]) {
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

/// Returns the keys by scans of `want`, which are in the order of (hash, key), so of keys here.
fn scanned(index: &impl Index<Handle>, want: usize) -> Vec<u64> {
    let (mut keys, mut batch): (Vec<u64>, _) = (Vec::new(), Vec::new());
    loop {
        let pin = pin();
        let after = keys.last().map_or(Bound::Unbounded, Bound::Excluded);
        let more = index.scan((after, Bound::Unbounded), want, &pin, &mut batch);
        keys.extend(batch.drain(..).map(|entry| *entry.key()));
        assert!(keys.is_sorted_by(|a, b| a < b), "each once: {keys:?}");
        if !more {
            return keys;
        }
    }
}

fn come_and_go<I: Index<Handle>>(index: &I) {
    (5..14).for_each(|n| put(index, key(n), 1));
    (5..14).for_each(|n| remove(index, key(n)));
}

fn change_one<I: Index<Handle>>(index: &I) {
    for _ in 0..3 {
        add(index, key(1));
        index.upsert(&key(20), &pin(), |_| (Action::Keep, ()));
        remove(index, key(4));
        put(index, key(4), 1);
    }
}

fn read<I: Index<Handle>>(index: &I) {
    for want in [1, 2, 4] {
        let keys = scanned(index, want);
        let stays = |n: u64| keys.contains(&key(n));
        assert!((0..4).all(stays), "{keys:?}");
        assert_eq!(get(index, key(3)), Some(1), "it is there throughout");
    }
}

fn model<I: Index<Handle> + Default + 'static>() {
    run(I::default());
}

fn run<I: Index<Handle> + 'static>(index: I) {
    let index = Arc::new(index);
    (0..5).for_each(|n| put(&*index, key(n), 1));
    together(&index, &[come_and_go, change_one, add_ones, read]);
    assert_eq!((scanned(&*index, 1).len(), index.len()), (5, 5));
    assert_eq!(get(&*index, key(1)), Some(7), "no change is lost");
}

fn add_ones<I: Index<Handle>>(index: &I) {
    (0..3).for_each(|_| add(index, key(1)));
}

#[test]
fn a_split_ordered_list_keeps_its_order_while_it_grows() {
    check(SCHEDULES, model::<Split>);
}

#[test]
fn lists_of_buckets_keep_their_order() {
    check(SCHEDULES, model::<Fixed>);
}

/// Linear hashing splits and merges buckets here, and makes more and fewer locks.
#[test]
fn linear_hashing_keeps_its_order_under_every_kind_of_locks() {
    for (bucket_locks, read_concurrency) in [
        (BucketLocks::Auto, false),
        (BucketLocks::Fixed(2), true),
        (BucketLocks::None, false),
        (BucketLocks::None, true),
    ] {
        check(SCHEDULES / 2, move || {
            let mut options = IndexOptions::default();
            options.bucket_locks = bucket_locks;
            options.read_concurrency = read_concurrency;
            run(LinearHash::<Handle, Chosen>::build(&options));
        });
    }
}
