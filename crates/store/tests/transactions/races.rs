//! Commits beside changes of their tables, of walks, of snapshots, and after panics.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fyris::{Error, Options, Protection, SecondaryIndex, Setting, Store, Table, TableType, term};
use fyris_term::{Atom, Term};

use crate::serial::{kinds_of, object};

fn table(store: &Store, options: Options) -> Table {
    let owner = store.owner();
    let table = owner.new_table("t", &options.public()).expect("new");
    std::mem::forget(owner);
    table
}

#[test]
fn a_commit_beside_a_change_of_a_table_happens_in_all_or_none() {
    let store = Store::new();
    let (owner, other) = (store.owner(), store.owner());
    let all = owner
        .new_table("all", &Options::set().public())
        .expect("new");
    let until = Instant::now() + Duration::from_millis(1500);
    let (mut round, mut done, mut refused) = (0_i64, 0, 0);
    while Instant::now() < until {
        let types = [
            TableType::Set,
            TableType::OrderedSet,
            TableType::Bag,
            TableType::DuplicateBag,
        ];
        let kind = Options::new(types[round as usize % 4]);
        let part = owner.new_table("part", &kind.public()).expect("new");
        part.insert(&object(0, 0)).expect("room");
        let before = owner
            .new_table("before", &Options::set().public())
            .expect("new");
        let what = round / 4 % 4;
        let theirs = part.for_caller(other.id());
        let (ended, held) = std::thread::scope(|s| {
            let changed = s.spawn(|| {
                for _ in 0..round % 60 {
                    std::hint::spin_loop();
                }
                match what {
                    0 => part.delete(),
                    1 => part.setopts(&[Setting::Protection(Protection::Private)]),
                    2 => part.rename(Atom::new("renamed").expect("short")).map(drop),
                    _ => part.delete_all_objects(),
                }
            });
            let transaction = store.begin();
            let run = || -> fyris::Result<()> {
                transaction.table(&all)?.insert(&object(round, 1))?;
                transaction.table(&before)?.insert(&object(round, 1))?;
                let part = transaction.table(&theirs)?;
                part.lookup(&Term::Int(0))?;
                part.insert(&object(round, 1))
            };
            let ended = run().and_then(|()| transaction.commit());
            let _ = changed.join();
            (ended, part.member(&round).ok())
        });
        let there = (
            all.member(&round).expect("live"),
            before.member(&round).expect("live"),
        );
        let is_done = ended.is_ok();
        assert_eq!(there, (is_done, is_done), "round {round}: {ended:?}");
        match what {
            1 | 2 => assert_eq!(held, Some(is_done), "round {round}: {ended:?}"),
            0 => assert_eq!(held, None),
            // Before the commit, or after it.
            _ => assert!(is_done || held == Some(false)),
        }
        if let Err(error) = ended {
            let expected = matches!(
                error,
                Error::Conflict { .. } | Error::NoSuchTable(_) | Error::NoAccess { .. }
            );
            assert!(expected, "{error:?}");
            refused += 1;
        } else {
            done += 1;
        }
        let _ = (part.delete(), before.delete());
        round += 1;
    }
    println!("{done} done, {refused} not");
    assert!(done > 0 && refused > 0);
}

#[test]
fn a_walk_of_a_fixed_table_meets_no_hole() {
    for kind in kinds_of(&[
        TableType::Set,
        TableType::Bag,
        TableType::DuplicateBag,
        TableType::OrderedSet,
    ]) {
        let store = crate::serial::store();
        let (table, other) = (table(&store, kind.clone()), table(&store, Options::set()));
        for key in 0..400 {
            table.insert(&object(key, 0)).expect("room");
        }
        let stop = AtomicBool::new(false);
        let mut wrong = None;
        std::thread::scope(|s| {
            s.spawn(|| {
                let mut n = 0_i64;
                while !stop.load(Ordering::Relaxed) && n < 100_000 {
                    n += 1;
                    // Odd keys come and go.
                    let _ = store.transaction(|tx| {
                        let (table, other) = (tx.table(&table)?, tx.table(&other)?);
                        let key = n * 7 % 200 * 2 + 1;
                        if table.member(&key)? {
                            table.delete_key(&key)?;
                        } else {
                            table.insert(&object(key, n))?;
                        }
                        other.insert(&object(key, n))
                    });
                }
            });
            s.spawn(|| {
                let mut n = 0_i64;
                while !stop.load(Ordering::Relaxed) && n < 100_000 {
                    n += 1;
                    let _ = table.snapshot().map(|snapshot| snapshot.member(&1));
                }
            });
            for _ in 0..6 {
                table.safe_fixtable(true).expect("live");
                let (mut seen, mut at) = (Vec::new(), table.first());
                let walked = loop {
                    match at {
                        Ok(Some(key)) => {
                            at = table.next(&key);
                            seen.push(key);
                        }
                        Ok(None) => break Ok(()),
                        Err(error) => break Err(error),
                    }
                };
                table.safe_fixtable(false).expect("live");
                let even: Vec<_> = seen
                    .iter()
                    .filter(|key| matches!(key, Term::Int(n) if n % 2 == 0))
                    .collect();
                if walked.is_err() || even.len() != 200 {
                    wrong = Some(format!("{kind:?}: {walked:?}, {} of 200", even.len()));
                    break;
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(wrong, None);
        store.collect();
        assert_eq!(table.len(), table.tab2list().expect("live").len());
    }
}

/// Returns the memory of objects of a table, and of one that never had others.
fn memory(store: &Store, table: &Table, kind: &Options) -> (usize, usize) {
    store.collect();
    let fresh = self::table(store, kind.clone());
    for object in table.tab2list().expect("live") {
        fresh.insert(&object).expect("room");
    }
    let sizes = (
        table.memory_by_kind().objects,
        fresh.memory_by_kind().objects,
    );
    fresh.delete().expect("made here");
    sizes
}

#[test]
fn what_is_given_up_leaves_nothing() {
    let big = Term::binary(&[1_u8; 700][..]);
    for kind in kinds_of(&[
        TableType::Set,
        TableType::OrderedSet,
        TableType::Bag,
        TableType::DuplicateBag,
    ]) {
        let store = crate::serial::store();
        let (table, other) = (table(&store, kind.clone()), table(&store, kind.clone()));
        for key in 0..20 {
            for value in 0..3_i64 {
                table
                    .insert(&term!({ (key), (value), (big.clone()) }))
                    .expect("room");
            }
        }
        let work = |tx: &fyris::Transaction, n: i64| -> fyris::Result<()> {
            let (table, other) = (tx.table(&table)?, tx.table(&other)?);
            for key in [n % 20, n % 7, 30 + n % 3] {
                table.insert(&term!({ (key), (n), (big.clone()) }))?;
                table.insert(&term!({ (key), (n + 1), (big.clone()) }))?;
                table.delete_object(&term!({ (key), (n), (big.clone()) }))?;
                other.insert(&term!({ (key), (n), (big.clone()) }))?;
                other.take(&Term::Int(key + 1))?;
            }
            table.delete_key(&(n % 11))
        };
        for n in 0..60 {
            // Dropped; after a panic; conflicts in either table; with errors; committed.
            let tx = store.begin();
            work(&tx, n).expect("live");
            drop(tx);
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                store.transaction(|tx| -> fyris::Result<()> {
                    work(tx, n)?;
                    std::panic::resume_unwind(Box::new(1));
                })
            }));
            assert!(panicked.is_err());
            for in_which in [&table, &other] {
                let tx = store.begin();
                work(&tx, n).expect("live");
                in_which.insert(&term!({ (n % 20), (n), 5 })).expect("room");
                assert!(matches!(tx.commit(), Err(Error::Conflict { .. })));
            }
            let failed = store.transaction(|tx| work(tx, n).and(Err::<(), _>(Error::NoSuchKey)));
            assert!(failed.is_err());
            store.transaction(|tx| work(tx, n)).expect("nobody else");
        }
        for table in [&table, &other] {
            let (now, fresh) = memory(&store, table, &kind);
            assert_eq!(now, fresh, "{kind:?}");
            assert_eq!(table.len(), table.tab2list().expect("live").len());
            table.drain().expect("live");
            store.collect();
            assert_eq!(
                (table.len(), table.memory_by_kind().objects),
                (0, 0),
                "{kind:?}"
            );
        }
    }
}

#[test]
fn handles_of_an_ended_transaction_are_refused() {
    let store = Store::new();
    let table = table(&store, Options::ordered_set());
    for key in 0..2000 {
        table.insert(&object(key, 0)).expect("room");
    }
    for commits in [false, true] {
        let tx = store.begin();
        let within = tx.table(&table).expect("live");
        within.insert(&object(1, 7)).expect("live");
        let spec = fyris::MatchSpec::new(&term!([{ :"$1", [], [:"$1"] }])).expect("right");
        let chunk = within.select_limit(&spec, 10).expect("live");
        let mut iter = within.iter();
        iter.next();
        let mut query = within.query(&spec);
        if commits {
            tx.commit().expect("nobody else");
        } else {
            drop(tx);
        }
        let ended = |result: fyris::Result<()>| {
            assert!(matches!(result, Err(Error::TransactionEnded)), "{result:?}")
        };
        ended(within.insert(&object(1, 1)));
        ended(within.member(&1).map(drop));
        ended(within.first().map(drop));
        ended(within.insert_list(&[object(1, 1)]));
        ended(within.drain().map(drop));
        ended(query.run());
        ended(chunk.next.expect("more").next().map(drop));
        let left = iter.filter(|object| object.is_ok()).count();
        assert!(left < 2000 - 1, "{left}");
    }
}

#[test]
fn very_many_keys() {
    let store = Store::new();
    let (a, b) = (
        table(&store, Options::set()),
        table(&store, Options::ordered_set()),
    );
    let many = if cfg!(fyris_sanitize) { 5_000 } else { 100_000 };
    store
        .transaction(|tx| {
            let (a, b) = (tx.table(&a)?, tx.table(&b)?);
            for key in 0..many {
                a.insert(&object(key, 1))?;
                b.insert(&object(-key, 1))?;
            }
            Ok::<_, Error>(())
        })
        .expect("nobody else");
    assert_eq!((a.len(), b.len()), (many as usize, many as usize));
    let tx = store.begin();
    let (wa, wb) = (tx.table(&a).expect("live"), tx.table(&b).expect("live"));
    assert_eq!(wa.drain().expect("live").len(), many as usize);
    assert_eq!(wb.drain().expect("live").len(), many as usize);
    assert_eq!((a.len(), wa.len(), wb.len()), (many as usize, 0, 0));
    tx.commit().expect("nobody else");
    assert_eq!((a.len(), b.len()), (0, 0));
    store.collect();
    assert_eq!(
        (a.memory_by_kind().objects, b.memory_by_kind().objects),
        (0, 0)
    );
}

#[test]
fn threads_share_a_transaction() {
    use rand::{Rng, SeedableRng};
    let until = Instant::now() + Duration::from_millis(1000);
    let (store, mut round) = (Store::new(), 0_u64);
    let kinds = [
        TableType::Set,
        TableType::OrderedSet,
        TableType::Bag,
        TableType::DuplicateBag,
    ];
    while Instant::now() < until {
        let table = table(&store, Options::new(kinds[round as usize % 4]));
        for key in 0..5 {
            table
                .insert(&term!({ (key), 0, "a value that is not inline" }))
                .expect("room");
        }
        let tx = store.begin();
        let within = tx.table(&table).expect("live");
        let wrong = std::thread::scope(|s| {
            let works = (0..3).map(|me| {
                let (within, table) = (&within, &table);
                s.spawn(move || {
                    let mut rng = rand::rngs::StdRng::seed_from_u64(round * 3 + me);
                    for _ in 0..60 {
                        let key = rng.random_range(0..5_i64);
                        let object = term!({ (key), (me as i64), "a value that is not inline" });
                        let done = match rng.random_range(0..8) {
                            0 | 1 => within.insert(&object),
                            2 => within.delete_key(&key),
                            3 => within.take(&Term::Int(key)).map(drop),
                            4 => within.delete_object(&object),
                            5 => within.tab2list().map(drop),
                            6 => table.snapshot().map(drop),
                            _ => within.lookup(&Term::Int(key)).map(drop),
                        };
                        match done {
                            Ok(()) => {}
                            Err(Error::TransactionEnded) => break,
                            Err(error) => return Some(format!("{error:?}")),
                        }
                    }
                    None
                })
            });
            let works: Vec<_> = works.collect();
            if round % 3 == 0 {
                let _ = tx.commit();
            } else if round % 3 == 1 {
                drop(tx);
            } else {
                let results = works.into_iter().map(|work| work.join());
                return results
                    .filter_map(|result| result.unwrap_or(Some("panicked".to_owned())))
                    .next();
            }
            let results = works.into_iter().map(|work| work.join());
            results
                .filter_map(|result| result.unwrap_or(Some("panicked".to_owned())))
                .next()
        });
        assert_eq!(wrong, None);
        assert_eq!(table.len(), table.tab2list().expect("live").len());
        table.drain().expect("live");
        store.collect();
        assert_eq!(table.memory_by_kind().objects, 0);
        table.delete().expect("mine");
        round += 1;
    }
}

#[test]
fn all_at_once_goes_on() {
    use rand::{Rng, SeedableRng};
    let store = Store::new();
    let owner = store.owner();
    let kinds = [Options::ordered_set(), Options::bag(), Options::set()];
    let new = |kind: Options| owner.new_table("t", &kind.public()).expect("new");
    let tables = kinds.map(new);
    let stop = AtomicBool::new(false);
    let commits = std::sync::atomic::AtomicU64::new(0);
    let step = |rng: &mut rand::rngs::StdRng, me: u64| -> fyris::Result<()> {
        let (t, key) = (&tables[rng.random_range(0..3)], rng.random_range(0..30_i64));
        match me {
            0..4 => {
                let options = fyris::TransactionOptions::new().attempts(3);
                store.transaction_with(&options, |tx| -> fyris::Result<()> {
                    for at in [2, 0, 1] {
                        let within = tx.table(&tables[at])?;
                        within.insert(&object(key, me as i64))?;
                        within.delete_key(&(29 - key))?;
                    }
                    tx.table(t)?.next(&Term::Int(key)).map(drop).or(Ok(()))
                })?;
                commits.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            4 => t.delete_all_objects(),
            5 => {
                let protection =
                    [Protection::Public, Protection::Protected][rng.random_range(0..2)];
                t.setopts(&[Setting::Protection(protection)])
            }
            6 => t.insert_list(&(0..30).map(|key| object(key, 7)).collect::<Vec<_>>()),
            7 => {
                let all: Vec<&Table> = tables.iter().collect();
                let taken = store.snapshots(&all)?;
                let len = taken[0].len();
                assert_eq!(len, taken[0].tab2list()?.len());
                Ok(())
            }
            _ => {
                t.safe_fixtable(true)?;
                let walked = t
                    .first()
                    .and_then(|key| key.map_or(Ok(None), |key| t.next(&key)));
                t.safe_fixtable(false)?;
                walked.map(drop)
            }
        }
    };
    let mut wrong = Vec::new();
    std::thread::scope(|s| {
        let works = (0..9).map(|me| {
            let (step, stop) = (&step, &stop);
            s.spawn(move || {
                let mut rng = rand::rngs::StdRng::seed_from_u64(me);
                while !stop.load(Ordering::Relaxed) {
                    match step(&mut rng, me) {
                        Ok(()) | Err(Error::Conflict { .. }) => {}
                        Err(error) => return Some(format!("{me}: {error:?}")),
                    }
                    if me > 3 {
                        std::thread::sleep(Duration::from_micros(200));
                    }
                }
                None
            })
        });
        let works: Vec<_> = works.collect();
        std::thread::sleep(Duration::from_millis(1500));
        stop.store(true, Ordering::Relaxed);
        let ended = works
            .into_iter()
            .map(|work| work.join().unwrap_or(Some("panicked".to_owned())));
        wrong.extend(ended.flatten());
    });
    assert_eq!(wrong, [] as [&str; 0]);
    assert!(commits.load(Ordering::Relaxed) > 0);
    for table in &tables {
        assert_eq!(table.len(), table.tab2list().expect("live").len());
        table.drain().expect("live");
        store.collect();
        assert_eq!((table.len(), table.memory_by_kind().objects), (0, 0));
    }
}

/// A transaction finds no object of a value and writes; a single write brings one, and its thread looks for what the
/// transaction has written. If it is not there yet, the transaction comes later, and has to have found the object.
#[test]
fn a_value_that_was_looked_for_is_guarded() {
    use std::sync::Barrier;
    let store = Store::new();
    let by = SecondaryIndex::element("by", 2);
    let found_by = table(&store, Options::set().secondary(by));
    let said = table(&store, Options::set());
    let until = Instant::now() + Duration::from_millis(1500);
    let (begin, end, stop) = (Barrier::new(2), Barrier::new(2), AtomicBool::new(false));
    let mut wrong = None;
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut committed = Vec::new();
            for round in 0_i64.. {
                begin.wait();
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let transaction = store.begin();
                let tables = (transaction.table(&found_by), transaction.table(&said));
                let (Ok(found_by), Ok(said)) = tables else {
                    panic!("nothing was read");
                };
                let none = found_by.lookup_by("by", &round).expect("live").is_empty();
                said.insert(&term!({1, (round)})).expect("live");
                committed.push(none && transaction.commit().is_ok());
                end.wait();
            }
            committed
        });
        let mut seen = Vec::new();
        for round in 0_i64.. {
            if Instant::now() >= until {
                stop.store(true, Ordering::Relaxed);
                begin.wait();
                break;
            }
            begin.wait();
            // At another moment of the transaction each time.
            for _ in 0..round % 64 * 16 {
                std::hint::spin_loop();
            }
            found_by.insert(&term!({1, (round)})).expect("room");
            let there = said.lookup(&Term::Int(1)).expect("live");
            seen.push(there == [term!({1, (round)})]);
            end.wait();
        }
        let committed = other.join().expect("no panic");
        let mut rounds = committed.iter().zip(&seen);
        wrong = rounds.position(|(&committed, &seen)| committed && !seen);
    });
    assert_eq!(wrong, None);
}
