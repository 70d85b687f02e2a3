//! Where results go: standard output, or a file.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::shell::error::ShellError;

/// The place of results.
#[derive(Default)]
pub(crate) struct Out(Option<RefCell<File>>);

impl Out {
    /// Makes a file, or empties it, for what follows.
    pub(super) fn file(path: &Path) -> Result<Out, ShellError> {
        let file = File::create(path).map_err(|source| ShellError::Io {
            path: path.to_owned(),
            source,
        })?;
        Ok(Out(Some(RefCell::new(file))))
    }

    /// Returns whether it is a file, and not standard output.
    pub(super) fn is_file(&self) -> bool {
        self.0.is_some()
    }

    /// Writes a line.
    pub(super) fn line(&self, text: impl std::fmt::Display) -> io::Result<()> {
        match &self.0 {
            None => writeln!(io::stdout().lock(), "{text}"),
            // In one call: a file is not buffered, so that it holds all of it whenever the program ends.
            Some(file) => file.borrow_mut().write_all(format!("{text}\n").as_bytes()),
        }
    }

    /// Writes all that a reader gives.
    pub(super) fn copy(&self, from: &mut impl Read) -> io::Result<()> {
        match &self.0 {
            None => io::copy(from, &mut io::stdout().lock()),
            Some(file) => io::copy(from, &mut *file.borrow_mut()),
        }?;
        Ok(())
    }
}
