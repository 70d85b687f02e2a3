//! `JudyBytes` beside `BTreeMap`: every operation, on keys that share much or little, end within one another, and have
//! zeros anywhere.
#![cfg(not(any(loom, shuttle)))]

use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

use fyris_judy::JudyBytes;
use proptest::prelude::*;

/// A way to make keys of small numbers, so that the same ones come up again.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Short strings of few digits: many end within others.
    Digits(u8, u8),
    /// As many zeros as the number says.
    Zeros,
    /// Twenty bytes that look random.
    Random,
    /// Paths: parts of the number behind one another.
    Paths,
    /// A long prefix that all share, and another one for each eighth.
    Shared(usize),
}

impl Shape {
    fn key(self, i: u64) -> Vec<u8> {
        let scrambled = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        match self {
            Shape::Digits(zero, one) => {
                let bits = 64 - (i + 1).leading_zeros() - 1;
                (0..bits)
                    .map(|bit| if (i + 1) >> bit & 1 == 0 { zero } else { one })
                    .collect()
            }
            Shape::Zeros => vec![0; i as usize % 300],
            Shape::Random => [scrambled, !scrambled, scrambled >> 7]
                .iter()
                .flat_map(|w| w.to_be_bytes())
                .take(20)
                .collect(),
            Shape::Paths => format!(
                "https://www.example.com/{}/{}/page-{}.html",
                i % 3,
                i / 3 % 40,
                i / 120
            )
            .into(),
            Shape::Shared(len) => {
                let mut key = vec![b'k'; len + (i % 8) as usize * 5];
                key.extend_from_slice(&i.to_le_bytes()[..1 + (i % 3) as usize]);
                key
            }
        }
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Digits(0, 1)),
        Just(Shape::Digits(0, 255)),
        Just(Shape::Digits(b'a', b'b')),
        Just(Shape::Zeros),
        Just(Shape::Random),
        Just(Shape::Paths),
        (0..40usize).prop_map(Shape::Shared),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Fill(u64, u64),
    Thin(u64, u64),
    Insert(u64),
    Remove(u64),
    GetOrInsert(u64),
    PopFirst,
    PopLast,
    Clear,
    /// Asks everything about a key, those beside it and a range.
    Look(u64, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let n = 0..1000u64;
    prop::collection::vec(
        prop_oneof![
            4 => (n.clone(), 1..200u64).prop_map(|(i, count)| Step::Fill(i, count)),
            3 => (n.clone(), 1..200u64).prop_map(|(i, count)| Step::Thin(i, count)),
            4 => n.clone().prop_map(Step::Insert),
            4 => n.clone().prop_map(Step::Remove),
            1 => n.clone().prop_map(Step::GetOrInsert),
            1 => Just(Step::PopFirst),
            1 => Just(Step::PopLast),
            1 => Just(Step::Clear),
            6 => (n.clone(), n.clone()).prop_map(|(i, j)| Step::Look(i, j)),
        ],
        1..40,
    )
}

type Model = BTreeMap<Vec<u8>, Rc<u64>>;

fn lent<'a>(pair: (&'a Vec<u8>, &'a Rc<u64>)) -> (Vec<u8>, &'a Rc<u64>) {
    (pair.0.clone(), pair.1)
}

/// Compares all that is asked about two keys.
fn look(ours: &JudyBytes<Rc<u64>>, model: &Model, a: &[u8], b: &[u8]) {
    let mut near = a.to_vec();
    near.push(0);
    for key in [a, &near, &a[..a.len() / 2]] {
        assert_eq!(ours.get(key), model.get(key));
        let rank = model
            .range::<[u8], _>((Bound::Unbounded, Bound::Excluded(key)))
            .count();
        assert_eq!(ours.rank(key), rank);
        assert_eq!(ours.nth(rank), model.iter().nth(rank).map(lent));
        for bound in [Bound::Included(key), Bound::Excluded(key)] {
            let above = model.range::<[u8], _>((bound, Bound::Unbounded)).next();
            assert_eq!(ours.seek(bound), above.map(lent));
            let below = model
                .range::<[u8], _>((Bound::Unbounded, bound))
                .next_back();
            assert_eq!(ours.seek_back(bound), below.map(lent));
        }
    }
    let bounds = (Bound::Included(a), Bound::Excluded(b));
    let range = ours.range::<&[u8]>(bounds);
    if a >= b {
        assert_eq!((range.len(), range.count()), (0, 0));
        return;
    }
    let expected: Vec<_> = model.range::<[u8], _>(bounds).map(lent).collect();
    assert_eq!(ours.count_between::<&[u8]>(bounds), expected.len());
    assert_eq!(range.clone().collect::<Vec<_>>(), expected);
    assert!(range.clone().rev().eq(expected.iter().rev().cloned()));
    let (mut range, mut both) = (range, Vec::new());
    while let Some(pair) = range.next() {
        both.push(pair);
        both.extend(range.next_back());
    }
    both.sort();
    assert_eq!(both, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 150 }))]

    #[test]
    fn it_answers_as_a_sorted_map(shape in shapes(), steps in steps()) {
        let (mut ours, mut model) = (JudyBytes::new(), Model::new());
        for (n, step) in steps.into_iter().enumerate() {
            let value = Rc::new(n as u64);
            match step {
                Step::Fill(from, count) => for i in from..from + count {
                    let key = shape.key(i);
                    prop_assert_eq!(ours.insert(&key, value.clone()), model.insert(key, value.clone()));
                },
                Step::Thin(from, count) => for i in from..from + count {
                    let key = shape.key(i);
                    prop_assert_eq!(ours.remove(&key), model.remove(&key));
                },
                Step::Insert(i) => {
                    let key = shape.key(i);
                    prop_assert_eq!(ours.insert(&key, value.clone()), model.insert(key, value));
                }
                Step::Remove(i) => prop_assert_eq!(ours.remove(shape.key(i)), model.remove(&shape.key(i))),
                Step::GetOrInsert(i) => {
                    let kept = ours.get_or_insert_with(shape.key(i), || value.clone()).clone();
                    prop_assert_eq!(&kept, model.entry(shape.key(i)).or_insert(value));
                }
                Step::PopFirst => prop_assert_eq!(ours.pop_first(), model.pop_first()),
                Step::PopLast => prop_assert_eq!(ours.pop_last(), model.pop_last()),
                Step::Clear => {
                    ours.clear();
                    model.clear();
                    prop_assert_eq!(ours.node_bytes().total(), 0);
                }
                Step::Look(i, j) => look(&ours, &model, &shape.key(i), &shape.key(j)),
            }
            prop_assert_eq!(ours.len(), model.len());
        }
        prop_assert_eq!(ours.iter().collect::<Vec<_>>(), model.iter().map(lent).collect::<Vec<_>>());
        for (n, key) in model.keys().enumerate().step_by(7) {
            prop_assert_eq!(ours.rank(key), n);
            prop_assert_eq!(ours.nth(n).map(|pair| pair.0), Some(key.clone()));
        }
        prop_assert_eq!(&ours.clone(), &ours);
        for (key, value) in &model {
            prop_assert_eq!(ours.remove(key), Some(value.clone()));
        }
        prop_assert_eq!(ours.node_bytes().total(), 0, "what is empty has no nodes");
        // Values were dropped once: the model's are left.
        for value in model.values().take(20) {
            let left = model.values().filter(|other| Rc::ptr_eq(value, other)).count();
            prop_assert_eq!(Rc::strong_count(value), left);
        }
    }
}

#[test]
fn a_chain_of_keys_as_deep_as_keys_are_long_is_freed() {
    let mut map = JudyBytes::new();
    let key = vec![7u8; if cfg!(miri) { 200 } else { 20_000 }];
    for len in (0..key.len()).step_by(7) {
        map.insert(&key[..len], len);
    }
    assert_eq!(
        map.nth(map.len() - 1).map(|pair| *pair.1),
        Some((key.len() - 1) / 7 * 7)
    );
    drop(map);
}

#[test]
fn equal_beginnings_are_kept_once() {
    let mut map = JudyBytes::new();
    let prefix = "a".repeat(1000);
    for n in 0..100u32 {
        map.insert(format!("{prefix}{n:03}"), n);
    }
    assert!(
        map.memory() < 6000,
        "{} bytes, {:?}",
        map.memory(),
        map.node_bytes()
    );
}

/// A branch that had lost all words but one, which stands for many keys, gave way to that word in the pointer. The
/// pointer lacks the bytes that the branch decoded, so another word was taken for it.
#[test]
fn the_last_word_of_many_keys_is_put_away() {
    // Two words of eight bytes, and what is behind them; without the bytes that are escaped.
    let key = |a: u8, b: u8, c: u8| [&b"a prefix"[..], &[a, 9, 9, 9, 9, 9, 9, b], &[c, c]].concat();
    for kept in 2..6u8 {
        let (mut ours, mut model) = (JudyBytes::new(), BTreeMap::new());
        let many = (2..=kept).flat_map(|b| (2..60).map(move |c| (2, b, c)));
        let others = (3..100).map(|a| (a, 2, 2));
        for (a, b, c) in others.clone().chain(many.clone()) {
            ours.insert(key(a, b, c), (a, b, c));
            model.insert(key(a, b, c), (a, b, c));
        }
        for (a, b, c) in others.clone() {
            assert_eq!(ours.remove(key(a, b, c)), model.remove(&key(a, b, c)));
        }
        for (a, b, c) in others {
            assert_eq!(ours.get(key(a, b, c)), None);
        }
        assert!(ours.iter().map(|(key, _)| key).eq(model.keys().cloned()));
        for (a, b, c) in many {
            assert_eq!(ours.remove(key(a, b, c)), Some((a, b, c)));
        }
        assert_eq!(ours.node_bytes().total(), 0, "what is empty has no nodes");
    }
}
