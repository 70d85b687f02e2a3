//! Batches: what each operation and each check does, what is refused, and that all of it happens or nothing.

use std::slice::from_ref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;

use fyris::{
    BatchCheck, BatchOp, BatchReply, CounterOp, Error, Options, Owner, ProcessId, Protection,
    Result, Store, Table, Term, term,
};

use BatchCheck::{Absent, Objects, Unchanged};
use BatchOp::{Check, Delete, DeleteObject, Insert, InsertNew, UpdateCounter, UpdateElement};
use BatchReply::{Counted, Done, Whether};

fn all_types() -> [Options; 4] {
    [
        Options::set(),
        Options::ordered_set(),
        Options::bag(),
        Options::duplicate_bag(),
    ]
}

/// Two tables of one type with `{1, 10}`, `{2, 20}` and `{3, 30}` in each.
fn two(options: &Options) -> (Store, Owner, Table, Table) {
    let store = Store::new();
    let owner = store.owner();
    let new = || {
        let table = owner.new_table("t", options).expect("a table");
        let objects = [term!({1, 10}), term!({2, 20}), term!({3, 30})];
        table.insert_list(&objects).expect("a table of ours");
        table
    };
    let (a, b) = (new(), new());
    (store, owner, a, b)
}

fn content(table: &Table) -> Vec<Term> {
    let mut all = table.tab2list().expect("a table of ours");
    all.sort_by(Term::cmp_exact);
    all
}

fn value_of(pair: &Term) -> i64 {
    let Term::Tuple(pair) = pair else {
        panic!("{pair:?}")
    };
    pair[1].as_int().expect("an integer")
}

#[test]
fn each_write_answers_as_the_call_of_its_name() {
    let (k1, k2, k9) = (term!(1), term!(2), term!(9));
    let (new, old, gone) = (
        [term!({9, 90}), term!({1, 11})],
        [term!({8, 80}), term!({3, 31})],
        term!({3, 30}),
    );
    let (k5, fresh, edits) = (term!(5), term!({0, 0}), [(2, term!("nine"))]);
    let (add, more) = ([CounterOp::add(4)], [CounterOp::add(1), CounterOp::add(2)]);
    for options in all_types() {
        let (store, _owner, a, b) = two(&options);
        let mut batch = vec![
            Insert(&a, &new),
            InsertNew(&a, &old),
            InsertNew(&b, from_ref(&old[0])),
            Delete(&a, &k2),
            DeleteObject(&a, &gone),
        ];
        let mut expected = vec![Done, Whether(false), Whether(true), Done, Done];
        if a.table_type().is_bag() {
            assert_eq!(store.write_batch(&batch), Ok(expected));
            assert_eq!(
                content(&a),
                [term!({1, 10}), term!({1, 11}), term!({9, 90})]
            );
        } else {
            batch.extend([
                UpdateCounter(&a, &k1, &add, None),
                UpdateElement(&a, &k9, &edits, None),
                UpdateElement(&b, &k5, &edits, None),
                UpdateElement(&b, &k5, &edits, Some(&fresh)),
                UpdateCounter(&b, &k9, &more, Some(&fresh)),
            ]);
            expected.extend([
                Counted(vec![term!(15)]),
                Whether(true),
                Whether(false),
                Whether(true),
                Counted(vec![term!(1), term!(3)]),
            ]);
            assert_eq!(store.write_batch(&batch), Ok(expected));
            assert_eq!(content(&a), [term!({1, 15}), term!({9, "nine"})]);
            let all = [term!({5, "nine"}), term!({8, 80}), term!({9, 3})];
            assert_eq!(content(&b)[3..], all);
        }
        assert!(b.member(&8).expect("a table of ours"));
    }
}

#[test]
fn one_write_alone_answers_alike() {
    let (key, objects, fresh) = (term!(1), [term!({4, 1}), term!({5, 1})], term!({0, 0}));
    for options in all_types() {
        let (store, _owner, a, _) = two(&options);
        let one = |op: BatchOp<'_>| {
            store
                .write_batch(&[op])
                .map(|mut replies| replies.remove(0))
        };
        assert_eq!(one(Insert(&a, from_ref(&objects[0]))), Ok(Done));
        assert_eq!(one(Insert(&a, &[])), Ok(Done));
        assert_eq!(one(Insert(&a, &objects)), Ok(Done));
        assert_eq!(one(InsertNew(&a, &objects)), Ok(Whether(false)));
        assert_eq!(
            one(InsertNew(&a, &[term!({6, 1}), term!({7, 1})])),
            Ok(Whether(true))
        );
        assert_eq!(
            one(InsertNew(&a, from_ref(&objects[0]))),
            Ok(Whether(false))
        );
        assert_eq!(one(Delete(&a, &term!(6))), Ok(Done));
        assert_eq!(one(DeleteObject(&a, &term!({7, 1}))), Ok(Done));
        if !a.table_type().is_bag() {
            let add = [CounterOp::add(1)];
            assert_eq!(
                one(UpdateCounter(&a, &key, &add, None)),
                Ok(Counted(vec![term!(11)]))
            );
            let eight = term!(8);
            let counted = one(UpdateCounter(&a, &eight, &add, Some(&fresh)));
            assert_eq!(counted, Ok(Counted(vec![term!(1)])));
            assert_eq!(
                one(UpdateElement(&a, &key, &[(2, term!(10))], None)),
                Ok(Whether(true))
            );
        }
        assert_eq!(one(Check(&a, &key, Objects(&[term!({1, 10})]))), Ok(Done));
        assert_eq!(store.write_batch(&[]), Ok(vec![]));
        assert_eq!(
            store.try_write_batch(&[Delete(&a, &key)]),
            Ok(Some(vec![Done]))
        );
        assert!(!a.member(&1).expect("a table of ours"));
    }
}

#[test]
fn inserts_into_one_table_are_in_order() {
    for options in all_types() {
        let (store, _owner, a, _) = two(&options);
        let objects = [term!({4, 1}), term!({4, 2}), term!({4, 1})];
        let batch = [Insert(&a, &objects[..1]), Insert(&a, &objects[1..])];
        assert_eq!(store.write_batch(&batch), Ok(vec![Done; 2]));
        let kept = match a.table_type() {
            fyris::TableType::Bag => &objects[..2],
            fyris::TableType::DuplicateBag => &objects[..],
            _ => &objects[2..],
        };
        assert_eq!(a.lookup(&term!(4)).as_deref(), Ok(kept));
    }
}

/// Checks a key of a table that holds this.
fn holds(options: &Options, held: &[Term], expected: &[Term]) -> bool {
    let store = Store::new();
    let owner = store.owner();
    let table = owner.new_table("t", options).expect("a table");
    table.insert_list(held).expect("a table of ours");
    let (key, new) = (term!(1), [term!({2, 2})]);
    let batch = [Check(&table, &key, Objects(expected)), Insert(&table, &new)];
    let done = store.write_batch(&batch);
    match done {
        Ok(replies) => assert_eq!(replies, [Done, Done]),
        Err(error) => assert_eq!(error, Error::CheckFailed { at: 0 }),
    }
    let is_done = table.member(&2).expect("a table of ours");
    if expected.is_empty() {
        let absent = store.write_batch(&[Check(&table, &key, Absent)]);
        assert_eq!(absent.is_ok(), is_done);
    }
    is_done
}

#[test]
fn checks_ask_for_exactly_these_objects() {
    let one = |value: i64| term!({1, value});
    for options in all_types() {
        assert!(holds(&options, &[], &[]));
        assert!(!holds(&options, &[], &[one(1)]));
        assert!(!holds(&options, &[one(1)], &[]));
        assert!(holds(&options, &[one(1)], &[one(1)]));
        assert!(!holds(&options, &[one(1)], &[one(2)]));
        assert!(!holds(&options, &[term!({1, 1.0})], &[one(1)]));
        assert!(!holds(&options, &[one(1)], &[term!({2, 1})]));
        assert!(!holds(&options, &[one(1)], &[term!({1, 1, 1})]));
        let text = [term!({1, "a text that is no small object", [1, 2]})];
        assert!(holds(&options, &text, &text));
    }
    // An `ordered_set` finds `1.0` by 1, but that is another object.
    assert!(!holds(
        &Options::ordered_set(),
        &[term!({1.0, 1})],
        &[one(1)]
    ));
    for options in [Options::bag(), Options::duplicate_bag()] {
        let many: Vec<Term> = (0..200).map(one).collect();
        let turned: Vec<Term> = many.iter().rev().cloned().collect();
        assert!(holds(&options, &many, &turned));
        assert!(!holds(&options, &many, &turned[1..]));
        assert!(!holds(&options, &many[1..], &turned));
        assert!(!holds(&options, &[one(1), one(2)], &[one(1), one(1)]));
    }
    let twice = [one(1), one(2), one(1)];
    assert!(holds(
        &Options::duplicate_bag(),
        &twice,
        &[one(1), one(1), one(2)]
    ));
    assert!(!holds(
        &Options::duplicate_bag(),
        &twice,
        &[one(2), one(1), one(2)]
    ));
}

#[test]
fn a_key_is_unchanged_since_a_snapshot_if_it_holds_the_same_again() -> Result<()> {
    for options in all_types() {
        let (store, _owner, a, b) = two(&options);
        let (key, other) = (term!(1), [term!({4, 4})]);
        let then = a.snapshot()?;
        let unchanged = [Check(&a, &key, Unchanged(&then)), Insert(&b, &other)];
        a.insert(&term!({2, "changed"}))?;
        assert_eq!(store.write_batch(&unchanged), Ok(vec![Done, Done]));
        a.insert(&term!({1, "changed"}))?;
        assert_eq!(
            store.write_batch(&unchanged),
            Err(Error::CheckFailed { at: 0 })
        );
        a.delete_key(&1)?;
        assert_eq!(
            store.write_batch(&unchanged),
            Err(Error::CheckFailed { at: 0 })
        );
        a.insert(&term!({1, 10}))?;
        assert_eq!(store.write_batch(&unchanged), Ok(vec![Done, Done]));
        // A key that was not there.
        let nine = term!(9);
        let absent = [Check(&a, &nine, Unchanged(&then))];
        assert_eq!(store.write_batch(&absent), Ok(vec![Done]));
        a.insert(&term!({9, 9}))?;
        assert_eq!(
            store.write_batch(&absent),
            Err(Error::CheckFailed { at: 0 })
        );
        then.release();
        let released = store
            .write_batch(&absent)
            .expect_err("a snapshot that was released");
        assert_eq!(told(released), Error::Released);
    }
    Ok(())
}

#[test]
fn checks_see_what_was_there_before_the_batch() -> Result<()> {
    for options in all_types() {
        let (store, _owner, a, b) = two(&options);
        let (k1, k4) = (term!(1), term!(4));
        let (was, new) = ([term!({1, 10})], [term!({1, 11}), term!({4, 40})]);
        let replies = store.write_batch(&[
            Insert(&a, &new),
            Delete(&b, &k1),
            Check(&a, &k1, Objects(&was)),
            Check(&a, &k4, Absent),
            Check(&b, &k1, Objects(&was)),
        ]);
        assert_eq!(replies, Ok(vec![Done; 5]));
        assert!(a.member(&4)? && !b.member(&1)?);
    }
    Ok(())
}

#[test]
fn operations_on_one_key_are_in_order() -> Result<()> {
    for options in [Options::set(), Options::ordered_set()] {
        let (store, _owner, a, _) = two(&options);
        let (key, object, fresh) = (term!(1), [term!({1, 5})], term!({1, 100}));
        let add = [CounterOp::add(1)];
        let replies = store.write_batch(&[
            UpdateCounter(&a, &key, &add, None),
            Delete(&a, &key),
            InsertNew(&a, &object),
            UpdateCounter(&a, &key, &add, None),
            InsertNew(&a, &object),
            DeleteObject(&a, &object[0]),
            DeleteObject(&a, &term!({1, 6})),
            UpdateCounter(&a, &key, &add, Some(&fresh)),
        ])?;
        let counted = |n: i64| Counted(vec![Term::Int(n)]);
        let expected = [
            counted(11),
            Done,
            Whether(true),
            counted(6),
            Whether(false),
            Done,
            Done,
            counted(101),
        ];
        assert_eq!(replies, expected);
        assert_eq!(a.lookup(&key)?, [term!({1, 101})]);
    }
    Ok(())
}

#[test]
fn a_check_that_fails_lets_nothing_happen_wherever_it_stands() {
    for options in all_types() {
        let (store, _owner, a, b) = two(&options);
        let before = (content(&a), content(&b));
        let (k1, k2, k3, new) = (
            term!(1),
            term!(2),
            term!(3),
            [term!({1, 11}), term!({7, 7})],
        );
        let (ten, wrong) = ([term!({1, 10})], [term!({2, 21})]);
        let rest = [
            Insert(&a, &new),
            Delete(&b, &k3),
            Check(&a, &k1, Objects(&ten)),
            InsertNew(&b, &new[1..]),
        ];
        for at in 0..=rest.len() {
            for wrong in [Objects(&wrong), Absent] {
                let mut batch = rest.to_vec();
                batch.insert(at, Check(&b, &k2, wrong));
                assert_eq!(store.write_batch(&batch), Err(Error::CheckFailed { at }));
                assert_eq!((content(&a), content(&b)), before);
            }
        }
        // The first that fails is named.
        let both = [rest[0], Check(&a, &k1, Absent), Check(&b, &k2, Absent)];
        assert_eq!(store.write_batch(&both), Err(Error::CheckFailed { at: 1 }));
        assert_eq!(
            store.try_write_batch(&both),
            Err(Error::CheckFailed { at: 1 })
        );
    }
}

/// Returns what an operation was refused with.
fn told(error: Error) -> Error {
    match error {
        Error::InBatch { why, .. } => *why,
        error => error,
    }
}

/// Tries an operation alone, and behind others; returns the error, which is the same.
fn refused(store: &Store, good: &Table, op: BatchOp<'_>) -> Error {
    let before = content(good);
    let object = [term!({77, "not to be seen"})];
    let alone = store.write_batch(&[op]).expect_err("a bad operation");
    let batches = [
        vec![Insert(good, &object), op],
        vec![Delete(good, &object[0]), op],
    ];
    for batch in batches {
        let among = store.write_batch(&batch);
        let at = 1;
        let why = Box::new(told(alone.clone()));
        assert_eq!(among, Err(Error::InBatch { at, why }), "{op:?}");
    }
    assert_eq!(content(good), before);
    assert!(matches!(alone, Error::InBatch { at: 0, .. }));
    told(alone)
}

#[test]
fn what_the_single_call_refuses_the_batch_refuses_and_says_where() -> Result<()> {
    let (store, owner, good, bag) = two(&Options::bag());
    let set = owner.new_table("s", &Options::set().keypos(2))?;
    let (key, add, bad, short) = (term!(1), [CounterOp::add(1)], [term!(1)], [term!({ 1 })]);
    let refused = |op: BatchOp<'_>| refused(&store, &good, op);
    assert!(matches!(refused(Insert(&set, &bad)), Error::NotATuple(_)));
    assert!(matches!(
        refused(InsertNew(&set, &bad)),
        Error::NotATuple(_)
    ));
    assert!(matches!(
        refused(DeleteObject(&set, &bad[0])),
        Error::NotATuple(_)
    ));
    assert!(matches!(
        refused(Check(&set, &key, Objects(&bad))),
        Error::NotATuple(_)
    ));
    let position = Error::BadKeyPosition {
        keypos: 2,
        arity: 1,
    };
    assert_eq!(refused(Insert(&set, &short)), position);
    assert_eq!(refused(InsertNew(&set, &short)), position);
    assert_eq!(refused(DeleteObject(&set, &short[0])), position);
    assert_eq!(
        refused(UpdateCounter(&set, &key, &add, Some(&short[0]))),
        position
    );
    assert_eq!(
        refused(UpdateElement(&set, &key, &[], Some(&short[0]))),
        position
    );
    assert_eq!(
        refused(UpdateCounter(&set, &key, &add, None)),
        Error::NoSuchKey
    );
    let wrong = |error| matches!(error, Error::WrongType { .. });
    assert!(wrong(refused(UpdateCounter(&bag, &key, &add, None))));
    assert!(wrong(refused(UpdateElement(&bag, &key, &[], None))));
    set.insert(&term!({"text", 1}))?;
    let at_key = [(2, term!(3))];
    assert_eq!(
        refused(UpdateElement(&set, &key, &at_key, None)),
        Error::KeyUpdate(2)
    );
    let counted = refused(UpdateCounter(&set, &key, &[CounterOp::add(1).at(1)], None));
    assert!(matches!(counted, Error::NotAnInteger { position: 1, .. }));
    assert_eq!(set.tab2list()?, [term!({"text", 1})]);
    Ok(())
}

#[test]
fn tables_that_a_batch_cannot_write_are_refused() -> Result<()> {
    let (store, owner, good, other) = two(&Options::set());
    let (key, object) = (term!(1), [term!({1, 1})]);
    let refused = |op: BatchOp<'_>| refused(&store, &good, op);
    let foreign = Store::new();
    let foreign = foreign.owner();
    let foreign = foreign.new_table("t", &Options::set())?;
    let bad = |error| matches!(error, Error::BadArgument(_));
    assert!(bad(refused(Insert(&foreign, &object))));
    assert!(bad(refused(Check(&foreign, &key, Absent))));
    assert!(bad(refused(Check(&good, &key, Unchanged(&good)))));
    let (then, of_other) = (good.snapshot()?, other.snapshot()?);
    assert!(bad(refused(Check(&good, &key, Unchanged(&of_other)))));
    assert_eq!(refused(Insert(&then, &object)), Error::ReadOnly);
    assert_eq!(refused(Delete(&then, &key)), Error::ReadOnly);
    let transaction = store.begin();
    let within = transaction.table(&other)?;
    assert!(bad(refused(Delete(&within, &key))));
    assert!(bad(refused(Insert(&within, &object))));
    drop(transaction);
    let guest = ProcessId(77);
    let no_access = |error| matches!(error, Error::NoAccess { .. });
    assert!(no_access(refused(Insert(
        &other.for_caller(guest),
        &object
    ))));
    assert!(no_access(refused(Delete(&other.for_caller(guest), &key))));
    // One handle, and one caller, a table.
    let public = owner.new_table("p", &Options::set().public())?;
    let theirs = public.for_caller(guest);
    let both = [
        Insert(&public, &object),
        Delete(&good, &key),
        Insert(&theirs, &object),
    ];
    let Err(Error::InBatch { at: 2, why }) = store.write_batch(&both) else {
        panic!("by two callers");
    };
    assert!(bad(*why) && public.is_empty());
    let private = owner.new_table("p", &Options::set().protection(Protection::Private))?;
    assert!(no_access(refused(Check(
        &private.for_caller(guest),
        &key,
        Absent
    ))));
    private.delete()?;
    let gone = |error| matches!(error, Error::NoSuchTable(_));
    assert!(gone(refused(Insert(&private, &object))));
    assert!(gone(refused(Check(&private, &key, Absent))));
    Ok(())
}

#[test]
fn a_transaction_does_a_batch_as_one_of_its_writes() -> Result<()> {
    let (store, _owner, a, b) = two(&Options::set());
    let (k1, object, wrong) = (term!(1), [term!({1, 11})], [term!({1, 12})]);
    store.transaction(|tx| {
        let within = tx.table(&a)?;
        within.insert(&object[0])?;
        let failing = [Delete(&b, &k1), Check(&a, &k1, Objects(&wrong))];
        assert_eq!(tx.write_batch(&failing), Err(Error::CheckFailed { at: 1 }));
        let late = [
            Delete(&a, &k1),
            UpdateCounter(&b, &object[0], &[CounterOp::add(1)], None),
        ];
        assert_eq!(tx.write_batch(&late).map_err(told), Err(Error::NoSuchKey));
        assert!(within.member(&1)?, "nothing of a batch that fails");
        let good = [Check(&within, &k1, Objects(&object)), Delete(&a, &k1)];
        assert_eq!(tx.write_batch(&good), Ok(vec![Done, Done]));
        assert!(!within.member(&1)? && a.member(&1)? && tx.table(&b)?.member(&1)?);
        Ok::<_, Error>(())
    })?;
    assert!(!a.member(&1)?);
    Ok(())
}

/// Threads move amounts between keys of two tables, as long as what they have seen is still so, and beside them others
/// count, without a look. The sum stays what it was, in each snapshot.
#[test]
fn batches_that_race_lose_nothing() {
    const KEYS: i64 = 4;
    const MOVES: usize = if cfg!(fyris_small) { 300 } else { 3000 };
    let (store, _owner, a, b) = two(&Options::set());
    for key in 0..KEYS {
        for table in [&a, &b] {
            table.insert(&term!({key, 100})).expect("a table of ours");
        }
    }
    let sum = |tables: &[&Table]| -> i64 {
        let all = tables.iter().flat_map(|table| content(table));
        all.map(|object| value_of(&object)).sum()
    };
    let expected = sum(&[&a, &b]);
    let over = AtomicBool::new(false);
    let value = |table: &Table, key: &Term| table.lookup(key).map(|mut found| found.remove(0));
    let moved = |seed: i64| -> Result<(usize, usize)> {
        let (mut done, mut lost) = (0, 0);
        for n in 0..MOVES as i64 {
            let (from, to) = (Term::Int((n * seed) % KEYS), Term::Int((n + seed) % KEYS));
            let (seen_a, seen_b) = ([value(&a, &from)?], [value(&b, &to)?]);
            let changed = |seen: &[Term; 1], key: &Term, by: i64| {
                let now = value_of(&seen[0]);
                [term!({(key.clone()), (now + by)})]
            };
            let (new_a, new_b) = (changed(&seen_a, &from, -1), changed(&seen_b, &to, 1));
            let batch = [
                Insert(&a, &new_a),
                Check(&b, &to, Objects(&seen_b)),
                Insert(&b, &new_b),
                Check(&a, &from, Objects(&seen_a)),
            ];
            match store.write_batch(&batch) {
                Ok(_) => done += 1,
                Err(Error::CheckFailed { at: 1 | 3 }) => lost += 1,
                Err(error) => return Err(error),
            }
        }
        Ok((done, lost))
    };
    let counted = || -> Result<()> {
        for n in 0..MOVES as i64 {
            let (key, add) = (Term::Int(n % KEYS), [CounterOp::add(1)]);
            let less = [CounterOp::add(-1)];
            let batch = [
                UpdateCounter(&a, &key, &add, None),
                UpdateCounter(&b, &key, &less, None),
            ];
            store.write_batch(&batch)?;
        }
        Ok(())
    };
    let watched = || -> Result<Vec<i64>> {
        let mut sums = Vec::new();
        while !over.load(Ordering::Relaxed) {
            let then = store.snapshots(&[&a, &b])?;
            sums.push(sum(&[&then[0], &then[1]]));
        }
        Ok(sums)
    };
    let (moves, counts, sums) = scope(|scope| {
        let moves = [1, 3].map(|seed| scope.spawn(move || moved(seed)));
        let (counts, sums) = (scope.spawn(counted), scope.spawn(watched));
        let moves = moves.map(|thread| thread.join());
        let counts = counts.join();
        over.store(true, Ordering::Relaxed);
        (moves, counts, sums.join())
    });
    for moved in moves {
        let (done, lost) = moved.expect("no panic").expect("no error");
        assert!(done > 0 && done + lost == MOVES);
    }
    assert_eq!(counts.expect("no panic"), Ok(()));
    let sums = sums.expect("no panic").expect("no error");
    assert!(
        sums.iter().all(|&sum| sum == expected),
        "{sums:?} {expected}"
    );
    assert_eq!(sum(&[&a, &b]), expected);
}
