//! The shape of a tree at rest, after changes that came one after another or from several threads.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use fyris_index::conformance::{Census, Object, put, remove};
use fyris_index::key::{Opaque, TreeKey};
use fyris_index::reclaim::pin;
use fyris_index::{Action, Entry, Figure, Index, OrderedIndex};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::odd_keys::{COMPARE, Itself, Odd, honest};
use crate::place::Keyed;

use super::RelaxedAvl;
use super::node::{AvlNodeRef, HIGH, LOW};

type Tree = RelaxedAvl<Object>;

/// Returns the entries in their order, after a check of every node: its height, its balance, its parent, its state.
fn checked<E: Entry<Key: TreeKey>, const S: bool>(tree: &RelaxedAvl<E, S>) -> Vec<E> {
    let mut entries = Vec::new();
    if let Some(root) = tree.holder().child(HIGH) {
        assert_eq!(root.parent(), Some(tree.holder()));
        check(root, &mut entries);
    }
    assert_eq!(entries.len(), tree.count());
    entries
}

fn check<E: Entry<Key: TreeKey>>(node: AvlNodeRef<'_>, entries: &mut Vec<E>) {
    assert!(node.version().is_steady() && !node.version().is_locked());
    let children = [LOW, HIGH].map(|side| node.child(side));
    for child in children.into_iter().flatten() {
        assert_eq!(child.parent(), Some(node));
    }
    if let Some(low) = children[LOW] {
        check(low, entries);
    }
    let entry = node.entry::<E>().expect("no dead node stays");
    assert_eq!(node.prefix(), entry.key().key_prefix(0));
    entries.push(entry);
    if let Some(high) = children[HIGH] {
        check(high, entries);
    }
    let [low, high] = node.heights();
    assert!(low.abs_diff(high) < 2, "balanced: {low} and {high}");
    assert_eq!(node.height(), low.max(high) + 1);
}

/// Returns the keys, after a check of every node.
pub(super) fn keys<const S: bool>(tree: &RelaxedAvl<Object, S>) -> Vec<u64> {
    let _pin = pin();
    checked(tree).iter().map(|entry| *entry.key()).collect()
}

fn with(keys: impl Iterator<Item = u64>) -> (Arc<Census>, Tree) {
    let (census, tree) = (Census::new(), Tree::default());
    keys.for_each(|key| _ = put(&tree, &census, key, key, &pin()));
    (census, tree)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_tree_is_balanced_after_each_change(changes in prop::collection::vec((any::<bool>(), 0u64..80), 1..300)) {
        let (census, tree, mut model) = (Census::new(), Tree::default(), BTreeMap::new());
        for (nth, (puts, key)) in changes.into_iter().enumerate() {
            let value = nth as u64;
            if puts {
                prop_assert_eq!(put(&tree, &census, key, value, &pin()), model.insert(key, value));
            } else {
                prop_assert_eq!(remove(&tree, key, &pin()), model.remove(&key));
            }
            prop_assert!(keys(&tree).iter().eq(model.keys()));
        }
        for (key, value) in &model {
            prop_assert_eq!(tree.get(key, &pin()).map(|entry| entry.value()), Some(*value));
        }
    }
}

/// Every node of trees of every shape that insertion gives: leaves, nodes with a child, with a near next node and with
/// a distant one.
#[test]
fn any_node_can_be_taken_out() {
    for size in 1..40 {
        for gone in 0..size {
            let (_, tree) = with((0..size).map(|key| key * 7 % 41));
            let all = keys(&tree);
            let gone = all[gone as usize];
            remove(&tree, gone, &pin());
            let left: Vec<u64> = all.into_iter().filter(|key| *key != gone).collect();
            assert_eq!(keys(&tree), left);
        }
    }
}

#[test]
fn a_tree_that_was_filled_in_order_is_low() {
    for keys in [Vec::from_iter(0..1023), Vec::from_iter((0..1023).rev())] {
        let (_, tree) = with(keys.into_iter());
        assert_eq!(checked(&tree).len(), 1023);
        let depth = tree.describe(&pin());
        assert_eq!(depth.get("depth"), Some(Figure::Count(10)));
    }
}

/// REPAIRED: whatever the threads have done to one another's nodes, at rest it is an AVL tree.
#[test]
fn a_tree_is_balanced_when_its_writers_rest() {
    const ROUNDS: u64 = if cfg!(fyris_small) { 10 } else { 60 };
    let (census, tree) = (Census::new(), Tree::default());
    for round in 0..ROUNDS {
        std::thread::scope(|s| {
            for thread in 0..4 {
                let (census, tree) = (&census, &tree);
                s.spawn(move || {
                    let mut random = SmallRng::seed_from_u64(round << 8 | thread);
                    for step in 0..400 {
                        let (key, pin) = (random.random_range(0..1 << (4 + round % 6)), pin());
                        match random.random_range(0..5) {
                            0 | 1 => _ = put(tree, census, key, step, &pin),
                            // In order, which turns the same nodes again and again.
                            2 => _ = put(tree, census, 1000 + 4 * step + thread, step, &pin),
                            3 => _ = remove(tree, 1000 + step, &pin),
                            _ => _ = remove(tree, key, &pin),
                        }
                    }
                });
            }
        });
        assert!(keys(&tree).is_sorted_by(|a, b| a < b));
    }
    drop(tree);
    census.assert_all_freed();
}

#[test]
fn memory_is_that_of_the_nodes() {
    let empty = Tree::default().memory();
    let (_, tree) = with(0..1000);
    assert_eq!(tree.memory() - empty - tree.entries.memory(), 48_000);
    (0..1000).for_each(|key| _ = remove(&tree, key, &pin()));
    assert_eq!(tree.memory(), empty + tree.entries.memory());
}

#[test]
fn cuts_and_ranks_are_near_the_truth() {
    let orders: [fn(u64) -> u64; 3] = [|n| n, |n| 19_999 - n, |n| n * 7919 % 20_000];
    for order in orders {
        let (_, tree) = with((0..20_000).map(order));
        let mut cuts = Vec::new();
        tree.split(4, &pin(), &mut cuts);
        let keys: Vec<u64> = cuts.iter().map(|entry| *entry.key()).collect();
        assert_eq!(keys.len(), 3);
        for (nth, key) in keys.iter().enumerate() {
            let wanted = 5000 * (nth as u64 + 1);
            assert!(key.abs_diff(wanted) < 1000, "{keys:?}");
        }
        for key in [0, 3000, 10_000, 19_000] {
            let rank = tree.estimated_rank(Included(&key), &pin());
            assert!((rank - key as f64 / 20_000.0).abs() < 0.1, "{key}: {rank}");
        }
        assert!(tree.estimated_rank(Unbounded, &pin()) < 0.001);
        assert!(tree.estimated_rank(Excluded(&u64::MAX), &pin()) > 0.999);
    }
    let (_, few) = with(0..3);
    let mut cuts = Vec::new();
    few.split(4, &pin(), &mut cuts);
    assert!(cuts.is_empty(), "too few to cut");
    let none = Tree::default();
    none.split(4, &pin(), &mut cuts);
    assert!(cuts.is_empty() && none.estimated_rank(Excluded(&1), &pin()) == 0.0);
}

type Oddities = RelaxedAvl<Itself>;

fn odd_keys(tree: &Oddities) -> Vec<u8> {
    checked(tree).iter().map(|entry| entry.0.0.0).collect()
}

fn oddities(keys: impl IntoIterator<Item = u8>) -> Oddities {
    COMPARE.set(honest);
    let tree = Oddities::default();
    for key in keys.into_iter().map(|key| Opaque(Odd(key))) {
        tree.upsert(&key, &pin(), |_| (Action::Put(Itself(key)), ()));
    }
    tree
}

/// An order that is none hides keys, but the tree keeps its shape, and a node that is freed is not in it.
#[test]
fn a_tree_of_keys_without_an_order_keeps_its_shape() {
    for odd in 0..30 {
        let tree = oddities(0..30);
        let calls = Cell::new(0);
        tree.upsert(&Opaque(Odd(odd)), &pin(), |old| {
            calls.set(calls.get() + usize::from(old.is_some()));
            // From now on each key is below all others.
            COMPARE.set(|a, b| match a == b {
                true => Ordering::Equal,
                false => Ordering::Greater,
            });
            (Action::Remove, ())
        });
        assert_eq!((calls.get(), odd_keys(&tree).len()), (1, 29));
        for key in (30..50).map(|key| Opaque(Odd(key))) {
            tree.upsert(&key, &pin(), |_| (Action::Put(Itself(key)), ()));
        }
        let mut batch = Vec::new();
        tree.scan((Unbounded, Unbounded), 7, &pin(), &mut batch);
        assert_eq!((batch.len(), odd_keys(&tree).len()), (7, 49));
    }
}

/// A comparison that panics leaves no lock behind and the tree as it was; behind the closure nothing is compared.
#[test]
fn comparisons_may_panic() {
    let fails: fn(u8, u8) -> Ordering = |_, _| resume_unwind(Box::new(()));
    for key in 0..20 {
        let tree = oddities((0..20).filter(|key| key % 2 == 0));
        let key = Opaque(Odd(key));
        COMPARE.set(fails);
        let search = || tree.upsert(&key, &pin(), |_| (Action::Put(Itself(key)), ()));
        assert!(catch_unwind(AssertUnwindSafe(search)).is_err());
        COMPARE.set(honest);
        assert_eq!(odd_keys(&tree).len(), 10);
        let change = |action: Action<Itself>| {
            tree.upsert(&key, &pin(), |_| {
                COMPARE.set(fails);
                (action, ())
            });
            COMPARE.set(honest);
        };
        change(Action::Put(Itself(key)));
        assert_eq!(odd_keys(&tree).len(), 10 + usize::from(key.0.0 % 2 == 1));
        change(Action::Remove);
        let left: Vec<u8> = (0..20).filter(|n| n % 2 == 0 && *n != key.0.0).collect();
        assert_eq!(odd_keys(&tree), left);
    }
}
