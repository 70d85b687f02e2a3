//! Transactions over tables.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fyris::{Error, TransactionOptions};
use fyris_segment::let_others_pass;
use pyo3::prelude::*;

use crate::convert::from_term;
use crate::errors::{self, BadValue};
use crate::table::{OWNER, Table};

/// Begins a transaction: several keys, of several tables, read and changed as one. For a with statement, at whose end
/// it is committed; if that ends by an exception nothing has happened, and the exception goes on.
///
///     with fyris.transaction() as tx:
///         within = tx.table(accounts)
///         within["ada"] -= 30
///         within["bob"] += 30
///
/// All that it reads is of one moment, with its own writes, which others see at the commit, all at once. Nobody waits
/// for it meanwhile. If others have changed by then what it has read, it raises Conflict, and nothing has happened:
/// transactional() tries again, and hold is for that. One that has written nothing meets no conflict at its commit.
#[pyfunction]
#[pyo3(signature = (*, hold=0.1))]
pub(crate) fn transaction(hold: f64) -> PyResult<Transaction> {
    errors::not_forked()?;
    let hold = Duration::try_from_secs_f64(hold)
        .map_err(|error| BadValue::new_err(format!("a hold of {hold} s: {error}")))?;
    let options = TransactionOptions::new().hold(hold);
    Ok(Transaction::new(OWNER.store().begin_with(&options)))
}

/// Several tables as a transaction reads and writes them, until it is committed or aborted. Made by transaction(), and
/// by transactional() for the function that it calls. Dropped before, it comes to nothing.
///
/// While it lasts, others that write to its tables keep what they change, as with snapshots. Threads may share it, and
/// see the operations of each other in some order.
#[pyclass(frozen, weakref, module = "fyris")]
pub(crate) struct Transaction {
    /// `None` once it has ended.
    open: Mutex<Option<fyris::Transaction>>,
    /// In the same place among others, for who tries again.
    place: fyris::Transaction,
    has_lost: AtomicBool,
    /// The tables that it was given, which it keeps until it ends. No Python runs while they are locked.
    tables: Mutex<Vec<Py<Table>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half done by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Transaction {
    fn new(begun: fyris::Transaction) -> Transaction {
        Transaction {
            place: begun.again(),
            open: Mutex::new(Some(begun)),
            has_lost: AtomicBool::new(false),
            tables: Mutex::default(),
        }
    }

    fn is_open(&self, py: Python<'_>) -> bool {
        py.detach(|| lock(&self.open).is_some())
    }

    /// Ends it.
    fn take(&self, py: Python<'_>) -> Option<fyris::Transaction> {
        py.detach(|| lock(&self.open).take())
    }

    fn keep(&self, table: &Bound<'_, Table>) {
        let mut tables = lock(&self.tables);
        let id = table.get().table.id();
        if tables.iter().all(|kept| kept.get().table.id() != id) {
            tables.push(table.clone().unbind());
        }
    }

    /// Lets go of the tables; those without another reference are gone then.
    fn let_go(&self) {
        let tables = std::mem::take(&mut *lock(&self.tables));
        drop(tables);
    }

    fn told(&self, py: Python<'_>, error: Error) -> PyErr {
        match error {
            Error::Conflict { .. } => self.conflict(py, error).unwrap_or_else(|error| error),
            error => errors::store(error),
        }
    }

    fn conflict(&self, py: Python<'_>, error: Error) -> PyResult<PyErr> {
        // Relaxed: read by the thread that tries again.
        self.has_lost.store(true, Ordering::Relaxed);
        let raised = errors::Conflict::new_err(error.to_string());
        let Error::Conflict { table, key } = error else {
            return Ok(raised);
        };
        let is_it = |kept: &&Py<Table>| kept.get().table.reference() == table.reference;
        let found = lock(&self.tables)
            .iter()
            .find(is_it)
            .map(|kept| kept.clone_ref(py));
        raised.value(py).setattr("table", found)?;
        let key = key.map(|key| from_term(py, &key)).transpose()?;
        raised.value(py).setattr("key", key)?;
        Ok(raised)
    }

    fn commit_taken(&self, py: Python<'_>, taken: fyris::Transaction) -> PyResult<()> {
        let done = py.detach(|| taken.commit());
        let done = done.map_err(|error| self.told(py, error));
        self.let_go();
        done
    }
}

#[pymethods]
impl Transaction {
    /// Returns a Table by which the transaction reads and writes a table; everything else goes past it, at once. What
    /// is about the table as a whole raises InTransaction: drop(), rename(), clear(), snapshot().
    ///
    /// Another table is taken in at a later moment, if nothing has changed until then that was read: else it raises
    /// Conflict. Raises ReadOnly for a snapshot, BadValue for a table of another transaction, TransactionEnded.
    fn table(&self, table: &Bound<'_, Table>) -> PyResult<Table> {
        errors::not_forked()?;
        let (py, given) = (table.py(), &table.get().table);
        let within = py.detach(|| match &*lock(&self.open) {
            Some(open) => open.table(given),
            None => Err(Error::TransactionEnded),
        });
        let within = within.map_err(|error| self.told(py, error))?;
        self.keep(table);
        Ok(Table::not_owned(within))
    }

    /// Makes happen, all at once, what was written, and ends the transaction. Raises Conflict if something has changed
    /// that was read, also if a table was emptied or dropped; NoSuchTable; TransactionEnded. Then nothing happens.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        errors::not_forked()?;
        match self.take(py) {
            Some(taken) => self.commit_taken(py, taken),
            None => Err(errors::store(Error::TransactionEnded)),
        }
    }

    /// Ends the transaction without a trace. Nothing happens to one that has ended.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        errors::not_forked()?;
        let taken = self.take(py);
        // Also one that a read or a write was told of.
        if taken.as_ref().is_some_and(fyris::Transaction::has_conflict) {
            // Relaxed: as in `conflict`.
            self.has_lost.store(true, Ordering::Relaxed);
        }
        py.detach(|| drop(taken));
        self.let_go();
        Ok(())
    }

    /// Raises TransactionEnded.
    fn __enter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        errors::not_forked()?;
        match slf.is_open(slf.py()) {
            true => Ok(slf),
            false => Err(errors::store(Error::TransactionEnded)),
        }
    }

    /// Commits, or after an exception aborts, unless that has been done.
    fn __exit__(
        &self,
        class: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = class.py();
        if !class.is_none() {
            return self.abort(py);
        }
        errors::not_forked()?;
        match self.take(py) {
            Some(taken) => self.commit_taken(py, taken),
            None => Ok(()),
        }
    }

    /// Whether it has met a conflict.
    #[getter]
    fn _has_lost(&self) -> bool {
        // Relaxed: as in `told`.
        self.has_lost.load(Ordering::Relaxed)
    }

    /// Lets others pass, and begins one in the same place.
    fn _again(&self, py: Python<'_>, lost: u32) -> Transaction {
        py.detach(|| let_others_pass(lost));
        Transaction::new(self.place.again())
    }
}
