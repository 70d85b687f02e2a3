//! Sweeps hand out what is between two bounds, each entry once, in any number of steps.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

mod conformance;

use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::sync::atomic::{AtomicBool, Ordering};

use conformance::{Census, Object};
use fyris_index::{Action, Entry, HashIndex, Index, Ordered, OrderedSweep, Stretch, Sweep};
use fyris_sync::reclaim::pin;
use proptest::prelude::*;

fn put(index: &impl Index<Object>, entry: Object) {
    let pin = pin();
    let old = index.upsert(entry.key(), &pin, |old| (Action::Put(entry), old));
    // SAFETY: taken out of the index just now.
    old.into_iter().for_each(|old| unsafe { old.retire(&pin) });
}

fn remove(index: &impl Index<Object>, key: u64) {
    let pin = pin();
    let old = index.upsert(&key, &pin, |old| (Action::Remove, old));
    // SAFETY: taken out of the index just now.
    old.into_iter().for_each(|old| unsafe { old.retire(&pin) });
}

/// The keys of a stretch, in sweeps of `want`; each goes on from the last key of the one before.
fn swept(
    index: &impl Sweep<Object>,
    (from, to): (Bound<u64>, Bound<u64>),
    want: usize,
) -> Vec<u64> {
    let (mut from, mut keys) = (from, Vec::new());
    loop {
        let pin = pin();
        let mut batch = Vec::new();
        let stretch: Stretch<'_, u64> = (from.as_ref(), to.as_ref());
        let more = index.sweep(stretch, want, &pin, &mut batch);
        keys.extend(batch.iter().map(|e| *e.key()));
        if !more {
            return keys;
        }
        assert!(batch.len() >= want);
        from = Excluded(*batch.last().expect("what was wanted").key());
    }
}

fn swept_back(
    index: &impl OrderedSweep<Object>,
    (from, to): (Bound<u64>, Bound<u64>),
    want: usize,
) -> Vec<u64> {
    let (mut to, mut keys) = (to, Vec::new());
    loop {
        let pin = pin();
        let mut batch = Vec::new();
        let more = index.sweep_back((from.as_ref(), to.as_ref()), want, &pin, &mut batch);
        keys.extend(batch.iter().map(|e| *e.key()));
        let Some(last) = batch.last().filter(|_| more) else {
            return keys;
        };
        to = Excluded(*last.key());
    }
}

fn bound(top: u64) -> impl Strategy<Value = Bound<u64>> {
    prop_oneof![
        Just(Unbounded),
        (0..top).prop_map(Included),
        (0..top).prop_map(Excluded),
    ]
}

fn within((from, to): (Bound<u64>, Bound<u64>), key: u64) -> bool {
    let above = match from {
        Included(from) => key >= from,
        Excluded(from) => key > from,
        Unbounded => true,
    };
    above
        && match to {
            Included(to) => key <= to,
            Excluded(to) => key < to,
            Unbounded => true,
        }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_stretch_of_the_tree_is_what_lies_between(
        keys in proptest::collection::btree_set(0u64..900, 0..400),
        from in bound(900),
        to in bound(900),
        want in 1usize..60,
    ) {
        let (census, tree) = (Census::new(), Ordered::<Object>::new());
        keys.iter().for_each(|&k| put(&tree, census.object(k, k)));
        let between: Vec<_> = keys.iter().copied().filter(|&k| within((from, to), k)).collect();
        prop_assert_eq!(&swept(&tree, (from, to), want), &between);
        let mut back = swept_back(&tree, (from, to), want);
        back.reverse();
        prop_assert_eq!(&back, &between);
    }

    /// In a hash table a stretch has no meaning of its own, but any two keys cut the table in three.
    #[test]
    fn stretches_of_a_hash_table_make_up_the_whole(
        keys in proptest::collection::btree_set(0u64..5000, 0..400),
        cut in 0u64..5000,
        want in 1usize..60,
    ) {
        let (census, table) = (Census::new(), HashIndex::<Object>::new());
        keys.iter().for_each(|&k| put(&table, census.object(k, k)));
        let mut all = swept(&table, (Unbounded, Excluded(cut)), want);
        let at = swept(&table, (Included(cut), Included(cut)), want);
        prop_assert_eq!(at.len(), usize::from(keys.contains(&cut)));
        all.extend(at);
        all.extend(swept(&table, (Excluded(cut), Unbounded), want));
        all.sort_unstable();
        prop_assert_eq!(all, keys.into_iter().collect::<Vec<_>>());
    }
}

#[cfg(not(fyris_small))]
fn parts_are_even(index: &impl Sweep<Object>, count: u64) {
    let census = Census::new();
    (0..count).for_each(|k| {
        put(
            index,
            census.object(k.wrapping_mul(0x9E37_79B9_7F4A_7C15), k),
        )
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
            let size = swept(index, (from, to), 256).len();
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
    put(&tree, census.object(1, 1));
    put(&table, census.object(1, 1));
    assert!(tree.cuts(4) <= 1 && table.cuts(4) <= 1);
}

trait Split {
    fn cuts(&self, parts: usize) -> usize;
}

impl<I: Sweep<Object>> Split for I {
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
    (0..COUNT).for_each(|k| put(&tree, census.object(k, k)));
    for k in (0..=COUNT).step_by(997) {
        let share = tree.share_below(Included(&k), &pin());
        let off = (share - k as f64 / COUNT as f64).abs();
        assert!(off < 0.1, "{k}: {share}");
    }
    assert_eq!(tree.share_below(Unbounded, &pin()), 0.0);
    assert_eq!(tree.share_below(Excluded(&COUNT), &pin()), 1.0);
}

fn steady_keys_are_met_once(index: &(impl Sweep<Object> + Sync)) {
    const STEADY: u64 = 300;
    let census = Census::new();
    (0..STEADY).for_each(|k| put(index, census.object(2 * k, k)));
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            for round in 0..10 {
                let keys = (0..1500u64).map(|k| (k * 4 + 1) << (round % 3 * 8) | 1);
                keys.clone().for_each(|k| put(index, census.object(k, k)));
                keys.for_each(|k| remove(index, k));
            }
            stop.store(true, Ordering::Relaxed);
        });
        let mut want = 1;
        while !stop.load(Ordering::Relaxed) || want < 4 {
            want = want % 50 + 1;
            let mut keys = swept(index, (Unbounded, Unbounded), want);
            keys.retain(|k| k % 2 == 0);
            keys.sort_unstable();
            assert_eq!(keys, (0..STEADY).map(|k| 2 * k).collect::<Vec<_>>());
        }
    });
}

#[test]
fn what_is_there_throughout_is_swept_once() {
    steady_keys_are_met_once(&Ordered::<Object>::new());
    steady_keys_are_met_once(&HashIndex::<Object>::new());
}
