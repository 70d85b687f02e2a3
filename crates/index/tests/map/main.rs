//! The maps as a user meets them, against a model, and under threads: one suite over every storage.
#![cfg(not(any(loom, shuttle)))]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fyris_index::conformance::{Step, is_linearizable};
use fyris_index::reclaim::{flush, pin, pin_owned};
use fyris_index::{Action, BytesMap, ConcurrentMap, CopyMap};
use proptest::prelude::*;

mod boxed {
    use super::*;
    type Map<V> = ConcurrentMap<Vec<u8>, V>;
    include!("suite.rs");
}

mod packed {
    use super::*;
    type Map<V> = BytesMap<V>;
    include!("suite.rs");
}

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// Counts its drops.
struct Counted(u64, Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Clone, Debug)]
enum Command {
    Insert(Vec<u8>, u64),
    Remove(Vec<u8>),
    Get(Vec<u8>),
    /// Adds, or removes what is a multiple of three, or keeps what is a multiple of five.
    Compute(Vec<u8>),
    GetOrInsert(Vec<u8>, u64),
    Update(Vec<u8>),
    Retain(u64),
}

/// Generates keys that meet again, with common beginnings and the lengths at which an entry changes
/// its size.
fn key() -> impl Strategy<Value = Vec<u8>> {
    (0..40usize, 0..3u8).prop_map(|(length, last)| {
        let mut key = vec![7; length];
        key.push(last);
        key
    })
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        6 => (key(), any::<u64>()).prop_map(|(k, v)| Command::Insert(k, v)),
        3 => key().prop_map(Command::Remove),
        2 => key().prop_map(Command::Get),
        3 => key().prop_map(Command::Compute),
        2 => (key(), any::<u64>()).prop_map(|(k, v)| Command::GetOrInsert(k, v)),
        1 => key().prop_map(Command::Update),
        1 => any::<u64>().prop_map(Command::Retain),
    ]
}

fn computed(old: Option<&u64>) -> Action<u64> {
    match old {
        None => Action::Put(1),
        Some(n) if n % 3 == 0 => Action::Remove,
        Some(n) if n % 5 == 0 => Action::Keep,
        Some(n) => Action::Put(n.wrapping_add(1)),
    }
}

fn compute_in_model(model: &mut HashMap<Vec<u8>, u64>, key: Vec<u8>) -> Option<u64> {
    match computed(model.get(&key)) {
        Action::Keep => {}
        Action::Remove => _ = model.remove(&key),
        Action::Put(new) => _ = model.insert(key.clone(), new),
    }
    model.get(&key).copied()
}

#[test]
fn odd_types_are_stored_well() {
    #[repr(align(128))]
    #[derive(PartialEq, Debug)]
    struct Wide(u8);
    let wide = ConcurrentMap::new();
    let wide = wide.pin();
    wide.insert((), Wide(1));
    assert!(
        std::ptr::from_ref(wide.get(&()).unwrap())
            .addr()
            .is_multiple_of(128)
    );
    assert_eq!(wide.insert((), Wide(2)), Some(&Wide(1)));
    let nothing: ConcurrentMap<(), ()> = ConcurrentMap::new();
    nothing.pin().insert((), ());
    assert_eq!(nothing.len(), 1);
    assert_eq!(nothing.pin().remove(&()), Some(&()));
}

#[test]
fn bytes_are_given_and_asked_for_in_every_form() {
    let map = BytesMap::new();
    let map = map.pin();
    map.insert("text", 1);
    map.insert(b"bytes", 2);
    map.insert(String::from("owned"), 3);
    map.insert(vec![7, 7], 4);
    map.update("text", |n| n + 10);
    assert_eq!(map.get(b"text"), Some(&11));
    assert_eq!(map.get("bytes"), Some(&2));
    assert_eq!(map.get(&String::from("owned")), Some(&3));
    assert_eq!(map.remove(&[7, 7]), Some(&4));
    assert!(map.contains_key(&b"owned".to_vec()));
}

#[test]
fn keys_that_borrow_are_freed_after_the_text_they_borrowed() {
    let lasting = String::from("a lasting word");
    for round in 0..100 {
        let text: Vec<String> = (0..100)
            .map(|i| format!("word {}", (i + round) % 50))
            .collect();
        let words = CopyMap::new();
        std::thread::scope(|s| {
            for half in text.chunks(50) {
                let words = &words;
                s.spawn(move || {
                    for word in half {
                        words.pin().update_or_insert(word.as_str(), |n| n + 1, 1);
                    }
                });
            }
        });
        assert_eq!(words.len(), 50);
        assert_eq!(words.pin().get("word 7"), Some(&2));
        words.pin().insert(&lasting, 1);
        assert_eq!(words.clone().pin().values().sum::<u32>(), 101);
        // The values that the updates replaced are still to be freed when the map and the text are
        // gone.
        drop(words);
        drop(text);
    }
    flush();
}
