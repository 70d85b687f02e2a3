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
//!   [`memory`].
//!
//! # Vocabulary
//!
//! Suites, cases, subjects and keys carry the names of DESIGN section 10; [`case::Case`] says what
//! each case does, [`keys`] what the keys look like.

pub mod args;
pub mod case;
pub mod core;
pub mod encode;
pub mod keys;
pub mod memory;
pub mod own;
mod pass;
#[cfg(feature = "plot")]
mod plot;
pub mod report;
pub mod stats;
pub mod store;
pub mod subject;
mod table;
mod workload;

pub use args::BenchArgs;
pub use case::Case;
pub use pass::cpu_now;
pub use report::Line;
pub use subject::{Contender, Registry, Seen, Subject};

use std::io;

/// Why a benchmark gave no figures.
#[derive(Debug)]
pub enum BenchError {
    /// The suite is named in the vocabulary and not built yet.
    NoSuchSuite(&'static str),
    /// The filters (`--subject`, `--case`, `--keys`) leave nothing to run.
    NothingToRun(String),
    /// A subject gave a wrong answer; the text says which and how.
    WrongAnswer(String),
    /// A figure could not be drawn or a child process not run.
    Io(io::Error),
    /// The child process that measures memory failed; the text is what it said.
    Child(String),
}

impl std::fmt::Display for BenchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoSuchSuite(name) => {
                write!(f, "the suite `{name}` does not exist yet; there is: core")
            }
            Self::NothingToRun(why) => write!(f, "nothing to run: {why}"),
            Self::WrongAnswer(what) => write!(f, "wrong answer: {what}"),
            Self::Io(error) => write!(f, "{error}"),
            Self::Child(what) => write!(f, "the child that measures memory failed: {what}"),
        }
    }
}

impl std::error::Error for BenchError {}

impl From<io::Error> for BenchError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Runs the suite that `args` names over the contenders of `registry` and prints what came out: JSON
/// lines with `--json`, else tables. Returns the lines, for whoever checks them.
///
/// # Errors
///
/// See [`BenchError`].
pub fn run(args: &BenchArgs, registry: &Registry) -> Result<Vec<Line>, BenchError> {
    match args.suite {
        args::Suite::Core => core::run(args, registry),
        other => Err(BenchError::NoSuchSuite(other.name())),
    }
}
