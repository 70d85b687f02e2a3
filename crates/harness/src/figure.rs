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

    /// Returns the quartiles; the figure itself twice if there are none.
    pub fn bounds(self) -> (f64, f64) {
        self.spread.unwrap_or((self.median, self.median))
    }

    /// Returns the ratio of two positive figures, with the least and the greatest that their quartiles allow.
    pub fn over(self, other: Self) -> Self {
        let ((low, high), (least, most)) = (self.bounds(), other.bounds());
        Self {
            median: self.median / other.median,
            spread: Some((low / most, high / least)),
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

/// Returns a number in few letters, as the papers write it: 5K, 2M.
pub fn number(x: f64) -> String {
    let (x, unit) = match x.abs() {
        size if size >= 1e6 => (x / 1e6, "M"),
        size if size >= 1e3 => (x / 1e3, "K"),
        _ => (x, ""),
    };
    let places = match x.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 || size == 0.0 => 2,
        // Two digits that say something, as far as six places.
        size => (1 - size.log10().floor() as i32).clamp(2, 6) as usize,
    };
    let text = format!("{x:.places$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let all = [0.0, 0.25, 7.0, 12.34, 700.0, 54e6, 2500.0, 0.0046].map(number);
        assert_eq!(
            all,
            ["0", "0.25", "7", "12.3", "700", "54M", "2.5K", "0.0046"]
        );
    }
}
