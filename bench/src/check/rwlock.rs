//! The figures of the suite `rwlock`: our locks against parking_lot's.

use fyris_harness::Line;

use super::verdict::Verdict;

/// The lock that ours are compared with.
const PEER: &str = "parking_lot";

/// A lock of ours, with the greatest ratio for one thread, and for two by share of reads.
struct LockRow {
    lock: &'static str,
    alone: f64,
    two: [(&'static str, f64); 4],
}

const ROWS: [LockRow; 2] = [
    LockRow {
        lock: "fair",
        alone: 1.1,
        two: [
            ("r100/0", 0.6),
            ("r99/0", 0.6),
            ("r90/0", 0.8),
            ("r50/0", 1.8),
        ],
    },
    LockRow {
        lock: "groups",
        alone: 1.2,
        two: [
            ("r100/0", 0.2),
            ("r99/0", 0.25),
            ("r90/0", 0.75),
            ("r50/0", 2.0),
        ],
    },
];

/// The waits of one thread beside two of the other side.
const WAITS: [(&str, &str); 2] = [("writer/0", "write_p99_ns"), ("reader/0", "read_p99_ns")];

/// Returns every figure of the suite.
pub(super) fn verdicts(lines: &[Line]) -> Vec<Verdict> {
    let mut out = Vec::new();
    for row in &ROWS {
        out.push(time(lines, row.lock, "r100/0", 1, row.alone));
        for (case, target) in row.two {
            out.push(time(lines, row.lock, case, 2, target));
        }
        for (case, wait) in WAITS {
            out.push(Verdict {
                what: format!("{} 3T {case} {wait} / {PEER}", row.lock),
                target: 1.0,
                measured: ratio(lines, row.lock, case, 3, |line| line.extra(wait)),
            });
        }
    }
    out
}

/// Judges the time of an operation.
fn time(lines: &[Line], lock: &str, case: &'static str, threads: usize, target: f64) -> Verdict {
    Verdict {
        what: format!("{lock} {threads}T {case} / {PEER}"),
        target,
        measured: ratio(lines, lock, case, threads, |line| Some(line.figure())),
    }
}

/// Returns a figure of a lock over that of the peer.
fn ratio(
    lines: &[Line],
    lock: &str,
    case: &str,
    threads: usize,
    figure: impl Fn(&Line) -> Option<f64>,
) -> Option<f64> {
    let of = |subject: &str| {
        let is_it = |l: &&Line| l.subject == subject && l.case == case && l.threads == threads;
        lines.iter().find(is_it).and_then(&figure)
    };
    Some(of(lock)? / of(PEER)?)
}
