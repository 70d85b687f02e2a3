//! Errors of dumps: the cause for people, the term for programs.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fyris_files::disk_log::LogError;
use fyris_term::etf::DecodeError;
use fyris_term::{Atom, Term};

use super::posix;
use crate::Error;
use crate::record::brief;

/// Why a dump could not be written, read or looked at.
///
/// The message says what was wrong and where in the file; [`DumpError::reason`] gives the term that stands in the
/// `{error, Reason}` of `ets:tab2file`, `ets:file2tab` and `ets:tabfile_info`. Of a term it prints the term's
/// beginning, also by `{:?}`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file cannot be written, or not put in its place.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file under the name of the new dump cannot be replaced.
    #[error("cannot replace {}: {source}", path.display())]
    CannotReplace {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file does not begin as a log does.
    #[error("{} is no table dump: {}", path.display(), beginning(found))]
    NotALog {
        /// The file.
        path: PathBuf,
        /// The bytes it begins with, at most 8.
        found: Vec<u8>,
    },
    /// A log that holds something else than a table.
    #[error("{} is no table dump: it is {what}", path.display())]
    OtherLog {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// The offset of its first term, which says so.
        offset: u64,
    },
    /// The file is damaged.
    #[error("damaged dump: {0}")]
    Damaged(#[from] Damage),
    /// An object that the table does not take. `ets:file2tab` raises `badarg` here.
    #[error("byte {offset}: the table does not take this object: {source}")]
    BadObject {
        /// The offset of the object.
        offset: u64,
        /// The error of the table.
        source: Box<Error>,
    },
    /// Not as many objects as the dump says it has.
    #[error("byte {offset}: the dump ends after {found} objects and says it has {expected}")]
    ObjectCount {
        /// The number in the dump, as it stands there.
        expected: String,
        /// The number of objects read.
        found: u64,
        /// The offset of the end of the objects.
        offset: u64,
    },
    /// The MD5 of the objects is not the one in the dump.
    #[error("byte {offset}: the objects have the MD5 {found:02x?} and the dump says {expected}")]
    Checksum {
        /// The sum in the dump, as it stands there.
        expected: String,
        /// The sum of what was read.
        found: [u8; 16],
        /// The offset of the sum.
        offset: u64,
    },
    /// The store does not make a table such as the dump describes, mostly because its name is taken.
    #[error("cannot create the table: {0}")]
    CannotCreateTable(Box<Error>),
    /// The dump describes no table that there could be.
    #[error("cannot create the table: {0}")]
    BadDescription(String),
    /// The dump is of a version that is yet to come.
    #[error(
        "a dump of version {}.{}; at most version 1 can be read",
        brief(major),
        brief(minor)
    )]
    UnsupportedVersion {
        /// The first number.
        major: Term,
        /// The second number.
        minor: Term,
    },
    /// The table cannot be dumped.
    #[error("cannot dump the table: {0}")]
    Table(#[from] Error),
    /// An object that the external format cannot express.
    #[error("cannot dump an object: {0}")]
    Encode(String),
    /// An option that does not exist.
    #[error("unknown option {}", brief(.0))]
    UnknownOption(Term),
    /// The options are no list.
    #[error("malformed option list: {}", brief(.0))]
    MalformedOption(Term),
    /// The progress callback asked to stop.
    #[error("stopped by request")]
    Cancelled,
}

/// As it would be derived, but for terms.
impl fmt::Debug for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, fields): (_, &[(&str, &dyn fmt::Debug)]) = match self {
            DumpError::Read { path, source } => ("Read", &[("path", path), ("source", source)]),
            DumpError::Write { path, source } => ("Write", &[("path", path), ("source", source)]),
            DumpError::CannotReplace { path, source } => {
                ("CannotReplace", &[("path", path), ("source", source)])
            }
            DumpError::NotALog { path, found } => ("NotALog", &[("path", path), ("found", found)]),
            DumpError::OtherLog { path, what, offset } => (
                "OtherLog",
                &[("path", path), ("what", what), ("offset", offset)],
            ),
            DumpError::Damaged(damage) => ("Damaged", &[("", damage)]),
            DumpError::BadObject { offset, source } => {
                ("BadObject", &[("offset", offset), ("source", source)])
            }
            DumpError::ObjectCount {
                expected,
                found,
                offset,
            } => (
                "ObjectCount",
                &[("expected", expected), ("found", found), ("offset", offset)],
            ),
            DumpError::Checksum {
                expected,
                found,
                offset,
            } => (
                "Checksum",
                &[("expected", expected), ("found", found), ("offset", offset)],
            ),
            DumpError::CannotCreateTable(error) => ("CannotCreateTable", &[("", error)]),
            DumpError::BadDescription(why) => ("BadDescription", &[("", why)]),
            DumpError::UnsupportedVersion { major, minor } => (
                "UnsupportedVersion",
                &[("major", &Brief(major)), ("minor", &Brief(minor))],
            ),
            DumpError::Table(error) => ("Table", &[("", error)]),
            DumpError::Encode(why) => ("Encode", &[("", why)]),
            DumpError::UnknownOption(term) => ("UnknownOption", &[("", &Brief(term))]),
            DumpError::MalformedOption(term) => ("MalformedOption", &[("", &Brief(term))]),
            DumpError::Cancelled => ("Cancelled", &[]),
        };
        show(f, name, fields)
    }
}

/// A term that is shown by its beginning.
struct Brief<'a>(&'a Term);

impl fmt::Debug for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&brief(self.0))
    }
}

/// Shows a variant; fields without names stand in parentheses.
fn show(f: &mut fmt::Formatter<'_>, name: &str, fields: &[(&str, &dyn fmt::Debug)]) -> fmt::Result {
    match fields {
        [] => f.write_str(name),
        [("", only)] => f.debug_tuple(name).field(only).finish(),
        fields => {
            let mut shown = f.debug_struct(name);
            for (field, value) in fields {
                shown.field(field, value);
            }
            shown.finish()
        }
    }
}

/// Damage inside a dump, with the offset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The log itself.
    #[error("{0}")]
    Log(LogError),
    /// Bytes that should be a term are none. Its offset counts from the begin of the term.
    #[error("byte {offset}: this term does not decode: {source}")]
    Term {
        /// The offset of the term.
        offset: u64,
        /// The error of the decoder.
        source: DecodeError,
        /// Would the dump's MD5 show it, too? OTP finds it that way.
        summed: bool,
    },
    /// A term that is no object of this table.
    #[error("byte {offset}: {why}")]
    Object {
        /// The offset of the term.
        offset: u64,
        /// The error of the table.
        why: Box<Error>,
    },
    /// The file begins with something else than the description of a table.
    #[error("byte {offset}: no description of a table: {why}")]
    Header {
        /// The offset of the description.
        offset: u64,
        /// The missing part.
        why: String,
    },
    /// The description promises an end mark that is not there, or not as it should be.
    #[error("byte {offset}: {why}")]
    Footer {
        /// The offset at which it should be, or is.
        offset: u64,
        /// The error.
        why: &'static str,
    },
    /// Something follows the end mark.
    #[error("byte {offset}: more bytes behind the end of the dump")]
    Trailing {
        /// The offset of their beginning.
        offset: u64,
    },
}

impl Damage {
    /// Returns the same damage, of a dump whose MD5 shows it.
    pub(super) fn summed(self) -> Damage {
        match self {
            Damage::Term { offset, source, .. } => Damage::Term {
                offset,
                source,
                summed: true,
            },
            other => other,
        }
    }

    /// Returns the offset in the file, in bytes.
    pub fn offset(&self) -> u64 {
        match self {
            Damage::Log(e) => e.offset(),
            Damage::Term { offset, source, .. } => offset + source.offset() as u64,
            Damage::Header { offset, .. }
            | Damage::Object { offset, .. }
            | Damage::Footer { offset, .. }
            | Damage::Trailing { offset } => *offset,
        }
    }
}

impl DumpError {
    /// Returns the `Reason` of the `{error, Reason}` that OTP gives.
    ///
    /// If OTP raises `badarg` instead of returning an error ([`DumpError::raises`]), this is that atom.
    pub fn reason(&self) -> Term {
        match self {
            DumpError::Read { path, source } => pair("read_error", file_error(path, source)),
            DumpError::Write { path, source } => file_error(path, source),
            DumpError::CannotReplace { .. } => atom("eaccess"),
            DumpError::NotALog { path, .. } => {
                let inner = vec![atom("not_a_log_file"), file_name(path)];
                pair("read_error", Term::tuple(inner))
            }
            DumpError::Damaged(Damage::Term { summed: true, .. }) => atom("checksum_error"),
            DumpError::Damaged(_) | DumpError::OtherLog { .. } => atom("badfile"),
            DumpError::BadObject { .. } => atom("badarg"),
            DumpError::ObjectCount { .. } => atom("invalid_object_count"),
            DumpError::Checksum { .. } => atom("checksum_error"),
            DumpError::CannotCreateTable(_) | DumpError::BadDescription(_) => {
                atom("cannot_create_table")
            }
            DumpError::UnsupportedVersion { major, minor } => {
                let version = Term::tuple(vec![major.clone(), minor.clone()]);
                pair("unsupported_file_version", version)
            }
            DumpError::Table(Error::NoSuchTable(_)) => atom("badtab"),
            DumpError::Table(error) => atom(error.ets_class().as_str()),
            DumpError::Encode(_) => atom("system_limit"),
            DumpError::UnknownOption(term) => pair("unknown_option", term.clone()),
            DumpError::MalformedOption(term) => pair("malformed_option", term.clone()),
            DumpError::Cancelled => atom("cancelled"),
        }
    }

    /// Returns `{error, Reason}`.
    pub fn to_term(&self) -> Term {
        pair("error", self.reason())
    }

    /// Returns whether OTP raises the reason as an exception of class `error` here, rather than returning it.
    pub fn raises(&self) -> bool {
        match self {
            DumpError::BadObject { .. } | DumpError::Encode(_) => true,
            DumpError::Table(error) => !matches!(error, Error::NoSuchTable(_)),
            _ => false,
        }
    }

    /// Returns the offset in the file, in bytes, if the error is about the content of a file.
    pub fn offset(&self) -> Option<u64> {
        match self {
            DumpError::Damaged(damage) => Some(damage.offset()),
            DumpError::BadObject { offset, .. }
            | DumpError::OtherLog { offset, .. }
            | DumpError::ObjectCount { offset, .. }
            | DumpError::Checksum { offset, .. } => Some(*offset),
            DumpError::NotALog { .. } => Some(0),
            _ => None,
        }
    }

    /// Converts an error of reading the log `path`.
    pub(super) fn reading(path: &Path, error: LogError) -> DumpError {
        let path = path.to_path_buf();
        match error {
            LogError::Io { source, .. } => DumpError::Read { path, source },
            LogError::NotALog { found } => DumpError::NotALog { path, found },
            damage => DumpError::Damaged(Damage::Log(damage)),
        }
    }

    /// Converts an error of writing the log `path`.
    pub(super) fn writing(path: &Path, error: LogError) -> DumpError {
        match error {
            LogError::Io { source, .. } => DumpError::Write {
                path: path.to_path_buf(),
                source,
            },
            other => DumpError::Encode(other.to_string()),
        }
    }
}

fn atom(name: &str) -> Term {
    Term::atom(name)
}

fn pair(tag: &str, value: Term) -> Term {
    Term::tuple(vec![atom(tag), value])
}

/// Returns `{file_error, File, Posix}`.
fn file_error(path: &Path, error: &io::Error) -> Term {
    let code = Atom::new(posix::name(error)).map_or_else(|_| atom("unknown"), Term::Atom);
    Term::tuple(vec![atom("file_error"), file_name(path), code])
}

/// Describes the beginning of a file that is no dump.
fn beginning(found: &[u8]) -> String {
    match found {
        [] => "it is empty".to_owned(),
        // The address of the table of free blocks, and the mark of the format.
        [_, _, _, _, 0x00, 0xab, 0xcd, 0xef] => "it is a file of dets".to_owned(),
        found => format!("it begins with {found:02x?}"),
    }
}

/// Returns a path as Erlang has it: a list of code points.
fn file_name(path: &Path) -> Term {
    Term::List(
        path.to_string_lossy()
            .chars()
            .map(|c| Term::Int(c as i64))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_errors_are_those_of_the_file_module() {
        let source = io::Error::from_raw_os_error(2);
        let error = DumpError::Read {
            path: PathBuf::from("/x"),
            source,
        };
        let name = Term::list(vec![Term::Int(47), Term::Int(120)]);
        let inner = Term::tuple(vec![atom("file_error"), name, atom("enoent")]);
        let all = Term::tuple(vec![atom("error"), pair("read_error", inner)]);
        assert_eq!(error.to_term(), all);
    }
}
