//! The map against `BTreeMap`, over plain memory. With `--cfg fyris_small` nodes have 256 bytes, and splits
//! and joins are common.

use std::collections::BTreeMap;
use std::ops::Bound;

use fyris_segment::versioned_map::{Cursor, MAX_KEY, MAX_VALUE, MIN_BYTES, MapError, Plain, View};
use proptest::collection::vec;
use proptest::prelude::*;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Debug, Clone)]
enum Op {
    Insert(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    /// Removes entries from this key on, at most this many.
    RemoveRun(Vec<u8>, usize),
    Range(Vec<u8>, Vec<u8>),
    Prefix(Vec<u8>),
    Clear,
    Grow(usize),
}

/// Generates keys that often share prefixes and heads, and sometimes are prefixes of each other.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => vec(prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), Just(0xff)], 0..=6),
        4 => (0u32..300).prop_map(|n| format!("user:{n:06}").into_bytes()),
        2 => (0u32..300).prop_map(|n| n.to_be_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..=MAX_KEY),
    ]
    .prop_map(|mut key| {
        key.truncate(MAX_KEY);
        key
    })
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    let len = prop_oneof![8 => 0usize..20, 4 => 0usize..1200, 1 => 0usize..40_000];
    (any::<u8>(), len).prop_map(|(fill, len)| (0..len).map(|at| fill ^ at as u8).collect())
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        60 => (key(), value()).prop_map(|(key, value)| Op::Insert(key, value)),
        25 => key().prop_map(Op::Remove),
        4 => (key(), 0usize..60).prop_map(|(key, count)| Op::RemoveRun(key, count)),
        5 => (key(), key()).prop_map(|(low, high)| Op::Range(low, high)),
        3 => key().prop_map(Op::Prefix),
        1 => Just(Op::Clear),
        2 => (0usize..100_000).prop_map(Op::Grow),
    ]
}

fn owned<'a>(
    entries: impl Iterator<Item = Result<(&'a [u8], &'a [u8]), MapError>>,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    entries
        .map(|entry| entry.expect("entry"))
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect()
}

fn same(view: View<'_>, model: &Model) {
    let report = view.check().expect("check");
    assert_eq!(report.entries, model.len() as u64);
    assert_eq!(view.len().expect("len"), model.len() as u64);
    let expected: Vec<_> = model.clone().into_iter().collect();
    assert_eq!(owned(view.iter().expect("iter")), expected);
    let mut backward = owned(view.iter().expect("iter").rev());
    backward.reverse();
    assert_eq!(backward, expected);
    let pair = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
    let own = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
    assert_eq!(
        view.first().expect("first").map(own),
        model.first_key_value().map(pair)
    );
    assert_eq!(
        view.last().expect("last").map(own),
        model.last_key_value().map(pair)
    );
}

fn ranges(view: View<'_>, model: &Model, low: &[u8], high: &[u8]) {
    use Bound::{Excluded, Included, Unbounded};
    let lows = [Unbounded, Included(low), Excluded(low)];
    let highs = [Unbounded, Included(high), Excluded(high)];
    for (from, to) in lows
        .iter()
        .flat_map(|low| highs.iter().map(move |high| (*low, *high)))
    {
        let expected: Vec<_> = model
            .iter()
            .filter(|(key, _)| above(key, from) && below(key, to))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let range = view.range::<&[u8]>((from, to)).expect("range");
        assert_eq!(owned(range.clone()), expected, "{from:?} {to:?}");
        assert_eq!(owned(range.rev()).len(), expected.len(), "{from:?} {to:?}");
    }
}

fn above(key: &[u8], low: Bound<&[u8]>) -> bool {
    match low {
        Bound::Unbounded => true,
        Bound::Included(low) => key >= low,
        Bound::Excluded(low) => key > low,
    }
}

fn below(key: &[u8], high: Bound<&[u8]>) -> bool {
    match high {
        Bound::Unbounded => true,
        Bound::Included(high) => key <= high,
        Bound::Excluded(high) => key < high,
    }
}

/// Applies `op` to both. A full map must be as it was.
fn apply(map: &mut Plain<Vec<u8>>, model: &mut Model, op: &Op) {
    match op {
        Op::Insert(key, value) => match map.insert(key, value) {
            Ok(there) => assert_eq!(there, model.insert(key.clone(), value.clone()).is_some()),
            Err(MapError::Full { .. }) => same(map.view(), model),
            Err(error) => panic!("{error}"),
        },
        Op::Remove(key) => {
            let there = map.remove(key).expect("remove");
            assert_eq!(there, model.remove(key).is_some());
        }
        Op::RemoveRun(from, count) => {
            let keys: Vec<_> = model
                .range(from.clone()..)
                .take(*count)
                .map(|pair| pair.0.clone())
                .collect();
            for key in keys {
                assert!(map.remove(&key).expect("remove"));
                model.remove(&key);
            }
        }
        Op::Range(low, high) => ranges(map.view(), model, low, high),
        Op::Prefix(prefix) => {
            let expected = model
                .iter()
                .filter(|pair| pair.0.starts_with(prefix))
                .count();
            assert_eq!(map.view().prefix(prefix).expect("prefix").count(), expected);
        }
        Op::Clear => {
            map.clear().expect("clear");
            model.clear();
        }
        Op::Grow(bytes) => {
            let len = map.region().len();
            if len + bytes < 4 << 20 {
                map.region_mut().resize(len + bytes, 0xee);
                map.adopt().expect("adopt");
            }
        }
    }
    for key in model.keys().take(3) {
        assert_eq!(
            map.view().get(key).expect("get"),
            model.get(key).map(Vec::as_slice)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn does_as_a_btreemap_does(ops in vec(op(), 1..400), pages in 5usize..200) {
        let mut map = Plain::create(vec![0; MIN_BYTES + pages * 1024]).expect("create");
        let mut model = Model::new();
        for (number, op) in ops.iter().enumerate() {
            apply(&mut map, &mut model, op);
            if number % 16 == 0 {
                same(map.view(), &model);
            }
        }
        same(map.view(), &model);
        for key in model.keys() {
            assert!(map.remove(key).expect("remove"));
        }
        let empty = map.view().check().expect("check");
        prop_assert_eq!((empty.entries, empty.leaf_pages, empty.levels), (0, 1, 1));
    }

    #[test]
    fn a_cursor_goes_on_through_changes(ops in vec(op(), 1..150), steps in vec(any::<bool>(), 150)) {
        let mut map = Plain::create(vec![0; 1 << 20]).expect("create");
        let mut model = Model::new();
        let mut cursor = Cursor::new();
        for (op, forward) in ops.iter().zip(steps) {
            apply(&mut map, &mut model, op);
            let at = cursor.key().map(<[u8]>::to_vec);
            let (expected, got) = match (at, forward) {
                (None, _) => {
                    cursor.rewind();
                    (model.first_key_value(), cursor.next(map.view()))
                }
                (Some(at), true) => (
                    model.range((Bound::Excluded(at), Bound::Unbounded)).next(),
                    cursor.next(map.view()),
                ),
                (Some(at), false) => (model.range(..at).next_back(), cursor.previous(map.view())),
            };
            let got = got.expect("step").map(|(key, value)| (key.to_vec(), value.to_vec()));
            prop_assert_eq!(got, expected.map(|(key, value)| (key.clone(), value.clone())));
        }
    }
}

#[test]
fn many_entries_in_every_order() {
    let count = 20_000u32;
    for order in 0..3u32 {
        let mut map = Plain::create(vec![0; 4 << 20]).expect("create");
        for n in 0..count {
            let n = match order {
                0 => n,
                1 => count - 1 - n,
                _ => n.wrapping_mul(7919) % count,
            };
            assert!(
                !map.insert(&n.to_be_bytes(), &n.to_le_bytes())
                    .expect("insert")
            );
        }
        let report = map.view().check().expect("check");
        assert_eq!(report.entries, u64::from(count));
        let fill = count as usize * 20 * 100 / (report.leaf_pages as usize * 4096);
        if !cfg!(fyris_small) {
            assert!(
                fill >= [95, 45, 60][order as usize],
                "order {order}: leaves are {fill}% full"
            );
        }
        for n in (0..count).step_by(2) {
            assert!(map.remove(&n.to_be_bytes()).expect("remove"));
        }
        map.view().check().expect("check");
        for n in 0..count {
            let value = map.view().get(&n.to_be_bytes()).expect("get");
            assert_eq!(value.is_some(), n % 2 == 1);
        }
        empty_out(&mut map, count, order);
    }
}

/// Removes the odd numbers, from either end or from all over; nodes join until one is left.
fn empty_out(map: &mut Plain<Vec<u8>>, count: u32, order: u32) {
    for n in (0..count).filter(|n| n % 2 == 1) {
        let n = match order {
            0 => n,
            1 => count - n,
            _ => n.wrapping_mul(7919) % count,
        };
        assert!(map.remove(&n.to_be_bytes()).expect("remove"), "{n}");
        if n % 128 == 1 {
            map.view().check().expect("check");
        }
    }
    let report = map.view().check().expect("check");
    assert_eq!(
        (report.entries, report.leaf_pages, report.levels),
        (0, 1, 1)
    );
}

#[test]
fn limits_have_names() {
    let mut map = Plain::create(vec![0; MIN_BYTES]).expect("create");
    assert!(matches!(
        map.insert(&[0; MAX_KEY + 1], b""),
        Err(MapError::KeyTooLong(_))
    ));
    assert!(matches!(
        map.insert(b"", &vec![0; MAX_VALUE + 1]),
        Err(MapError::ValueTooLong(_))
    ));
    assert!(matches!(
        map.insert(b"", &vec![0; MAX_VALUE]),
        Err(MapError::Full { .. })
    ));
    assert!(matches!(
        Plain::create(vec![0; MIN_BYTES - 1]),
        Err(MapError::TooSmall { .. })
    ));
    assert!(matches!(
        Plain::create(vec![1; MIN_BYTES]),
        Err(MapError::NotEmpty)
    ));
    assert!(matches!(
        Plain::open(vec![0; MIN_BYTES]),
        Err(MapError::NotAMap)
    ));
    assert!(matches!(
        Plain::open(Vec::new()),
        Err(MapError::TooSmall { .. })
    ));
    assert!(map.insert(&[7; MAX_KEY], b"").is_ok());
}

#[test]
fn the_longest_value_and_the_space_it_leaves() {
    let mut map = Plain::create(vec![0; 2 * MAX_VALUE + (1 << 20)]).expect("create");
    let value: Vec<u8> = (0..MAX_VALUE).map(|at| (at % 251) as u8).collect();
    map.insert(b"long", &value).expect("insert");
    assert_eq!(map.view().get(b"long").expect("get"), Some(&value[..]));
    map.insert(b"long", b"short").expect("insert");
    let report = map.view().check().expect("check");
    assert_eq!(report.extent_pages, 0);
    assert_eq!(report.data_bytes, 9);
    map.insert(b"long", &value).expect("insert");
    assert!(map.remove(b"long").expect("remove"));
    map.view().check().expect("check");
}

#[test]
fn a_full_map_is_as_it_was() {
    for pages in 2..40usize {
        let mut map = Plain::create(vec![
            0;
            MIN_BYTES
                + pages * if cfg!(fyris_small) { 256 } else { 4096 }
        ])
        .expect("create");
        let mut full = 0;
        for n in 0..u32::MAX {
            // Every third changes the size of an old value.
            let number = if n % 3 == 0 { n / 2 } else { n };
            let key = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
            let value = vec![n as u8; (n as usize * 31) % (MAX_KEY / 4)];
            let before = map.view().len().expect("len");
            match map.insert(&key, &value) {
                Ok(_) => continue,
                Err(MapError::Full { .. }) => full += 1,
                Err(error) => panic!("{error}"),
            }
            assert_eq!(map.view().check().expect("check").entries, before);
            if full == 20 {
                break;
            }
        }
        let free =
            map.view().memory().expect("memory").free / if cfg!(fyris_small) { 256 } else { 4096 };
        assert!(free <= 6, "{free} pages free in a full map");
    }
}
