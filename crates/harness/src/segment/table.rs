//! The table for people: each case in nanoseconds and in the units, the paper beside it.

use super::case::{CASES, IN_C, IN_M};
use crate::report::Line;

/// Returns the table of all figures.
pub(super) fn render(lines: &[Line]) -> String {
    let wide = CASES.iter().map(|case| case.what.len()).max().unwrap_or(0);
    let name = CASES.iter().map(|case| case.name.len()).max().unwrap_or(0);
    let mut out = format!(
        "\nOperations of a segment between two processes, beside table 3 of the 2013 paper (its own C: 2.4 us)\n\
         {:name$}  {:wide$} {:>9} {:>9} {:>9}  paper\n",
        "case", "", "ns", "M", "C"
    );
    for (case, line) in CASES.iter().filter_map(|case| {
        let line = lines.iter().find(|line| line.case == case.name)?;
        Some((case, line))
    }) {
        out.push_str(&format!(
            "{:name$}  {:wide$} {:>9} {:>9} {:>9}  {}\n",
            case.name,
            case.what,
            number(Some(line.figure())),
            number(line.extra(IN_M)),
            number(line.extra(IN_C)),
            case.paper
        ));
    }
    out
}

/// Returns the value with three significant digits.
fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.abs() < 0.1 => format!("{value:.4}"),
        Some(value) if value.abs() < 10.0 => format!("{value:.2}"),
        Some(value) if value.abs() < 100.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.0}"),
    }
}
