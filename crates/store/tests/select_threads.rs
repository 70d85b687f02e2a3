//! Queries of a table that other threads change meanwhile.

mod common;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use common::{int, key_of, tuple};
use fyris::{MatchSpec, Options, Owner, Table, TableType};
use fyris_term::Term;

fn spec(text: &str) -> MatchSpec {
    MatchSpec::new(&Term::parse(text).expect("a term")).expect("a specification")
}

fn number(term: &Term) -> i64 {
    match term {
        Term::Int(n) => *n,
        other => panic!("{other:?}"),
    }
}

fn owner() -> Owner {
    common::store().owner()
}

fn tables(owner: &Owner) -> Vec<Table> {
    [
        Options::set(),
        Options::ordered_set(),
        Options::bag(),
        Options::duplicate_bag(),
        Options::set().index("ordered"),
        Options::ordered_set().index("btree"),
        Options::set().index("split_ordered"),
        Options::ordered_set().index("ca_avl"),
    ]
    .into_iter()
    .map(|options| owner.new_table("t", &options.public()).unwrap())
    .collect()
}

const STEADY: i64 = 400;

/// Even keys stay; odd ones come and go in numbers that make the index grow and shrink, and neighbours of every
/// place where a query may stop.
fn churn(table: &Table, salt: i64, rounds: i64) {
    for round in 0..rounds {
        for n in 0..1200 {
            let key = ((n * 4 + salt) << (round % 3 * 4)) | 1;
            table.insert(&tuple([int(key), int(n)])).unwrap();
        }
        let odd = spec("[{{'$1','_'},[{'==',{'band','$1',1},1}],[true]}]");
        match round % 2 {
            0 => _ = table.select_delete(&odd).unwrap(),
            _ => {
                for n in 0..1200 {
                    let key = ((n * 4 + salt) << (round % 3 * 4)) | 1;
                    table.delete_key(&key).unwrap();
                }
            }
        }
    }
}

/// Checks that each steady key is there once, and in order where there is one.
fn check(table: &Table, keys: &[Term], how: &str) {
    let mut seen: HashMap<i64, u32> = HashMap::new();
    for key in keys.iter().map(number).filter(|k| k % 2 == 0) {
        *seen.entry(key).or_default() += 1;
    }
    for key in 0..STEADY {
        assert_eq!(
            seen.get(&(2 * key)),
            Some(&1),
            "{} by {how} of {table:?}",
            2 * key
        );
    }
}

fn by_chunks(table: &Table, spec: &MatchSpec, limit: usize, back: bool) -> Vec<Term> {
    let mut chunk = match back {
        true => table.select_reverse_limit(spec, limit).unwrap(),
        false => table.select_limit(spec, limit).unwrap(),
    };
    let mut all = Vec::new();
    while let Some(next) = chunk.next {
        assert_eq!(
            chunk.results.len(),
            limit,
            "a chunk that is not the last is full"
        );
        all.append(&mut chunk.results);
        chunk = next.next().unwrap();
    }
    all.append(&mut chunk.results);
    all
}

#[test]
fn what_is_there_throughout_is_found_once() {
    let owner = owner();
    for table in tables(&owner) {
        (0..STEADY).for_each(|k| table.insert(&tuple([int(2 * k), int(k)])).unwrap());
        let keys = spec("[{{'$1','_'},[],['$1']}]");
        let stop = AtomicBool::new(false);
        thread::scope(|s| {
            let (table, stop) = (&table, &stop);
            s.spawn(move || {
                thread::scope(|s| {
                    s.spawn(|| churn(table, 0, 40));
                    churn(table, 2, 40);
                });
                stop.store(true, Ordering::Relaxed);
            });
            let mut rounds = 0;
            while !stop.load(Ordering::Relaxed) || rounds < 3 {
                rounds += 1;
                check(table, &table.select(&keys).unwrap(), "select");
                check(table, &by_chunks(table, &keys, 7, false), "chunks");
                check(
                    table,
                    &by_chunks(table, &keys, 50, true),
                    "chunks from the end",
                );
                let mut query = table.query(&keys);
                while query.step(20).unwrap() {}
                check(table, &query.take(), "steps");
                let mut query = table.query(&keys).threads(2);
                query.run().unwrap();
                check(table, &query.take(), "threads");
            }
        });
    }
}

/// A query that is stopped on several threads keeps what is in order, and goes on with the rest.
#[test]
fn a_stopped_query_goes_on_where_it_was() {
    let owner = owner();
    for table in tables(&owner) {
        (0..60_000).for_each(|k| table.insert(&tuple([int(k), int(0)])).unwrap());
        let keys = spec("[{{'$1','_'},[],['$1']}]");
        for query in [table.query(&keys), table.query(&keys).reverse()] {
            let mut whole = query.clone();
            whole.run().unwrap();
            let mut query = query.threads(2);
            let slices = AtomicUsize::new(0);
            let mut runs = 1;
            while !query
                .run_while(|| slices.fetch_add(1, Ordering::Relaxed) % 7 != 6)
                .unwrap()
            {
                runs += 1;
            }
            assert!(runs > 1, "it was never stopped");
            let (mut found, mut wanted) = (query.take(), whole.take());
            assert_eq!(query.count(), found.len());
            if table.table_type() != TableType::OrderedSet {
                // Without order, two pieces of a bucket may come the other way round.
                found.sort_by(Term::cmp_exact);
                wanted.sort_by(Term::cmp_exact);
            }
            assert!(found == wanted, "{} of {}", found.len(), wanted.len());
            assert_eq!(query.visited(), whole.visited());
            assert!(!query.step(1).unwrap());
        }
    }
}

#[test]
fn increments_by_replacing_are_never_lost() {
    const KEYS: i64 = 8;
    const ROUNDS: i64 = 4000;
    let owner = owner();
    for options in [
        Options::set(),
        Options::ordered_set(),
        Options::set().index("ordered"),
        Options::ordered_set().index("btree"),
        Options::set().index("split_ordered"),
        Options::ordered_set().index("ca_avl"),
    ] {
        let table = owner.new_table("t", &options.public()).unwrap();
        (0..KEYS).for_each(|k| table.insert(&tuple([int(k), int(0)])).unwrap());
        let more = spec("[{{'$1','$2'},[],[{{'$1',{'+','$2',1}}}]}]");
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    for _ in 0..ROUNDS {
                        assert_eq!(table.select_replace(&more), Ok(KEYS as usize));
                    }
                });
            }
            // Another way of adding, at the same time.
            for _ in 0..ROUNDS {
                for k in 0..KEYS {
                    table
                        .update_counter(&int(k), &[fyris::CounterOp::add(1)])
                        .unwrap();
                }
            }
        });
        for object in table.tab2list().unwrap() {
            assert_eq!(key_of(&object, 2), Some(int(3 * ROUNDS)));
        }
    }
}

/// Objects of a `duplicate_bag` are replaced one for one, while others come and go under the same key.
#[test]
fn replacing_in_a_bag_changes_what_is_there_and_nothing_else() {
    const MINE: i64 = 20;
    let owner = owner();
    let table = owner
        .new_table("t", &Options::duplicate_bag().public())
        .unwrap();
    (0..MINE).for_each(|n| {
        table
            .insert(&tuple([int(1), Term::atom("mine"), int(n), int(0)]))
            .unwrap()
    });
    let more = spec("[{{'$1',mine,'$2','$3'},[],[{{'$1',mine,'$2',{'+','$3',1}}}]}]");
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        let (stop, table) = (&stop, &table);
        s.spawn(move || {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                let other = tuple([int(1), Term::atom("other"), int(n)]);
                table.insert(&other).unwrap();
                table.delete_object(&other).unwrap();
            }
        });
        for _ in 0..500 {
            assert_eq!(table.select_replace(&more), Ok(MINE as usize));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let want: Vec<_> = (0..MINE)
        .map(|n| tuple([int(1), Term::atom("mine"), int(n), int(500)]))
        .collect();
    assert_eq!(table.lookup(&int(1)).unwrap(), want, "in their places");
    table.delete_key(&int(1)).unwrap();
    let fresh = owner.new_table("t", &Options::duplicate_bag()).unwrap();
    assert!(
        table.memory() < fresh.memory() + 4096,
        "sizes were accounted for"
    );
}

/// Each object is deleted by one, and none that has ceased to match.
#[test]
fn what_is_deleted_matched_when_it_was() {
    let owner = owner();
    for table in tables(&owner) {
        let kind = table.table_type();
        let red = spec("[{{'_',red},[],[true]}]");
        let put =
            |k: i64, colour: &str| table.insert(&tuple([int(k), Term::atom(colour)])).unwrap();
        (0..2000).for_each(|k| put(k, "red"));
        let deleted: usize = thread::scope(|s| {
            let deleters: Vec<_> = (0..2)
                .map(|_| {
                    s.spawn(|| {
                        (0..20)
                            .map(|_| table.select_delete(&red).unwrap())
                            .sum::<usize>()
                    })
                })
                .collect();
            // Turned blue before or after: then no deletion may take them any more.
            (0..2000).step_by(2).for_each(|k| put(k, "blue"));
            deleters.into_iter().map(|d| d.join().unwrap()).sum()
        });
        let left = table.select_delete(&red).unwrap();
        let blue = table
            .select_count(&spec("[{{'_',blue},[],[true]}]"))
            .unwrap();
        assert_eq!(blue, 1000, "{kind:?}");
        assert_eq!(table.len(), 1000);
        if kind.is_bag() {
            assert_eq!(deleted + left, 2000);
        } else {
            assert!((1000..=2000).contains(&(deleted + left)));
        }
    }
}

/// A key that always holds something to be deleted is deleted, however often what it holds is replaced.
#[test]
fn nothing_escapes_deletion_by_being_replaced() {
    let owner = owner();
    let any = spec("[{{'_','_'},[],[true]}]");
    for options in [Options::set(), Options::ordered_set()] {
        let table = owner.new_table("t", &options.public()).unwrap();
        for _ in 0..300 {
            table.insert(&tuple([int(1), int(0)])).unwrap();
            let replaced = thread::scope(|s| {
                // Replaces what is there, and never puts in what is not.
                let writer = s.spawn(|| {
                    (1..200)
                        .filter(|n| table.update_element(&int(1), &[(2, int(*n))]).unwrap())
                        .count()
                });
                assert_eq!(table.select_delete(&any), Ok(1));
                writer.join().unwrap()
            });
            assert!(table.is_empty(), "after {replaced} replacements");
        }
    }
}

/// A scan that has begun has a horizon, which was taken for a bound of each piece: pieces overlapped.
#[test]
fn threads_go_on_after_a_step_in_both_directions() {
    let owner = common::store().owner();
    let table = owner.new_table("t", &Options::ordered_set()).unwrap();
    table
        .insert_many((0..3000).map(|n| Term::tuple(vec![Term::Int(n)])))
        .unwrap();
    let all = MatchSpec::new(&Term::parse("[{'_',[],['$_']}]").unwrap()).unwrap();
    for back in [false, true] {
        let query = table.query(&all).threads(3);
        let mut query = if back { query.reverse() } else { query };
        for _ in 0..3 {
            assert!(query.step(100).unwrap());
        }
        query.run().unwrap();
        let mut found = query.take();
        if back {
            found.reverse();
        }
        assert_eq!(found, table.tab2list().unwrap());
    }
}
