//! What has become of the objects of a table in a file of rows: the file is read as `load` would read it, and compared.
//!
//! So the forms of values, the inference of types and the reader need not be thought through once more to know what
//! they lose together. It costs two readings of the file.

use std::collections::BTreeSet;
use std::path::Path;

use fyris_term::Term;

use super::csv_file::CsvFile;
use super::json_lines::JsonLines;
use super::rows::{RowSource, Ticker};
use super::writer::RowForm;
use crate::shell::error::ShellError;
use crate::shell::screen::format::Format;

/// What comes back otherwise than it was.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The number of values.
    pub(crate) count: u64,
    /// The first of them, in words.
    pub(crate) first: Option<String>,
    /// The columns that have any, from 0.
    pub(crate) columns: BTreeSet<usize>,
    /// The number of columns that are in the file: of JSON those that an object has.
    pub(crate) read: usize,
    /// Does nothing come back at all?
    pub(crate) unreadable: bool,
}

impl Changes {
    /// Returns the file's changes against the rows that were written.
    pub(crate) fn new(
        path: &Path,
        form: &RowForm,
        rows: impl Iterator<Item = Result<Vec<Term>, ShellError>>,
    ) -> Result<Changes, ShellError> {
        let source: Box<dyn RowSource> = match form.format {
            Format::Json => Box::new(JsonLines::new(path)),
            _ => Box::new(CsvFile::new(path, None, true)),
        };
        let mut changes = Changes::default();
        // The row that is being read, from 1; none while the columns are looked for.
        let mut row = 0;
        match changes.compare(source.as_ref(), path, form, rows, &mut row) {
            // The path is one that the user has never seen.
            Err(ShellError::Data { place, problem, .. }) => {
                changes.unreadable = true;
                changes.add(|| match row {
                    0 => format!("{place}: {problem}"),
                    row => format!("row {row}: {problem}"),
                });
                Ok(changes)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(changes),
        }
    }

    fn compare(
        &mut self,
        source: &dyn RowSource,
        path: &Path,
        form: &RowForm,
        mut rows: impl Iterator<Item = Result<Vec<Term>, ShellError>>,
        row: &mut u64,
    ) -> Result<(), ShellError> {
        let mut schema = source.schema(&mut Ticker::new("reading back", path))?;
        self.read = schema.names.len();
        // Of JSON, columns that no object has are not there.
        let is_cut = form.format == Format::Json && form.names.starts_with(&schema.names);
        if schema.names != form.names && !is_cut {
            let names = |names: &[String]| format!("{names:?}");
            let (was, becomes) = (names(&form.names), names(&schema.names));
            self.unreadable = self.read != form.names.len();
            self.add(|| format!("the names of the columns, {was}, would come back as {becomes}"));
        }
        schema.readings = form.readings.clone();
        let mut ticker = Ticker::new("comparing", path);
        *row = 1;
        source.rows(&schema, &mut ticker, &mut |back| {
            let written = rows.next().transpose()?.unwrap_or_default();
            self.row(*row, &form.names, &written, &back);
            *row += 1;
            Ok(())
        })?;
        if rows.next().is_some() {
            self.add(|| format!("row {row} would not come back"));
        }
        Ok(())
    }

    fn row(&mut self, row: u64, names: &[String], written: &[Term], back: &[Term]) {
        for (at, (was, becomes)) in written.iter().zip(back).enumerate() {
            if was != becomes {
                self.columns.insert(at);
                self.add(|| {
                    let name = names.get(at).map_or("", String::as_str);
                    let (was, becomes) = (was.brief(60), becomes.brief(60));
                    format!("row {row}, column {name}: {was} would come back as {becomes}")
                });
            }
        }
        if written.len() != back.len() {
            self.add(|| {
                let object = |elements: &[Term]| Term::tuple(elements.to_vec()).brief(60);
                let (was, becomes) = (object(written), object(back));
                format!("row {row}: {was} would come back as {becomes}")
            });
        }
    }

    /// Takes note of a change.
    pub(crate) fn add(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(what);
    }
}
