//! Figures as SVG files.

mod axis;
mod bars;
mod canvas;
mod curves;
mod style;

use std::path::Path;

use crate::error::BenchError;
use crate::figure::Figure;
use crate::figure::Shape;

/// Draws every figure as an SVG file into `dir`, which is made if need be.
///
/// # Errors
///
/// [`BenchError::Io`] if a file cannot be written.
pub(super) fn draw_all(dir: &Path, figures: &[Figure]) -> Result<(), BenchError> {
    std::fs::create_dir_all(dir)?;
    figures
        .iter()
        .try_for_each(|figure| draw(&dir.join(format!("{}.svg", figure.file)), figure))
}

/// Draws one figure.
///
/// # Errors
///
/// [`BenchError::Io`], with what the drawing library said.
fn draw(file: &Path, figure: &Figure) -> Result<(), BenchError> {
    let drawn = match &figure.shape {
        Shape::Bars(bars) => bars::draw(file, figure, bars),
        Shape::Curves(curves) => curves::draw(file, figure, curves),
    };
    drawn.map_err(|error| BenchError::Io(std::io::Error::other(error.to_string())))
}
