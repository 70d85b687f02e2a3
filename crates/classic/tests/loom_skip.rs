//! The edges of skip lists under every interleaving and every value that a load may return:
//! `RUSTFLAGS='--cfg loom --cfg fyris_small' cargo test -p fyris-classic --release --test loom_skip`.
//!
//! Nodes have one level or two. The value of an entry is in a cell that loom watches, and looking at an entry or a node
//! that would have been freed fails.
#![cfg(loom)]

#[path = "../../index/tests/models/mod.rs"]
mod models;

use std::hash::{BuildHasher, Hasher};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use fyris_classic::SkipList;
use fyris_index::reclaim::{check, pin};
use fyris_index::{Action, Entry, Index, OrderedIndex};
use fyris_sync::thread::spawn;

use models::{Handle, add, get, put, remove};

/// Makes the height of a key's node what [`low`] and [`high`] say.
#[derive(Clone, Copy, Default)]
struct Chosen(u64);

impl BuildHasher for Chosen {
    type Hasher = Self;
    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for Chosen {
    fn write(&mut self, _: &[u8]) {
        unreachable!("numbers are hashed");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
    fn finish(&self) -> u64 {
        1 << (self.0 % 2)
    }
}

type List = SkipList<Handle, Chosen>;

/// Returns the `n`-th key whose node is in one level.
fn low(n: u64) -> u64 {
    2 * n
}

/// Returns the key behind that, whose node is in two levels.
fn high(n: u64) -> u64 {
    2 * n + 1
}

fn with(keys: &[u64]) -> Arc<List> {
    let list = Arc::new(List::default());
    keys.iter().for_each(|key| put(&*list, *key, *key));
    list
}

/// Runs `other` in another thread beside `first` in this one, which loom runs first.
fn beside(list: &Arc<List>, other: fn(&List), first: fn(&List)) {
    let thread = spawn({
        let list = list.clone();
        move || other(&list)
    });
    first(list);
    thread.join().unwrap();
}

fn keys(list: &List) -> Vec<u64> {
    let (pin, mut batch) = (pin(), Vec::new());
    assert!(!list.scan((Unbounded, Unbounded), usize::MAX, &pin, &mut batch));
    batch.iter().map(|entry| *entry.key()).collect()
}

/// Adds one to the value at a key, or puts one there.
fn count(list: &List, key: u64) {
    let pin = pin();
    let old = list.upsert(&key, &pin, |old| {
        let new = Handle::new(key, old.map_or(1, |old| old.value() + 1));
        (Action::Put(new), old)
    });
    // SAFETY: taken out by this upsert.
    old.into_iter().for_each(|old| unsafe { old.retire(&pin) });
}

/// A key comes between a place that is sought and the node before it.
#[test]
fn what_is_found_is_behind_the_place() {
    check(|| {
        let list = with(&[low(1), low(4)]);
        let seek = |list: &List| {
            let found = list.seek(Excluded(&low(3)), &pin());
            assert_eq!(found.map(|entry| *entry.key()), Some(low(4)));
        };
        beside(&list, seek, |list| put(list, low(2), low(2)));
    });
}

#[test]
fn an_entry_is_published() {
    check(|| {
        let list = with(&[low(1)]);
        let read = |list: &List| assert!(matches!(get(list, high(2)), None | Some(42)));
        beside(&list, read, |list| put(list, high(2), 42));
        assert_eq!(get(&*list, high(2)), Some(42));
    });
}

#[test]
fn an_entry_is_out_of_its_node_before_it_is_freed() {
    check(|| {
        let list = with(&[high(1), low(2)]);
        let read = |list: &List| {
            assert!(matches!(get(list, high(1)), None | Some(3)));
            assert_eq!(get(list, low(2)), Some(4), "it is there throughout");
        };
        beside(&list, read, |list| remove(list, high(1)));
        assert_eq!(keys(&list), [low(2)]);
    });
}

#[test]
fn an_entry_is_replaced_at_once() {
    check(|| {
        let list = with(&[low(1)]);
        let read = |list: &List| assert!(matches!(get(list, low(1)), Some(2 | 3)));
        beside(&list, read, |list| add(list, low(1)));
    });
}

#[test]
fn nodes_are_put_in_beside_each_other() {
    check(|| {
        let list = with(&[]);
        beside(
            &list,
            |list| put(list, high(1), 1),
            |list| put(list, high(2), 2),
        );
        assert_eq!(keys(&list), [high(1), high(2)]);
        assert_eq!(get(&*list, high(2)), Some(2));
    });
}

#[test]
fn a_node_is_put_in_behind_one_that_is_taken_out() {
    check(|| {
        let list = with(&[low(1)]);
        beside(
            &list,
            |list| put(list, low(2), 2),
            |list| remove(list, low(1)),
        );
        assert_eq!(keys(&list), [low(2)]);
        assert_eq!(list.len(), 1);
    });
}

/// A writer that has found its place before another node came there puts its own in when that one has left the lowest
/// level: readers must not come by the dead one any more.
#[test]
fn a_node_is_found_behind_one_that_is_taken_out() {
    check(|| {
        let list = with(&[]);
        let come_and_go = |list: &List| {
            put(list, high(1), 1);
            remove(list, high(1));
        };
        beside(&list, come_and_go, |list| {
            put(list, low(2), 2);
            assert_eq!(get(list, low(2)), Some(2), "it has been put in");
        });
        assert_eq!(keys(&list), [low(2)]);
    });
}

#[test]
fn neighbours_are_taken_out() {
    check(|| {
        let list = with(&[high(1), high(2)]);
        beside(
            &list,
            |list| remove(list, high(1)),
            |list| remove(list, high(2)),
        );
        assert_eq!((keys(&list), list.len()), (vec![], 0));
    });
}

#[test]
fn two_writers_put_one_key_in() {
    check(|| {
        let list = with(&[]);
        beside(
            &list,
            |list| count(list, high(1)),
            |list| count(list, high(1)),
        );
        assert_eq!((get(&*list, high(1)), list.len()), (Some(2), 1));
    });
}

#[test]
fn a_node_is_taken_out_while_it_is_put_in() {
    check(|| {
        let list = with(&[]);
        let take = |list: &List| {
            let pin = pin();
            let old = list.upsert(&high(1), &pin, |old| (Action::Remove, old));
            // SAFETY: taken out by this upsert.
            old.into_iter().for_each(|old| unsafe { old.retire(&pin) });
        };
        beside(&list, take, |list| put(list, high(1), 1));
        // What is left is found on each level, and what is gone is on none.
        assert_eq!(keys(&list).len(), list.len());
        put(&*list, high(2), 2);
        assert_eq!(get(&*list, high(2)), Some(2));
    });
}

#[test]
fn a_scan_downwards_passes_nodes_that_are_taken_out() {
    check(|| {
        let list = with(&[low(1), high(2)]);
        let read = |list: &List| {
            let pin = pin();
            let last = list.seek_back(Unbounded, &pin).map(|entry| *entry.key());
            assert!(last == Some(high(2)) || last == Some(low(1)), "{last:?}");
        };
        beside(&list, read, |list| remove(list, high(2)));
    });
}
