//! Rows as a table with a header that fits the screen.
//!
//! Widths are those of the first rows, so that a long listing begins at once; a cell that is too wide is cut.

use fyris_term::Term;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::format::{field, printable};

/// The number of rows that decide on the widths.
pub(super) const LOOKED_AT: usize = 200;

/// The least width that a column is cut to.
const NARROWEST: usize = 4;

const BETWEEN: &str = "  ";

/// The columns of a table on the screen.
pub(super) struct Grid {
    widths: Vec<usize>,
    /// Columns of numbers stand at the right.
    right: Vec<bool>,
}

impl Grid {
    /// Returns the columns that fit these rows, within a screen of `width`.
    pub(super) fn new(names: &[String], rows: &[Vec<Term>], width: usize) -> Grid {
        let columns = rows.iter().map(Vec::len).chain([names.len()]).max();
        let columns = columns.unwrap_or(0);
        let name = |at: usize| names.get(at).map_or(0, |name| printable(name).width());
        let mut grid = Grid {
            widths: (0..columns).map(name).collect(),
            right: vec![true; columns],
        };
        for row in rows {
            for (at, cell) in row.iter().enumerate() {
                grid.widths[at] = grid.widths[at].max(text(cell).width());
                let number = matches!(cell, Term::Int(_) | Term::Big(_) | Term::Float(_));
                grid.right[at] &= number || is_missing(cell);
            }
        }
        for (at, right) in grid.right.iter_mut().enumerate() {
            *right &= rows
                .iter()
                .any(|row| row.get(at).is_some_and(|cell| !is_missing(cell)));
        }
        grid.fit(width);
        grid
    }

    /// Narrows the widest columns until the screen has room for all.
    fn fit(&mut self, width: usize) {
        let gaps = BETWEEN.len() * self.widths.len().saturating_sub(1);
        let room = width.saturating_sub(gaps);
        while self.widths.iter().sum::<usize>() > room {
            let Some(widest) = self.widths.iter_mut().max() else {
                return;
            };
            if *widest <= NARROWEST {
                return;
            }
            *widest -= 1;
        }
    }

    /// Returns the names, and the line below them.
    pub(super) fn header(&self, names: &[String]) -> [String; 2] {
        let lines = self.widths.iter().map(|width| "-".repeat(*width));
        [
            self.line(names.iter().map(|name| printable(name).into_owned())),
            lines.collect::<Vec<_>>().join(BETWEEN),
        ]
    }

    /// Returns a row.
    pub(super) fn row(&self, row: &[Term]) -> String {
        self.line(row.iter().map(text))
    }

    fn line(&self, cells: impl Iterator<Item = String>) -> String {
        let mut line = String::new();
        for (at, cell) in cells.enumerate() {
            if at > 0 {
                line += BETWEEN;
            }
            let Some(&width) = self.widths.get(at) else {
                line += &cell;
                continue;
            };
            let cell = cut(&cell, width);
            let blank = " ".repeat(width.saturating_sub(cell.width()));
            line += &match self.right[at] {
                true => blank + &cell,
                false => cell + &blank,
            };
        }
        line.truncate(line.trim_end().len());
        line
    }
}

fn is_missing(cell: &Term) -> bool {
    *cell == Term::atom("undefined")
}

/// Returns the text of a cell, on one line.
fn text(cell: &Term) -> String {
    printable(&field(cell)).into_owned()
}

/// Returns a text with `…` in the place of what goes beyond the width.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut room = width.saturating_sub(1);
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if wide > room {
            break;
        }
        room -= wide;
        kept.push(c);
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(names: &[&str], rows: &str, width: usize) -> Vec<String> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let rows = Term::parse(rows).expect("a term");
        let rows = rows.as_list().expect("a list").iter();
        let rows: Vec<Vec<Term>> = rows
            .map(|row| row.as_tuple().expect("a tuple").to_vec())
            .collect();
        let grid = Grid::new(&names, &rows, width);
        let header = grid.header(&names);
        header
            .into_iter()
            .chain(rows.iter().map(|row| grid.row(row)))
            .collect()
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let rows = "[{1, <<\"Ann\">>, undefined}, {10, <<\"Bo\\n\">>, {a, b}, more}, {x}]";
        let wanted = [
            "id  name",
            "--  ----  -----  ----",
            "1   Ann",
            "10  Bo\\n  {a,b}  more",
            "x",
        ];
        assert_eq!(shown(&["id", "name"], rows, 80), wanted);
        let shown_names = &shown(&["a\u{1b}[2J\r"], "[{x}]", 80)[..2];
        assert_eq!(shown_names, ["a\\u{1b}[2J\\r", "------------"]);
        let wanted = ["  n", "---", "  1", "", "1.5"];
        assert_eq!(shown(&["n"], "[{1}, {undefined}, {1.5}]", 80), wanted);
    }

    #[test]
    fn wide_cells_are_cut() {
        let rows = "[{1, <<\"abcdefghijklmnop\">>, <<\"界界界界\"/utf8>>}]";
        let wanted = [
            "n  text      wide",
            "-  --------  --------",
            "1  abcdefg…  界界界界",
        ];
        assert_eq!(shown(&["n", "text", "wide"], rows, 21), wanted);
    }
}
