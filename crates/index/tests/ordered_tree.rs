//! `ConcurrentTree`: its whole interface against `BTreeMap`, and from several threads.
#![cfg(not(any(loom, shuttle)))]

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fyris_index::ordered::{PrefixKey, TreeKey};
use fyris_index::tree::{Boxed, ConcurrentTree, Inline, InlineTree, MakeItem, RemakeItem, TreeMap};
use fyris_index::{Action, CopyTree, Index, Ordered};
use fyris_sync::reclaim::{pin, pin_owned};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

mod ordered_common;

use ordered_common::Boxed as Entry;

#[derive(Clone, Debug)]
enum Op {
    Insert(i32, u32),
    Remove(i32),
    Compute(i32, Option<u32>),
    GetOr(i32, u32),
    PopFirst,
    PopLast,
    Range(Bound<i32>, Bound<i32>),
    DeleteRange(Bound<i32>, Bound<i32>),
    TakeRange(Bound<i32>, Bound<i32>),
    Ends,
    Clear,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let key = -100..100i32;
    let bound = prop_oneof![
        1 => Just(Bound::Unbounded),
        4 => key.clone().prop_map(Bound::Included),
        4 => key.clone().prop_map(Bound::Excluded),
    ];
    let op = prop_oneof![
        20 => (key.clone(), any::<u32>()).prop_map(|(k, v)| Op::Insert(k, v)),
        10 => key.clone().prop_map(Op::Remove),
        5 => (key.clone(), any::<Option<u32>>()).prop_map(|(k, v)| Op::Compute(k, v)),
        5 => (key, any::<u32>()).prop_map(|(k, v)| Op::GetOr(k, v)),
        1 => Just(Op::PopFirst),
        1 => Just(Op::PopLast),
        8 => (bound.clone(), bound.clone()).prop_map(|(a, b)| Op::Range(a, b)),
        1 => (bound.clone(), bound.clone()).prop_map(|(a, b)| Op::DeleteRange(a, b)),
        1 => (bound.clone(), bound).prop_map(|(a, b)| Op::TakeRange(a, b)),
        2 => Just(Op::Ends),
        1 => (0..8u8).prop_map(|n| if n == 0 { Op::Clear } else { Op::Ends }),
    ];
    prop::collection::vec(op, 0..500)
}

/// Returns true where `BTreeMap::range` would panic.
fn backwards(a: &Bound<i32>, b: &Bound<i32>) -> bool {
    match (a, b) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Excluded(a), Bound::Excluded(b)) => a >= b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a > b,
    }
}

/// Returns the pairs of a range, in order; none where the bounds are the wrong way round.
fn inside<K: Ord + Clone>(
    model: &BTreeMap<K, u32>,
    key: impl Fn(i32) -> K,
    (a, b): (Bound<i32>, Bound<i32>),
) -> Vec<(K, u32)> {
    if backwards(&a, &b) {
        return Vec::new();
    }
    let range = model.range((a.map(&key), b.map(&key)));
    range.map(|(k, v)| (k.clone(), *v)).collect()
}

fn run<K, S>(ops: Vec<Op>, key: impl Fn(i32) -> K)
where
    K: TreeKey + Clone + Debug + 'static,
    S: MakeItem<K, K, u32> + RemakeItem<K, u32>,
{
    use std::borrow::Borrow;
    let tree = TreeMap::<K, u32, S>::new();
    let mut model = BTreeMap::<K, u32>::new();
    let pin = pin();
    for op in ops {
        match op {
            Op::Insert(k, v) => {
                assert_eq!(
                    tree.insert(key(k), v, &pin).copied(),
                    model.insert(key(k), v)
                );
            }
            Op::Remove(k) => assert_eq!(tree.remove(&key(k), &pin).copied(), model.remove(&key(k))),
            Op::Compute(k, v) => {
                let old = model.get(&key(k)).copied();
                let new = v.map(|v| v ^ old.unwrap_or(0));
                let got = tree.compute(key(k), &pin, |seen| {
                    assert_eq!(seen.copied(), old);
                    v.map_or(Action::Remove, |v| {
                        Action::Put(v ^ seen.copied().unwrap_or(0))
                    })
                });
                assert_eq!((got.old.copied(), got.new.copied()), (old, new));
                match new {
                    Some(new) => model.insert(key(k), new),
                    None => model.remove(&key(k)),
                };
            }
            Op::GetOr(k, v) => {
                let want = *model.entry(key(k)).or_insert(v);
                assert_eq!(*tree.get_or_insert_with(key(k), &pin, || v), want);
            }
            Op::PopFirst => {
                let got = tree.pop_first(&pin).map(|(k, v)| (k.borrow().clone(), *v));
                assert_eq!(got, model.pop_first());
            }
            Op::PopLast => {
                let got = tree.pop_last(&pin).map(|(k, v)| (k.borrow().clone(), *v));
                assert_eq!(got, model.pop_last());
            }
            Op::Range(a, b) => {
                let bounds = (a.map(&key), b.map(&key));
                let mut want = inside(&model, &key, (a, b));
                let got = tree.range::<K, _, _>(bounds.clone(), &pin);
                let got: Vec<_> = got.map(|(k, v)| (k.borrow().clone(), *v)).collect();
                assert_eq!(got, want);
                want.reverse();
                let got = tree.range::<K, _, _>(bounds.clone(), &pin).rev();
                let got: Vec<_> = got.map(|(k, v)| (k.borrow().clone(), *v)).collect();
                assert_eq!(got, want);
                let mut want = VecDeque::from(want);
                let mut range = tree.range::<K, _, _>(bounds, &pin);
                // Both ends in turn, in a pattern that comes out of the numbers at hand.
                for turn in 0..=want.len() + 1 {
                    let from_back = (turn + model.len()) * 5 % 7 < 3;
                    let (got, want) = match from_back {
                        true => (range.next_back(), want.pop_front()),
                        false => (range.next(), want.pop_back()),
                    };
                    assert_eq!(got.map(|(k, v)| (k.borrow().clone(), *v)), want);
                }
            }
            Op::DeleteRange(a, b) => {
                let want = inside(&model, &key, (a, b));
                let bounds = (a.map(&key), b.map(&key));
                assert_eq!(tree.delete_range::<K, _>(bounds, &pin), want.len());
                want.iter().for_each(|(k, _)| _ = model.remove(k));
            }
            Op::TakeRange(a, b) => {
                let want = inside(&model, &key, (a, b));
                let bounds = (a.map(&key), b.map(&key));
                let got = tree.take_range::<K, _>(bounds, &pin).into_iter();
                let got: Vec<_> = got.map(|(k, v)| (k.borrow().clone(), *v)).collect();
                assert_eq!(got, want);
                want.iter().for_each(|(k, _)| _ = model.remove(k));
            }
            Op::Ends => {
                let pair = |(k, v): (S::Key<'_>, &u32)| (k.borrow().clone(), *v);
                let own = |(k, v): (&K, &u32)| (k.clone(), *v);
                assert_eq!(tree.first(&pin).map(pair), model.first_key_value().map(own));
                assert_eq!(tree.last(&pin).map(pair), model.last_key_value().map(own));
            }
            Op::Clear => {
                tree.clear(&pin);
                model.clear();
            }
        }
        assert_eq!(tree.len(), model.len());
    }
    assert_eq!(format!("{tree:?}"), format!("{model:?}"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn inline_integers(ops in ops()) {
        run::<i32, Inline>(ops, |k| k);
    }

    #[test]
    fn boxed_integers(ops in ops()) {
        run::<i32, Boxed>(ops, |k| k);
    }

    #[test]
    fn boxed_strings(ops in ops()) {
        run::<String, Boxed>(ops, |k| format!("a prefix for all {:04}", k + 100));
    }
}

/// Few keys, so that many slots of a leaf have had the same one.
#[test]
fn slots_that_had_the_same_key_are_told_apart() {
    let (tree, pin) = (InlineTree::<u64, usize>::new(), pin());
    let (mut model, mut state) = (BTreeMap::new(), 1u64);
    for step in 0..20_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(99);
        let key = [0, 1, u64::MAX, state >> 61][(state >> 40) as usize % 4];
        let key = key.wrapping_add(u64::from(step > 10_000) * (state >> 59));
        if (state >> 50).is_multiple_of(2) {
            assert_eq!(
                tree.insert(key, step, &pin).copied(),
                model.insert(key, step)
            );
        } else {
            assert_eq!(tree.remove(&key, &pin).copied(), model.remove(&key));
        }
        for key in (0..40).chain([u64::MAX, u64::MAX - 1]) {
            assert_eq!(tree.get(&key, &pin), model.get(&key), "{key}");
        }
    }
}

#[test]
fn every_kind_of_head_comes_back() {
    fn check<K: PrefixKey + Debug>(keys: impl IntoIterator<Item = K>) {
        for key in keys {
            assert_eq!(K::from_key_prefix(key.key_prefix(0)), key);
        }
    }
    check([0u8, 1, 255]);
    check([0u16, u16::MAX]);
    check([0u32, u32::MAX]);
    check([0u64, u64::MAX]);
    check([0usize, usize::MAX]);
    check([i8::MIN, -1, 0, 1, i8::MAX]);
    check([i16::MIN, -1, 0, 1, i16::MAX]);
    check([i32::MIN, -1, 0, 1, i32::MAX]);
    check([i64::MIN, -1, 0, 1, i64::MAX]);
    check([isize::MIN, -1, 0, 1, isize::MAX]);
    check([false, true]);
    check(['\0', 'a', char::MAX]);
}

#[test]
fn a_string_tree_is_asked_with_str() {
    let tree: ConcurrentTree<String, u32> = ["fyris", "river", "uppsala"]
        .into_iter()
        .map(String::from)
        .zip(1..)
        .collect();
    let pin = pin();
    assert_eq!(tree.get("river", &pin), Some(&2));
    assert!(tree.contains_key("fyris", &pin) && !tree.contains_key("fyri", &pin));
    let pairs: Vec<_> = tree
        .range::<str, _, _>((Bound::Included("g"), Bound::Excluded("v")), &pin)
        .collect();
    assert_eq!(pairs.len(), 2);
    assert_eq!(
        tree.get_key_value("uppsala", &pin),
        Some((&"uppsala".to_string(), &3))
    );
}

#[test]
fn closures_may_use_the_tree() {
    let tree = ConcurrentTree::<u64, u64>::new();
    let pin = pin();
    let got = tree.compute(1, &pin, |_| {
        tree.insert(2, 20, &pin);
        let inner = tree.compute(2, &pin, |old| {
            old.map_or(Action::Keep, |v| Action::Put(v + 1))
        });
        inner.new.map_or(Action::Keep, |v| Action::Put(*v))
    });
    assert_eq!(got.new, Some(&21));
    let got = tree.get_or_insert_with(3, &pin, || *tree.get_or_insert_with(3, &pin, || 7) + 1);
    assert_eq!(*got, 7, "the inner call came first");
}

/// Counts how many of itself are alive.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn a_dropped_tree_drops_what_is_in_it() {
    let count = Arc::new(AtomicUsize::new(0));
    let tree = ConcurrentTree::<u64, Counted>::new();
    for k in 0..1000 {
        tree.insert(k, Counted::new(&count), &pin());
    }
    assert_eq!(count.load(Ordering::Relaxed), 1000);
    drop(tree);
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[test]
fn a_panic_in_a_closure_changes_nothing() {
    let tree = ConcurrentTree::<u64, u64>::new();
    let pin = pin();
    tree.insert(1, 1, &pin);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        tree.compute(1, &pin, |_| panic!("on purpose"));
    }));
    assert!(caught.is_err());
    assert_eq!(tree.insert(1, 2, &pin), Some(&1));
}

#[test]
fn an_iterator_moves_to_another_thread() {
    let tree: InlineTree<u64, u64> = (0..1000).map(|k| (k, k)).collect();
    let pin = pin_owned();
    let mut iter = tree.iter(&pin);
    assert_eq!(iter.next().map(|(k, v)| (k, *v)), Some((0, 0)));
    let rest = std::thread::scope(|s| s.spawn(move || iter.count()).join().expect("no panic"));
    assert_eq!(rest, 999);
}

#[test]
fn counters_add_up_however_contended() {
    let threads = 4u64;
    let each = if cfg!(fyris_small) { 4000 } else { 20_000 };
    let inline = InlineTree::<u64, u64>::new();
    let boxed = ConcurrentTree::<u64, u64>::new();
    std::thread::scope(|s| {
        for t in 0..threads {
            let (inline, boxed) = (&inline, &boxed);
            s.spawn(move || {
                for i in 0..each {
                    let key = (i * 7 + t) % 8;
                    let add = |old: Option<&u64>| Action::Put(old.map_or(0, |v| *v) + 1);
                    inline.compute(key, &pin(), add);
                    boxed.compute(key, &pin(), add);
                }
            });
        }
    });
    let pin = pin();
    assert_eq!(
        inline.iter(&pin).map(|(_, v)| v).sum::<u64>(),
        threads * each
    );
    assert_eq!(
        boxed.iter(&pin).map(|(_, v)| v).sum::<u64>(),
        threads * each
    );
}

/// Threads that each own every n-th key insert and remove at random; every thread knows what must be
/// there of its own, whatever splits and joins the others cause around it.
#[test]
fn neighbours_do_not_lose_each_others_keys() {
    let threads = 4u64;
    let rounds = if cfg!(fyris_small) { 10_000 } else { 40_000 };
    let tree = InlineTree::<u64, u64>::new();
    let left: usize = std::thread::scope(|s| {
        let workers: Vec<_> = (0..threads)
            .map(|t| {
                let tree = &tree;
                s.spawn(move || {
                    let mut mine = BTreeMap::new();
                    let mut random = SmallRng::seed_from_u64(t);
                    for i in 0..rounds {
                        // Grows and shrinks by turns, so that leaves split and join all the time.
                        let span = if i / 2000 % 2 == 0 { 400 } else { 40 };
                        let key = random.random_range(0..span) * threads + t;
                        let pin = pin();
                        match random.random_range(0..4) {
                            0 => assert_eq!(
                                tree.remove(&key, &pin).copied(),
                                mine.remove(&key),
                                "key {key}"
                            ),
                            1 => assert_eq!(tree.get(&key, &pin), mine.get(&key), "key {key}"),
                            _ if span == 40 => {
                                let gone = random.random_range(0..400) * threads + t;
                                assert_eq!(tree.remove(&gone, &pin).copied(), mine.remove(&gone));
                            }
                            _ => assert_eq!(
                                tree.insert(key, i, &pin).copied(),
                                mine.insert(key, i),
                                "key {key}"
                            ),
                        }
                        if i % 512 == 0 {
                            let seen = tree.iter(&pin).filter(|(k, _)| k % threads == t);
                            let seen: Vec<_> = seen.map(|(k, v)| (k, *v)).collect();
                            let want: Vec<_> = mine.iter().map(|(k, v)| (*k, *v)).collect();
                            assert_eq!(seen, want);
                            let seen = tree.range::<u64, _, _>(.., &pin).rev();
                            let seen = seen.filter(|(k, _)| k % threads == t);
                            let seen: Vec<_> = seen.map(|(k, v)| (k, *v)).collect();
                            assert_eq!(
                                seen,
                                mine.iter().rev().map(|(k, v)| (*k, *v)).collect::<Vec<_>>()
                            );
                        }
                    }
                    mine.len()
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|w| w.join().expect("no panic"))
            .sum()
    });
    assert_eq!(tree.len(), left);
    let stats = tree.stats();
    assert!(stats.size_splits > 0 && stats.size_joins > 0, "{stats:?}");
}

#[test]
#[cfg_attr(fyris_small, ignore = "eight keys are more than one leaf")]
fn contention_splits_and_calm_joins() {
    let index = Ordered::<Entry<u64, u64>>::new();
    let touch = |key: u64, f: fn()| {
        index.upsert(&key, &pin(), |old| {
            f();
            (
                old.map_or_else(|| Action::Put(Entry::new(key, 0)), |_| Action::Keep),
                (),
            )
        });
    };
    (0..8).for_each(|key| touch(key, || {}));
    assert_eq!(index.stats(&pin()).leaves, 1);
    // A writer that holds the leaf's lock until another one has, most likely, begun to wait for it.
    static INSIDE: AtomicBool = AtomicBool::new(false);
    fn dawdle() {
        INSIDE.store(true, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    for _ in 0..1000 {
        if index.stats(&pin()).contention_splits > 0 {
            break;
        }
        std::thread::scope(|s| {
            let holder = s.spawn(|| touch(0, dawdle));
            while !INSIDE.swap(false, Ordering::Relaxed) && !holder.is_finished() {
                std::thread::yield_now();
            }
            touch(1, || {});
        });
    }
    let contended = index.stats(&pin());
    assert!(contended.contention_splits > 0, "{contended:?}");
    for i in 0..200_000u64 {
        touch(i % 8, || {});
    }
    let calm = index.stats(&pin());
    assert!(
        calm.contention_joins > 0 && calm.leaves == 1,
        "{contended:?} {calm:?}"
    );
}

#[test]
fn the_two_ends_of_a_range_meet_while_others_write() {
    const STAYS: u64 = 300;
    let tree: InlineTree<u64, u64> = (0..STAYS).map(|k| (k * 10, k)).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let of_writer = || (0..STAYS * 10).filter(|k| k % 10 != 0);
                of_writer().for_each(|k| _ = tree.insert(k, 0, &pin()));
                of_writer().for_each(|k| _ = tree.remove(&k, &pin()));
            }
        });
        for round in 0..100 {
            let pinned = tree.pin();
            let (mut range, mut front, mut back) = (pinned.range(..), Vec::new(), Vec::new());
            for turn in 0.. {
                let from_back = (turn + round) * 5 % 7 < 3;
                let end = if from_back { &mut back } else { &mut front };
                let next = if from_back {
                    range.next_back()
                } else {
                    range.next()
                };
                let Some((key, _)) = next else { break };
                end.push(key);
            }
            assert!(range.next().is_none() && range.next_back().is_none());
            front.extend(back.into_iter().rev());
            assert!(front.is_sorted_by(|a, b| a < b), "in order, and none twice");
            assert_eq!(
                front.iter().filter(|key| *key % 10 == 0).count() as u64,
                STAYS
            );
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn the_surface_is_that_of_the_maps() {
    let tree = ConcurrentTree::from([("b".to_string(), 2), ("a".to_string(), 1)]);
    let copy = tree.clone();
    let pinned = tree.pin();
    assert_eq!(pinned.update("a", |n| n + 10), Some(&11));
    assert_eq!(pinned.update("c", |n| n + 10), None);
    assert_eq!(pinned.update_or_insert("c".to_string(), |n| n + 1, 7), &7);
    assert_eq!(pinned.update_or_insert("c".to_string(), |n| n + 1, 7), &8);
    assert_eq!(pinned.get_or_insert("d".to_string(), 4), &4);
    assert!(pinned.keys().rev().eq(["d", "c", "b", "a"]));
    assert!(pinned.values().eq(&[11, 2, 8, 4]));
    assert_eq!(pinned.remove_entry("d"), Some((&"d".to_string(), &4)));
    pinned.retain(|_, n| n % 2 == 0);
    let pairs: Vec<_> = (&pinned)
        .into_iter()
        .map(|(k, v)| (k.as_str(), *v))
        .collect();
    assert_eq!(pairs, [("b", 2), ("c", 8)]);
    assert_eq!(
        format!("{pinned:?} {copy:?}"),
        r#"{"b": 2, "c": 8} {"a": 1, "b": 2}"#
    );
}

#[test]
fn every_storage_updates() {
    let inline = InlineTree::from([(1, 1)]);
    assert_eq!(inline.pin().update(&1, |n| n + 1), Some(&2));
    assert_eq!(inline.clone().pin().update_or_insert(1, |n| n + 1, 0), &3);
    let text = String::from("a word");
    let borrowed = CopyTree::from([(text.as_str(), 1)]);
    assert_eq!(borrowed.pin().update("a word", |n| n + 1), Some(&2));
    assert_eq!(borrowed.clone().pin().remove("a word"), Some(&2));
}

#[test]
fn updates_are_atomic() {
    let tree = InlineTree::from([(1, 0u64)]);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..1000 {
                    tree.pin().update(&1, |n| n + 1);
                    tree.pin().update_or_insert(2, |n| n + 1, 1);
                }
            });
        }
    });
    assert_eq!(
        (tree.pin().get(&1), tree.pin().get(&2)),
        (Some(&4000), Some(&4000))
    );
}
