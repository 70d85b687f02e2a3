//! Ranges of a tree from both ends, in any order of steps, while the tree changes between the steps.
#![cfg(not(any(loom, shuttle)))]

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};

use fyris_index::ordered::TreeKey;
use fyris_index::tree::{Boxed, Inline, InlineTree, MakeItem, TreeMap};
use fyris_sync::reclaim::pin;
use proptest::prelude::*;

/// Keys are numbers below this.
const KEYS: u32 = 300;

#[derive(Clone, Copy, Debug)]
enum Step {
    Next,
    NextBack,
    /// Puts in as many keys from there on as split leaves.
    Fill(u32),
    /// Takes out as many keys from there on as have leaves joined.
    Thin(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Both in turn, and long stretches of one.
    let some = prop_oneof![
        (1..40usize).prop_map(|n| vec![Step::Next; n]),
        (1..40usize).prop_map(|n| vec![Step::NextBack; n]),
        (1..20usize).prop_map(|n| [Step::Next, Step::NextBack].repeat(n)),
        (0..KEYS).prop_map(|key| vec![Step::Fill(key)]),
        (0..KEYS).prop_map(|key| vec![Step::Thin(key)]),
    ];
    prop::collection::vec(some, 0..25).prop_map(|parts| parts.concat())
}

fn bound() -> impl Strategy<Value = Bound<u32>> {
    prop_oneof![
        2 => Just(Bound::Unbounded),
        1 => (0..KEYS).prop_map(Bound::Included),
        1 => (0..KEYS).prop_map(Bound::Excluded),
    ]
}

/// The way in which the rest is asked for.
#[derive(Clone, Copy, Debug)]
enum Rest {
    Next,
    NextBack,
    Fold,
}

fn rest() -> impl Strategy<Value = Rest> {
    prop_oneof![Just(Rest::Next), Just(Rest::NextBack), Just(Rest::Fold)]
}

/// Checks a range: each key that is there throughout is met once, in order, and none that never was there.
fn run<K, S>(
    key: impl Fn(u32) -> K,
    number: impl Fn(&K) -> u32,
    (steps, bounds, rest): (Vec<Step>, (Bound<u32>, Bound<u32>), Rest),
) where
    K: TreeKey + Clone + Debug,
    S: MakeItem<K, K, u32>,
{
    let (tree, pin) = (TreeMap::<K, u32, S>::new(), pin());
    for n in (0..KEYS).step_by(2) {
        tree.insert(key(n), n, &pin);
    }
    let mut ever: BTreeSet<u32> = (0..KEYS).step_by(2).collect();
    let mut throughout = ever.clone();
    let (from, to) = (bounds.0.map(&key), bounds.1.map(&key));
    let mut range = tree.range::<K, _, _>((from, to), &pin);
    let (mut front, mut back) = (Vec::new(), Vec::new());
    let meet = |met: &mut Vec<u32>, pair: Option<(S::Key<'_>, &u32)>| {
        let pair = pair.map(|(key, value)| (number(key.borrow()), *value));
        met.extend(pair.map(|(key, value)| {
            assert_eq!(key, value);
            key
        }));
        pair.is_some()
    };
    for step in steps {
        match step {
            Step::Next => _ = meet(&mut front, range.next()),
            Step::NextBack => _ = meet(&mut back, range.next_back()),
            Step::Fill(start) => (start..KEYS.min(start + 30)).for_each(|n| {
                tree.insert(key(n), n, &pin);
                ever.insert(n);
            }),
            Step::Thin(start) => (start..KEYS.min(start + 60)).for_each(|n| {
                // Some stay.
                if n % 10 != 0 {
                    tree.remove(&key(n), &pin);
                    throughout.remove(&n);
                }
            }),
        }
    }
    if let Rest::Fold = rest {
        range.for_each(|pair| _ = meet(&mut front, Some(pair)));
    } else {
        match rest {
            Rest::NextBack => while meet(&mut back, range.next_back()) {},
            _ => while meet(&mut front, range.next()) {},
        }
        // An exhausted range stays exhausted, even if entries are inserted.
        (0..KEYS).for_each(|n| _ = tree.insert(key(n), n, &pin));
        assert!(range.next().is_none() && range.next_back().is_none());
    }
    front.extend(back.into_iter().rev());
    assert!(front.is_sorted_by(|a, b| a < b), "{front:?}");
    assert!(front.iter().all(|n| ever.contains(n) && bounds.contains(n)));
    throughout.retain(|n| bounds.contains(n));
    let met = BTreeSet::from_iter(front);
    assert!(throughout.is_subset(&met), "{throughout:?} {met:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn integers_are_met_once(case in (steps(), (bound(), bound()), rest())) {
        run::<u32, Inline>(|n| n, |n| *n, case);
    }

    #[test]
    fn strings_are_met_once(case in (steps(), (bound(), bound()), rest())) {
        let number = |key: &String| key[17..].parse().expect("a number");
        run::<String, Boxed>(|n| format!("a prefix for all {n:04}"), number, case);
    }
}

/// `fold` goes over leaves by itself.
#[test]
fn folds_meet_what_steps_meet() {
    let tree: InlineTree<u32, u32> = (0..KEYS).map(|n| (n, n * n)).collect();
    let pinned = tree.pin();
    let mut pairs = Vec::new();
    pinned
        .iter()
        .for_each(|(key, value)| pairs.push((key, *value)));
    assert!(pairs.into_iter().eq((0..KEYS).map(|n| (n, n * n))));
    let skipped = |n: usize| {
        let mut keys = pinned.keys();
        keys.by_ref().take(n).for_each(drop);
        (keys.next_back(), keys.count())
    };
    assert_eq!(skipped(0), (Some(KEYS - 1), KEYS as usize - 1));
    assert_eq!(skipped(100), (Some(KEYS - 1), KEYS as usize - 101));
    assert_eq!(pinned.range(10..20).map(|(_, n)| n).sum::<u32>(), 2185);
    assert_eq!(
        pinned.values().copied().max(),
        Some((KEYS - 1) * (KEYS - 1))
    );
}
