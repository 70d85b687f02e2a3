//! A transaction over tables, from `begin` to `commit` or `abort`.

use fyris::{Error, Store, Table, TableId, Transaction};

use super::error::ShellError;

/// A transaction that was begun, and the tables that commands read and write in it.
pub(crate) struct Begun {
    transaction: Transaction,
    tables: Vec<TableId>,
}

impl Begun {
    /// Begins a transaction over tables, as they are at this moment.
    pub(crate) fn new(store: &Store, tables: &[Table]) -> Result<Begun, ShellError> {
        let transaction = store.begin();
        for table in tables {
            transaction.table(table)?;
        }
        let tables = tables.iter().map(Table::id).collect();
        Ok(Begun {
            transaction,
            tables,
        })
    }

    /// Returns a table as the transaction has it, or as it is if it is none of the transaction's.
    pub(crate) fn table(&self, live: Table) -> Result<Table, ShellError> {
        match self.tables.contains(&live.id()) {
            true => Ok(self.transaction.table(&live)?),
            false => Ok(live),
        }
    }

    /// Returns whether a table is one of the transaction's.
    pub(crate) fn has(&self, table: &Table) -> bool {
        self.tables.contains(&table.id())
    }

    /// Runs a part of the transaction, of which nothing is left if it fails.
    pub(crate) fn within<R>(
        &self,
        run: impl FnOnce() -> Result<R, ShellError>,
    ) -> Result<R, ShellError> {
        self.transaction.begin_nested();
        let done = run();
        self.transaction.end_nested(done.is_ok());
        done
    }

    /// Makes happen what was written.
    pub(crate) fn commit(self) -> Result<(), ShellError> {
        self.transaction.commit().map_err(|error| match error {
            Error::Conflict { .. } => {
                ShellError::other(format!("{error}: nothing of the transaction has happened"))
            }
            error => error.into(),
        })
    }
}
