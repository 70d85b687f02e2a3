//! The suite `array_mix`: section 4.2 of the paper on versioned memory (2013), for several processes.
//!
//! # The workload
//!
//! An array of 8-byte integers, from 40 KB to 16 MB, all zero. Each process does one of three operations, at random:
//! it *looks up* a random element; it *writes*, that is, adds one to a random element; or it *queries* the whole
//! array for its greatest element. `74:25:1` is 74 % lookups, 25 % writes, 1 % queries, as in the paper. A run lasts
//! a fixed time; the figure is throughput.
//!
//! # What every subject promises
//!
//! A write is never lost: at the end of a run the elements must add up to the writes counted, or the run is an error.
//! A query sees one state of the whole array, and no process ever sees time go backwards: its greatest element never
//! becomes less.
//!
//! # The subjects
//!
//! | subject | a lookup | a write | a query |
//! |---|---|---|---|
//! | `fyris` | update, read | write, commit; on conflict discard, update and again | update, read all |
//! | `fyris_declared` | the same | touch, write, commit; the same | the same |
//! | `harness` | read | write | read all: one process, no synchronisation, the paper's unit of speedup |
//!
//! `fyris-compare` adds `one_lock` and `stm`.

mod array;
mod case;
mod contender;
mod drive;
mod figures;
mod fyris;
mod job;
mod table;

pub use array::{Array, SharedArray, greatest, sum};
pub use contender::ArrayContender;
pub use fyris::own;

use std::time::Duration;

use crate::args::{BenchArgs, Clock, Suite};
use crate::entry::Entry;
use crate::error::BenchError;
use crate::output::Output;
use crate::registry::Registry;
use crate::report::{Line, Series};
use crate::stats::Samples;
use case::{ArrayCase, cases};
use job::ArrayJob;

/// The suite's row in the list of suites.
pub(super) const ENTRY: Entry = Entry {
    suite: Suite::ArrayMix,
    cases: case::names,
    run,
    child,
    table: table::render,
    figures: figures::figures,
};

/// Numbers of processes, if none are asked for.
const PROCESSES: [usize; 1] = [2];

/// Returns the length of one run of one subject, after it has warmed up for a quarter of it.
fn run_time(args: &BenchArgs) -> Duration {
    Duration::from_millis(if args.quick { 150 } else { 800 })
}

fn run(out: &mut Output, registry: &Registry) -> Result<(), BenchError> {
    let args = out.args;
    check_subjects(args, registry)?;
    for case in cases().filter(|case| case.wanted(args)) {
        for (nth, processes) in args.thread_counts(&PROCESSES).into_iter().enumerate() {
            // A subject that cannot be shared is the same for every number of processes.
            let lines = group(out, registry, &case, processes, nth == 0)?;
            out.emit(lines);
        }
    }
    Ok(())
}

/// Measures all contenders, interleaved, in one case.
fn group(
    out: &Output,
    registry: &Registry,
    case: &ArrayCase,
    processes: usize,
    first: bool,
) -> Result<Vec<Line>, BenchError> {
    let args = out.args;
    let contenders: Vec<&ArrayContender> = registry
        .array_mix
        .iter()
        .filter(|c| args.wants_subject(c.name) && (first || !c.alone))
        .collect();
    let mut figures = vec![(Series::default(), Samples::default()); contenders.len()];
    for run in 0..args.run_count() {
        for turn in 0..contenders.len() {
            let at = (turn + run) % contenders.len();
            let contender = contenders[at];
            out.progress(&format!(
                "{}, run {}: {}",
                case.name,
                run + 1,
                contender.name
            ));
            let workers = contender.workers(processes);
            let job = ArrayJob::new(contender.name, case, workers, run_time(args), run);
            let tallies = contender.run(args, &job)?;
            figures[at].0.push(&drive::timing(&tallies));
            if let Some(ms) = drive::query_ms(&tallies) {
                figures[at].1.push(ms);
            }
        }
    }
    out.progress_over(&format!("{}, {processes} processes", case.name));
    let line = |(contender, (series, queries)): (&&ArrayContender, &(Series, Samples))| {
        line(args, contender, case, processes, series, queries)
    };
    Ok(contenders.iter().zip(&figures).map(line).collect())
}

fn line(
    args: &BenchArgs,
    contender: &ArrayContender,
    case: &ArrayCase,
    processes: usize,
    series: &Series,
    queries: &Samples,
) -> Line {
    let threads = contender.workers(processes);
    let times = series.times(args.clock == Clock::Cpu);
    let mut extra = vec![
        ("ops_per_s", threads as f64 * 1e9 / times.ns_per_op),
        ("fairness", series.fairness.min()),
    ];
    if queries.runs() > 0 {
        extra.push(("query_ms", queries.median()));
    }
    Line {
        suite: Suite::ArrayMix.name(),
        case: case.name,
        subject: contender.name,
        index: None,
        object: None,
        options: None,
        keys: "u64",
        threads,
        n: case.elements,
        times: Some(times),
        memory: None,
        extra,
    }
}

/// Works beside the parent, as told, in the child.
fn child(_: &BenchArgs, registry: &Registry, part: &str) -> Result<(), BenchError> {
    let job = ArrayJob::parse(part)?;
    let contender = registry
        .array_mix
        .iter()
        .find(|c| c.name == job.subject)
        .ok_or_else(|| BenchError::NothingToRun(format!("no subject `{}`", job.subject)))?;
    contender.play(&job)
}

/// Refuses what no subject is called.
fn check_subjects(args: &BenchArgs, registry: &Registry) -> Result<(), BenchError> {
    let known: Vec<&str> = registry.array_mix.iter().map(|c| c.name).collect();
    match args.subject.iter().find(|s| !known.contains(&s.as_str())) {
        None => Ok(()),
        Some(bad) => Err(BenchError::NothingToRun(format!(
            "no subject `{bad}`; there are: {}",
            known.join(", ")
        ))),
    }
}
