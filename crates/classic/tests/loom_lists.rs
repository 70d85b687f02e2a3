//! The edges of lists under every interleaving and every value that a load may return:
//! `RUSTFLAGS='--cfg loom --cfg fyris_small' cargo test -p fyris-classic --release --test loom_lists`.
//!
//! Tables have two buckets here. The value of an entry is in a cell that loom watches, and looking at an entry or a
//! node that would have been freed fails.
#![cfg(loom)]

#[path = "../../index/tests/models/mod.rs"]
mod models;

use std::ops::Bound::Unbounded;
use std::sync::Arc;

use fyris_classic::{MichaelHash, SplitOrdered};
use fyris_index::reclaim::{check, pin};
use fyris_index::{Action, Entry, Index};
use fyris_sync::thread::spawn;

use models::{Chosen, Handle, get, put, remove};

type Fixed = MichaelHash<Handle, Chosen>;
type Split = SplitOrdered<Handle, Chosen>;

/// Returns the `n`-th key of the first bucket.
fn key(n: u64) -> u64 {
    n << 40
}

/// Returns the `n`-th key of the second bucket of two.
fn upper(n: u64) -> u64 {
    1 << 63 | key(n)
}

fn with<I: Index<Handle> + Default>(entries: u64) -> Arc<I> {
    let index = Arc::new(I::default());
    (0..entries).for_each(|n| put(&*index, key(n), n));
    index
}

/// Runs `other` in another thread beside `first` in this one, which loom runs first.
fn beside<I: Send + Sync + 'static>(index: &Arc<I>, other: fn(&I), first: fn(&I)) {
    let thread = spawn({
        let index = index.clone();
        move || other(&index)
    });
    first(index);
    thread.join().unwrap();
}

/// Returns the keys in the index's order.
fn keys(index: &impl Index<Handle>) -> Vec<u64> {
    let (pin, mut batch) = (pin(), Vec::new());
    assert!(!index.scan((Unbounded, Unbounded), usize::MAX, &pin, &mut batch));
    batch.iter().map(|entry| *entry.key()).collect()
}

/// Adds one to the value at a key, or puts one there.
fn count(index: &impl Index<Handle>, key: u64) {
    let pin = pin();
    let old = index.upsert(&key, &pin, |old| {
        (
            Action::Put(Handle::new(key, old.map_or(1, |old| old.value() + 1))),
            old,
        )
    });
    // SAFETY: taken out by this upsert.
    old.into_iter().for_each(|old| unsafe { old.retire(&pin) });
}

/// Leaves an absent key absent.
fn keep(index: &impl Index<Handle>, key: u64) {
    index.upsert(&key, &pin(), |_| (Action::Keep, ()));
}

#[test]
fn an_entry_is_published() {
    check(|| {
        let index = with::<Fixed>(1);
        let read = |index: &Fixed| assert!(matches!(get(index, key(7)), None | Some(42)));
        beside(&index, read, |index| put(index, key(7), 42));
        assert_eq!(get(&*index, key(7)), Some(42));
    });
}

#[test]
fn an_entry_is_out_of_its_node_before_it_is_freed() {
    check(|| {
        let index = with::<Fixed>(2);
        let read = |index: &Fixed| {
            assert!(matches!(get(index, key(0)), None | Some(0)));
            assert_eq!(get(index, key(1)), Some(1));
        };
        beside(&index, read, |index| remove(index, key(0)));
        assert_eq!(keys(&*index), [key(1)]);
    });
}

#[test]
fn nodes_are_put_in_beside_each_other() {
    check(|| {
        let index = with::<Fixed>(1);
        beside(
            &index,
            |index| put(index, key(1), 1),
            |index| put(index, key(2), 2),
        );
        assert_eq!(keys(&*index), [0, 1, 2].map(key));
    });
}

#[test]
fn a_node_is_put_in_behind_one_that_is_taken_out() {
    check(|| {
        let index = with::<Fixed>(1);
        beside(
            &index,
            |index| put(index, key(1), 1),
            |index| remove(index, key(0)),
        );
        assert_eq!(keys(&*index), [key(1)]);
        assert_eq!(index.len(), 1);
    });
}

#[test]
fn neighbours_are_taken_out() {
    check(|| {
        let index = with::<Fixed>(3);
        beside(
            &index,
            |index| remove(index, key(0)),
            |index| remove(index, key(1)),
        );
        assert_eq!(keys(&*index), [key(2)]);
    });
}

#[test]
fn a_reader_passes_nodes_that_are_taken_out() {
    check(|| {
        let index = with::<Fixed>(3);
        let read =
            |index: &Fixed| assert_eq!(get(index, key(2)), Some(2), "it is there throughout");
        beside(&index, read, |index| {
            remove(index, key(1));
            remove(index, key(0));
        });
    });
}

#[test]
fn two_writers_put_one_key_in() {
    check(|| {
        let index = with::<Fixed>(0);
        beside(
            &index,
            |index| count(index, key(1)),
            |index| count(index, key(1)),
        );
        assert_eq!(get(&*index, key(1)), Some(2));
        assert_eq!(index.len(), 1);
    });
}

#[test]
fn a_key_is_put_in_while_it_is_taken_out() {
    check(|| {
        let index = with::<Fixed>(1);
        beside(
            &index,
            |index| count(index, key(0)),
            |index| remove(index, key(0)),
        );
        // Counted from 0 before it was taken out, or from nothing after that.
        assert!(matches!(get(&*index, key(0)), None | Some(1)));
    });
}

#[test]
fn a_placeholder_goes_while_its_key_is_put_in() {
    check(|| {
        let index = with::<Fixed>(0);
        let read_and_put = |index: &Fixed| {
            assert_eq!(get(index, key(0)), None);
            count(index, key(0));
        };
        beside(&index, read_and_put, |index| keep(index, key(0)));
        assert_eq!((get(&*index, key(0)), index.len()), (Some(1), 1));
    });
}

/// Orders have the low bits set, so these keys have one.
#[test]
fn keys_of_one_order_are_put_in() {
    check(|| {
        let index = with::<Fixed>(1);
        beside(
            &index,
            |index| count(index, key(0) + 2),
            |index| count(index, key(0) + 1),
        );
        assert_eq!(keys(&*index), [0, 1, 2].map(|n| key(0) + n));
    });
}

#[test]
fn a_key_goes_out_of_a_run_that_grows() {
    check(|| {
        let index = with::<Fixed>(1);
        put(&*index, key(0) + 1, 1);
        beside(
            &index,
            |index| count(index, key(0) + 2),
            |index| remove(index, key(0)),
        );
        assert_eq!(keys(&*index), [key(0) + 1, key(0) + 2]);
    });
}

#[test]
fn a_head_is_put_in_once() {
    check(|| {
        let index = with::<Split>(0);
        beside(
            &index,
            |index| put(index, upper(1), 1),
            |index| put(index, upper(2), 2),
        );
        assert_eq!(keys(&*index), [upper(1), upper(2)]);
        assert_eq!(
            (get(&*index, upper(1)), get(&*index, upper(2))),
            (Some(1), Some(2))
        );
    });
}

#[test]
fn a_head_is_begun_at_when_it_is_in_the_list() {
    check(|| {
        let index = with::<Split>(2);
        let read = |index: &Split| {
            assert!(matches!(get(index, upper(1)), None | Some(1)));
            assert_eq!(get(index, key(1)), Some(1), "it is there throughout");
        };
        beside(&index, read, |index| put(index, upper(1), 1));
        assert_eq!(get(&*index, upper(1)), Some(1));
    });
}

#[test]
fn a_head_is_put_in_behind_a_node_that_is_taken_out() {
    check(|| {
        let index = with::<Split>(1);
        beside(
            &index,
            |index| put(index, upper(1), 1),
            |index| remove(index, key(0)),
        );
        assert_eq!(keys(&*index), [upper(1)]);
        assert_eq!(get(&*index, upper(1)), Some(1));
    });
}

#[test]
fn buckets_double_while_a_reader_looks() {
    check(|| {
        let index = with::<Split>(2);
        let read = |index: &Split| {
            assert_eq!(get(index, key(1)), Some(1), "it is there throughout");
            assert!(matches!(get(index, upper(1)), None | Some(1)));
        };
        // The third entry doubles the table, the fourth puts the head of a new bucket in.
        beside(&index, read, |index| {
            put(index, upper(1), 1);
            put(index, upper(1 << 22), 1);
        });
        assert_eq!(index.slots(), 4);
        assert_eq!(keys(&*index), [key(0), key(1), upper(1), upper(1 << 22)]);
    });
}
