//! Errors.

use std::io;

/// Why a benchmark gave no figures.
#[derive(Debug)]
pub enum BenchError {
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
