//! A table with its index, options and objects.

use std::sync::Mutex;

use fyris::{BucketLocks, Options, Owner, Table, TableType};
use fyris_term::Term;

use super::options::{OptionSet, StoredObject, TABLE_1, Uses};
use crate::core::subject::{Seen, Subject};
use crate::error::BenchError;
use crate::judy;

/// What holds a table's objects.
#[derive(Clone, Copy, Debug)]
pub(super) enum Structure {
    /// An index of the store, by its name.
    Named(&'static str),
    /// That of a shared library, by its path.
    Library(&'static str),
}

impl Structure {
    /// Returns the name on lines.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Named(name) => name,
            Self::Library(_) => "library",
        }
    }

    /// Returns the options of a table on it.
    fn options(self, table_type: TableType) -> Options {
        match self {
            Self::Named(name) => Options::new(table_type).index(name),
            Self::Library(path) => Options::new(table_type).library_index(path),
        }
    }
}

/// A kind of table.
#[derive(Clone, Copy, Debug)]
pub(super) struct TunedKind {
    pub(super) index: Structure,
    pub(super) table_type: TableType,
    pub(super) options: OptionSet,
    pub(super) object: StoredObject,
}

impl TunedKind {
    /// Returns the name on which a person tells it from others.
    pub(super) fn label(&self) -> String {
        format!(
            "{} {} {}",
            self.index.name(),
            self.options.name,
            self.object.form()
        )
    }
}

/// Returns what an index makes of options: it refuses those that would do nothing.
///
/// # Errors
///
/// [`BenchError::NothingToRun`] if there is no table of that type on it.
pub(super) fn uses(index: Structure, table_type: TableType) -> Result<Uses, BenchError> {
    let owner = judy::store().owner();
    let options = || index.options(table_type);
    let makes = |options| owner.new_table("probe", &options);
    makes(options()).map_err(|error| BenchError::NothingToRun(error.to_string()))?;
    // A library has its own locks, whatever the options say.
    let has = |options| matches!(index, Structure::Named(_)) && makes(options).is_ok();
    Ok(Uses {
        bucket_locks: has(options().bucket_locks(BucketLocks::Fixed(1))),
        reader_groups: has(options().reader_groups(1)),
    })
}

/// A table, and the owner by which it lives.
pub(super) struct TunedTable {
    table: Table,
    object: StoredObject,
    _owner: Mutex<Owner>,
}

/// The message of an `expect` on a table that is there and public.
const FINE: &str = "the table is public and there";

impl TunedTable {
    pub(super) fn make(kind: &TunedKind) -> Result<Self, BenchError> {
        let owner = judy::store().owner();
        let options = kind.index.options(kind.table_type).public();
        let table = owner.new_table("ets_bench", &kind.options.add_to(options));
        let broken = |error| BenchError::WrongAnswer(format!("{}: {error}", kind.label()));
        Ok(Self {
            table: table.map_err(broken)?,
            object: kind.object,
            _owner: Mutex::new(owner),
        })
    }

    /// Returns the number of objects.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }
}

impl Subject<u64> for TunedTable {
    const ORDERED: bool = false;
    const ADDS: Option<bool> = None;
    const TELLS_REMOVED: bool = false;

    fn new() -> Self {
        let usual = TunedKind {
            index: Structure::Named("hash"),
            table_type: TableType::Set,
            options: TABLE_1[0],
            object: StoredObject::Key,
        };
        Self::make(&usual).expect(FINE)
    }
    #[inline]
    fn insert(&self, key: &u64, value: u64) {
        self.table
            .insert(&self.object.make(*key, value))
            .expect(FINE);
    }
    /// Copies the object out, as `ets:lookup/2` does.
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        let found = self.table.lookup(&Term::Int(*key as i64)).expect(FINE);
        found.first().map(|object| match object {
            Term::Tuple(elements) => elements.len() as u64,
            _ => 0,
        })
    }
    #[inline]
    fn remove(&self, key: &u64) -> bool {
        self.table.delete_key(&(*key as i64)).expect(FINE);
        true
    }
    fn add(&self, _: &u64) {}
    fn scan(&self) -> Seen {
        Seen::default()
    }
}
