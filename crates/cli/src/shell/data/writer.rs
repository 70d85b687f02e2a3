//! Objects on their way to a file of rows: the counterpart of the readers.

use std::io::{self, Write};

use fyris_term::Term;

use super::kinds::Kinds;
use super::readings::{Reading, Readings};
use crate::shell::error::ShellError;
use crate::shell::screen::format::{self, Format};

/// The form of the rows of a file.
#[derive(Debug)]
pub(crate) struct RowForm {
    pub(crate) format: Format,
    /// The names of the columns: as many as the longest row has elements.
    pub(crate) names: Vec<String>,
    /// What the columns will be read as.
    pub(crate) readings: Readings,
    /// Whether the columns are all elements of an object, so that JSON may leave out the last ones.
    pub(crate) is_whole: bool,
}

/// Writes rows, and takes note of what is in their columns.
pub(crate) struct RowWriter<'f, W> {
    form: &'f RowForm,
    out: W,
    kinds: Kinds,
    rows: u64,
}

impl<'f, W: Write> RowWriter<'f, W> {
    /// Begins with the header, if there is one.
    pub(crate) fn new(form: &'f RowForm, mut out: W) -> io::Result<RowWriter<'f, W>> {
        if form.format == Format::Csv {
            writeln!(out, "{}", format::names_row(&form.names))?;
        }
        Ok(RowWriter {
            form,
            out,
            kinds: Kinds::default(),
            rows: 0,
        })
    }

    /// Writes a row. Errors of the output come as [`ShellError::Output`].
    pub(crate) fn row(&mut self, elements: &[Term]) -> Result<(), ShellError> {
        self.rows += 1;
        let names = &self.form.names;
        let may_be_short = self.form.is_whole && self.form.format == Format::Json;
        if elements.len() > names.len() || elements.len() < names.len() && !may_be_short {
            let object = Term::tuple(elements.to_vec()).brief(80);
            let both = match self.form.is_whole {
                true => ": `format json terms` can hold both",
                false => "",
            };
            return Err(ShellError::other(format!(
                "row {}: {object} has {} elements and the columns are {}{both}",
                self.rows,
                elements.len(),
                names.len()
            )));
        }
        self.kinds.see(elements);
        let texts = elements.iter().enumerate().map(|(at, element)| {
            match self.form.readings.of(at) == Reading::Term {
                true => Term::binary(element.to_string().into_bytes()),
                false => element.clone(),
            }
        });
        let texts: Vec<Term> = texts.collect();
        let line = match self.form.format {
            Format::Json => format::json_row(names, &texts),
            _ => format::row(&texts),
        };
        Ok(writeln!(self.out, "{line}")?)
    }

    /// Ends the file: returns what is in the columns, and the number of rows.
    pub(crate) fn finish(mut self) -> io::Result<(Kinds, u64)> {
        self.out.flush()?;
        Ok((self.kinds, self.rows))
    }
}
