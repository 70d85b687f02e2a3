//! The `ordered` index against `BTreeMap`, one thread.

mod ordered_common;

use std::collections::BTreeMap;
use std::ops::Bound;

use fyris_index::ordered::{Ordered, TreeKey};
use fyris_index::{Action, Index, OrderedIndex};
use fyris_sync::reclaim::pin;
use ordered_common::{Boxed, check_drops};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Op<K> {
    Put(K, u64),
    Remove(K),
    Get(K),
    Seek(Bound<K>),
    SeekBack(Bound<K>),
    Next(Option<K>),
    Back(Bound<K>),
    Slot(usize),
}

fn bound<K: Clone + std::fmt::Debug + 'static>(
    key: impl Strategy<Value = K> + Clone + 'static,
) -> impl Strategy<Value = Bound<K>> {
    prop_oneof![
        1 => Just(Bound::Unbounded),
        3 => key.clone().prop_map(Bound::Included),
        3 => key.prop_map(Bound::Excluded),
    ]
}

fn ops<K: Clone + std::fmt::Debug + 'static>(
    key: impl Strategy<Value = K> + Clone + 'static,
) -> impl Strategy<Value = Vec<Op<K>>> {
    let one = prop_oneof![
        8 => (key.clone(), any::<u64>()).prop_map(|(k, v)| Op::Put(k, v)),
        5 => key.clone().prop_map(Op::Remove),
        2 => key.clone().prop_map(Op::Get),
        1 => bound(key.clone()).prop_map(Op::Seek),
        1 => bound(key.clone()).prop_map(Op::SeekBack),
        1 => prop::option::of(key.clone()).prop_map(Op::Next),
        1 => bound(key).prop_map(Op::Back),
        1 => (0usize..400).prop_map(Op::Slot),
    ];
    prop::collection::vec(one, 0..600)
}

fn above<K>(b: &Bound<K>) -> (Bound<&K>, Bound<&K>) {
    (b.as_ref(), Bound::Unbounded)
}

fn run<K: TreeKey + Ord + Clone + std::fmt::Debug + Send + Sync + 'static>(ops: Vec<Op<K>>) {
    let index = Ordered::<Boxed<K, u64>>::new();
    let mut model = BTreeMap::<K, u64>::new();
    let pin = pin();
    let pair = |e: Boxed<K, u64>| (e.get().0.clone(), e.get().1);
    for op in ops {
        match op {
            Op::Put(k, v) => {
                let new = Boxed::new(k.clone(), v);
                let old = index.upsert(&k, &pin, |old| (Action::Put(new), old));
                assert_eq!(old.map(|e| e.get().1), model.insert(k, v));
                if let Some(old) = old {
                    // SAFETY: taken out by this thread.
                    unsafe { fyris_index::Entry::retire(old, &pin) };
                }
            }
            Op::Remove(k) => {
                let old = index.upsert(&k, &pin, |old| (Action::Remove, old));
                assert_eq!(old.map(|e| e.get().1), model.remove(&k));
                if let Some(old) = old {
                    // SAFETY: taken out by this thread.
                    unsafe { fyris_index::Entry::retire(old, &pin) };
                }
            }
            Op::Get(k) => {
                assert_eq!(
                    index.get(&k, &pin).map(|e| e.get().1),
                    model.get(&k).copied()
                );
            }
            Op::Seek(b) => {
                let want = model.range(above(&b)).next().map(|(k, v)| (k.clone(), *v));
                assert_eq!(index.seek(b.as_ref(), &pin).map(pair), want);
            }
            Op::SeekBack(b) => {
                let want = model.range((Bound::Unbounded, b.as_ref())).next_back();
                let want = want.map(|(k, v)| (k.clone(), *v));
                assert_eq!(index.seek_back(b.as_ref(), &pin).map(pair), want);
            }
            Op::Next(after) => {
                let mut got = Vec::new();
                index.scan(
                    (
                        after.as_ref().map_or(Bound::Unbounded, Bound::Excluded),
                        Bound::Unbounded,
                    ),
                    1,
                    &pin,
                    &mut got,
                );
                let from = after.map_or(Bound::Unbounded, Bound::Excluded);
                let want = model.range(above(&from)).map(|(k, v)| (k.clone(), *v));
                let want: Vec<_> = want.take(got.len().max(1)).collect();
                assert_eq!(got.into_iter().map(pair).collect::<Vec<_>>(), want);
            }
            Op::Back(from) => {
                let mut got = Vec::new();
                index.scan_back((Bound::Unbounded, from.as_ref()), 1, &pin, &mut got);
                let want = model.range((Bound::Unbounded, from.as_ref())).rev();
                let want: Vec<_> = want
                    .take(got.len().max(1))
                    .map(|(k, v)| (k.clone(), *v))
                    .collect();
                assert_eq!(got.into_iter().map(pair).collect::<Vec<_>>(), want);
            }
            Op::Slot(i) => {
                let mut got = Vec::new();
                index.slot(i, &pin, &mut got);
                let want: Vec<_> = model
                    .iter()
                    .nth(i)
                    .map(|(k, v)| (k.clone(), *v))
                    .into_iter()
                    .collect();
                assert_eq!(got.into_iter().map(pair).collect::<Vec<_>>(), want);
            }
        }
        assert_eq!(index.len(), model.len());
    }
    let mut all = Vec::new();
    while all.len() < model.len() {
        let after = all.last().map(|e: &Boxed<K, u64>| e.get().0.clone());
        index.scan(
            (
                after.as_ref().map_or(Bound::Unbounded, Bound::Excluded),
                Bound::Unbounded,
            ),
            1,
            &pin,
            &mut all,
        );
    }
    let all: Vec<_> = all.into_iter().map(pair).collect();
    assert_eq!(all, model.into_iter().collect::<Vec<_>>());
}

/// Generates strings with long shared prefixes, zeros at their ends, prefixes of each other.
fn nasty_bytes() -> impl Strategy<Value = Vec<u8>> + Clone {
    let alphabet = prop::sample::select(vec![0u8, 1, b'a', 0xff]);
    let tail = prop::collection::vec(alphabet, 0..4);
    (0usize..4, tail, 0u8..12).prop_map(|(prefix, mut tail, n)| {
        let mut key = b"a common beginning of keys"[..prefix * 8].to_vec();
        key.append(&mut tail);
        key.resize(key.len() + n as usize / 4, 0);
        key
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn small_integers(ops in ops(0u64..200)) {
        check_drops(|| run(ops));
    }

    #[test]
    fn integers_at_the_ends(ops in ops(prop_oneof![
        Just(0u64), Just(1), Just(u64::MAX), Just(u64::MAX - 1), any::<u64>(), 0..20u64,
    ])) {
        check_drops(|| run(ops));
    }

    #[test]
    fn signed_integers(ops in ops(prop_oneof![-40..40i64, Just(i64::MIN), Just(i64::MAX)])) {
        check_drops(|| run(ops));
    }

    #[test]
    fn byte_strings(ops in ops(nasty_bytes())) {
        check_drops(|| run(ops));
    }

    #[test]
    fn plain_keys(ops in ops((0u8..20, 0u8..8).prop_map(fyris_index::ordered::Opaque))) {
        check_drops(|| run(ops));
    }

    #[test]
    fn pairs(ops in ops((nasty_bytes(), -3..3i32))) {
        check_drops(|| run(ops));
    }
}

#[test]
fn many_ascending_descending_and_gone() {
    for descending in [false, true] {
        let index = Ordered::<Boxed<u64, u64>>::new();
        let pin = pin();
        let n = 20_000u64;
        for i in 0..n {
            let k = if descending { n - i } else { i };
            index.upsert(&k, &pin, |old| {
                assert!(old.is_none());
                (Action::Put(Boxed::new(k, i)), ())
            });
        }
        let full = index.stats(&pin);
        let memory = index.memory();
        assert!(full.depth >= 3, "{full:?}");
        if !descending && !cfg!(fyris_small) {
            assert!(
                memory < n as usize * 20,
                "an ascending load fills its leaves: {memory}"
            );
        }
        for i in 0..=n {
            let gone = index.upsert(&i, &pin, |old| (Action::Remove, old));
            if let Some(gone) = gone {
                // SAFETY: taken out by this thread.
                unsafe { fyris_index::Entry::retire(gone, &pin) };
            }
        }
        let empty = index.stats(&pin);
        assert_eq!(index.len(), 0);
        // With four children a node two neighbours often do not fit into one.
        let share = if cfg!(fyris_small) { 8 } else { 50 };
        assert!(
            empty.leaves <= 1 + full.leaves / share,
            "{full:?} {empty:?}"
        );
        assert!(
            index.memory() < 4096 + 2 * memory / share,
            "{} of {memory}",
            index.memory()
        );
    }
}
