//! `ConcurrentMap` as a user meets it.
#![cfg(not(any(loom, shuttle)))]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use fyris_index::reclaim::{flush, pin, pin_owned};
use fyris_index::{Action, ConcurrentMap};

/// Counts its drops.
#[derive(Clone)]
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_reference_outlives_the_removal_of_its_key() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let map = ConcurrentMap::new();
    let (removed, is_removed) = mpsc::channel();
    let (unpinned, is_unpinned) = mpsc::channel();
    std::thread::scope(|s| {
        let (map, dropped) = (&map, &dropped);
        let pinned = map.pin();
        pinned.insert(1, Counted(dropped.clone()));
        let held = pinned.get(&1).unwrap();
        s.spawn(move || {
            map.remove(&1, &pin());
            map.insert(1, Counted(dropped.clone()), &pin());
            map.insert(1, Counted(dropped.clone()), &pin());
            flush();
            removed.send(()).unwrap();
            is_unpinned.recv().unwrap();
            // A flush does nothing at a moment when more threads are pinned than blocks are retired, and the
            // tests beside this one pin as well.
            let begun = Instant::now();
            while dropped.load(Ordering::SeqCst) < 2 && begun.elapsed() < Duration::from_secs(30) {
                flush();
                std::thread::yield_now();
            }
        });
        is_removed.recv().unwrap();
        assert_eq!(dropped.load(Ordering::SeqCst), 0, "freed under a pin");
        assert_eq!(Arc::strong_count(&held.0), 4);
        drop(pinned);
        unpinned.send(()).unwrap();
    });
    assert_eq!(
        dropped.load(Ordering::SeqCst),
        2,
        "the removed and the replaced are freed"
    );
    drop(map);
    assert_eq!(dropped.load(Ordering::SeqCst), 3);
}

#[test]
fn compute_is_atomic_and_may_use_the_map() {
    let map = ConcurrentMap::new();
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for i in 0..1000u64 {
                    let pinned = map.pin();
                    pinned.compute("sum", |n: Option<&u64>| {
                        pinned.insert("other", i);
                        Action::Put(n.copied().unwrap_or(0) + 1)
                    });
                }
            });
        }
    });
    assert_eq!(map.pin().get("sum"), Some(&4000));
    let pinned = map.pin();
    let done = pinned.compute("sum", |_| Action::Remove);
    assert_eq!((done.old, done.new), (Some(&4000), None));
    assert_eq!(pinned.compute("sum", |_| Action::Keep).new, None);
    assert_eq!(pinned.update("sum", |n| n + 1), None);
}

#[test]
fn get_or_insert_with_makes_one_value_for_all() {
    let map: ConcurrentMap<u32, usize> = ConcurrentMap::new();
    let values: Vec<usize> = std::thread::scope(|s| {
        let handles: Vec<_> = (0..4)
            .map(|i| {
                s.spawn({
                    let map = &map;
                    move || *map.pin().get_or_insert_with(7, || i)
                })
            })
            .collect();
        handles.into_iter().map(|h| h.join().unwrap()).collect()
    });
    assert!(values.iter().all(|v| *v == values[0]));
}

#[test]
fn owned_pins_make_iterators_send() {
    let map: ConcurrentMap<u64, u64> = (0..10_000).map(|i| (i, i * i)).collect();
    assert_eq!(map.len(), 10_000);
    let pin = pin_owned();
    let mut iter = map.iter(&pin);
    let first = iter.next().unwrap();
    let rest: u64 =
        std::thread::scope(|s| s.spawn(move || iter.map(|(_, v)| v).sum()).join().unwrap());
    assert_eq!(rest + first.1, (0..10_000).map(|i| i * i).sum::<u64>());
    assert_eq!(map.keys(&pin).count(), 10_000);
    assert_eq!(map.values(&pin).max(), Some(&(9_999 * 9_999)));
}

#[test]
fn retain_clear_extend_and_debug() {
    let mut map: ConcurrentMap<String, u32> = ConcurrentMap::with_capacity(100);
    map.extend((0..100).map(|i| (format!("k{i}"), i)));
    map.retain(&pin(), |_, v| *v < 2);
    assert_eq!(map.exact_len(), 2);
    let shown = format!("{map:?}");
    assert!(
        shown == r#"{"k0": 0, "k1": 1}"# || shown == r#"{"k1": 1, "k0": 0}"#,
        "{shown}"
    );
    let pinned = map.pin();
    assert_eq!(pinned.get_key_value("k1"), Some((&"k1".to_owned(), &1)));
    assert_eq!(pinned.remove_entry("k1"), Some((&"k1".to_owned(), &1)));
    pinned.clear();
    assert!(pinned.is_empty() && !pinned.contains_key("k0"));
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
fn it_shrinks_when_emptied() {
    let map: ConcurrentMap<u64, u64> = ConcurrentMap::new();
    for round in 0..3 {
        for i in 0..50_000 {
            map.insert(i, i, &pin());
        }
        for i in 0..50_000 {
            assert_eq!(map.remove(&i, &pin()), Some(&i), "round {round}");
        }
    }
    assert!(map.is_empty());
}
