//! What a transaction sees, keeps to itself, and leaves.

use fyris::{
    CounterOp, Error, MatchSpec, Options, Owner, RangeOptions, Result, Store, Table, Term,
    Transaction, term,
};

fn all_types() -> [Options; 4] {
    [
        Options::set(),
        Options::ordered_set(),
        Options::bag(),
        Options::duplicate_bag(),
    ]
}

fn sorted(mut terms: Vec<Term>) -> Vec<Term> {
    terms.sort_by(Term::cmp_exact);
    terms
}

fn new(options: &Options) -> (Store, Owner, Table) {
    let store = Store::new();
    let owner = store.owner();
    let table = owner.new_table("t", options).expect("a table");
    (store, owner, table)
}

/// Calls that a table and a transaction answer alike, on the same content.
fn everything(table: &Table) -> Vec<Result<Vec<Term>>> {
    let spec = |spec: &Term| MatchSpec::new(spec).expect("a specification");
    let all = spec(&term!([{:"$1", [], [:"$1"]}]));
    let some = spec(&term!([{{:"$1", :"$2"}, [{:">", :"$2", 20}], [:"$1"]}]));
    let keyed = spec(&term!([{{3, :"$2"}, [], [:"$2"]}]));
    let mut answers = vec![
        table.tab2list().map(sorted),
        table.select(&all).map(sorted),
        table.select(&some).map(sorted),
        table.select(&keyed).map(sorted),
        table.select_count(&some).map(|n| vec![Term::Int(n as i64)]),
        table.foldl(0, |_, n| n + 1).map(|n| vec![Term::Int(n)]),
        table
            .lookup_many(&[term!(1), term!(3), term!(99)])
            .map(|all| all.concat()),
        Ok(vec![Term::Int(table.len() as i64)]),
        table.range(.., RangeOptions::new()),
        table.range(term!(2)..term!(5), RangeOptions::new().reverse()),
        table.nth(2).map(|key| key.into_iter().collect()),
        table.rank(&term!(4)).map(|n| vec![Term::Int(n as i64)]),
    ];
    for key in 0..9 {
        let key = Term::Int(key);
        answers.push(table.lookup(&key));
        answers.push(table.member(&key).map(|is| vec![Term::from(is)]));
    }
    // Walks.
    let mut keys = Vec::new();
    let mut at = table.first().expect("a key, or none");
    while let Some(key) = at {
        at = table.next(&key).expect("the key is there");
        keys.push(key);
    }
    answers.push(Ok(sorted(keys)));
    if table.table_type() == fyris::TableType::OrderedSet {
        let mut keys = Vec::new();
        let mut at = table.last().expect("a key, or none");
        while let Some(key) = at {
            at = table.prev(&key).expect("the key is there");
            keys.push(key);
        }
        answers.push(Ok(keys));
        answers.push(table.seek(&term!(3)).map(|key| key.into_iter().collect()));
    }
    answers
}

/// Some changes, of every kind.
fn change(table: &Table) -> Vec<Result<Vec<Term>>> {
    let is_bag = table.table_type().is_bag();
    let one = |done: Result<()>| done.map(|()| vec![]);
    let flag = |done: Result<bool>| done.map(|done| vec![Term::from(done)]);
    let spec = |spec: &Term| MatchSpec::new(spec).expect("a specification");
    let mut answers = vec![
        one(table.insert(&term!({1, 100}))),
        one(table.insert(&term!({7, 70}))),
        flag(table.insert_new(&term!({3, 31}))),
        flag(table.insert_new(&term!({8, 80}))),
        table.take(&term!(2)),
        one(table.delete_object(&term!({4, 40}))),
        one(table.delete_object(&term!({5, 41}))),
        one(table.insert_list(&[term!({6, 60}), term!({6, 61}), term!({7, 71})])),
        flag(table.insert_new_list(&[term!({9, 90}), term!({1, 1})])),
        one(table.delete_key(&term!(0))),
        one(table.insert(&term!({2, "again"}))),
    ];
    if !is_bag {
        answers.push(table.update_counter(&term!(1), &[CounterOp::add(11)]));
        answers.push(flag(
            table.update_element(&term!(3), &[(2, term!("three"))]),
        ));
        answers.push(flag(
            table.compare_and_swap(&term!({7, 71}), &term!({7, "seven"})),
        ));
    }
    let deleted = table.select_delete(&spec(
        &term!([{{:"_", :"$1"}, [{:"=:=", :"$1", 61}], [true]}]),
    ));
    answers.push(deleted.map(|n| vec![Term::Int(n as i64)]));
    if table.table_type() != fyris::TableType::Bag {
        let replaced = table.select_replace(&spec(
            &term!([{{:"$1", 80}, [], [{{:"$1", {:"+", 80, 1}}}]}]),
        ));
        answers.push(replaced.map(|n| vec![Term::Int(n as i64)]));
    }
    answers
}

fn fill(table: &Table) {
    for key in 0..7 {
        table.insert(&term!({key, (key * 10)})).expect("inserts");
        if table.table_type().is_bag() {
            table
                .insert(&term!({key, (key * 10 + 1)}))
                .expect("inserts");
        }
    }
}

/// A transaction answers as a table of its own would, before and after changes; others see none of them before the
/// commit, and all of them afterwards.
#[test]
fn it_answers_as_a_table_of_its_own() {
    for options in all_types() {
        let (store, owner, table) = new(&options);
        let copy = owner.new_table("copy", &options).expect("a table");
        fill(&table);
        fill(&copy);
        let before = everything(&table);
        let tx = store.begin();
        let within = tx.table(&table).expect("a handle");
        assert_eq!(everything(&within), everything(&copy));
        for round in 0..2 {
            assert_eq!(change(&within), change(&copy), "{options:?}, round {round}");
            assert_eq!(everything(&within), everything(&copy), "{options:?}");
            assert_eq!(everything(&table), before);
        }
        tx.commit().expect("nobody was in the way");
        assert_eq!(everything(&table), everything(&copy));
        assert_eq!(table.len(), copy.len());
        assert!(matches!(
            within.lookup(&term!(1)),
            Err(Error::TransactionEnded)
        ));
        assert!(matches!(
            within.insert(&term!({ 1 })),
            Err(Error::TransactionEnded)
        ));
        store.collect();
        let (ours, theirs) = (
            table.memory_by_kind().objects,
            copy.memory_by_kind().objects,
        );
        assert_eq!(ours, theirs, "{options:?}");
    }
}

#[test]
fn one_that_is_not_committed_leaves_nothing() {
    for options in all_types() {
        let (store, _owner, table) = new(&options);
        fill(&table);
        store.collect();
        let (before, memory) = (everything(&table), table.memory());
        for end in [|tx: Transaction| tx.abort(), drop] {
            let tx = store.begin();
            change(&tx.table(&table).expect("a handle"));
            end(tx);
        }
        let failed: Result<()> = store.transaction(|tx| {
            change(&tx.table(&table)?);
            Err(Error::NoSuchKey)
        });
        assert_eq!(failed, Err(Error::NoSuchKey));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            store.transaction(|tx| -> Result<()> {
                change(&tx.table(&table)?);
                panic!("as users do")
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(everything(&table), before);
        store.collect();
        assert_eq!(table.memory(), memory);
    }
}

/// What another writes after the beginning is not seen; at the commit it is a conflict, if it was read.
#[test]
fn what_was_read_has_to_be_as_it_was() {
    type Read = fn(&Table);
    let reads: [(&str, Read); 9] = [
        ("lookup", |t| drop(t.lookup(&term!(3)))),
        ("an absent key", |t| drop(t.member(&term!(20)))),
        ("range", |t| {
            drop(t.range(term!(2)..term!(4), RangeOptions::new()))
        }),
        ("select", |t| drop(t.tab2list())),
        ("len", |t| assert!(!t.is_empty())),
        ("next", |t| drop(t.next(&term!(2)))),
        ("last", |t| drop(t.last())),
        ("update", |t| {
            drop(t.update_counter(&term!(3), &[CounterOp::add(1)]))
        }),
        ("delete of nothing", |t| drop(t.delete_key(&term!(20)))),
    ];
    type Write = fn(&Table);
    // A change, and which of the reads it is a conflict for, in an ordered_set.
    let writes: [(Write, &[&str]); 5] = [
        (
            |t| t.insert(&term!({3, "new"})).unwrap(),
            &["lookup", "range", "select", "len", "next", "update"],
        ),
        (
            |t| t.delete_key(&term!(3)).unwrap(),
            &["lookup", "range", "select", "len", "next", "update"],
        ),
        (
            |t| t.insert(&term!({20, 1})).unwrap(),
            &[
                "an absent key",
                "select",
                "len",
                "last",
                "delete of nothing",
            ],
        ),
        (
            |t| t.insert_list(&[term!({2.5, 1}), term!({30, 1})]).unwrap(),
            &["range", "select", "len", "next", "last"],
        ),
        (|t| t.delete_key(&term!(0)).unwrap(), &["select", "len"]),
    ];
    for (write, conflicts) in writes {
        for (name, read) in reads {
            let (store, _owner, table) = new(&Options::ordered_set());
            fill(&table);
            let tx = store.begin();
            let within = tx.table(&table).expect("a handle");
            let before = everything_of(&table);
            read(&within);
            write(&table);
            // Late reads are of the same moment.
            read(&within);
            within.insert(&term!({100, 1})).expect("inserts");
            let done = tx.commit();
            assert_eq!(
                done.is_err(),
                conflicts.contains(&name),
                "{name}: {done:?}, {before:?}"
            );
            assert_eq!(table.member(&term!(100)), Ok(done.is_ok()));
        }
    }
}

fn everything_of(table: &Table) -> Vec<Term> {
    table.tab2list().expect("a list")
}

/// One that has only read is placed where it has read, whatever came later.
#[test]
fn one_that_only_reads_meets_no_conflict() {
    let (store, _owner, table) = new(&Options::set());
    fill(&table);
    let tx = store.begin();
    let within = tx.table(&table).expect("a handle");
    assert_eq!(within.lookup(&term!(1)), Ok(vec![term!({1, 10})]));
    table.insert(&term!({1, "new"})).unwrap();
    table.delete_key(&term!(2)).unwrap();
    assert_eq!(within.lookup(&term!(2)), Ok(vec![term!({2, 20})]));
    assert_eq!(within.len(), 7);
    assert_eq!(tx.commit(), Ok(()));
}

#[test]
fn tables_that_come_in_later_are_of_the_same_moment() {
    let (store, owner, table) = new(&Options::set());
    let other = owner.new_table("other", &Options::ordered_set()).unwrap();
    fill(&table);
    // What was read is still so: it goes on.
    let tx = store.begin();
    let within = tx.table(&table).unwrap();
    assert!(within.member(&term!(1)).unwrap());
    table.insert(&term!({2, "new"})).unwrap();
    other.insert(&term!({1, 1})).unwrap();
    let second = tx.table(&other).unwrap();
    assert_eq!(second.len(), 1);
    assert_eq!(within.lookup(&term!(2)), Ok(vec![term!({2, "new"})]));
    second.insert(&term!({2, 2})).unwrap();
    assert_eq!(tx.commit(), Ok(()));
    assert_eq!(other.len(), 2);
    // It is not so any more.
    let tx = store.begin();
    let within = tx.table(&table).unwrap();
    assert!(within.member(&term!(1)).unwrap());
    table.insert(&term!({1, "new"})).unwrap();
    assert!(matches!(tx.table(&other), Err(Error::Conflict { .. })));
    assert!(tx.has_conflict());
    assert!(matches!(tx.commit(), Err(Error::Conflict { .. })));
    // The table in which something has changed is named, whichever came first, and by the name that it was made with.
    let tx = store.begin();
    tx.table(&table).unwrap().member(&term!(1)).unwrap();
    tx.table(&other).unwrap().member(&term!(1)).unwrap();
    other.insert(&term!({1, "new"})).unwrap();
    let third = owner.new_table("third", &Options::set()).unwrap();
    let named = format!(
        "another write to {} ({}) was faster",
        other.name(),
        other.reference()
    );
    assert_eq!(tx.table(&third).unwrap_err().to_string(), named);
    assert_eq!(tx.commit().unwrap_err().to_string(), named);
    // And then it is done again.
    let mut times = 0;
    let sum = store.transaction(|tx| {
        times += 1;
        let len = tx.table(&table)?.len();
        if times == 1 {
            table.insert(&term!({"one", "more"}))?;
        }
        Ok::<_, Error>(len + tx.table(&other)?.len())
    });
    assert_eq!((sum, times), (Ok(8 + 2), 2));
}

#[test]
fn a_table_that_is_emptied_or_deleted_is_a_conflict() {
    for options in all_types() {
        let (store, _owner, table) = new(&options);
        fill(&table);
        let tx = store.begin();
        tx.table(&table).unwrap().insert(&term!({50, 1})).unwrap();
        table.delete_all_objects().unwrap();
        assert!(matches!(tx.commit(), Err(Error::Conflict { .. })));
        assert!(table.is_empty());
        let tx = store.begin();
        let within = tx.table(&table).unwrap();
        within.insert(&term!({50, 1})).unwrap();
        table.delete().unwrap();
        assert!(matches!(
            within.lookup(&term!(50)),
            Err(Error::NoSuchTable(_))
        ));
        assert!(matches!(
            tx.commit(),
            Err(Error::NoSuchTable(_) | Error::Conflict { .. })
        ));
    }
}

#[test]
fn what_is_no_matter_of_objects_is_refused_by_name() {
    let (store, owner, table) = new(&Options::set());
    let tx = store.begin();
    let within = tx.table(&table).unwrap();
    let refused = |done: Result<()>, name| assert_eq!(done, Err(Error::InTransaction(name)));
    refused(within.delete_all_objects(), "delete_all_objects");
    refused(within.delete(), "delete");
    refused(
        within.rename(fyris::Atom::new("u").unwrap()).map(drop),
        "rename",
    );
    refused(within.setopts(&[]), "setopts");
    refused(within.give_away(owner.id(), term!(1)), "give_away");
    refused(within.snapshot().map(drop), "snapshot");
    refused(within.slot(0).map(drop), "slot");
    assert_eq!(within.safe_fixtable(true), Ok(()));
    let other = store.begin();
    assert!(matches!(other.table(&within), Err(Error::BadArgument(_))));
    assert!(matches!(
        tx.table(&table.snapshot().unwrap()),
        Err(Error::ReadOnly)
    ));
    let guest = table.for_caller(fyris::ProcessId(7));
    assert!(matches!(tx.table(&guest), Err(Error::BadArgument(_))));
    let theirs = other.table(&guest).unwrap();
    assert!(theirs.member(&term!(1)).is_ok());
    assert!(matches!(
        theirs.insert(&term!({1, 1})),
        Err(Error::NoAccess { .. })
    ));
    assert!(matches!(
        Store::new().begin().table(&table),
        Err(Error::BadArgument(_))
    ));
}

/// What a nested one has written is kept, or taken back, to any depth; and as a table of its own would have it.
#[test]
fn nested_ones_are_kept_or_taken_back() {
    for options in all_types() {
        let (store, owner, table) = new(&options);
        fill(&table);
        let copy = owner.new_table("copy", &options).unwrap();
        fill(&copy);
        let tx = store.begin();
        let within = tx.table(&table).unwrap();
        let more = |table: &Table, n: i64| {
            table.insert(&term!({1, (n * 1000)})).unwrap();
            table.delete_key(&term!(n)).unwrap();
            table.delete_object(&term!({4, 41})).unwrap();
            table.insert(&term!({(100 + n), n})).unwrap();
        };
        more(&within, 2);
        more(&copy, 2);
        let expected = everything(&copy);
        let undone: Result<()> = tx.nested(|tx| {
            change(&within);
            let kept: Result<()> = tx.nested(|_| {
                more(&within, 3);
                Ok(())
            });
            kept?;
            Err(Error::NoSuchKey)
        });
        assert_eq!(undone, Err(Error::NoSuchKey));
        assert_eq!(everything(&within), expected, "{options:?}");
        tx.nested(|tx| {
            more(&within, 5);
            let undone: Result<()> = tx.nested(|_| {
                change(&within);
                Err(Error::NoSuchKey)
            });
            assert!(undone.is_err());
            Ok::<_, Error>(())
        })
        .unwrap();
        more(&copy, 5);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            tx.nested(|_| -> Result<()> {
                more(&within, 6);
                panic!("as users do")
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(everything(&within), everything(&copy), "{options:?}");
        tx.commit().unwrap();
        assert_eq!(everything(&table), everything(&copy), "{options:?}");
        store.collect();
        let objects = |table: &Table| table.memory_by_kind().objects;
        assert_eq!(objects(&table), objects(&copy));
    }
}
