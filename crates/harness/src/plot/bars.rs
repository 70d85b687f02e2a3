//! Bars in clusters: a cluster for each name, a bar in it for each row.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use super::canvas::{canvas, position};
use super::legend;
use crate::figure::{Bar, Figure};

/// The bars, by number of row and cluster.
struct Chart<'a> {
    rows: Vec<&'a str>,
    clusters: Vec<&'a str>,
    /// Row, cluster, height.
    bars: Vec<(usize, usize, f64)>,
}

/// Draws the bars.
pub(super) fn draw(file: &Path, figure: &Figure, bars: &[Bar]) -> Result<(), Box<dyn Error>> {
    Chart::new(bars).draw(file, figure)
}

impl<'a> Chart<'a> {
    fn new(bars: &'a [Bar]) -> Self {
        let mut chart = Self {
            rows: Vec::new(),
            clusters: Vec::new(),
            bars: Vec::new(),
        };
        for bar in bars {
            let row = position(&mut chart.rows, &bar.row);
            let cluster = position(&mut chart.clusters, &bar.cluster);
            chart.bars.push((row, cluster, bar.height));
        }
        chart
    }

    fn draw(&self, file: &Path, figure: &Figure) -> Result<(), Box<dyn Error>> {
        let top = self.bars.iter().map(|bar| bar.2).fold(0.0, f64::max) * 1.05;
        let wide = (self.clusters.len() * self.cluster_width() + 80).max(480) as u32;
        let root = canvas(file, (wide + legend::WIDTH, 480))?;
        let (left, right) = root.split_horizontally(wide);
        let mut chart = ChartBuilder::on(&left)
            .caption(&figure.title, ("sans-serif", 20))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..self.clusters.len() as f64, 0.0..top)?;
        let name = |x: &f64| self.name_at(*x).to_owned();
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(self.clusters.len() * 2 + 1)
            .x_label_formatter(&name)
            .x_desc(&figure.x)
            .y_desc(&figure.y)
            .draw()?;
        for at in 0..self.rows.len() {
            let color = Palette99::pick(at).filled();
            chart.draw_series(self.bars.iter().filter(|bar| bar.0 == at).map(|bar| {
                Rectangle::new(
                    [
                        (self.left(at, bar.1), 0.0),
                        (self.left(at + 1, bar.1), bar.2),
                    ],
                    color,
                )
            }))?;
        }
        legend::draw(&right, &self.rows)?;
        root.present()?;
        Ok(())
    }

    /// Points across a cluster: room for its bars and for its name.
    fn cluster_width(&self) -> usize {
        let longest = self.clusters.iter().map(|name| name.len()).max();
        ((self.rows.len() + 2) * 9).max(longest.unwrap_or(0) * 7)
    }

    /// Returns the left edge of a row's bar in a cluster.
    fn left(&self, row: usize, cluster: usize) -> f64 {
        cluster as f64 + (row as f64 + 1.0) / (self.rows.len() as f64 + 2.0)
    }

    /// Returns the cluster whose middle is at `x`, or nothing.
    fn name_at(&self, x: f64) -> &'a str {
        let middle = (x.fract() - 0.5).abs() < 0.01;
        self.clusters
            .get(x as usize)
            .copied()
            .filter(|_| middle)
            .unwrap_or("")
    }
}
