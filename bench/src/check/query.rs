//! The figures of the suite `query`: against the real ets, and against the bare lookup and range.

use fyris_harness::Line;
use fyris_harness::query;

use super::verdict::Verdict;

/// Returns every figure of the suite that the run has a line for.
pub(super) fn verdicts(lines: &[Line]) -> Vec<Verdict> {
    let verdict = |aim: query::Aim| Verdict {
        what: format!(
            "{} {}, {} threads: {} / {}",
            aim.index, aim.keys, aim.threads, aim.case, aim.of
        ),
        target: aim.target,
        measured: aim.measured,
    };
    query::aims(lines).into_iter().map(verdict).collect()
}
