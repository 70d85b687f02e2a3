//! Maps that are used up: `for (key, value) in map`.
#![cfg(not(loom))]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use fyris_index::{
    BytesMap, BytesTree, ConcurrentMap, ConcurrentTree, CopyMap, CopyTree, InlineMap, InlineTree,
};

const KEYS: u64 = if cfg!(fyris_small) { 300 } else { 3000 };

#[test]
fn pairs_come_by_value() {
    let model: BTreeMap<u64, u64> = (0..KEYS).map(|n| (n * n, n)).collect();
    let pairs = || model.clone().into_iter();
    let bytes = |key: Box<[u8]>| u64::from_be_bytes((*key).try_into().expect("eight"));
    let packed = || pairs().map(|(key, value)| (key.to_be_bytes(), value));
    // In no order: sorted by the collecting.
    assert_eq!(
        pairs()
            .collect::<ConcurrentMap<_, _>>()
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        model
    );
    assert_eq!(
        pairs()
            .collect::<CopyMap<_, _>>()
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        model
    );
    assert_eq!(
        pairs()
            .collect::<InlineMap<_, _>>()
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        model
    );
    let map = packed().collect::<BytesMap<_>>().into_iter();
    assert_eq!(
        map.map(|(key, value)| (bytes(key), value))
            .collect::<BTreeMap<_, _>>(),
        model
    );
    // In order, from either end.
    assert!(
        pairs()
            .collect::<ConcurrentTree<_, _>>()
            .into_iter()
            .eq(pairs())
    );
    assert!(
        pairs()
            .collect::<CopyTree<_, _>>()
            .into_iter()
            .rev()
            .eq(pairs().rev())
    );
    assert!(
        pairs()
            .collect::<InlineTree<_, _>>()
            .into_iter()
            .eq(pairs())
    );
    let tree = packed().collect::<BytesTree<_>>().into_iter();
    assert_eq!(tree.len(), KEYS as usize);
    assert!(tree.map(|(key, value)| (bytes(key), value)).eq(pairs()));
}

/// A value of which the number that live is known.
struct Counted(&'static AtomicUsize);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn every_value_is_dropped_once() {
    static LIVING: AtomicUsize = AtomicUsize::new(0);
    let values = || {
        LIVING.fetch_add(KEYS as usize, Ordering::Relaxed);
        (0..KEYS).map(|key| (key.to_be_bytes(), Counted(&LIVING)))
    };
    let half = KEYS as usize / 2;
    fn take(pairs: impl ExactSizeIterator, half: usize) {
        let before = LIVING.load(Ordering::Relaxed);
        let mut pairs = pairs;
        assert_eq!(pairs.by_ref().take(half).count(), half);
        assert_eq!(pairs.len(), KEYS as usize - half);
        assert_eq!(LIVING.load(Ordering::Relaxed), before - half);
        drop(pairs);
        assert_eq!(LIVING.load(Ordering::Relaxed), before - KEYS as usize);
    }
    take(values().collect::<ConcurrentMap<_, _>>().into_iter(), half);
    take(values().collect::<BytesMap<_>>().into_iter(), half);
    take(values().collect::<ConcurrentTree<_, _>>().into_iter(), half);
    take(values().collect::<BytesTree<_>>().into_iter(), half);
    assert_eq!(LIVING.load(Ordering::Relaxed), 0);
}
