//! The figures of the suite `snapshot`.

use fyris_harness::Line;
use fyris_harness::snapshot;

use super::verdict::Verdict;

/// Returns every figure of the suite that the run has a line for.
pub(super) fn verdicts(lines: &[Line]) -> Vec<Verdict> {
    let verdict = |aim: snapshot::SnapshotAim| Verdict {
        what: format!("{}: {} / {}", aim.index, aim.case, aim.of),
        target: aim.target,
        measured: aim.measured,
    };
    snapshot::aims(lines).into_iter().map(verdict).collect()
}
