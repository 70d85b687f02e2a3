//! Scans: each entry of a range once, in any number of steps, whatever others do meanwhile.

use std::collections::HashSet;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::sync::atomic::{AtomicBool, Ordering};

use fyris_sync::reclaim::pin;
use proptest::prelude::*;

use super::cases;
use super::object::{Census, Object, put, remove};
use crate::{Entry, Index, OrderedIndex};

/// Bounds of a range of keys.
type ScanBounds = (Bound<u64>, Bound<u64>);

/// Returns the bound of the entries behind a key; of all entries, for none.
pub(super) fn behind(key: Option<&u64>) -> Bound<&u64> {
    key.map_or(Unbounded, Excluded)
}

/// Returns the keys of a range, by scans of `want`; each goes on from the last key of the one before.
pub(super) fn scanned(
    index: &impl Index<Object>,
    (mut from, to): ScanBounds,
    want: usize,
) -> Vec<u64> {
    let mut keys = Vec::new();
    loop {
        let mut batch = Vec::new();
        let pin = pin();
        let more = index.scan((from.as_ref(), to.as_ref()), want, &pin, &mut batch);
        keys.extend(batch.iter().map(|e| *e.key()));
        if !more {
            return keys;
        }
        assert!(
            batch.len() >= want,
            "a scan appends what is wanted if there is more"
        );
        let last = Excluded(*batch.last().expect("one at least").key());
        assert_ne!(last, from, "a scan goes on behind its cursor");
        from = last;
    }
}

/// Returns the same as [`scanned`], downwards.
fn scanned_back(
    index: &impl OrderedIndex<Object>,
    (from, mut to): ScanBounds,
    want: usize,
) -> Vec<u64> {
    let mut keys = Vec::new();
    loop {
        let mut batch = Vec::new();
        let pin = pin();
        let more = index.scan_back((from.as_ref(), to.as_ref()), want, &pin, &mut batch);
        keys.extend(batch.iter().map(|e| *e.key()));
        if !more {
            return keys;
        }
        assert!(
            batch.len() >= want,
            "a scan appends what is wanted if there is more"
        );
        let last = Excluded(*batch.last().expect("one at least").key());
        assert_ne!(last, to, "a scan goes on behind its cursor");
        to = last;
    }
}

fn bound(top: u64) -> impl Strategy<Value = Bound<u64>> {
    prop_oneof![
        Just(Unbounded),
        (0..top).prop_map(Included),
        (0..top).prop_map(Excluded),
    ]
}

fn within((from, to): ScanBounds, key: u64) -> bool {
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

/// Returns the keys as a walk from entry to entry meets them.
fn walked(index: &impl Index<Object>) -> Vec<u64> {
    let mut last = None;
    let next = std::iter::from_fn(|| {
        last = index.next_entry(last.as_ref(), &pin()).map(|e| *e.key());
        last
    });
    next.collect()
}

/// Returns the keys of all slots, one slot after another.
fn slotted(index: &impl Index<Object>) -> Vec<u64> {
    let (pin, mut batch) = (pin(), Vec::new());
    (0..index.slots()).for_each(|slot| index.slot(slot, &pin, &mut batch));
    batch.iter().map(|e| *e.key()).collect()
}

/// Checks scans of an index without an order of keys, where a range has no meaning of its own, but any key, there or
/// not, cuts the index in three; and that scans, walks and slots have one order.
pub fn scans<I: Index<Object>>(make: &dyn Fn() -> I) {
    let keys = proptest::collection::btree_set(0u64..5000, 0..400);
    proptest!(cases(96), |(keys in keys, cut in 0u64..5000, want in 1usize..60)| {
        let (census, index) = (Census::new(), make());
        keys.iter().for_each(|&k| _ = put(&index, &census, k, k, &pin()));
        let mut all = scanned(&index, (Unbounded, Excluded(cut)), want);
        let at = scanned(&index, (Included(cut), Included(cut)), want);
        prop_assert_eq!(at.len(), usize::from(keys.contains(&cut)));
        all.extend(at);
        all.extend(scanned(&index, (Excluded(cut), Unbounded), want));
        prop_assert_eq!(&all, &walked(&index));
        prop_assert_eq!(&all, &slotted(&index));
        all.sort_unstable();
        prop_assert_eq!(all, keys.into_iter().collect::<Vec<_>>());
    });
}

/// Checks that a scan returns the entries between its bounds, in order, in either direction, and nothing for a range
/// that ends before it begins.
pub fn ordered_scans<I: OrderedIndex<Object>>(make: &dyn Fn() -> I) {
    let keys = proptest::collection::btree_set(0u64..900, 0..400);
    proptest!(cases(96), |(keys in keys, from in bound(900), to in bound(900), want in 1usize..60)| {
        let (census, index) = (Census::new(), make());
        keys.iter().for_each(|&k| _ = put(&index, &census, k, k, &pin()));
        let between: Vec<_> = keys.iter().copied().filter(|&k| within((from, to), k)).collect();
        prop_assert_eq!(&scanned(&index, (from, to), want), &between);
        let mut back = scanned_back(&index, (from, to), want);
        back.reverse();
        prop_assert_eq!(&back, &between);
    });
}

/// Checks that seeks find the nearest entry to a bound, on either side.
pub fn seeks<I: OrderedIndex<Object>>(make: &dyn Fn() -> I) {
    let keys = proptest::collection::btree_set(0u64..900, 0..400);
    proptest!(cases(96), |(keys in keys, bounds in prop::collection::vec(bound(900), 1..40))| {
        let (census, index) = (Census::new(), make());
        keys.iter().for_each(|&k| _ = put(&index, &census, k, k, &pin()));
        for bound in bounds {
            let key = |entry: Option<Object>| entry.map(|e| *e.key());
            let above = keys.iter().copied().find(|&k| within((bound, Unbounded), k));
            prop_assert_eq!(key(index.seek(bound.as_ref(), &pin())), above);
            let below = keys.iter().rev().copied().find(|&k| within((Unbounded, bound), k));
            prop_assert_eq!(key(index.seek_back(bound.as_ref(), &pin())), below);
        }
    });
}

/// Checks that entries that are there throughout several scans, or walks, come up in them once and always in the same
/// order, and no key twice, while others come and go in numbers that make the index grow and shrink.
pub fn scans_under_changes<I: Index<Object>>(make: &dyn Fn() -> I) {
    under_changes(&make(), |index, want| match want % 4 {
        3 => walked(index),
        _ => scanned(index, (Unbounded, Unbounded), want),
    });
}

/// Checks the same as [`scans_under_changes`], downwards.
pub fn ordered_scans_under_changes<I: OrderedIndex<Object>>(make: &dyn Fn() -> I) {
    under_changes(&make(), |index, want| {
        let keys = scanned_back(index, (Unbounded, Unbounded), want);
        assert!(keys.is_sorted_by(|a, b| a > b), "downwards");
        keys
    });
}

fn under_changes<I: Index<Object>>(index: &I, scan: impl Fn(&I, usize) -> Vec<u64>) {
    const STEADY: u64 = 300;
    let census = Census::new();
    (0..STEADY).for_each(|k| _ = put(index, &census, 2 * k, k, &pin()));
    let order = scan(index, 50);
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            for round in 0..10 {
                let keys = (0..1500u64).map(|k| (k * 4 + 1) << (round % 3 * 8) | 1);
                keys.clone()
                    .for_each(|k| _ = put(index, &census, k, k, &pin()));
                keys.for_each(|k| _ = remove(index, k, &pin()));
            }
            // Relaxed: a flag, read below; nothing is read because of it.
            stop.store(true, Ordering::Relaxed);
        });
        let mut want = 1;
        // Relaxed: as above.
        while !stop.load(Ordering::Relaxed) || want < 4 {
            want = want % 50 + 1;
            let mut keys = scan(index, want);
            let once: HashSet<u64> = keys.iter().copied().collect();
            assert_eq!(once.len(), keys.len(), "no key comes twice");
            keys.retain(|k| k % 2 == 0);
            assert_eq!(keys, order, "by {want}");
        }
    });
}
