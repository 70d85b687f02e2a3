//! The figures Fyris aims at, and which of them a run reached.
//!
//! A figure is the ratio of two medians of one run, most often ours to a peer's; lower is better. Each suite has its
//! own file of rows.

mod array_mix;
mod core;
mod query;
mod rwlock;
mod segment;
mod snapshot;
mod verdict;

use fyris_harness::Line;
use fyris_harness::args::Suite;
pub use verdict::Verdict;

/// Returns every figure of the suite, judged by the lines of a run.
pub fn verdicts(suite: Suite, lines: &[Line]) -> Vec<Verdict> {
    match suite {
        Suite::Core => core::verdicts(lines),
        Suite::Query => query::verdicts(lines),
        Suite::Snapshot => snapshot::verdicts(lines),
        Suite::Segment => segment::verdicts(lines),
        Suite::Rwlock => rwlock::verdicts(lines),
        Suite::ArrayMix => array_mix::verdicts(lines),
        _ => Vec::new(),
    }
}

/// Returns the verdicts as a table for people.
pub fn table(verdicts: &[Verdict]) -> String {
    let width = verdicts.iter().map(|v| v.what.len()).max().unwrap_or(0);
    let mut out = format!("\n{:width$}  target  measured\n", "figure (ours / theirs)");
    for verdict in verdicts {
        let (measured, word) = match verdict.measured {
            Some(m) => (
                format!("{m:.2}"),
                if verdict.passed() {
                    "reached"
                } else {
                    "MISSED"
                },
            ),
            None => ("-".to_owned(), "not measured"),
        };
        out.push_str(&format!(
            "{:width$}  {:>6.2}  {measured:>8}  {word}\n",
            verdict.what, verdict.target
        ));
    }
    let count = |f: fn(&&Verdict) -> bool| verdicts.iter().filter(f).count();
    out.push_str(&format!(
        "{} reached, {} missed, {} not measured\n",
        count(|v| v.passed()),
        count(|v| !v.passed() && v.measured.is_some()),
        count(|v| v.measured.is_none())
    ));
    out
}
