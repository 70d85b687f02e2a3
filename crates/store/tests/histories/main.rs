//! Short histories of several threads that write, take snapshots and make transactions, and whether any order of what
//! they did explains what they saw: strict serializability.
//!
//! Threads work on a few keys of one table or two, and note when each call began and ended, and what it answered. A
//! snapshot is one operation: it reads all keys at one moment within the call that took it, however much later somebody
//! looks at it. A transaction is one, too, and if it came to nothing, what it read is of one moment all the same. With
//! that, strict serializability is linearizability, which the Wing-Gong-Lowe checker of `todc-utils`
//! decides.
//!
//! The threads are stalled at any instruction. `FYRIS_HISTORIES` is the number of histories on each index.
#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
mod record;
#[path = "../stall/mod.rs"]
mod stall;
mod terms;
mod worker;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fyris::{Options, Owner, Store, Table};
use rand::Rng;

use record::{Record, Step, is_serializable, written};
use worker::Worker;

/// Threads at work. One more, with the number 0, begins and ends a history.
const THREADS: usize = 3;

/// Keys. Of two tables each has half of them.
const PLACES: usize = 4;

/// Lets threads work on tables that nobody has written to.
fn history(store: &Store, tables: &[Table]) -> Vec<Record> {
    let (clock, ready) = (Instant::now(), AtomicUsize::new(0));
    let worker = |number| Worker::new(number, store, tables, clock);
    let mut first = worker(0);
    first.begin();
    let mut records: Vec<Record> = thread::scope(|scope| {
        let spawn = |number| {
            let (mut worker, ready) = (worker(number), &ready);
            scope.spawn(move || {
                // Relaxed, both: so that they work at the same time, and for nothing else.
                ready.fetch_add(1, Ordering::Relaxed);
                while ready.load(Ordering::Relaxed) < THREADS {
                    thread::yield_now();
                }
                let _stalled = stall::join();
                worker.work();
                worker.finish()
            })
        };
        let workers: Vec<_> = (1..=THREADS).map(spawn).collect();
        let done = workers.into_iter().map(|worker| worker.join());
        done.flat_map(|records| records.expect("a thread without a fault"))
            .collect()
    });
    first.snapshot(0, tables.len());
    records.extend(first.finish());
    records.sort_by_key(|record| record.begun);
    records
}

/// A set or an ordered set, and its index.
type Kind = (Options, String);

/// Returns those that there are.
fn kinds(store: &Store, owner: &Owner) -> Vec<Kind> {
    let (set, ordered_set) = (Options::set(), Options::ordered_set());
    let mut kinds = vec![
        (set.clone(), "set".to_string()),
        (ordered_set.clone(), "ordered_set".to_string()),
    ];
    for index in store.index_names() {
        kinds.push((set.clone().index(index), format!("set on {index}")));
        let ordered_set = ordered_set.clone().index(index);
        kinds.push((ordered_set, format!("ordered_set on {index}")));
    }
    // Not each index serves both.
    kinds.retain(|(options, _)| match owner.new_table("t", options) {
        Ok(table) => table.delete().is_ok(),
        Err(_) => false,
    });
    kinds
}

/// Makes a history on tables of these kinds, and returns it if it has no order.
fn fault(store: &Store, owner: &Owner, kinds: &[&Kind]) -> Option<String> {
    let table = |kind: &&Kind| owner.new_table("t", &kind.0).expect("it was made before");
    let tables: Vec<Table> = kinds.iter().map(table).collect();
    let records = history(store, &tables);
    for table in tables {
        table.delete().expect("a table of ours");
    }
    let names: Vec<&str> = kinds.iter().map(|kind| &*kind.1).collect();
    (!is_serializable(&records)).then(|| format!("{}:\n{}", names.join(" and "), written(&records)))
}

#[test]
fn every_history_has_an_order() {
    let histories = std::env::var("FYRIS_HISTORIES").map_or(500, |n| n.parse().expect("a number"));
    let store = common::store();
    let owner = store.owner();
    let kinds = kinds(&store, &owner);
    let mut rng = rand::rng();
    let fault = stall::with_stalls(|| {
        let mut each = kinds
            .iter()
            .flat_map(|kind| (0..histories).map(move |_| kind));
        each.find_map(|kind| {
            let both = [kind, &kinds[rng.random_range(0..kinds.len())]];
            fault(&store, &owner, &both[..rng.random_range(1..=2)])
        })
    });
    if let Some(fault) = fault {
        panic!("no order explains what threads saw on {fault}");
    }
}

/// Returns whether steps have an order, each with a thread and the times between which it was done.
fn has_order(steps: &[(usize, u64, u64, Step)]) -> bool {
    let record = |(thread, begun, ended, step): &(usize, u64, u64, Step)| Record {
        thread: *thread,
        begun: Duration::from_nanos(*begun),
        ended: Duration::from_nanos(*ended),
        step: step.clone(),
    };
    is_serializable(&steps.iter().map(record).collect::<Vec<_>>())
}

#[test]
fn a_history_may_have_none() {
    let shows = |states: &[[i64; 2]]| {
        let shown = states.iter().map(|state| state.to_vec());
        Step::Snapshot(0..2, shown.collect())
    };
    let (one, other) = (Step::Insert(0, 1), Step::Insert(1, 2));
    let writes = [(1, 0, 9, one.clone()), (2, 0, 9, other)];
    let with = |more: &[(usize, u64, u64, Step)]| has_order(&[&writes[..], more].concat());
    assert!(with(&[(3, 1, 2, shows(&[[0, 2]]))]));
    // It is not what it was.
    assert!(!with(&[(3, 1, 2, shows(&[[0, 2], [1, 2]]))]));
    // Each of two shows what the other one does not yet.
    assert!(!with(&[
        (3, 1, 2, shows(&[[0, 2]])),
        (4, 1, 2, shows(&[[1, 0]]))
    ]));
    // It misses what was read before it, or what had been written.
    let read = (3, 1, 2, Step::Lookup(0, 1));
    assert!(with(&[read.clone(), (3, 3, 4, shows(&[[1, 0]]))]));
    assert!(!with(&[read, (3, 3, 4, shows(&[[0, 0]]))]));
    assert!(!with(&[(3, 10, 11, shows(&[[1, 0]]))]));
    // It shows what came after it.
    let late = (1, 5, 6, one);
    assert!(!has_order(&[(3, 3, 4, shows(&[[1, 0]])), late]));
}
