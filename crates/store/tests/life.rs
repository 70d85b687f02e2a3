//! A table's life is linearizable: a table is deleted, renamed, given away or closed to others for all callers at one
//! moment.
//!
//! Each rule is tried with threads that stop at any instruction (see `stall`), in so many rounds that it failed each
//! time when the store did not keep it; and where a caller's own code runs in the middle of an operation, step by step.

mod stall;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use fyris::{
    AsKey, AsObject, Error, Object, ObjectWriter, Options, Owner, ProcessId, Protection, Result,
    Setting, Store, Table,
};
use fyris_term::key::KeyBuf;
use fyris_term::{Atom, Term};

fn atom(name: &str) -> Atom {
    Atom::new(name).expect("an atom")
}

fn object(key: i64, value: i64) -> Term {
    Term::tuple(vec![Term::Int(key), Term::Int(value)])
}

fn value(table: &Table) -> Option<i64> {
    let pin = fyris::pin();
    let object = table.get(&1, &pin).expect("the owner may")?;
    match object.element(2) {
        Some(Term::Int(value)) => Some(value),
        other => panic!("{other:?}"),
    }
}

fn protect(table: &Table, protection: Protection) {
    table
        .setopts(&[Setting::Protection(protection)])
        .expect("the owner may");
}

/// Asserts that no thread writes any more: the present value is there a while later.
fn assert_quiet(table: &Table, what: &str) {
    let before = value(table);
    for _ in 0..20 {
        thread::yield_now();
        assert_eq!(value(table), before, "{what}");
    }
}

/// Runs `other` again and again on two stalled threads, which get a number that never repeats, while `main` runs its
/// rounds on a third.
fn beside(rounds: usize, other: impl Fn(i64) + Sync, mut main: impl FnMut(usize)) {
    struct Halt<'a>(&'a AtomicBool);
    impl Drop for Halt<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (stop, number) = (AtomicBool::new(false), AtomicI64::new(1));
    stall::with_stalls(|| {
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let _stalled = stall::join();
                    while !stop.load(Ordering::Relaxed) {
                        other(number.fetch_add(1, Ordering::Relaxed));
                    }
                });
            }
            let _halt = Halt(&stop);
            let _stalled = stall::join();
            (0..rounds).for_each(&mut main);
        });
    });
}

/// Makes another caller of a table.
fn guest(store: &Store, table: &Table) -> (Owner, Table) {
    let other = store.owner();
    let guest = other.table(table.id()).expect("it is there");
    (other, guest)
}

#[test]
fn who_has_found_a_table_gone_finds_no_trace_of_it() {
    const ROUNDS: usize = 400;
    let store = Store::new();
    let owner = store.owner();
    let name = atom("life_deleted");
    let options = Options::set().named().public();
    let barrier = Barrier::new(2);
    stall::with_stalls(|| {
        thread::scope(|s| {
            s.spawn(|| {
                let _stalled = stall::join();
                for _ in 0..ROUNDS {
                    barrier.wait();
                    let table = owner.table(name).expect("it is there");
                    barrier.wait();
                    table.delete().expect("its owner may");
                    barrier.wait();
                }
            });
            let _stalled = stall::join();
            let me = store.owner();
            for round in 0..ROUNDS {
                let table = owner.new_table("life_deleted", &options).expect("free");
                let id = table.id();
                barrier.wait();
                barrier.wait();
                while table.member(&1).is_ok() {}
                match round % 4 {
                    0 => assert_eq!(store.whereis(name), None),
                    1 => assert!(me.table(name).is_err() && me.table(id).is_err()),
                    2 => {
                        let fresh = me.open("life_deleted", &options).expect("made anew");
                        assert_ne!(fresh.id(), id);
                        fresh.insert(&object(1, 1)).expect("alive");
                        fresh.delete().expect("its owner may");
                    }
                    _ => {
                        let fresh = me.new_table("life_deleted", &options);
                        fresh
                            .expect("the name is free")
                            .delete()
                            .expect("its owner may");
                    }
                }
                barrier.wait();
            }
        });
    });
}

#[test]
fn a_renamed_table_has_one_name_at_every_moment() {
    const ROUNDS: u64 = 80;
    let store = Store::new();
    let owner = store.owner();
    // Each in another chunk of the directory of names, so that much happens where it is entered.
    let name = |round| {
        for i in 0..1100 {
            atom(&format!("life_{round}_{i}"));
        }
        atom(&format!("life_{round}"))
    };
    let names: Vec<Atom> = (0..=ROUNDS).map(name).collect();
    let options = Options::set().named().public();
    let table = owner.new_table(names[0].as_str(), &options).expect("free");
    // The number of renames asked for, and how many of them the other has seen.
    let (asked, seen) = (AtomicU64::new(0), AtomicU64::new(0));
    stall::with_stalls(|| {
        thread::scope(|s| {
            s.spawn(|| {
                let _stalled = stall::join();
                for round in 0..ROUNDS {
                    asked.store(round + 1, Ordering::SeqCst);
                    let new = names[round as usize + 1];
                    table.rename(new).expect("free");
                    while seen.load(Ordering::SeqCst) <= round {
                        thread::yield_now();
                    }
                }
            });
            let _stalled = stall::join();
            for round in 0..ROUNDS {
                let (old, new) = (names[round as usize], names[round as usize + 1]);
                while asked.load(Ordering::SeqCst) <= round {
                    thread::yield_now();
                }
                // Asked for by the one, it may have been renamed before it is asked for by the other, but once only.
                let failure = loop {
                    let (by_new, by_old) = (store.whereis(new), store.whereis(old));
                    if by_new.is_some() && by_old.is_some() {
                        break Some("two names");
                    }
                    if by_old.is_none() {
                        let there = store.whereis(new) == Some(table.id());
                        break (!there).then_some("no name");
                    }
                };
                seen.store(round + 1, Ordering::SeqCst);
                assert_eq!(failure, None, "in round {round}");
            }
        });
    });
}

#[test]
fn nothing_is_written_through_a_name_that_was_given_up() {
    let store = Store::new();
    let owner = store.owner();
    let (old, new) = (atom("life_old"), atom("life_new"));
    let table = owner
        .new_table("life_old", &Options::set().named().public())
        .expect("free");
    let other = store.owner();
    let write = |number| {
        let pin = fyris::pin();
        if let Ok(table) = store.borrow(other.id(), old, &pin) {
            // The name may go between the two.
            let _ = table.insert_object(&object(1, number), &pin);
        }
    };
    beside(500, write, |_| {
        table.rename(new).expect("free");
        assert_quiet(&table, "written by its old name");
        table.rename(old).expect("free");
        thread::yield_now();
    });
}

#[test]
fn nobody_else_writes_to_a_table_that_was_made_private() {
    let store = Store::new();
    let owner = store.owner();
    let table = owner
        .new_table("t", &Options::set().public())
        .expect("a table");
    let (_other, guest) = guest(&store, &table);
    let write = |number| drop(guest.insert(&object(1, number)));
    beside(500, write, |_| {
        protect(&table, Protection::Private);
        assert_quiet(&table, "written by another");
        protect(&table, Protection::Public);
        thread::yield_now();
    });
}

#[test]
fn nobody_else_reads_what_was_only_there_while_a_table_was_private() {
    const SECRET: i64 = -1;
    let store = Store::new();
    let owner = store.owner();
    for options in [Options::set(), Options::ordered_set()] {
        let table = owner.new_table("t", &options.public()).expect("a table");
        table.insert(&object(1, 0)).expect("the owner may");
        let (_other, guest) = guest(&store, &table);
        let read = |_| {
            let seen = guest.lookup_element(&Term::Int(1), 2);
            assert_ne!(seen.ok().and_then(|e| e.one()), Some(Term::Int(SECRET)));
        };
        beside(500, read, |_| {
            protect(&table, Protection::Private);
            table.insert(&object(1, SECRET)).expect("the owner may");
            thread::yield_now();
            table.insert(&object(1, 0)).expect("the owner may");
            protect(&table, Protection::Public);
            thread::yield_now();
        });
    }
}

#[test]
fn who_has_given_a_table_away_writes_to_it_no_more() {
    let store = Store::new();
    let (one, two) = (store.owner(), store.owner());
    let table = one.new_table("t", &Options::set()).expect("a table");
    let theirs = two.table(table.id()).expect("it is there");
    let write = |number| drop(table.insert(&object(1, number)));
    beside(500, write, |_| {
        table.give_away(two.id(), Term::Int(0)).expect("owned");
        assert_quiet(&theirs, "written by its old owner");
        theirs.give_away(one.id(), Term::Int(0)).expect("owned");
        thread::yield_now();
    });
}

/// An object that does something while it is being written.
struct Slow<F>(F);

impl<F: Fn()> AsObject for Slow<F> {
    fn write(&self, keypos: usize, out: &mut ObjectWriter<'_>) -> Result<usize> {
        (self.0)();
        object(1, 7).write(keypos, out)
    }
}

/// An object is made before its write begins: no change waits for it.
#[test]
fn no_change_waits_for_an_object_that_is_being_made() {
    let store = Store::new();
    let owner = store.owner();
    let options = Options::set().public();
    let table = owner.new_table("t", &options).expect("a table");
    let (begun, released) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|s| {
        s.spawn(|| {
            let slow = Slow(|| {
                begun.wait();
                released.wait();
            });
            let theirs = table.for_caller(ProcessId(7));
            assert!(theirs.insert_object(&slow, &fyris::pin()).is_err());
        });
        begun.wait();
        protect(&table, Protection::Protected);
        released.wait();
    });
    assert!(table.is_empty());
}

/// A change that takes rights away comes after the write that was admitted before it, however long that takes, and
/// before the one that is not.
#[test]
fn a_change_waits_for_the_write_under_way() {
    type Change = fn(&Table, &Owner);
    let changes: [Change; 3] = [
        |table, _| protect(table, Protection::Private),
        |table, _| {
            table.rename(atom("life_slow_new")).expect("free");
        },
        |table, heir| {
            table.give_away(heir.id(), Term::Int(0)).expect("owned");
        },
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let store = Store::new();
        let (owner, other) = (store.owner(), store.owner());
        let options = Options::set().named();
        let options = if at == 2 { options } else { options.public() };
        let table = owner.new_table("life_slow", &options).expect("free");
        table.insert(&object(1, 7)).expect("the owner may");
        let writer = if at == 2 { owner.id() } else { other.id() };
        let (begun, released) = (Barrier::new(2), Barrier::new(2));
        let is_changed = AtomicBool::new(false);
        thread::scope(|s| {
            let write = s.spawn(|| {
                let pin = fyris::pin();
                let by_name = store.borrow(writer, atom("life_slow"), &pin);
                let slow = |_: Object<'_>| {
                    begun.wait();
                    released.wait();
                    assert!(!is_changed.load(Ordering::SeqCst), "change {at}");
                    true
                };
                let by_name = by_name.expect("it is there");
                by_name.delete_of_key(&KeyBuf::from_int(1), &[], slow)
            });
            begun.wait();
            let changed = s.spawn(|| {
                change(&table, &other);
                is_changed.store(true, Ordering::SeqCst);
                assert_eq!(table.info().map(|info| info.size), Some(0));
            });
            thread::sleep(Duration::from_millis(30));
            // A read does not wait, and the table is what it was. Another write by the old right waits its turn.
            assert!(
                store
                    .borrow(other.id(), atom("life_slow"), &fyris::pin())
                    .is_ok()
            );
            assert_eq!(table.member(&1), Ok(true));
            let late = s.spawn(|| {
                let pin = fyris::pin();
                let by_name = store.borrow(writer, atom("life_slow"), &pin)?;
                by_name.insert_object(&object(2, 0), &pin)
            });
            thread::sleep(Duration::from_millis(30));
            released.wait();
            assert_eq!(write.join().expect("no panic"), Ok(1), "change {at}");
            changed.join().expect("no panic");
            assert!(late.join().expect("no panic").is_err(), "change {at}");
        });
    }
}

/// A key that does something while it is being looked up.
struct SlowKey<F>(F);

impl<F: Fn()> AsKey for SlowKey<F> {
    fn with<R>(&self, f: impl FnOnce(&KeyBuf) -> R) -> R {
        (self.0)();
        1.with(f)
    }
}

/// Between the look at the right to read and the read itself, the right is lost.
#[test]
fn a_read_looks_twice() {
    let store = Store::new();
    let owner = store.owner();
    let options = Options::set().named().public();
    let table = owner.new_table("life_twice", &options).expect("free");
    let other = store.owner();
    table.insert(&object(1, 0)).expect("the owner may");
    let pin = fyris::pin();
    let by_name = store
        .borrow(other.id(), atom("life_twice"), &pin)
        .expect("it is there");
    let closed = SlowKey(|| {
        protect(&table, Protection::Private);
        table.insert(&object(1, 1)).expect("the owner may");
    });
    let refused = by_name.get(&closed, &pin).map(|_| ());
    assert!(matches!(refused, Err(Error::NoAccess { .. })));
    protect(&table, Protection::Public);
    let renamed = SlowKey(|| {
        let _ = table.rename(atom("life_other"));
        table.insert(&object(1, 2)).expect("the owner may");
    });
    let refused = by_name.get(&renamed, &pin).map(|_| ());
    assert!(matches!(refused, Err(Error::NoSuchTable(_))));
    // An object that may still be read is read as it is after the change.
    let once = AtomicBool::new(true);
    let opened = SlowKey(|| {
        if once.swap(false, Ordering::Relaxed) {
            protect(&table, Protection::Protected);
            table.insert(&object(1, 3)).expect("the owner may");
        }
    });
    let (_other, guest) = guest(&store, &table);
    let found = guest.get(&opened, &pin).expect("may read");
    assert_eq!(found.and_then(|o| o.element(2)), Some(Term::Int(3)));
}

/// Several settings are one change: a process that is no owner any more sets none of them.
#[test]
fn settings_are_set_together() {
    let store = Store::new();
    let (owner, other) = (store.owner(), store.owner());
    let table = owner.new_table("t", &Options::set()).expect("a table");
    let both = [
        Setting::Heir(Some((other.id(), None))),
        Setting::Protection(Protection::Private),
    ];
    table.setopts(&both).expect("the owner may");
    let info = table.info().expect("it is there");
    assert_eq!(
        (info.heir, info.protection),
        (Some(other.id()), Protection::Private)
    );
    table.give_away(other.id(), Term::Int(0)).expect("owned");
    assert_eq!(
        table.setopts(&[Setting::Heir(None), Setting::Protection(Protection::Public)]),
        Err(Error::NotOwner)
    );
    let info = table.info().expect("it is there");
    assert_eq!(
        (info.heir, info.protection),
        (Some(other.id()), Protection::Private)
    );
}

/// Fixing comes after a delete that may not have seen it, however long that takes.
#[test]
fn fixing_waits_for_the_delete_under_way() {
    let store = Store::new();
    let owner = store.owner();
    let table = owner.new_table("t", &Options::set()).expect("a table");
    table.insert(&object(1, 7)).expect("the owner may");
    let (begun, released) = (Barrier::new(2), Barrier::new(2));
    let is_fixed = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            let slow = |_: Object<'_>| {
                begun.wait();
                released.wait();
                assert!(!is_fixed.load(Ordering::SeqCst));
                true
            };
            let deleted = table.delete_of_key(&KeyBuf::from_int(1), &[], slow);
            assert_eq!(deleted, Ok(1));
        });
        begun.wait();
        s.spawn(|| {
            table.safe_fixtable(true).expect("the owner may");
            is_fixed.store(true, Ordering::SeqCst);
            assert_eq!(table.member(&1), Ok(false));
        });
        thread::sleep(Duration::from_millis(30));
        released.wait();
    });
}

/// Walks over a fixed table beside deletes: what was the next key a moment ago can be gone on from.
fn walk_beside(options: Options, rounds: usize, delete: impl Fn(&Table, i64) + Sync) {
    const KEYS: i64 = 8;
    let store = Store::new();
    let owner = store.owner();
    let table = owner.new_table("t", &options.public()).expect("a table");
    let (_other, guest) = guest(&store, &table);
    let write = |number: i64| {
        (0..KEYS).for_each(|key| guest.insert(&object(key, 0)).expect("public"));
        delete(&guest, number % KEYS);
    };
    beside(rounds, write, |_| {
        while table.is_empty() {
            thread::yield_now();
        }
        table.safe_fixtable(true).expect("public");
        let mut key = table.first().expect("public");
        while let Some(this) = key {
            thread::yield_now();
            key = table.next(&this).expect("it was there in this walk");
        }
        table.safe_fixtable(false).expect("public");
    });
}

#[test]
fn a_walk_over_a_fixed_table_goes_on_while_all_is_deleted() {
    walk_beside(Options::set(), 300, |table, _| {
        table.delete_all_objects().expect("public");
    });
}

#[test]
fn a_walk_over_a_fixed_table_goes_on_beside_single_deletes() {
    walk_beside(Options::bag(), 300, |table, key| {
        table.delete_key(&key).expect("public");
        drop(table.take(&Term::Int((key + 1) % 8)).expect("public"));
    });
}
