//! List inserts under every interleaving: `ci/loom.sh`.

use std::sync::Arc;

use fyris_sync::reclaim::{check, pin};
use fyris_sync::thread::spawn;

use super::commit::Placed;
use super::{List, Outcome, Patience, Span};
use crate::commits::{CommitLog, Undo};
use crate::ids::TableType;
use crate::key_kind::{Exact, KeyKind};
use crate::model::{self, Table, Two, beside, key, list, look, record, table, value, values};
use crate::pending::Commit;
use crate::writer::Writer;

/// Returns the values under both keys by a scan, which reads the first key first.
fn scan(table: &Table) -> Vec<i64> {
    let (pin, mut found, mut span) = (pin(), Vec::new(), Span::ALL);
    let mut undo = Undo::new(&table.commits, table.kind, &pin);
    table.scan_span(&mut span, false, 2, &mut undo, &pin, &mut found);
    found
        .into_iter()
        .map(|content| value(table, content))
        .collect()
}

/// Returns the values under both keys by lookups, the second key first.
fn look_up_both(table: &Table) -> [Vec<i64>; 2] {
    let pin = pin();
    let mut undo = Undo::new(&table.commits, table.kind, &pin);
    let mut get = |of| {
        let key = key(of);
        let key = Exact::of(&key);
        let found = table.get(key, &pin);
        let due = undo.is_due(&table.commits);
        let before = due.then(|| undo.before(&table.commits, key.bytes()));
        values(table, before.flatten().unwrap_or(found))
    };
    let second = get(2);
    [get(1), second]
}

fn insert_list(table: &Table, value: i64, only_new: bool) -> bool {
    let pin = pin();
    model::insert_list(table, value, only_new, &Writer::plain(&pin))
}

/// Asserts that the table counts the objects that are there.
fn count(table: &Table) {
    let there = [1, 2].map(|key| look(table, key).len());
    assert_eq!(table.len(), there.iter().sum::<usize>());
}

#[test]
fn a_scan_sees_all_or_nothing() {
    check(|| {
        let table = table(TableType::Set, Some(0));
        let read = |table: &Table| {
            let seen = scan(table);
            assert!(seen == [0, 0] || seen == [1, 1], "{seen:?}");
            let later = scan(table);
            assert!(later >= seen && (later == [0, 0] || later == [1, 1]));
        };
        beside(&table, &[read], |table| {
            assert!(insert_list(table, 1, false))
        });
        assert_eq!(scan(&table), [1, 1]);
    });
}

#[test]
fn lookups_of_several_keys_see_all_or_nothing() {
    check(|| {
        let table = table(TableType::Set, None);
        let read = |table: &Table| {
            let [first, second] = look_up_both(table);
            assert_eq!(first, second);
        };
        beside(&table, &[read], |table| {
            assert!(insert_list(table, 1, true))
        });
        assert_eq!(look_up_both(&table), [[1], [1]]);
        count(&table);
    });
}

/// A reader that comes while an object is replaced, and holds what it found until the writer is gone (AFTER_STORE).
#[test]
fn what_is_replaced_is_retired_afterwards() {
    check(|| {
        let table = table(TableType::Set, Some(0));
        let read = |table: &Table| {
            let [first, _] = look_up_both(table);
            assert!(first == [0] || first == [1], "{first:?}");
        };
        beside(&table, &[read], |table| {
            table.insert_one(record(1, 1), &Writer::plain(&pin()));
        });
        count(&table);
    });
}

#[test]
fn of_two_lists_one_is_the_last() {
    check(|| {
        let table = table(TableType::Set, Some(0));
        let insert = |table: &Table| assert!(insert_list(table, 1, false));
        beside(&table, &[insert], |table| {
            assert!(insert_list(table, 2, false));
            let [first, second] = look_up_both(table);
            assert!(first == second && first != [0]);
        });
        let seen = scan(&table);
        assert!(seen == [1, 1] || seen == [2, 2], "{seen:?}");
        count(&table);
    });
}

#[test]
fn a_writer_gets_through_a_list_that_replaces() {
    check(|| {
        let table = table(TableType::Set, Some(0));
        let write = |table: &Table| {
            table.insert_one(record(2, 5), &Writer::plain(&pin()));
            assert!(look(table, 2) == [5] || look(table, 2) == [1]);
        };
        beside(&table, &[write], |table| {
            assert!(insert_list(table, 1, false));
            assert_eq!(look(table, 1), [1]);
        });
        assert!(look(&table, 2) == [5] || look(&table, 2) == [1]);
        count(&table);
    });
}

#[test]
fn a_delete_gets_through_a_list_that_adds() {
    check(|| {
        let table = table(TableType::DuplicateBag, Some(0));
        let write = |table: &Table| {
            let pin = pin();
            let key = key(2);
            let there = table.remove(Exact::of(&key), &Writer::plain(&pin));
            let there = values(table, there);
            assert!(there == [0] || there == [0, 1], "{there:?}");
            let left = look(table, 2);
            assert!(left.is_empty() || (left == [1] && there == [0]));
        };
        beside(&table, &[write], |table| {
            assert!(insert_list(table, 1, false))
        });
        let left = look(&table, 2);
        assert!(left.is_empty() || left == [1], "{left:?}");
        assert_eq!(look(&table, 1), [0, 1]);
        count(&table);
    });
}

#[test]
fn a_key_that_is_to_be_new_is_new() {
    check(|| {
        let table = table(TableType::Set, None);
        let write = |table: &Table| table.insert_one(record(2, 5), &Writer::plain(&pin()));
        beside(&table, &[write], |table| {
            let done = insert_list(table, 1, true);
            assert_eq!(look(table, 1), [1][..usize::from(done)]);
        });
        // Whichever came first.
        assert_eq!(look(&table, 2), [5]);
        count(&table);
    });
}

#[test]
fn two_lists_of_new_keys() {
    check(|| {
        let table = table(TableType::Set, None);
        let other = {
            let table = table.clone();
            spawn(move || insert_list(&table, 1, true))
        };
        let mine = insert_list(&table, 2, true);
        let other = other.join().unwrap();
        assert!(mine != other, "one of them comes first");
        assert_eq!(scan(&table), if mine { [2, 2] } else { [1, 1] });
        count(&table);
    });
}

/// A commit over two tables, whose cells come to the second one last: who sees it there sees it in the first.
#[test]
fn a_commit_over_two_tables_is_one() {
    check(|| {
        let log = CommitLog::new();
        let new = |_| Table::new(Two::default(), TableType::Set, 1, &log);
        let tables = Arc::new([1, 2].map(new));
        let reader = {
            let tables = tables.clone();
            spawn(move || {
                let second = look(&tables[1], 1);
                let first = scan(&tables[0]);
                assert!(first.is_empty() || first == [1, 1], "{first:?}");
                assert!(second.is_empty() || !first.is_empty());
            })
        };
        let pin = pin();
        let works = tables
            .each_ref()
            .map(|table| match table.list(list(1), false, false) {
                List::Several(work) => work,
                List::One { .. } => unreachable!("two keys"),
            });
        let plan = |i: usize| tables[i].plan(&works[i], Vec::new());
        let commit = Commit::new([plan(0), plan(1)]);
        let (mut placed, admission) = ([Placed::default(), Placed::default()], Writer::plain(&pin));
        for i in [0, 1] {
            let waits = Patience::Waits;
            let placing =
                tables[i].place_all(&works[i], &commit, i, &mut placed[i], waits, &admission);
            assert_eq!(placing, Ok(Outcome::Committed));
        }
        assert!(commit.seal());
        for i in [0, 1] {
            tables[i].count_coming(&placed[i], commit.part(i));
        }
        log.append(&commit, &pin);
        for i in [0, 1] {
            tables[i].count_gone(&placed[i], commit.part(i));
            tables[i].conclude(&works[i], commit.part(i), &placed[i], true, &admission);
        }
        // SAFETY: out of the slots now.
        unsafe { commit.finish(&pin) };
        drop(pin);
        reader.join().unwrap();
    });
}
