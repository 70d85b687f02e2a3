//! Tables of the suite `core` for people: subjects down, cases across.

use super::case::Case;
use crate::report::Line;

/// The case that has no time.
const BYTES: &str = Case::Bytes.name();

/// Returns the tables of all figures: one for each kind of keys and number of threads, one for memory.
pub(super) fn render(lines: &[Line]) -> String {
    let mut out = String::new();
    let mut groups: Vec<(&str, usize, usize)> = Vec::new();
    for line in lines.iter().filter(|l| l.case != BYTES) {
        if !groups.contains(&(line.keys, line.threads, line.n)) {
            groups.push((line.keys, line.threads, line.n));
        }
    }
    for (keys, threads, n) in groups {
        let group: Vec<&Line> = lines
            .iter()
            .filter(|l| (l.keys, l.threads, l.n) == (keys, threads, n) && l.case != BYTES)
            .collect();
        let many = if threads == 1 { "thread" } else { "threads" };
        let title =
            format!("{keys} keys, {threads} {many}, {n} entries: ns per operation and thread");
        out.push_str(&grid(&title, &group, |l| l.case));
    }
    let memory: Vec<&Line> = lines.iter().filter(|l| l.case == BYTES).collect();
    if !memory.is_empty() {
        out.push_str(&grid(
            "bytes per entry, allocator's account",
            &memory,
            |l| l.keys,
        ));
    }
    out
}

/// Returns one table: a row for each label, a column for each name that `column` gives.
fn grid(title: &str, lines: &[&Line], column: fn(&Line) -> &'static str) -> String {
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    let mut order: Vec<&&Line> = lines.iter().collect();
    order.sort_by_key(|l| Case::all().position(|case| case.name() == l.case));
    for line in order {
        let label = line.label();
        if !rows.contains(&label) {
            rows.push(label);
        }
        if !columns.contains(&column(line)) {
            columns.push(column(line));
        }
    }
    let width = rows.iter().map(String::len).max().unwrap_or(0);
    let mut out = format!("\n{title}\n{:width$}", "");
    for name in &columns {
        out.push_str(&format!(" {:>1$}", name, name.len().max(7)));
    }
    out.push('\n');
    for row in &rows {
        out.push_str(&format!("{row:width$}"));
        for name in &columns {
            let cell = lines
                .iter()
                .find(|l| l.label() == *row && column(l) == *name)
                .map_or_else(|| "-".to_owned(), |l| number(l.figure()));
            out.push_str(&format!(" {:>1$}", cell, name.len().max(7)));
        }
        out.push('\n');
    }
    out
}

/// Returns the figure with three significant digits.
pub(super) fn number(figure: f64) -> String {
    if figure.abs() < 100.0 {
        format!("{figure:.1}")
    } else {
        format!("{figure:.0}")
    }
}
