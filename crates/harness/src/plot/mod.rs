//! Figures as SVG files.

#[cfg(feature = "plot")]
mod axis;
#[cfg(feature = "plot")]
mod bars;
#[cfg(feature = "plot")]
mod canvas;
#[cfg(feature = "plot")]
mod curves;
#[cfg(feature = "plot")]
mod style;

use std::path::Path;

use crate::error::BenchError;
use crate::figure::Figure;
#[cfg(feature = "plot")]
use crate::figure::Shape;

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

/// Draws one figure.
///
/// # Errors
///
/// [`BenchError::Io`], with what the drawing library said.
#[cfg(feature = "plot")]
fn draw(file: &Path, figure: &Figure) -> Result<(), BenchError> {
    let drawn = match &figure.shape {
        Shape::Bars(bars) => bars::draw(file, figure, bars),
        Shape::Curves(curves) => curves::draw(file, figure, curves),
    };
    drawn.map_err(|error| BenchError::Io(std::io::Error::other(error.to_string())))
}

#[cfg(not(feature = "plot"))]
fn draw(_: &Path, _: &Figure) -> Result<(), BenchError> {
    Err(BenchError::NothingToRun(
        "this program was built without the feature `plot`".to_owned(),
    ))
}
