//! Figures as SVG files.

mod bars;
mod curves;
mod legend;

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::BenchError;
use super::figure::{Figure, Shape};

/// What plotters needs to know of a place to draw on.
type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws one figure.
///
/// # Errors
///
/// [`BenchError::Io`], with what the drawing library said.
pub(super) fn draw(file: &Path, figure: &Figure) -> Result<(), BenchError> {
    let drawn = match &figure.shape {
        Shape::Bars(bars) => bars::draw(file, figure, bars),
        Shape::Curves(curves) => curves::draw(file, figure, curves),
    };
    drawn.map_err(|error| BenchError::Io(std::io::Error::other(error.to_string())))
}

/// A white page of that size.
fn canvas(file: &Path, size: (u32, u32)) -> Result<Canvas<'_>, Box<dyn Error>> {
    let root = SVGBackend::new(file, size).into_drawing_area();
    root.fill(&WHITE)?;
    Ok(root)
}

/// Where `item` is in `items`, after adding it if it was not.
fn position<'a>(items: &mut Vec<&'a str>, item: &'a str) -> usize {
    items.iter().position(|i| *i == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}
