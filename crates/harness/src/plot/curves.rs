//! Curves over a logarithmic horizontal axis, with a mark and an error bar at each point.

use std::error::Error;
use std::path::Path;

use plotters::style::text_anchor::HPos;
use plotters::style::{BLACK, Color, RGBColor};

use super::axis::Axis;
use super::canvas::Page;
use super::style;
use crate::figure::{Curve, Figure};

/// Points up and left of the plot area.
const HIGH: i32 = 380;
const LEFT: i32 = 70;

/// Draws the curves.
pub(super) fn draw(file: &Path, figure: &Figure, curves: &[Curve]) -> Result<(), Box<dyn Error>> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let xs = Axis::logarithmic(points().map(|point| point.0));
    let values = points().flat_map(|(_, value)| {
        let (low, high) = value.bounds();
        [low, value.median, high]
    });
    let ys = Axis::fitting(values);
    let rows: Vec<&str> = curves.iter().map(|curve| curve.row.as_str()).collect();
    let page = Page::new(file, figure, (LEFT, HIGH), &rows)?;
    let x = |value: f64| page.left + (xs.at(value) * f64::from(page.right - page.left)) as i32;
    let y = |value: f64| page.bottom - (ys.at(value) * f64::from(page.bottom - page.top)) as i32;
    let light = || RGBColor(221, 221, 221).stroke_width(1);
    for (value, name) in ys.ticks() {
        page.line((page.left, y(value)), (page.right, y(value)), light())?;
        page.text(&name, (page.left - 6, y(value) - 6), 12, HPos::Right)?;
    }
    for (value, name) in xs.ticks() {
        page.line((x(value), page.top), (x(value), page.bottom), light())?;
        page.text(&name, (x(value), page.bottom + 5), 12, HPos::Center)?;
    }
    for (row, curve) in curves.iter().enumerate() {
        page.path(
            row,
            curve
                .points
                .iter()
                .map(|(at, value)| (x(*at), y(value.median)))
                .collect(),
        )?;
        for (at, value) in &curve.points {
            if let Some((low, high)) = value.spread {
                let (at, color) = (x(*at), style::color(row));
                page.line((at, y(low)), (at, y(high)), color)?;
                page.line((at - 3, y(low)), (at + 3, y(low)), color)?;
                page.line((at - 3, y(high)), (at + 3, y(high)), color)?;
            }
            page.mark(row, (x(*at), y(value.median)))?;
        }
    }
    page.line((page.left, page.bottom), (page.right, page.bottom), BLACK)?;
    page.line((page.left, page.top), (page.left, page.bottom), BLACK)?;
    page.below(&figure.x)?;
    page.upright(&figure.y)?;
    page.finish()
}
