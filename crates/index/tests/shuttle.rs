//! Whole structures under thousands of random schedules, where there is more of them than loom can exhaust:
//! `RUSTFLAGS='--cfg shuttle --cfg fyris_small' cargo test -p fyris-index --release --test shuttle`.
//!
//! Leaves have three entries here, inner nodes four children and buckets two pairs, and one wait for a leaf's lock is
//! contention, so that every shape comes and goes within a few operations. A node or an entry that is looked at when
//! it would have been freed fails the model.
#![cfg(shuttle)]

mod models;

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fyris_index::ordered::Stats;
use fyris_index::reclaim::{check, pin};
use fyris_index::{Action, Batch, Entry, HashIndex, Index, InlineMap, Ordered, OrderedIndex};
use fyris_sync::thread::spawn;
use models::{Chosen, Handle, add, get, put, remove};

type Tree = Ordered<Handle>;

/// Schedules of a model.
const SCHEDULES: usize = 3000;

/// Counts over all schedules of a model: a model that splits nothing proves nothing about splits.
struct Seen([AtomicU64; 4]);

impl Seen {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 4])
    }

    fn add(&self, stats: Stats) {
        let counts = [
            stats.size_splits,
            stats.size_joins,
            stats.contention_splits,
            stats.contention_joins,
        ];
        for (sum, count) in self.0.iter().zip(counts) {
            sum.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Splits and joins by size, and by contention.
    fn sums(&self) -> [u64; 4] {
        self.0.each_ref().map(|sum| sum.load(Ordering::Relaxed))
    }
}

fn tree(keys: impl IntoIterator<Item = u64>) -> Arc<Tree> {
    let index = Arc::new(Tree::new());
    keys.into_iter().for_each(|key| put(&*index, key, 1));
    index
}

/// Runs all of it at once, each in a thread of its own.
fn together<I: Send + Sync + 'static>(index: &Arc<I>, work: &[fn(&I)]) {
    let threads: Vec<_> = work
        .iter()
        .map(|&work| {
            let index = index.clone();
            spawn(move || work(&index))
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// Returns the keys upwards, a leaf at a time.
fn up(index: &Tree) -> Vec<u64> {
    let (mut keys, mut batch) = (Vec::new(), Batch::new());
    loop {
        let pin = pin();
        let after = keys.last().map_or(Bound::Unbounded, Bound::Excluded);
        index.scan((after, Bound::Unbounded), 1, &pin, &mut batch);
        if batch.is_empty() {
            return keys;
        }
        keys.extend(batch.drain(..).map(|entry| *entry.key()));
        assert!(keys.is_sorted_by(|a, b| a < b), "each once: {keys:?}");
    }
}

/// Returns the keys downwards.
fn down(index: &Tree) -> Vec<u64> {
    let (mut keys, mut batch) = (Vec::new(), Batch::new());
    loop {
        let pin = pin();
        let before = keys.last().map_or(Bound::Unbounded, Bound::Excluded);
        index.scan_back((Bound::Unbounded, before), 1, &pin, &mut batch);
        if batch.is_empty() {
            return keys;
        }
        keys.extend(batch.drain(..).map(|entry| *entry.key()));
        assert!(keys.is_sorted_by(|a, b| a > b), "each once: {keys:?}");
    }
}

/// Looks at everything twice; `stays` is there throughout.
fn read(index: &Tree, stays: &[u64]) {
    for _ in 0..2 {
        for &key in stays {
            assert_eq!(get(index, key), Some(1), "{key} is there throughout");
        }
        for keys in [up(index), down(index)] {
            assert!(stays.iter().all(|key| keys.contains(key)), "{keys:?}");
        }
    }
}

#[test]
fn leaves_split_and_join() {
    static SEEN: Seen = Seen::new();
    check(SCHEDULES, || {
        let index = tree(1..=12);
        together(
            &index,
            &[
                |index| (13..=18).for_each(|key| put(index, key, 1)),
                |index| {
                    (1..=11)
                        .filter(|key| *key != 6)
                        .for_each(|key| remove(index, key))
                },
                |index| read(index, &[6, 12]),
            ],
        );
        let left = [6, 12, 13, 14, 15, 16, 17, 18];
        assert_eq!((up(&index), index.len()), (left.to_vec(), left.len()));
        SEEN.add(index.stats(&pin()));
    });
    let [splits, joins, ..] = SEEN.sums();
    assert!(splits > 0 && joins > 0, "{splits} {joins}");
}

#[test]
fn a_join_takes_what_its_neighbour_holds_now() {
    check(SCHEDULES, || {
        let index = tree(1..=4);
        together(
            &index,
            &[
                |index| {
                    for _ in 0..2 {
                        (1..=3).for_each(|key| remove(index, key));
                        (1..=3).for_each(|key| put(index, key, 1));
                    }
                },
                |index| (0..8).for_each(|_| add(index, 4)),
            ],
        );
        assert_eq!(up(&index), [1, 2, 3, 4]);
        assert_eq!(get(&*index, 4), Some(9), "no update is lost");
    });
}

#[test]
fn inner_nodes_split_and_join() {
    /// The number of times that the tree got lower: a join gives up where another thread is at work.
    static LOWER: AtomicU64 = AtomicU64::new(0);
    check(SCHEDULES / 5, || {
        let index = tree((1..=40).map(|key| 2 * key));
        let depth = index.stats(&pin()).depth;
        together(
            &index,
            &[
                |index| {
                    (1..=20)
                        .filter(|key| *key != 10)
                        .for_each(|key| remove(index, 2 * key))
                },
                |index| {
                    (21..=40)
                        .filter(|key| *key != 30)
                        .rev()
                        .for_each(|key| remove(index, 2 * key))
                },
                |index| (35..=39).for_each(|key| put(index, 2 * key + 1, 1)),
                |index| read(index, &[20, 60]),
            ],
        );
        assert_eq!(up(&index), [20, 60, 71, 73, 75, 77, 79]);
        let lower = index.stats(&pin()).depth < depth;
        LOWER.fetch_add(lower.into(), Ordering::Relaxed);
    });
    assert!(LOWER.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_leaf_that_writers_wait_for_splits_and_joins_again() {
    static SEEN: Seen = Seen::new();
    check(SCHEDULES / 5, || {
        let index = tree(1..=2);
        let write: fn(&Tree) = |index| (0..4).for_each(|_| (1..=2).for_each(|key| add(index, key)));
        let read: fn(&Tree) = |index| {
            let mut last = [0; 3];
            for key in [1, 2, 1, 2, 2] {
                let value = get(index, key).expect("it is there throughout");
                assert!(value >= last[key as usize], "what was seen stays seen");
                last[key as usize] = value;
            }
            assert_eq!(up(index), [1, 2]);
        };
        together(&index, &[write, write, read]);
        // No thread waits any more.
        let touch: fn(&Tree) = |index| {
            for key in (0..500).map(|n| 1 + n % 2) {
                index.upsert(&key, &pin(), |_| (Action::Keep, ()));
            }
        };
        together(&index, &[touch, read]);
        for key in 1..=2 {
            assert_eq!(get(&*index, key), Some(9), "no update is lost");
        }
        SEEN.add(index.stats(&pin()));
    });
    let [.., splits, joins] = SEEN.sums();
    assert!(splits > 0 && joins > 0, "{splits} {joins}");
}

type Table = HashIndex<Handle, Chosen>;

/// Returns the `n`-th of some keys of which two share each tag.
fn paired(n: u64) -> u64 {
    key(n / 2) ^ n % 2
}

/// Returns the keys by scans of `want`, or for 0 from key to key. Hashes are keys here, so they come in order.
fn in_hash_order(index: &Table, want: usize) -> Vec<u64> {
    let (mut keys, mut batch) = (Vec::new(), Batch::new());
    loop {
        let pin = pin();
        if want == 0 {
            batch.extend(index.next_entry(keys.last(), &pin));
        } else {
            let after = keys.last().map_or(Bound::Unbounded, Bound::Excluded);
            index.scan((after, Bound::Unbounded), want, &pin, &mut batch);
        }
        if batch.is_empty() {
            return keys;
        }
        keys.extend(batch.drain(..).map(|entry| *entry.key()));
        assert!(keys.is_sorted_by(|a, b| a < b), "each once: {keys:?}");
    }
}

#[test]
fn a_hash_table_keeps_its_order_while_it_grows_and_shrinks() {
    check(SCHEDULES, || {
        let index = Arc::new(Table::default());
        (0..5).for_each(|n| put(&*index, paired(n), 1));
        let small = index.memory();
        together(
            &index,
            &[
                |index| {
                    (5..14).for_each(|n| put(index, paired(n), 1));
                    (5..14).for_each(|n| remove(index, paired(n)));
                },
                |index| {
                    // It shares the tag of one that stays, and goes to another slot, since 2 takes its own.
                    for _ in 0..3 {
                        remove(index, paired(1));
                        put(index, 2, 1);
                        put(index, paired(1), 2);
                        remove(index, 2);
                    }
                },
                |index| {
                    for want in [1, 0, 4] {
                        let keys = in_hash_order(index, want);
                        let stays = |n: u64| keys.contains(&paired(n));
                        assert!([0, 2, 3, 4].into_iter().all(stays), "{keys:?}");
                    }
                },
            ],
        );
        assert_eq!(in_hash_order(&index, 1).len(), 5);
        assert!(index.memory() > small, "it has grown");
    });
}

type Inline = InlineMap<u64, u64, Chosen>;

/// Returns the `n`-th of some keys that lie all over the buckets.
fn key(n: u64) -> u64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[test]
fn pairs_move_and_overflow() {
    check(SCHEDULES, || {
        let map = Arc::new(Inline::with_hasher(Chosen::default()));
        (0..3).for_each(|n| _ = map.insert(key(n), n));
        let small = map.memory();
        together(
            &map,
            &[
                |map| {
                    (3..12).for_each(|n| _ = map.insert(key(n), n));
                    (3..12).for_each(|n| assert_eq!(map.remove(&key(n)), Some(n)));
                },
                |map| {
                    let olds = (10..16).map(|value| map.insert(key(1), value).unwrap());
                    assert_eq!(olds.collect::<Vec<_>>(), [1, 10, 11, 12, 13, 14]);
                },
                |map| {
                    let mut last = 0;
                    for _ in 0..6 {
                        let value = map.get(&key(1)).expect("it is there throughout");
                        assert!(value >= last, "what was seen stays seen");
                        last = value;
                        assert_eq!(map.get(&key(2)), Some(2));
                        assert!(
                            map.iter().filter(|(k, _)| *k == key(2)).count() == 1,
                            "met once"
                        );
                    }
                },
            ],
        );
        let mut pairs: Vec<_> = map.iter().collect();
        pairs.sort_unstable();
        let mut left = [(key(0), 0), (key(1), 15), (key(2), 2)];
        left.sort_unstable();
        assert_eq!((pairs.as_slice(), map.len()), (&left[..], 3));
        assert!(map.memory() > small, "it has grown");
    });
}

/// Buckets that nobody has written come to life, move, and are discarded.
#[test]
fn room_that_nobody_has_written_is_live() {
    static GROWN: AtomicU64 = AtomicU64::new(0);
    // Those of one half make the map grow before the other half has been written.
    fn low(n: u64) -> u64 {
        key(n) >> 1
    }
    fn high(n: u64) -> u64 {
        key(n) | 1 << 63
    }
    check(SCHEDULES, || {
        let map = Arc::new(Inline::with_capacity_and_hasher(3, Chosen::default()));
        (0..2).for_each(|n| _ = map.insert(low(n), n));
        together(
            &map,
            &[
                |map| {
                    let small = map.memory();
                    (2..9).for_each(|n| assert_eq!(map.insert(low(n), n), None));
                    // By an array of eight buckets, not by those beside it.
                    let grown = map.memory() >= small + 1024;
                    GROWN.fetch_add(u64::from(grown), Ordering::Relaxed);
                    (2..9).for_each(|n| assert_eq!(map.remove(&low(n)), Some(n)));
                },
                |map| {
                    for n in 9..12 {
                        assert_eq!(map.get(&high(n)), None);
                        assert_eq!(map.insert(high(n), n), None);
                        assert_eq!(map.get(&high(n)), Some(n));
                        assert_eq!(map.remove(&high(n)), Some(n));
                    }
                },
                |map| {
                    for _ in 0..4 {
                        assert_eq!((map.get(&low(0)), map.get(&low(1))), (Some(0), Some(1)));
                        assert_eq!(map.get(&high(12)), None);
                        let stay = |(k, _): &(u64, u64)| [low(0), low(1)].contains(k);
                        assert_eq!(map.iter().filter(stay).count(), 2, "met once");
                    }
                },
            ],
        );
        assert_eq!((map.iter().count(), map.len()), (2, 2));
    });
    assert!(GROWN.load(Ordering::Relaxed) > 0, "nothing has moved");
}
