//! What a snapshot retains that is held for long.
#![allow(missing_docs)]

mod common;

use common::{int, tuple};
use fyris::{InfoValue, Options, Owner, Snapshot, Table, Term};

fn retained(table: &Table) -> i64 {
    let Ok(Some(InfoValue::Term(Term::Map(map)))) = table.info_item("snapshots") else {
        panic!("a table has that item")
    };
    let mut items = map.iter();
    let found = items.find(|(name, _)| **name == Term::atom("retained"));
    found
        .and_then(|(_, value)| value.as_int())
        .expect("a number")
}

fn tables(owner: &Owner) -> Vec<Table> {
    let options = [
        Options::set(),
        Options::ordered_set(),
        Options::bag(),
        Options::duplicate_bag(),
        Options::set().index("michael_hash"),
        Options::ordered_set().index("skip_list"),
    ];
    options
        .map(|options| owner.new_table("t", &options).expect("a table"))
        .into()
}

/// Writes beside a snapshot of an empty table, and looks what is retained; then that nothing is left.
fn beside_a_snapshot(writes: impl Fn(&Table, &Snapshot), most: i64) {
    let store = common::store();
    let owner = store.owner();
    for table in tables(&owner) {
        let before = (table.len(), table.memory_by_kind().objects);
        let snapshot = table.snapshot().expect("a snapshot");
        writes(&table, &snapshot);
        let now = retained(&table);
        assert!(now <= most, "{now} of {most}: {:?}", table.info());
        assert!(snapshot.is_empty());
        drop(snapshot);
        store.collect();
        assert_eq!(retained(&table), 0);
        table.delete_range(..).ok();
        table.drain().expect("objects");
        assert_eq!((table.len(), table.memory_by_kind().objects), before);
        table.delete().expect("a table of ours");
    }
}

fn object(key: i64, value: i64) -> Term {
    tuple([
        int(key),
        int(value),
        Term::from("a value that is not inline"),
    ])
}

/// A queue: ever new keys, of which few are there at a time.
#[test]
fn keys_that_come_and_go_leave_little() {
    let queue = |table: &Table, _: &Snapshot| {
        for k in 0..20_000 {
            table.insert(&object(k, k)).expect("inserts");
            if k >= 10 {
                table.take(&int(k - 10)).expect("takes");
            }
        }
    };
    beside_a_snapshot(queue, 200);
}

/// The same few keys, over and over.
#[test]
fn keys_that_go_and_come_leave_little() {
    let cycle = |table: &Table, _: &Snapshot| {
        for n in 0..20_000 {
            table.delete_key(&int(n % 50)).expect("deletes");
            table.insert(&object(n % 50, n)).expect("inserts");
        }
    };
    beside_a_snapshot(cycle, 200);
}

/// Objects that come to a key of a bag; elsewhere each takes the place of the one before.
#[test]
fn objects_of_one_key_leave_little() {
    let pushes = |table: &Table, _: &Snapshot| {
        for n in 0..5_000 {
            table.insert(&object(1, n)).expect("inserts");
        }
        assert!(table.member(&int(1)).expect("looks"));
    };
    beside_a_snapshot(pushes, 10);
}

/// Beside other snapshots, which come and go.
#[test]
fn one_that_outlives_others_keeps_little_of_what_they_saw() {
    let queue = |table: &Table, _: &Snapshot| {
        for round in 0..50 {
            let _other = table.snapshot().expect("a snapshot");
            for k in 0..200 {
                let key = round * 200 + k;
                table.insert(&object(key, k)).expect("inserts");
                table.insert(&object(key, k + 1)).expect("inserts");
                table.delete_key(&int(key)).expect("deletes");
            }
        }
    };
    beside_a_snapshot(queue, 500);
}
