//! Room made beforehand, and memory given back: of the system, which sanitizers stand in front of.
#![cfg(not(any(loom, shuttle, fyris_sanitize)))]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fyris_index::{BytesMap, ConcurrentMap, InlineMap, InlineTree};

/// Times and memory are those of the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Made and dropped in no time that grows with the capacity: 2^24 took seconds. The least of some tries, as the machine
/// may be busy.
#[test]
fn room_for_millions_is_made_at_once() {
    // With tiny buckets the largest array holds fewer.
    const LARGE: usize = if cfg!(fyris_small) { 1 << 30 } else { 1 << 33 };
    let _alone = alone();
    let makers: [fn(usize); 3] = [
        |capacity| drop(ConcurrentMap::<u64, u64>::with_capacity(capacity)),
        |capacity| drop(BytesMap::<u64>::with_capacity(capacity)),
        |capacity| drop(InlineMap::<u64, u64>::with_capacity(capacity)),
    ];
    for (n, make) in makers.iter().enumerate() {
        for capacity in [1 << 24, LARGE] {
            let once = |_| {
                let begun = Instant::now();
                make(capacity);
                begun.elapsed()
            };
            let time = (0..20).map(once).min().expect("some");
            assert!(time < Duration::from_millis(1), "{n}, {capacity}: {time:?}");
        }
    }
    let map = ConcurrentMap::with_capacity(1 << 20);
    let pinned = map.pin();
    (0..10_000u64).for_each(|key| _ = pinned.insert(key, key));
    assert!((0..10_000).all(|key| pinned.get(&key) == Some(&key)));
    assert_eq!((pinned.iter().count(), pinned.len()), (10_000, 10_000));
    assert!(pinned.get(&10_000).is_none());
}

/// Who takes pairs out of a map does not lose the room that it was made with, nor does that take memory: a shrinking
/// map wrote to all of it.
#[test]
fn room_that_was_asked_for_stays() {
    let _alone = alone();
    let inline = InlineMap::with_capacity(1 << 22);
    let map = ConcurrentMap::with_capacity(1 << 22);
    let sizes = || (inline.memory(), map.memory());
    let before = sizes();
    for round in 0..20_000u64 {
        let key = round % 6;
        inline.insert(key, round);
        map.pin().insert(key, round);
        inline.remove(&key);
        map.pin().remove(&key);
    }
    assert_eq!(sizes(), before);
    // A copy has the room that it needs.
    let copies = (inline.clone(), map.clone());
    assert!(copies.0.memory() < before.0 / 1000 && copies.1.memory() < before.1 / 1000);
}

#[test]
fn room_for_more_than_there_is_is_refused() {
    let _alone = alone();
    for capacity in [usize::MAX, usize::MAX / 10, 1 << 60, 1 << 50] {
        let refused = [
            ConcurrentMap::<u64, u64>::try_with_capacity(capacity).err(),
            BytesMap::<u64>::try_with_capacity(capacity).err(),
            InlineMap::<u64, u64>::try_with_capacity(capacity).err(),
        ];
        for error in refused {
            let error = error.expect("no machine has it");
            assert_eq!(error.capacity(), capacity);
            assert!(error.to_string().starts_with("capacity overflow"));
        }
        let panics: [&dyn Fn(); 2] = [
            &|| drop(ConcurrentMap::<u64, u64>::with_capacity(capacity)),
            &|| drop(InlineMap::<u64, u64>::with_capacity(capacity)),
        ];
        for make in panics {
            let panic = catch_unwind(AssertUnwindSafe(make)).expect_err("no machine has it");
            let text = panic.downcast_ref::<String>().expect("a text");
            assert!(text.starts_with("capacity overflow"), "{text}");
        }
    }
}

/// An iterator that promises more than it has.
struct Boastful(u64);

impl Iterator for Boastful {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        self.0 = self.0.checked_sub(1)?;
        Some((self.0, self.0))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

#[test]
fn what_an_iterator_promises_is_not_relied_on() {
    let _alone = alone();
    assert_eq!(Boastful(10).collect::<ConcurrentMap<_, _>>().len(), 10);
    assert_eq!(Boastful(10).collect::<InlineMap<_, _>>().len(), 10);
    let model: BTreeMap<u64, u64> = (0..10).map(|n| (n, n)).collect();
    assert!(
        Boastful(10)
            .collect::<InlineTree<_, _>>()
            .pin()
            .iter()
            .map(|(k, v)| (k, *v))
            .eq(model)
    );
}

/// Returns the resident memory of the process.
#[cfg(all(target_os = "linux", not(fyris_small)))]
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("it is there");
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.expect("a number") * 4096
}

/// A tree that was emptied key by key kept nine tenths of its memory. With tiny leaves other memory than theirs
/// decides.
#[cfg(all(target_os = "linux", not(fyris_small)))]
#[test]
fn a_tree_that_is_emptied_gives_its_memory_back() {
    let _alone = alone();
    const KEYS: u64 = 300_000;
    let key = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let tree = InlineTree::new();
    tree.pin().insert(0, 0);
    let before = resident();
    (0..KEYS).for_each(|n| _ = tree.pin().insert(key(n), n));
    let peak = resident().saturating_sub(before);
    (0..KEYS).for_each(|n| _ = tree.pin().remove(&key(n)));
    fyris_index::reclaim::flush();
    let left = resident().saturating_sub(before);
    assert!(left <= peak / 10, "{left} of {peak} bytes");
}
