//! Snapshots under a name, of one table or of several at one moment.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fyris::{InfoValue, Snapshot, Table};
use fyris_term::Term;

use super::error::ShellError;

/// Tables as they were at one moment.
pub(crate) struct Moment {
    name: String,
    /// By the names that the tables had then.
    tables: BTreeMap<String, Snapshot>,
    taken: Instant,
}

impl Moment {
    /// Gives a name to snapshots of tables, which were taken just now.
    pub(crate) fn new(name: String, tables: BTreeMap<String, Snapshot>) -> Moment {
        Moment {
            name,
            tables,
            taken: Instant::now(),
        }
    }

    /// Returns the table as it was then.
    pub(crate) fn table(&self, name: &str) -> Result<Table, ShellError> {
        match self.tables.get(name) {
            Some(snapshot) => Ok(Table::clone(snapshot)),
            None => Err(ShellError::other(format!(
                "no table {name} in the snapshot {}: it is of {}",
                self.name,
                self.tables().collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    /// Returns the names of the tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// Returns how long ago it was.
    pub(crate) fn age(&self) -> Duration {
        self.taken.elapsed()
    }

    /// Returns the bytes that its tables keep for their snapshots.
    pub(crate) fn retained(&self) -> u64 {
        self.tables.values().map(retained).sum()
    }
}

/// Returns the bytes that are kept for the snapshots of what this one shows.
fn retained(snapshot: &Snapshot) -> u64 {
    let Ok(Some(InfoValue::Term(Term::Map(figures)))) = snapshot.info_item("snapshots") else {
        return 0;
    };
    let bytes = figures.get(&Term::atom("bytes")).and_then(Term::as_int);
    bytes.unwrap_or(0) as u64
}
