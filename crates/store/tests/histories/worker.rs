//! What a thread does.

use std::ops::Range;
use std::sync::atomic::{Ordering, fence};
use std::thread;
use std::time::{Duration, Instant};

use fyris::{CounterOp, Error, Result, Snapshot, Store, Table, Term};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::PLACES;
use super::record::{Record, Step};
use super::terms::{FORMS, WAYS, key, object, read, value_of, values_of};

/// Operations of a thread, beside looking at snapshots.
const OPERATIONS: usize = 8;

/// A thread at work.
pub(crate) struct Worker<'t> {
    number: usize,
    store: &'t Store,
    tables: &'t [Table],
    clock: Instant,
    rng: SmallRng,
    /// The number of values that it has made.
    values: usize,
    records: Vec<Record>,
    /// The snapshots that it has, and where their records are.
    held: Vec<(usize, Vec<Snapshot>)>,
}

impl<'t> Worker<'t> {
    pub(crate) fn new(
        number: usize,
        store: &'t Store,
        tables: &'t [Table],
        clock: Instant,
    ) -> Worker<'t> {
        Worker {
            number,
            store,
            tables,
            clock,
            rng: SmallRng::from_rng(&mut rand::rng()),
            values: 0,
            records: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Does what a history begins with.
    pub(crate) fn begin(&mut self) {
        if self.rng.random() {
            (0..self.tables.len()).for_each(|table| self.whole(table, 0));
        }
        // Without a snapshot that lives the tables are not versioned, and the first one meets plain writes.
        if self.rng.random() {
            self.snapshot(0, self.tables.len());
        }
    }

    pub(crate) fn work(&mut self) {
        for _ in 0..OPERATIONS {
            self.pause();
            self.operate();
            self.pause();
            self.look();
        }
    }

    /// Looks at all snapshots that it has for the last time, and returns what it did.
    pub(crate) fn finish(mut self) -> Vec<Record> {
        while let Some((record, snapshots)) = self.held.pop() {
            self.show(record, &snapshots);
        }
        self.records
    }

    /// Now and then for so long that others have the processor.
    fn pause(&mut self) {
        match self.rng.random_range(0..32) {
            0..3 => thread::yield_now(),
            3 => thread::sleep(Duration::from_micros(self.rng.random_range(0..40))),
            4..12 => (0..self.rng.random_range(0..300)).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
    }

    /// Makes a call and notes it.
    fn call(&mut self, call: impl FnOnce(&mut Self) -> Step) {
        // A processor may keep what a call wrote to itself for a moment after the end that the clock tells: without the
        // fences a call that begins then need not see it.
        let begun = self.clock.elapsed();
        fence(Ordering::SeqCst);
        let step = call(self);
        fence(Ordering::SeqCst);
        let ended = self.clock.elapsed();
        self.records.push(Record {
            thread: self.number,
            begun,
            ended,
            step,
        });
    }

    fn operate(&mut self) {
        let (table, tables) = (
            self.rng.random_range(0..self.tables.len()),
            self.tables.len(),
        );
        match self.rng.random_range(0..20) {
            0..2 => self.snapshot(0, tables),
            2..4 => self.snapshot(table, table + 1),
            4 => {
                let kind = self.rng.random_range(0..6);
                self.whole(table, kind);
            }
            kind @ 5..16 => {
                let place = self.rng.random_range(0..PLACES);
                let tables = self.tables;
                self.call(|worker| worker.one(tables, kind, place));
            }
            _ => self.call(Worker::transaction),
        }
    }

    /// Does some of all that in a transaction, whose tables come in one by one.
    fn transaction(&mut self) -> Step {
        let (tx, mut steps) = (self.store.begin(), Vec::new());
        for _ in 0..self.rng.random_range(1..5) {
            let handles: Vec<Result<Table>> = match self.rng.random() {
                true => self.tables.iter().map(|table| tx.table(table)).collect(),
                // That of the key alone; the others are none of its matter.
                false => self.tables.iter().map(|table| Ok(table.clone())).collect(),
            };
            let place = self.rng.random_range(0..PLACES);
            let of = place * self.tables.len() / PLACES;
            let mut handles = match handles.into_iter().collect::<Result<Vec<_>>>() {
                Ok(handles) => handles,
                Err(error) => return conflict(error, steps),
            };
            match tx.table(&self.tables[of]) {
                Ok(handle) => handles[of] = handle,
                Err(error) => return conflict(error, steps),
            }
            let step = match self.rng.random_range(0..16) {
                0..3 => {
                    let way = self.rng.random_range(0..WAYS);
                    let objects = read(&handles[of], way).expect("a table of ours");
                    let at = self.places(of, of + 1);
                    let values = values_of(&objects)[at.clone()].to_vec();
                    Step::Snapshot(at, vec![values])
                }
                3 => {
                    let kind = self.rng.random_range(0..5);
                    self.list(&handles[of], of, kind)
                }
                kind => self.one(&handles, kind.max(5), place),
            };
            steps.push(step);
            self.pause();
        }
        match self.rng.random_ratio(1, 8) {
            true => Step::Transaction(steps, false),
            false => match tx.commit() {
                Ok(()) => Step::Transaction(steps, true),
                Err(error) => conflict(error, steps),
            },
        }
    }

    /// Returns a value that nobody has put in.
    fn fresh(&mut self) -> i64 {
        self.values += 1;
        let number = self.number * 100 + self.values;
        // The numbers up to the next one are for counting.
        number as i64 * 10 * FORMS + self.rng.random_range(0..FORMS)
    }

    /// Returns the places of the keys of some tables that are next to each other.
    fn places(&self, from: usize, to: usize) -> Range<usize> {
        let each = PLACES / self.tables.len();
        from * each..to * each
    }

    /// Does something with one key.
    fn one(&mut self, tables: &[Table], kind: u32, at: usize) -> Step {
        let value = self.fresh();
        let table = &tables[at * tables.len() / PLACES];
        let (key, object) = (key(at), object(at, value));
        let done = "a table of ours";
        match kind {
            5..8 => Step::Lookup(at, value_of(at, &table.lookup(&key).expect(done))),
            8..10 => {
                table.insert(&object).expect(done);
                Step::Insert(at, value)
            }
            10 => Step::InsertNew(at, value, table.insert_new(&object).expect(done)),
            11..13 => {
                table.delete_key(&key).expect(done);
                Step::Delete(at)
            }
            13..15 => Step::Take(at, value_of(at, &table.take(&key).expect(done))),
            // An error says that there is no integer.
            _ => {
                let sums = table.update_counter(&key, &[CounterOp::add(FORMS)]);
                let sum = sums.unwrap_or_default().first().and_then(Term::as_int);
                Step::Count(at, sum.unwrap_or(0))
            }
        }
    }

    /// Does something with all keys of a table.
    fn whole(&mut self, table: usize, kind: u32) {
        let tables = self.tables;
        self.call(|worker| worker.list(&tables[table], table, kind));
    }

    fn list(&mut self, table: &Table, number: usize, kind: u32) -> Step {
        let (at, value) = (self.places(number, number + 1), self.fresh());
        let list: Vec<Term> = at.clone().map(|at| object(at, value)).collect();
        let done = "a table of ours";
        match kind {
            0..3 => {
                table.insert_list(&list).expect(done);
                Step::InsertList(at, value)
            }
            3..5 => {
                let is_new = table.insert_new_list(&list).expect(done);
                Step::InsertNewList(at, value, is_new)
            }
            _ => {
                table.delete_all_objects().expect(done);
                Step::DeleteAll(at)
            }
        }
    }

    /// Takes snapshots of some tables that are next to each other.
    pub(crate) fn snapshot(&mut self, from: usize, to: usize) {
        let (store, at) = (self.store, self.places(from, to));
        let tables: Vec<&Table> = self.tables[from..to].iter().collect();
        let mut taken = Vec::new();
        self.call(|_| {
            let snapshots = match tables[..] {
                [only] => only.snapshot().map(|one| vec![one]),
                _ => store.snapshots(&tables),
            };
            taken = snapshots.expect("tables of ours");
            Step::Snapshot(at, Vec::new())
        });
        self.held.push((self.records.len() - 1, taken));
    }

    /// Looks at one of its snapshots, and lets it go now and then.
    fn look(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let at = self.rng.random_range(0..self.held.len());
        let (record, snapshots) = self.held.swap_remove(at);
        self.show(record, &snapshots);
        if self.rng.random_ratio(7, 8) {
            self.held.push((record, snapshots));
        }
    }

    /// Notes what snapshots show, if that is something else than before.
    fn show(&mut self, record: usize, snapshots: &[Snapshot]) {
        let way = self.rng.random_range(0..WAYS);
        let objects = snapshots.iter().map(|snapshot| read(snapshot, way));
        let objects = objects.collect::<Result<Vec<_>>>();
        let values = values_of(&objects.expect("a snapshot of ours").concat());
        if let Step::Snapshot(at, shown) = &mut self.records[record].step {
            let values = values[at.clone()].to_vec();
            if shown.last() != Some(&values) {
                shown.push(values);
            }
        }
    }
}

/// Returns what a transaction did that came to nothing.
fn conflict(error: Error, steps: Vec<Step>) -> Step {
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    Step::Transaction(steps, false)
}
