//! The legend, at the side: plotters' own stays inside the axes, where it covers the figure.

use std::error::Error;

use plotters::prelude::*;

use super::canvas::Canvas;

/// Points across a legend.
pub(super) const WIDTH: u32 = 190;

/// The position of the first row, and the points from row to row.
const TOP: i32 = 40;
const ROW: i32 = 18;

/// Draws a coloured square and a name for each row; rows have their colours by number.
pub(super) fn draw(area: &Canvas, rows: &[&str]) -> Result<(), Box<dyn Error>> {
    for (at, row) in rows.iter().enumerate() {
        let y = TOP + ROW * at as i32;
        let square = [(4, y), (16, y + 12)];
        area.draw(&Rectangle::new(square, Palette99::pick(at).filled()))?;
        let name = Text::new((*row).to_owned(), (22, y), ("sans-serif", 13));
        area.draw(&name)?;
    }
    Ok(())
}
