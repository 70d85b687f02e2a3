//! Many objects under few keys: writers that put objects in and take them out again, one by one and in lists, while
//! others do the same and readers look on.
//!
//! Each writer has objects of its own, whose comings and goings it knows, so that what it looks up must be these, each
//! once and in the order in which they came. Others, which all writers insert and delete, are in a bag once at most.
//! When all are gone, so is their memory.

mod common;
mod stall;

use std::collections::HashSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::{int, tuple};
use fyris::{MatchSpec, Options, Store, Table};
use fyris_term::Term;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const WRITERS: i64 = 3;
/// The keys of all writers. One more is written by lists alone.
const KEYS: i64 = 2;
const STEPS: usize = if cfg!(fyris_small) { 1500 } else { 4000 };
/// The owner of the objects that all writers have in common.
const ANYBODY: i64 = -1;

/// Returns an object of a writer; the number is below 2^20. One in five has a binary that is held beside the record.
fn object(key: i64, owner: i64, number: i64) -> Term {
    let long = Term::binary(vec![number as u8; if number % 5 == 0 { 300 } else { 3 }]);
    tuple([int(key), int(owner), int(number), long])
}

fn elements(object: &Term) -> (i64, i64) {
    match object.as_tuple() {
        Some([_, Term::Int(owner), Term::Int(number), _]) => (*owner, *number),
        other => panic!("no object: {other:?}"),
    }
}

/// Selects the objects of an owner under a key.
fn spec(key: i64, owner: i64, guard: &str) -> MatchSpec {
    let text = format!("[{{{{{key}, {owner}, '$1', '_'}}, [{guard}], [true]}}]");
    MatchSpec::new(&Term::parse(&text).expect("a term")).expect("a specification")
}

/// Checks what was read of a key: no object is there twice that is held once.
fn check(found: &[Term], is_bag: bool) {
    let mut seen = HashSet::new();
    for object in found {
        let (owner, number) = elements(object);
        assert!(
            (!is_bag && owner == ANYBODY) || seen.insert((owner, number)),
            "{object:?} twice"
        );
    }
}

/// A writer and its objects, of each key the oldest first.
struct Writer<'t> {
    table: &'t Table,
    me: i64,
    is_bag: bool,
    random: SmallRng,
    next: i64,
    mine: Vec<Vec<i64>>,
    /// The number of objects that the writer keeps under a key, about.
    size: usize,
}

impl Writer<'_> {
    fn number(&mut self) -> i64 {
        self.next += 1;
        self.next
    }

    fn key(&mut self) -> i64 {
        self.random.random_range(0..KEYS)
    }

    fn add(&mut self) {
        let key = self.key();
        match self.random.random_range(0..4) {
            0 => {
                let number = self.number();
                self.table.insert(&object(key, self.me, number)).unwrap();
                self.mine[key as usize].push(number);
            }
            1 => {
                let numbers: Vec<i64> = (0..4).map(|_| self.number()).collect();
                let list: Vec<Term> = numbers.iter().map(|&n| object(key, self.me, n)).collect();
                self.table.insert_list(&list).unwrap();
                self.mine[key as usize].extend(numbers);
            }
            _ => {
                let mut list = Vec::new();
                for key in 0..KEYS {
                    let number = self.number();
                    list.push(object(key, self.me, number));
                    self.mine[key as usize].push(number);
                    list.push(object(key, ANYBODY, self.random.random_range(0..9)));
                }
                self.table.insert_list(&list).unwrap();
            }
        }
    }

    fn remove(&mut self) {
        let key = self.key();
        let mine = &mut self.mine[key as usize];
        if mine.is_empty() {
            return;
        }
        match self.random.random_range(0..8) {
            0 => {
                let bound = mine[self.random.random_range(0..mine.len().min(9))];
                let deleted = spec(key, self.me, &format!("{{'=<', '$1', {bound}}}"));
                let count = self.table.select_delete(&deleted).unwrap();
                let before = mine.len();
                mine.retain(|&n| n > bound);
                assert_eq!(count, before - mine.len());
            }
            1 => {
                let newest = mine.pop().expect("some are there");
                self.table
                    .delete_object(&object(key, self.me, newest))
                    .unwrap();
            }
            _ => {
                let number = mine.remove(self.random.random_range(0..mine.len()));
                self.table
                    .delete_object(&object(key, self.me, number))
                    .unwrap();
            }
        }
    }

    /// Inserts or deletes an object that several writers share.
    fn meddle(&mut self) {
        let (key, number) = (self.key(), self.random.random_range(0..9));
        let object = object(key, ANYBODY, number);
        match self.random.random_range(0..4) {
            0 => self.table.insert(&object).unwrap(),
            1 => drop(self.table.insert_new(&object).unwrap()),
            2 => drop(
                self.table
                    .select_delete(&spec(key, ANYBODY, "{'>', '$1', 5}"))
                    .unwrap(),
            ),
            _ => self.table.delete_object(&object).unwrap(),
        }
        // A list that is new, and one that is not.
        let fresh = tuple([int(100 + self.me), int(ANYBODY), int(0), Term::atom("x")]);
        let done = self
            .table
            .insert_new_list(&[fresh.clone(), object])
            .unwrap();
        if done {
            self.table.delete_object(&fresh).unwrap();
        }
    }

    fn look(&mut self) {
        let key = self.key();
        let found = self.table.lookup(&int(key)).unwrap();
        check(&found, self.is_bag);
        let mine: Vec<i64> = found
            .iter()
            .map(elements)
            .filter_map(|(owner, number)| (owner == self.me).then_some(number))
            .collect();
        assert_eq!(mine, self.mine[key as usize]);
    }

    fn run(&mut self) {
        for step in 0..STEPS {
            let most = self.mine.iter().map(Vec::len).max().unwrap_or(0);
            match self.random.random_range(0..10) {
                0 => self.meddle(),
                1 => self.look(),
                _ if self.random.random_range(0..2 * self.size) >= most => self.add(),
                _ => self.remove(),
            }
            if step == STEPS / 2 {
                self.size = 6;
            }
        }
        self.look();
    }

    fn clear(&mut self) {
        for key in 0..KEYS {
            while let Some(number) = self.mine[key as usize].pop() {
                self.table
                    .delete_object(&object(key, self.me, number))
                    .unwrap();
            }
        }
    }
}

/// Reads all there is, in several ways, until it is told to stop.
fn read(table: &Table, is_bag: bool, stop: &AtomicBool) {
    // Relaxed: nothing else goes by it.
    while !stop.load(Ordering::Relaxed) {
        let all = table.tab2list().unwrap();
        for key in 0..KEYS {
            let of_key = |object: &&Term| object.as_tuple().is_some_and(|e| e[0] == int(key));
            let found: Vec<Term> = all.iter().filter(of_key).cloned().collect();
            check(&found, is_bag);
            check(&table.lookup(&int(key)).unwrap(), is_bag);
            let pin = fyris::pin();
            if let Some(newest) = table.get(&key, &pin).unwrap() {
                elements(&newest.to_term());
            }
        }
    }
}

fn stress(options: &Options, is_bag: bool, size: usize) {
    let owner = Store::new().owner();
    let table = owner.new_table("t", options).unwrap();
    let begin = Barrier::new(WRITERS as usize);
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|me| {
                let (table, begin) = (&table, &begin);
                s.spawn(move || {
                    let mut writer = Writer {
                        table,
                        me,
                        is_bag,
                        random: SmallRng::seed_from_u64(size as u64 + me as u64),
                        next: 0,
                        mine: vec![Vec::new(); KEYS as usize],
                        size,
                    };
                    begin.wait();
                    let _stalled = stall::join();
                    writer.run();
                    writer.clear();
                })
            })
            .collect();
        let reader = s.spawn(|| read(&table, is_bag, &stop));
        for writer in writers {
            writer.join().expect("a writer ends");
        }
        stop.store(true, Ordering::Relaxed);
        reader.join().expect("the reader ends");
    });
    for object in table.tab2list().unwrap() {
        assert_eq!(elements(&object).0, ANYBODY);
        table.delete_object(&object).unwrap();
    }
    assert_eq!(table.len(), 0);
    assert_eq!(table.memory(), of_an_empty_one(options));
}

/// Returns the memory of a table that has nothing any more: counters and buckets take what they took.
fn of_an_empty_one(options: &Options) -> usize {
    let owner = Store::new().owner();
    let table = owner.new_table("t", options).unwrap();
    for key in 0..2000 {
        table.insert(&object(key % 4, 0, 0)).unwrap();
        table.delete_key(&(key % 4)).unwrap();
    }
    table.memory()
}

#[test]
fn objects_of_few_keys_are_seen_once_and_leave_nothing_behind() {
    for size in [5, 30, 150] {
        for (options, is_bag) in [(Options::bag(), true), (Options::duplicate_bag(), false)] {
            stall::with_stalls(|| stress(&options.clone().public(), is_bag, size));
        }
    }
}
