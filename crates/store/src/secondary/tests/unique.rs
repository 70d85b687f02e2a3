//! No two keys have the same value of a unique index, whatever is tried.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fyris_term::Term;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{should_be, spec, there_are};
use crate::ids::TableType;
use crate::{
    BatchOp, CounterOp, Error, Options, Result, SecondaryIndex, Store, SubscribeOptions, Table,
    WatchFilter, term,
};

const TYPES: [TableType; 2] = [TableType::Set, TableType::OrderedSet];

fn options(kind: TableType) -> Options {
    Options::new(kind)
        .public()
        .secondary(SecondaryIndex::element("second", 2).unique())
        .secondary(SecondaryIndex::new("third", term!({:path, [3, :a]})).unique())
        .secondary(SecondaryIndex::element("any", 3))
}

fn object(rng: &mut StdRng, values: i64) -> Term {
    let key = rng.random_range(0..6);
    let value = rng.random_range(0..values);
    match rng.random_range(0..6) {
        0 => term!({ (key) }),
        1 => term!({(key), (value as f64), #{:a => (value)}}),
        2 => term!({(key), (Term::binary(vec![value as u8; 100])), #{:b => 1}}),
        _ => term!({(key), (value), #{:a => (rng.random_range(0..values))}}),
    }
}

/// A write to one table, as a program may ask for it.
#[derive(Clone, Debug)]
enum Write {
    Insert(Term),
    InsertNew(Term),
    List(Vec<Term>),
    NewList(Vec<Term>),
    Delete(i64),
    Take(i64),
    Update(i64, i64),
    Count(i64, i64),
    Swap(Term, Term),
    Batch(i64, Vec<Term>),
    /// In a transaction, one after another.
    Several(Vec<Term>, i64),
}

impl Write {
    fn random(rng: &mut StdRng, values: i64) -> Write {
        let key = rng.random_range(0..6);
        let one = |rng: &mut StdRng| object(rng, values);
        let list = |rng: &mut StdRng| (0..rng.random_range(1..4)).map(|_| one(rng)).collect();
        match rng.random_range(0..14) {
            0..4 => Write::Insert(object(rng, values)),
            4 => Write::InsertNew(object(rng, values)),
            5 => Write::List(list(rng)),
            6 => Write::NewList(list(rng)),
            7 => Write::Delete(key),
            8 => Write::Take(key),
            9 => Write::Update(key, rng.random_range(0..values)),
            10 => Write::Count(key, rng.random_range(-2..3)),
            11 => Write::Swap(object(rng, values), object(rng, values)),
            12 => Write::Batch(key, list(rng)),
            _ => Write::Several(list(rng), key),
        }
    }

    fn run(&self, store: &Store, table: &Table) -> Result<()> {
        let key = |key: &i64| Term::Int(*key);
        match self {
            Write::Insert(object) => table.insert(object),
            Write::InsertNew(object) => table.insert_new(object).map(drop),
            Write::List(objects) => table.insert_list(objects),
            Write::NewList(objects) => table.insert_new_list(objects).map(drop),
            Write::Delete(at) => table.delete_key(at),
            Write::Take(at) => table.take(&key(at)).map(drop),
            Write::Update(at, to) => table
                .update_element(&key(at), &[(2, Term::Int(*to))])
                .map(drop),
            Write::Count(at, by) => table
                .update_counter(&key(at), &[CounterOp::add(*by)])
                .map(drop),
            Write::Swap(old, new) => table.compare_and_swap(old, new).map(drop),
            Write::Batch(at, objects) => {
                let gone = key(at);
                let ops = [
                    BatchOp::Delete(table, &gone),
                    BatchOp::Insert(table, objects),
                ];
                store.write_batch(&ops).map(drop)
            }
            Write::Several(objects, at) => store.transaction(|tx| {
                let table = tx.table(table)?;
                for object in objects {
                    table.insert(object)?;
                }
                table.delete_key(at)
            }),
        }
    }
}

/// Returns whether two objects have the same value.
fn repeats(objects: &[Term]) -> bool {
    let element = |at: usize| {
        let all = objects
            .iter()
            .filter_map(move |object| object.as_tuple()?.get(at).cloned());
        all.collect::<Vec<_>>()
    };
    let twice = |mut values: Vec<Term>| {
        values.sort_by(Term::cmp_exact);
        values
            .windows(2)
            .any(|pair| pair[0].cmp_exact(&pair[1]).is_eq())
    };
    let deep = element(2)
        .into_iter()
        .filter_map(|map| map.as_map()?.get(&term!(:a)).cloned());
    twice(element(1)) || twice(deep.collect())
}

/// The entries are those of the objects, when what went is freed.
fn settled(store: &Store, table: &Table) {
    store.collect();
    assert_eq!(there_are(table), should_be(table));
}

/// A table does what one without unique indexes does, unless that has repeated values then.
#[test]
fn what_would_repeat_a_value_is_refused() {
    let mut refused = 0;
    for seed in 0..120 {
        let (store, mut rng) = (Store::new(), StdRng::seed_from_u64(seed));
        let owner = store.owner();
        let kind = TYPES[seed as usize % 2];
        let table = owner.new_table("t", &options(kind)).expect("right");
        let twin = owner.new_table("twin", &Options::new(kind)).expect("right");
        let (mut snapshots, values) = (Vec::new(), rng.random_range(4..12));
        for n in 0..150 {
            let write = Write::random(&mut rng, values);
            let before = twin.tab2list().expect("live");
            let (done, expected) = (write.run(&store, &table), write.run(&store, &twin));
            if repeats(&twin.tab2list().expect("live")) {
                assert!(
                    matches!(done, Err(Error::NotUnique { .. })),
                    "{write:?}: {done:?}"
                );
                twin.delete_all_objects().expect("live");
                twin.insert_list(&before).expect("live");
                refused += 1;
            } else {
                assert_eq!(
                    done.is_ok(),
                    expected.is_ok(),
                    "{write:?}: {done:?}, {expected:?}"
                );
            }
            let (mut here, mut there) = (table.tab2list().unwrap(), twin.tab2list().unwrap());
            here.sort_by(Term::cmp_exact);
            there.sort_by(Term::cmp_exact);
            assert_eq!(here, there, "{write:?}");
            match n % 50 {
                // Also while nothing is versioned.
                10..30 if rng.random_bool(0.2) => snapshots.push(table.snapshot().unwrap()),
                30 => snapshots.clear(),
                _ => {}
            }
        }
        drop(snapshots);
        settled(&store, &table);
    }
    assert!(refused > 1000, "{refused}");
}

/// Runs `f` on threads of random writes to a small table for some time.
fn beside_writers(kind: TableType, millis: u64, f: impl Fn(&Store, &Table)) {
    let store = Store::new();
    let owner = store.owner();
    let table = owner.new_table("t", &options(kind)).expect("right");
    let (end, stop) = (
        Instant::now() + Duration::from_millis(millis),
        AtomicBool::new(false),
    );
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let (store, table, stop) = (&store, &table, &stop);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed);
                while !stop.load(Ordering::Relaxed) {
                    let done = Write::random(&mut rng, 8).run(store, table);
                    let is_known = matches!(
                        done,
                        Ok(())
                            | Err(Error::NotUnique { .. } | Error::NoSuchKey | Error::KeyUpdate(_))
                            | Err(Error::NotAnInteger { .. } | Error::BadPosition { .. })
                    );
                    assert!(is_known, "{done:?}");
                }
            });
        }
        while Instant::now() < end {
            f(&store, &table);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(!repeats(&table.tab2list().expect("live")));
    settled(&store, &table);
}

#[test]
fn no_moment_shows_a_value_twice() {
    for kind in TYPES {
        beside_writers(kind, 1500, |_, table| {
            let snapshot = table.snapshot().expect("live");
            let all = snapshot.tab2list().expect("live");
            assert!(!repeats(&all), "{all:?}");
            for value in 0..8 {
                let found = snapshot.lookup_by("second", &value).expect("known");
                assert!(found.len() <= 1, "{found:?}");
            }
            drop(snapshot);
            // Long enough for the table to be versioned no more, now and then.
            std::thread::sleep(Duration::from_millis(if all.len() % 4 == 0 {
                150
            } else {
                0
            }));
        });
    }
}

/// Of several that take one value at once one gets it, by whatever call.
#[test]
fn one_gets_a_value() {
    const THREADS: i64 = 3;
    for kind in TYPES {
        let store = Store::new();
        let owner = store.owner();
        let table = owner.new_table("t", &options(kind)).expect("right");
        let own = |me: i64| term!({(me + 10), (-me)});
        let all: Vec<Term> = (0..THREADS).map(own).collect();
        table.insert_list(&all).expect("live");
        let take = |me: i64, round: i64| {
            let object = term!({(me), (round), "some text that makes a block of it"});
            let old = Term::Int(me + 10);
            match (me + round) % 5 {
                0 => table.insert(&object),
                1 => table
                    .update_element(&old, &[(2, Term::Int(round))])
                    .map(drop),
                2 => table.insert_list(&[object, term!({(me + 20), (-100 - me)})]),
                3 => store.transaction(|tx| {
                    let table = tx.table(&table)?;
                    table.insert(&object)?;
                    table
                        .update_element(&old, &[(2, Term::Int(-200 - me))])
                        .map(drop)
                }),
                _ => table.insert_new(&object).map(drop),
            }
        };
        // No thread may end by a panic: others would wait for it.
        let (barrier, won, wrong) = (Barrier::new(3), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for me in 0..THREADS {
                let (table, barrier, won, wrong, take) = (&table, &barrier, &won, &wrong, &take);
                scope.spawn(move || {
                    for round in 1..=3000 {
                        barrier.wait();
                        let done = take(me, round);
                        let as_it_should = match done {
                            Ok(()) => won.fetch_add(1, Ordering::Relaxed) == 0,
                            Err(error) => matches!(error, Error::NotUnique { .. }),
                        };
                        barrier.wait();
                        let found = table.lookup_by("second", &round).map(|found| found.len());
                        let is_one = won.load(Ordering::Relaxed) == 1 && found == Ok(1);
                        barrier.wait();
                        won.store(0, Ordering::Relaxed);
                        let gone = table.delete_key(&me).and(table.delete_key(&(me + 20)));
                        let back = gone.and(table.insert(&own(me)));
                        if !as_it_should || !is_one || back.is_err() {
                            wrong.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(wrong.into_inner(), 0);
        settled(&store, &table);
    }
}

/// Whatever else is done to its key meanwhile, a write does not get what another key has all the time.
#[test]
fn what_is_taken_stays_taken_while_the_key_changes() {
    for kind in TYPES {
        let store = Store::new();
        let owner = store.owner();
        let table = owner.new_table("t", &options(kind)).expect("right");
        table.insert(&term!({2, 7})).expect("live");
        let stop = AtomicBool::new(false);
        let got = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut n = 100;
                while !stop.load(Ordering::Relaxed) {
                    table.insert(&term!({1, n})).expect("free");
                    n += 1;
                }
            });
            let got = (0..100_000).filter(|_| table.insert(&term!({1, 7})).is_ok());
            let got = got.count();
            stop.store(true, Ordering::Relaxed);
            got
        });
        assert_eq!(got, 0, "{kind:?}");
    }
}

#[test]
fn who_watches_is_not_told_of_what_was_refused() {
    for kind in TYPES {
        let store = Store::new();
        let owner = store.owner();
        let table = owner.new_table("t", &options(kind)).expect("right");
        table.insert(&term!({1, 1, "one"})).expect("live");
        let everything = SubscribeOptions::new();
        let mut changes = table
            .subscribe(&WatchFilter::all(), &everything)
            .expect("live");
        assert!(table.insert(&term!({2, 1, "one"})).is_err());
        assert!(table.insert_list(&[term!({2, 1}), term!({3, 3})]).is_err());
        assert!(
            table
                .update_element_or(&term!(4), &[(2, term!(1))], &term!({4, 4}))
                .is_err()
        );
        table.insert(&term!({1, 1, "uno"})).expect("its own");
        table.insert(&term!({2, 2})).expect("free");
        let mut told = BTreeMap::new();
        while let Some(event) = changes.try_next() {
            for change in event.changes() {
                let new = change.new.clone().expect("put in");
                told.insert(new.to_string(), change.old.is_some());
            }
        }
        let told: Vec<_> = told.into_iter().collect();
        assert_eq!(told.len(), 2, "{told:?}");
    }
}

/// A unique index is added beside writers that move a value between keys, and to no table that repeats one.
#[test]
fn unique_indexes_are_added_where_values_are() {
    for kind in TYPES {
        let store = Store::new();
        let owner = store.owner();
        let plain = Options::new(kind).public();
        let table = owner.new_table("t", &plain).expect("right");
        let unique = SecondaryIndex::element("second", 2).unique();
        table
            .insert_list(&[term!({1, 1}), term!({2, 1}), term!({3, 3})])
            .expect("live");
        assert!(matches!(
            table.add_secondary(&unique),
            Err(Error::NotUnique { .. })
        ));
        assert!(table.lookup_by("second", &1).is_err());
        table
            .insert_many((10..2000).map(|n| term!({n, n})))
            .expect("live");
        table.delete_key(&2).expect("live");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (mover, stop) = (&table, &stop);
            scope.spawn(move || {
                let mut at = 1;
                while !stop.load(Ordering::Relaxed) {
                    // Each time it is at one key, or at none.
                    mover.delete_key(&at).expect("live");
                    at = 5000 - at;
                    mover.insert(&term!({at, 1})).expect("nobody else has it");
                    mover
                        .insert_list(&[term!({20, 21}), term!({21, 20})])
                        .expect("exchanged");
                    mover
                        .insert_list(&[term!({20, 20}), term!({21, 21})])
                        .expect("exchanged");
                }
            });
            for _ in 0..20 {
                table
                    .add_secondary(&unique)
                    .expect("no value is there twice");
                assert!(matches!(
                    table.insert(&term!({3, 15})),
                    Err(Error::NotUnique { .. })
                ));
                table.remove_secondary("second").expect("it was added");
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(there_are(&table), should_be(&table));
    }
}

#[test]
fn what_is_no_unique_index_is_refused() {
    let owner = Store::new().owner();
    let unique = SecondaryIndex::element("second", 2).unique();
    for kind in [TableType::Bag, TableType::DuplicateBag] {
        let asked = Options::new(kind).secondary(unique.clone());
        assert!(matches!(
            owner.new_table("t", &asked),
            Err(Error::BadOption(_))
        ));
        let table = owner.new_table("t", &Options::new(kind)).expect("right");
        assert!(matches!(
            table.add_secondary(&unique),
            Err(Error::BadOption(_))
        ));
    }
    let parse = |text: Term| Options::parse(&text, |_| None);
    let asked = parse(term!([{:secondary, :second, {:unique, {:element, 2}}}]));
    assert_eq!(asked, Ok(Options::set().secondary(unique)));
    for wrong in [
        term!([{:secondary, :second, {:uniqe, {:element, 2}}}]),
        term!([{:secondary, :second, {:unique, {:element, 0}}}]),
        term!([{:secondary, :second, {:unique, {:unique, {:element, 2}}}}]),
        term!([{:secondary, :second, {:unique, {:element, 2}, 1}}]),
        term!([{:secondary, :second, :unique}]),
    ] {
        assert!(
            matches!(parse(wrong.clone()), Err(Error::BadOption(_))),
            "{wrong}"
        );
    }
}

/// Up to the first that would repeat a value, or in a transaction none.
#[test]
fn a_query_replaces_up_to_what_is_refused() {
    let store = Store::new();
    let owner = store.owner();
    let table = owner
        .new_table("t", &options(TableType::OrderedSet))
        .expect("right");
    table
        .insert_list(&[term!({1, 1}), term!({2, 2}), term!({3, 4})])
        .expect("live");
    let more = spec(term!([{{:"$1", :"$2"}, [], [{{:"$1", {:"+", :"$2", 2}}}]}]));
    let refused = store.transaction(|tx| tx.table(&table)?.select_replace(&more));
    assert_eq!(refused, Ok(3), "all at once they are different");
    assert_eq!(
        table.tab2list().unwrap(),
        [term!({1, 3}), term!({2, 4}), term!({3, 6})]
    );
    // The second would repeat what the first is going to have; those behind it stay as they are.
    let same = spec(term!([{{:"$1", :"$2"}, [], [{{:"$1", {:"div", :"$2", 2}}}]}]));
    table.insert(&term!({4, 100})).expect("free");
    table.insert(&term!({2, 6})).expect_err("taken");
    table.insert(&term!({1, 12})).expect("free");
    table.insert(&term!({2, 13})).expect("free");
    let before = table.tab2list().unwrap();
    let refused = store.transaction(|tx| tx.table(&table)?.select_replace(&same));
    assert!(matches!(refused, Err(Error::NotUnique { .. })));
    assert_eq!(table.tab2list().unwrap(), before);
    assert!(matches!(
        table.select_replace(&same),
        Err(Error::NotUnique { .. })
    ));
    let after = [
        term!({1, 12}),
        term!({2, 13}),
        term!({3, 6}),
        term!({4, 100}),
    ];
    assert_eq!(
        table.tab2list().unwrap(),
        after,
        "6 is taken for the first already"
    );
    table.delete_key(&3).expect("live");
    assert!(matches!(
        table.select_replace(&same),
        Err(Error::NotUnique { .. })
    ));
    let after = [term!({1, 6}), term!({2, 13}), term!({4, 100})];
    assert_eq!(table.tab2list().unwrap(), after);
}
