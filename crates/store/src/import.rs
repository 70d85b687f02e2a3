//! Tables made of what Erlang systems have left: dets files, logs of `disk_log`, directories, backups and text dumps of
//! Mnesia. No Erlang is needed, and nothing is written to what is read.
//!
//! What the files say is taken apart by `fyris-files`, one object or change at a time, and put into tables here.

use std::ops::ControlFlow;
use std::path::Path;

use fyris_files::dets::{Dets, DetsType};
use fyris_files::disk_log::DiskLog;
use fyris_files::mnesia::{Change, Form, Mnesia, MnesiaTable, MnesiaType, Step, Storage};
pub use fyris_files::{FileError, Format, format};
use fyris_term::{Atom, Term};

use crate::{CounterOp, Error, Loader, Options, Owner, Table, TableType};

/// The most messages about what is wrong that are kept.
const MESSAGES: usize = 100;
/// Objects between two looks whether to go on.
const STRIDE: u64 = 256;

/// Why nothing was made of a file or directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It cannot be read, or is none of the formats.
    #[error(transparent)]
    File(#[from] FileError),
    /// A table cannot be made.
    #[error("cannot create a table: {0}")]
    Table(#[from] Error),
    /// The progress callback asked to stop.
    #[error("stopped by request")]
    Cancelled,
}

/// What was made of a file or directory.
#[derive(Debug)]
#[non_exhaustive]
pub struct Imported {
    /// What it was, in words.
    pub what: &'static str,
    /// The tables, with the names of their elements.
    pub tables: Vec<ImportedTable>,
    /// The number of things that were wrong in the files, or not taken by a table.
    pub wrong: u64,
    /// The first hundred of them: each names its file, mostly with the byte, and says what was left out.
    pub messages: Vec<String>,
}

/// A table that was made.
#[derive(Debug)]
#[non_exhaustive]
pub struct ImportedTable {
    /// The table, owned by the caller.
    pub table: Table,
    /// The names of the elements of its objects, where the files have them: of a table of Mnesia `record`, then its
    /// attributes; of a log `nr` and `term`; else none.
    pub columns: Vec<String>,
}

impl Owner {
    /// Makes tables of a dets file, a log of `disk_log`, or a directory, backup or text dump of Mnesia. O(n).
    ///
    /// | what | tables |
    /// |---|---|
    /// | dets file | one, of its type and key position, named like the file without its ending |
    /// | log, or the name of a wrap log | one ordered set of `{1, Term}`, `{2, Term}`, ..., the oldest first |
    /// | Mnesia | those that have objects on the node, as they are after Mnesia's start; keys are the second elements |
    ///
    /// The tables are made with `options`, but for type and key position. The files are opened for reading only, and
    /// should have no writer: what a running node is about to write is not in them.
    ///
    /// Of a dets file that was not closed the objects are those that its repair keeps, and [`Imported::messages`] says
    /// so. What is wrong in the files is left out, counted and said; if tables cannot be made, none is.
    ///
    /// Takes memory for the tables and for one object of the files at a time (of dets: one collection).
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let folder = tempfile::tempdir()?;
    /// # let file = folder.path().join("dump.txt");
    /// # let text = "{tables,[{people,[{record_name,people},{attributes,[name,age]}]}]}.\n{people,ada,36}.\n";
    /// # std::fs::write(&file, text)?;
    /// let owner = Store::new().owner();
    /// let imported = owner.import(&file, &Options::set())?; // what mnesia:dump_to_textfile has written
    /// let people = &imported.tables[0];
    /// assert_eq!(people.columns, ["record", "name", "age"]);
    /// assert_eq!(people.table.tab2list()?[0].to_string(), "{people,ada,36}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ImportError`] lists them. A dump of `ets:tab2file` is refused: [`Owner::file2tab`] loads it.
    pub fn import(
        &self,
        path: impl AsRef<Path>,
        options: &Options,
    ) -> Result<Imported, ImportError> {
        self.import_watched(path, options, &mut |_| ControlFlow::Continue(()))
    }

    /// Makes tables as [`Owner::import`] does, and tells `watch` how many objects and changes it has read, until it
    /// breaks.
    ///
    /// # Errors
    ///
    /// [`ImportError`] lists them; [`ImportError::Cancelled`] if `watch` has ended it.
    pub fn import_watched(
        &self,
        path: impl AsRef<Path>,
        options: &Options,
        watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Imported, ImportError> {
        let path = path.as_ref();
        let mut import = Import {
            owner: self,
            options,
            watch,
            read: 0,
            tables: Vec::new(),
            wrong: 0,
            messages: Vec::new(),
        };
        let made = match format(path)? {
            Some(Format::Dets) => import.dets(path),
            Some(Format::DiskLog) => import.log(path),
            Some(Format::Mnesia) => import.mnesia(path),
            Some(_) => Err(foreign(path, "it is a table dump: file2tab loads it")),
            None => Err(foreign(
                path,
                "it is no file of dets, disk_log or Mnesia, and no directory of Mnesia",
            )),
        };
        match made {
            Ok(what) => Ok(Imported {
                what,
                tables: import.tables,
                wrong: import.wrong,
                messages: import.messages,
            }),
            Err(error) => {
                for made in import.tables {
                    // It may be gone already.
                    let _ = made.table.delete();
                }
                Err(error)
            }
        }
    }
}

fn foreign(path: &Path, why: &str) -> ImportError {
    let (path, why) = (path.to_path_buf(), why.to_owned());
    FileError::Foreign { path, why }.into()
}

/// An import under way.
struct Import<'i> {
    owner: &'i Owner,
    options: &'i Options,
    watch: &'i mut dyn FnMut(u64) -> ControlFlow<()>,
    /// The number of objects and changes.
    read: u64,
    tables: Vec<ImportedTable>,
    wrong: u64,
    messages: Vec<String>,
}

impl Import<'_> {
    fn table(
        &mut self,
        name: &str,
        table_type: TableType,
        keypos: usize,
        columns: Vec<String>,
    ) -> Result<Table, ImportError> {
        let options = Options {
            kind: table_type,
            ..self.options.clone()
        };
        let options = options.keypos(keypos);
        let table = self.owner.new_table(name, &options)?;
        let made = ImportedTable {
            table: table.clone(),
            columns,
        };
        self.tables.push(made);
        Ok(table)
    }

    fn dets(&mut self, path: &Path) -> Result<&'static str, ImportError> {
        let dets = Dets::open(path)?;
        let info = dets.info();
        let table_type = match info.table_type {
            DetsType::Set => TableType::Set,
            DetsType::Bag => TableType::Bag,
            DetsType::DuplicateBag => TableType::DuplicateBag,
        };
        if !info.closed {
            let path = path.display();
            self.say(format!(
                "{path}: it was not closed; what dets' repair keeps is read"
            ));
        }
        let table = self.table(&name_of(path), table_type, info.keypos, Vec::new())?;
        let mut filling = Filling::new(&table);
        for row in dets.rows() {
            self.take(&mut filling, row.map(Change::Write))?;
        }
        self.end(filling)?;
        Ok("a dets file")
    }

    fn log(&mut self, path: &Path) -> Result<&'static str, ImportError> {
        let log = DiskLog::open(path)?;
        let columns = vec!["nr".to_owned(), "term".to_owned()];
        let table = self.table(&name_of(path), TableType::OrderedSet, 1, columns)?;
        let mut filling = Filling::new(&table);
        for (number, term) in (1..).zip(log.terms()) {
            let row = term.map(|term| Change::Write(Term::tuple([Term::Int(number), term])));
            self.take(&mut filling, row)?;
        }
        self.end(filling)?;
        Ok(if log.is_wrap() { "a wrap log" } else { "a log" })
    }

    fn mnesia(&mut self, path: &Path) -> Result<&'static str, ImportError> {
        let mnesia = Mnesia::open(path)?;
        mnesia
            .wrong()
            .iter()
            .for_each(|wrong| self.say(wrong.to_string()));
        let form = mnesia.form();
        let tables = mnesia
            .tables()
            .iter()
            .map(|table| self.mnesia_table(table, form));
        let tables = tables.collect::<Result<Vec<_>, _>>()?;
        let mut fillings: Vec<_> = tables
            .iter()
            .map(|table| table.as_ref().map(Filling::new))
            .collect();
        let mut done = Ok(());
        mnesia.replay(|step| {
            done = match step {
                Step::Change(at, change) => match &mut fillings[at] {
                    Some(filling) => self.take(filling, Ok(change)),
                    None => Ok(()),
                },
                Step::Wrong(error) => {
                    self.say(error.to_string());
                    Ok(())
                }
            };
            match done {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        done?;
        fillings
            .into_iter()
            .flatten()
            .try_for_each(|filling| self.end(filling))?;
        Ok(match mnesia.form() {
            Form::Directory => "a directory of Mnesia",
            Form::Fallback => "a directory of Mnesia with a fallback, which is read",
            Form::Backup => "a backup of Mnesia",
            _ => "a text dump of Mnesia",
        })
    }

    /// Makes a table that has objects there: a backup has those of all tables, wherever they were kept.
    fn mnesia_table(
        &mut self,
        table: &MnesiaTable,
        form: Form,
    ) -> Result<Option<Table>, ImportError> {
        let is_none = match table.storage {
            Storage::Elsewhere => matches!(form, Form::Directory | Form::Fallback),
            Storage::External(_) => form == Form::Directory,
            _ => false,
        };
        if is_none {
            return Ok(None);
        }
        let table_type = match table.table_type {
            MnesiaType::Set => TableType::Set,
            MnesiaType::OrderedSet => TableType::OrderedSet,
            MnesiaType::Bag => TableType::Bag,
        };
        let names = table.attributes.iter().map(|name| name.as_str().to_owned());
        let columns = std::iter::once("record".to_owned()).chain(names).collect();
        self.table(table.name.as_str(), table_type, 2, columns)
            .map(Some)
    }

    /// Makes a change, or notes what is wrong.
    fn take(
        &mut self,
        filling: &mut Filling<'_>,
        change: Result<Change, FileError>,
    ) -> Result<(), ImportError> {
        self.read += 1;
        if self.read.is_multiple_of(STRIDE) && (self.watch)(self.read).is_break() {
            return Err(ImportError::Cancelled);
        }
        let change = match change {
            Ok(change) => change,
            Err(error) => {
                self.say(error.to_string());
                return Ok(());
            }
        };
        match filling.change(change) {
            Err(error @ (Error::NoSuchTable(_) | Error::NoAccess { .. })) => Err(error.into()),
            Err(error) => {
                self.say(format!(
                    "the table {} does not take an object: {error}",
                    filling.table.name()
                ));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn end(&mut self, mut filling: Filling<'_>) -> Result<(), ImportError> {
        Ok(filling.loader.flush()?)
    }

    fn say(&mut self, message: String) {
        self.wrong += 1;
        if self.messages.len() < MESSAGES {
            self.messages.push(message);
        }
    }
}

/// Returns the name of a file without its ending.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().chars().take(255).collect()
}

/// A table that is being filled.
struct Filling<'t> {
    table: &'t Table,
    loader: Loader<'t>,
}

impl<'t> Filling<'t> {
    fn new(table: &'t Table) -> Filling<'t> {
        Filling {
            table,
            loader: table.loader(),
        }
    }

    fn change(&mut self, change: Change) -> Result<(), Error> {
        if let Change::Write(row) = &change {
            return self.loader.object(row);
        }
        self.loader.flush()?;
        match change {
            Change::Delete(key) => self.table.delete_key(&key),
            Change::DeleteObject(row) => self.table.match_delete(&row),
            Change::Clear => self.table.delete_all_objects(),
            Change::Count {
                record,
                key,
                by,
                floor,
            } => self.count(record, key, by, floor),
            Change::Write(row) => self.table.insert(&row),
        }
    }

    /// Adds to a counter, as [`Change::Count`] says.
    fn count(&self, record: Atom, key: Term, by: i64, floor: bool) -> Result<(), Error> {
        let zero = Term::Int(0);
        match self.table.update_counter(&key, &[CounterOp::add(by)]) {
            Ok(sums) if !floor || sums.iter().all(|sum| sum.cmp_order(&zero).is_ge()) => Ok(()),
            // The table itself, if it is to blame, refuses what follows as well.
            _ => {
                let row = [Term::Atom(record), key, Term::Int(by.max(0))];
                self.table.insert(&Term::tuple(row))
            }
        }
    }
}
