//! Tests of what threads see of each other.

mod common;
mod stall;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use common::{int, tuple};
use fyris::{CounterOp, MatchSpec, Options, Protection, Setting, Store, Table};
use fyris_term::Term;

fn pair(key: i64, value: i64) -> Term {
    tuple([int(key), int(value)])
}

/// Stops the other threads when it goes, also by a failed assertion.
struct Halt<'a>(&'a AtomicBool);

impl Drop for Halt<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns both default indexes, keys that are told apart exactly in the tree, and indexes behind a pointer.
fn tables() -> Vec<Table> {
    let owner = Box::leak(Box::new(common::store().owner()));
    let table = |o: Options| owner.new_table("t", &o.public()).unwrap();
    vec![
        table(Options::set()),
        table(Options::ordered_set()),
        table(Options::set().index("ordered")),
        table(Options::set().index("btree")),
        table(Options::set().index("split_ordered")),
        table(Options::set().index("michael_hash")),
        table(Options::set().index("linear_hash")),
        table(Options::ordered_set().index("btree")),
        table(Options::ordered_set().index("avl")),
        table(Options::set().index("ca_treap")),
        table(Options::ordered_set().index("ca_avl")),
        table(Options::set().index("skip_list")),
        table(Options::ordered_set().index("skip_list")),
        table(Options::set().index("relaxed_avl")),
        table(Options::ordered_set().index("relaxed_avl")),
        table(Options::set().index("judyeh")),
        table(Options::ordered_set().index("judysl")),
        table(Options::ordered_set().index("judyesl")),
    ]
}

/// Each object that is inserted is counted by one of those who delete all at once, or taken, or still there.
#[test]
fn what_is_deleted_at_once_is_counted_once() {
    const EACH: i64 = 300;
    const ROUNDS: usize = 40;
    let all = MatchSpec::new(&Term::parse("[{'_', [], [true]}]").unwrap()).unwrap();
    for table in &tables()[..4] {
        for round in 0..ROUNDS {
            let (gone, inserting) = (AtomicUsize::new(0), AtomicUsize::new(2));
            let count = |n| _ = gone.fetch_add(n, Ordering::Relaxed);
            thread::scope(|s| {
                for from in [0, EACH] {
                    let inserting = &inserting;
                    s.spawn(move || {
                        let objects: Vec<_> = (from..from + EACH).map(|key| pair(key, 0)).collect();
                        match from {
                            0 => objects
                                .iter()
                                .for_each(|object| table.insert(object).unwrap()),
                            // Each list takes more than one step.
                            _ => (objects.chunks(100))
                                .for_each(|list| table.insert_list(list).unwrap()),
                        }
                        inserting.fetch_sub(1, Ordering::Relaxed);
                    });
                }
                s.spawn(|| {
                    (0..2 * EACH).for_each(|key| count(table.take(&int(key)).unwrap().len()))
                });
                for _ in 0..2 {
                    s.spawn(|| {
                        while inserting.load(Ordering::Relaxed) > 0 {
                            count(table.select_delete(&all).unwrap());
                        }
                    });
                }
            });
            count(table.select_delete(&all).unwrap());
            assert_eq!(
                gone.into_inner(),
                2 * EACH as usize,
                "round {round} of {table:?}"
            );
        }
    }
}

/// Lists with the same keys, in a table that is emptied over and over and changes its protection: none waits for one
/// that waits for it.
#[test]
fn lists_end_beside_whatever_changes_the_table() {
    const EACH: usize = if cfg!(fyris_small) { 50 } else { 300 };
    let list: Vec<_> = (0..200).map(|key| pair(key, 1 << 50)).collect();
    for table in &tables()[..4] {
        let inserting = AtomicUsize::new(3);
        thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    (0..EACH).for_each(|_| table.insert_list(&list).unwrap());
                    inserting.fetch_sub(1, Ordering::Relaxed);
                });
            }
            s.spawn(|| {
                while inserting.load(Ordering::Relaxed) > 0 {
                    table.delete_all_objects().unwrap();
                }
            });
            s.spawn(|| {
                while inserting.load(Ordering::Relaxed) > 0 {
                    let public = [Setting::Protection(Protection::Public)];
                    table.setopts(&public).unwrap();
                    thread::yield_now();
                }
            });
        });
        let left = table.len();
        assert!(left == 0 || left == list.len() || table.table_type().is_bag());
    }
}

#[test]
fn a_list_is_inserted_all_at_once() {
    const KEYS: i64 = 5;
    const ROUNDS: i64 = 2000;
    for table in tables() {
        table
            .insert_list(&(0..KEYS).map(|k| pair(k, 0)).collect::<Vec<_>>())
            .unwrap();
        let stop = AtomicBool::new(false);
        thread::scope(|s| {
            for round in 0..2 {
                let (table, stop) = (&table, &stop);
                // Readers go up and down the keys: in a list insert a value never falls behind
                // what was read of it through another key.
                s.spawn(move || {
                    let pin = || fyris::pin();
                    while !stop.load(Ordering::Relaxed) {
                        let mut last = 0;
                        for k in 0..KEYS {
                            let k = if round == 0 { k } else { KEYS - 1 - k };
                            let pin = pin();
                            let object = table.get(&k, &pin).unwrap().expect("always there");
                            let Some(Term::Int(value)) = object.element(2) else {
                                panic!()
                            };
                            assert!(value >= last, "key {k} has {value} after {last} was seen");
                            last = value;
                        }
                    }
                });
            }
            let halt = Halt(&stop);
            for value in 1..=ROUNDS {
                let list: Vec<_> = (0..KEYS).map(|k| pair(k, value)).collect();
                table.insert_list(&list).unwrap();
            }
            drop(halt);
        });
        assert_eq!(table.len(), KEYS as usize);
    }
}

#[test]
fn of_two_new_lists_that_share_a_key_one_wins() {
    for table in tables() {
        for round in 0..300 {
            let base = round * 10;
            let wins = AtomicUsize::new(0);
            thread::scope(|s| {
                for me in 0..2 {
                    let (table, wins) = (&table, &wins);
                    s.spawn(move || {
                        // Given in opposite orders: no deadlock. They share one key.
                        let mut list = vec![
                            pair(base + 5, me),
                            pair(base + me, me),
                            pair(base + 7 + me, me),
                        ];
                        if me == 1 {
                            list.reverse();
                        }
                        if table.insert_new_list(&list).unwrap() {
                            wins.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            });
            assert_eq!(wins.into_inner(), 1);
            let winner = table
                .lookup_element(&int(base + 5), 2)
                .unwrap()
                .one()
                .unwrap();
            for me in 0..2 {
                let there = table.member(&(base + me)).unwrap();
                assert_eq!(
                    there,
                    winner == int(me),
                    "all of the winner, nothing of the loser"
                );
            }
        }
        assert_eq!(table.len(), 900);
    }
}

#[test]
fn commits_on_the_same_keys_lose_nothing() {
    // Long lists, so that commits overlap: one that took the other's undecided cell for what was
    // there before would lose the other's objects.
    const KEYS: i64 = 40;
    const LISTS: i64 = 400;
    let owner = Store::new().owner();
    let options = Options::duplicate_bag().public();
    let table = owner.new_table("t", &options).unwrap();
    thread::scope(|s| {
        for t in 0..3i64 {
            let table = &table;
            s.spawn(move || {
                for i in 0..LISTS {
                    let list: Vec<_> = (0..KEYS).map(|k| tuple([int(k), int(t), int(i)])).collect();
                    table.insert_list(&list).unwrap();
                    if i % 20 == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    assert_eq!(table.len(), (3 * KEYS * LISTS) as usize);
    for k in 0..KEYS {
        assert_eq!(table.lookup(&int(k)).unwrap().len(), (3 * LISTS) as usize);
    }
}

#[test]
fn counters_of_all_threads_add_up() {
    for table in tables() {
        table.insert(&pair(1, 0)).unwrap();
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for i in 0..3000i64 {
                        table.update_counter(&int(1), &[CounterOp::add(1)]).unwrap();
                        let op = [CounterOp::add(2)];
                        table
                            .update_counter_or(&int(i % 7 + 10), &op, &pair(0, 0))
                            .unwrap();
                        if i % 50 == 0 {
                            // Commits on the same keys must lose no step either.
                            table.insert_list(&[pair(100, i), pair(101, i)]).unwrap();
                        }
                    }
                });
            }
        });
        let value = |k| table.lookup_element(&int(k), 2).unwrap().one().unwrap();
        assert_eq!(value(1), int(12_000));
        let sum: i64 = (10..17)
            .map(|k| if let Term::Int(v) = value(k) { v } else { 0 })
            .sum();
        assert_eq!(sum, 24_000);
    }
}

#[test]
fn size_and_memory_are_exact_after_the_threads_have_joined() {
    for table in tables() {
        let empty = table.memory();
        thread::scope(|s| {
            for t in 0..3i64 {
                let table = &table;
                s.spawn(move || {
                    for i in 0..4000i64 {
                        let key = (i * 7 + t * 13) % 1500;
                        match i % 5 {
                            0 => drop(table.take(&int(key)).unwrap()),
                            1 => table.delete_key(&key).unwrap(),
                            2 => drop(table.insert_new(&pair(key, i)).unwrap()),
                            3 => {
                                let list = [pair(key, i), pair(key + 1, i), pair(key / 2, 1 << 40)];
                                table.insert_list(&list).unwrap();
                            }
                            _ => table.insert(&pair(key, i << 20)).unwrap(),
                        }
                    }
                });
            }
        });
        assert_eq!(table.len(), table.tab2list().unwrap().len());
        assert!(table.memory() > empty);
        let keys: Vec<Term> = table
            .iter()
            .map(|o| common::key_of(&o.unwrap(), 1).unwrap())
            .collect();
        for key in &keys {
            table.take(key).unwrap();
        }
        assert_eq!(table.len(), 0);
        table.delete_all_objects().unwrap();
        assert_eq!(
            table.memory(),
            empty,
            "a fresh body is as large as the first one"
        );
    }
}

#[test]
fn bags_keep_every_object_of_every_thread() {
    let owner = Store::new().owner();
    for options in [Options::bag(), Options::duplicate_bag()] {
        let table = owner.new_table("t", &options.public()).unwrap();
        thread::scope(|s| {
            for t in 0..4i64 {
                let table = &table;
                s.spawn(move || {
                    for i in 0..300i64 {
                        let object = |n: i64| tuple([int(i % 3), int(t), int(n)]);
                        table.insert(&object(i)).unwrap();
                        let list = [object(i + 1000), tuple([int(9), int(t), int(i)])];
                        table.insert_list(&list).unwrap();
                        if i % 2 == 0 {
                            table.delete_object(&object(i)).unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(table.len(), 4 * (300 - 150 + 600));
        for key in [0, 1, 2, 9] {
            // In the order each thread put them in.
            for t in 0..4 {
                let of_thread: Vec<Term> = table.lookup(&int(key)).unwrap();
                let of_thread: Vec<i64> = of_thread
                    .iter()
                    .filter_map(|o| match o {
                        Term::Tuple(e) if e[1] == int(t) => Some(&e[2]),
                        _ => None,
                    })
                    .map(|n| if let Term::Int(n) = n { n % 1000 } else { 0 })
                    .collect();
                assert!(of_thread.is_sorted(), "{of_thread:?}");
            }
        }
    }
}

#[test]
fn emptying_a_table_is_atomic() {
    // A reader that begins after the table was emptied sees nothing from before.
    for table in tables() {
        let epoch = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let before = epoch.load(Ordering::SeqCst) as i64;
                    for k in 0..20 {
                        if let Ok(found) = table.lookup_element(&int(k), 2) {
                            let Some(Term::Int(e)) = found.one() else {
                                panic!()
                            };
                            assert!(e >= before, "epoch {e} seen in {before}");
                        }
                    }
                }
            });
            let halt = Halt(&stop);
            for e in 0..500 {
                for k in 0..20 {
                    table.insert(&pair(k, e)).unwrap();
                }
                assert_eq!(table.len(), 20);
                table.delete_all_objects().unwrap();
                epoch.store(e as usize + 1, Ordering::SeqCst);
                assert_eq!(table.len(), 0);
            }
            drop(halt);
        });
    }
}

#[test]
fn a_traversal_sees_what_is_there_throughout_exactly_once() {
    for table in tables() {
        for k in 0..500 {
            table.insert(&pair(k * 2, 0)).unwrap();
        }
        let stop = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| {
                let mut i = 0;
                while !stop.load(Ordering::Relaxed) {
                    let odd = (i * 37 % 20_000) * 2 + 1;
                    table.insert(&pair(odd, i)).unwrap();
                    table
                        .insert_list(&[pair(2 * (i % 500), i), pair(odd + 2, i)])
                        .unwrap();
                    if i % 3 == 0 {
                        table.delete_key(&odd).unwrap();
                    }
                    i += 1;
                }
            });
            let halt = Halt(&stop);
            for _ in 0..20 {
                let mut even = vec![0; 500];
                for object in table.iter() {
                    let Some(Term::Int(key)) = common::key_of(&object.unwrap(), 1) else {
                        panic!()
                    };
                    if key % 2 == 0 {
                        even[key as usize / 2] += 1;
                    }
                }
                assert!(even.iter().all(|n| *n == 1), "{even:?}");
            }
            drop(halt);
        });
    }
}

/// The bound that `Table::len` documents: threads that each move an object from key to key, so that between none and
/// one of theirs is missing, and readers of the size.
#[test]
fn the_size_is_off_by_no_more_than_what_is_under_way() {
    const MOVERS: usize = 3;
    const OTHERS: usize = 20;
    const LOOKS: usize = 2000;
    for table in tables() {
        for key in 0..(OTHERS + MOVERS) as i64 {
            table.insert(&pair(key, 0)).unwrap();
        }
        let (stop, inserted) = (AtomicBool::new(false), AtomicUsize::new(0));
        stall::with_stalls(|| {
            thread::scope(|s| {
                for mover in 0..MOVERS as i64 {
                    let (table, stop, inserted) = (&table, &stop, &inserted);
                    s.spawn(move || {
                        let _stalled = stall::join();
                        let mut key = OTHERS as i64 + mover;
                        while !stop.load(Ordering::Relaxed) {
                            table.delete_key(&key).unwrap();
                            key += MOVERS as i64;
                            table.insert(&pair(key, 0)).unwrap();
                            inserted.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                }
                let (_stalled, _halt) = (stall::join(), Halt(&stop));
                for _ in 0..LOOKS {
                    let before = inserted.load(Ordering::SeqCst);
                    let size = table.len();
                    // An insert that has ended may not be among these yet.
                    let ended = inserted.load(Ordering::SeqCst) - before + MOVERS;
                    assert!(size + 2 * MOVERS >= OTHERS + MOVERS, "{size}");
                    assert!(size <= OTHERS + 2 * MOVERS + ended, "{size}, {ended}");
                }
            });
        });
        assert_eq!(table.len(), OTHERS + MOVERS);
    }
}

/// An object that another thread has seen is counted, however it was inserted, and one that a list brings back beside
/// deletions of its key too.
#[test]
fn what_is_seen_is_counted() {
    const KEYS: i64 = if cfg!(fyris_small) { 2_000 } else { 20_000 };
    for table in [tables().swap_remove(0), tables().swap_remove(1)] {
        let late = thread::scope(|s| {
            s.spawn(|| {
                for key in (0..KEYS).step_by(3) {
                    table.insert(&pair(key, 0)).unwrap();
                    let list = [pair(key + 1, 1 << 40), pair(key + 2, 0)];
                    table.insert_list(&list).unwrap();
                }
            });
            let mut late = 0;
            for key in 0..KEYS {
                let mut looks = 0;
                while !table.member(&int(key)).unwrap() {
                    looks += 1;
                    if looks > 1000 {
                        thread::yield_now();
                    }
                }
                late += usize::from(table.len() <= key as usize);
            }
            late
        });
        assert_eq!(late, 0, "objects seen and not counted");
    }
}

/// A key of a list is there whenever the other one is not counted: a writer deletes one of two keys that lists insert.
#[test]
fn lists_beside_deletions_are_counted() {
    const ROUNDS: i64 = if cfg!(fyris_small) { 2_000 } else { 20_000 };
    let owner = Store::new().owner();
    let table = owner
        .new_table("t", &Options::ordered_set().public())
        .unwrap();
    table.insert(&pair(2, 0)).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                table.delete_key(&1i64).unwrap();
            }
        });
        s.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                assert!((1..=4).contains(&table.len()), "key 2 is there throughout");
            }
        });
        let _halt = Halt(&stop);
        (0..ROUNDS).for_each(|i| table.insert_list(&[pair(1, i), pair(2, i)]).unwrap());
    });
    table.delete_key(&1i64).unwrap();
    assert_eq!(table.len(), 1);
}
