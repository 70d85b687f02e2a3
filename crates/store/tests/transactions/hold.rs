//! Transactions that go first, after others were faster too often: `TransactionOptions::hold`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use fyris::{
    BatchOp, CounterOp, Error, MatchSpec, Options, Protection, SecondaryIndex, Setting, Store,
    Table, TableType, Transaction, TransactionOptions, term,
};

use crate::random::TYPES;

/// Longer than any write takes that waits for nobody.
const LONG: Duration = Duration::from_millis(10);

fn patient() -> TransactionOptions {
    TransactionOptions::new().hold(Duration::from_secs(20))
}

/// Begins a transaction that others have been faster than eight times.
fn first(store: &Store, options: &TransactionOptions) -> Transaction {
    let owner = store.owner();
    let table = owner.new_table("lost", &Options::set()).expect("new");
    let mut transaction = store.begin_with(options);
    for _ in 0..8 {
        let next = transaction.again();
        assert!(!transaction.goes_first());
        let within = transaction.table(&table).expect("live");
        within
            .update_counter_or(&term!(1), &[CounterOp::add(1)], &term!({1, 0}))
            .expect("counted");
        table.insert(&term!({1, 0, "faster"})).expect("insert");
        assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })));
        table.delete_all_objects().expect("emptied");
        transaction = next;
    }
    transaction
}

fn table(store: &Store, kind: TableType) -> (fyris::Owner, Table) {
    let owner = store.owner();
    let options = Options::new(kind);
    let options = options.secondary(SecondaryIndex::element("second", 2));
    let table = owner.new_table("t", &options).expect("new");
    let all = (0..100).map(|key| term!({key, 0}));
    table.insert_list(&all.collect::<Vec<_>>()).expect("insert");
    (owner, table)
}

/// Returns whether a thread ends within a time in which it would if it waited for nobody.
fn ends<R>(thread: &ScopedJoinHandle<'_, R>) -> bool {
    let until = Instant::now() + LONG;
    while Instant::now() < until && !thread.is_finished() {
        thread::sleep(Duration::from_millis(1));
    }
    thread.is_finished()
}

type Read = (&'static str, fn(&Table));
type Write = fn(&Store, &Table, i64) -> fyris::Result<()>;

fn spec(of: fyris::Term) -> MatchSpec {
    MatchSpec::new(&of).expect("right")
}

/// All that changes a key that is there.
fn writes(kind: TableType) -> Vec<(&'static str, Write)> {
    let mut all: Vec<(&'static str, Write)> = vec![
        ("insert", |_, t, key| t.insert(&term!({key, 1}))),
        ("insert_list", |_, t, key| {
            t.insert_list(&[term!({key, 1}), term!({(key + 1000), 1})])
        }),
        ("delete", |_, t, key| t.delete_key(&term!((key)))),
        ("delete_object", |_, t, key| {
            t.delete_object(&term!({key, 0}))
        }),
        ("take", |_, t, key| t.take(&term!((key))).map(drop)),
        ("select_delete", |_, t, key| {
            let of = spec(term!([{{key, :"_"}, [], [true]}]));
            t.select_delete(&of).map(drop)
        }),
        ("transaction", |store, t, key| {
            store.transaction(|tx| tx.table(t)?.insert(&term!({key, 1})))
        }),
        ("write_batch", |store, t, key| {
            let (one, other) = ([term!({key, 1})], [term!({(key + 1000), 1})]);
            let two = [BatchOp::Insert(t, &one), BatchOp::Insert(t, &other)];
            store.write_batch(&two).map(drop)
        }),
    ];
    if matches!(kind, TableType::Set | TableType::OrderedSet) {
        all.extend::<[(&'static str, Write); 5]>([
            ("update_counter", |_, t, key| {
                t.update_counter(&term!((key)), &[CounterOp::add(1)])
                    .map(drop)
            }),
            ("update_element", |_, t, key| {
                t.update_element(&term!((key)), &[(2, term!(7))]).map(drop)
            }),
            ("compare_and_swap", |_, t, key| {
                t.compare_and_swap(&term!({key, 0}), &term!({key, 1}))
                    .map(drop)
            }),
            ("upsert", |_, t, key| {
                t.upsert(&term!((key)), |_| None).map(drop)
            }),
            ("select_replace", |_, t, key| {
                let of = spec(term!([{{key, :"_"}, [], [{{key, 3}}]}]));
                t.select_replace(&of).map(drop)
            }),
        ]);
    }
    all
}

/// What the transaction has read, in each way, is written when it has ended; what it has not, at once.
#[test]
fn writers_wait_for_what_was_read() {
    let reads: [Read; 4] = [
        ("a key", |t| drop(t.lookup(&term!(5)).expect("read"))),
        ("a key that it writes", |t| {
            t.insert(&term!({5, 9})).expect("written")
        }),
        ("a value", |t| {
            drop(t.lookup_by("second", &term!(0)).expect("read"))
        }),
        ("all", |t| drop(t.tab2list().expect("read"))),
    ];
    for kind in TYPES {
        for (of, read) in reads {
            for (name, write) in writes(kind) {
                let store = Store::new();
                let (_owner, table) = table(&store, kind);
                table.insert(&term!({50, 5})).expect("insert");
                let transaction = first(&store, &patient());
                let within = transaction.table(&table).expect("live");
                read(&within);
                let seen = within.lookup(&term!(5)).expect("read");
                let also = of == "a key" && name == "insert";
                thread::scope(|scope| {
                    let (store, table) = (&store, &table);
                    if also {
                        let other = scope.spawn(move || write(store, table, 6));
                        assert!(ends(&other), "{kind:?}: {name} of another key");
                    }
                    let waits = scope.spawn(move || write(store, table, 5));
                    assert!(!ends(&waits), "{kind:?}: {name} of {of}");
                    assert_eq!(within.lookup(&term!(5)), Ok(seen));
                    within.insert(&term!({-1, 1})).expect("written");
                    assert_eq!(transaction.commit(), Ok(()), "{kind:?}: {name} of {of}");
                    assert_eq!(waits.join().expect("no panic"), Ok(()));
                });
                assert!(table.member(&-1).expect("live"));
            }
        }
    }
}

/// What would come into a range or get a value that was read waits as well.
#[test]
fn nothing_comes_into_what_was_read() {
    for kind in TYPES {
        let store = Store::new();
        let (_owner, table) = table(&store, kind);
        let transaction = first(&store, &patient());
        let within = transaction.table(&table).expect("live");
        assert_eq!(within.lookup_by("second", &term!("ready")), Ok(vec![]));
        for key in 500..503 {
            assert!(!within.member(&key).expect("live"));
        }
        thread::scope(|scope| {
            let table = &table;
            let other = scope.spawn(|| table.insert(&term!({200, "done"})));
            assert!(ends(&other));
            // In a bag an object that comes with the value does not wait; that is a conflict.
            let is_bag = table.table_type().is_bag();
            let value = if is_bag { "soon" } else { "ready" };
            let new =
                scope.spawn(move || table.insert(&term!({(200 + 302 * is_bag as i64), value})));
            let key = scope.spawn(|| table.insert_new(&term!({500, "done"})));
            let list = [term!({300, value}), term!({501, "done"})];
            let list = scope.spawn(move || table.insert_list(&list));
            assert!(!ends(&new) && !key.is_finished() && !list.is_finished());
            within.insert(&term!({-1, 1})).expect("written");
            assert_eq!(transaction.commit(), Ok(()));
            assert_eq!(new.join().expect("no panic"), Ok(()));
            assert_eq!(list.join().expect("no panic"), Ok(()));
            assert_eq!(key.join().expect("no panic"), Ok(true));
        });
        let ready = table.lookup_by("second", &term!("ready")).expect("known");
        assert_eq!(
            ready.len(),
            if kind == TableType::Set || kind == TableType::OrderedSet {
                2
            } else {
                0
            }
        );
    }
}

/// Of a table that counts on it, all that is read is of one moment, and short writers let it end.
#[test]
fn long_transactions_end_beside_short_writers() {
    const KEYS: i64 = 500;
    let reads: [fn(&Table) -> i64; 3] = [
        |t| {
            let second = |key: i64| t.lookup(&term!((key))).expect("live");
            (0..KEYS)
                .flat_map(second)
                .map(|object| value(&object))
                .sum()
        },
        |t| {
            let all = t.tab2list().expect("live");
            all.iter().map(value).sum()
        },
        |t| {
            let all = t.lookup_by("sign", &term!(true)).expect("live");
            let rest = t.lookup_by("sign", &term!(false)).expect("live");
            let both = all.iter().chain(&rest);
            both.map(value).sum()
        },
    ];
    for kind in [TableType::Set, TableType::OrderedSet] {
        let store = Store::new();
        let owner = store.owner();
        let sign = term!({:body, [{:">=", {:element, 2, :"$_"}, 0}]});
        let sign = SecondaryIndex::new("sign", sign);
        let options = Options::new(kind).secondary(sign);
        let table = owner.new_table("t", &options).expect("new");
        let all: Vec<_> = (0..KEYS).map(|key| term!({key, 0})).collect();
        table.insert_list(&all).expect("insert");
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for n in 0..2 {
                let (store, table, done) = (&store, &table, &done);
                scope.spawn(move || move_about(store, table, n, KEYS, done));
            }
            for (round, read) in reads.iter().cycle().take(30).enumerate() {
                let mut attempts = 0;
                let sum = store.transaction(|tx| {
                    attempts += 1;
                    let table = tx.table(&table)?;
                    let sum = read(&table);
                    // It is written, so what was read is to be the same at the end.
                    table.insert(&term!({-1, 0}))?;
                    Ok::<_, Error>(sum)
                });
                assert_eq!(sum, Ok(0), "{kind:?}, round {round}");
                assert!(attempts < 100, "{kind:?}, round {round}: {attempts}");
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}

fn value(object: &fyris::Term) -> i64 {
    match object.as_tuple() {
        Some([_, fyris::Term::Int(n)]) => *n,
        _ => panic!("no pair of integers: {object}"),
    }
}

/// Moves units from key to key until `done`, by lists, batches and transactions.
fn move_about(store: &Store, table: &Table, seed: i64, keys: i64, done: &AtomicBool) {
    let mut n = seed;
    while !done.load(Ordering::Relaxed) {
        n += 2;
        let (one, other) = (n * 7 % keys, (n * 13 + 1) % keys);
        if one == other {
            continue;
        }
        let (one, other) = (term!((one)), term!((other)));
        let (more, less) = ([CounterOp::add(1)], [CounterOp::add(-1)]);
        let ops = [
            BatchOp::UpdateCounter(table, &one, &more, None),
            BatchOp::UpdateCounter(table, &other, &less, None),
        ];
        store.write_batch(&ops).expect("moved");
    }
}

/// It reads what is there when it begins to hold it, and not what was there when its table came in.
#[test]
fn what_has_come_before_is_read() {
    for kind in TYPES {
        let store = Store::new();
        let (_owner, table) = table(&store, kind);
        let transaction = first(&store, &patient());
        let within = transaction.table(&table).expect("live");
        thread::scope(|scope| {
            let write = |object: fyris::Term| {
                let table = &table;
                let done = scope.spawn(move || table.insert(&object));
                done.join().map(|done| done.expect("at once"))
            };
            write(term!({200, "before"})).expect("no panic");
            assert_eq!(within.lookup(&term!(200)), Ok(vec![term!({200, "before"})]));
            write(term!({201, "by value"})).expect("no panic");
            let by_value = within.lookup_by("second", &term!("by value"));
            assert_eq!(by_value, Ok(vec![term!({201, "by value"})]));
            write(term!({202, "of all"})).expect("no panic");
            assert_eq!(within.tab2list().expect("live").len(), 103);
        });
        within.insert(&term!({-1, 1})).expect("written");
        assert_eq!(transaction.commit(), Ok(()), "{kind:?}");
    }
}

/// It does not keep others for longer than was said, and is told if that was not enough.
#[test]
fn a_hold_has_an_end() {
    let short = TransactionOptions::new().hold(Duration::from_millis(50));
    for kind in TYPES {
        let store = Store::new();
        let (_owner, table) = table(&store, kind);
        let transaction = first(&store, &short);
        let within = transaction.table(&table).expect("live");
        let begun = Instant::now();
        within.lookup(&term!(5)).expect("read");
        thread::scope(|scope| {
            let waits = scope.spawn(|| table.insert(&term!({5, 1})));
            assert_eq!(waits.join().expect("no panic"), Ok(()));
            assert!(begun.elapsed() < Duration::from_secs(10));
        });
        let expired = Err(Error::HoldExpired(Duration::from_millis(50)));
        assert_eq!(within.lookup(&term!(6)).map(drop), expired);
        assert_eq!(within.insert(&term!({-1, 1})), expired);
        assert!(!transaction.has_conflict());
        assert_eq!(transaction.commit(), expired, "{kind:?}");
        assert!(!table.member(&-1).expect("live"));
    }
}

/// Who was not done in time is committed all the same if nobody was faster.
#[test]
fn a_late_transaction_is_committed_if_nothing_has_changed() {
    let store = Store::new();
    let (_owner, table) = table(&store, TableType::Set);
    let short = TransactionOptions::new().hold(Duration::from_millis(50));
    let transaction = first(&store, &short);
    let within = transaction.table(&table).expect("live");
    within.insert(&term!({5, 1})).expect("written");
    thread::sleep(Duration::from_millis(60));
    assert_eq!(transaction.commit(), Ok(()));
    assert_eq!(table.lookup(&term!(5)), Ok(vec![term!({5, 1})]));
}

/// A write by another handle on its own thread does not wait for it, and comes before it.
#[test]
fn it_does_not_wait_for_itself() {
    let store = Store::new();
    let (_owner, table) = table(&store, TableType::Set);
    let transaction = first(&store, &patient());
    let within = transaction.table(&table).expect("live");
    within.lookup(&term!(5)).expect("read");
    table.insert(&term!({5, 1})).expect("at once");
    within.insert(&term!({-1, 1})).ok();
    assert!(transaction.has_conflict());
    assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })));
}

/// Changes of the table as a whole do not wait for it; it is tried again.
#[test]
fn it_gives_way_to_changes_of_the_table() {
    let changes: [fn(&Table); 5] = [
        |t| t.delete_all_objects().expect("emptied"),
        |t| {
            t.setopts(&[Setting::Protection(Protection::Protected)])
                .expect("set")
        },
        |t| t.delete().expect("deleted"),
        |t| {
            let third = SecondaryIndex::element("third", 3);
            t.add_secondary(&third).expect("added");
        },
        |t| {
            t.snapshot().expect("live");
        },
    ];
    for (at, change) in changes.iter().enumerate() {
        let store = Store::new();
        let (_owner, table) = table(&store, TableType::Set);
        let transaction = first(&store, &patient());
        let within = transaction.table(&table).expect("live");
        within.lookup(&term!(5)).expect("read");
        thread::scope(|scope| {
            let table = &table;
            let waits = scope.spawn(|| table.insert(&term!({5, 1})));
            assert!(!ends(&waits));
            let changed = scope.spawn(|| change(table));
            changed.join().expect("no panic");
            if at < 4 {
                drop(waits.join().expect("no panic"));
                within.insert(&term!({-1, 1})).ok();
                assert!(transaction.commit().is_err(), "change {at}");
            } else {
                drop(transaction);
                drop(waits.join().expect("no panic"));
            }
        });
    }
}

/// One transaction of a store goes first; others wait at what it holds, or do not hold.
#[test]
fn one_goes_first() {
    let store = Store::new();
    let (_owner, table) = table(&store, TableType::OrderedSet);
    let (one, other) = (first(&store, &patient()), first(&store, &patient()));
    let (of_one, of_other) = (
        one.table(&table).expect("live"),
        other.table(&table).expect("live"),
    );
    of_one.lookup(&term!(5)).expect("read");
    of_other.lookup(&term!(6)).expect("read");
    thread::scope(|scope| {
        let held = scope.spawn(|| table.insert(&term!({5, 1})));
        assert!(!ends(&held));
        let free = scope.spawn(|| table.insert(&term!({6, 1})));
        assert!(ends(&free));
        of_one.insert(&term!({1, 1})).expect("written");
        assert_eq!(one.commit(), Ok(()));
        held.join().expect("no panic").expect("written");
        of_other.insert(&term!({2, 1})).expect("written");
        assert!(matches!(other.commit(), Err(Error::Conflict { .. })));
    });
}

/// A transaction holds all of its tables, or none: it does not begin with the second one.
#[test]
fn all_tables_are_held_or_none() {
    let store = Store::new();
    let (_owner, table) = table(&store, TableType::Set);
    let owner = store.owner();
    let second = owner.new_table("second", &Options::set()).expect("new");
    let (one, other) = (first(&store, &patient()), first(&store, &patient()));
    one.table(&table).expect("live");
    other.table(&table).expect("live");
    assert!(one.goes_first());
    drop(one);
    other.table(&second).expect("live");
    assert!(!other.goes_first());
    let next = other.again();
    next.table(&second).expect("live");
    next.table(&table).expect("live");
    assert!(next.goes_first());
    // One that has written nothing is looked at, too: what was there is to be there at one moment.
    assert_eq!(next.commit(), Ok(()));
}

/// A commit whose own hold is over waits at what the next transaction holds.
#[test]
fn a_late_commit_waits_for_the_next_hold() {
    let store = Store::new();
    let (_owner, table) = table(&store, TableType::Set);
    let short = TransactionOptions::new().hold(Duration::from_millis(50));
    let late = first(&store, &short);
    let of_late = late.table(&table).expect("live");
    of_late.insert(&term!({5, 1})).expect("written");
    thread::sleep(Duration::from_millis(60));
    let next = first(&store, &patient());
    let of_next = next.table(&table).expect("live");
    assert_eq!(of_next.lookup(&term!(5)), Ok(vec![term!({5, 0})]));
    thread::scope(|scope| {
        let waits = scope.spawn(|| late.commit());
        assert!(!ends(&waits));
        of_next.insert(&term!({5, 2})).expect("written");
        assert_eq!(next.commit(), Ok(()));
        let expired = Err(Error::HoldExpired(Duration::from_millis(50)));
        assert_eq!(waits.join().expect("no panic"), expired);
    });
    assert_eq!(table.lookup(&term!(5)), Ok(vec![term!({5, 2})]));
}

/// One that has written nothing, and whose hold is over, is told if what it has read has changed: it has no one moment.
#[test]
fn who_only_reads_is_looked_at_too() {
    let store = Store::new();
    let (_owner, table) = table(&store, TableType::OrderedSet);
    let short = TransactionOptions::new().hold(Duration::from_millis(50));
    for changes in [false, true] {
        let transaction = first(&store, &short);
        let within = transaction.table(&table).expect("live");
        within.lookup(&term!(5)).ok();
        thread::sleep(Duration::from_millis(60));
        if changes {
            table.insert(&term!({5, 1})).expect("insert");
        }
        let expected = match changes {
            true => Err(Error::HoldExpired(Duration::from_millis(50))),
            false => Ok(()),
        };
        assert_eq!(transaction.commit(), expected);
    }
}

/// No hold is too long to be begun.
#[test]
fn a_hold_may_be_endless() {
    let store = Store::new();
    let (_owner, table) = table(&store, TableType::Set);
    let endless = first(&store, &TransactionOptions::new().hold(Duration::MAX));
    endless.table(&table).expect("live");
    assert!(endless.goes_first() && store.has_first_transaction());
    drop(endless);
    assert!(!store.has_first_transaction());
}

/// Who fails, or is dropped, holds nothing any more.
#[test]
fn a_hold_ends_with_its_transaction() {
    let store = Store::new();
    let (_owner, table) = table(&store, TableType::Set);
    for panics in [false, true] {
        let transaction = first(&store, &patient());
        let within = transaction.table(&table).expect("live");
        within.lookup(&term!(5)).expect("read");
        thread::scope(|scope| {
            let waits = scope.spawn(|| table.insert(&term!({5, 1})));
            assert!(!ends(&waits));
            let run = move || {
                let _transaction = transaction;
                assert!(!panics, "as asked");
            };
            let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            assert_eq!(run.is_err(), panics);
            waits.join().expect("no panic").expect("written");
        });
    }
}

/// Who waits for a transaction that goes first has nothing that this waits for: values of unique indexes, cells of a
/// commit of smaller keys.
#[test]
fn who_waits_keeps_nothing_from_it() {
    for round in 0..200 {
        let store = Store::new();
        let owner = store.owner();
        let options = Options::set().secondary(SecondaryIndex::element("second", 2).unique());
        let table = owner.new_table("t", &options).expect("new");
        table
            .insert_list(&[term!({1, 1}), term!({9, 9})])
            .expect("insert");
        let transaction = first(&store, &patient());
        let within = transaction.table(&table).expect("live");
        within.lookup(&term!(9)).expect("read");
        thread::scope(|scope| {
            let (store, table) = (&store, &table);
            let one = scope.spawn(|| table.insert(&term!({9, 100})));
            let list = [term!({2, 200}), term!({9, 300})];
            let list = scope.spawn(move || table.insert_list(&list));
            let other = scope.spawn(move || {
                store.transaction(|tx| {
                    let table = tx.table(table)?;
                    table.insert(&term!({3, 400}))?;
                    table.insert(&term!({9, 500}))
                })
            });
            thread::sleep(Duration::from_micros(round * 10));
            let begun = Instant::now();
            for object in [
                term!({2, 100}),
                term!({3, 300}),
                term!({4, 500}),
                term!({1, 400}),
            ] {
                within.insert(&object).expect("written");
            }
            assert_eq!(transaction.commit(), Ok(()), "round {round}");
            assert!(begun.elapsed() < Duration::from_secs(10), "round {round}");
            let is_right = |result: fyris::Result<()>| match result {
                Ok(()) | Err(Error::NotUnique { .. }) => {}
                Err(error) => panic!("{error}"),
            };
            is_right(one.join().expect("no panic"));
            is_right(list.join().expect("no panic"));
            is_right(other.join().expect("no panic"));
        });
    }
}
