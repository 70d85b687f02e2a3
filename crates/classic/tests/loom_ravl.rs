//! The edges of relaxed AVL trees under every interleaving and every value that a load may return:
//! `RUSTFLAGS='--cfg loom --cfg fyris_small' cargo test -p fyris-classic --release --test loom_ravl`.
//!
//! The value of an entry is in a cell that loom watches, and looking at an entry or a node that would have been freed
//! fails. Trees have three nodes at most: what is rotated and taken out is as large as that.
#![cfg(loom)]

#[path = "../../index/tests/models/mod.rs"]
mod models;

use std::ops::Bound::Unbounded;
use std::sync::Arc;

use fyris_classic::RelaxedAvl;
use fyris_index::reclaim::{check, pin};
use fyris_index::{Action, Entry, Index, OrderedIndex};
use fyris_sync::thread::spawn;

use models::{Handle, add, get, put, remove};

type Tree = RelaxedAvl<Handle>;

fn with(keys: &[u64]) -> Arc<Tree> {
    let tree = Arc::new(Tree::default());
    keys.iter().for_each(|key| put(&*tree, *key, *key));
    tree
}

/// Runs `other` in another thread beside `first` in this one, which loom runs first.
fn beside(tree: &Arc<Tree>, other: fn(&Tree), first: fn(&Tree)) {
    let thread = spawn({
        let tree = tree.clone();
        move || other(&tree)
    });
    first(tree);
    thread.join().unwrap();
}

fn keys(tree: &Tree) -> Vec<u64> {
    let (pin, mut batch) = (pin(), Vec::new());
    assert!(!tree.scan((Unbounded, Unbounded), usize::MAX, &pin, &mut batch));
    batch.iter().map(|entry| *entry.key()).collect()
}

#[test]
fn an_entry_is_published() {
    check(|| {
        let tree = with(&[]);
        let read = |tree: &Tree| assert!(matches!(get(tree, 1), None | Some(42)));
        beside(&tree, read, |tree| put(tree, 1, 42));
        assert_eq!(get(&*tree, 1), Some(42));
    });
}

#[test]
fn an_entry_is_replaced_at_once() {
    check(|| {
        let tree = with(&[1]);
        let read = |tree: &Tree| assert!(matches!(get(tree, 1), Some(1 | 2)));
        beside(&tree, read, |tree| add(tree, 1));
    });
}

#[test]
fn an_entry_is_out_of_its_node_before_it_is_freed() {
    check(|| {
        let tree = with(&[1]);
        let read = |tree: &Tree| assert!(matches!(get(tree, 1), None | Some(1)));
        beside(&tree, read, |tree| remove(tree, 1));
        assert_eq!(keys(&tree), []);
    });
}

/// The node of 1 sinks below that of 2, which then has the keys from 2 on.
#[test]
fn a_reader_is_told_of_a_rotation() {
    check(|| {
        let tree = with(&[1, 2]);
        let read = |tree: &Tree| assert_eq!(get(tree, 2), Some(2), "it is there throughout");
        beside(&tree, read, |tree| put(tree, 3, 3));
        assert_eq!(keys(&tree), [1, 2, 3]);
    });
}

/// The node of 2 rises from below that of 3, which sinks below it, as does that of 1.
#[test]
fn a_reader_is_told_of_a_double_rotation() {
    check(|| {
        let tree = with(&[1, 3]);
        let read = |tree: &Tree| assert_eq!(get(tree, 3), Some(3), "it is there throughout");
        beside(&tree, read, |tree| put(tree, 2, 2));
        assert_eq!(keys(&tree), [1, 2, 3]);
    });
}

/// The node of 3 takes the place of that of 2.
#[test]
fn a_reader_is_told_of_a_removal_in_the_middle() {
    check(|| {
        let tree = with(&[2, 1, 3]);
        let read = |tree: &Tree| assert_eq!(get(tree, 3), Some(3), "it is there throughout");
        beside(&tree, read, |tree| remove(tree, 2));
        assert_eq!(keys(&tree), [1, 3]);
    });
}

#[test]
fn two_writers_put_one_key_in() {
    check(|| {
        let tree = with(&[]);
        let count = |tree: &Tree| {
            let pin = pin();
            let old = tree.upsert(&1, &pin, |old| {
                let new = Handle::new(1, old.map_or(1, |old: Handle| old.value() + 1));
                (Action::Put(new), old)
            });
            // SAFETY: taken out by this upsert.
            old.into_iter().for_each(|old| unsafe { old.retire(&pin) });
        };
        beside(&tree, count, count);
        assert_eq!((get(&*tree, 1), tree.len()), (Some(2), 1));
    });
}

/// A writer that has found its gap below a node puts its own there when that one has gone.
#[test]
fn a_node_is_put_in_below_one_that_is_taken_out() {
    check(|| {
        let tree = with(&[1]);
        beside(&tree, |tree| put(tree, 2, 2), |tree| remove(tree, 1));
        assert_eq!(keys(&tree), [2]);
        assert_eq!((get(&*tree, 2), tree.len()), (Some(2), 1));
    });
}

/// The node of the next key, which is to take the place of the other, is dead itself.
#[test]
fn neighbours_are_taken_out() {
    check(|| {
        let tree = with(&[2, 1, 3]);
        beside(&tree, |tree| remove(tree, 3), |tree| remove(tree, 2));
        assert_eq!((keys(&tree), tree.len()), (vec![1], 1));
    });
}

/// A snapshot of a tree that a writer is at work on does not change.
#[test]
fn a_snapshot_is_taken_beside_a_writer() {
    check(|| {
        let tree = Arc::new(RelaxedAvl::<Handle, true>::default());
        put(&*tree, 1, 1);
        let writer = spawn({
            let tree = tree.clone();
            move || add(&*tree, 1)
        });
        let snapshot = tree.snapshot();
        let seen = [1, 2].map(|_| snapshot.get(&1).map(Handle::value));
        assert!(
            seen[0] == seen[1] && matches!(seen[0], Some(1 | 2)),
            "{seen:?}"
        );
        writer.join().unwrap();
        assert_eq!(snapshot.get(&1).map(Handle::value), seen[0]);
        drop(snapshot);
        assert_eq!(get(&*tree, 1), Some(2));
    });
}

#[test]
fn a_walk_passes_a_node_that_is_taken_out() {
    check(|| {
        let tree = with(&[1, 2]);
        let read = |tree: &Tree| {
            let pin = pin();
            let last = tree.seek_back(Unbounded, &pin).map(|entry| *entry.key());
            assert!(last == Some(2) || last == Some(1), "{last:?}");
        };
        beside(&tree, read, |tree| remove(tree, 2));
    });
}
