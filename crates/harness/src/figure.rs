//! Figures as data: what `--plot` draws, for suites that know nothing of drawing.

use crate::report::Line;

/// One drawing.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The file's name, without the ending.
    pub file: String,
    /// The title: the quantity drawn, and the number of the paper's figure that it answers.
    pub title: String,
    /// The label of the axis of names or sizes, with its unit.
    pub x: String,
    /// The label of the axis of the quantity, with its unit.
    pub y: String,
    /// A sentence below the drawing: what it does not show. May be empty.
    pub note: String,
    /// The shape of the drawing.
    pub shape: Shape,
}

/// The kinds of drawings.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Bars in clusters, lengths from zero.
    Bars(Vec<Bar>),
    /// Curves over a logarithmic horizontal axis.
    Curves(Vec<Curve>),
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The name in the legend.
    pub row: String,
    /// The cluster it stands in.
    pub cluster: String,
    /// Its length.
    pub value: Value,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The name in the legend.
    pub row: String,
    /// Its points, in ascending order: where, and what.
    pub points: Vec<(f64, Value)>,
}

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The figure.
    pub median: f64,
    /// The quartiles, the smaller first, if there were several runs: drawn as an error bar.
    pub spread: Option<(f64, f64)>,
}

impl Value {
    /// Returns what `of` makes of the time or memory of a line.
    pub fn of(line: &Line, of: impl Fn(f64) -> f64) -> Self {
        let spread = line
            .times
            .as_ref()
            .map(|times| (of(times.q1), of(times.q3)));
        Self {
            median: of(line.figure()),
            spread: spread.map(|(a, b)| (a.min(b), a.max(b))),
        }
    }
}

impl From<f64> for Value {
    fn from(median: f64) -> Self {
        Self {
            median,
            spread: None,
        }
    }
}

/// Adds a point to the curve of that name, behind those that are there.
pub fn add_point(curves: &mut Vec<Curve>, row: &str, point: (f64, Value)) {
    match curves.iter_mut().find(|curve| curve.row == row) {
        Some(curve) => curve.points.push(point),
        None => curves.push(Curve {
            row: row.to_owned(),
            points: vec![point],
        }),
    }
}

/// Returns a number of threads in words.
pub fn threads(count: usize) -> String {
    match count {
        1 => "1 thread".to_owned(),
        _ => format!("{count} threads"),
    }
}
