//! Rows of a data file: what CSV and JSON lines have in common.
//!
//! A file is read twice: once for the columns and their types, once for the rows. So a type holds for the whole column,
//! and memory stays bounded by one row however large the file is.

use std::path::Path;

use fyris_term::Term;

use super::infer::ColumnType;
use super::readings::{Reading, Readings};
use crate::shell::error::ShellError;
use crate::shell::interrupt;
use crate::shell::screen::format::printable;
use crate::shell::screen::progress::Progress;

/// The number of rows between two looks at Ctrl-C and the progress bar.
const BREATH: u64 = 512;

/// The longest row, in bytes: what one may cost in memory.
pub(crate) const ROW_LIMIT: u64 = 64 << 20;

/// The columns of a file.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    /// Names, in the order of the tuple's elements.
    pub(crate) names: Vec<String>,
    /// Types, as long as `names`; JSON carries its own types and says `None`.
    pub(crate) types: Vec<Option<ColumnType>>,
    /// What the columns are to be read as; nothing else than what they are until it is set.
    pub(crate) readings: Readings,
    /// Whether the form is one that names no columns where there are no rows, and there are none.
    pub(crate) is_blank: bool,
    /// The number of rows.
    pub(crate) rows: u64,
}

impl Schema {
    /// Returns the 1-based positions of the columns of a name.
    pub(crate) fn positions(&self, name: &str) -> impl Iterator<Item = usize> {
        let named = self
            .names
            .iter()
            .enumerate()
            .filter(move |(_, n)| *n == name);
        named.map(|(i, _)| i + 1)
    }

    /// Returns `name:type, ...` for people.
    pub(crate) fn describe(&self) -> String {
        let each = self.names.iter().zip(&self.types).enumerate();
        each.map(|(at, (name, kind))| match (self.readings.of(at), kind) {
            (Reading::Auto, Some(kind)) => format!("{}:{kind}", printable(name)),
            (Reading::Auto, None) => printable(name).into_owned(),
            (reading, _) => format!("{}:{}", printable(name), reading.name()),
        })
        .collect::<Vec<_>>()
        .join(", ")
    }
}

/// A file of rows.
pub(crate) trait RowSource {
    /// Reads the whole file for its columns and their types.
    fn schema(&self, ticker: &mut Ticker) -> Result<Schema, ShellError>;

    /// Reads the whole file again and gives each row, as a tuple's elements in the order of `schema`, to `row`.
    fn rows(
        &self,
        schema: &Schema,
        ticker: &mut Ticker,
        row: &mut dyn FnMut(Vec<Term>) -> Result<(), ShellError>,
    ) -> Result<(), ShellError>;
}

/// Counts rows, moves the progress bar and watches for Ctrl-C.
pub(crate) struct Ticker {
    progress: Progress,
    rows: u64,
}

impl Ticker {
    /// Returns a ticker for one reading of the file at `path`.
    pub(crate) fn new(what: &str, path: &Path) -> Ticker {
        let total = std::fs::metadata(path).map_or(0, |meta| meta.len());
        Ticker {
            progress: Progress::bytes(what, total),
            rows: 0,
        }
    }

    /// Adds a row that ends at byte `at` of the file.
    pub(crate) fn row(&mut self, at: u64) -> Result<(), ShellError> {
        self.rows += 1;
        if self.rows.is_multiple_of(BREATH) {
            interrupt::check()?;
            self.progress.at(at, self.rows);
        }
        Ok(())
    }

    /// Returns the number of rows so far.
    pub(crate) fn count(&self) -> u64 {
        self.rows
    }
}
