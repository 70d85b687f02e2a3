//! Bars in clusters: a cluster for each name at the side, a bar in it for each row, its value behind it.

use std::error::Error;
use std::path::Path;

use plotters::style::text_anchor::HPos;
use plotters::style::{BLACK, Color, RGBColor};

use super::axis::Axis;
use super::canvas::{Page, position};
use super::style;
use crate::figure::{Bar, Figure, number};

/// Points from bar to bar, and between clusters.
const BAR: i32 = 15;
const GAP: i32 = 10;

/// Points kept free at the right for the value of the longest bar.
const VALUE: i32 = 46;

/// Draws the bars.
pub(super) fn draw(file: &Path, figure: &Figure, bars: &[Bar]) -> Result<(), Box<dyn Error>> {
    let (mut rows, mut clusters) = (Vec::new(), Vec::new());
    let mut placed = Vec::new();
    for bar in bars {
        let row = position(&mut rows, &bar.row);
        placed.push((row, position(&mut clusters, &bar.cluster), bar));
    }
    let reach = |bar: &Bar| bar.value.bounds().1.max(bar.value.median);
    let axis = Axis::from_zero(bars.iter().map(reach).fold(0.0, f64::max));
    let longest = clusters
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0) as i32;
    // Each cluster is as high as it has bars: not every row is in every one.
    let mut tops = Vec::new();
    let mut high = GAP;
    for cluster in 0..clusters.len() {
        tops.push(high);
        let count = placed.iter().filter(|(_, of, _)| *of == cluster).count() as i32;
        high += count * BAR + GAP;
    }
    let page = Page::new(file, figure, (longest * 7 + 34, high), &rows)?;
    let x = |value: f64| {
        page.left + (axis.at(value) * f64::from(page.right - VALUE - page.left)) as i32
    };
    for (value, name) in axis.ticks() {
        let light = RGBColor(221, 221, 221).stroke_width(1);
        page.line((x(value), page.top), (x(value), page.bottom), light)?;
        page.text(&name, (x(value), page.bottom + 5), 12, HPos::Center)?;
    }
    for (cluster, name) in clusters.iter().enumerate() {
        let mut y = page.top + tops[cluster];
        let first = y;
        for (row, _, bar) in placed.iter().filter(|(_, of, _)| *of == cluster) {
            page.bar(
                *row,
                [(page.left, y + 1), (x(bar.value.median), y + BAR - 2)],
            )?;
            let middle = y + BAR / 2;
            if let Some((low, high)) = bar.value.spread {
                let (low, high) = (x(low), x(high));
                let ink = style::ink(*row);
                page.line((low, middle), (high, middle), ink)?;
                page.line((low, middle - 3), (low, middle + 3), ink)?;
                page.line((high, middle - 3), (high, middle + 3), ink)?;
            }
            page.text(
                &number(bar.value.median),
                (x(reach(bar)) + 5, y),
                12,
                HPos::Left,
            )?;
            y += BAR;
        }
        let at = (page.left - 6, i32::midpoint(first, y) - 7);
        page.text(name, at, 13, HPos::Right)?;
    }
    page.line((page.left, page.top), (page.left, page.bottom), BLACK)?;
    page.below(&figure.y)?;
    page.upright(&figure.x)?;
    page.finish()
}
