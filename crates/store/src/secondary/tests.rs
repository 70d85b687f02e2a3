//! The entries are those of the objects that are there, after whatever has happened.

mod unique;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fyris_sync::reclaim::pin;
use fyris_term::Term;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::ids::TableType;
use crate::ops::Span;
use crate::{CounterOp, Error, MatchSpec, Options, SecondaryIndex, Store, Table, term};

const TYPES: [TableType; 4] = [
    TableType::Set,
    TableType::OrderedSet,
    TableType::Bag,
    TableType::DuplicateBag,
];

/// Entries of an index, and how many objects each counts.
type Entries = BTreeMap<(usize, Vec<u8>), u64>;

fn options(kind: TableType) -> Options {
    Options::new(kind)
        .public()
        .secondary(SecondaryIndex::element("second", 2))
        .secondary(SecondaryIndex::new(
            "sign",
            term!({:body, [{:">", {:element, 2, :"$_"}, 3}]}),
        ))
        .secondary(SecondaryIndex::new("deep", term!({:path, [3, :a]})))
}

fn there_are(table: &Table) -> Entries {
    let (pin, mut all) = (pin(), Entries::new());
    let data = table.shared().any_data(&pin).expect("it lives");
    for (at, secondary) in data.secondaries().iter().enumerate() {
        for (bytes, holders) in secondary.counted(&pin) {
            all.insert((at, bytes), holders);
        }
    }
    all
}

fn should_be(table: &Table) -> Entries {
    let (pin, mut all) = (pin(), Entries::new());
    let data = table.shared().any_data(&pin).expect("it lives");
    let mut query = table.query(&spec(term!([{:"_", [], [:"$_"]}])));
    let mut count = |object: crate::Object<'_>, _| {
        for (at, secondary) in data.secondaries().iter().enumerate() {
            if let Some(value) = secondary.definition.value_of(&object) {
                let key = match table.table_type() {
                    TableType::OrderedSet => object.key_order(),
                    _ => object.key_bytes(),
                };
                let bytes = [value.bytes(), key].concat();
                *all.entry((at, bytes)).or_default() += 1;
            }
        }
    };
    while query.step_with(1000, &mut count).expect("it lives") {}
    all
}

fn object(rng: &mut StdRng, key: i64) -> Term {
    let value = rng.random_range(0..6);
    match rng.random_range(0..7) {
        // Blobs are told apart by what they hold, not by the bytes of the record.
        5 => term!({(key), (Term::binary(vec![value as u8; 1000]))}),
        6 => term!({(key), [(value), #{:a => [(value)]}], #{:a => "a list"}}),
        0 => term!({ (key) }),
        1 => term!({ (key), (value) }),
        2 => term!({(key), (value as f64), #{:a => (value)}}),
        3 => term!({(key), (Term::binary(vec![value as u8; 100])), #{:b => 1}}),
        _ => term!({(key), (value), #{:a => (value)}, "some more"}),
    }
}

fn spec(spec: Term) -> MatchSpec {
    MatchSpec::new(&spec).expect("right")
}

fn write(rng: &mut StdRng, table: &Table) {
    let is_bag = table.table_type().is_bag();
    let key = rng.random_range(0..8);
    let list: Vec<Term> = (0..rng.random_range(1..6))
        .map(|_| {
            let key = rng.random_range(0..8);
            object(rng, key)
        })
        .collect();
    let second = rng.random_range(0..6);
    // What is refused, as for its form, changes nothing.
    match rng.random_range(0..16) {
        0..4 => drop(table.insert(&object(rng, key))),
        4 => drop(table.insert_new(&object(rng, key))),
        5 => drop(table.insert_list(&list)),
        6 => drop(table.insert_new_list(&list)),
        7 => drop(table.delete_key(&Term::Int(key))),
        8 => drop(table.take(&Term::Int(key))),
        9 => drop(table.delete_object(&object(rng, key))),
        10 if !is_bag => drop(table.update_counter(&Term::Int(key), &[CounterOp::add(1)])),
        11 if !is_bag => drop(table.update_element(&Term::Int(key), &[(2, Term::Int(second))])),
        12 => drop(table.select_delete(&spec(term!([{{:"_", (second)}, [], [true]}])))),
        13 if table.table_type() != TableType::Bag => {
            let replace = term!([{{:"$1", (second)}, [], [{{:"$1", (second + 1)}}]}]);
            drop(table.select_replace(&spec(replace)));
        }
        14 => drop(table.compare_and_swap(&object(rng, key), &object(rng, key))),
        15 if rng.random_bool(0.1) => drop(table.delete_all_objects()),
        _ => drop(table.insert(&object(rng, key))),
    }
}

/// By each index the objects are those that a look at all of them finds.
fn check(table: &Table) {
    let all = table.tab2list().expect("live");
    for value in 0..6 {
        let value = Term::Int(value);
        let mut found = table.lookup_by("second", &value).expect("known");
        let is = |object: &&Term| object.as_tuple().and_then(|all| all.get(1)) == Some(&value);
        let mut right: Vec<Term> = all.iter().filter(is).cloned().collect();
        found.sort_by(Term::cmp_exact);
        right.sort_by(Term::cmp_exact);
        assert_eq!(found, right);
        let mut query = table.query_by("second", &value).expect("known");
        while query.step(3).expect("live") {}
        let mut in_steps = query.take();
        in_steps.sort_by(Term::cmp_exact);
        assert_eq!(in_steps, right);
        let mut by_query = table
            .select(&spec(term!([
                {{:"_", (value.clone())}, [], [:"$_"]},
                {{:"_", (value.clone()), :"_"}, [], [:"$_"]},
                {{:"_", (value.clone()), :"_", :"_"}, [], [:"$_"]}
            ])))
            .expect("live");
        by_query.sort_by(Term::cmp_exact);
        assert_eq!(by_query, right);
    }
    let above = table.lookup_by("sign", &term!(true)).expect("known").len();
    let under = table.lookup_by("sign", &term!(false)).expect("known").len();
    let has_second = all
        .iter()
        .filter(|object| object.as_tuple().is_some_and(|all| all.len() > 1));
    assert_eq!(above + under, has_second.count());
}

#[test]
fn entries_are_those_of_the_objects() {
    let mut rng = StdRng::seed_from_u64(1);
    for round in 0..60 {
        let (store, kind) = (Store::new(), TYPES[round % 4]);
        let owner = store.owner();
        let table = owner.new_table("t", &options(kind)).expect("new");
        let mut held: Vec<(crate::Snapshot, Vec<Term>)> = Vec::new();
        for step in 0..150 {
            match rng.random_range(0..12) {
                0 if round % 3 > 0 => {
                    held.push((
                        table.snapshot().expect("live"),
                        table.tab2list().expect("live"),
                    ));
                }
                1 if !held.is_empty() => drop(held.remove(rng.random_range(0..held.len()))),
                2 => {
                    let transaction = store.begin();
                    let within = transaction.table(&table).expect("live");
                    for _ in 0..4 {
                        write(&mut rng, &within);
                        check(&within);
                    }
                    if rng.random() {
                        write(&mut rng, &table);
                    }
                    match rng.random() {
                        true => drop(transaction.commit()),
                        false => drop(transaction),
                    }
                }
                _ => write(&mut rng, &table),
            }
            if step % 10 == 0 {
                check(&table);
                for (snapshot, all) in &held {
                    assert_eq!(&snapshot.tab2list().expect("held"), all);
                    check(snapshot);
                }
            }
        }
        held.clear();
        store.collect();
        assert_eq!(
            there_are(&table),
            should_be(&table),
            "{kind:?}, round {round}"
        );
    }
}

/// In a table that no snapshot has made versioned an object hands its entries over to the one that takes its place.
#[test]
fn entries_are_handed_over() {
    let mut rng = StdRng::seed_from_u64(3);
    for round in 0..80 {
        let owner = Store::new().owner();
        let table = owner
            .new_table("t", &options(TYPES[round % 4]))
            .expect("new");
        for step in 0..200 {
            write(&mut rng, &table);
            if step % 5 == 0 {
                assert_eq!(there_are(&table), should_be(&table), "round {round}");
            }
        }
        // With tiny constants a query of five objects reads by a snapshot.
        assert!(cfg!(fyris_small) || !table.shared().life.state().is_versioned());
    }
}

/// Lets threads write in all ways beside what `main` does: at the end no entry is left of what went, and none lacks.
fn beside_threads(millis: u64, main: impl Fn(&Table)) {
    let until = Instant::now() + Duration::from_millis(if cfg!(miri) { 10 } else { millis });
    let mut round = 0;
    while Instant::now() < until {
        let (store, kind) = (Store::new(), TYPES[round as usize % 4]);
        let owner = store.owner();
        let table = owner.new_table("t", &options(kind)).expect("new");
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (store, table) = (&store, &table);
                scope.spawn(move || write_and_check(store, table, round * 3 + thread));
            }
            main(&table);
        });
        store.collect();
        assert_eq!(
            there_are(&table),
            should_be(&table),
            "{kind:?}, round {round}"
        );
        check(&table);
        round += 1;
    }
}

fn write_and_check(store: &Store, table: &Table, seed: u64) {
    let (mut rng, mut held) = (StdRng::seed_from_u64(seed), None);
    for _ in 0..200 {
        match rng.random_range(0..20) {
            0 => held = table.snapshot().ok(),
            1 => held = None,
            2 | 3 => {
                let transaction = store.begin();
                if let Ok(within) = transaction.table(table) {
                    for _ in 0..3 {
                        write(&mut rng, &within);
                    }
                    drop(transaction.commit());
                }
            }
            _ => write(&mut rng, table),
        }
        // It may have been taken between two indexes.
        if let Some(snapshot) = &held
            && snapshot.lookup_by("second", &1).is_ok()
        {
            check(snapshot);
        }
    }
}

#[test]
fn entries_are_those_of_the_objects_beside_threads() {
    beside_threads(1500, |_| ());
}

/// Lists give all keys another value at once: a look by value finds all of them or none.
#[test]
fn lists_are_seen_whole_by_value() {
    use std::sync::atomic::{AtomicBool, Ordering};
    const KEYS: i64 = 4;
    for kind in [TableType::Set, TableType::OrderedSet] {
        let owner = Store::new().owner();
        let table = owner.new_table("t", &options(kind)).expect("new");
        let list = |value: i64| -> Vec<Term> { (0..KEYS).map(|n| term!({ n, value })).collect() };
        table.insert_list(&list(0)).expect("room");
        let stop = AtomicBool::new(false);
        let until = Instant::now() + Duration::from_millis(if cfg!(miri) { 10 } else { 700 });
        let torn = std::thread::scope(|scope| {
            scope.spawn(|| {
                let values = (0..).map(|n| n % 2);
                let mut values = values.take_while(|_| !stop.load(Ordering::Relaxed));
                values.try_for_each(|value| table.insert_list(&list(value)))
            });
            let mut torn = None;
            let ones = spec(term!([{{:"_", 1}, [], [:"$_"]}]));
            while torn.is_none() && Instant::now() < until {
                let by_lookup = table
                    .lookup_by("second", &Term::Int(0))
                    .map(|all| all.len());
                let by_select = table.select(&ones).map(|all| all.len());
                let found = [by_lookup, by_select];
                let is_whole = |found: &_| matches!(found, Ok(0) | Ok(4));
                torn = (!found.iter().all(is_whole)).then_some(found);
            }
            stop.store(true, Ordering::Relaxed);
            torn
        });
        assert_eq!(torn, None, "{kind:?}");
    }
}

/// A value that begins like another one has entries of its own.
#[test]
fn values_that_begin_alike_are_told_apart() {
    let owner = Store::new().owner();
    let by = SecondaryIndex::element("by", 2);
    let table = owner
        .new_table("t", &Options::set().secondary(by))
        .expect("new");
    table
        .insert_list(&[term!({1, 1}), term!({2, 1.0}), term!({3, 1})])
        .expect("room");
    let keys_of = |value: &Term| {
        let (pin, mut keys) = (pin(), Vec::new());
        let data = table.shared().any_data(&pin).expect("it lives");
        let value = fyris_term::key::KeyBuf::encode(value);
        let secondary = data.secondaries().iter().next().expect("there is one");
        secondary.read(
            value.bytes(),
            &mut Span::ALL.clone(),
            false,
            10,
            &pin,
            &mut keys,
        );
        keys.len()
    };
    assert_eq!((keys_of(&term!(1)), keys_of(&term!(1.0))), (2, 1));
    assert_eq!(
        table.lookup_by("by", &term!(1.0)),
        Ok(vec![term!({2, 1.0})])
    );
}

/// Beside a range of keys an index is used where it leaves fewer objects; the results are those of the range, in order.
#[test]
fn a_query_takes_what_leaves_fewer() {
    let owner = Store::new().owner();
    let by = SecondaryIndex::element("second", 2);
    let table = owner
        .new_table("t", &Options::ordered_set().secondary(by))
        .expect("a table");
    let second = |n: i64| {
        if n % 100 == 7 {
            term!(:rare)
        } else {
            Term::Int(n % 2)
        }
    };
    let objects = (0..2000).map(|n| Term::tuple(vec![Term::Int(n), second(n)]));
    table.insert_many(objects).expect("inserts");
    for (value, high, index) in [
        (term!(:rare), 900, true),
        (term!(0), 10, false),
        (term!(0), 1900, false),
    ] {
        let high = Term::Int(high);
        let spec =
            spec(term!([{{:"$1", (value.clone())}, [{:"<", :"$1", (high.clone())}], [:"$1"]}]));
        let keys = (0..high.as_int().expect("an integer")).filter(|n| second(*n) == value);
        let keys: Vec<Term> = keys.map(Term::Int).collect();
        let plan = table.explain(&spec).expect("a plan");
        assert_eq!(plan.secondary.is_some(), index, "{value} below {high}");
        assert_eq!(table.select(&spec).expect("selects"), keys);
        let back: Vec<Term> = keys.into_iter().rev().collect();
        assert_eq!(table.select_reverse(&spec).expect("selects"), back);
    }
}

/// Indexes come and go beside all kinds of writes, and of queries that began with them.
#[test]
fn indexes_come_and_go() {
    let mut rng = StdRng::seed_from_u64(7);
    for round in 0..40 {
        let (store, kind) = (Store::new(), TYPES[round % 4]);
        let owner = store.owner();
        let table = owner.new_table("t", &options(kind)).expect("new");
        let ones = spec(term!([{{:"_", 1}, [], [:"$_"]}]));
        let mut held = Vec::new();
        for _ in 0..60 {
            for _ in 0..5 {
                write(&mut rng, &table);
            }
            let mut right = table.select(&ones).expect("live");
            let mut by_spec = table.query(&ones);
            let mut by_value = table.query_by("second", &Term::Int(1)).expect("there");
            let all = table.lookup_by("second", &Term::Int(1)).expect("there");
            let transaction = store.begin();
            let within = transaction.table(&table).expect("live");
            within.insert(&term!({99, :new})).expect("live");
            if rng.random() {
                held.push((
                    table.snapshot().expect("live"),
                    table.tab2list().expect("live"),
                ));
            }
            table.remove_secondary("second").expect("there");
            assert!(table.lookup_by("second", &Term::Int(1)).is_err());
            assert!(transaction.commit().is_err());
            let (mut found, mut valued) = (Vec::new(), Vec::new());
            while by_spec.step(1).expect("live") {}
            while by_value.step(1).expect("live") {}
            found.extend(by_spec.take());
            valued.extend(by_value.take());
            right.sort_by(Term::cmp_exact);
            found.sort_by(Term::cmp_exact);
            assert_eq!(found, right);
            assert_eq!(valued.len(), all.len());
            write(&mut rng, &table);
            let second = SecondaryIndex::element("second", 2);
            table.add_secondary(&second).expect("it is gone");
            let twice = table.add_secondary(&second);
            assert_eq!(twice, Err(Error::SecondaryExists("second".to_owned())));
            check(&table);
            for (snapshot, all) in &held {
                assert_eq!(&snapshot.tab2list().expect("held"), all);
                check(snapshot);
            }
            held.truncate(3);
        }
        held.clear();
        store.collect();
        assert_eq!(there_are(&table), should_be(&table), "{kind:?}");
    }
}

/// What threads write while indexes come and go is not lost.
#[test]
fn nothing_is_lost_while_indexes_come_and_go() {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    const EACH: i64 = if cfg!(miri) { 10 } else { 3000 };
    for kind in TYPES {
        let owner = Store::new().owner();
        let table = owner
            .new_table("t", &Options::new(kind).public())
            .expect("new");
        let first = if kind.is_bag() { -1 } else { 0 };
        table.insert(&term!({:counter, first})).expect("room");
        let (stop, done, changed) = (
            AtomicBool::new(false),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        );
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (table, stop, done) = (&table, &stop, &done);
                scope.spawn(move || {
                    for n in 0..EACH {
                        let key = thread * EACH + n;
                        let list = [term!({(key), (n % 7)}), term!({(-1 - key), (n % 7)})];
                        table.insert_list(&list).expect("room");
                        if kind.is_bag() {
                            table.insert(&term!({:counter, (key)})).expect("room");
                        } else {
                            let counted =
                                table.update_counter(&term!(:counter), &[CounterOp::add(1)]);
                            counted.expect("it is there");
                        }
                        if n % 3 == 0 {
                            table.delete_key(&Term::Int(-1 - key)).expect("live");
                        }
                    }
                    stop.store(done.fetch_add(1, Ordering::Relaxed) == 1, Ordering::Relaxed);
                });
            }
            while !stop.load(Ordering::Relaxed) {
                let by = SecondaryIndex::element("by", 2);
                if table
                    .add_secondary(&by)
                    .and_then(|()| table.remove_secondary("by"))
                    .is_err()
                {
                    break;
                }
                changed.fetch_add(2, Ordering::Relaxed);
            }
        });
        assert!(changed.into_inner() > 0, "{kind:?}");
        let objects = |n: i64| if kind.is_bag() { n + 1 } else { 1 };
        assert_eq!(
            table.lookup(&term!(:counter)).expect("live").len() as i64,
            objects(2 * EACH)
        );
        if !kind.is_bag() {
            assert_eq!(
                table.lookup(&term!(:counter)),
                Ok(vec![term!({:counter, (2 * EACH)})])
            );
        }
        let keys = 2 * EACH + 2 * (EACH - (EACH + 2) / 3);
        assert_eq!(table.len() as i64, keys + objects(2 * EACH), "{kind:?}");
        assert_eq!(table.tab2list().expect("live").len(), table.len());
    }
}

#[test]
fn indexes_come_and_go_beside_threads() {
    beside_threads(1000, |table| {
        for _ in 0..20 {
            table.remove_secondary("second").expect("there");
            let second = SecondaryIndex::element("second", 2);
            table.add_secondary(&second).expect("it is gone");
        }
    });
}
