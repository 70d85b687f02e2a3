//! Threads on one index in the order of keys: some that change it, and one that reads it in every way.

use std::ops::Bound;
use std::sync::Arc;

use fyris_index::reclaim::pin;
use fyris_index::{Action, Entry, OrderedIndex};
use fyris_sync::thread::spawn;

use super::{Handle, add, get, put, remove};

/// Returns the keys by scans of `want`, upwards.
pub fn up(index: &impl OrderedIndex<Handle>, want: usize) -> Vec<u64> {
    let (mut keys, mut batch): (Vec<u64>, _) = (Vec::new(), Vec::new());
    loop {
        let pin = pin();
        let after = keys.last().map_or(Bound::Unbounded, Bound::Excluded);
        let more = index.scan((after, Bound::Unbounded), want, &pin, &mut batch);
        keys.extend(batch.drain(..).map(|entry| *entry.key()));
        if !more {
            assert!(keys.is_sorted_by(|a, b| a < b), "each once: {keys:?}");
            return keys;
        }
    }
}

/// The same downwards.
pub fn down(index: &impl OrderedIndex<Handle>, want: usize) -> Vec<u64> {
    let (mut keys, mut batch): (Vec<u64>, _) = (Vec::new(), Vec::new());
    loop {
        let pin = pin();
        let before = keys.last().map_or(Bound::Unbounded, Bound::Excluded);
        let more = index.scan_back((Bound::Unbounded, before), want, &pin, &mut batch);
        keys.extend(batch.drain(..).map(|entry| *entry.key()));
        if !more {
            assert!(keys.is_sorted_by(|a, b| a > b), "each once: {keys:?}");
            return keys;
        }
    }
}

fn come_and_go(index: &impl OrderedIndex<Handle>) {
    (10..19).for_each(|key| put(index, key, 1));
    (10..19).for_each(|key| remove(index, key));
}

fn change_some(index: &impl OrderedIndex<Handle>) {
    for _ in 0..3 {
        add(index, 2);
        index.upsert(&20, &pin(), |_| (Action::Keep, ()));
        remove(index, 8);
        put(index, 8, 1);
    }
}

fn add_ones(index: &impl OrderedIndex<Handle>) {
    (0..3).for_each(|_| add(index, 2));
}

fn read(index: &impl OrderedIndex<Handle>) {
    for want in [1, 2, 4] {
        for keys in [up(index, want), down(index, want)] {
            let stay = [0, 2, 4, 6].iter().all(|key| keys.contains(key));
            assert!(stay, "{keys:?}");
        }
        assert_eq!(get(index, 6), Some(1), "it is there throughout");
    }
}

/// Checks that what is in an index throughout is met by every reader, once and in order, and that no change is lost.
pub fn keeps_its_order<I: OrderedIndex<Handle> + Default + 'static>() {
    let index = Arc::new(I::default());
    (0..5).for_each(|n| put(&*index, 2 * n, 1));
    let work: [fn(&I); 4] = [come_and_go, change_some, add_ones, read];
    let threads = work.map(|work| {
        let index = index.clone();
        spawn(move || work(&index))
    });
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(up(&*index, 1), [0, 2, 4, 6, 8]);
    assert_eq!(down(&*index, 2), [8, 6, 4, 2, 0]);
    assert_eq!(
        (index.len(), get(&*index, 2)),
        (5, Some(7)),
        "no change is lost"
    );
}
