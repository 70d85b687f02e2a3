//! The figures that the suite aims at, and how near a run came.

use super::case::QueryCase;
use crate::report::Line;

/// One figure: a ratio that is not to be exceeded.
#[derive(Clone, Debug)]
pub struct Aim {
    /// The case it is about.
    pub case: &'static str,
    /// Our index.
    pub index: &'static str,
    /// The kind of keys.
    pub keys: &'static str,
    /// Threads at once.
    pub threads: usize,
    /// The divisor of our time, in words.
    pub of: &'static str,
    /// The greatest ratio that reaches it.
    pub target: f64,
    /// The ratio; `None` if the run did not measure both sides.
    pub measured: Option<f64>,
}

impl Aim {
    /// Returns whether it is reached; an unmeasured one is not.
    pub fn is_reached(&self) -> bool {
        self.measured
            .is_some_and(|measured| measured <= self.target)
    }
}

/// The most nanoseconds that compiling a specification may take.
const COMPILE: f64 = 2000.0;

/// The greatest allowed ratio of the time of two threads to that of one: the inverse of 1.7.
const TWO_THREADS: f64 = 0.588;

/// The greatest allowed ratio of a point plan to a lookup and compiling, and of a range plan to the range itself.
const POINT: f64 = 1.3;
const RANGE: f64 = 1.5;

/// Returns the outcome of each aim, for the lines of Fyris that have one.
pub fn aims(lines: &[Line]) -> Vec<Aim> {
    let ours = lines.iter().filter(|line| line.subject == "fyris");
    ours.filter_map(|line| aim(line, lines)).collect()
}

/// Returns the aim that a line of Fyris is judged by.
pub(super) fn aim(line: &Line, lines: &[Line]) -> Option<Aim> {
    let case = QueryCase::ALL
        .into_iter()
        .find(|case| case.name() == line.case)?;
    let beside = |subject, case: QueryCase| {
        let same = |l: &&Line| is_beside(l, line) && l.case == case.name() && l.subject == subject;
        lines.iter().find(same).map(Line::figure)
    };
    let (of, target, divisor) = match (case, line.threads) {
        (QueryCase::Compile, _) => ("2 us", 1.0, Some(COMPILE)),
        (QueryCase::Point, _) => {
            let parts = [QueryCase::Lookup, QueryCase::Compile].map(|part| beside("fyris", part));
            ("lookup and compile", POINT, parts.into_iter().sum())
        }
        (QueryCase::SelectRange100, _) => ("range100", RANGE, beside("fyris", QueryCase::Range100)),
        (_, 2) => ("one thread", TWO_THREADS, beside("fyris", case)),
        _ => ("ets", case.share_of_ets()?, beside("ets", case)),
    };
    Some(Aim {
        case: line.case,
        index: line.index?,
        keys: line.keys,
        threads: line.threads,
        of,
        target,
        measured: divisor.map(|divisor| line.figure() / divisor),
    })
}

/// Returns whether a line is of one thread and of the same kind of table as a line of ours.
fn is_beside(line: &Line, ours: &Line) -> bool {
    let table_type = match ours.index {
        Some("ordered") => "ordered_set",
        _ => "set",
    };
    let same_table = line.index == ours.index || line.index == Some(table_type);
    line.keys == ours.keys && line.threads == 1 && same_table
}
