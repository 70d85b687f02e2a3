//! Typed tables against maps of the standard library.
#![allow(missing_docs)]

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;
use std::time::Duration;

use fyris::{Error, Options, Owner, Store, Term, TypedTable, term};
use rand::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    east: i32,
    north: i32,
    town: Option<String>,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Backwards {
    zeal: u8,
    age: u8,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Meters(u32);

/// In the order of terms: atoms, pairs by name, longer tuples by name.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    Empty,
    Point,
    Circle(Meters),
    Square { side: u8 },
    Line(i8, i8),
    Box(i8, i8, i8),
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Low,
    High,
}

fn owner() -> Owner {
    Store::new().owner()
}

fn new<K, V>(owner: &Owner, options: &Options) -> TypedTable<K, V> {
    let table = owner.new_table("t", options).expect("a new table");
    table.typed().expect("a table of pairs")
}

/// What tests do with keys and values.
trait Data: Serialize + DeserializeOwned + Clone + Debug + Ord {}
impl<T: Serialize + DeserializeOwned + Clone + Debug + Ord> Data for T {}

fn pairs<K: Data, V: Data>(
    iter: impl Iterator<Item = fyris::Result<(K, V)>>,
) -> fyris::Result<Vec<(K, V)>> {
    iter.collect()
}

/// Checks that everything that reads answers as the map does.
fn check<K: Data, V: Data>(table: &TypedTable<K, V>, map: &BTreeMap<K, V>, keys: &[K]) {
    assert_eq!((table.len(), table.is_empty()), (map.len(), map.is_empty()));
    for key in keys {
        assert_eq!(table.get(key).as_ref(), Ok(&map.get(key).cloned()));
        assert_eq!(table.contains_key(key), Ok(map.contains_key(key)));
    }
    let mut all = pairs(table.iter()).expect("reads");
    if table.range(..).is_err() {
        all.sort();
    }
    let sorted: Vec<(K, V)> = map.clone().into_iter().collect();
    assert_eq!(all, sorted);
}

/// Checks the ranges between two keys.
fn check_ranges<K: Data, V: Data>(table: &TypedTable<K, V>, map: &BTreeMap<K, V>, a: &K, b: &K) {
    let (a, b) = (a.min(b), a.max(b));
    let same = |got, want: Vec<(&K, &V)>| {
        let want: Vec<_> = want.iter().map(|&(k, v)| (k.clone(), v.clone())).collect();
        assert_eq!(got, Ok(want));
    };
    same(
        pairs(table.range(a..b).expect("in order")),
        map.range(a..b).collect(),
    );
    same(
        pairs(table.range(a..=b).expect("in order")),
        map.range(a..=b).collect(),
    );
    same(
        pairs(table.range(..a).expect("in order")),
        map.range(..a).collect(),
    );
    same(
        pairs(table.range_back(a..).expect("in order")),
        map.range(a..).rev().collect(),
    );
    same(
        pairs(table.range_back(..).expect("in order")),
        map.iter().rev().collect(),
    );
}

/// Does the same at random with a table and a map, and compares; a snapshot is compared with a clone of the map.
fn agree<K: Data, V: Data>(options: &Options, keys: Vec<K>, values: Vec<V>, seed: u64) {
    let owner = owner();
    let (table, mut map) = (new::<K, V>(&owner, options), BTreeMap::new());
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..4 {
        churn(&table, &mut map, &keys, &values, &mut rng);
        let (then, was) = (table.snapshot().expect("a snapshot"), map.clone());
        churn(&table, &mut map, &keys, &values, &mut rng);
        for (table, map) in [(&table, &map), (&then, &was)] {
            check(table, map, &keys);
            let two: Vec<&K> = keys.choose_multiple(&mut rng, 2).collect();
            match table.range(..) {
                Ok(_) => check_ranges(table, map, two[0], two[1]),
                Err(error) => assert!(matches!(error, Error::WrongType { .. })),
            }
        }
        assert_eq!(then.insert(&keys[0], &values[0]), Err(Error::ReadOnly));
        let unused = |_| -> Option<V> { panic!("a snapshot is not updated") };
        assert_eq!(then.update(&keys[0], unused).err(), Some(Error::ReadOnly));
    }
}

fn churn<K: Data, V: Data>(
    table: &TypedTable<K, V>,
    map: &mut BTreeMap<K, V>,
    keys: &[K],
    values: &[V],
    rng: &mut StdRng,
) {
    for _ in 0..40 {
        let key = keys.choose(rng).expect("keys");
        let value = values.choose(rng).expect("values");
        match rng.random_range(0..6) {
            0 => {
                table.insert(key, value).expect("inserts");
                map.insert(key.clone(), value.clone());
            }
            1 => {
                let is_new = !map.contains_key(key);
                assert_eq!(table.insert_new(key, value), Ok(is_new));
                map.entry(key.clone()).or_insert(value.clone());
            }
            2 => assert_eq!(
                table.replace(key, value),
                Ok(map.insert(key.clone(), value.clone()))
            ),
            3 => assert_eq!(table.remove(key), Ok(map.remove(key))),
            4 => {
                let old = map.get(key).cloned();
                let new = old.is_none().then(|| value.clone());
                let updated = table.update(key, |now| {
                    assert_eq!(now, old);
                    new.clone()
                });
                assert_eq!(updated, Ok(new.clone()));
                map.remove(key);
                map.extend(new.map(|new| (key.clone(), new)));
            }
            _ => assert_eq!(table.get(key), Ok(map.get(key).cloned())),
        }
    }
}

#[test]
fn tables_are_maps() {
    let integers = vec![
        i64::MIN,
        -300,
        -1,
        0,
        1,
        255,
        256,
        1 << 47,
        1 << 48,
        i64::MAX,
    ];
    let wide = vec![0, 1, u128::from(u64::MAX), u128::MAX, 1 << 64];
    let texts = [
        "",
        "a",
        "ab",
        "b",
        "a\0",
        "ä",
        "zz",
        "a rather long text, of more than a word",
    ];
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    let tuples: Vec<(u8, String)> = (0..12)
        .map(|n| (n % 3, texts[n as usize % 5].clone()))
        .collect();
    let place = |n: i32| Place {
        east: n % 3 - 1,
        north: n % 4,
        town: (n % 2 == 0).then(|| texts[n as usize % 8].clone()),
    };
    let places: Vec<Place> = (0..12).map(place).collect();
    let shapes = vec![
        Shape::Empty,
        Shape::Point,
        Shape::Circle(Meters(7)),
        Shape::Circle(Meters(1 << 20)),
        Shape::Square { side: 3 },
        Shape::Line(-1, 1),
        Shape::Line(-1, 2),
        Shape::Box(0, 0, 0),
    ];
    for (seed, options) in [Options::set(), Options::ordered_set()].iter().enumerate() {
        for seed in (0..40).map(|n| 2 * n + seed as u64) {
            agree(options, integers.clone(), wide.clone(), seed);
            agree(options, wide.clone(), tuples.clone(), seed);
            agree(options, texts.clone(), places.clone(), seed);
            agree(
                options,
                tuples.clone(),
                vec![Some(1.5f32.to_bits()), None],
                seed,
            );
            agree(options, places.clone(), shapes.clone(), seed);
            agree(options, shapes.clone(), texts.clone(), seed);
        }
    }
}

/// More than is read of the live table at once.
#[test]
fn many_pairs_are_of_one_moment() {
    let owner = owner();
    let table = new::<u32, u32>(&owner, &Options::ordered_set());
    for n in 0..3000 {
        table.insert(&n, &0).expect("inserts");
    }
    let (mut all, mut some) = (table.iter(), table.range_back(100..2900).expect("in order"));
    assert_eq!(all.next(), Some(Ok((0, 0))));
    assert_eq!(some.next(), Some(Ok((2899, 0))));
    for n in 0..3000 {
        match n % 2 {
            0 => table.insert(&n, &1),
            _ => table.remove(&n).map(|_| ()),
        }
        .expect("writes");
    }
    let all: Vec<_> = all.collect::<Result<_, _>>().expect("reads");
    assert!(all.into_iter().eq((1..3000).map(|n| (n, 0))));
    let some: Vec<_> = some.collect::<Result<_, _>>().expect("reads");
    assert!(some.into_iter().eq((100..2899).rev().map(|n| (n, 0))));
    assert_eq!(table.iter().count(), 1500);
}

#[test]
fn updates_are_one_step() {
    let owner = owner();
    for options in [Options::set(), Options::ordered_set()] {
        let table = new::<String, u64>(&owner, &options.public());
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..1000 {
                        let more = |n: Option<u64>| Some(n.unwrap_or(0) + 1);
                        table.update("hits", more).expect("updates");
                    }
                });
            }
        });
        assert_eq!(table.remove("hits"), Ok(Some(4000)));
    }
}

#[test]
fn other_tables_are_refused() {
    let owner = owner();
    for options in [
        Options::bag(),
        Options::duplicate_bag(),
        Options::set().keypos(2),
    ] {
        let table = owner.new_table("t", &options).expect("a new table");
        let error = table.typed::<u8, u8>().expect_err("no table of pairs");
        assert!(matches!(error, Error::OtherTable { .. }), "{error}");
    }
}

#[test]
fn other_objects_are_errors_and_stay() {
    let owner = owner();
    let table = new::<u32, String>(&owner, &Options::ordered_set());
    let objects = [
        term!({ 1 }),
        term!({2, 7}),
        term!({3, "x", "y"}),
        term!({4, "good"}),
        term!({:five, "x"}),
    ];
    table.table().insert_list(&objects).expect("inserts");
    let other = |why: &str, key: &str, error: Option<Error>| match error {
        Some(Error::OtherObject { key: of, why: what }) => {
            assert_eq!((of.as_str(), what.to_string().as_str()), (key, why));
        }
        other => panic!("{other:?}"),
    };
    let arity = |n| format!("expected a tuple of 2, found one of {n}");
    other(&arity(1), "1", table.get(&1).err());
    other(&arity(3), "3", table.get(&3).err());
    let text = "expected text: a binary or an atom, found an integer 7";
    other(text, "2", table.remove(&2).err());
    other(text, "2", table.replace(&2, &"new".into()).err());
    other(
        text,
        "2",
        table.update(&2, |_| panic!("there is no value")).err(),
    );
    assert_eq!(table.insert_new(&2, &"new".into()), Ok(false));
    assert_eq!(table.table().tab2list().expect("reads"), objects);
    let read: Vec<_> = table.iter().collect();
    assert_eq!(read.len(), 5);
    assert_eq!(read[3], Ok((4, "good".into())));
    let key = "invalid type: string \"five\", expected u32";
    other(
        key,
        "five",
        read.into_iter().next_back().and_then(Result::err),
    );
    // What writes without reading puts it right.
    table.insert(&2, &"new".into()).expect("inserts");
    assert_eq!(table.get(&2), Ok(Some("new".into())));
}

#[test]
fn a_float_is_found_by_the_integer_and_is_none() {
    let owner = owner();
    let table = new::<u32, u32>(&owner, &Options::ordered_set());
    table.table().insert(&term!({1.0, 7})).expect("inserts");
    assert_eq!(table.get(&1), Ok(Some(7)));
    assert!(matches!(
        table.iter().next(),
        Some(Err(Error::OtherObject { .. }))
    ));
    assert_eq!(table.update(&1, |n| n.map(|n| n + 1)), Ok(Some(8)));
    assert_eq!(table.iter().next(), Some(Ok((1, 8))));
}

#[test]
fn what_is_no_term_is_refused() {
    let owner = owner();
    let table = new::<u32, f64>(&owner, &Options::set());
    let none = Error::BadArgument("NaN is no Erlang float".into());
    assert_eq!(table.insert(&1, &f64::NAN), Err(none.clone()));
    assert_eq!(table.update(&1, |_| Some(f64::NAN)), Err(none));
    assert!(table.is_empty());
}

#[test]
fn tables_that_are_gone_say_so() {
    let owner = owner();
    let table = new::<u32, u32>(&owner, &Options::ordered_set());
    let then = table.snapshot().expect("a snapshot");
    table.table().delete().expect("deletes");
    assert!(matches!(table.get(&1), Err(Error::NoSuchTable(_))));
    assert!(matches!(
        table.update(&1, |old| old),
        Err(Error::NoSuchTable(_))
    ));
    let mut iter = table.iter();
    assert!(matches!(iter.next(), Some(Err(Error::NoSuchTable(_)))));
    assert_eq!((iter.next(), then.get(&1)), (None, Ok(None)));
    then.table().as_snapshot().expect("it is one").release();
    assert_eq!(then.get(&1), Err(Error::Released));
}

/// Whatever the types are.
#[test]
fn handles_go_to_other_threads() {
    fn check<T: Clone + Send + Sync>() {}
    check::<TypedTable<Rc<str>, Cell<u8>>>();
}

/// Returns whether a table has these keys, given in the order of `Ord`, in that order.
fn keeps_order<K: Data>(keys: Vec<K>) -> bool {
    assert!(keys.is_sorted());
    let owner = owner();
    let table = new::<K, ()>(&owner, &Options::ordered_set());
    for key in &keys {
        assert_eq!(table.insert_new(key, &()), Ok(true));
    }
    let read = table.iter().map(|pair| pair.expect("reads").0);
    read.eq(keys)
}

/// The table in the documentation of `TypedTable`.
#[test]
fn ranges_are_in_the_order_of_terms() {
    let text = |text: &str| text.to_owned();
    assert!(keeps_order(vec![
        i128::MIN,
        i128::from(i64::MIN) - 1,
        -256,
        -1,
        0,
        1,
        i128::MAX
    ]));
    assert!(keeps_order(vec![0, 1, u128::from(u64::MAX), u128::MAX]));
    assert!(keeps_order(vec![false, true]));
    assert!(keeps_order(vec!['\0', 'a', 'ä', '日', '\u{10FFFF}']));
    assert!(keeps_order(vec![
        text(""),
        text("Z"),
        text("a"),
        text("a\0"),
        text("aa"),
        text("ä")
    ]));
    assert!(keeps_order(vec![
        vec![],
        vec![0u8],
        vec![0, 0],
        vec![1],
        vec![255]
    ]));
    assert!(keeps_order(vec![
        (0, text("b")),
        (1, text("")),
        (1, text("a"))
    ]));
    assert!(keeps_order(vec![[0, 9], [1, 0], [1, 1]]));
    assert!(keeps_order(vec![Meters(1), Meters(300)]));
    let sets = [&[][..], &[1, 5], &[2], &[2, 3]];
    assert!(keeps_order(
        sets.map(|set| BTreeSet::from_iter(set.iter().copied()))
            .to_vec()
    ));
    let v4 = |n| IpAddr::V4(Ipv4Addr::from_bits(n));
    let v6 = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    assert!(keeps_order(vec![v4(0), v4(0x0102_0304), v4(u32::MAX), v6]));
    assert!(keeps_order(vec![None, Some(text("")), Some(text("z"))]));
    assert!(keeps_order(vec![None, Some((1, 2)), Some((2, 1))]));
    let place = |east, north, town| Place { east, north, town };
    assert!(keeps_order(vec![
        place(1, 9, None),
        place(2, 0, None),
        place(2, 0, Some(text("a")))
    ]));
    let line = Shape::Line(0, 0);
    assert!(keeps_order(vec![
        Shape::Empty,
        Shape::Point,
        Shape::Circle(Meters(9)),
        Shape::Square { side: 0 },
        line,
        Shape::Box(-1, 0, 0),
    ]));

    assert!(!keeps_order(vec![None, Some(1)]));
    assert!(!keeps_order(vec![None, Some(false), Some(true)]));
    assert!(!keeps_order(vec![
        Backwards { zeal: 1, age: 9 },
        Backwards { zeal: 2, age: 1 }
    ]));
    assert!(!keeps_order(vec![Level::Low, Level::High]));
    assert!(!keeps_order(vec![Ok(1), Err(2)]));
    assert!(!keeps_order(vec![
        BTreeMap::from([(1, 1), (2, 2)]),
        BTreeMap::from([(2, 1)])
    ]));
    assert!(!keeps_order(vec![Duration::new(1, 9), Duration::new(2, 0)]));
    let reverse = [2, 1].map(std::cmp::Reverse);
    assert!(!keeps_order(reverse.to_vec()));
}

#[test]
fn values_with_one_term_are_one_key() {
    let owner = owner();
    let table = new::<Option<Option<u8>>, u8>(&owner, &Options::set());
    table.insert(&None, &1).expect("inserts");
    assert_eq!(table.get(&Some(None)), Ok(Some(1)));
    let floats = new::<f64, u8>(&owner, &Options::ordered_set());
    floats.insert(&0.0, &1).expect("inserts");
    assert_eq!(floats.get(&-0.0), Ok(Some(1)));
    // An array is a tuple, what it borrows as is a list.
    let table = new::<[u8; 2], u8>(&owner, &Options::set());
    table.insert(&[1, 2], &3).expect("inserts");
    assert_eq!(
        (table.get(&[1, 2]), table.get(&[1, 2][..])),
        (Ok(Some(3)), Ok(None))
    );
}

/// What other languages see.
#[test]
fn objects_are_ordinary_terms() {
    let owner = owner();
    let table = new::<(String, Level), Place>(&owner, &Options::set());
    let (key, town) = ((String::from("k"), Level::High), Some("Oslo".into()));
    table
        .insert(
            &key,
            &Place {
                east: 1,
                north: -2,
                town,
            },
        )
        .expect("inserts");
    let object = Term::parse("{{<<\"k\">>,'High'},#{east => 1,north => -2,town => <<\"Oslo\">>}}");
    assert_eq!(table.table().tab2list(), Ok(vec![object.expect("a term")]));
}
