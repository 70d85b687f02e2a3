//! The suite `rwlock`: the comparison of the talk on the locks of ERTS (2010), for locks alone.
//!
//! # The workload
//!
//! Threads take one lock, to read or, in the other cases, to write, and work under it: not at all, for some 100 ns, or
//! for a microsecond. `r99/0` is 99 % reads with nothing to do; in `writer/0` one thread writes and all others read, in
//! `reader/0` one reads and all others write. Between two locks they draw a random number. A run lasts a fixed time.
//!
//! # The figures
//!
//! The time of an operation for one thread, and throughput. Of one operation in 64 the wait is measured, from the call
//! to the moment when the lock is there: its median, its 99th percentile and its maximum, for readers and for writers
//! (`read_p50_ns` to `write_max_ns`).
//!
//! # What every subject promises
//!
//! Eight numbers under the lock are equal whenever a reader looks, and their value at the end is the number of writes.
//!
//! # The subjects
//!
//! `fair`, `groups` and `pointers` are Fyris's (`fyris_sync::lock::rw`), `std::RwLock` is the standard library's,
//! `parking_lot` and `ShardedLock` (crossbeam's) are those of the crates; `pthread readers first` and `pthread writers
//! first` are glibc's with either preference. `harness` has no lock and runs with one thread only.

mod case;
mod contender;
mod drive;
mod peers;
mod table;

use std::time::Duration;

use crate::args::{BenchArgs, Clock, Suite};
use crate::entry::Entry;
use crate::error::BenchError;
use crate::output::Output;
use crate::registry::Registry;
use crate::report::{Line, Series};
use case::{CASES, LockCase};
use contender::LockContender;
use drive::{LockJob, LockTally};

/// The suite's row in the list of suites.
pub(super) const ENTRY: Entry = Entry {
    suite: Suite::Rwlock,
    cases: case::names,
    run,
    child: |_, _, _| Err(BenchError::Child("this suite has no processes".to_owned())),
    table: table::render,
    figures: table::figures,
};

/// Numbers of threads, if none are asked for.
const THREADS: [usize; 8] = [1, 2, 3, 4, 8, 16, 32, 64];
const QUICK_THREADS: [usize; 2] = [1, 2];

fn run(out: &mut Output, _: &Registry) -> Result<(), BenchError> {
    let args = out.args;
    let all = contender::all();
    let known: Vec<&str> = all.iter().map(|c| c.name).collect();
    if let Some(bad) = args.subject.iter().find(|s| !known.contains(&s.as_str())) {
        let known = known.join(", ");
        return Err(BenchError::NothingToRun(format!(
            "no subject `{bad}`; there are: {known}"
        )));
    }
    let usual = if args.quick {
        &QUICK_THREADS[..]
    } else {
        &THREADS
    };
    for case in CASES.iter().filter(|case| case.wanted(args)) {
        for threads in args.thread_counts(usual) {
            let lines = group(out, &all, case, threads)?;
            out.emit(lines);
        }
    }
    Ok(())
}

/// Measures all contenders, interleaved, in one case.
fn group(
    out: &Output,
    all: &[LockContender],
    case: &'static LockCase,
    threads: usize,
) -> Result<Vec<Line>, BenchError> {
    let args = out.args;
    let takes_part = |c: &&LockContender| args.wants_subject(c.name) && (threads == 1 || !c.alone);
    let contenders: Vec<&LockContender> = all.iter().filter(takes_part).collect();
    let mut series = vec![(Series::default(), Vec::new()); contenders.len()];
    for run in 0..args.run_count() {
        for turn in 0..contenders.len() {
            let at = (turn + run) % contenders.len();
            let name = contenders[at].name;
            out.progress(&format!("{}, run {}: {name}", case.name, run + 1));
            let time = Duration::from_millis(if args.quick { 20 } else { 200 });
            let job = LockJob {
                name,
                case,
                threads,
                time,
                run,
            };
            let tallies = contenders[at].run(&job)?;
            series[at].0.push(&drive::timing(&tallies));
            series[at].1.extend(tallies);
        }
    }
    out.progress_over(&format!("{}, {threads} threads", case.name));
    let lines = contenders.iter().zip(&series);
    Ok(lines
        .map(|(contender, (series, tallies))| {
            line(args, contender.name, case, threads, series, tallies)
        })
        .collect())
}

fn line(
    args: &BenchArgs,
    subject: &'static str,
    case: &LockCase,
    threads: usize,
    series: &Series,
    tallies: &[LockTally],
) -> Line {
    let times = series.times(args.clock == Clock::Cpu);
    let mut extra = vec![
        ("ops_per_s", threads as f64 * 1e9 / times.ns_per_op),
        ("fairness", series.fairness.min()),
    ];
    extra.extend(drive::waits(tallies));
    Line {
        suite: Suite::Rwlock.name(),
        case: case.name,
        subject,
        index: None,
        object: None,
        options: None,
        keys: "u64",
        threads,
        n: 1,
        times: Some(times),
        memory: None,
        extra,
    }
}
