//! The locks of linear hashing under every interleaving and every value that a load may return:
//! `RUSTFLAGS='--cfg loom --cfg fyris_small' cargo test -p fyris-classic --release --test loom_linear`.
//!
//! Tables begin with two buckets and two locks, and are looked at for growth at every second addition of a thread. One
//! wait for a lock makes more of them, a handful of writes without one fewer. Chains and values are in cells that loom
//! watches: an access that no lock orders fails.
#![cfg(loom)]

#[path = "../../index/tests/models/mod.rs"]
mod models;

use std::ops::Bound::Unbounded;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fyris_classic::LinearHash;
use fyris_index::reclaim::{check, pin};
use fyris_index::{BucketLocks, Build, Entry, Index, IndexOptions};
use fyris_sync::thread::spawn;

use models::{Chosen, Handle, add, get, put, remove};

type Linear = LinearHash<Handle, Chosen>;

/// Returns the `n`-th key of the first bucket.
fn key(n: u64) -> u64 {
    n << 40
}

/// Returns the `n`-th key of the last bucket, however many there are.
fn upper(n: u64) -> u64 {
    0xFF << 56 | key(n)
}

/// Makes a table of so many entries in the first bucket.
fn with(locks: BucketLocks, entries: u64) -> Arc<Linear> {
    let mut options = IndexOptions::default();
    options.bucket_locks = locks;
    let index = Arc::new(Linear::build(&options));
    (0..entries).for_each(|n| put(&*index, key(n), n));
    index
}

/// Runs `other` in another thread beside `first` in this one.
fn beside(index: &Arc<Linear>, other: fn(&Linear), first: fn(&Linear)) {
    let thread = spawn({
        let index = index.clone();
        move || other(&index)
    });
    first(index);
    thread.join().unwrap();
}

/// Returns the keys in the index's order.
fn keys(index: &Linear) -> Vec<u64> {
    let (pin, mut batch) = (pin(), Vec::new());
    assert!(!index.scan((Unbounded, Unbounded), usize::MAX, &pin, &mut batch));
    batch.iter().map(|entry| *entry.key()).collect()
}

/// Writers of one bucket, with a lock of the bucket or of the table.
fn two_writers(locks: BucketLocks) {
    check(move || {
        let index = with(locks, 1);
        beside(
            &index,
            |index| {
                add(index, key(0));
            },
            |index| {
                add(index, key(0));
                put(index, key(1), 1);
            },
        );
        assert_eq!(
            (get(&*index, key(0)), keys(&index)),
            (Some(2), vec![key(0), key(1)])
        );
    });
}

#[test]
fn two_writers_of_a_bucket() {
    two_writers(BucketLocks::Fixed(1));
}

#[test]
fn two_writers_under_the_lock_of_the_table() {
    two_writers(BucketLocks::None);
}

/// A reader beside a writer that takes an entry out.
fn a_reader(locks: BucketLocks) {
    check(move || {
        let index = with(locks, 2);
        let read = |index: &Linear| {
            assert!(matches!(get(index, key(0)), None | Some(0)));
            assert_eq!(get(index, key(1)), Some(1), "it is there throughout");
        };
        beside(&index, read, |index| remove(index, key(0)));
        assert_eq!((keys(&index), index.len()), (vec![key(1)], 1));
    });
}

#[test]
fn a_reader_of_a_bucket() {
    a_reader(BucketLocks::Fixed(2));
}

#[test]
fn a_reader_under_the_lock_of_the_table() {
    a_reader(BucketLocks::None);
}

/// The fourth entry splits buckets until there are as many as entries.
#[test]
fn buckets_are_split_while_a_reader_looks() {
    check(|| {
        let index = with(BucketLocks::Fixed(1), 3);
        let read = |index: &Linear| {
            for n in 0..3 {
                assert_eq!(get(index, key(n)), Some(n), "it is there throughout");
            }
        };
        assert_eq!(index.slots(), 2);
        beside(&index, read, |index| put(index, upper(1), 1));
        assert_eq!(index.slots(), 4);
        assert_eq!(keys(&index), [key(0), key(1), key(2), upper(1)]);
    });
}

/// A removal merges buckets, with a segment that goes.
#[test]
fn buckets_are_merged_while_a_reader_looks() {
    check(|| {
        let index = with(BucketLocks::Fixed(1), 4);
        (1..=3).for_each(|n| remove(&*index, key(n)));
        assert!(index.slots() > 2);
        let read = |index: &Linear| {
            assert!(matches!(get(index, key(0)), None | Some(0)));
            assert_eq!(get(index, upper(1)), None);
        };
        beside(&index, read, |index| remove(index, key(0)));
        assert_eq!((keys(&index), index.slots()), (Vec::new(), 2));
    });
}

/// Two writers of one lock, of which one may wait and then ask for more locks.
#[test]
fn locks_are_made_while_they_are_waited_for() {
    static MOST: AtomicUsize = AtomicUsize::new(0);
    check(|| {
        let index = with(BucketLocks::Auto, 4);
        assert_eq!((index.slots(), index.bucket_locks()), (4, 2));
        beside(
            &index,
            |index| add(index, key(0)),
            |index| add(index, key(0)),
        );
        assert_eq!(get(&*index, key(0)), Some(2), "no change is lost");
        MOST.fetch_max(index.bucket_locks(), Ordering::Relaxed);
    });
    assert_eq!(MOST.load(Ordering::Relaxed), 4, "in one of the schedules");
}
