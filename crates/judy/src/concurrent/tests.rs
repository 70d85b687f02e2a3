//! The nodes of a map at rest: what they say of each other is true. And what writers did to them.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use fyris_sync::reclaim::{flush, pin};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::super::digits::above;
use super::super::limits::SHARED;
use super::block::LIVE;
use super::leaf::Leaf;
use super::link::{Kind, Link};
use super::map::ConcurrentJudy;
use super::node::SharedBranch;

type Map = ConcurrentJudy<u64, u64>;

/// How many nodes of each kind there are: leaves, linear, bitmap, uncompressed branches, bitmap,
/// uncompressed leaves.
#[derive(Debug, Default, PartialEq)]
struct Shape([usize; 6]);

/// Checks what is below a link, which is to have `place`'s bits above so many bytes; returns the number of keys.
fn check_link(link: Link, place: u64, level: usize, shape: &mut Shape) -> usize {
    let mut count = |kind: usize| shape.0[kind] += 1;
    match link.kind() {
        Kind::Empty => return 0,
        Kind::Leaf => {
            count(0);
            // SAFETY: no other thread changes the map.
            let leaf = unsafe { Leaf::of(link) };
            assert_eq!(link.level(), level);
            assert!(leaf.len() <= SHARED.leaf_most[level]);
            let keys: Vec<u64> = leaf.pairs(0).map(|(key, _)| key).collect();
            assert!(keys.is_sorted_by(|a, b| a < b), "{keys:x?}");
            return leaf.len();
        }
        Kind::Linear => count(1),
        Kind::Bitmap => count(2),
        Kind::Uncompressed => count(3),
        Kind::Bits => count(4),
        Kind::Full => count(5),
        Kind::Root => unreachable!("in no link"),
    }
    let branch = SharedBranch(link);
    assert!(branch.level() <= level);
    assert_eq!(branch.prefix() & above(level), place & above(level));
    let mut keys = 0;
    let mut digits = Vec::new();
    for (digit, word) in branch.iter() {
        digits.push(digit);
        if branch.is_bits() {
            keys += 1;
            continue;
        }
        assert_eq!(branch.keys_before_group(digit).0, {
            let first = branch.keys_before_group(digit).1;
            let before = branch.iter().take_while(|(d, _)| *d < first);
            before
                .map(|(_, w)| super::tree::keys_of(Link(w)))
                .sum::<usize>()
        });
        let below = check_link(
            Link(word),
            branch.prefix_at(digit),
            branch.level() - 1,
            shape,
        );
        assert!(below > 0, "an empty node stays");
        if Link(word).is_branch() {
            assert_eq!(
                SharedBranch(Link(word)).passed(),
                below,
                "all keys are passed on"
            );
        }
        keys += below;
    }
    assert!(digits.is_sorted_by(|a, b| a < b));
    assert_eq!(digits.len(), branch.children());
    assert_eq!(keys, branch.keys(), "keys are counted");
    keys
}

fn check(map: &Map) -> Shape {
    let _pin = pin();
    let (mut shape, root) = (Shape::default(), map.tree().root());
    let link = Link(root.get(0).unwrap_or(0));
    assert_eq!(check_link(link, 0, 8, &mut shape), map.len());
    shape
}

/// A way to make keys of small numbers.
fn key(shape: usize, i: u64) -> u64 {
    let scrambled = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match shape {
        0 => i,
        1 => u64::MAX - i,
        2 => scrambled,
        3 => (i / 70) << 43 | (i % 70) << (i / 70 % 3),
        4 => scrambled & 0x0301_0101_0103_0103,
        5 => (i % 256) << 40 | (i / 256),
        6 => 0xFEDC_BA98_0000_0000 | scrambled >> 40,
        _ => i << 8 | 7 << 50,
    }
}

fn compare(map: &Map, model: &BTreeMap<u64, u64>, rng: &mut SmallRng) {
    check(map);
    assert_eq!(map.len(), model.len());
    assert!(map.iter().eq(model.iter().map(|(k, v)| (*k, *v))));
    assert!(
        map.iter()
            .rev()
            .eq(model.iter().rev().map(|(k, v)| (*k, *v)))
    );
    let keys: Vec<u64> = model.keys().copied().collect();
    for _ in 0..20 {
        let at = rng.random_range(0..=keys.len());
        let near = keys.get(at).copied().unwrap_or(u64::MAX);
        let target = near.wrapping_add(rng.random_range(0..3)).wrapping_sub(1);
        let rank = keys.partition_point(|key| *key < target);
        assert_eq!(map.rank(&target), rank, "{target:x}");
        let found = map.seek(std::ops::Bound::Included(target)).map(|(k, _)| k);
        assert_eq!(found, keys.get(rank).copied(), "{target:x}");
        let end = keys.partition_point(|key| *key <= target);
        let found = map
            .seek_back(std::ops::Bound::Included(target))
            .map(|(k, _)| k);
        assert_eq!(found, end.checked_sub(1).map(|i| keys[i]), "{target:x}");
        assert_eq!(map.nth(at).map(|(k, _)| k), keys.get(at).copied());
        let other = keys
            .get(rng.random_range(0..=keys.len()))
            .copied()
            .unwrap_or(0);
        let (low, high) = (target.min(other), target.max(other));
        let range = model.range(low..=high);
        assert_eq!(map.count_between(low..=high), range.clone().count());
        assert!(
            map.range(low..=high)
                .eq(range.clone().map(|(k, v)| (*k, *v)))
        );
        let mut both = map.range(low..=high);
        let mut expected = range.map(|(k, v)| (*k, *v));
        for i in 0..40 {
            if i % 3 == 0 {
                assert_eq!(both.next_back(), expected.next_back());
            } else {
                assert_eq!(both.next(), expected.next());
            }
        }
    }
}

/// Runs a test alone, and then waits until all blocks that it has allocated are freed: other tests of this program may
/// be pinned for a moment.
fn frees_all(test: impl FnOnce()) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Relaxed, both: a count of this thread's, and of threads that were joined.
    let before = LIVE.load(Ordering::Relaxed);
    test();
    let start = std::time::Instant::now();
    while LIVE.load(Ordering::Relaxed) != before {
        assert!(start.elapsed().as_secs() < 60, "not freed");
        flush();
        std::thread::yield_now();
    }
}

#[test]
fn every_shape_of_keys_grows_and_shrinks_as_a_model_does() {
    frees_all(grow_and_shrink);
}

fn grow_and_shrink() {
    let mut seen = Shape::default();
    for shape in 0..8 {
        let (map, mut model, mut rng) =
            (Map::new(), BTreeMap::new(), SmallRng::seed_from_u64(shape));
        let shape = shape as usize;
        for round in 0..60 {
            let (from, count) = (rng.random_range(0..1500u64), rng.random_range(1..500));
            let grows = rng.random_range(0..60) > round;
            for i in from..from + count {
                let (key, value) = (key(shape, i), rng.random());
                if grows {
                    assert_eq!(map.insert(key, value), model.insert(key, value));
                } else {
                    assert_eq!(map.remove(&key), model.remove(&key));
                }
                assert_eq!(map.get(&key), model.get(&key).copied());
                let near = key ^ 1 << rng.random_range(0..64);
                assert_eq!(map.get(&near), model.get(&near).copied());
            }
            compare(&map, &model, &mut rng);
            let now = check(&map);
            seen.0.iter_mut().zip(now.0).for_each(|(sum, n)| *sum += n);
        }
        let keys: Vec<u64> = model.keys().copied().collect();
        for key in keys {
            assert_eq!(map.remove(&key), model.remove(&key));
        }
        compare(&map, &model, &mut rng);
        assert_eq!(check(&map), Shape::default(), "an empty map has no nodes");
        assert_eq!(map.memory(), size_of::<Map>());
    }
    assert!(seen.0.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn a_map_is_cleared() {
    frees_all(clear);
}

fn clear() {
    let map: Map = (0..3000).map(|i| (key(2, i), i)).collect();
    map.clear();
    assert_eq!((map.len(), map.first()), (0, None));
    map.insert(7, 7);
    assert_eq!(map.iter().collect::<Vec<_>>(), [(7, 7)]);
    check(&map);
}

#[test]
fn counts_are_exact_when_threads_are_done() {
    frees_all(change_neighbours);
}

/// Threads change neighbouring keys, so that nodes of all kinds come and go below each other's hands: at rest all keys
/// are counted, and each is what its thread left.
fn change_neighbours() {
    const THREADS: u64 = 4;
    // Keys of few digits (4) would not be one thread's alone.
    for shape in [0, 1, 2, 3, 5, 6, 7] {
        let map = Map::new();
        let left: Vec<BTreeMap<u64, u64>> = std::thread::scope(|s| {
            let work = |thread: u64| {
                let (map, mut mine) = (&map, BTreeMap::new());
                move || {
                    let mut rng = SmallRng::seed_from_u64(thread);
                    for round in 0..40 {
                        let from = rng.random_range(0..300u64);
                        let grows = round % 2 == 0 || rng.random_range(0..3) == 0;
                        for i in from..from + rng.random_range(1..200) {
                            let key = key(shape, i * THREADS + thread);
                            let seen = if grows {
                                map.insert(key, thread << 32 | i)
                            } else {
                                map.remove(&key)
                            };
                            let expected = if grows {
                                mine.insert(key, thread << 32 | i)
                            } else {
                                mine.remove(&key)
                            };
                            assert_eq!(seen, expected);
                        }
                    }
                    mine
                }
            };
            let threads: Vec<_> = (0..THREADS).map(|t| s.spawn(work(t))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let model: BTreeMap<u64, u64> = left.into_iter().flatten().collect();
        compare(&map, &model, &mut SmallRng::seed_from_u64(1));
    }
}
