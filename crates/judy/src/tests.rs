//! The tree's own invariants, and small tests that an interpreter can run.

use super::JudyMap;
use super::branch::Branch;
use super::digits::above;
use super::jp::{At, Form, Node, Place};
use super::limits::LIMITS;
use super::words::{Below, Ones, Words, keys_of};

/// Kinds of nodes that were met.
#[derive(Default, Debug)]
struct Met {
    linear: usize,
    bitmap: usize,
    uncompressed: usize,
    bits: usize,
    few: usize,
    leaves: [usize; 9],
    narrow: usize,
}

/// Checks everything below a pointer; returns the number of keys.
fn check(at: At, place: Place, met: &mut Met) -> usize {
    let here = place.of_node(at.meta());
    assert!(here.level <= place.level, "NARROW");
    assert_eq!(
        here.prefix & above(place.level),
        place.prefix & above(place.level),
        "DECODED"
    );
    met.narrow += usize::from(here.level < place.level);
    let count = match Below::of(at) {
        Below::Branch(branch, _) => check_branch(branch, here, met),
        leaf => match leaf.words() {
            Some(words) => check_words(at, &words, place, met),
            None => {
                assert!(place.is_root);
                0
            }
        },
    };
    assert_eq!(keys_of::<Ones>(at), count, "COUNTED");
    count
}

/// Checks a branch, and everything below it.
fn check_branch(branch: Branch, here: Place, met: &mut Met) -> usize {
    let mut sum = 0;
    let mut counts = std::collections::BTreeMap::new();
    for (digit, child) in branch.iter() {
        assert!(!child.meta().is_empty());
        let keys = check(child, here.child(digit), met);
        assert_eq!(branch.keys_below::<Ones>(digit), sum, "COUNTED");
        sum += keys;
        let counter = branch.counter(digit);
        counts.entry(counter.as_ptr()).or_insert((counter, 0)).1 += keys;
    }
    let children = branch.iter().count();
    assert_eq!(branch.children(), children);
    for (counter, keys) in counts.values() {
        assert_eq!((counter.get() & ((1 << 48) - 1)) as usize, *keys, "COUNTED");
    }
    assert!(children <= LIMITS.most(branch.form()));
    assert_eq!(branch.smaller_form(), None);
    assert!(sum > 0);
    match branch.form() {
        Form::Linear => met.linear += 1,
        Form::Bitmap => met.bitmap += 1,
        Form::Uncompressed => met.uncompressed += 1,
    }
    sum
}

/// Checks a leaf, or what is in a pointer.
fn check_words(at: At, words: &Words<'_>, place: Place, met: &mut Met) -> usize {
    let mut keys = Vec::new();
    words.each(|key, _| {
        keys.push(key);
        true
    });
    assert!(keys.is_sorted_by(|a, b| a < b), "SORTED");
    assert_eq!(keys.len(), words.len());
    match at.meta().what() {
        Node::Bits { len } => {
            met.bits += 1;
            assert!(len > LIMITS.leaf_again(1));
        }
        Node::Leaf { level, len } => {
            met.leaves[level] += 1;
            assert!(len <= LIMITS.leaf_most[level]);
        }
        Node::Few { width, .. } => {
            met.few += 1;
            assert_eq!(width, place.level);
        }
        _ => assert!(!place.is_root),
    }
    keys.len()
}

/// Checks a map; returns the kinds of nodes in it.
fn checked<V>(map: &JudyMap<u64, V>) -> Met {
    let mut met = Met::default();
    let (root, place) = map.tree().root();
    assert_eq!(check(root, place, &mut met), map.len());
    met
}

/// Numbers that look random.
fn scrambled(i: u64) -> u64 {
    let x = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// Key sets that lead to all kinds of nodes.
fn key_sets(n: u64) -> Vec<(&'static str, Vec<u64>)> {
    let of = |f: &dyn Fn(u64) -> u64| (0..n).map(f).collect::<Vec<u64>>();
    let few = |f: &dyn Fn(u64) -> u64| (0..n.min(5000)).map(f).collect::<Vec<u64>>();
    // Some 25 keys in each expanse of so many bytes.
    let crowds = (1..8).map(|bytes| {
        let low = scrambled_below(bytes);
        ("crowds", few(&|i| (i / 25) << (8 * bytes) | low(i)))
    });
    let mut sets = vec![
        ("dense", of(&|i| i)),
        ("downwards from the top", of(&|i| u64::MAX - i)),
        ("spread", of(&scrambled)),
        ("half of a range", of(&|i| scrambled(i) % (2 * n))),
        (
            "clusters",
            of(&|i| scrambled(i / 40) & !0xFFF | (i % 40 * 3)),
        ),
        ("multiples of 256", of(&|i| i * 256)),
        ("multiples of 2^24", of(&|i| i << 24)),
        (
            "one digit at each level",
            of(&|i| 1u64.wrapping_shl((i % 64) as u32) | (i / 64)),
        ),
        (
            "two bytes apart",
            of(&|i| (i % 9) << 56 | (i / 9 % 9) << 24 | (i / 81)),
        ),
        ("squares", of(&|i| i * i)),
        (
            "shared prefixes",
            of(&|i| 0x1234_5678_0000_0000 | scrambled(i) >> 40),
        ),
    ];
    sets.extend(crowds);
    sets
}

/// Returns numbers of so many bytes that look random.
fn scrambled_below(bytes: usize) -> impl Fn(u64) -> u64 {
    move |i| scrambled(i) & !above(bytes)
}

const N: u64 = if cfg!(miri) { 300 } else { 20_000 };

#[test]
fn every_kind_of_node_grows_and_shrinks() {
    let mut all = Met::default();
    for (name, keys) in key_sets(N) {
        let mut map = JudyMap::new();
        for (i, key) in keys.iter().enumerate() {
            map.insert(*key, i);
            if i.is_power_of_two() {
                checked(&map);
            }
        }
        let met = checked(&map);
        for (sum, one) in [
            (&mut all.linear, met.linear),
            (&mut all.bitmap, met.bitmap),
            (&mut all.uncompressed, met.uncompressed),
            (&mut all.bits, met.bits),
            (&mut all.few, met.few),
            (&mut all.narrow, met.narrow),
        ] {
            *sum += one;
        }
        (1..9).for_each(|level| all.leaves[level] += met.leaves[level]);
        for key in &keys {
            assert!(map.contains_key(key), "{name}: {key:x}");
        }
        let mut left = map.len();
        for (i, key) in keys.iter().rev().enumerate() {
            left -= usize::from(map.remove(key).is_some());
            if i.is_power_of_two() {
                checked(&map);
            }
        }
        assert_eq!((left, map.len()), (0, 0), "{name}");
        assert_eq!(
            map.node_bytes().total(),
            0,
            "{name}: what is empty has no nodes"
        );
    }
    // With tiny limits a leaf of level 1 is rarely there, and an interpreter is too slow for enough keys.
    if !cfg!(any(miri, fyris_small)) {
        let Met {
            linear,
            bitmap,
            uncompressed,
            bits,
            few,
            narrow,
            leaves,
        } = &all;
        assert!(
            [linear, bitmap, uncompressed, bits, few, narrow]
                .iter()
                .all(|n| **n > 0),
            "{all:?}"
        );
        assert!(leaves[1..8].iter().all(|n| *n > 0), "{all:?}");
    }
}

#[test]
fn order_and_counts_are_those_of_a_sorted_list() {
    for (name, keys) in key_sets(N / 10) {
        let map: JudyMap<u64, u64> = keys.iter().map(|key| (*key, !key)).collect();
        let mut sorted = keys.clone();
        sorted.sort();
        sorted.dedup();
        assert!(
            map.iter()
                .map(|(key, value)| (key, *value))
                .eq(sorted.iter().map(|k| (*k, !k))),
            "{name}"
        );
        assert!(map.keys().rev().eq(sorted.iter().rev().copied()), "{name}");
        let step = sorted.len() / 100 + 1;
        for (n, key) in sorted.iter().enumerate().step_by(step) {
            assert_eq!(map.nth(n), Some((*key, &!key)), "{name}");
            assert_eq!(map.rank(key), n, "{name}");
            for near in [key.wrapping_sub(1), *key, key.wrapping_add(1)] {
                let at = sorted.partition_point(|k| *k < near);
                assert_eq!(map.rank(&near), at);
                assert_eq!(
                    map.range(near..).next().map(|(k, _)| k),
                    sorted.get(at).copied(),
                    "{name}"
                );
                let behind = sorted.partition_point(|k| *k <= near);
                assert_eq!(
                    map.range(..=near).next_back().map(|(k, _)| k),
                    behind.checked_sub(1).map(|i| sorted[i]),
                    "{name} {near:x}"
                );
            }
        }
    }
}

#[test]
fn values_that_own_memory_are_dropped_once() {
    let value = std::rc::Rc::new(());
    let mut map = JudyMap::new();
    for (_, keys) in key_sets(N / 10) {
        for key in &keys {
            map.insert(*key, value.clone());
        }
        for key in keys.iter().step_by(3) {
            map.remove(key);
        }
        assert_eq!(std::rc::Rc::strong_count(&value), map.len() + 1);
    }
    let clone = map.clone();
    assert_eq!(std::rc::Rc::strong_count(&value), 2 * map.len() + 1);
    map.clear();
    assert_eq!(std::rc::Rc::strong_count(&value), clone.len() + 1);
    drop(clone);
    assert_eq!(std::rc::Rc::strong_count(&value), 1);
}
