//! The drawings of `--plot` for the suite `query`: a bar for each subject and case, times per object and times per call
//! apart.

use super::case::QueryCase;
use crate::figure::{Bar, Figure, Shape, Value};
use crate::report::Line;

/// The cases whose time is that of a whole call.
const CALLS: [QueryCase; 3] = [QueryCase::Compile, QueryCase::Lookup, QueryCase::Point];

/// Returns two figures: times per object, times per call.
pub(super) fn figures(lines: &[Line]) -> Vec<Figure> {
    let is_call = |line: &Line| CALLS.iter().any(|case| case.name() == line.case);
    [(false, "object"), (true, "call")]
        .into_iter()
        .map(|(calls, what)| Figure {
            file: format!("query-{what}"),
            title: format!("queries, per {what}"),
            x: "case".to_owned(),
            y: format!("ns per {what}"),
            note: String::new(),
            shape: Shape::Bars(
                lines
                    .iter()
                    .filter(|l| is_call(l) == calls)
                    .map(bar)
                    .collect(),
            ),
        })
        .collect()
}

fn bar(line: &Line) -> Bar {
    let threads = match line.threads {
        1 => String::new(),
        n => format!(", {n} threads"),
    };
    Bar {
        row: format!("{}{threads}", line.label()),
        cluster: line.case.to_owned(),
        value: Value::of(line, |figure| figure),
    }
}
