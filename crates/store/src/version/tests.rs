//! What is left of keys when the snapshots beside which they came have ended: nothing but their contents.

use std::sync::Arc;
use std::thread::scope;

use fyris_index::{HashIndex, Index};
use fyris_sync::reclaim::pin;
use fyris_term::Term;
use fyris_term::key::KeyBuf;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::live_snapshots::LiveSnapshot;
use crate::commits::CommitLog;
use crate::ids::TableType;
use crate::key_kind::{Exact, KeyKind};
use crate::native_terms::record_of;
use crate::slot::Slot;
use crate::table_data::TableData;
use crate::writer::Writer;

type Hashed = TableData<Exact, HashIndex<Slot<Exact>>>;

fn table() -> Hashed {
    Hashed::new(HashIndex::default(), TableType::Set, 1, &CommitLog::new())
}

fn take(table: &Hashed) -> Arc<LiveSnapshot> {
    let (listed, pin) = (LiveSnapshot::new(), pin());
    let enter = || {
        table.snapshots.enter(&listed, &pin);
        Box::from([listed.clone()])
    };
    table.commits.log.begin(enter, &pin);
    listed
}

fn end(table: &Hashed, snapshot: &Arc<LiveSnapshot>) {
    let garbage = table.snapshots.leave(snapshot, &pin());
    garbage.into_iter().for_each(|list| table.free_dead(list));
}

/// Puts keys of a range in and takes them out, at random.
fn write(table: &Hashed, keys: i64, seed: u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    for n in 0..10 * keys {
        let (key, pin) = (rng.random_range(0..keys), pin());
        let writer = Writer::versioned(&pin);
        match rng.random_range(0..3) {
            0 => drop(table.remove(Exact::of(&KeyBuf::from_int(key)), &writer)),
            _ => {
                let object = Term::tuple(vec![Term::Int(key), Term::Int(n << 40)]);
                table.insert_one(record_of(&object, 1).expect("a record"), &writer);
            }
        }
    }
}

/// Asserts that no cell is left, and nothing retained.
fn settled(table: &Hashed) {
    let (mut entries, all) = (
        Vec::new(),
        (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded),
    );
    table.index.scan(all, usize::MAX, &pin(), &mut entries);
    assert_eq!(entries.len(), table.len());
    let cells = entries.iter().filter(|slot| slot.resolved().is_none());
    assert_eq!(cells.count(), 0, "of {} keys", entries.len());
    assert_eq!(table.snapshots.retained(), (0, 0));
}

#[test]
fn keys_that_came_beside_a_snapshot_are_plain_afterwards() {
    let table = table();
    let snapshot = take(&table);
    write(&table, 300, 1);
    end(&table, &snapshot);
    settled(&table);
}

/// Each of the later ones leaves keys behind, which wait for the first.
#[test]
fn keys_that_were_left_behind_are_plain_afterwards() {
    let table = table();
    let first = take(&table);
    for seed in 0..5 {
        let later = take(&table);
        write(&table, 300, seed);
        end(&table, &later);
        write(&table, 50, seed);
    }
    end(&table, &first);
    settled(&table);
}

#[test]
fn writers_at_once_leave_nothing_either() {
    for round in 0..20 {
        let table = table();
        let first = take(&table);
        scope(|scope| {
            for seed in [1, 2] {
                let table = &table;
                scope.spawn(move || write(table, 40, 2 * round + seed));
            }
            let later = take(&table);
            write(&table, 40, 100 + round);
            end(&table, &later);
        });
        end(&table, &first);
        settled(&table);
    }
}
