//! Helpers that all drawings share.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

/// A place to draw on, as plotters has it.
pub(super) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Returns a white page of that size.
pub(super) fn canvas(file: &Path, size: (u32, u32)) -> Result<Canvas<'_>, Box<dyn Error>> {
    let root = SVGBackend::new(file, size).into_drawing_area();
    root.fill(&WHITE)?;
    Ok(root)
}

/// Returns the position of `item` in `items`, after adding it if it is not there.
pub(super) fn position<'a>(items: &mut Vec<&'a str>, item: &'a str) -> usize {
    items.iter().position(|i| *i == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}
