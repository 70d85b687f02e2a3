//! The bench harness: one set of workloads for two programs.
//!
//! # Why one harness
//!
//! `fyris bench` measures Fyris alone and ships with it; `fyris-compare` (the crate in `bench/`)
//! puts other people's maps beside it. A claim is a ratio of two medians of one process, so both
//! programs must run the same loops over the same keys. They differ only in the list of
//! [`Contender`]s that they hand to [`run`].
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
//!   neighbour hits everybody alike.
//! * Memory is what the allocator handed out, not arithmetic, taken in a child process: see
//!   [`core::memory`].
//!
//! # Vocabulary
//!
//! Suites, cases, subjects and keys carry the names of DESIGN section 10; [`core::case::Case`] says what
//! each case of `core` does, [`keys`] what the keys look like.
//!
//! # A suite
//!
//! One folder with a row for the list in `suites`: the names of its cases, how it runs, what its child processes do, its
//! tables and its [`figure`]s. Everything else (filters, JSON lines, progress, drawing) is here once.

pub mod args;
pub mod array_mix;
pub mod core;
mod cpus;
pub mod figure;
mod output;
#[cfg(feature = "plot")]
mod plot;
mod process;
pub mod query;
mod registry;
pub mod report;
pub mod segment;
pub mod shared;
pub mod stats;
mod suites;

pub use args::BenchArgs;
pub use core::case::Case;
pub use core::subject::{Contender, Seen, Subject};
pub use core::{cpu_now, keys};
pub use registry::Registry;
pub use report::Line;

use std::io;

/// Why a benchmark gave no figures.
#[derive(Debug)]
pub enum BenchError {
    /// The suite is named in the vocabulary and not built yet; the text lists those that are.
    NoSuchSuite(&'static str, String),
    /// The filters (`--subject`, `--case`, `--keys`) leave nothing to run.
    NothingToRun(String),
    /// A subject gave a wrong answer; the text says which and how.
    WrongAnswer(String),
    /// A figure could not be drawn or a child process not run.
    Io(io::Error),
    /// A segment refused something.
    Segment(fyris_segment::Error),
    /// A child process of the bench failed; the text is what it said.
    Child(String),
}

impl std::fmt::Display for BenchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoSuchSuite(name, built) => {
                write!(
                    f,
                    "the suite `{name}` does not exist yet; there are: {built}"
                )
            }
            Self::NothingToRun(why) => write!(f, "nothing to run: {why}"),
            Self::WrongAnswer(what) => write!(f, "wrong answer: {what}"),
            Self::Io(error) => write!(f, "{error}"),
            Self::Segment(error) => write!(f, "segment: {error}"),
            Self::Child(what) => write!(f, "the child process failed: {what}"),
        }
    }
}

impl std::error::Error for BenchError {}

impl From<io::Error> for BenchError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<fyris_segment::Error> for BenchError {
    fn from(error: fyris_segment::Error) -> Self {
        Self::Segment(error)
    }
}

/// Runs the suite that `args` names over the contenders of `registry` and prints what came out: JSON
/// lines with `--json`, else tables. Returns the lines, for whoever checks them.
///
/// # Errors
///
/// See [`BenchError`].
pub fn run(args: &BenchArgs, registry: &Registry) -> Result<Vec<Line>, BenchError> {
    let entry = suites::find(args.suite)?;
    if let Some(part) = &args.child {
        return (entry.child)(args, registry, part).map(|()| Vec::new());
    }
    entry.check_cases(args)?;
    let mut out = output::Output::new(args);
    let done = (entry.run)(&mut out, registry);
    // What was measured before something went wrong is still worth seeing.
    let lines = out.finish(&entry);
    done.and(lines)
}
