//! What Mnesia leaves: its directory, a backup, a dump as text.
//!
//! # A directory
//!
//! | file | what |
//! |---|---|
//! | `schema.DAT` | a dets set of `{schema, Table, Properties}` |
//! | `T.DCD` | all objects of a table of `disc_copies`, or of `ram_copies`, when it was dumped as a whole |
//! | `T.DCL` | what was done since, dumped from the log |
//! | `T.DAT` | a table of `disc_only_copies`: a dets file |
//! | `T.DMP` | a table that was being converted |
//! | `PREVIOUS.LOG`, `LATEST.LOG` | what was committed since the last dump of the log; the first while one is made |
//! | `DECISION_TAB.LOG` | outcomes of transactions |
//! | `T.FYD`, `T.FYO`, `T.FYL` | a table of `fyris_copies` |
//! | `FALLBACK.BUP` | a backup from which everything is made anew at the next start |
//!
//! All but those of dets and `fyris_copies` are [logs](crate::disk_log) that begin with a header
//! `{log_header, Kind, Version, MnesiaVersion, Node, Time}`.
//!
//! # In the order of Mnesia's start
//!
//! [`Mnesia::replay`] gives, for each table, its objects as writes, then the changes of its `DCL`, then those of the
//! two
//! logs: what takes them in order has in the end what Mnesia has after its start. Nothing is collected on the way but
//! the outcomes of transactions, and of the keys of `disc_only_copies` those that a log has written.
//!
//! * A commit of the logs counts if it needs no decision, or if there is one that says `committed`. One without any is
//!   aborted; where other nodes may know more Mnesia asks them, and here it is told.
//! * Counters are increments. Those of `disc_only_copies` and `fyris_copies` have been applied to the table's files
//!   already, and count anew only after something else was written to their key in the same log.
//! * Changes of the schema in a log that was not dumped count too: tables made, deleted, emptied, converted.
//! * With a `FALLBACK.BUP` the backup is read, and nothing else.

mod copies;
mod log;
mod replay;
mod schema;
mod text;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use fyris_term::{Atom, Term};

use crate::FileError;

use log::{Kind, LogHeader};

/// The type of a table of Mnesia.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MnesiaType {
    /// One object a key.
    Set,
    /// One object a key, in the order of keys.
    OrderedSet,
    /// Several different objects a key.
    Bag,
}

/// Where a table is kept, on the node that the files are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Storage {
    /// In memory; on disk what was dumped with `mnesia:dump_tables`.
    RamCopies,
    /// In memory and on disk.
    DiscCopies,
    /// On disk.
    DiscOnlyCopies,
    /// By Fyris's backend of Mnesia, in memory and on disk.
    FyrisCopies,
    /// By another backend of this name, whose files are not read here.
    External(Atom),
    /// On other nodes only.
    Elsewhere,
}

/// A table of a Mnesia directory or backup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MnesiaTable {
    /// Its name.
    pub name: Atom,
    /// Its type.
    pub table_type: MnesiaType,
    /// Where its objects are.
    pub storage: Storage,
    /// The first element of its objects.
    pub record_name: Atom,
    /// The names of the other elements.
    pub attributes: Vec<Atom>,
    /// The positions of its indexes, from 1.
    pub indexes: Vec<usize>,
    /// The other nodes that have copies: Mnesia may wait for them before it loads its own.
    pub elsewhere: Vec<Atom>,
}

/// One change of one table.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// An object is written; of a set or ordered set in place of that with its key.
    Write(Term),
    /// All objects of a key are deleted.
    Delete(Term),
    /// An object is deleted. Mnesia deletes what matches it as a pattern of `ets:match_object/2`: that is the object
    /// alone, unless it holds maps, which match all maps that have what they have.
    DeleteObject(Term),
    /// The third element of the object of a key is added to. If there is no object with a number there, or the sum is
    /// negative and `floor` is set, `{record, key, by}` is written, with 0 in place of a negative `by`.
    Count {
        /// The first element of an object that is made.
        record: Atom,
        /// The key.
        key: Term,
        /// What is added.
        by: i64,
        /// May the sum not be negative?
        floor: bool,
    },
    /// The table is emptied.
    Clear,
}

/// What [`Mnesia::replay`] comes across.
#[derive(Debug)]
pub enum Step {
    /// A change of the table at this place of [`Mnesia::tables`].
    Change(usize, Change),
    /// Something that is not as it was written, or not there, or not decided; what is said to be left out is.
    Wrong(FileError),
}

/// What one of the forms of Mnesia's data holds, open for reading. Nothing is ever written.
#[derive(Debug)]
pub struct Mnesia {
    path: PathBuf,
    form: Form,
    node: Option<Atom>,
    tables: Vec<MnesiaTable>,
    /// What was wrong with the schema.
    wrong: Vec<FileError>,
}

/// The form of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// A directory.
    Directory,
    /// A directory with a fallback, which the next start will make everything of.
    Fallback,
    /// A file made by `mnesia:backup`.
    Backup,
    /// A file made by `mnesia:dump_to_textfile`.
    Text,
}

/// Takes steps, and may end a replay.
type Visit<'v> = &'v mut dyn FnMut(Step) -> ControlFlow<()>;

impl Mnesia {
    /// Opens a directory of Mnesia, a backup or a dump as text, and reads which tables there are.
    ///
    /// Reads a directory's schema, and its logs once; of the other two the definitions of tables.
    ///
    /// # Errors
    ///
    /// [`FileError`], if it is none of the three, or its schema cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Mnesia, FileError> {
        let path = path.as_ref();
        if !path.is_dir() {
            return match log::kind(path)? {
                Some(Kind::Backup) => schema::backup(path, Form::Backup),
                Some(_) => Err(FileError::foreign(
                    path,
                    "a log of Mnesia: open its directory",
                )),
                None => text::open(path),
            };
        }
        match path.join("FALLBACK.BUP") {
            fallback if fallback.exists() => schema::backup(&fallback, Form::Fallback),
            _ => schema::directory(path),
        }
    }

    /// Returns the form of the data.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Returns the node that a directory is of, where a file in it says so. A backup is of no node: all its tables are
    /// read.
    pub fn node(&self) -> Option<Atom> {
        self.node
    }

    /// Returns the tables, without `schema` itself, in the order of their names.
    pub fn tables(&self) -> &[MnesiaTable] {
        &self.tables
    }

    /// Returns what is wrong with the schema: definitions that could not be read, names of tables that no file has.
    pub fn wrong(&self) -> &[FileError] {
        &self.wrong
    }

    /// Gives all changes that make the tables what they are after Mnesia's start, in order, and what is wrong, until
    /// `visit` breaks.
    ///
    /// Reads each file once (logs twice); takes memory for the largest object, the outcomes of transactions, and the
    /// keys of `disc_only_copies` that are written in one log; of a text dump all keys.
    pub fn replay(&self, mut visit: impl FnMut(Step) -> ControlFlow<()>) {
        // What breaks off has been told why by itself.
        let _ = match self.form {
            Form::Directory => replay::directory(self, &mut visit),
            Form::Fallback | Form::Backup => replay::backup(self, &mut visit),
            Form::Text => text::replay(self, &mut visit),
        };
    }

    fn find(&self, name: &Term) -> Option<usize> {
        let Term::Atom(name) = name else { return None };
        let by_name = |table: &MnesiaTable| table.name.as_str().cmp(name.as_str());
        self.tables.binary_search_by(by_name).ok()
    }
}

/// Returns whether files of a table of this name are in the directory itself.
fn is_file_name(table: &str) -> bool {
    !table.contains(|part| part == '\0' || std::path::is_separator(part))
}

/// Gives what the files of a table of `fyris_copies` in a directory say, in order, and what is wrong: what is
/// not whole is passed over, as the backend itself does, and that there are no files.
///
/// Takes memory for one record of the files. [`Mnesia::replay`] calls it, and adds what the logs have.
pub fn fyris_copies(
    dir: impl AsRef<Path>,
    table: &str,
    mut visit: impl FnMut(Result<Change, FileError>) -> ControlFlow<()>,
) {
    // What breaks off has been told why by itself.
    let _ = copies::read(dir.as_ref(), table, &mut visit);
}

/// Returns whether a term is the header of a backup.
pub(crate) fn is_backup(term: &Term) -> bool {
    LogHeader::of(term).is_some_and(|header| header.kind == Kind::Backup)
}
