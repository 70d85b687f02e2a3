//! Drawings of tables' throughput, and what is seen in them.

use super::lines::Findings;
use super::say::{Claims, at, at_end, extremes, gains, joined};
use crate::figure::{Bar, Curve, Figure, Shape};

const MILLIONS: &str = "million operations a second, all threads together";

/// Returns one drawing of bars; none of no bars.
pub(super) fn bars_figure(
    m: &Findings,
    file: &str,
    title: String,
    x: &str,
    bars: Vec<Bar>,
) -> Vec<Figure> {
    let is_empty = bars.is_empty();
    figure(m, file, title, x, Shape::Bars(bars), is_empty)
}

/// Returns one drawing of curves; none of no curves.
pub(super) fn curves_figure(
    m: &Findings,
    file: &str,
    title: String,
    x: &str,
    curves: &[Curve],
) -> Vec<Figure> {
    figure(
        m,
        file,
        title,
        x,
        Shape::Curves(curves.to_vec()),
        curves.is_empty(),
    )
}

fn figure(
    m: &Findings,
    file: &str,
    title: String,
    x: &str,
    shape: Shape,
    is_empty: bool,
) -> Vec<Figure> {
    let figure = || Figure {
        file: file.to_owned(),
        title,
        x: x.to_owned(),
        y: MILLIONS.to_owned(),
        note: m.limit(),
        shape,
    };
    (!is_empty).then(figure).into_iter().collect()
}

/// Returns what is seen in drawings whose rows are one thread and two.
pub(super) fn seen(figures: &[Figure], claims: &Claims) -> String {
    let sentence = |figure: &Figure| {
        joined(&[
            extremes(figure, "million operations a second"),
            gains(figure),
        ])
    };
    joined(&[of_each(figures, sentence), claims.text()])
}

/// Returns what the curves of each drawing end at.
pub(super) fn ends(figures: &[Figure], unit: &str) -> String {
    of_each(figures, |figure| at_end(figure, unit))
}

/// Returns what the curves of each drawing have at a place.
pub(super) fn middles(figures: &[Figure], x: f64, unit: &str) -> String {
    of_each(figures, |figure| at(figure, x, unit))
}

/// Returns a sentence of each drawing, behind its subject if there are several.
fn of_each(figures: &[Figure], sentence: impl Fn(&Figure) -> String) -> String {
    let begun = |figure: &Figure| match figures.len() {
        1 => sentence(figure),
        _ => format!("{}. {}", subject(figure), sentence(figure)),
    };
    joined(&figures.iter().map(begun).collect::<Vec<_>>())
}

/// Returns what a title says behind the number of the figure.
fn subject(figure: &Figure) -> String {
    let text = figure
        .title
        .split_once(": ")
        .map_or(figure.title.as_str(), |(_, text)| text);
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}
