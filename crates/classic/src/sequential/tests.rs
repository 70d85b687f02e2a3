//! Sequential trees against a `BTreeMap`, with their shape checked after every step.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Bound;

use fyris_index::key::{Opaque, TreeKey};
use fyris_index::{Action, Entry};
use fyris_sync::reclaim::Guard;
use proptest::prelude::*;

use crate::btree::BTree;

use super::node::{ChildLink, HIGH, LOW};
use super::{Avl, Balance, SearchTree, SequentialTree, SplitTree, Treap};

thread_local! {
    static DISPOSED: Cell<usize> = const { Cell::new(0) };
}

/// Keys below 2^16 and values below 2^16, in the handle itself.
trait Small: TreeKey + Copy + Debug + 'static {
    fn of(number: u16) -> Self;
    fn number(self) -> u16;
}

impl Small for u64 {
    fn of(number: u16) -> Self {
        number.into()
    }
    fn number(self) -> u16 {
        self as u16
    }
}

/// Keys without key prefixes.
impl Small for Opaque<u16> {
    fn of(number: u16) -> Self {
        Opaque(number)
    }
    fn number(self) -> u16 {
        self.0
    }
}

/// Keys of which many share a key prefix.
impl Small for [u8; 9] {
    fn of(number: u16) -> Self {
        let [high, low] = number.to_be_bytes();
        [b'k', 0, 0, 0, 0, 0, 0, high, low]
    }
    fn number(self) -> u16 {
        u16::from_be_bytes([self[7], self[8]])
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair<K> {
    key: K,
    value: u16,
}

// SAFETY: the handle is the object; its highest bit is set.
unsafe impl<K: Small> Entry for Pair<K> {
    type Key = K;
    fn key(&self) -> &K {
        &self.key
    }
    fn into_bits(self) -> u64 {
        1 << 47 | u64::from(self.value) << 16 | u64::from(self.key.number())
    }
    unsafe fn from_bits(bits: u64) -> Self {
        Self {
            key: K::of(bits as u16),
            value: (bits >> 16) as u16,
        }
    }
    unsafe fn retire(self, _: &impl Guard) {}
    unsafe fn dispose(self) {
        DISPOSED.set(DISPOSED.get() + 1);
    }
}

type Tree<K, B> = SearchTree<Pair<K>, B>;
type Model = BTreeMap<u16, u16>;

/// A tree under test.
trait Tested<K: Small>: SequentialTree<Entry = Pair<K>> + Default {
    /// Checks the shape.
    fn check_shape(&self) {}

    /// Splits at a key, checks both parts, and joins them again.
    fn split_and_join(&mut self, _: &mut Model, _: u16) {}

    /// Returns two neighbours in about the middle; `None` for a tree that cannot be split.
    fn middle(&self, _: &Model) -> Option<(u16, u16)> {
        None
    }
}

impl<K: Small> Tested<K> for BTree<Pair<K>> {}

impl<K: Small, B: Balance> Tested<K> for Tree<K, B> {
    fn check_shape(&self) {
        // SAFETY: the test has the tree alone.
        unsafe { B::check(self.root) };
    }

    fn split_and_join(&mut self, model: &mut Model, key: u16) {
        let mut above = model.split_off(&key);
        let high = self.split_off(&K::of(key));
        check(self, model);
        check(&high, &above);
        model.append(&mut above);
        self.join(high);
    }

    fn middle(&self, model: &Model) -> Option<(u16, u16)> {
        let middle = SplitTree::middle(self);
        assert_eq!(middle.is_some(), model.len() > 1);
        middle.map(|(below, above)| (below.key.number(), above.key.number()))
    }
}

fn depth<E: Entry>(root: ChildLink<E>) -> u32 {
    if root.is_null() {
        return 0;
    }
    // SAFETY: the test has the tree alone.
    let children = unsafe { (*root).children };
    1 + depth(children[LOW]).max(depth(children[HIGH]))
}

/// Checks the shape and the content of a tree.
fn check<K: Small>(tree: &impl Tested<K>, model: &Model) {
    tree.check_shape();
    let mut all = Vec::new();
    let range = (Bound::Unbounded, Bound::Unbounded);
    assert!(!tree.scan(range, usize::MAX - 1, &mut all));
    let pairs: Vec<_> = all.iter().map(|e| (e.key.number(), e.value)).collect();
    let expected: Vec<_> = model.iter().map(|(&key, &value)| (key, value)).collect();
    assert_eq!(pairs, expected);
    let mut back = Vec::new();
    assert!(!tree.scan_back(range, usize::MAX - 1, &mut back));
    back.reverse();
    assert_eq!(all, back);
}

/// Puts in or takes out; checks what comes back.
fn change<K: Small>(tree: &mut impl Tested<K>, model: &mut Model, key: u16, value: Option<u16>) {
    let before = model.len() as i64;
    let old = match value {
        Some(value) => model.insert(key, value),
        None => model.remove(&key),
    };
    let key = K::of(key);
    let action = value.map_or(Action::Remove, |value| Action::Put(Pair { key, value }));
    let (seen, change) = tree.upsert(&key, |old| (action, old.map(|old| old.value)));
    assert_eq!((seen, before + change), (old, model.len() as i64));
    assert_eq!(tree.get(&key).map(|pair| pair.value), value);
}

#[derive(Clone, Debug)]
enum Step {
    Put(u16, u16),
    Remove(u16),
    Ascend(u16, u16),
    Scan(Bound<u16>, Bound<u16>, usize),
    Split(u16),
    Halve,
    Panic(u16),
}

fn bound() -> impl Strategy<Value = Bound<u16>> {
    prop_oneof![
        Just(Bound::Unbounded),
        (0..300u16).prop_map(Bound::Included),
        (0..300u16).prop_map(Bound::Excluded),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..300u16;
    prop_oneof![
        8 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Step::Put(key, value)),
        6 => key.clone().prop_map(Step::Remove),
        1 => (key.clone(), 1..60u16).prop_map(|(key, len)| Step::Ascend(key, len)),
        4 => (bound(), bound(), 0..40usize).prop_map(|(from, to, want)| Step::Scan(from, to, want)),
        2 => key.clone().prop_map(Step::Split),
        1 => Just(Step::Halve),
        1 => key.prop_map(Step::Panic),
    ]
}

fn within(key: u16, from: Bound<u16>, to: Bound<u16>) -> bool {
    use std::ops::RangeBounds;
    (from, to).contains(&key)
}

/// Scans both ways and seeks both ends.
fn look<K: Small>(
    tree: &impl Tested<K>,
    model: &Model,
    (from, to): (Bound<u16>, Bound<u16>),
    want: usize,
) {
    let expected: Vec<_> = model
        .keys()
        .copied()
        .filter(|&key| within(key, from, to))
        .collect();
    let (low, high) = (from.map(K::of), to.map(K::of));
    let range = (low.as_ref(), high.as_ref());
    let numbers = |batch: Vec<Pair<K>>| batch.iter().map(|e| e.key.number()).collect::<Vec<_>>();
    let some = want.max(1).min(expected.len());
    let mut batch = Vec::new();
    assert_eq!(tree.scan(range, want, &mut batch), some < expected.len());
    assert_eq!(numbers(batch), expected[..some]);
    let mut batch = Vec::new();
    assert_eq!(
        tree.scan_back(range, want, &mut batch),
        some < expected.len()
    );
    let back: Vec<_> = expected.iter().rev().take(some).copied().collect();
    assert_eq!(numbers(batch), back);
    let first = model
        .keys()
        .copied()
        .find(|&key| within(key, from, Bound::Unbounded));
    assert_eq!(tree.seek(range.0).map(|e| e.key.number()), first);
    let last = model
        .keys()
        .copied()
        .rfind(|&key| within(key, Bound::Unbounded, to));
    assert_eq!(tree.seek_back(range.1).map(|e| e.key.number()), last);
}

fn run<K: Small, T: Tested<K>>(steps: &[Step]) {
    DISPOSED.set(0);
    let (mut tree, mut model) = (T::default(), Model::new());
    for step in steps {
        match *step {
            Step::Put(key, value) => change(&mut tree, &mut model, key, Some(value)),
            Step::Remove(key) => change(&mut tree, &mut model, key, None),
            Step::Ascend(key, len) => {
                (key..key + len).for_each(|key| change(&mut tree, &mut model, key, Some(key)));
            }
            Step::Scan(from, to, want) => look(&tree, &model, (from, to), want),
            Step::Split(key) => tree.split_and_join(&mut model, key),
            Step::Halve => {
                if let Some((below, above)) = tree.middle(&model) {
                    assert_eq!(model.range(below..=above).count(), 2, "neighbours");
                    tree.split_and_join(&mut model, above);
                }
            }
            Step::Panic(key) => {
                let key = K::of(key);
                let panics = std::panic::AssertUnwindSafe(|| {
                    tree.upsert(&key, |_| -> (Action<_>, ()) {
                        std::panic::resume_unwind(Box::new(()))
                    })
                });
                assert!(std::panic::catch_unwind(panics).is_err());
            }
        }
        check(&tree, &model);
    }
    drop(tree);
    assert_eq!(DISPOSED.get(), model.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]
    #[test]
    fn trees_are_sets(steps in proptest::collection::vec(step(), 0..120)) {
        run::<u64, Tree<_, Avl>>(&steps);
        run::<u64, Tree<_, Treap>>(&steps);
        run::<Opaque<u16>, Tree<_, Avl>>(&steps);
        run::<[u8; 9], Tree<_, Treap>>(&steps);
        run::<u64, BTree<_>>(&steps);
        run::<[u8; 9], BTree<_>>(&steps);
    }
}

/// Checks that trees are shallow, and that halves are of about the same size, however the keys came.
fn shape<B: Balance>(deepest: u32, least: usize) {
    const LEN: u16 = 50_000;
    let scattered = |at: u16| (u32::from(at) * 40_503 % u32::from(LEN)) as u16;
    for order in [|at: u16| at, |at: u16| LEN - 1 - at, scattered] {
        let mut tree = Tree::<u64, B>::default();
        for key in (0..LEN).map(order) {
            let key = u64::of(key);
            tree.upsert(&key, |_| (Action::Put(Pair { key, value: 0 }), ()));
        }
        assert!(depth(tree.root) <= deepest, "{} levels", depth(tree.root));
        let (_, above) = SplitTree::middle(&tree).expect("many");
        let high = tree.split_off(&above.key);
        let share = above.key.number().into();
        assert!(
            (least..=usize::from(LEN) - least).contains(&share),
            "{share}"
        );
        assert!(depth(tree.root).max(depth(high.root)) <= deepest);
        tree.join(high);
        assert!(depth(tree.root) <= deepest);
    }
}

#[test]
fn avl_trees_are_low() {
    // 1.44 log n.
    shape::<Avl>(22, 10_000);
}

#[test]
fn treaps_are_low() {
    // The height of random trees of this size is 42 on average, and close to that nearly always.
    shape::<Treap>(60, 1_000);
}
