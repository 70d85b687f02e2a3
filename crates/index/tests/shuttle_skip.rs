//! Random schedules of skip lists, with more threads and higher nodes than loom can exhaust:
//! `RUSTFLAGS='--cfg shuttle --cfg fyris_small' cargo test -p fyris-index --release --test shuttle_skip`.
#![cfg(shuttle)]

mod models;

use std::hash::{BuildHasher, Hasher};
use std::ops::Bound;
use std::sync::Arc;

use fyris_index::reclaim::{check, pin};
use fyris_index::{Action, Entry, Index, OrderedIndex, SkipList};
use fyris_sync::thread::spawn;
use models::{Handle, add, get, put, remove};

const SCHEDULES: usize = 2000;

/// Heights by the low bits of the key: as many nodes of each, one after another.
#[derive(Clone, Copy, Default)]
struct ByLowBits(u64);

impl BuildHasher for ByLowBits {
    type Hasher = Self;
    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for ByLowBits {
    fn write(&mut self, _: &[u8]) {
        unreachable!("numbers are hashed");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
    fn finish(&self) -> u64 {
        1 << (self.0 % 3)
    }
}

type List = SkipList<Handle, ByLowBits>;

/// Returns the keys by scans of `want`, upwards.
fn up(list: &List, want: usize) -> Vec<u64> {
    let (mut keys, mut batch): (Vec<u64>, _) = (Vec::new(), Vec::new());
    loop {
        let pin = pin();
        let after = keys.last().map_or(Bound::Unbounded, Bound::Excluded);
        let more = list.scan((after, Bound::Unbounded), want, &pin, &mut batch);
        keys.extend(batch.drain(..).map(|entry| *entry.key()));
        if !more {
            assert!(keys.is_sorted_by(|a, b| a < b), "each once: {keys:?}");
            return keys;
        }
    }
}

/// The same downwards.
fn down(list: &List, want: usize) -> Vec<u64> {
    let (mut keys, mut batch): (Vec<u64>, _) = (Vec::new(), Vec::new());
    loop {
        let pin = pin();
        let before = keys.last().map_or(Bound::Unbounded, Bound::Excluded);
        let more = list.scan_back((Bound::Unbounded, before), want, &pin, &mut batch);
        keys.extend(batch.drain(..).map(|entry| *entry.key()));
        if !more {
            assert!(keys.is_sorted_by(|a, b| a > b), "each once: {keys:?}");
            return keys;
        }
    }
}

fn come_and_go(list: &List) {
    (10..19).for_each(|key| put(list, key, 1));
    (10..19).for_each(|key| remove(list, key));
}

fn change_some(list: &List) {
    for _ in 0..3 {
        add(list, 2);
        list.upsert(&20, &pin(), |_| (Action::Keep, ()));
        remove(list, 8);
        put(list, 8, 1);
    }
}

fn add_ones(list: &List) {
    (0..3).for_each(|_| add(list, 2));
}

fn read(list: &List) {
    for want in [1, 2, 4] {
        for keys in [up(list, want), down(list, want)] {
            let stay = [0, 2, 4, 6].iter().all(|key| keys.contains(key));
            assert!(stay, "{keys:?}");
        }
        assert_eq!(get(list, 6), Some(1), "it is there throughout");
    }
}

#[test]
fn a_skip_list_keeps_its_order() {
    check(SCHEDULES, || {
        let list = Arc::new(List::default());
        (0..5).for_each(|n| put(&*list, 2 * n, 1));
        let work: [fn(&List); 4] = [come_and_go, change_some, add_ones, read];
        let threads = work.map(|work| {
            let list = list.clone();
            spawn(move || work(&list))
        });
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        assert_eq!(up(&list, 1), [0, 2, 4, 6, 8]);
        assert_eq!(down(&list, 2), [8, 6, 4, 2, 0]);
        assert_eq!(
            (list.len(), get(&*list, 2)),
            (5, Some(7)),
            "no change is lost"
        );
    });
}
