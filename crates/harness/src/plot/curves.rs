//! Curves over a logarithmic horizontal axis, with a mark at each point.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use super::canvas::canvas;
use super::legend;
use crate::figure::{Curve, Figure};

/// Points across the figure without its legend.
const WIDE: u32 = 720;

/// Draws the curves.
pub(super) fn draw(file: &Path, figure: &Figure, curves: &[Curve]) -> Result<(), Box<dyn Error>> {
    let root = canvas(file, (WIDE + legend::WIDTH, 480))?;
    let (left, right) = root.split_horizontally(WIDE);
    let (x, top) = bounds(curves);
    let mut chart = ChartBuilder::on(&left)
        .caption(&figure.title, ("sans-serif", 20))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d((x.0..x.1).log_scale(), 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc(&figure.x)
        .y_desc(&figure.y)
        .x_label_formatter(&|x| short(*x))
        .draw()?;
    for (at, curve) in curves.iter().enumerate() {
        let color = Palette99::pick(at).to_rgba();
        let points = || curve.points.iter().copied();
        chart.draw_series(LineSeries::new(points(), color.stroke_width(2)))?;
        chart.draw_series(points().map(|at| Circle::new(at, 3, color.filled())))?;
    }
    let rows: Vec<&str> = curves.iter().map(|curve| curve.row.as_str()).collect();
    legend::draw(&right, &rows)?;
    root.present()?;
    Ok(())
}

/// Returns the range of the horizontal axis, and the top of the vertical one.
fn bounds(curves: &[Curve]) -> ((f64, f64), f64) {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let low = points().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let high = points().map(|p| p.0).fold(1.0, f64::max);
    let top = points().map(|p| p.1).fold(0.0, f64::max);
    // One point alone still needs a width, and no curve at all a height.
    let low = low.min(high / 2.0);
    (
        (low / 1.2, high * 1.2),
        if top > 0.0 { top * 1.05 } else { 1.0 },
    )
}

/// Returns a size as the paper writes it: 5K, 2M.
fn short(x: f64) -> String {
    match x {
        x if x >= 1e6 => format!("{}M", x / 1e6),
        x if x >= 1e3 => format!("{}K", x / 1e3),
        x => format!("{x}"),
    }
}
