//! What a thread does.

use std::ops::Range;
use std::sync::atomic::{Ordering, fence};
use std::thread;
use std::time::{Duration, Instant};

use fyris::{CounterOp, Result, Snapshot, Store, Table, Term};
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
    fn call<R>(&mut self, call: impl FnOnce() -> Result<R>, step: impl FnOnce(R) -> Step) {
        // A processor may keep what a call wrote to itself for a moment after the end that the clock tells: without the
        // fences a call that begins then need not see it.
        let begun = self.clock.elapsed();
        fence(Ordering::SeqCst);
        let answer = call();
        fence(Ordering::SeqCst);
        let ended = self.clock.elapsed();
        self.records.push(Record {
            thread: self.number,
            begun,
            ended,
            step: step(answer.expect("a table of ours")),
        });
    }

    fn operate(&mut self) {
        let (table, tables) = (
            self.rng.random_range(0..self.tables.len()),
            self.tables.len(),
        );
        match self.rng.random_range(0..16) {
            0..2 => self.snapshot(0, tables),
            2..4 => self.snapshot(table, table + 1),
            4 => {
                let kind = self.rng.random_range(0..6);
                self.whole(table, kind);
            }
            kind => {
                let place = self.rng.random_range(0..PLACES);
                self.one(kind, place);
            }
        }
    }

    /// Returns a value that nobody has put in.
    fn fresh(&mut self) -> i64 {
        let number = self.number * 100 + self.records.len() + 1;
        // The numbers up to the next one are for counting.
        number as i64 * 10 * FORMS + self.rng.random_range(0..FORMS)
    }

    /// Returns the places of the keys of some tables that are next to each other.
    fn places(&self, from: usize, to: usize) -> Range<usize> {
        let each = PLACES / self.tables.len();
        from * each..to * each
    }

    /// Does something with one key.
    fn one(&mut self, kind: u32, at: usize) {
        let value = self.fresh();
        let table = &self.tables[at * self.tables.len() / PLACES];
        let (key, object) = (key(at), object(at, value));
        let add = [CounterOp::add(FORMS)];
        match kind {
            5..8 => self.call(
                || table.lookup(&key),
                |found| Step::Lookup(at, value_of(at, &found)),
            ),
            8..10 => self.call(|| table.insert(&object), |()| Step::Insert(at, value)),
            10 => self.call(
                || table.insert_new(&object),
                |done| Step::InsertNew(at, value, done),
            ),
            11..13 => self.call(|| table.delete_key(&key), |()| Step::Delete(at)),
            13..15 => self.call(
                || table.take(&key),
                |found| Step::Take(at, value_of(at, &found)),
            ),
            // An error says that there is no integer.
            _ => self.call(
                || Ok(table.update_counter(&key, &add).unwrap_or_default()),
                |sums| Step::Count(at, sums.first().and_then(Term::as_int).unwrap_or(0)),
            ),
        }
    }

    /// Does something with all keys of a table.
    fn whole(&mut self, table: usize, kind: u32) {
        let (at, value) = (self.places(table, table + 1), self.fresh());
        let table = &self.tables[table];
        let list: Vec<Term> = at.clone().map(|at| object(at, value)).collect();
        match kind {
            0..3 => self.call(
                || table.insert_list(&list),
                |()| Step::InsertList(at, value),
            ),
            3..5 => self.call(
                || table.insert_new_list(&list),
                |done| Step::InsertNewList(at, value, done),
            ),
            _ => self.call(|| table.delete_all_objects(), |()| Step::DeleteAll(at)),
        }
    }

    /// Takes snapshots of some tables that are next to each other.
    pub(crate) fn snapshot(&mut self, from: usize, to: usize) {
        let (store, at) = (self.store, self.places(from, to));
        let tables: Vec<&Table> = self.tables[from..to].iter().collect();
        let mut taken = Vec::new();
        let take = || {
            taken = match tables[..] {
                [only] => vec![only.snapshot()?],
                _ => store.snapshots(&tables)?,
            };
            Ok(())
        };
        self.call(take, |()| Step::Snapshot(at, Vec::new()));
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
