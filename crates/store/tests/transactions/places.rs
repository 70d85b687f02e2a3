//! Parts of objects changed by their paths, and many keys taken as one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use fyris::{Error, Options, Owner, Store, Table, Term, term};
use fyris_term::arbitrary;
use proptest::prelude::*;

fn table(options: &Options) -> (Owner, Table) {
    let owner = Store::new().owner();
    let table = owner.new_table("t", options).expect("a table");
    (owner, table)
}

/// Returns a value with a tree of maps, tuples and lists above other terms.
fn tree() -> impl Strategy<Value = Term> {
    let key = prop_oneof![(0..4_i64).prop_map(Term::Int), arbitrary::plain_term()];
    arbitrary::term().prop_recursive(3, 24, 4, move |inner| {
        let part = proptest::collection::vec(inner.clone(), 0..4);
        let pairs = proptest::collection::vec((key.clone(), inner), 0..4);
        prop_oneof![
            part.clone().prop_map(Term::tuple),
            part.prop_map(Term::list),
            pairs.prop_map(|pairs| Term::Map(pairs.into_iter().collect())),
        ]
    })
}

/// Returns a path that leads to a part of a value, and perhaps a step further or astray.
fn path_in(mut value: &Term, choices: &[usize], astray: Option<Term>) -> Vec<Term> {
    let mut path = vec![Term::Int(2)];
    for choice in choices {
        let step = match value {
            Term::Map(map) if !map.is_empty() => {
                let (key, part) = &map.pairs()[choice % map.len()];
                value = part;
                key.clone()
            }
            Term::Tuple(parts) | Term::List(parts) if !parts.is_empty() => {
                value = &parts[choice % parts.len()];
                Term::Int((choice % parts.len()) as i64 + 1)
            }
            _ => break,
        };
        path.push(step);
    }
    path.extend(astray);
    path
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// What is put in is found there, and putting back what was there undoes it; a refusal changes nothing.
    #[test]
    fn a_part_is_put_and_put_back(
        value in tree(),
        choices in proptest::collection::vec(0..4_usize, 0..5),
        astray in proptest::option::of(arbitrary::plain_term()),
        new in arbitrary::term(),
        ordered: bool,
    ) {
        let (_owner, table) = table(&if ordered { Options::ordered_set() } else { Options::set() });
        let whole = Term::tuple(vec![term!(1), value, term!(:rest)]);
        table.insert(&whole)?;
        let Term::Tuple(parts) = &whole else { unreachable!() };
        let path = path_in(&parts[1], &choices, astray);
        let before = table.get_in(&1, &path)?;
        match table.put_in(&1, &path, &new) {
            Ok(there) => {
                prop_assert!(there);
                prop_assert_eq!(table.get_in(&1, &path)?, Some(new.clone()));
                match &before {
                    Some(before) => drop(table.put_in(&1, &path, before)?),
                    None => prop_assert_eq!(table.delete_in(&1, &path)?, Some(new)),
                }
            }
            Err(error) => {
                prop_assert!(matches!(error, Error::BadArgument(_)), "{}", error);
                prop_assert_eq!(&before, &None);
                prop_assert_eq!(table.delete_in(&1, &path)?, None);
            }
        }
        prop_assert_eq!(table.lookup(&term!(1))?, [whole.clone()]);
        match table.delete_in(&1, &path) {
            Ok(gone) => {
                prop_assert_eq!(&gone, &before);
                prop_assert_eq!(gone.is_none(), table.lookup(&term!(1))? == [whole]);
            }
            Err(error) => {
                prop_assert!(matches!(error, Error::BadArgument(_)), "{}", error);
                prop_assert_eq!(table.lookup(&term!(1))?, [whole]);
            }
        }
    }
}

#[test]
fn what_is_no_place_is_named() {
    let (_owner, table) = table(&Options::set());
    table
        .insert(&term!({1, #{:a => {10, 20}}, []}))
        .expect("inserts");
    let value = term!(0);
    let put = |path: Term| {
        let Term::List(path) = path else {
            unreachable!()
        };
        table.put_in(&1, &path, &value)
    };
    let text = |path| put(path).expect_err("no place").to_string();
    assert_eq!(
        text(term!([])),
        "bad argument: a path begins with the position of an element, not as []"
    );
    assert_eq!(
        text(term!([:a])),
        "bad argument: a path begins with the position of an element, not as [a]"
    );
    assert_eq!(
        text(term!([2, :b, 1])),
        "bad argument: [2,b,1]: the path leads nowhere"
    );
    assert_eq!(
        text(term!([2, :a, 3])),
        "bad argument: [2,a,3]: the path leads nowhere"
    );
    assert_eq!(
        text(term!([3, 1])),
        "bad argument: [3,1]: the path leads nowhere"
    );
    assert!(matches!(put(term!([1])), Err(Error::KeyUpdate(1))));
    assert!(matches!(put(term!([1, 1])), Err(Error::KeyUpdate(1))));
    for position in [0, 4, i64::MAX] {
        assert!(matches!(
            put(term!([position])),
            Err(Error::BadPosition { .. })
        ));
    }
    let path = [term!(2), term!(:a), term!(1)];
    let kept = "bad argument: [2,a,1]: an element of a tuple can be replaced, but not taken away";
    assert_eq!(
        table.delete_in(&1, &path).expect_err("kept").to_string(),
        kept
    );
    assert_eq!(
        table
            .delete_in(&1, &path[..1])
            .expect_err("kept")
            .to_string()
            .split(": ")
            .nth(1),
        Some("[2]")
    );
    assert_eq!(
        table.tab2list(),
        Ok(vec![term!({1, #{:a => {10, 20}}, []})])
    );
    assert_eq!(
        table.update_in(&9, &path, |_| unreachable!("there is no object")),
        Ok(None)
    );
    let (_other, bag) = self::table(&Options::bag());
    assert!(matches!(
        bag.put_in(&1, &path, &value),
        Err(Error::WrongType {
            operation: "put_in",
            ..
        })
    ));
}

/// An attempt that has seen an object, which another writer takes before the change is made, has changed nothing.
#[test]
fn what_has_gone_meanwhile_was_not_changed() {
    let (_owner, table) = table(&Options::set());
    let object = term!({1, #{:a => 1}});
    let path = [term!(2), term!(:a)];
    table.insert(&object).expect("inserts");
    let mut calls = 0;
    let now = table.update_in(&1, &path, |_| {
        calls += 1;
        table.delete_key(&1).expect("deletes");
        Some(term!(7))
    });
    assert_eq!((now, calls, table.is_empty()), (Ok(None), 1, true));

    let parts = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    let (put, wholes) = std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    let part = table.delete_in(&1, &path).expect("deletes");
                    parts.fetch_add(usize::from(part.is_some()), Relaxed);
                }
            });
        }
        let mut wholes = 0;
        for _ in 0..20_000 {
            table.insert(&object).expect("inserts");
            let taken = table.take(&term!(1)).expect("takes");
            wholes += taken.iter().filter(|taken| **taken == object).count();
        }
        over.store(true, Relaxed);
        (20_000, wholes)
    });
    assert_eq!(wholes + parts.into_inner(), put, "each part goes to one");
}

#[test]
fn no_change_of_a_part_is_lost() {
    const EACH: i64 = 2000;
    let (_owner, table) = table(&Options::set());
    table.insert(&term!({1, #{}, 0})).expect("inserts");
    std::thread::scope(|scope| {
        for thread in 0..3_i64 {
            let table = &table;
            scope.spawn(move || {
                let more = |old: Option<Term>| {
                    Some(Term::Int(
                        old.map_or(0, |n| n.as_int().expect("a count")) + 1,
                    ))
                };
                for _ in 0..EACH {
                    let now = table.update_in(&1, &[term!(2), term!(thread)], more);
                    assert!(now.expect("updates").is_some());
                    table
                        .update_in(&1, &[term!(2), term!(:all)], more)
                        .expect("updates");
                    table
                        .update_counter(&term!(1), &[fyris::CounterOp::add(1).at(3)])
                        .expect("counts");
                }
            });
        }
    });
    let (each, all) = (EACH, 3 * EACH);
    let whole = term!({1, #{0 => each, 1 => each, 2 => each, :all => all}, all});
    assert_eq!(table.tab2list(), Ok(vec![whole]));
}

#[test]
fn a_transaction_changes_parts() {
    let store = Store::new();
    let owner = store.owner();
    let table = owner.new_table("t", &Options::set()).expect("a table");
    table.insert(&term!({1, #{:a => 1}})).expect("inserts");
    let path = [term!(2), term!(:a)];
    let aborted: Result<(), Error> = store.transaction(|tx| {
        let within = tx.table(&table)?;
        within.put_in(&1, &path, &term!(2))?;
        assert_eq!(within.get_in(&1, &path)?, Some(term!(2)));
        assert_eq!(table.get_in(&1, &path)?, Some(term!(1)));
        Err(Error::BadArgument("no".to_owned()))
    });
    assert!(aborted.is_err());
    assert_eq!(table.get_in(&1, &path), Ok(Some(term!(1))));
    // A transaction that has only looked for what it would delete has read it.
    let mut raced = false;
    let mut runs = 0;
    let done = store.transaction(|tx| {
        runs += 1;
        let within = tx.table(&table)?;
        let gone = within.delete_in(&1, &[term!(2), term!(:b)])?;
        if !std::mem::replace(&mut raced, true) {
            table.put_in(&1, &[term!(2), term!(:b)], &term!(5))?;
        }
        within.insert(&Term::tuple(vec![term!(2), gone.unwrap_or(term!(:none))]))?;
        Ok::<_, Error>(())
    });
    assert_eq!((done, runs), (Ok(()), 2));
    assert_eq!(table.lookup(&term!(2)), Ok(vec![term!({2, 5})]));
}

#[test]
fn many_keys_are_taken_as_one() {
    const KEYS: i64 = 8;
    let keys: Vec<Term> = (0..KEYS).map(Term::Int).collect();
    for options in [
        Options::set(),
        Options::ordered_set(),
        Options::bag(),
        Options::duplicate_bag(),
    ] {
        let (_owner, table) = table(&options);
        let all: Vec<Term> = (0..KEYS).map(|key| term!({key, 1})).collect();
        std::thread::scope(|scope| {
            let takers: Vec<_> = (0..2)
                .map(|_| {
                    let (table, keys) = (&table, &keys);
                    scope.spawn(move || {
                        let mut wholes = 0;
                        for _ in 0..300 {
                            let taken = table.take_many(keys).expect("takes");
                            let found = taken.iter().filter(|objects| !objects.is_empty()).count();
                            assert!(found == 0 || found == KEYS as usize, "{found} of a list");
                            wholes += found / KEYS as usize;
                        }
                        wholes
                    })
                })
                .collect();
            let mut put = 0;
            for _ in 0..300 {
                put += usize::from(table.insert_new_list(&all).expect("inserts"));
            }
            let mut taken: usize = takers
                .into_iter()
                .map(|taker| taker.join().expect("ends"))
                .sum();
            taken += usize::from(!table.is_empty());
            assert_eq!(taken, put, "each list goes to one");
        });
        table.delete_all_objects().expect("empties");
        table.insert(&term!({1, 1})).expect("inserts");
        let again = table.take_many(&[term!(1), term!(1)]).expect("takes");
        assert_eq!(again, [vec![term!({1, 1})], vec![]]);
        let then = table.snapshot().expect("a snapshot");
        assert_eq!(then.take_many(&keys), Err(Error::ReadOnly));
        assert_eq!(table.take_many(&[]), Ok(vec![]));
    }
}
