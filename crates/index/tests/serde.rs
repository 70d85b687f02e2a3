//! Maps and trees through `serde`.
#![cfg(all(feature = "serde", not(any(loom, shuttle))))]
#![allow(missing_docs)]

use std::collections::BTreeMap;

use fyris_index::{BytesTree, ConcurrentMap, ConcurrentTree, CopyMap, InlineMap};

#[test]
fn what_is_written_is_read() {
    let pairs: BTreeMap<String, u64> = (0..500).map(|i| (format!("key {i}"), i)).collect();
    let tree: ConcurrentTree<String, u64> = pairs.clone().into_iter().collect();
    let map: ConcurrentMap<String, u64> = pairs.clone().into_iter().collect();
    let text = serde_json::to_string(&tree).expect("writes");
    assert_eq!(
        text,
        serde_json::to_string(&pairs).expect("writes"),
        "in order"
    );
    let unordered = serde_json::to_string(&map).expect("writes");
    for text in [&text, &unordered] {
        let tree: ConcurrentTree<String, u64> = serde_json::from_str(text).expect("reads");
        let map: ConcurrentMap<String, u64> = serde_json::from_str(text).expect("reads");
        assert_eq!((tree.len(), map.len()), (500, 500));
        assert!(
            pairs
                .iter()
                .all(|(k, v)| tree.pin().get(k) == Some(v) && map.pin().get(k) == Some(v))
        );
    }
    let copies: CopyMap<u64, u64> = serde_json::from_str(r#"{"1": 2, "3": 4}"#).expect("reads");
    assert_eq!(copies.pin().get(&3), Some(&4));
    let words: InlineMap<u64, u64> = serde_json::from_str(r#"{"1": 2}"#).expect("reads");
    assert_eq!(serde_json::to_string(&words).expect("writes"), r#"{"1":2}"#);
}

#[test]
fn errors_are_those_of_the_format() {
    let wrong = serde_json::from_str::<ConcurrentMap<String, u64>>("[1]").map(|_| ());
    assert!(
        wrong
            .expect_err("no map")
            .to_string()
            .contains("expected a map")
    );
    let wrong = serde_json::from_str::<ConcurrentTree<String, u64>>(r#"{"a": "b"}"#).map(|_| ());
    assert!(
        wrong
            .expect_err("no number")
            .to_string()
            .contains("expected u64")
    );
    let bytes: BytesTree<u64> = [("a", 1)].into_iter().collect();
    let wrong = serde_json::to_string(&bytes);
    assert!(
        wrong
            .expect_err("bytes are no text")
            .to_string()
            .contains("key must be a string")
    );
}
