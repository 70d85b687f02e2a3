//! Objects on the screen: a page at a time, never a large table whole.

use std::io::{self, IsTerminal, Write};

use fyris_term::Term;
use fyris_term::text::{self, PrintOptions};

use super::error::ShellError;
use super::format::Format;
use super::interrupt;
use super::pager::Pager;

/// The most lines one object may take in a listing; `lookup` shows it whole.
const LINES_IN_LISTING: usize = 12;

/// The output of results: for people on a terminal, else for programs.
pub(crate) struct Display {
    terminal: bool,
    /// The form of terms; none: laid out on a terminal, otherwise Erlang terms, one a line.
    format: Option<Format>,
}

impl Display {
    /// Makes a display for standard output as it is now.
    pub(crate) fn new() -> Display {
        Display {
            terminal: io::stdout().is_terminal() && io::stdin().is_terminal(),
            format: None,
        }
    }

    /// Chooses the form of terms; none is that of the terminal.
    pub(crate) fn set_format(&mut self, format: Option<Format>) {
        self.format = format;
    }

    /// Returns the form in which each term takes one line, if it does.
    pub(crate) fn format(&self) -> Option<Format> {
        match self.format {
            None if !io::stdout().is_terminal() => Some(Format::Erl),
            format => format,
        }
    }

    /// Prints a remark for people: beside the results, on standard error, where programs read these.
    pub(crate) fn note(&self, text: impl std::fmt::Display) -> Result<(), ShellError> {
        match self.format() {
            None => self.line(text),
            Some(_) => Ok(writeln!(io::stderr().lock(), "{text}")?),
        }
    }

    /// Returns whether input and output are a terminal, so that a person can page.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns the number of columns of a line.
    pub(crate) fn width(&self) -> usize {
        size().0.clamp(40, 400)
    }

    fn pager(&self) -> Pager {
        Pager::new(self.terminal.then(size))
    }

    /// Prints a line of text.
    pub(crate) fn line(&self, text: impl std::fmt::Display) -> Result<(), ShellError> {
        Ok(writeln!(io::stdout().lock(), "{text}")?)
    }

    /// Prints that a change was made: beside the results if a form was chosen for these.
    pub(crate) fn done(&self, text: impl std::fmt::Display) -> Result<(), ShellError> {
        match self.format {
            None => self.line(text),
            Some(_) => self.note(text),
        }
    }

    /// Prints a warning on standard error.
    pub(crate) fn warn(&self, text: &str) {
        eprintln!("warning: {text}");
    }

    /// Prints a term: on a terminal laid out as Erlang's shell does.
    pub(crate) fn term(&self, term: &Term) -> Result<(), ShellError> {
        self.line(self.layout(term))
    }

    fn layout(&self, term: &Term) -> String {
        if let Some(format) = self.format() {
            return format.line(term);
        }
        text::print_p(
            term,
            &PrintOptions {
                line_width: self.width(),
                ..PrintOptions::default()
            },
        )
    }

    /// Prints objects whole, one after the other; on a terminal page by page.
    pub(crate) fn whole(&self, objects: &[Term]) -> Result<(), ShellError> {
        let mut pager = self.pager();
        for (shown, object) in objects.iter().enumerate() {
            interrupt::check()?;
            let text = self.layout(object);
            let lines: Vec<&str> = match self.format() {
                Some(_) => vec![&text],
                None => text.lines().collect(),
            };
            for line in lines {
                if !pager.line(line, shown)? {
                    return self.note(format!("... {shown} shown of {}", objects.len()));
                }
            }
        }
        Ok(())
    }

    /// Returns the lines of one object in a listing, cut if it is very tall.
    fn listed(&self, term: &Term) -> Vec<String> {
        let text = self.layout(term);
        if self.format().is_some() {
            return vec![text];
        }
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() > LINES_IN_LISTING {
            let more = lines.len() - LINES_IN_LISTING;
            lines.truncate(LINES_IN_LISTING);
            lines.push(format!(
                "    ... {more} more lines; `lookup` shows all of it"
            ));
        }
        lines
    }

    /// Prints objects until `next` has no more or `limit` are out; on a terminal stops after each page and asks.
    /// Returns how many were printed and whether there were more.
    pub(crate) fn pages(
        &self,
        limit: usize,
        mut next: impl FnMut() -> Result<Option<Term>, ShellError>,
    ) -> Result<(usize, bool), ShellError> {
        let mut pager = self.pager();
        for shown in 0..limit {
            interrupt::check()?;
            let Some(object) = next()? else {
                return Ok((shown, false));
            };
            for line in self.listed(&object) {
                if !pager.line(&line, shown)? {
                    return Ok((shown, true));
                }
            }
        }
        Ok((limit, next()?.is_some()))
    }
}

/// Columns and rows of the terminal, or those of a usual one.
fn size() -> (usize, usize) {
    terminal_size::terminal_size().map_or((80, 24), |(w, h)| {
        (usize::from(w.0), usize::from(h.0).max(5))
    })
}

/// Returns a number of bytes in a unit that people read.
pub(crate) fn bytes(count: u64) -> String {
    indicatif::HumanBytes(count).to_string()
}
