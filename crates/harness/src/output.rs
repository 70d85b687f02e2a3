//! The output of a run's figures: JSON lines as they come, tables and drawings at the end.

use std::io::{IsTerminal, Write as _};

use crate::args::BenchArgs;
use crate::error::BenchError;
use crate::figure::Figure;
use crate::plot;
use crate::report::Line;

/// The lines of one run, and the arguments it was started with.
pub(super) struct Output<'a> {
    pub(super) args: &'a BenchArgs,
    lines: Vec<Line>,
    /// Progress overwrites itself on a terminal, and is a line for each group elsewhere.
    live: bool,
}

impl<'a> Output<'a> {
    pub(super) fn new(args: &'a BenchArgs) -> Self {
        Self {
            args,
            lines: Vec::new(),
            live: std::io::stderr().is_terminal(),
        }
    }

    /// Takes lines in, and prints them if they are wanted as JSON.
    pub(super) fn emit(&mut self, lines: Vec<Line>) {
        if self.args.json {
            let mut out = std::io::stdout().lock();
            for line in &lines {
                // A reader that has gone away is told by the exit, not by a panic.
                let _ = writeln!(out, "{}", line.json());
            }
        }
        self.lines.extend(lines);
    }

    /// Prints the step that is being done, for a person at the terminal.
    pub(super) fn progress(&self, what: &str) {
        if self.live {
            eprint!("\r\x1b[K{what}");
        }
    }

    /// Says that a group is done.
    pub(super) fn progress_over(&self, what: &str) {
        if self.live {
            eprint!("\r\x1b[K");
        } else {
            eprintln!("{what}: done");
        }
    }

    /// Prints tables and draws figures, as wanted.
    ///
    /// # Errors
    ///
    /// [`BenchError::NothingToRun`] if nothing was measured, [`BenchError::Io`] if a figure cannot be written.
    pub(super) fn finish(
        self,
        table: fn(&[Line]) -> String,
        figures: fn(&[Line]) -> Vec<Figure>,
    ) -> Result<Vec<Line>, BenchError> {
        if self.lines.is_empty() {
            return Err(BenchError::NothingToRun(
                "no subject knows these cases".to_owned(),
            ));
        }
        if !self.args.json {
            print!("{}", table(&self.lines));
        }
        if let Some(dir) = &self.args.plot {
            plot::draw_all(dir, &figures(&self.lines))?;
        }
        Ok(self.lines)
    }
}
