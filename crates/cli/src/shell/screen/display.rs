//! Objects on the screen: a page at a time, never a large table whole.

use std::borrow::Cow;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::Path;

use fyris_term::Term;
use fyris_term::text::{self, PrintOptions};

use super::format::{Format, printable_lines};
use super::out::Out;
use super::pager::Pager;
use super::paint::Paint;
use crate::shell::error::ShellError;
use crate::shell::interrupt;

/// The most lines one object may take in a listing; `lookup` shows it whole.
const LINES_IN_LISTING: usize = 12;

/// Depths to which a large object is folded in a listing, the first that fits.
const FOLDS: [usize; 6] = [100, 50, 25, 12, 8, 5];

/// The output of results: for people on a terminal, else for programs.
pub(crate) struct Display {
    terminal: bool,
    pub(super) out: Out,
    /// The form of terms; none: laid out on a terminal, otherwise Erlang terms, one a line.
    pub(super) format: Option<Format>,
    /// Are objects shown as rows where columns have names?
    tables: bool,
    /// Do names stand above rows, if it was said?
    pub(super) headers: Option<bool>,
    paint: Paint,
    warning: Paint,
}

impl Display {
    /// Makes a display for standard output as it is now.
    pub(crate) fn new() -> Display {
        Display {
            terminal: io::stdout().is_terminal() && io::stdin().is_terminal(),
            out: Out::default(),
            format: None,
            tables: true,
            headers: None,
            paint: Paint::of(&io::stdout()),
            warning: Paint::of(&io::stderr()),
        }
    }

    /// Chooses the form of terms; none is that of the terminal, with `tables` rows where columns have names.
    pub(crate) fn set_format(&mut self, format: Option<Format>, tables: bool) {
        (self.format, self.tables) = (format, tables);
    }

    /// Says whether names stand above rows.
    pub(crate) fn set_headers(&mut self, on: bool) {
        self.headers = Some(on);
    }

    /// Writes results to a file from now on, or to standard output.
    pub(crate) fn set_output(&mut self, file: Option<&Path>) -> Result<(), ShellError> {
        self.out = file.map(Out::file).transpose()?.unwrap_or_default();
        Ok(())
    }

    /// Returns the form in which each term takes one line, if it does.
    pub(crate) fn format(&self) -> Option<Format> {
        match self.format {
            None | Some(Format::Table) if !self.is_screen() => Some(Format::Erl),
            Some(Format::Table) => None,
            format => format,
        }
    }

    /// Returns the name of the mode.
    pub(crate) fn mode(&self) -> &'static str {
        match (self.format, self.is_screen()) {
            (Some(format), _) => format.name(),
            (None, true) if self.tables => "auto",
            (None, true) => "screen",
            (None, false) => Format::Erl.name(),
        }
    }

    /// Returns whether objects are shown as rows where columns have names.
    pub(crate) fn shows_rows(&self) -> bool {
        match self.format {
            None => self.tables && self.is_screen(),
            Some(Format::Table) => true,
            Some(Format::Csv | Format::List) => self.headers == Some(true),
            Some(Format::Erl | Format::Json) => false,
        }
    }

    /// Prints a remark for people: beside the results, on standard error, where programs read these.
    pub(crate) fn note(&self, text: impl std::fmt::Display) -> Result<(), ShellError> {
        match self.format() {
            None => self.line(text),
            Some(_) => {
                let text = text.to_string();
                Ok(writeln!(io::stderr().lock(), "{}", printable_lines(&text))?)
            }
        }
    }

    /// Returns whether output goes to a screen whose user cannot page, as input is no terminal.
    pub(crate) fn runs_over(&self) -> bool {
        !self.terminal && self.is_screen()
    }

    /// Returns whether a person is at the other side, who can page.
    fn is_paged(&self) -> bool {
        self.terminal && !self.out.is_file()
    }

    /// Returns whether output goes to a screen, and not into a pipe or a file.
    pub(crate) fn is_screen(&self) -> bool {
        io::stdout().is_terminal() && !self.out.is_file()
    }

    /// Returns the number of columns of a line.
    pub(crate) fn width(&self) -> usize {
        size().0.clamp(40, 400)
    }

    pub(super) fn pager(&self) -> Pager {
        Pager::new(self.is_paged().then(size))
    }

    /// Prints a line of text.
    pub(crate) fn line(&self, text: impl std::fmt::Display) -> Result<(), ShellError> {
        Ok(self.out.line(self.printed(&text.to_string()))?)
    }

    /// Returns a text as it goes out: to a screen without control characters.
    pub(super) fn printed<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.is_screen() {
            true => printable_lines(text),
            false => text.into(),
        }
    }

    /// Writes all lines that a reader gives.
    pub(crate) fn copy(&self, from: &mut impl Read) -> Result<(), ShellError> {
        if !self.is_screen() {
            return Ok(self.out.copy(from)?);
        }
        let mut lines = io::BufReader::new(from).lines();
        lines.try_for_each(|line| self.line(line?))
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
        eprintln!(
            "{} {}",
            self.warning.warning("warning:"),
            printable_lines(text)
        );
    }

    /// Prints an error on standard error.
    pub(crate) fn error(&self, error: &ShellError) {
        let text = error.to_string();
        eprintln!("{}", self.warning.error(&printable_lines(&text)));
    }

    /// Prints a term: on a terminal laid out as Erlang's shell does.
    pub(crate) fn term(&self, term: &Term) -> Result<(), ShellError> {
        let text = self.layout(term, None);
        match self.format() {
            Some(_) => self.line(text),
            None => Ok(self.out.line(self.paint.terms(&text))?),
        }
    }

    /// Returns the text of a term; on a screen, of its parts down to `depth`.
    fn layout(&self, term: &Term, depth: Option<usize>) -> String {
        if let Some(format) = self.format() {
            return format.line(term);
        }
        text::print_p(
            term,
            &PrintOptions {
                line_width: self.width(),
                depth,
                ..PrintOptions::default()
            },
        )
    }

    /// Prints lines that are no objects; on a terminal page by page.
    pub(crate) fn text(&self, text: &str) -> Result<(), ShellError> {
        let mut pager = self.pager();
        for (shown, line) in text.lines().enumerate() {
            let line = &self.printed(line);
            if !pager.line(&self.out, line, line, shown)? {
                break;
            }
        }
        Ok(())
    }

    /// Prints a line of an object, unless the user has seen enough.
    fn object_line(&self, pager: &mut Pager, line: &str, shown: usize) -> Result<bool, ShellError> {
        match self.format() {
            Some(_) => {
                let line = &self.printed(line);
                pager.line(&self.out, line, line, shown)
            }
            None => pager.line(&self.out, line, &self.paint.terms(line), shown),
        }
    }

    /// Prints objects whole, one after the other; on a terminal page by page.
    pub(crate) fn whole(&self, objects: &[Term]) -> Result<(), ShellError> {
        let mut pager = self.pager();
        for (shown, object) in objects.iter().enumerate() {
            interrupt::check()?;
            let text = self.layout(object, None);
            let lines: Vec<&str> = match self.format() {
                Some(_) => vec![&text],
                None => text.lines().collect(),
            };
            for line in lines {
                if !self.object_line(&mut pager, line, shown)? {
                    return self.note(format!("... {shown} shown of {}", objects.len()));
                }
            }
        }
        Ok(())
    }

    /// Returns the lines of one object in a listing, and what is said below of one that is cut. A large one is folded:
    /// all of its first levels, and of long lists the first elements.
    fn listed(&self, term: &Term) -> (Vec<String>, Option<String>) {
        let text = self.layout(term, None);
        if self.format().is_some() {
            return (vec![text], None);
        }
        let tall = text.lines().count();
        if tall <= LINES_IN_LISTING {
            return (text.lines().map(str::to_owned).collect(), None);
        }
        let folded = FOLDS.iter().map(|&depth| self.layout(term, Some(depth)));
        let fits = |text: &String| text.lines().count() <= LINES_IN_LISTING;
        let text = folded.into_iter().find(fits).unwrap_or(text);
        let lines = text.lines().take(LINES_IN_LISTING).map(str::to_owned);
        let remark = format!("    ... folded from {tall} lines; `lookup` shows all of it");
        (lines.collect(), Some(remark))
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
            let (lines, remark) = self.listed(&object);
            for line in lines {
                if !self.object_line(&mut pager, &line, shown)? {
                    return Ok((shown, true));
                }
            }
            if let Some(remark) = remark
                && !pager.line(&self.out, &remark, &remark, shown)?
            {
                return Ok((shown, true));
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

/// Returns a number of objects in words.
pub(crate) fn objects(number: u64) -> String {
    match number {
        1 => "1 object".to_owned(),
        number => format!("{number} objects"),
    }
}

/// Returns a number of bytes in a unit that people read.
pub(crate) fn bytes(count: u64) -> String {
    indicatif::HumanBytes(count).to_string()
}
