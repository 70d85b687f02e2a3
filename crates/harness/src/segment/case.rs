//! The cases, in the order of the table.

use super::stage::{Setting, Stage};
use super::{exchange, local, units};
use crate::error::BenchError;

/// The fields of a line that say the figure in M and C.
pub(super) const IN_M: &str = "in_m";
pub(super) const IN_C: &str = "in_c";

/// One kind of measurement.
pub struct SegmentCase {
    /// The name in the vocabulary.
    pub name: &'static str,
    /// The description, for people.
    pub what: &'static str,
    /// The paper's Table 3, and in parentheses in C of the paper's own machine (2.4 us).
    pub paper: &'static str,
    /// The paper's figure in its own C, if it has one.
    pub paper_in_c: Option<f64>,
    /// The setting of the case.
    pub setting: Setting,
    pub(super) measure: Measure,
}

/// The measurement of a case: one sample, in nanoseconds.
#[derive(Clone, Copy)]
pub(super) enum Measure {
    /// Without a segment.
    Alone(fn() -> Result<f64, BenchError>),
    /// With a segment and another process.
    Staged(fn(&mut Stage) -> Result<f64, BenchError>),
}

const MIB: usize = 1 << 20;

/// The setting of most cases: 16 MiB, transparent, on one CPU.
const SETTING: Setting = Setting {
    bytes: 16 * MIB,
    declared: false,
    cross: false,
};

/// The same with another CPU for the other process.
const CROSS: Setting = Setting {
    cross: true,
    ..SETTING
};

/// The values that most cases share.
const STAGED: SegmentCase = SegmentCase {
    name: "",
    what: "",
    paper: "",
    paper_in_c: None,
    setting: SETTING,
    measure: Measure::Staged(local::update_noop),
};

/// All cases.
pub const CASES: &[SegmentCase] = &[
    SegmentCase {
        name: "memcpy_page",
        what: "memcpy of a page in a warm set of 100: M",
        setting: Setting {
            bytes: units::PAGES * fyris_segment::PAGE,
            ..SETTING
        },
        measure: Measure::Alone(units::memcpy_page),
        ..STAGED
    },
    SegmentCase {
        name: "cow_fault",
        what: "copy-on-write fault of the kernel: C",
        paper: "2.4 us (1 C)",
        paper_in_c: Some(1.0),
        measure: Measure::Alone(units::cow_fault),
        ..STAGED
    },
    SegmentCase {
        name: "fault_first",
        what: "first write to a page after a commit",
        paper: "2.5 us (1.04 C)",
        paper_in_c: Some(1.04),
        measure: Measure::Staged(local::fault_first),
        ..STAGED
    },
    SegmentCase {
        name: "fault_hot",
        what: "write to a page of the steady hot set",
        paper: "2.5 us (1.04 C)",
        paper_in_c: Some(1.04),
        measure: Measure::Staged(local::fault_hot),
        ..STAGED
    },
    SegmentCase {
        name: "commit_fixed_4m",
        what: "commit, fixed, 4 MiB transparent",
        paper: "3-6 us",
        setting: Setting {
            bytes: 4 * MIB,
            ..SETTING
        },
        measure: Measure::Staged(local::commit_fixed),
        ..STAGED
    },
    SegmentCase {
        name: "commit_fixed_declared",
        what: "commit, fixed, 64 MiB declared",
        paper: "3-6 us",
        setting: Setting {
            bytes: 64 * MIB,
            declared: true,
            ..SETTING
        },
        measure: Measure::Staged(local::commit_fixed),
        ..STAGED
    },
    SegmentCase {
        name: "commit_page_scattered",
        what: "commit, each page, scattered",
        paper: "0.8 us (0.33 C)",
        paper_in_c: Some(0.33),
        measure: Measure::Staged(local::commit_page_scattered),
        ..STAGED
    },
    SegmentCase {
        name: "commit_page_hot",
        what: "commit, each page, the same hundred",
        paper: "0.8 us (0.33 C)",
        paper_in_c: Some(0.33),
        measure: Measure::Staged(local::commit_page_hot),
        ..STAGED
    },
    SegmentCase {
        name: "update_noop",
        what: "update with nothing new",
        paper: "60 ns saved",
        ..STAGED
    },
    SegmentCase {
        name: "update_page_sparse",
        what: "update, each page of one changed word",
        paper: "0.4 us (0.17 C)",
        paper_in_c: Some(0.17),
        measure: Measure::Staged(exchange::update_sparse),
        ..STAGED
    },
    SegmentCase {
        name: "update_page_sparse_cross",
        what: "the same, written on another CPU",
        setting: CROSS,
        measure: Measure::Staged(exchange::update_sparse),
        ..STAGED
    },
    SegmentCase {
        name: "merge_page_sparse",
        what: "update, each page changed here as well",
        paper: "5.2 us (2.2 C)",
        paper_in_c: Some(2.17),
        measure: Measure::Staged(exchange::merge_sparse),
        ..STAGED
    },
    SegmentCase {
        name: "merge_page_sparse_cross",
        what: "the same, written on another CPU",
        setting: CROSS,
        measure: Measure::Staged(exchange::merge_sparse),
        ..STAGED
    },
    SegmentCase {
        name: "update_page_dense",
        what: "update, each page wholly rewritten",
        paper: "0.4 us (0.17 C)",
        paper_in_c: Some(0.17),
        measure: Measure::Staged(exchange::update_dense),
        ..STAGED
    },
    SegmentCase {
        name: "memcpy_dense",
        what: "memcpy of the same pages from plain shared memory",
        measure: Measure::Staged(exchange::memcpy_dense),
        ..STAGED
    },
];

impl SegmentCase {
    /// Returns whether it measures a unit: without those no figure means anything.
    pub fn is_unit(&self) -> bool {
        matches!(self.measure, Measure::Alone(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_in_its_own_fault() {
        for case in CASES.iter().filter(|case| case.paper_in_c.is_some()) {
            let us: f64 = case.paper.split(' ').next().unwrap().parse().unwrap();
            assert!(
                (us / 2.4 - case.paper_in_c.unwrap()).abs() < 0.01,
                "{}",
                case.name
            );
        }
    }
}
