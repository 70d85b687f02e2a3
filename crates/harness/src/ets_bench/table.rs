//! Tables of the suite `ets_bench` for people, and the drawings of `--plot`.

use std::fmt::Write as _;

use super::case::PHASES;
use crate::figure::{Bar, Curve, Figure, Shape, Value, add_point, threads};
use crate::report::Line;

/// Returns a table for each object, number of threads and range of keys: kinds of tables down, cases across.
pub(super) fn render(lines: &[Line]) -> String {
    let cases: Vec<&str> = PHASES
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| lines.iter().any(|line| line.case == *name))
        .collect();
    let mut out = String::new();
    let mut last = None;
    for group in lines.chunk_by(|a, b| place(a) == place(b) && a.label() == b.label()) {
        let first = &group[0];
        if last != Some(place(first)) {
            let (object, count, n) = place(first);
            let _ = write!(
                out,
                "\n{object}, {}, keys below {n}: ns an operation and thread\n{:24}",
                threads(count),
                "table"
            );
            cases.iter().for_each(|case| _ = write!(out, " {case:>8}"));
            out.push('\n');
            last = Some(place(first));
        }
        let _ = write!(out, "{:24}", name(first));
        for case in &cases {
            let line = group.iter().find(|line| line.case == *case);
            let cell = line.map_or("-".to_owned(), |line| format!("{:.1}", line.figure()));
            let _ = write!(out, " {cell:>8}");
        }
        out.push('\n');
    }
    out
}

/// Returns the object, the number of threads and the range of keys.
fn place(line: &Line) -> (&'static str, usize, usize) {
    (line.object.unwrap_or_default(), line.threads, line.n)
}

/// Returns index and options.
fn name(line: &Line) -> String {
    let index = line.index.unwrap_or_default();
    format!("{index} {}", line.options.unwrap_or_default())
}

/// Returns, for each object, a figure for each case and number of threads over the range of keys, as Figure 6 of the
/// 2014 paper; and one for each case over the number of threads, with the largest range.
pub(super) fn figures(lines: &[Line]) -> Vec<Figure> {
    let mut objects: Vec<&str> = lines.iter().filter_map(|line| line.object).collect();
    objects.dedup();
    let mut out = Vec::new();
    for (at, object) in objects.into_iter().enumerate() {
        let suffix = if at == 0 {
            String::new()
        } else {
            format!("-{at}")
        };
        for (case, _) in PHASES {
            let of_case = |line: &&Line| line.case == case && line.object == Some(object);
            let lines: Vec<&Line> = lines.iter().filter(of_case).collect();
            let mut counts: Vec<usize> = lines.iter().map(|line| line.threads).collect();
            counts.sort_unstable();
            counts.dedup();
            for count in counts {
                let of_count: Vec<&Line> = lines
                    .iter()
                    .copied()
                    .filter(|line| line.threads == count)
                    .collect();
                out.extend(
                    over_ranges(case, count, object, &of_count).map(|figure| Figure {
                        file: format!("{}{suffix}", figure.file),
                        ..figure
                    }),
                );
            }
            out.extend(over_threads(case, object, &lines).map(|figure| Figure {
                file: format!("{}{suffix}", figure.file),
                ..figure
            }));
        }
    }
    out
}

fn over_ranges(case: &str, count: usize, object: &str, lines: &[&Line]) -> Option<Figure> {
    let mut curves: Vec<Curve> = Vec::new();
    for line in lines {
        add_point(&mut curves, &name(line), (line.n as f64, throughput(line)));
    }
    curves
        .iter()
        .any(|curve| curve.points.len() > 1)
        .then(|| Figure {
            file: format!("ets_bench-{case}-{count}"),
            title: format!(
                "{case} of {object} with {}, as Figure 6 of the 2014 paper",
                threads(count)
            ),
            x: "range of keys".to_owned(),
            y: MILLIONS.to_owned(),
            note: String::new(),
            shape: Shape::Curves(curves),
        })
}

fn over_threads(case: &str, object: &str, lines: &[&Line]) -> Option<Figure> {
    let most = lines.iter().map(|line| line.n).max()?;
    let largest = lines.iter().filter(|line| line.n == most);
    let bar = |line: &&Line| Bar {
        row: threads(line.threads),
        cluster: name(line),
        value: throughput(line),
    };
    Some(Figure {
        file: format!("ets_bench-{case}"),
        title: format!("{case} of {object}, keys below {most}"),
        x: "index and options".to_owned(),
        y: MILLIONS.to_owned(),
        note: String::new(),
        shape: Shape::Bars(largest.map(bar).collect()),
    })
}

const MILLIONS: &str = "million operations a second, all threads together";

fn throughput(line: &Line) -> Value {
    Value::of(line, |ns| line.threads as f64 * 1e3 / ns)
}
