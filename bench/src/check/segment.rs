//! The figures of the suite `segment`, in the units M and C of the run itself.

use fyris_harness::Line;

use super::verdict::Verdict;

/// The unit of a figure.
enum Unit {
    /// A case of the same run.
    Case(&'static str),
    /// A number of nanoseconds.
    Ns(f64),
}

/// The unit M.
const M: Unit = Unit::Case("memcpy_page");

/// The unit C.
const C: Unit = Unit::Case("cow_fault");

/// Case, what must not be exceeded, of what.
const ROWS: [(&str, f64, Unit); 12] = [
    ("fault_first", 0.6, C),
    ("fault_hot", 0.02, C),
    ("commit_page_scattered", 10.0, M),
    ("commit_page_hot", 4.0, M),
    ("commit_fixed_4m", 1.0, Unit::Ns(3000.0)),
    ("commit_fixed_declared", 1.0, Unit::Ns(500.0)),
    ("update_noop", 1.0, M),
    ("update_page_sparse", 1.0, M),
    ("update_page_sparse_cross", 2.0, M),
    ("merge_page_sparse", 1.0, M),
    ("merge_page_sparse_cross", 2.0, M),
    ("update_page_dense", 1.5, Unit::Case("memcpy_dense")),
];

/// Returns every figure of the suite.
pub(super) fn verdicts(lines: &[Line]) -> Vec<Verdict> {
    let figure = |case: &str| lines.iter().find(|l| l.case == case).map(Line::figure);
    ROWS.iter()
        .map(|(case, target, unit)| {
            let (name, unit) = match unit {
                Unit::Case(name) => ((*name).to_owned(), figure(name)),
                Unit::Ns(ns) => (format!("{} us", ns / 1e3), Some(*ns)),
            };
            Verdict {
                what: format!("{case} / {name}"),
                target: *target,
                measured: figure(case).zip(unit).map(|(ours, unit)| ours / unit),
            }
        })
        .collect()
}
