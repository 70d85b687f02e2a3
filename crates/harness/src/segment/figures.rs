//! The drawings of `--plot`: the paper's Table 3 as bars, each side in its own copy-on-write fault.

use super::case::{CASES, IN_C};
use crate::figure::{Bar, Figure, Shape};
use crate::report::Line;

/// Returns one figure: the cases that the paper has as well.
pub(super) fn figures(lines: &[Line]) -> Vec<Figure> {
    let mut bars = Vec::new();
    for case in CASES {
        let line = lines.iter().find(|line| line.case == case.name);
        let ours = line.and_then(|line| line.extra(IN_C));
        let (Some(ours), Some(paper)) = (ours, case.paper_in_c) else {
            continue;
        };
        for (row, value) in [("fyris", ours), ("CONVERSION (2013)", paper)] {
            bars.push(Bar {
                row: row.to_owned(),
                cluster: case.name.to_owned(),
                value: value.into(),
            });
        }
    }
    vec![Figure {
        file: "segment-table3".to_owned(),
        title: "Table 3 of the 2013 paper: each system in its own machine's copy-on-write faults"
            .to_owned(),
        x: "operation (commit, update, merge: each page)".to_owned(),
        y: "copy-on-write faults (C)".to_owned(),
        note: String::new(),
        shape: Shape::Bars(bars),
    }]
}
