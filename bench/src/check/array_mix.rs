//! The figures of the suite `array_mix`: declared writes against one lock.

use fyris_harness::Line;

use super::verdict::Verdict;

/// The greatest allowed ratio of one lock's throughput to ours; the other way round: ours is at least half as much
/// again.
const TARGET: f64 = 1.0 / 1.5;

/// Returns every figure of the suite.
pub(super) fn verdicts(lines: &[Line]) -> Vec<Verdict> {
    ["74:25:1/500K", "74:25:1/2M"]
        .into_iter()
        .map(|case| Verdict {
            what: format!("{case}, 2 processes: one_lock's throughput / fyris_declared's"),
            target: TARGET,
            measured: rate(lines, case, "one_lock")
                .zip(rate(lines, case, "fyris_declared"))
                .map(|(lock, ours)| lock / ours),
        })
        .collect()
}

/// Operations a second of two processes together.
fn rate(lines: &[Line], case: &str, subject: &str) -> Option<f64> {
    lines
        .iter()
        .find(|l| l.case == case && l.subject == subject && l.threads == 2)
        .and_then(|l| l.extra("ops_per_s"))
}
