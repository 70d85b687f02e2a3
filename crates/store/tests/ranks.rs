//! Places in the order of keys: `nth`, `rank`, `count_between`.
#![allow(missing_docs)]

mod common;

use std::ops::Bound;

use fyris::{Error, Options, Table, Term};
use proptest::prelude::*;

fn ordered(index: &str) -> Table {
    let owner = Box::leak(Box::new(common::store().owner()));
    owner
        .new_table("t", &Options::ordered_set().index(index).public())
        .expect("a table")
}

fn object(key: Term) -> Term {
    Term::tuple(vec![key, Term::Int(1)])
}

/// Keys of many types and lengths, of which many begin alike.
fn key() -> impl Strategy<Value = Term> {
    let leaf = prop_oneof![
        (-3..400i64).prop_map(Term::Int),
        (0..4i64).prop_map(|n| Term::Int(n << 45)),
        prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..20)
            .prop_map(Term::binary),
        "[ab]{0,9}".prop_map(|name| Term::atom(&name)),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Term::tuple),
            prop::collection::vec(inner, 0..3).prop_map(Term::list),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn places_are_those_in_a_sorted_list(
        keys in prop::collection::vec(key(), 0..80),
        gone in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        asked in prop::collection::vec(key(), 1..10),
    ) {
        for index in ["judysl", "judyesl"] {
            let (table, plain) = (ordered(index), ordered("ordered"));
            for table in [&table, &plain] {
                for key in &keys {
                    table.insert(&object(key.clone())).unwrap();
                }
                for at in gone.iter().filter(|_| !keys.is_empty()) {
                    table.delete_key(at.get(&keys)).unwrap();
                }
            }
            let sorted: Vec<Term> = plain.iter().map(|object| match object.unwrap() {
                Term::Tuple(elements) => elements[0].clone(),
                other => other,
            }).collect();
            prop_assert_eq!(table.tab2list().unwrap(), plain.tab2list().unwrap());
            for (n, key) in sorted.iter().enumerate() {
                prop_assert_eq!(table.nth(n).unwrap(), Some(key.clone()));
                prop_assert_eq!(table.rank(key).unwrap(), n);
                prop_assert!(table.member(key).unwrap());
            }
            prop_assert_eq!(table.nth(sorted.len()).unwrap(), None);
            for from in asked.iter().chain(&sorted) {
                prop_assert_eq!(table.next(from).unwrap(), plain.next(from).unwrap());
                prop_assert_eq!(table.prev(from).unwrap(), plain.prev(from).unwrap());
                for to in &asked {
                    for bounds in [
                        (Bound::Included(from.clone()), Bound::Included(to.clone())),
                        (Bound::Excluded(from.clone()), Bound::Excluded(to.clone())),
                        (Bound::Unbounded, Bound::Included(to.clone())),
                    ] {
                        let range = plain.range(bounds.clone(), Default::default()).unwrap();
                        prop_assert_eq!(table.count_between(&bounds).unwrap(), range.len());
                        prop_assert_eq!(&table.range(bounds.clone(), Default::default()).unwrap(), &range);
                        let back = fyris::RangeOptions::new().reverse();
                        let back = table.range(bounds, back).unwrap();
                        prop_assert!(back.iter().rev().eq(&range));
                    }
                }
            }
            for key in &sorted {
                table.delete_key(key).unwrap();
            }
            prop_assert!(table.is_empty());
            prop_assert_eq!(table.memory(), ordered(index).memory());
        }
    }
}

#[test]
fn other_indexes_say_that_they_do_not_count() {
    let owner = common::store().owner();
    for options in [
        Options::set(),
        Options::ordered_set(),
        Options::set().index("judyeh"),
        Options::ordered_set().index("avl"),
    ] {
        let table = owner.new_table("t", &options).expect("a table");
        let errors = [
            table.nth(0).map(|_| 0),
            table.rank(&Term::Int(1)),
            table.count_between(&(..)),
        ];
        for (error, operation) in errors.into_iter().zip(["nth", "rank", "count_between"]) {
            let Err(error @ Error::LacksFeature { .. }) = error else {
                panic!("{error:?}")
            };
            let said = error.to_string();
            assert!(
                said.contains("lacks counts of keys (judysl and judyesl")
                    && said.ends_with(&format!("which {operation} needs")),
                "{said}"
            );
        }
    }
}
