//! Snapshots under every interleaving: `ci/loom.sh`.

use std::sync::Arc;

use fyris_index::{Entry, Index};
use fyris_sync::reclaim::{LocalGuard, check, pin};
use fyris_sync::thread::spawn;

use super::live_snapshots::LiveSnapshot;
use crate::ids::TableType;
use crate::key_kind::{Exact, KeyKind, Order};
use crate::model::{self, Table, beside, key, look, record, value, values};
use crate::slot::{Before, Slot};
use crate::writer::Writer;

/// A snapshot of a table that is versioned from its beginning.
pub(crate) struct Shot {
    pub(crate) listed: Arc<LiveSnapshot>,
    pub(crate) place: u64,
}

impl Shot {
    pub(crate) fn take<K: KeyKind>(table: &Table<K>) -> Shot
    where
        Slot<K>: Entry<Key = K::Key>,
    {
        Shot::take_under(table, &pin())
    }

    fn take_under<K: KeyKind>(table: &Table<K>, pin: &LocalGuard) -> Shot
    where
        Slot<K>: Entry<Key = K::Key>,
    {
        let listed = LiveSnapshot::new();
        let enter = || {
            table.snapshots.enter(&listed, pin);
            Box::from([listed.clone()])
        };
        let place = table.commits.log.begin(enter, pin);
        Shot { listed, place }
    }

    /// Returns the values under one key.
    pub(crate) fn look<K: KeyKind>(&self, table: &Table<K>, of: i64) -> Vec<i64>
    where
        Slot<K>: Entry<Key = K::Key>,
    {
        self.look_under(table, of, &pin())
    }

    fn look_under<K: KeyKind>(&self, table: &Table<K>, of: i64, pin: &LocalGuard) -> Vec<i64>
    where
        Slot<K>: Entry<Key = K::Key>,
    {
        let found = table.get_at(K::of(&key(of)), Before(self.place), pin);
        values(table, found)
    }

    pub(crate) fn end<K: KeyKind>(self, table: &Table<K>)
    where
        Slot<K>: Entry<Key = K::Key>,
    {
        let garbage = table.snapshots.leave(&self.listed, &pin());
        garbage.into_iter().for_each(|list| table.free_dead(list));
    }
}

/// Returns a table with 0 under both keys, or without any.
pub(crate) fn table<K: KeyKind>(there: bool) -> Arc<Table<K>>
where
    Slot<K>: Entry<Key = K::Key>,
{
    model::table(TableType::Set, there.then_some(0))
}

pub(crate) fn put<K: KeyKind>(table: &Table<K>, key: i64, value: i64)
where
    Slot<K>: Entry<Key = K::Key>,
{
    table.insert_one(record(key, value), &Writer::versioned(&pin()));
}

pub(crate) fn put_new(table: &Table, key: i64, value: i64) -> bool {
    table.insert_new_one(record(key, value), &Writer::versioned(&pin()))
}

/// Takes a key out; returns what it held.
pub(crate) fn delete<K: KeyKind>(table: &Table<K>, of: i64) -> Option<i64>
where
    Slot<K>: Entry<Key = K::Key>,
{
    let pin = pin();
    let gone = table.remove(K::of(&key(of)), &Writer::versioned(&pin));
    gone.map(|content| value(table, content))
}

fn insert_list(table: &Table, value: i64) {
    let pin = pin();
    assert!(model::insert_list(
        table,
        value,
        false,
        &Writer::versioned(&pin)
    ));
}

fn insert_new_list(table: &Table, value: i64) -> bool {
    let pin = pin();
    model::insert_list(table, value, true, &Writer::versioned(&pin))
}

/// Asserts that nothing is left of snapshots which have ended, and that the keys hold these.
fn settled<K: KeyKind>(table: &Table<K>, first: &[i64], second: &[i64])
where
    Slot<K>: Entry<Key = K::Key>,
{
    let is_plain = |slot: Slot<K>| slot.resolved().is_some();
    assert!(table.index.entries().all(is_plain), "a cell is left");
    assert_eq!([look(table, 1), look(table, 2)], [first, second]);
    assert_eq!(table.snapshots.retained(), (0, 0));
    assert!(table.graves.as_ref().is_none_or(Index::is_empty));
    assert_eq!(table.len(), first.len() + second.len());
}

/// Takes a snapshot that shows what `seen` says of the first key, or something newer, and the same twice.
fn take_after(table: &Table, seen: &[i64]) {
    let shot = Shot::take(table);
    let first = shot.look(table, 1);
    assert!(*first >= *seen, "{seen:?} was read, then {first:?}");
    assert_eq!(shot.look(table, 1), first);
    shot.end(table);
}

#[test]
fn a_snapshot_sees_what_was_read_before() {
    check(|| {
        let table = table::<Exact>(true);
        let read = |table: &Table| take_after(table, &look(table, 1));
        beside(&table, &[read], |table| put(table, 1, 1));
        settled(&table, &[1], &[0]);
    });
}

/// A pin in between orders what only a fence of the beginning does.
#[test]
fn who_begins_a_snapshot_reads_it_under_the_same_pin() {
    check(|| {
        let table = table::<Exact>(true);
        let writer = {
            let table = table.clone();
            spawn(move || put(&table, 1, 1))
        };
        let pin = pin();
        let shot = Shot::take_under(&table, &pin);
        let first = shot.look_under(&table, 1, &pin);
        drop(pin);
        writer.join().unwrap();
        assert_eq!(shot.look(&table, 1), first);
        shot.end(&table);
        settled(&table, &[1], &[0]);
    });
}

/// A write that is slow is passed by another, and by a reader who sees that without it; then by a snapshot.
#[test]
fn writes_and_snapshots_have_one_order() {
    check(|| {
        let table = table::<Exact>(true);
        let first: fn(&Table) -> Vec<i64> = |table| {
            put(table, 1, 1);
            look(table, 1)
        };
        let second: fn(&Table) -> Vec<i64> = |table| {
            put(table, 2, 1);
            look(table, 1)
        };
        let others = [first, second].map(|f| {
            let table = table.clone();
            spawn(move || f(&table))
        });
        let shot = Shot::take(&table);
        let (first, second) = (shot.look(&table, 1), shot.look(&table, 2));
        shot.end(&table);
        let [_, seen] = others.map(|other| other.join().unwrap());
        assert!(seen == [1] || first == [0] || second == [1]);
        settled(&table, &[1], &[1]);
    });
}

#[test]
fn who_finds_a_key_there_has_it_stamped() {
    check(|| {
        let table = table::<Exact>(false);
        let write = |table: &Table| put(table, 1, 1);
        beside(&table, &[write], |table| {
            if !put_new(table, 1, 1) {
                take_after(table, &[1]);
            }
        });
        settled(&table, &[1], &[]);
    });
}

fn who_finds_a_key_gone_has_that_stamped_in<K: KeyKind>()
where
    Slot<K>: Entry<Key = K::Key>,
{
    check(|| {
        let table = table::<K>(true);
        let write = |table: &Table<K>| {
            delete(table, 1);
        };
        beside(&table, &[write], |table| {
            let gone = delete(table, 1);
            let shot = Shot::take(table);
            assert!(shot.look(table, 1).is_empty(), "{gone:?}");
            shot.end(table);
        });
        settled(&table, &[], &[0]);
    });
}

#[test]
fn who_finds_a_key_gone_has_that_stamped() {
    who_finds_a_key_gone_has_that_stamped_in::<Exact>();
}

#[test]
fn in_order_who_finds_a_key_gone_has_that_stamped() {
    who_finds_a_key_gone_has_that_stamped_in::<Order>();
}

/// A list of new keys is aborted by who puts one of them in, and who is told of that may be faster than the write.
#[test]
fn what_aborts_a_list_is_stamped_before_that_is_told() {
    check(|| {
        let table = table::<Exact>(false);
        let write = |table: &Table| {
            put_new(table, 1, 2);
        };
        beside(&table, &[write], |table| {
            if !insert_new_list(table, 1) {
                take_after(table, &[2]);
            }
        });
    });
}

#[test]
fn a_snapshot_sees_a_list_or_nothing_of_it() {
    check(|| {
        let table = table::<Exact>(true);
        let write = |table: &Table| insert_list(table, 1);
        beside(&table, &[write], |table| {
            let shot = Shot::take(table);
            let both = || [2, 1].map(|key| shot.look(table, key));
            let [second, first] = both();
            assert_eq!(first, second);
            assert_eq!(both(), [second, first]);
            shot.end(table);
        });
        settled(&table, &[1], &[1]);
    });
}

/// A write comes after a snapshot that has not got so far as to say that it has its place.
#[test]
fn what_a_snapshot_sees_is_kept_from_its_place_on() {
    check(|| {
        let table = table::<Exact>(true);
        let writer = {
            let table = table.clone();
            spawn(move || put(&table, 1, 1))
        };
        let shot = Shot::take(&table);
        writer.join().unwrap();
        let seen = shot.look(&table, 1);
        assert!(seen == [0] || seen == [1]);
        shot.end(&table);
        settled(&table, &[1], &[0]);
    });
}

#[test]
fn a_key_that_comes_was_not_there() {
    check(|| {
        let table = table::<Exact>(false);
        let shot = Shot::take(&table);
        let writer = {
            let table = table.clone();
            spawn(move || [1, 2].map(|value| put(&table, 1, value)))
        };
        assert!(shot.look(&table, 1).is_empty());
        writer.join().unwrap();
        assert!(shot.look(&table, 1).is_empty());
        shot.end(&table);
        settled(&table, &[2], &[]);
    });
}

fn a_key_that_goes_and_comes_is_as_it_was_in<K: KeyKind>()
where
    Slot<K>: Entry<Key = K::Key>,
{
    check(|| {
        let table = table::<K>(true);
        let shot = Shot::take(&table);
        let writer = {
            let table = table.clone();
            spawn(move || {
                assert_eq!(delete(&table, 1), Some(0));
                put(&table, 1, 1);
            })
        };
        assert_eq!(shot.look(&table, 1), [0]);
        assert_eq!(shot.look(&table, 1), [0]);
        shot.end(&table);
        writer.join().unwrap();
        settled(&table, &[1], &[0]);
    });
}

#[test]
fn a_key_that_goes_and_comes_is_as_it_was() {
    a_key_that_goes_and_comes_is_as_it_was_in::<Exact>();
}

#[test]
fn in_order_a_key_that_goes_and_comes_is_as_it_was() {
    a_key_that_goes_and_comes_is_as_it_was_in::<Order>();
}

/// Two snapshots with a write between them, and another write while the one or the other ends.
fn one_of_two_ends(ending: usize) {
    check(move || {
        let table = table::<Exact>(true);
        let mut shots: Vec<_> = [0, 1]
            .map(|seen| {
                let shot = Shot::take(&table);
                put(&table, 1, seen + 1);
                (shot, seen)
            })
            .into();
        let writer = {
            let table = table.clone();
            spawn(move || [1, 2].map(|key| put(&table, key, 3)))
        };
        let (shot, seen) = shots.remove(ending);
        assert_eq!(shot.look(&table, 1), [seen]);
        shot.end(&table);
        let (shot, seen) = shots.remove(0);
        assert_eq!(shot.look(&table, 1), [seen]);
        writer.join().unwrap();
        assert_eq!([1, 2].map(|key| shot.look(&table, key)), [[seen], [0]]);
        shot.end(&table);
        settled(&table, &[3], &[3]);
    });
}

#[test]
fn the_older_of_two_snapshots_ends() {
    one_of_two_ends(0);
}

#[test]
fn the_newer_of_two_snapshots_ends() {
    one_of_two_ends(1);
}

#[test]
fn two_snapshots_begin_at_once() {
    check(|| {
        let table = table::<Exact>(true);
        let other = |table: &Table| {
            put(table, 1, 1);
            let shot = Shot::take(table);
            put(table, 1, 2);
            assert_eq!(shot.look(table, 1), [1]);
            assert_eq!(shot.look(table, 1), [1]);
            shot.end(table);
        };
        beside(&table, &[other], |table| take_after(table, &[0]));
        settled(&table, &[2], &[0]);
    });
}

/// One is passed by the other, and by a write that only the first sees.
#[test]
fn two_snapshots_are_listed_in_their_order() {
    check(|| {
        let table = table::<Exact>(true);
        let other = {
            let table = table.clone();
            spawn(move || {
                let shot = Shot::take(&table);
                put(&table, 1, 1);
                shot
            })
        };
        let shot = Shot::take(&table);
        let seen = shot.look(&table, 1);
        put(&table, 1, 2);
        assert_eq!(shot.look(&table, 1), seen);
        let other = other.join().unwrap();
        other.end(&table);
        assert_eq!(shot.look(&table, 1), seen);
        shot.end(&table);
        let last = look(&table, 1);
        settled(&table, &last, &[0]);
    });
}

/// A key that goes while a snapshot begins that was slow.
fn a_key_goes_while_a_snapshot_begins_in<K: KeyKind>()
where
    Slot<K>: Entry<Key = K::Key>,
{
    check(|| {
        let table = table::<K>(true);
        let other = |table: &Table<K>| {
            let shot = Shot::take(table);
            let first = shot.look(table, 1);
            assert_eq!(shot.look(table, 1), first);
            shot.end(table);
        };
        beside(&table, &[other], |table| {
            let shot = Shot::take(table);
            put(table, 1, 1);
            delete(table, 1);
            assert_eq!(shot.look(table, 1), [0]);
            assert!(look(table, 1).is_empty());
            shot.end(table);
        });
        settled(&table, &[], &[0]);
    });
}

#[test]
fn a_key_goes_while_a_snapshot_begins() {
    a_key_goes_while_a_snapshot_begins_in::<Exact>();
}

#[test]
fn in_order_a_key_goes_while_a_snapshot_begins() {
    a_key_goes_while_a_snapshot_begins_in::<Order>();
}

/// A snapshot serves again, or another is taken: either shows what was read before.
#[test]
fn a_snapshot_that_serves_again_shows_the_present() {
    check(|| {
        let table = table::<Exact>(true);
        let shot = Shot::take(&table);
        let other = {
            let (table, place) = (table.clone(), shot.place);
            spawn(move || {
                let seen = look(&table, 1);
                let is_still = table.commits.log.is_still(place);
                assert!(seen == [0] || !is_still);
            })
        };
        put(&table, 1, 1);
        assert!(!table.commits.log.is_still(shot.place));
        other.join().unwrap();
        shot.end(&table);
        settled(&table, &[1], &[0]);
    });
}

/// A snapshot sees a key in the index or in the graves, while it moves from the one to the other, and comes and goes
/// again.
#[test]
fn a_buried_key_is_seen_all_the_time() {
    check(|| {
        let table = table::<Order>(true);
        let shot = Shot::take(&table);
        let writer = {
            let table = table.clone();
            spawn(move || {
                delete(&table, 1);
                put(&table, 1, 1);
                delete(&table, 1);
            })
        };
        assert_eq!(shot.look(&table, 1), [0]);
        assert_eq!(shot.look(&table, 1), [0]);
        writer.join().unwrap();
        assert_eq!(shot.look(&table, 1), [0]);
        shot.end(&table);
        settled(&table, &[], &[0]);
    });
}

/// The older and the newer history of a key, each seen by a snapshot of its own, when one of these ends.
fn buried_twice(ending: usize) {
    check(move || {
        let table = table::<Order>(true);
        let first = Shot::take(&table);
        delete(&table, 1);
        put(&table, 1, 1);
        let mut shots = vec![(first, 0), (Shot::take(&table), 1)];
        let writer = {
            let table = table.clone();
            spawn(move || delete(&table, 1))
        };
        shots.remove(ending).0.end(&table);
        let (shot, seen) = shots.remove(0);
        assert_eq!(shot.look(&table, 1), [seen]);
        writer.join().unwrap();
        assert_eq!(shot.look(&table, 1), [seen]);
        shot.end(&table);
        settled(&table, &[], &[0]);
    });
}

#[test]
fn the_older_history_of_a_buried_key_goes() {
    buried_twice(0);
}

#[test]
fn the_newer_history_of_a_buried_key_goes() {
    buried_twice(1);
}
