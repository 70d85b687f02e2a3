//! The bench harness: one set of workloads for two programs.
//!
//! # Why one harness
//!
//! `fyris-bench` measures Fyris alone; `fyris-compare` (the crate in `bench/`) puts other people's maps beside it. A
//! claim is a ratio of two medians of one process, so both programs must run the same loops over the same keys. They
//! differ only in the list of [`Contender`]s that they hand to [`run`].
//!
//! # What is measured, and what is not
//!
//! * Keys are made beforehand, in the order in which they are used: reading one is a sequential
//!   load. The loop around them is reported as the subject `harness`.
//! * Every contender is monomorphised into the loop ([`Subject`] is a trait, not an object), does one
//!   operation a call as a user would write it (a pin or a lock *per operation*), and gives values by
//!   copy.
//! * The answers are checked: the keys of updates are split between threads, so the number of
//!   removals that must succeed, and what is left at the end, are known in advance. A
//!   subject that answers wrong is an error, not a fast time.
//! * Runs are interleaved: each run takes every contender once, building and dropping its table,
//!   starting with another one each time; the figure is the median over runs. So a noisy
//!   neighbour hits every contender alike.
//! * Memory is what the allocator handed out, not arithmetic, taken in a child process: see
//!   [`memory`].
//!
//! # Vocabulary
//!
//! Suites, cases, subjects and keys carry the names of DESIGN section 10; [`core::case::Case`] says what
//! each case of `core` does, [`keys`] what the keys look like.
//!
//! # Floors
//!
//! Arguments, lines, samples, figures, clocks and processes know no suite; a suite's subjects (`core::contender`,
//! `array_mix::ArrayContender`) know those, the `Registry` lists subjects but locks, an `Entry` is what the
//! harness asks of a suite, and `suites` lists the entries. Imports go only downwards.
//!
//! # A suite
//!
//! One folder with a row for the list in `suites`: the names of its cases, how it runs, what its child processes do,
//! its tables and its [`figure`]s. Everything else (filters, JSON lines, progress, drawing) is here once.

pub mod args;
pub mod array_mix;
mod clock;
pub mod core;
mod cpus;
mod entry;
mod error;
mod escript;
pub mod ets_bench;
pub mod figure;
pub mod judy;
pub mod memory;
mod output;
pub mod papers;
mod plot;
mod process;
pub mod query;
mod registry;
pub mod report;
mod rng;
pub mod rwlock;
pub mod segment;
pub mod shared;
pub mod snapshot;
pub mod stats;
mod suites;

pub use args::BenchArgs;
pub use clock::cpu_now;
pub use core::case::Case;
pub use core::contender::Contender;
pub use core::keys;
pub use core::subject::{Seen, Subject};
pub use error::BenchError;
pub use registry::Registry;
pub use report::Line;

/// Runs the suite that `args` names over the contenders of `registry` and prints what came out: JSON
/// lines with `--json`, else tables. Returns the lines, for programs that check them.
///
/// # Errors
///
/// [`BenchError`] lists them: nothing to run, a wrong answer, or what the system refused.
pub fn run(args: &BenchArgs, registry: &Registry) -> Result<Vec<Line>, BenchError> {
    let entry = suites::entry(args.suite);
    if let Some(part) = &args.child {
        return (entry.child)(args, registry, part).map(|()| Vec::new());
    }
    entry.check_options(args)?;
    entry.check_cases(args)?;
    let mut out = output::Output::new(args);
    let done = (entry.run)(&mut out, registry);
    // The measurements made before something went wrong are still worth seeing.
    let lines = out.finish(entry.table, entry.figures);
    done.and(lines)
}
