//! The shape of a list after changes that came one after another.

use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;

use super::{HEIGHT, SkipList};
use crate::conformance::{Census, Object, put, remove};
use crate::reclaim::pin;
use crate::{Entry, Index, OrderedIndex};

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

/// Returns the keys of a level.
fn level(index: &Known, level: usize) -> Vec<u64> {
    let nodes = std::iter::successors(index.head().next(level), |node| node.next(level));
    nodes
        .map(|node| *node.any_entry::<Object>().key())
        .collect()
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
    assert!((least..least * 9 / 8).contains(&(index.memory() - empty)));
    (0..1000).for_each(|key| _ = remove(&index, key, &pin()));
    assert!(index.memory() <= empty + 4096, "stripes of counters stay");
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
        index.upsert(&5, &pin(), |_| -> (crate::Action<Object>, ()) {
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
