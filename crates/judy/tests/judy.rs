//! `JudyMap` beside `BTreeMap`: every operation, on keys that make all kinds of nodes grow and shrink.
#![cfg(not(any(loom, shuttle)))]

use std::collections::BTreeMap;
use std::ops::Bound;

use fyris_judy::JudyMap;
use proptest::prelude::*;

/// A way to make keys of small numbers, so that the same ones come up again.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Neighbours.
    Dense,
    /// The highest numbers.
    Top,
    /// Spread over all numbers.
    Spread,
    /// Neighbours in groups that are far from one another: narrow pointers.
    Clusters,
    /// Few digits, at every level: branches with few children, one above the other.
    FewDigits,
    /// All digits of one level.
    OneLevel(u32),
    /// A random part below a prefix that all share.
    Prefix(u32),
}

impl Shape {
    fn key(self, i: u64) -> u64 {
        let scrambled = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        match self {
            Shape::Dense => i,
            Shape::Top => u64::MAX - i,
            Shape::Spread => scrambled,
            Shape::Clusters => (i / 70) << 43 | (i % 70) << (i / 70 % 3),
            Shape::FewDigits => scrambled & 0x0301_0101_0103_0103,
            Shape::OneLevel(level) => (i % 256) << (8 * level) | (i / 256),
            Shape::Prefix(bits) => 0xFEDC_BA98_7654_3210 >> bits << bits | scrambled >> (64 - bits),
        }
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Dense),
        Just(Shape::Top),
        Just(Shape::Spread),
        Just(Shape::Clusters),
        Just(Shape::FewDigits),
        (0..8u32).prop_map(Shape::OneLevel),
        (1..64u32).prop_map(Shape::Prefix),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Inserts so many keys in a row.
    Fill(u64, u64),
    /// Removes so many keys in a row.
    Thin(u64, u64),
    Insert(u64),
    Remove(u64),
    GetOrInsert(u64),
    PopFirst,
    PopLast,
    Clear,
    /// Asks everything about a key and those beside it.
    Look(u64, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let n = 0..1500u64;
    prop::collection::vec(
        prop_oneof![
            4 => (n.clone(), 1..400u64).prop_map(|(i, count)| Step::Fill(i, count)),
            3 => (n.clone(), 1..400u64).prop_map(|(i, count)| Step::Thin(i, count)),
            4 => n.clone().prop_map(Step::Insert),
            4 => n.clone().prop_map(Step::Remove),
            1 => n.clone().prop_map(Step::GetOrInsert),
            1 => Just(Step::PopFirst),
            1 => Just(Step::PopLast),
            8 => (n.clone(), n).prop_map(|(one, other)| Step::Look(one, other)),
        ],
        1..60,
    )
    .prop_flat_map(|steps| {
        let clear = prop::option::weighted(0.1, 0..steps.len());
        (Just(steps), clear)
    })
    .prop_map(|(mut steps, clear)| {
        if let Some(at) = clear {
            steps.insert(at, Step::Clear);
        }
        steps
    })
}

/// A value that owns memory.
type Value = Box<u64>;

struct Both {
    ours: JudyMap<u64, Value>,
    model: BTreeMap<u64, Value>,
}

fn own(pair: Option<(u64, &Value)>) -> Option<(u64, &u64)> {
    pair.map(|(key, value)| (key, &**value))
}

impl Both {
    fn insert(&mut self, key: u64) {
        let value = Box::new(self.model.len() as u64);
        assert_eq!(
            self.ours.insert(key, value.clone()),
            self.model.insert(key, value)
        );
    }

    fn remove(&mut self, key: u64) {
        assert_eq!(self.ours.remove(&key), self.model.remove(&key));
    }

    fn step(&mut self, shape: Shape, step: Step) {
        match step {
            Step::Fill(i, count) => (i..i + count).for_each(|i| self.insert(shape.key(i))),
            Step::Thin(i, count) => (i..i + count).for_each(|i| self.remove(shape.key(i))),
            Step::Insert(i) => self.insert(shape.key(i)),
            Step::Remove(i) => self.remove(shape.key(i)),
            Step::GetOrInsert(i) => {
                let key = shape.key(i);
                **self.ours.get_or_insert_with(key, || Box::new(7)) += 1;
                **self.model.entry(key).or_insert_with(|| Box::new(7)) += 1;
            }
            Step::PopFirst => assert_eq!(self.ours.pop_first(), self.model.pop_first()),
            Step::PopLast => assert_eq!(self.ours.pop_last(), self.model.pop_last()),
            Step::Clear => {
                self.ours.clear();
                self.model.clear();
                assert_eq!(self.ours.node_bytes().total(), 0);
            }
            Step::Look(i, j) => {
                let other = shape.key(j);
                for key in [
                    shape.key(i),
                    shape.key(i).wrapping_add(1),
                    shape.key(i).wrapping_sub(1),
                ] {
                    self.look(key);
                    self.look_between(key.min(other), key.max(other));
                }
            }
        }
        assert_eq!(self.ours.len(), self.model.len());
    }

    fn look(&self, key: u64) {
        let Self { ours, model } = self;
        assert_eq!(ours.get(&key), model.get(&key));
        assert_eq!(ours.contains_key(&key), model.contains_key(&key));
        for bound in [Bound::Included(key), Bound::Excluded(key)] {
            let first = model.range((bound, Bound::Unbounded)).next();
            assert_eq!(
                own(ours.seek(bound)),
                first.map(|(key, value)| (*key, &**value))
            );
            let last = model.range((Bound::Unbounded, bound)).next_back();
            assert_eq!(
                own(ours.seek_back(bound)),
                last.map(|(key, value)| (*key, &**value))
            );
        }
        let rank = model.range(..key).count();
        assert_eq!(ours.rank(&key), rank);
        let nth = model.iter().nth(rank).map(|(key, value)| (*key, &**value));
        assert_eq!(own(ours.nth(rank)), nth);
        let up = (key..=u64::MAX).find(|key| !model.contains_key(key));
        assert_eq!(ours.next_empty(key), up);
        let down = (0..=key).rev().find(|key| !model.contains_key(key));
        assert_eq!(ours.prev_empty(key), down);
    }

    fn look_between(&self, from: u64, to: u64) {
        let Self { ours, model } = self;
        let expected: Vec<_> = model.range(from..=to).collect();
        assert_eq!(ours.count_between(from..=to), expected.len());
        assert_eq!(ours.count_between(from..to), model.range(from..to).count());
        let mut range = ours.range(from..=to);
        assert_eq!(range.len(), expected.len());
        // From both ends in turn, and they meet.
        let (mut low, mut high) = (0, expected.len());
        while low < high {
            let (pair, model) = if (low + high) % 3 == 0 {
                high -= 1;
                (range.next_back(), expected[high])
            } else {
                low += 1;
                (range.next(), expected[low - 1])
            };
            assert_eq!(pair, Some((*model.0, model.1)));
        }
        assert_eq!((range.next(), range.next_back()), (None, None));
    }

    fn whole(&mut self) {
        let Self { ours, model } = self;
        assert!(
            ours.iter()
                .eq(model.iter().map(|(key, value)| (*key, value)))
        );
        assert!(ours.keys().rev().eq(model.keys().rev().copied()));
        assert!(ours.values().eq(model.values()));
        assert_eq!(
            own(ours.first()),
            model.iter().next().map(|(k, v)| (*k, &**v))
        );
        assert_eq!(
            own(ours.last()),
            model.iter().next_back().map(|(k, v)| (*k, &**v))
        );
        assert_eq!(*ours, ours.clone());
        ours.iter_mut().for_each(|(key, value)| **value ^= key);
        model.iter_mut().for_each(|(key, value)| **value ^= key);
        assert!(
            ours.iter()
                .rev()
                .eq(model.iter().rev().map(|(key, value)| (*key, value)))
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_operation_is_that_of_a_sorted_map(shape in shapes(), steps in steps()) {
        let mut both = Both { ours: JudyMap::new(), model: BTreeMap::new() };
        for step in steps {
            both.step(shape, step);
        }
        both.whole();
        let keys: Vec<u64> = both.model.keys().copied().collect();
        keys.into_iter().for_each(|key| both.remove(key));
        prop_assert_eq!(both.ours.node_bytes().total(), 0);
    }
}

#[test]
fn bounds_without_anything_between_them_are_empty() {
    let map: JudyMap<u64, u8> = [(0, 1), (5, 2), (u64::MAX, 3)].into_iter().collect();
    let (max, ends) = (u64::MAX, (Bound::Excluded(u64::MAX), Bound::Unbounded));
    assert_eq!(map.range(ends).count(), 0);
    assert_eq!(map.range((Bound::Unbounded, Bound::Excluded(0))).count(), 0);
    #[expect(clippy::reversed_empty_ranges, reason = "what is tested")]
    let backwards = (map.range(6..5).count(), map.count_between(6..5));
    assert_eq!(backwards, (0, 0));
    assert_eq!(map.count_between(5..=max), 2);
    assert_eq!(map.seek(Bound::Excluded(max)), None);
    assert_eq!(map.seek_back(Bound::Excluded(0)), None);
    assert_eq!((map.next_empty(max), map.prev_empty(0)), (None, None));
    assert_eq!(
        (map.next_empty(0), map.prev_empty(max)),
        (Some(1), Some(max - 1))
    );
}

/// A root that had keys of one prefix only kept this prefix when it was emptied, and then denied keys without it, which
/// were there.
#[test]
fn a_map_that_was_emptied_takes_any_key() {
    let mut map: JudyMap<u64, u64> = (0..100).map(|n| (n, n)).collect();
    (0..100).for_each(|n| assert_eq!(map.remove(&n), Some(n)));
    map.insert(1 << 59, 1);
    assert_eq!(map.get(&(1 << 59)), Some(&1));
}

#[test]
fn signed_keys_are_in_their_order() {
    let map: JudyMap<i32, char> = [(3, 'c'), (-7, 'a'), (0, 'b')].into_iter().collect();
    assert!(map.iter().eq([(-7, &'a'), (0, &'b'), (3, &'c')]));
    assert_eq!(map.count_between(..0), 1);
    assert_eq!(map[&3], 'c');
}

#[test]
fn a_panic_in_a_callback_leaves_the_map_as_it_was() {
    let mut map: JudyMap<u64, u64> = (0..100).map(|n| (n * 3, n)).collect();
    let panics = std::panic::AssertUnwindSafe(|| {
        map.get_or_insert_with(4, || panic!("on purpose"));
    });
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!((map.len(), map.get(&4)), (100, None));
}
