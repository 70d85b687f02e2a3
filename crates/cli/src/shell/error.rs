//! Errors of commands, in words for the person at the prompt.

use std::path::{Path, PathBuf};

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShellError {
    /// No such command.
    #[error("no command `{0}`: `help` lists them{1}")]
    UnknownVerb(String, String),
    /// Wrong arguments.
    #[error("{problem}\nusage: {usage}")]
    Usage {
        /// The error.
        problem: String,
        /// The syntax of the command.
        usage: &'static str,
    },
    /// A term that does not parse.
    #[error("{0}")]
    Parse(#[from] fyris_term::text::ParseError),
    /// A query that does not parse.
    #[error("{0}")]
    Syntax(SyntaxError),
    /// The store refused.
    #[error("{0}")]
    Store(#[from] fyris::Error),
    /// A dump could not be read or written.
    #[error("{}", with_path(path, source))]
    Dump {
        /// The file.
        path: PathBuf,
        /// Why, with the offset.
        source: fyris::dump::DumpError,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A data file says something that cannot be loaded.
    #[error("{path}: {place}: {problem}")]
    Data {
        /// The file.
        path: PathBuf,
        /// Line, record or column.
        place: String,
        /// The error.
        problem: String,
    },
    /// A command of a script failed.
    #[error("{source_name}, line {line}: {error}")]
    Line {
        /// The file, or a name for what was read.
        source_name: String,
        /// The line where the command begins.
        line: usize,
        /// Why.
        error: Box<ShellError>,
    },
    /// Writing to the terminal or a pipe failed.
    #[error("output: {0}")]
    Output(#[from] std::io::Error),
    /// Anything else, in a sentence.
    #[error("{0}")]
    Other(String),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

/// In a query, something else stands where `expected` should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: expected {expected}, found {found}")]
pub(crate) struct SyntaxError {
    /// From 1, in characters of the command.
    pub(crate) column: usize,
    pub(crate) expected: String,
    pub(crate) found: String,
    /// Could more text make it right?
    pub(crate) incomplete: bool,
}

impl ShellError {
    /// Converts an error of saving or loading a dump.
    pub(crate) fn from_dump(path: &Path, source: fyris::dump::DumpError) -> ShellError {
        match source {
            fyris::dump::DumpError::Cancelled => ShellError::Interrupted,
            source @ fyris::dump::DumpError::NotALog { .. } => {
                let ending = path.extension().and_then(|ending| ending.to_str());
                let format = match ending {
                    Some("csv" | "tsv" | "json" | "jsonl" | "ndjson") => "",
                    _ => " format csv|json",
                };
                let path = path.display();
                ShellError::other(format!(
                    "{source}: `load {path} key COLUMN{format}` reads CSV and JSON"
                ))
            }
            source => ShellError::Dump {
                path: path.to_owned(),
                source,
            },
        }
    }

    /// Adds the line of a source, if the source has a name and the error is one of a command.
    pub(crate) fn at(self, source: Option<&str>, line: usize) -> ShellError {
        match (source, self) {
            (None, error) | (_, error @ (ShellError::Output(_) | ShellError::Interrupted)) => error,
            (Some(source), error) => ShellError::Line {
                source_name: source.to_owned(),
                line,
                error: Box::new(error),
            },
        }
    }

    /// Returns a sentence of its own.
    pub(crate) fn other(text: impl Into<String>) -> ShellError {
        ShellError::Other(text.into())
    }
}

/// Returns the text of an error with the file's path, which some errors of dumps name themselves.
fn with_path(path: &Path, source: &fyris::dump::DumpError) -> String {
    let (path, message) = (path.display().to_string(), source.to_string());
    if message.contains(&path) {
        message
    } else {
        format!("{path}: {message}")
    }
}
