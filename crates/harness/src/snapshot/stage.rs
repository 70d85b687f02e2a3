//! A table, and the measurements of it.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use fyris::{Cursor, MatchSpec, Options, Owner, Result, Store, Table, TableType, pin, term};
use fyris_term::Term;

use super::case::SnapshotCase as Case;
use crate::memory::allocated;
use crate::rng::Rng;

/// Lookups of a measurement.
const LOOKUPS: usize = 300_000;
/// Snapshots that are taken and released for a figure, and first ones, before each of which there is a pause.
const TAKEN: usize = 300;
const FIRST: usize = 25;
/// Snapshots beside which all is overwritten.
const MANY: usize = 100;
/// A table that had no snapshot for this time is unversioned after its next write.
const IDLE: Duration = Duration::from_millis(120);
/// The time of a measurement beside writers.
const BESIDE: Duration = Duration::from_secs(2);

/// A table full of pairs of integers.
pub(super) struct SnapshotStage {
    store: Store,
    /// The table lives as long as its owner.
    _owner: Owner,
    table: Table,
    n: usize,
    spec: MatchSpec,
    round: i64,
}

/// What one run has measured: nanoseconds, and bytes a retained version beyond the object's own.
pub(super) struct Measured {
    pub(super) times: Vec<(Case, f64)>,
    pub(super) bytes: f64,
    /// The 99th of a hundred snapshots beside writers: the first one of a table, and others.
    pub(super) slow: [f64; 2],
}

impl SnapshotStage {
    pub(super) fn new(table_type: TableType, n: usize) -> Result<SnapshotStage> {
        let store = Store::new();
        let owner = store.owner();
        let table = owner.new_table("t", &Options::new(table_type))?;
        let half = n as i64 / 2;
        let source = term!([{{:"$1", :"$2"}, [{:"<", :"$1", half}], [true]}]);
        let stage = SnapshotStage {
            store,
            _owner: owner,
            table,
            n,
            spec: MatchSpec::new(&source).map_err(fyris::Error::BadMatchSpec)?,
            round: 0,
        };
        stage.put_all(0)?;
        Ok(stage)
    }

    /// Measures every case.
    pub(super) fn run(&mut self) -> Result<Measured> {
        let mut times = Vec::new();
        self.overwrite()?;
        times.push((Case::Lookup, self.lookup(&self.table)?));
        times.push((Case::Count, self.count(&self.table)?));
        times.push((Case::Scan, self.scan(&self.table)?));
        times.push((Case::Overwrite, self.overwrite()?));
        times.push((Case::First, self.first(FIRST)?[FIRST / 2]));
        let before = allocated();
        let past = self.table.snapshot()?;
        times.push((Case::Take, self.take(TAKEN)?[TAKEN / 2]));
        times.push((Case::LookupStill, self.lookup(&past)?));
        times.push((Case::CountStill, self.count(&past)?));
        times.push((Case::ScanStill, self.scan(&past)?));
        times.push((Case::OverwriteFirst, self.overwrite()?));
        let bytes = allocated().saturating_sub(before) as f64 / self.n as f64 - 8.0;
        times.push((Case::OverwriteAgain, self.overwrite()?));
        times.push((Case::LookupPast, self.lookup(&past)?));
        times.push((Case::CountPast, self.count(&past)?));
        times.push((Case::ScanPast, self.scan(&past)?));
        times.push((Case::LookupOver, self.lookup(&self.table)?));
        let many: Result<Vec<_>> = (0..MANY).map(|_| self.table.snapshot()).collect();
        let many = many?;
        self.overwrite()?;
        times.push((Case::OverwriteMany, self.overwrite()?));
        drop((past, many));
        self.store.collect();
        times.push((Case::LookupAfter, self.lookup(&self.table)?));
        let (first, take, writers) = self.beside_writers()?;
        times.push((Case::FirstBusy, first[first.len() / 2]));
        times.push((Case::TakeBusy, take[take.len() / 2]));
        times.extend(writers);
        let slow = [&first, &take].map(|sorted| sorted[sorted.len() * 99 / 100]);
        Ok(Measured { times, bytes, slow })
    }

    /// Returns a key: each comes once, scattered.
    fn key(&self, i: usize) -> i64 {
        (i * 7_368_787 % self.n) as i64
    }

    fn put_all(&self, round: i64) -> Result<()> {
        (0..self.n).try_for_each(|i| self.table.insert(&pair(self.key(i), round)))
    }

    fn overwrite(&mut self) -> Result<f64> {
        self.round += 1;
        let begin = Instant::now();
        self.put_all(self.round)?;
        Ok(since(begin) / self.n as f64)
    }

    fn lookup(&self, table: &Table) -> Result<f64> {
        let (begin, pin) = (Instant::now(), pin());
        for i in 0..LOOKUPS {
            black_box(table.get(&self.key(i * 3), &pin)?.is_some());
        }
        Ok(since(begin) / LOOKUPS as f64)
    }

    fn count(&self, table: &Table) -> Result<f64> {
        let begin = Instant::now();
        black_box(table.select_count(&self.spec)?);
        Ok(since(begin) / self.n as f64)
    }

    fn scan(&self, table: &Table) -> Result<f64> {
        let (begin, mut cursor, mut more) = (Instant::now(), Cursor::new(), true);
        while more {
            let (pin, mut objects) = (pin(), Vec::new());
            more = cursor.next_batch(table, &pin, &mut objects)?;
            black_box(&objects);
        }
        Ok(since(begin) / self.n as f64)
    }

    /// Takes and releases snapshots of a table that is a plain one each time. Returns the times, ascending.
    fn first(&self, count: usize) -> Result<Vec<f64>> {
        sorted(count, || {
            sleep(IDLE);
            self.table.insert(&pair(0, 0))?;
            self.take_one()
        })
    }

    /// Takes and releases snapshots. Returns the times, ascending.
    fn take(&self, count: usize) -> Result<Vec<f64>> {
        sorted(count, || self.take_one())
    }

    fn take_one(&self) -> Result<f64> {
        let begin = Instant::now();
        drop(self.table.snapshot()?);
        Ok(since(begin))
    }

    /// Returns the times of first and of other snapshots beside two writers, and what a write of these takes, without
    /// snapshots and with one that is counted once a second.
    #[allow(clippy::type_complexity)]
    fn beside_writers(&self) -> Result<(Vec<f64>, Vec<f64>, [(Case, f64); 2])> {
        let (first, _) = self.with_writers(|| self.first(FIRST))?;
        let past = self.table.snapshot()?;
        let take = || {
            sorted(TAKEN, || {
                sleep(Duration::from_millis(2));
                self.take_one()
            })
        };
        let (take, _) = self.with_writers(take)?;
        drop(past);
        sleep(IDLE);
        let idle = || {
            sleep(BESIDE);
            Ok(())
        };
        let ((), alone) = self.with_writers(idle)?;
        let reads = || {
            let begin = Instant::now();
            while begin.elapsed() < BESIDE {
                let second = Instant::now();
                let past = self.table.snapshot()?;
                self.count(&past)?;
                drop(past);
                sleep(Duration::from_secs(1).saturating_sub(second.elapsed()));
            }
            Ok(())
        };
        let ((), beside) = self.with_writers(reads)?;
        let writers = [(Case::Writers, alone), (Case::WritersBeside, beside)];
        Ok((first, take, writers))
    }

    /// Runs `f` beside two writers; returns the nanoseconds of one of their writes, too.
    fn with_writers<R>(&self, f: impl FnOnce() -> Result<R>) -> Result<(R, f64)> {
        let (over, writes) = (AtomicBool::new(false), AtomicU64::new(0));
        let write = &|seed: u64| {
            let (mut rng, mut count) = (Rng::new(seed), 0);
            while !over.load(Ordering::Relaxed) {
                let key = rng.below(self.n as u64) as i64;
                let written = self.table.insert(&pair(key, count));
                count += i64::from(written.is_ok());
            }
            writes.fetch_add(count as u64, Ordering::Relaxed);
        };
        let begin = Instant::now();
        let result = scope(|scope| {
            for seed in [1, 2] {
                scope.spawn(move || write(seed));
            }
            let result = f();
            over.store(true, Ordering::Relaxed);
            result
        });
        let nanoseconds = since(begin) * 2.0 / writes.into_inner().max(1) as f64;
        Ok((result?, nanoseconds))
    }
}

fn pair(key: i64, value: i64) -> Term {
    term!({ key, value })
}

fn since(begin: Instant) -> f64 {
    begin.elapsed().as_nanos() as f64
}

fn sorted(count: usize, mut one: impl FnMut() -> Result<f64>) -> Result<Vec<f64>> {
    let times: Result<Vec<f64>> = (0..count).map(|_| one()).collect();
    let mut times = times?;
    times.sort_by(f64::total_cmp);
    Ok(times)
}
