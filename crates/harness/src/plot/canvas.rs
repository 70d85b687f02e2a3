//! The page of a drawing: title, plot area, legend at the side, note below.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{self, Form};
use crate::figure::Figure;

/// A place to draw on, as plotters has it.
type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

type Done = Result<(), Box<dyn Error>>;

/// Points across a page, across a legend, and from line to line of text.
const WIDE: i32 = 920;
const LEGEND: i32 = 200;
const LINE: i32 = 17;

/// Points above the plot area, and below it for names of ticks and of the axis.
const ABOVE: i32 = 44;
const BELOW: i32 = 48;

/// Letters in a line of a note.
const NOTE: usize = 125;

/// A page, and where its plot area lies.
pub(super) struct Page<'a> {
    root: Canvas<'a>,
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
}

impl<'a> Page<'a> {
    /// Begins a page with a plot area of that height, `left` points from the edge; draws all that is around it.
    pub(super) fn new(
        file: &'a Path,
        figure: &Figure,
        (left, high): (i32, i32),
        rows: &[&str],
    ) -> Result<Self, Box<dyn Error>> {
        let high = high.max(rows.len() as i32 * LINE);
        let notes = wrapped(&figure.note);
        let bottom = ABOVE + high;
        let size = (WIDE, bottom + BELOW + notes.len() as i32 * LINE);
        let root = SVGBackend::new(file, (size.0 as u32, size.1 as u32)).into_drawing_area();
        root.fill(&WHITE)?;
        let page = Self {
            root,
            left,
            right: WIDE - LEGEND,
            top: ABOVE,
            bottom,
        };
        page.text(&figure.title, (WIDE / 2, 12), 16, HPos::Center)?;
        for (at, row) in rows.iter().enumerate() {
            let y = ABOVE + at as i32 * LINE;
            page.mark(at, (page.right + 24, y + 6))?;
            page.text(row, (page.right + 40, y), 13, HPos::Left)?;
        }
        for (at, note) in notes.iter().enumerate() {
            let y = bottom + BELOW + at as i32 * LINE - 2;
            page.text(note, (12, y), 13, HPos::Left)?;
        }
        Ok(page)
    }

    /// Writes the file.
    pub(super) fn finish(self) -> Done {
        Ok(self.root.present()?)
    }

    /// Writes text whose upper edge is at `at`.
    pub(super) fn text(&self, text: &str, at: (i32, i32), size: i32, side: HPos) -> Done {
        let style = ("sans-serif", size).into_text_style(&self.root);
        let style = style.pos(Pos::new(side, VPos::Top));
        Ok(self.root.draw(&Text::new(text.to_owned(), at, style))?)
    }

    /// Writes the name of the vertical axis along it.
    pub(super) fn upright(&self, text: &str) -> Done {
        let font = ("sans-serif", 14).into_font();
        let style = font.transform(FontTransform::Rotate270);
        let style = style.into_text_style(&self.root);
        let style = style.pos(Pos::new(HPos::Center, VPos::Top));
        let at = (8, i32::midpoint(self.top, self.bottom));
        Ok(self.root.draw(&Text::new(text.to_owned(), at, style))?)
    }

    /// Writes the name of the horizontal axis below it.
    pub(super) fn below(&self, text: &str) -> Done {
        let at = (i32::midpoint(self.left, self.right), self.bottom + 24);
        self.text(text, at, 14, HPos::Center)
    }

    /// Draws a line.
    pub(super) fn line(
        &self,
        from: (i32, i32),
        to: (i32, i32),
        style: impl Into<ShapeStyle>,
    ) -> Done {
        Ok(self.root.draw(&PathElement::new([from, to], style))?)
    }

    /// Draws a line through points, in the style of a row.
    pub(super) fn path(&self, row: usize, points: Vec<(i32, i32)>) -> Done {
        let stroke = style::color(row).stroke_width(2);
        if style::form(row) == Form::Ring {
            let dashed = DashedPathElement::new(points, 6, 4, stroke);
            return Ok(self.root.draw(&dashed)?);
        }
        Ok(self.root.draw(&PathElement::new(points, stroke))?)
    }

    /// Draws the mark of a row's points.
    pub(super) fn mark(&self, row: usize, at: (i32, i32)) -> Done {
        let color = style::color(row);
        match style::form(row) {
            Form::Disc => self.root.draw(&Circle::new(at, 4, color.filled()))?,
            Form::Ring => {
                self.root.draw(&Circle::new(at, 4, WHITE.filled()))?;
                self.root.draw(&Circle::new(at, 4, color.stroke_width(2)))?;
            }
            Form::Square => {
                let corners = [(at.0 - 4, at.1 - 4), (at.0 + 4, at.1 + 4)];
                self.root.draw(&Rectangle::new(corners, color.filled()))?;
            }
        }
        Ok(())
    }

    /// Draws a bar of a row between two corners.
    pub(super) fn bar(&self, row: usize, corners: [(i32, i32); 2]) -> Done {
        let color = style::color(row);
        let style = match style::form(row) {
            Form::Ring => color.stroke_width(2),
            _ => color.filled(),
        };
        Ok(self.root.draw(&Rectangle::new(corners, style))?)
    }
}

/// Returns the note in lines.
fn wrapped(note: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in note.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < NOTE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the position of `item` in `items`, after adding it if it is not there.
pub(super) fn position<'a>(items: &mut Vec<&'a str>, item: &'a str) -> usize {
    items.iter().position(|i| *i == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}
