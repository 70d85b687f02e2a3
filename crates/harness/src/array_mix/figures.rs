//! The drawings of `--plot`: the paper's figures 2 and 4.

use super::case::{ArrayCase, cases};
use super::table::speedup;
use crate::figure::{Curve, Figure, Shape, Value, add_point};
use crate::report::Line;

/// Returns a figure for each mix and number of workers: speedup and query time over the size of the array.
pub(super) fn figures(lines: &[Line]) -> Vec<Figure> {
    let mut out = Vec::new();
    for (mix, workers) in groups(lines) {
        let curve = |value: &dyn Fn(&Line) -> Option<Value>| curves(lines, mix, workers, value);
        let file = mix.replace(':', "-");
        out.push(Figure {
            file: format!("array_mix-{file}-{workers}"),
            title: format!(
                "Figure 2 of the 2013 paper: {mix} (lookups:writes:queries), {workers} workers"
            ),
            x: "elements of 8 bytes".to_owned(),
            y: "throughput, one unsynchronised worker = 1".to_owned(),
            note: String::new(),
            shape: Shape::Curves(curve(&|l| spread_speedup(l, lines))),
        });
        out.push(Figure {
            file: format!("array_mix-{file}-{workers}-query"),
            title: format!(
                "Figure 4 of the 2013 paper: a query's time in {mix}, {workers} workers"
            ),
            x: "elements of 8 bytes".to_owned(),
            y: "ms".to_owned(),
            note: String::new(),
            shape: Shape::Curves(curve(&|l| l.extra("query_ms").map(Value::from))),
        });
    }
    out
}

fn groups(lines: &[Line]) -> Vec<(&'static str, usize)> {
    let mut groups = Vec::new();
    for line in lines.iter().filter(|l| l.subject != "harness") {
        let case = ArrayCase::named(line.case).map(|case| (case.mix, line.threads));
        groups.extend(case.filter(|case| !groups.contains(case)));
    }
    groups
}

/// Returns a curve for each subject.
fn curves(
    lines: &[Line],
    mix: &str,
    workers: usize,
    value: &dyn Fn(&Line) -> Option<Value>,
) -> Vec<Curve> {
    let mut out: Vec<Curve> = Vec::new();
    for case in cases().filter(|case| case.mix == mix) {
        let of_case =
            |l: &&Line| l.case == case.name && (l.threads == workers || l.subject == "harness");
        for line in lines.iter().filter(of_case) {
            let Some(value) = value(line) else { continue };
            add_point(&mut out, line.subject, (case.elements as f64, value));
        }
    }
    out
}

/// Returns the speedup, with the spread that the times have.
fn spread_speedup(line: &Line, lines: &[Line]) -> Option<Value> {
    let speedup = speedup(line, lines)?;
    Some(Value::of(line, |ns| speedup * line.figure() / ns))
}
