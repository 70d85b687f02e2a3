//! The shape of a list after changes that came one after another.

use std::cell::Cell;
use std::cmp::Ordering;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use fyris_index::conformance::{Census, Object, put, remove};
use fyris_index::key::Opaque;
use fyris_index::reclaim::pin;
use fyris_index::{Action, Entry, Index, OrderedIndex};

use crate::odd_keys::{COMPARE, Itself, Odd, honest};
use crate::place::Keyed;

use super::{HEIGHT, SkipList};

/// Heights from 1 up to the highest, by the low bits of the key.
#[derive(Default)]
struct ByLowBits(u64);

impl Hasher for ByLowBits {
    fn write(&mut self, _: &[u8]) {
        unreachable!("numbers are hashed");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
    fn finish(&self) -> u64 {
        1 << (self.0 % HEIGHT as u64)
    }
}

/// Heights that look random and are the same each time.
type Random = SkipList<Object, foldhash::fast::FixedState>;
type Known = SkipList<Object, BuildHasherDefault<ByLowBits>>;

fn with<I: Index<Object> + Default>(keys: impl Iterator<Item = u64>) -> (Arc<Census>, I) {
    let (census, index) = (Census::new(), I::default());
    keys.for_each(|key| _ = put(&index, &census, key, key, &pin()));
    (census, index)
}

/// Returns the entries of a level.
fn entries<E: Entry, S>(index: &SkipList<E, S>, level: usize) -> impl Iterator<Item = E> {
    let nodes = std::iter::successors(index.head().next(level), move |node| node.next(level));
    nodes.map(|node| node.any_entry())
}

/// Returns the keys of a level.
fn level(index: &Known, level: usize) -> Vec<u64> {
    entries(index, level).map(|object| *object.key()).collect()
}

#[test]
fn nodes_are_in_their_levels_and_leave_them() {
    let _pin = pin();
    let (_, index) = with::<Known>((0..100).rev());
    for at in 0..HEIGHT {
        let is_there = |key: &u64| *key % HEIGHT as u64 >= at as u64;
        let keys: Vec<u64> = (0..100).filter(is_there).collect();
        assert_eq!(level(&index, at), keys, "level {at}");
    }
    (0..100).for_each(|key| _ = remove(&index, key * 37 % 100, &pin()));
    assert!((0..HEIGHT).all(|at| level(&index, at).is_empty()));
    assert_eq!(index.len(), 0);
}

#[test]
fn memory_is_that_of_the_nodes() {
    let empty = Known::default().memory();
    let (_, index) = with::<Known>(0..1000);
    let size = |height: usize| 16 + 8 * height;
    let bytes = |key: u64| size(1 + (key % HEIGHT as u64) as usize).next_multiple_of(16);
    let least: usize = (0..1000).map(bytes).sum();
    // The allocator rounds large nodes to an eighth of their size.
    let counters = index.entries.memory() + index.bytes.memory();
    let nodes = index.memory() - empty - counters;
    assert!((least..least * 9 / 8).contains(&nodes));
    (0..1000).for_each(|key| _ = remove(&index, key, &pin()));
    assert_eq!(index.memory(), empty + counters);
}

/// Half of the nodes of a level are in the next: 37 bytes an entry.
#[test]
fn a_node_takes_37_bytes() {
    let (_, index) = with::<Random>(0..20_000);
    let each = index.memory() / 20_000;
    assert!((32..44).contains(&each), "{each} bytes an entry");
}

#[test]
fn cuts_and_ranks_are_near_the_truth() {
    let (_, index) = with::<Random>(0..20_000);
    let mut cuts = Vec::new();
    index.split(4, &pin(), &mut cuts);
    let keys: Vec<u64> = cuts.iter().map(|entry| *entry.key()).collect();
    assert_eq!(keys.len(), 3);
    for (nth, key) in keys.iter().enumerate() {
        let wanted = 5000 * (nth as u64 + 1);
        assert!(key.abs_diff(wanted) < 4000, "{keys:?}");
    }
    for key in [0, 3000, 10_000, 19_000] {
        let rank = index.estimated_rank(Included(&key), &pin());
        assert!((rank - key as f64 / 20_000.0).abs() < 0.2, "{key}: {rank}");
    }
    assert_eq!(index.estimated_rank(Unbounded, &pin()), 0.0);
    assert_eq!(index.estimated_rank(Excluded(&u64::MAX), &pin()), 1.0);
    let (_, few) = with::<Random>(0..3);
    let mut cuts = Vec::new();
    few.split(4, &pin(), &mut cuts);
    assert!(cuts.is_empty(), "too few to cut");
}

/// A new node is unlocked, and an absent key stays absent, when the closure panics.
#[test]
fn a_gap_is_free_after_a_panic() {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    let (census, index) = with::<Known>([1, 9].into_iter());
    let panics = || {
        index.upsert(&5, &pin(), |_| -> (fyris_index::Action<Object>, ()) {
            resume_unwind(Box::new(()))
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    for key in [1, 5, 9] {
        put(&index, &census, key, key, &pin());
    }
    let _pin = pin();
    assert_eq!(level(&index, 0), [1, 5, 9]);
}

type Oddities = SkipList<Itself, BuildHasherDefault<Same>>;

/// Nodes of five levels.
#[derive(Default)]
struct Same;

impl Hasher for Same {
    fn write(&mut self, _: &[u8]) {}
    fn finish(&self) -> u64 {
        1 << (4 * super::BRANCHING.ilog2())
    }
}

/// Returns the keys of a level.
fn odd_level(index: &Oddities, level: usize) -> Vec<u8> {
    entries(index, level).map(|entry| entry.0.0.0).collect()
}

fn oddities(keys: &[u8]) -> Oddities {
    COMPARE.set(honest);
    let index = Oddities::default();
    for key in keys.iter().map(|key| Opaque(Odd(*key))) {
        index.upsert(&key, &pin(), |_| (Action::Put(Itself(key)), ()));
    }
    index
}

fn take(index: &Oddities, key: u8) {
    index.upsert(&Opaque(Odd(key)), &pin(), |_| (Action::Remove, ()));
}

/// An order that is none hides keys, but a node that is freed is in no level.
#[test]
fn keys_without_an_order_leave_all_levels() {
    let _pin = pin();
    for odd in 1..6 {
        let index = oddities(&[1, 2, 3, 4, 5, 6]);
        let calls = Cell::new(0);
        index.upsert(&Opaque(Odd(odd)), &pin(), |old| {
            calls.set(calls.get() + usize::from(old.is_some()));
            // From now on each key is below all others.
            COMPARE.set(|a, b| {
                if a == b {
                    Ordering::Equal
                } else {
                    Ordering::Greater
                }
            });
            (Action::Remove, ())
        });
        assert_eq!((calls.get(), index.len()), (1, 5));
        COMPARE.set(honest);
        let left: Vec<u8> = (1..=6).filter(|key| *key != odd).collect();
        (0..5).for_each(|level| assert_eq!(odd_level(&index, level), left, "{level}"));
    }
}

/// A comparison that panics while a node is taken out does not leave it behind, nor a lock.
#[test]
fn a_node_leaves_though_comparisons_panic() {
    let _pin = pin();
    let index = oddities(&[1, 2, 3, 4]);
    let panics = || {
        index.upsert(&Opaque(Odd(3)), &pin(), |_| {
            COMPARE.set(|_, _| resume_unwind(Box::new(())));
            (Action::Remove, ())
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    COMPARE.set(honest);
    (0..5).for_each(|level| assert_eq!(odd_level(&index, level), [1, 2, 4]));
    assert_eq!(index.len(), 3);
    (1..5).for_each(|key| take(&index, key));
    assert!((0..5).all(|level| odd_level(&index, level).is_empty()));
}

/// A comparison that panics while a node is put into its higher levels leaves it in the lower ones, from which it can
/// be taken out.
#[test]
fn a_node_of_fewer_levels_than_planned_can_leave() {
    let _pin = pin();
    let index = oddities(&[1, 2, 4]);
    let panics = || {
        index.upsert(&Opaque(Odd(3)), &pin(), |_| {
            COMPARE.set(|_, _| resume_unwind(Box::new(())));
            (Action::Put(Itself(Opaque(Odd(3)))), ())
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    COMPARE.set(honest);
    assert_eq!(odd_level(&index, 0), [1, 2, 3, 4]);
    (1..5).for_each(|key| take(&index, key));
    assert!((0..5).all(|level| odd_level(&index, level).is_empty()));
    assert_eq!(index.len(), 0);
}
