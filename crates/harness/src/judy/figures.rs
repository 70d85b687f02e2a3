//! The drawings of `--plot` for the suite `judy`: figures 6 to 12 of the study, from what was measured here.

use super::case::JudyCase;
use crate::figure::{Curve, Figure, Shape, Value, add_point};
use crate::report::Line;

/// Returns a figure for each program, and that of insertion per thousand keys.
pub(super) fn figures(lines: &[Line]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = JudyCase::ALL[..JudyCase::TIMED]
        .iter()
        .filter_map(|case| relative(*case, lines))
        .collect();
    figures.extend(absolute(lines));
    figures.sort_by(|a, b| a.file.cmp(&b.file));
    figures
}

/// Returns the lines that all others are compared with: of the `set` of ETS, or else of the table on `hash`.
pub(super) fn base<'a>(lines: &'a [Line], case: &str) -> (&'static str, Vec<&'a Line>) {
    let of = |subject: &str, index: Option<&str>| -> Vec<&Line> {
        let is = |line: &&Line| {
            line.case == case
                && line.subject == subject
                && line.index == index
                && line.object == Some("set")
        };
        lines.iter().filter(is).collect()
    };
    match of("ets", None) {
        none if none.is_empty() => ("hash", of("fyris", Some("hash"))),
        ets => ("ets set", ets),
    }
}

/// Returns the times of a program relative to the base, in per cent.
fn relative(case: JudyCase, lines: &[Line]) -> Option<Figure> {
    let (name, base) = base(lines, case.name());
    let percent = |line: &Line| {
        let base = base.iter().find(|base| base.n == line.n)?;
        let value = Value::of(line, |ns| 100.0 * ns / base.figure());
        Some((line.n as f64, value))
    };
    let curves = curves(case.name(), lines, percent);
    let (what, number) = case.caption();
    let file = match number {
        Some(number) => format!("judy-figure-{number:02}-{}", case.name()),
        None => format!("judy-{}", case.name()),
    };
    let number = number.map_or(String::new(), |number| {
        format!(", Figure {number} of the 2003 paper")
    });
    (!curves.is_empty()).then(|| Figure {
        file,
        title: format!("{what}{number}"),
        x: "keys in the table".to_owned(),
        y: format!("time, % of {name}"),
        note: String::new(),
        shape: Shape::Curves(curves),
    })
}

/// Returns the times of sequential insertion per thousand keys.
fn absolute(lines: &[Line]) -> Option<Figure> {
    let micros = |line: &Line| Some((line.n as f64, Value::of(line, |ns| ns)));
    let curves = curves(JudyCase::InsertSequential.name(), lines, micros);
    (!curves.is_empty()).then(|| Figure {
        file: "judy-figure-08-insert_sequential".to_owned(),
        title: "sequential-order insertion, Figure 8 of the 2003 paper".to_owned(),
        x: "keys in the table".to_owned(),
        y: "microseconds per thousand keys".to_owned(),
        note: String::new(),
        shape: Shape::Curves(curves),
    })
}

/// Returns a curve for each kind of table, in the order in which they were measured first.
fn curves(case: &str, lines: &[Line], point: impl Fn(&Line) -> Option<(f64, Value)>) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for line in lines.iter().filter(|line| line.case == case) {
        if let Some(point) = point(line) {
            add_point(&mut curves, &line.label(), point);
        }
    }
    curves
}

#[cfg(test)]
mod tests {
    use fyris::TableType;

    use super::super::TableKind;
    use super::*;
    use crate::report::Series;
    use crate::report::Timing;

    fn line(index: Option<&'static str>, table_type: TableType, n: usize, wall: f64) -> Line {
        let mut series = Series::default();
        series.push(&Timing {
            wall,
            cpu: wall,
            fairness: 1.0,
        });
        Line {
            times: Some(series.times(false)),
            ..TableKind { index, table_type }.line(JudyCase::InsertSequential, n)
        }
    }

    #[test]
    fn curves_are_relative_to_ets_or_else_to_hash() {
        let ours = [
            line(Some("hash"), TableType::Set, 700, 50.0),
            line(Some("ordered"), TableType::OrderedSet, 700, 100.0),
        ];
        let point = |lines: &[Line], row: &str| {
            let figure = relative(JudyCase::InsertSequential, lines).unwrap();
            let Shape::Curves(curves) = figure.shape else {
                panic!("curves")
            };
            let curve = curves.into_iter().find(|curve| curve.row == row).unwrap();
            let medians = curve.points.iter().map(|(n, value)| (*n, value.median));
            (figure.file, medians.collect::<Vec<_>>())
        };
        let file = "judy-figure-06-insert_sequential".to_owned();
        let row = "fyris ordered ordered_set";
        assert_eq!(point(&ours, row), (file.clone(), vec![(700.0, 200.0)]));
        let mut all = ours.to_vec();
        all.push(line(None, TableType::Set, 700, 200.0));
        assert_eq!(point(&all, row), (file, vec![(700.0, 50.0)]));
        assert_eq!(figures(&all).len(), 2, "relative, and per thousand keys");
    }
}
