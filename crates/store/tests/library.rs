//! Tables on indexes from libraries of C and C++: they answer as the default index does, and a library that does wrong
//! is named.

#[path = "../../index/tests/library/build.rs"]
mod build;
mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use build::{Built, example, sorted};
use common::{Dialect, KINDS, command, int, run, settled, tuple};
use fyris::index::library::Fault;
use fyris::{CounterOp, Error, InfoValue, Options, Owner, Store, Table, TableType, Term, term};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn object(key: i64, value: i64) -> Term {
    tuple([int(key), int(value)])
}

fn table_on(owner: &Owner, kind: TableType, library: &Built) -> Table {
    let options = Options::new(kind).public().library_index(library.path());
    owner.new_table("t", &options).expect("a table")
}

/// Runs the same commands on the default index and on a library, and compares the answers. What needs iteration is
/// refused where the library has none.
fn answers_alike(library: &Built, kind: TableType, iterates: bool) {
    let d = Dialect {
        kind,
        keypos: 1,
        otp25: false,
    };
    let config = Config {
        cases: 64,
        failure_persistence: None,
        ..Config::default()
    };
    let commands = prop::collection::vec(command(d), 1..100);
    let same = TestRunner::new(config).run(&commands, |commands| {
        let owner = Store::new().owner();
        let default = common::new_table(&owner, d);
        let table = table_on(&owner, kind, library);
        for command in &commands {
            if !iterates && matches!(command.op, "tab2list" | "foldr") {
                let lacks = matches!(table.tab2list(), Err(Error::LacksFeature { .. }));
                prop_assert!(lacks);
                continue;
            }
            let expected = settled(d, command, run(&default, command));
            let reply = settled(d, command, run(&table, command));
            prop_assert_eq!(reply, expected, "{:?}", command);
        }
        Ok(())
    });
    same.expect("the same answers");
}

#[test]
fn std_map_answers_as_the_default_index() {
    if let Some(library) = example("map") {
        KINDS
            .into_iter()
            .for_each(|kind| answers_alike(&library, kind, true));
    }
}

#[test]
fn std_unordered_map_answers_as_the_default_index() {
    let Some(library) = example("unordered_map") else {
        return;
    };
    let unordered = KINDS
        .into_iter()
        .filter(|kind| *kind != TableType::OrderedSet);
    unordered.for_each(|kind| answers_alike(&library, kind, false));
    let owner = Store::new().owner();
    let options = Options::ordered_set().library_index(library.path());
    assert_eq!(
        owner.new_table("t", &options).err(),
        Some(Error::LibraryIndex {
            path: library.path().to_owned(),
            what: Fault::NoOrder.into(),
        })
    );
}

#[test]
fn a_library_with_hash_order_answers_as_the_default_index() {
    answers_alike(&sorted(&["BY_HASH"]), TableType::Bag, true);
    answers_alike(&sorted(&["CONCURRENT", "BY_HASH"]), TableType::Set, true);
}

/// Threads count, insert lists that are seen whole, and delete what they traverse, each among keys of its own but for
/// the counters.
fn threads_get_along(table: &Table) {
    const THREADS: i64 = 4;
    const ROUNDS: i64 = 200;
    let ended = AtomicBool::new(false);
    std::thread::scope(|s| {
        let work = |thread: i64| {
            for round in 0..ROUNDS {
                let counter = int(-1 - round % 3);
                let default = tuple([int(0), int(0)]);
                table
                    .update_counter_or(&counter, &[CounterOp::add(1)], &default)
                    .expect("counts");
                // Both keys of a list have its number.
                let pair = [object(1000, round), object(2000 + thread, round)];
                table.insert_list(&pair).expect("inserts");
                let keys = 10_000 * (thread + 1)..10_000 * (thread + 1) + 20;
                for key in keys.clone() {
                    table.insert(&object(key, round)).expect("inserts");
                }
                for key in keys {
                    assert_eq!(table.take(&int(key)).expect("takes"), [object(key, round)]);
                }
            }
        };
        let workers: Vec<_> = (0..THREADS).map(|t| s.spawn(move || work(t))).collect();
        s.spawn(|| {
            // Relaxed: a flag; what is read after it was joined.
            while !ended.load(Ordering::Relaxed) {
                for key in [1000, 2000, 10_000] {
                    let found = table.lookup(&int(key)).expect("reads");
                    assert!(found.len() <= 1);
                }
                let _ = table.tab2list();
            }
        });
        for worker in workers {
            worker.join().expect("it ends");
        }
        // Relaxed: as above.
        ended.store(true, Ordering::Relaxed);
    });
    let value = |key| match &table.lookup(&int(key)).expect("reads")[..] {
        [Term::Tuple(parts)] => parts[1].clone(),
        other => panic!("{other:?}"),
    };
    let counted = [-1, -2, -3].map(|key| match value(key) {
        Term::Int(count) => count,
        other => panic!("{other:?}"),
    });
    assert_eq!(counted.iter().sum::<i64>(), THREADS * ROUNDS);
    assert!((0..THREADS).all(|t| value(2000 + t) == int(ROUNDS - 1)));
    assert_eq!(table.len(), 3 + 1 + THREADS as usize);
}

#[test]
fn threads_get_along_on_every_library() {
    let owner = Store::new().owner();
    let libraries = [
        example("map"),
        example("unordered_map"),
        Some(sorted(&["CONCURRENT"])),
        Some(sorted(&["ALONE"])),
    ];
    for library in libraries.iter().flatten() {
        threads_get_along(&table_on(&owner, TableType::Set, library));
    }
    let ordered = &libraries[2].as_ref().expect("it was built");
    threads_get_along(&table_on(&owner, TableType::OrderedSet, ordered));
}

/// A traversal of a fixed table meets every key that stays, whatever goes meanwhile, and deletes as it goes.
#[test]
fn a_traversal_may_delete_what_it_meets() {
    let owner = Store::new().owner();
    let kinds = [TableType::Set, TableType::OrderedSet];
    for (library, kind) in [sorted(&["BY_HASH"]), sorted(&[])].iter().zip(kinds) {
        let table = table_on(&owner, kind, library);
        (0..500).for_each(|key| table.insert(&object(key, key)).expect("inserts"));
        let fixed = table.safe_fixtable(true);
        fixed.expect("fixes");
        let (mut met, mut at) = (0, table.first().expect("reads"));
        while let Some(key) = at {
            table.delete_key(&key).expect("deletes");
            met += 1;
            at = table.next(&key).expect("goes on");
        }
        table.safe_fixtable(false).expect("lets go");
        assert_eq!((met, table.len()), (500, 0));
        (0..500).for_each(|key| table.insert(&object(key, key)).expect("inserts"));
        assert_eq!(table.drain().expect("takes").len(), 500);
        assert!(table.is_empty());
    }
}

#[test]
fn options_and_information_name_the_library() {
    let library = sorted(&[]);
    let path = library.path();
    let owner = Store::new().owner();
    let by_string = format!("[ordered_set, {{index, {{library, \"{path}\"}}}}]");
    let by_binary = format!("[{{index, {{library, <<\"{path}\">>}}}}]");
    for text in [by_string, by_binary] {
        let options = Term::parse(&text).expect("a term");
        let options = Options::parse(&options, |_| None).expect("options");
        let table = owner.new_table("t", &options).expect("a table");
        let info = table.info().expect("it lives");
        assert_eq!((info.index, info.library_index), (path, true));
        let expected = Term::parse(&format!("{{library, \"{path}\"}}")).expect("a term");
        let item = table.info_item("index").expect("an item");
        let items = table.info_items().expect("it lives");
        let listed = items.into_iter().find(|(name, _)| *name == "index");
        assert_eq!(listed.map(|(_, value)| value), item);
        assert_eq!(item, Some(InfoValue::Term(expected)));
        assert!(info.memory > 0);
        for option in ["bucket_locks", "reader_groups"] {
            let text = text.replace("{index", &format!("{{{option}, 4}}, {{index"));
            let options = Options::parse(&Term::parse(&text).expect("a term"), |_| None);
            let refused = owner.new_table("t", &options.expect("options"));
            assert!(matches!(refused, Err(Error::BadOption(_))), "{option}");
        }
    }
    for bad in [
        "{library, 7}",
        "{library, [a]}",
        "{library, [-1]}",
        "{library, <<255>>}",
        "{lib, \"x\"}",
        "{library}",
    ] {
        let options = Term::parse(&format!("[{{index, {bad}}}]")).expect("a term");
        let parsed = Options::parse(&options, |_| None);
        assert!(matches!(parsed, Err(Error::BadOption(_))), "{bad}");
    }
}

/// A file of a table names no library: to read it loads no code.
#[test]
fn a_dump_names_no_library() {
    let library = sorted(&[]);
    let owner = Store::new().owner();
    let table = table_on(&owner, TableType::OrderedSet, &library);
    table.insert(&object(1, 2)).expect("inserts");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("dump");
    table.tab2file(&file, &Default::default()).expect("saves");
    let bytes = std::fs::read(&file).expect("reads");
    let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    assert!(!has(library.path().as_bytes()) && !has(b"library"));
    let loaded = owner.file2tab(&file, &Default::default()).expect("loads");
    assert_eq!(loaded.table.info().expect("it lives").index, "ordered");
    assert_eq!(loaded.table.tab2list().expect("reads"), [object(1, 2)]);
}

#[test]
fn a_library_that_cannot_serve_is_named() {
    let owner = Store::new().owner();
    let fault = |path: &str| {
        let options = Options::set().library_index(path);
        match owner.new_table("t", &options) {
            Err(Error::LibraryIndex { path: of, what }) if of == path => *what,
            other => panic!("{other:?}"),
        }
    };
    let missing = fault("/no/such/library.so");
    assert!(matches!(missing, Fault::NoFile(_)));
    let broken = sorted(&["FAULT_VERSION"]);
    assert_eq!(fault(broken.path()), Fault::Version(2));
    assert_eq!(
        fault(sorted(&["FAULT_CREATE"]).path()),
        Fault::NotCreated,
        "found out where a table is made"
    );
    let error = owner
        .new_table("t", &Options::set().library_index(broken.path()))
        .expect_err("refused");
    assert_eq!(
        error.to_string(),
        format!(
            "library {} as an index: it has version 2, not 1",
            broken.path()
        )
    );
    assert_eq!(error.ets_class().as_str(), "badarg");
}

/// The operation that finds a library out is done; those after it are refused by name; the table can be deleted, and
/// others on the library go on.
#[test]
fn a_library_that_does_wrong_fails_its_table_by_name() {
    let owner = Store::new().owner();
    let library = sorted(&["FAULT_LOST"]);
    let other = table_on(&owner, TableType::Set, &library);
    let table = table_on(&owner, TableType::OrderedSet, &library);
    for key in [1, 2, 3] {
        table.insert(&object(key, key)).expect("inserts");
    }
    assert_eq!(table.lookup(&int(2)).expect("answers"), [object(2, 2)]);
    let refusal = Error::LibraryIndex {
        path: library.path().to_owned(),
        what: Fault::LostKey.into(),
    };
    assert_eq!(table.lookup(&int(2)), Err(refusal.clone()));
    assert_eq!(table.member(&int(1)), Err(refusal.clone()));
    assert_eq!(table.insert(&object(4, 4)), Err(refusal.clone()));
    assert_eq!(table.insert_list(&[object(4, 4)]), Err(refusal.clone()));
    assert_eq!(table.take(&int(1)), Err(refusal.clone()));
    assert_eq!(table.first(), Err(refusal.clone()));
    assert_eq!(table.tab2list(), Err(refusal.clone()));
    assert_eq!(table.upsert(&int(1), |old| old), Err(refusal.clone()));
    assert_eq!(table.delete_all_objects(), Err(refusal.clone()));
    assert_eq!(table.iter().next(), Some(Err(refusal)));
    assert_eq!(table.info().expect("it lives").size, 3);
    other.insert(&object(1, 1)).expect("another table goes on");
    table.delete().expect("it can be deleted");
    assert!(matches!(table.first(), Err(Error::NoSuchTable(_))));
}

/// A list is in whole or not at all, as its result says, although the library does wrong while it is put in, and the
/// records of the store come to their end once.
#[test]
fn a_list_is_whole_on_a_failing_library() {
    let owner = Store::new().owner();
    let faults = [
        "FAULT_LOST",
        "FAULT_OTHER",
        "FAULT_WORD=1",
        "FAULT_REFUSED",
        "FAULT_FORGETS",
        "FAULT_REMOVE",
    ];
    let each = faults.into_iter().flat_map(|fault| {
        let concurrent = ["ALONE", "CONCURRENT"];
        concurrent.map(|kind| sorted(&[fault, kind]))
    });
    for library in each {
        for kind in [TableType::Set, TableType::Bag] {
            let table = table_on(&owner, kind, &library);
            let list: Vec<Term> = (0..20).map(|key| term!({key, "a value"})).collect();
            let of_library = |error: &Error| matches!(error, Error::LibraryIndex { .. });
            let inserted = table.insert_list(&list);
            // Before the fault was found out, or refused since.
            let taken = table.take(&int(3));
            let left = match (&inserted, &taken) {
                (Ok(()), Ok(taken)) if *taken == [list[3].clone()] => 19,
                (Ok(()), Err(error)) if of_library(error) => 20,
                (Err(error), Err(later)) if of_library(error) && of_library(later) => 0,
                other => panic!("{other:?}"),
            };
            assert_eq!(table.len(), left);
            assert!(
                table
                    .insert_list(&list)
                    .is_err_and(|error| of_library(&error))
            );
            assert_eq!(table.len(), left);
            table.delete().expect("deletes");
        }
    }
}
