//! Keys that cut an index into even parts, and guesses at ranks.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

#[cfg(not(fyris_small))]
use std::ops::Bound::{self, Excluded, Included, Unbounded};

use fyris_index::conformance::{Census, Object, put};
#[cfg(not(fyris_small))]
use fyris_index::{Entry, OrderedIndex};
use fyris_index::{HashIndex, Index, Ordered};
use fyris_sync::reclaim::pin;

#[cfg(not(fyris_small))]
fn count_between(index: &impl Index<Object>, from: Bound<u64>, to: Bound<u64>) -> usize {
    let mut batch = Vec::new();
    let range = (from.as_ref(), to.as_ref());
    assert!(!index.scan(range, usize::MAX / 2, &pin(), &mut batch));
    batch.len()
}

#[cfg(not(fyris_small))]
fn parts_are_even(index: &impl Index<Object>, count: u64) {
    let census = Census::new();
    (0..count).for_each(|k| {
        put(
            index,
            &census,
            k.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            k,
            &pin(),
        );
    });
    for parts in [1, 2, 3, 7] {
        let mut cuts = Vec::new();
        let pin = pin();
        index.split(parts, &pin, &mut cuts);
        assert_eq!(cuts.len(), parts - 1);
        let ends: Vec<_> = cuts
            .iter()
            .map(|e| Excluded(*e.key()))
            .chain([Unbounded])
            .collect();
        let begins = [Unbounded]
            .into_iter()
            .chain(cuts.iter().map(|e| Included(*e.key())));
        let mut total = 0;
        for (from, to) in begins.zip(ends) {
            let size = count_between(index, from, to);
            total += size as u64;
            let even = count as usize / parts;
            assert!(
                size > even / 2 && size < even * 2,
                "{size} of {even} in one of {parts}"
            );
        }
        assert_eq!(total, count);
    }
}

#[test]
#[cfg(not(fyris_small))]
fn splits_cut_into_even_parts() {
    parts_are_even(&Ordered::<Object>::new(), 50_000);
    parts_are_even(&HashIndex::<Object>::new(), 50_000);
}

#[test]
fn too_little_is_not_split() {
    let (tree, table) = (Ordered::<Object>::new(), HashIndex::<Object>::new());
    let census = Census::new();
    for index in [&tree as &dyn Split, &table] {
        assert_eq!(index.cuts(4), 0);
    }
    put(&tree, &census, 1, 1, &pin());
    put(&table, &census, 1, 1, &pin());
    assert!(tree.cuts(4) <= 1 && table.cuts(4) <= 1);
}

trait Split {
    fn cuts(&self, parts: usize) -> usize;
}

impl<I: Index<Object>> Split for I {
    fn cuts(&self, parts: usize) -> usize {
        let mut cuts = Vec::new();
        self.split(parts, &pin(), &mut cuts);
        cuts.len()
    }
}

#[test]
#[cfg(not(fyris_small))]
fn shares_are_near_the_truth() {
    const COUNT: u64 = 40_000;
    let (census, tree) = (Census::new(), Ordered::<Object>::new());
    (0..COUNT).for_each(|k| _ = put(&tree, &census, k, k, &pin()));
    for k in (0..=COUNT).step_by(997) {
        let share = tree.estimated_rank(Included(&k), &pin());
        let off = (share - k as f64 / COUNT as f64).abs();
        assert!(off < 0.1, "{k}: {share}");
    }
    assert_eq!(tree.estimated_rank(Unbounded, &pin()), 0.0);
    assert_eq!(tree.estimated_rank(Excluded(&COUNT), &pin()), 1.0);
}
