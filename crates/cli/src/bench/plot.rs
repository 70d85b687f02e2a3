//! Figures as SVG: a bar for each subject and case.

use std::path::Path;

use plotters::prelude::*;

use super::BenchError;
use super::case::Case;
use super::report::Line;

/// Draws one file for each kind of keys and number of threads, and one for memory, into `dir`.
pub(super) fn draw(dir: &Path, lines: &[Line]) -> Result<(), BenchError> {
    std::fs::create_dir_all(dir)?;
    let mut groups: Vec<(&str, usize)> = Vec::new();
    for line in lines.iter().filter(|l| Case::POINTS.contains(&l.case)) {
        if !groups.contains(&(line.keys, line.threads)) {
            groups.push((line.keys, line.threads));
        }
    }
    for (keys, threads) in groups {
        let group =
            |l: &&Line| l.keys == keys && l.threads == threads && Case::POINTS.contains(&l.case);
        let chart = Chart::new(lines.iter().filter(group), |l| l.case.name());
        let title = format!("{keys} keys, {threads} thread(s)");
        let file = dir.join(format!("core-{keys}-{threads}.svg"));
        chart.draw(&file, &title, "ns per operation and thread")?;
    }
    let memory = Chart::new(lines.iter().filter(|l| l.case == Case::Bytes), |l| l.keys);
    if !memory.rows.is_empty() {
        memory.draw(&dir.join("core-bytes.svg"), "memory", "bytes per entry")?;
    }
    Ok(())
}

/// Bars in clusters: a cluster for each name, a bar in it for each row.
struct Chart {
    rows: Vec<String>,
    clusters: Vec<&'static str>,
    /// Row, cluster, height.
    bars: Vec<(usize, usize, f64)>,
}

impl Chart {
    fn new<'a>(lines: impl Iterator<Item = &'a Line>, cluster: fn(&Line) -> &'static str) -> Self {
        let mut chart = Self {
            rows: Vec::new(),
            clusters: Vec::new(),
            bars: Vec::new(),
        };
        for line in lines {
            let row = position(&mut chart.rows, line.label());
            let cluster = position(&mut chart.clusters, cluster(line));
            chart.bars.push((row, cluster, line.figure()));
        }
        chart
    }

    fn draw(&self, file: &Path, title: &str, unit: &str) -> Result<(), BenchError> {
        self.try_draw(file, title, unit)
            .map_err(|error| BenchError::Io(std::io::Error::other(error.to_string())))
    }

    fn try_draw(
        &self,
        file: &Path,
        title: &str,
        unit: &str,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let top = self.bars.iter().map(|bar| bar.2).fold(1.0, f64::max) * 1.05;
        let wide = (self.clusters.len() * (self.rows.len() + 2) * 9 + 320).max(640);
        let root = SVGBackend::new(file, (wide as u32, 480)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 20))
            .margin(10)
            .margin_right(200)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..self.clusters.len() as f64, 0.0..top)?;
        let name = |x: &f64| self.name_at(*x).to_owned();
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(self.clusters.len() * 2 + 1)
            .x_label_formatter(&name)
            .x_desc("case")
            .y_desc(unit)
            .draw()?;
        for (at, row) in self.rows.iter().enumerate() {
            let color = Palette99::pick(at).filled();
            chart
                .draw_series(self.bars.iter().filter(|bar| bar.0 == at).map(|bar| {
                    Rectangle::new(
                        [
                            (self.left(at, bar.1), 0.0),
                            (self.left(at + 1, bar.1), bar.2),
                        ],
                        color,
                    )
                }))?
                .label(row)
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], color));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::Coordinate(wide as i32 - 270, 0))
            .background_style(WHITE)
            .draw()?;
        root.present()?;
        Ok(())
    }

    /// The left edge of a row's bar in a cluster.
    fn left(&self, row: usize, cluster: usize) -> f64 {
        cluster as f64 + (row as f64 + 1.0) / (self.rows.len() as f64 + 2.0)
    }

    /// The cluster whose middle is at `x`, or nothing.
    fn name_at(&self, x: f64) -> &'static str {
        let middle = (x.fract() - 0.5).abs() < 0.01;
        self.clusters
            .get(x as usize)
            .copied()
            .filter(|_| middle)
            .unwrap_or("")
    }
}

/// Where `item` is in `items`, after adding it if it was not.
fn position<T: PartialEq>(items: &mut Vec<T>, item: T) -> usize {
    items.iter().position(|i| *i == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}
