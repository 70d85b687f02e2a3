//! Rows under the names of their columns, in every form.

use fyris_term::Term;

use super::display::Display;
use super::format::{Format, json_row, list_row, names_row, row};
use super::grid::{Grid, LOOKED_AT};
use super::pager::Pager;
use crate::shell::error::ShellError;
use crate::shell::interrupt;

impl Display {
    /// Prints rows until `next` has no more or `limit` are out; on a terminal stops after each page and asks. Returns
    /// how many were printed and whether there were more. JSON is one array of objects.
    pub(crate) fn rows(
        &self,
        names: &[String],
        limit: usize,
        mut next: impl FnMut() -> Result<Option<Vec<Term>>, ShellError>,
    ) -> Result<(usize, bool), ShellError> {
        let format = self.row_format();
        let mut first = Vec::new();
        if format == Format::Table {
            while first.len() < LOOKED_AT.min(limit) {
                let Some(row) = next()? else { break };
                first.push(row);
            }
        }
        let grid = Grid::new(names, &first, self.width());
        let mut rows = Rows {
            display: self,
            names,
            format,
            pager: self.pager(),
            grid,
            shown: 0,
            held: None,
        };
        let mut first = first.into_iter();
        let mut next = || first.next().map_or_else(&mut next, |row| Ok(Some(row)));
        let more = rows.print(limit, &mut next)?;
        rows.end()?;
        Ok((rows.shown, more))
    }

    /// Returns the form of rows.
    fn row_format(&self) -> Format {
        match self.format {
            Some(format) => format,
            None if self.is_screen() => Format::Table,
            None => Format::List,
        }
    }
}

/// A listing of rows.
struct Rows<'d> {
    display: &'d Display,
    names: &'d [String],
    format: Format,
    pager: Pager,
    grid: Grid,
    shown: usize,
    /// The row of JSON that is not out, since what follows it is not known.
    held: Option<String>,
}

impl Rows<'_> {
    /// Returns whether there were more rows than were printed.
    fn print(
        &mut self,
        limit: usize,
        next: &mut impl FnMut() -> Result<Option<Vec<Term>>, ShellError>,
    ) -> Result<bool, ShellError> {
        let mut row = next()?;
        if row.is_some() && !self.header()? {
            return Ok(true);
        }
        while let Some(cells) = row {
            interrupt::check()?;
            if self.shown == limit || !self.row(cells)? {
                return Ok(true);
            }
            self.shown += 1;
            row = next()?;
        }
        Ok(false)
    }

    /// Prints the names, if they are wanted.
    fn header(&mut self) -> Result<bool, ShellError> {
        let wanted = self.display.headers.unwrap_or(self.format == Format::Table);
        if !wanted {
            return Ok(true);
        }
        match self.format {
            Format::Table => {
                let [names, line] = self.grid.header(self.names);
                Ok(self.line(&names)? && self.line(&line)?)
            }
            Format::Csv => self.line(&names_row(self.names)),
            Format::List => self.line(&self.names.join("|")),
            Format::Erl | Format::Json => Ok(true),
        }
    }

    fn row(&mut self, cells: Vec<Term>) -> Result<bool, ShellError> {
        match self.format {
            Format::Table => self.line(&self.grid.row(&cells)),
            Format::Csv => self.line(&row(&cells)),
            Format::List => self.line(&list_row(&cells)),
            Format::Erl => self.line(&Format::Erl.line(&Term::tuple(cells))),
            Format::Json => {
                let begin = if self.shown == 0 { "[" } else { "" };
                let object = format!("{begin}{}", json_row(self.names, &cells));
                match self.held.replace(object) {
                    Some(before) => self.line(&(before + ",")),
                    None => Ok(true),
                }
            }
        }
    }

    /// Prints what is left of JSON.
    fn end(&mut self) -> Result<(), ShellError> {
        if self.format == Format::Json {
            let last = self.held.take().unwrap_or_else(|| "[".to_owned());
            self.display.line(last + "]")?;
        }
        Ok(())
    }

    fn line(&mut self, text: &str) -> Result<bool, ShellError> {
        let text = &self.display.printed(text);
        self.pager.line(&self.display.out, text, text, self.shown)
    }
}
