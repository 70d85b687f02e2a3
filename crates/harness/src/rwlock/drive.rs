//! The loop of one thread, and what comes out of it.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::case::LockCase;
use super::contender::Lock;
use crate::clock::cpu_now;
use crate::cpus::Cpus;
use crate::error::BenchError;
use crate::report::Timing;
use crate::rng::Rng;

/// What is under the lock: numbers that are equal unless a thread writes.
pub(super) type Data = [u64; 8];

/// Operations between two that are timed, and between two looks at the end of the run.
const STEP: u32 = 64;

/// One run of one subject.
pub(super) struct LockJob {
    pub(super) name: &'static str,
    pub(super) case: &'static LockCase,
    pub(super) threads: usize,
    pub(super) time: Duration,
    pub(super) run: usize,
}

/// The counts of one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct LockTally {
    pub(super) ops: u64,
    writes: u64,
    /// A reader saw numbers that differ.
    torn: bool,
    wall: f64,
    cpu: f64,
    /// Waits in nanoseconds, of readers and of writers.
    waits: [Vec<f64>; 2],
}

/// Runs the threads of a job, each on a CPU of its own as long as there are enough.
pub(super) fn drive<L: Lock>(job: &LockJob) -> Result<Vec<LockTally>, BenchError> {
    let lock = &L::make();
    let (begin, over) = (&Barrier::new(job.threads + 1), &AtomicBool::new(false));
    let tallies = std::thread::scope(|s| {
        let work = |worker| {
            move || {
                let bound = Cpus::take(worker);
                begin.wait();
                let seed = (job.run * 1024 + worker) as u64;
                bound.map(|_bound| work(lock, job.case, worker, Rng::new(seed), over))
            }
        };
        let threads: Vec<_> = (0..job.threads)
            .map(|worker| s.spawn(work(worker)))
            .collect();
        begin.wait();
        std::thread::sleep(job.time);
        // Relaxed: a flag; nothing is read because of it.
        over.store(true, Ordering::Relaxed);
        let joined = threads.into_iter().map(|thread| thread.join());
        let tallies = joined.map(|tally| tally.expect("a bench thread panicked"));
        tallies.collect::<Result<Vec<LockTally>, BenchError>>()
    })?;
    let writes: u64 = tallies.iter().map(|tally| tally.writes).sum();
    let found = lock.read(|data| *data);
    if found == [writes; 8] && !tallies.iter().any(|tally| tally.torn) {
        return Ok(tallies);
    }
    Err(BenchError::WrongAnswer(format!(
        "{}, case {}, {} threads: {found:?} under the lock after {writes} writes",
        job.name, job.case.name, job.threads
    )))
}

fn work<L: Lock>(
    lock: &L,
    case: &LockCase,
    worker: usize,
    mut rng: Rng,
    over: &AtomicBool,
) -> LockTally {
    let reads = case.reads_of(worker);
    let mut tally = LockTally::default();
    let (cpu, start) = (cpu_now(), Instant::now());
    // A thread that gets no time before the end does one round.
    loop {
        one(
            lock,
            (reads, case.turns),
            &mut rng,
            &mut tally,
            Some(Instant::now()),
        );
        for _ in 1..STEP {
            one(lock, (reads, case.turns), &mut rng, &mut tally, None);
        }
        tally.ops += u64::from(STEP);
        // Relaxed: see where it is stored.
        if over.load(Ordering::Relaxed) {
            break;
        }
    }
    tally.wall = start.elapsed().as_secs_f64() * 1e9;
    tally.cpu = cpu_now() - cpu;
    tally
}

/// Does one operation with `turns` of work under the lock: a read in `share` of a hundred cases, else a write. Notes
/// how long it waited for the lock if that is timed.
#[inline]
fn one<L: Lock>(
    lock: &L,
    (share, turns): (u64, u32),
    rng: &mut Rng,
    tally: &mut LockTally,
    begun: Option<Instant>,
) {
    let reads = rng.below(100) < share;
    let waited = || begun.map(|begun| begun.elapsed());
    let waited = if reads {
        lock.read(|data| {
            let waited = waited();
            let first = data[0];
            spend(turns);
            tally.torn |= data[7] != first;
            waited
        })
    } else {
        tally.writes += 1;
        lock.write(|data| {
            let waited = waited();
            data[0] += 1;
            spend(turns);
            let now = data[0];
            data.fill(now);
            waited
        })
    };
    if let Some(waited) = waited {
        tally.waits[usize::from(!reads)].push(waited.as_secs_f64() * 1e9);
    }
}

/// Works for a number of turns.
#[inline]
fn spend(turns: u32) {
    (0..turns).for_each(|turn| _ = black_box(turn));
}

/// Returns the time of an operation, for one thread.
pub(super) fn timing(tallies: &[LockTally]) -> Timing {
    let mean = |f: fn(&LockTally) -> f64| tallies.iter().map(f).sum::<f64>() / tallies.len() as f64;
    let ops = mean(|t| t.ops as f64);
    let least = tallies.iter().map(|t| t.ops).min().unwrap_or(0) as f64;
    Timing {
        wall: mean(|t| t.wall) / ops,
        cpu: mean(|t| t.cpu) / ops,
        fairness: least / ops,
    }
}

/// Returns median, 99th percentile and maximum of the waits of each side that has any.
pub(super) fn waits(tallies: &[LockTally]) -> Vec<(&'static str, f64)> {
    const NAMES: [[&str; 3]; 2] = [
        ["read_p50_ns", "read_p99_ns", "read_max_ns"],
        ["write_p50_ns", "write_p99_ns", "write_max_ns"],
    ];
    let mut out = Vec::new();
    for (side, names) in NAMES.into_iter().enumerate() {
        let mut waits: Vec<f64> = tallies.iter().flat_map(|t| t.waits[side].clone()).collect();
        waits.sort_unstable_by(f64::total_cmp);
        if let Some(last) = waits.len().checked_sub(1) {
            let at = [last / 2, last * 99 / 100, last];
            out.extend(names.into_iter().zip(at.map(|at| waits[at])));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_of_each_side() {
        let tally = LockTally {
            waits: [(0..=100).map(f64::from).rev().collect(), Vec::new()],
            ..LockTally::default()
        };
        let expected = [
            ("read_p50_ns", 50.0),
            ("read_p99_ns", 99.0),
            ("read_max_ns", 100.0),
        ];
        assert_eq!(waits(&[tally]), expected);
    }
}
