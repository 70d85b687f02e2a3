//! Ranges that are taken out of a tree, while others write.
#![cfg(not(any(loom, shuttle)))]

use std::borrow::Borrow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use fyris_index::ordered::TreeKey;
use fyris_index::tree::{Boxed, Inline, MakeItem, PinnedTree, TreeMap};
use fyris_index::{BytesTree, ConcurrentTree, InlineTree};

/// What a tree is told of each pair that is taken out, with no lock held.
type Told = fn(&u64, &u64) -> usize;

fn squares(told: Told) -> ConcurrentTree<u64, u64> {
    let tree = ConcurrentTree::new().with_weigher(told);
    (0..100).for_each(|n| _ = tree.pin().insert(n, n * n));
    tree
}

/// A writer that puts in another key behind each that goes, until there are far more than there were.
#[test]
fn a_writer_that_appends_is_not_chased() {
    static TREE: OnceLock<ConcurrentTree<u64, u64>> = OnceLock::new();
    fn append(key: &u64, _: &u64) -> usize {
        if *key < 1000 {
            TREE.get().expect("set").pin().insert(key + 100, 0);
        }
        0
    }
    let tree = TREE.get_or_init(|| squares(append));
    assert_eq!(tree.pin().delete_range(0..), 100);
    assert_eq!(tree.pin().take_range(50..).len(), 100);
    assert!(tree.pin().keys().copied().eq(200..300));
    tree.pin().clear();
    assert!(tree.pin().keys().copied().eq(300..400));
}

/// A pair is returned as it was when it was taken out, and not as it was when its leaf was read.
#[test]
fn a_pair_that_has_been_replaced_is_taken_as_it_is() {
    static TREE: OnceLock<ConcurrentTree<u64, u64>> = OnceLock::new();
    fn change_next(key: &u64, _: &u64) -> usize {
        let tree = TREE.get().expect("set").pin();
        match key % 3 {
            0 => _ = tree.update(&(key + 1), |_| 1),
            1 => _ = tree.remove(&(key + 1)),
            _ => {}
        }
        0
    }
    let tree = TREE.get_or_init(|| squares(change_next));
    let pinned = tree.pin();
    let taken = pinned.take_range(30..=35);
    assert_eq!(taken, [(&30, &900), (&31, &1), (&33, &1089), (&34, &1)]);
    assert_eq!(pinned.len(), 94);
}

/// Each value that is put in comes out once: by a range that is taken, by a writer that replaces it, or at the end.
fn each_value_comes_out_once<K, S>(key: impl Fn(u64) -> K + Sync)
where
    K: TreeKey + Send + Sync,
    S: MakeItem<K, K, u64>,
    TreeMap<K, u64, S>: Sync,
{
    const KEYS: u64 = 200;
    const EACH: u64 = 4000;
    let tree = TreeMap::<K, u64, S>::new();
    let (next, came_out) = (AtomicU64::new(0), AtomicU64::new(0));
    let sum = |values: &[&u64]| values.iter().map(|value| **value).sum::<u64>();
    let count = |pinned: &PinnedTree<'_, K, u64, S>, from: u64| {
        let taken = pinned.take_range::<K, _>(key(from)..key(from + 60));
        assert!(taken.is_sorted_by(|(a, _), (b, _)| Borrow::<K>::borrow(a) < b.borrow()));
        let values: Vec<_> = taken.into_iter().map(|(_, value)| value).collect();
        came_out.fetch_add(sum(&values), Ordering::Relaxed);
    };
    std::thread::scope(|s| {
        for writer in 0..2 {
            let (tree, key, next, came_out) = (&tree, &key, &next, &came_out);
            s.spawn(move || {
                for step in 0..EACH {
                    let (value, pinned) = (next.fetch_add(1, Ordering::Relaxed), tree.pin());
                    let old = pinned.insert(key((step * 7 + writer) % KEYS), value);
                    came_out.fetch_add(old.copied().unwrap_or(0), Ordering::Relaxed);
                }
            });
        }
        for taker in 0..2 {
            let (tree, count) = (&tree, &count);
            s.spawn(move || {
                (0..200).for_each(|n| count(&tree.pin(), (n * 13 + taker * 40) % KEYS))
            });
        }
    });
    let pinned = tree.pin();
    let rest = pinned.take_range::<K, _>(..);
    let rest: Vec<_> = rest.into_iter().map(|(_, value)| value).collect();
    assert!(pinned.is_empty());
    assert_eq!(came_out.into_inner() + sum(&rest), (0..2 * EACH).sum());
}

#[test]
fn integers_come_out_once() {
    each_value_comes_out_once::<u64, Inline>(|n| n);
}

#[test]
fn strings_come_out_once() {
    each_value_comes_out_once::<String, Boxed>(|n| format!("a prefix for all {n:04}"));
}

#[test]
fn nothing_is_taken_out_of_nothing() {
    let tree = InlineTree::<u32, u32>::new();
    assert_eq!(tree.pin().delete_range(..), 0);
    assert_eq!(tree.pin().remove_entry(&1), None);
    let tree = BytesTree::from([("a", 1), ("b", 2)]);
    assert_eq!(tree.pin().delete_range("c".."b"), 0);
    assert_eq!(tree.pin().take_range("a".."a"), []);
    assert_eq!(tree.len(), 2);
}
