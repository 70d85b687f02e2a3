//! Trees made of pairs that come in order, and of pairs that do not.
#![cfg(not(any(loom, shuttle)))]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fyris_index::{BytesTree, ConcurrentTree, InlineTree};

/// A pin in one test holds up the values of another.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Entries of a leaf.
const SLOTS: usize = if cfg!(fyris_small) { 3 } else { 15 };

const SIZES: [usize; 11] = [0, 1, 2, 3, 4, 15, 16, 31, 750, 751, 40_000];

/// Sixty bytes, of which most are alike.
fn address(n: usize) -> String {
    format!("https://www.example.org/accounts/europe/user/{n:06}/profiles")
}

#[test]
fn what_comes_in_order_is_laid_side_by_side() {
    let _alone = alone();
    for n in SIZES {
        let tree: InlineTree<u64, u64> = (0..n as u64).map(|n| (2 * n, n)).collect();
        assert_eq!(tree.stats().leaves, n.div_ceil(SLOTS), "{n} pairs");
        assert_eq!((tree.len(), tree.exact_len()), (n, n));
        let pinned = tree.pin();
        assert!(
            pinned
                .iter()
                .map(|(key, value)| (key, *value))
                .eq((0..n as u64).map(|n| (2 * n, n)))
        );
        assert!(
            (0..n as u64)
                .all(|n| pinned.get(&(2 * n)) == Some(&n) && pinned.get(&(2 * n + 1)).is_none())
        );
    }
}

#[test]
fn a_loaded_tree_goes_on_as_any_other() {
    let _alone = alone();
    for n in SIZES {
        let tree: BytesTree<usize> = (0..n).map(|n| (address(2 * n), n)).collect();
        let mut model: BTreeMap<String, usize> = (0..n).map(|n| (address(2 * n), n)).collect();
        let pinned = tree.pin();
        assert!(
            pinned.get("").is_none()
                && pinned.get("https://www.example.com").is_none()
                && pinned.get("i").is_none()
        );
        assert!((0..n).all(|at| pinned.get(&address(2 * at)) == Some(&at)));
        assert!((0..n).all(|at| pinned.get(&address(2 * at + 1)).is_none()));
        for at in 0..n {
            // Into full leaves, and out of them, in no order.
            let key = address(at * 7919 % (2 * n));
            assert_eq!(pinned.insert(&key, at).copied(), model.insert(key, at));
            let key = address(at * 104_729 % (2 * n));
            assert_eq!(pinned.remove(&key).copied(), model.remove(&key));
        }
        let is_same =
            |((a, b), (c, d)): ((&[u8], &usize), (&String, &usize))| a == c.as_bytes() && b == d;
        assert!(pinned.iter().zip(&model).all(is_same));
        assert_eq!(tree.len(), model.len());
        pinned.clear();
        assert!(tree.is_empty());
    }
}

/// A value that is counted while it lives.
struct CountedKey(&'static AtomicIsize, usize);

impl CountedKey {
    fn new(living: &'static AtomicIsize, n: usize) -> Self {
        living.fetch_add(1, Ordering::Relaxed);
        Self(living, n)
    }
}

impl Drop for CountedKey {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn of_equal_keys_the_last_pair_stays_and_the_others_are_dropped() {
    let _alone = alone();
    static LIVING: AtomicIsize = AtomicIsize::new(0);
    let pairs = (0..3000).map(|n| (address(n / 3), CountedKey::new(&LIVING, n)));
    let tree: ConcurrentTree<String, CountedKey> = pairs.collect();
    assert_eq!((tree.len(), LIVING.load(Ordering::Relaxed)), (1000, 1000));
    assert!((0..1000).all(|n| tree.pin().get(&address(n)).map(|value| value.1) == Some(3 * n + 2)));
    drop(tree);
    assert_eq!(LIVING.load(Ordering::Relaxed), 0);
}

#[test]
fn from_the_first_pair_out_of_order_on_they_are_inserted() {
    let _alone = alone();
    static LIVING: AtomicIsize = AtomicIsize::new(0);
    // Up, down to the middle, and up again over some that are there.
    let order = (0..1000).chain((500..900).rev()).chain(0..2000);
    let mut model = BTreeMap::new();
    let pairs = order
        .clone()
        .enumerate()
        .map(|(at, n)| (address(n), CountedKey::new(&LIVING, at)));
    let tree: BytesTree<CountedKey> = pairs.collect();
    order
        .enumerate()
        .for_each(|(at, n)| _ = model.insert(address(n), at));
    assert_eq!(tree.len(), model.len());
    assert!(
        model
            .iter()
            .all(|(key, at)| tree.pin().get(key).map(|value| value.1) == Some(*at))
    );
    drop(tree);
    assert_eq!(LIVING.load(Ordering::Relaxed), 0);
}

#[test]
fn an_iterator_that_panics_loses_nothing() {
    let _alone = alone();
    static LIVING: AtomicIsize = AtomicIsize::new(0);
    for stop in [0, 1, 14, 15, 16, 1000, 5000] {
        let pairs = (0..10_000).map(|n| {
            assert!(n != stop, "on purpose");
            (address(n), CountedKey::new(&LIVING, n))
        });
        let loaded = catch_unwind(AssertUnwindSafe(|| {
            pairs.collect::<BytesTree<CountedKey>>()
        }));
        assert!(loaded.is_err());
        assert_eq!(LIVING.load(Ordering::Relaxed), 0, "at {stop}");
    }
}
