//! Figures as data: what `--plot` draws, for suites that know nothing of drawing.

use std::path::Path;

use super::BenchError;

/// One drawing.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The file's name, without the ending.
    pub file: String,
    /// What stands above it: what is drawn, and the number of the paper's figure it answers.
    pub title: String,
    /// What the horizontal axis is, with its unit.
    pub x: String,
    /// What the vertical axis is, with its unit.
    pub y: String,
    /// What is drawn.
    pub shape: Shape,
}

/// The kinds of drawings.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Bars in clusters, heights from zero.
    Bars(Vec<Bar>),
    /// Curves over a logarithmic horizontal axis.
    Curves(Vec<Curve>),
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What the legend calls it.
    pub row: String,
    /// The cluster it stands in.
    pub cluster: String,
    /// Its height.
    pub height: f64,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What the legend calls it.
    pub row: String,
    /// Its points, in ascending order.
    pub points: Vec<(f64, f64)>,
}

/// Draws every figure as an SVG file into `dir`, which is made if need be.
///
/// # Errors
///
/// [`BenchError::Io`] if a file cannot be written; [`BenchError::NothingToRun`] from a program built without
/// the feature `plot`.
pub(super) fn draw_all(dir: &Path, figures: &[Figure]) -> Result<(), BenchError> {
    std::fs::create_dir_all(dir)?;
    figures
        .iter()
        .try_for_each(|figure| draw(&dir.join(format!("{}.svg", figure.file)), figure))
}

#[cfg(feature = "plot")]
fn draw(file: &Path, figure: &Figure) -> Result<(), BenchError> {
    super::plot::draw(file, figure)
}

#[cfg(not(feature = "plot"))]
fn draw(_: &Path, _: &Figure) -> Result<(), BenchError> {
    Err(BenchError::NothingToRun(
        "this program was built without the feature `plot`".to_owned(),
    ))
}
