//! Objects on the screen: a page at a time, never a large table whole.

use std::io::{self, BufRead, IsTerminal, Write};

use fyris_term::Term;
use fyris_term::text::{self, PrintOptions};
use rustix::event::{PollFd, PollFlags, poll};

use super::error::ShellError;
use super::interrupt;

/// The most lines one object may take in a listing; `lookup` shows it whole.
const LINES_IN_LISTING: usize = 12;

/// Where results go and how wide it is.
pub(crate) struct Display {
    terminal: bool,
    width: usize,
    height: usize,
}

impl Display {
    /// Standard output as it is now.
    pub(crate) fn new() -> Display {
        let size = terminal_size::terminal_size();
        Display {
            terminal: io::stdout().is_terminal() && io::stdin().is_terminal(),
            width: size.map_or(80, |(w, _)| usize::from(w.0).clamp(40, 400)),
            height: size.map_or(24, |(_, h)| usize::from(h.0).max(5)),
        }
    }

    /// Is there somebody who can page?
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// How many columns a line has.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// A line of text.
    pub(crate) fn line(&self, text: impl std::fmt::Display) -> Result<(), ShellError> {
        Ok(writeln!(io::stdout().lock(), "{text}")?)
    }

    /// A term, laid out as Erlang's shell does.
    pub(crate) fn term(&self, term: &Term) -> Result<(), ShellError> {
        self.line(self.layout(term))
    }

    fn layout(&self, term: &Term) -> String {
        text::print_p(
            term,
            &PrintOptions {
                line_width: self.width,
                ..PrintOptions::default()
            },
        )
    }

    /// Objects whole, one after the other; on a terminal page by page.
    pub(crate) fn whole(&self, objects: &[Term]) -> Result<(), ShellError> {
        let mut lines = 0;
        for (shown, object) in objects.iter().enumerate() {
            interrupt::check()?;
            if self.terminal && lines + 1 >= self.height {
                lines = 0;
                if !self.more(shown)? {
                    return self.line(format!("... {shown} shown of {}", objects.len()));
                }
            }
            let text = self.layout(object);
            lines += text.lines().count();
            self.line(text)?;
        }
        Ok(())
    }

    /// One object of a listing, cut if it is very tall; returns the lines it took.
    fn listed(&self, term: &Term) -> Result<usize, ShellError> {
        let text = self.layout(term);
        let lines: Vec<&str> = text.lines().collect();
        let shown = lines.len().min(LINES_IN_LISTING);
        let mut out = io::stdout().lock();
        for line in &lines[..shown] {
            writeln!(out, "{line}")?;
        }
        if shown < lines.len() {
            writeln!(
                out,
                "    ... {} more lines; `lookup` shows all of it",
                lines.len() - shown
            )?;
        }
        Ok(shown)
    }

    /// Prints objects until `next` has no more or `limit` are out; on a terminal stops after each page and asks.
    /// Returns how many were printed and whether there were more.
    pub(crate) fn pages(
        &self,
        limit: usize,
        mut next: impl FnMut() -> Result<Option<Term>, ShellError>,
    ) -> Result<(usize, bool), ShellError> {
        let (mut shown, mut lines) = (0, 0);
        while shown < limit {
            interrupt::check()?;
            let Some(object) = next()? else {
                return Ok((shown, false));
            };
            lines += self.listed(&object)?;
            shown += 1;
            if self.terminal && lines + 1 >= self.height {
                lines = 0;
                if !self.more(shown)? {
                    return Ok((shown, true));
                }
            }
        }
        Ok((shown, next()?.is_some()))
    }

    /// Asks whether to go on.
    fn more(&self, shown: usize) -> Result<bool, ShellError> {
        let mut out = io::stdout().lock();
        write!(out, "-- {shown} shown; Enter for more, q to stop -- ")?;
        out.flush()?;
        await_input()?;
        // Bytes: a key that is no UTF-8 is an answer too.
        let mut answer = Vec::new();
        let read = io::stdin().lock().read_until(b'\n', &mut answer);
        Ok(read? > 0 && !answer.trim_ascii_start().starts_with(b"q"))
    }
}

/// Waits until there is something to read, or Ctrl-C: a blocking read would only see it after the next line.
fn await_input() -> Result<(), ShellError> {
    let stdin = io::stdin();
    loop {
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) => interrupt::check()?,
            Err(e) => return Err(ShellError::Output(e.into())),
            Ok(_) => return Ok(()),
        }
    }
}

/// Bytes for people.
pub(crate) fn bytes(count: u64) -> String {
    indicatif::HumanBytes(count).to_string()
}
