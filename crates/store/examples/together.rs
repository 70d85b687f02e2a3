//! Four small programs of threads that work together: a bank, seats that are reserved, a queue of jobs, and counts that
//! are kept in step with a table.
//!
//! `cargo run --release -p fyris --example together`

use std::thread;

use fyris::{
    CounterOp, Error, Options, Result, SecondaryIndex, Store, SubscribeOptions, Table, Term,
    TypedTable, WatchEvent, WatchFilter, WatchKind, term,
};
use serde::{Deserialize, Serialize};

const THREADS: i64 = 4;

/// Runs `f` in several threads at once, and returns what each of them returned.
fn together<R: Send>(f: impl Fn(i64) -> Result<R> + Sync) -> Result<Vec<R>> {
    thread::scope(|s| {
        let f = &f;
        let threads: Vec<_> = (0..THREADS).map(|n| s.spawn(move || f(n))).collect();
        let joined = threads.into_iter().map(|t| t.join().expect("no panic"));
        joined.collect()
    })
}

/// Why a transfer is refused: `Store::transaction` takes any error that can be made of those of the store.
#[derive(Debug, PartialEq)]
enum TransferError {
    TooLittle { left: i64 },
    Store(Error),
}

impl From<Error> for TransferError {
    fn from(error: Error) -> TransferError {
        TransferError::Store(error)
    }
}

fn transfer(
    store: &Store,
    accounts: &Table,
    (from, to): (i64, i64),
    amount: i64,
) -> std::result::Result<(), TransferError> {
    store.transaction(|tx| {
        let accounts = tx.table(accounts)?.typed::<i64, i64>()?;
        let left = accounts.get(&from)?.ok_or(Error::NoSuchKey)?;
        if left < amount {
            return Err(TransferError::TooLittle { left }); // and nothing has happened
        }
        accounts.insert(&from, &(left - amount))?;
        // Read after the write, which the transaction sees: the two accounts may be one.
        let there = accounts.get(&to)?.ok_or(Error::NoSuchKey)?;
        Ok(accounts.insert(&to, &(there + amount))?)
    })
}

/// Transfers between accounts: none is overdrawn, and the sum stays.
pub(crate) fn bank() -> Result<()> {
    let store = Store::new();
    let owner = store.owner();
    let accounts = owner.new_table("accounts", &Options::set().public())?;
    accounts.insert_list(&(0..5).map(|n| term!({n, 100})).collect::<Vec<_>>())?;
    let done = together(|thread| {
        let between = |n: i64| ((thread + n) % 5, (thread + 3 * n + 1) % 5);
        let mut done = 0;
        for n in 0..200 {
            match transfer(&store, &accounts, between(n), 10 + n % 50) {
                Ok(()) => done += 1,
                Err(TransferError::TooLittle { left }) => assert!(left < 10 + n % 50),
                Err(TransferError::Store(error)) => return Err(error),
            }
        }
        Ok(done)
    })?;
    let refused = transfer(&store, &accounts, (0, 1), 501);
    assert!(matches!(refused, Err(TransferError::TooLittle { .. })));
    let balances = accounts.typed::<i64, i64>()?.iter().map(|pair| Ok(pair?.1));
    let balances = balances.collect::<Result<Vec<_>>>()?;
    assert!(balances.iter().all(|&balance| balance >= 0));
    assert_eq!(balances.iter().sum::<i64>(), 500);
    println!(
        "bank: {} of 800 transfers, the sum is 500",
        done.iter().sum::<i32>()
    );
    Ok(())
}

/// Gives a person the first free seat; returns its number, or `None` if all are taken.
fn reserve(store: &Store, seats: &Table, person: &str) -> Result<Option<i64>> {
    store.transaction(|tx| {
        let seats = tx.table(seats)?;
        let free = seats.lookup_by("by_state", &term!(:free))?;
        let Some(number) = free.first().and_then(|seat| seat.as_tuple()?[0].as_int()) else {
            return Ok(None);
        };
        seats.insert(&term!({number, :taken, person}))?;
        Ok(Some(number))
    })
}

/// Everybody tries to reserve a seat in each of the threads, and nobody gets two.
pub(crate) fn reservations() -> Result<()> {
    let store = Store::new();
    let owner = store.owner();
    // A free seat, {Number, free}, has no third element, so the unique index does not have it.
    let by_state = SecondaryIndex::element("by_state", 2);
    let by_person = SecondaryIndex::element("by_person", 3).unique();
    let seats = Options::ordered_set()
        .public()
        .secondary(by_state)
        .secondary(by_person);
    let seats = owner.new_table("seats", &seats)?;
    seats.insert_list(&(1..=8).map(|n| term!({n, :free})).collect::<Vec<_>>())?;
    let people = ["ada", "bob", "cleo", "dan", "eva", "finn"];
    let refused = together(|_| {
        let mut refused = 0;
        for person in people {
            match reserve(&store, &seats, person) {
                Ok(seat) => assert!(seat.is_some(), "there are seats for all"),
                // Another thread was there for the same person, on whichever seat.
                Err(Error::NotUnique { index, value }) => {
                    assert_eq!((&*index, *value), ("by_person", term!(person)));
                    refused += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(refused)
    })?;
    for person in people {
        assert_eq!(seats.lookup_by("by_person", &term!(person))?.len(), 1);
    }
    assert_eq!(seats.lookup_by("by_state", &term!(:free))?.len(), 2);
    let refused = refused.iter().sum::<usize>();
    assert_eq!(refused, 3 * people.len());
    println!("reservations: 6 people have a seat each, {refused} second ones were refused");
    Ok(())
}

/// The state of a job, as the first part of its key: the ready jobs are a range, whose first is the oldest.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug)]
enum JobState {
    Done,
    Ready,
    Taken,
}

/// The jobs by state and number, each with the number of attempts.
type Jobs = TypedTable<(JobState, u32), u32>;

/// Takes the oldest ready job; returns its number and which attempt this is.
fn claim(store: &Store, jobs: &Jobs) -> Result<Option<(u32, u32)>> {
    store.transaction(|tx| {
        let jobs: Jobs = tx.table(jobs.table())?.typed()?;
        let mut ready = jobs.range((JobState::Ready, 0)..=(JobState::Ready, u32::MAX))?;
        let Some(((_, number), attempts)) = ready.next().transpose()? else {
            return Ok(None);
        };
        jobs.remove(&(JobState::Ready, number))?;
        jobs.insert(&(JobState::Taken, number), &(attempts + 1))?;
        Ok(Some((number, attempts + 1)))
    })
}

/// Gives a taken job its next state: done, or ready for another attempt.
fn settle(store: &Store, jobs: &Jobs, number: u32, state: JobState) -> Result<()> {
    store.transaction(|tx| {
        let jobs: Jobs = tx.table(jobs.table())?.typed()?;
        let attempts = jobs
            .remove(&(JobState::Taken, number))?
            .ok_or(Error::NoSuchKey)?;
        jobs.insert(&(state, number), &attempts)
    })
}

/// Workers take jobs until none is ready. Who fails gives the job back and goes on, so none is left behind.
pub(crate) fn job_queue() -> Result<()> {
    let store = Store::new();
    let owner = store.owner();
    let jobs: Jobs = owner
        .new_table("jobs", &Options::ordered_set().public())?
        .typed()?;
    for number in 1..=100 {
        jobs.insert(&(JobState::Ready, number), &0)?;
    }
    let done = together(|_| {
        let mut done = Vec::new();
        while let Some((number, attempt)) = claim(&store, &jobs)? {
            if number % 10 == 0 && attempt == 1 {
                settle(&store, &jobs, number, JobState::Ready)?; // the work has failed
            } else {
                done.push(number);
                settle(&store, &jobs, number, JobState::Done)?;
            }
        }
        Ok(done)
    })?;
    let mut numbers = done.concat();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=100).collect::<Vec<_>>()); // each once
    let pairs = jobs.iter().collect::<Result<Vec<_>>>()?;
    assert!(pairs.iter().all(|((state, _), _)| *state == JobState::Done));
    let again = pairs.iter().filter(|(_, attempts)| *attempts == 2).count();
    assert_eq!((pairs.len(), again), (100, 10));
    println!("job queue: 100 jobs done once each, {again} of them at the second attempt");
    Ok(())
}

/// Adds what an event says to the counts, as one: who reads them never sees half of it.
fn count(store: &Store, counts: &Table, event: &WatchEvent) -> Result<()> {
    let mut steps: Vec<(&Term, i64)> = Vec::new();
    match &event.kind {
        WatchKind::Objects { objects, .. } => steps.extend(objects.iter().map(|new| (new, 1))),
        WatchKind::Overflow { .. } => panic!("the queue is too short for these writers"),
        _ => {} // changes, if it has any
    }
    for change in event.changes() {
        steps.extend(change.old.iter().map(|old| (old, -1)));
        steps.extend(change.new.iter().map(|new| (new, 1)));
    }
    store.transaction(|tx| {
        let counts = tx.table(counts)?;
        for (item, step) in &steps {
            let fresh = term!({:category, 0}); // with the key in the place of its own
            counts.update_counter_or(category(item), &[CounterOp::add(*step)], &fresh)?;
        }
        Ok(())
    })
}

/// Returns the category of an item, {Number, Category}.
fn category(item: &Term) -> &Term {
    &item.as_tuple().expect("an object is a tuple")[1]
}

/// Keeps how many items of each category there are in a table of its own, beside the writers of the items.
pub(crate) fn counts() -> Result<()> {
    let store = Store::new();
    let owner = store.owner();
    let items = owner.new_table("items", &Options::set().public())?;
    let counts = owner.new_table("counts", &Options::ordered_set().public())?;
    let categories = ["cheese", "fruit", "tea"].map(Term::atom);
    items.insert_list(&(0..50).map(|n| term!({n, :tea})).collect::<Vec<_>>())?;
    // First what is there, then all that changes: nothing is missing, and nothing comes twice.
    let from_snapshot = SubscribeOptions::new().from_snapshot();
    let mut changes = items.subscribe(&WatchFilter::all(), &from_snapshot)?;
    let (written, items, counted) = thread::scope(|s| {
        let watcher = s.spawn(|| changes.try_for_each(|event| count(&store, &counts, &event)));
        let written = together(|thread| {
            for n in 0..500 {
                let (key, kind) = ((thread * 31 + n * 17) % 100, n as usize % 3);
                match n % 5 {
                    0 => items.delete_key(&key)?,
                    _ => items.insert(&term!({key, (categories[kind].clone())}))?,
                }
            }
            Ok(())
        });
        let scanned = items.tab2list();
        // The watcher's loop ends with the table, once it has been told all that was before.
        let deleted = items.delete();
        let counted = watcher.join().expect("no panic");
        (written.and(deleted), scanned, counted)
    });
    let items = written.and(counted).and(items)?;
    for one in &categories {
        let scanned = items.iter().filter(|item| category(item) == one).count();
        assert_eq!(
            counts.lookup_element(one, 2)?.one(),
            Some(term!((scanned as i64)))
        );
    }
    println!("counts: {:?}, as in a scan", counts.tab2list()?);
    Ok(())
}

fn main() -> Result<()> {
    bank()?;
    reservations()?;
    job_queue()?;
    counts()
}
