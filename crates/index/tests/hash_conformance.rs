//! The conformance suite for `hash`.
#![cfg(not(loom))]
#![allow(missing_docs)]

mod conformance;

use fyris_index::HashIndex;

conformance::suite!(HashIndex::<conformance::Object>::new());

#[test]
fn room_is_made_in_an_empty_index_only() {
    use fyris_index::{HashIndex, Index, reclaim::pin};

    let census = conformance::Census::new();
    let mut index = HashIndex::<conformance::Object>::new();
    let smallest = index.memory();
    index.reserve(10_000);
    let roomy = index.memory();
    assert!(roomy >= smallest + 10_000 * 8);
    index.reserve(10);
    assert_eq!(index.memory(), roomy, "it does not shrink");
    for key in 0..10_000 {
        conformance::put(&index, &census, key, key, &pin());
    }
    assert!(
        index.memory() < roomy + roomy / 4,
        "overflow buckets, no growth"
    );
    let before = index.memory();
    index.reserve(1_000_000);
    assert_eq!(index.memory(), before);
    assert!((0..10_000).all(|key| index.get(&key, &pin()).is_some_and(|e| e.value() == key)));
    drop(index);
    census.assert_all_freed();
}
