//! Batches of writes and checks.

use fyris::{BatchArgs, BatchOp, Error};
use fyris_term::Term;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::convert::{from_term, to_term};
use crate::errors::{self, BadValue};
use crate::table::{OWNER, Table};

/// An operation, its table, and the snapshot that a check compares with.
type Given<'py> = (BatchArgs, Bound<'py, Table>, Option<Bound<'py, Table>>);

/// Writes to several keys of several tables in one atomic and isolated step, or not at all. An operation is a tuple of
/// its name, a table, and what Table's method of the name takes; there is a list of answers, one for each.
///
///     fyris.write_batch([
///         ("check", stock, "apples", ("apples", 3)),
///         ("update_counter", stock, "apples", -2),
///         ("insert", sales, (1, "apples", 2)),
///     ])
///
/// ("insert", table, object) and ("insert_new", table, object) take an object or a list of them, and answer True, or
/// whether it was done; ("delete", table, key) and ("delete_object", table, object) answer True; ("take", table, key),
/// ("update_counter", table, key, op), ("update_element", table, key, edits), the last two with a default behind if one
/// is wanted, answer as the methods do. ("check", table, key, expected) asks what the key held before the batch,
/// wherever it stands in it: exactly this object, these objects of a list in any order, none (None), or what it holds
/// in a snapshot of the table.
///
/// Operations are done in their order, and see those before them. It is tried until nobody is in the way. Raises
/// CheckFailed for a check that does not hold, and what the method would raise; its attribute at is the number of the
/// operation in the list, from 0. Nothing has happened then.
#[pyfunction]
pub(crate) fn write_batch<'py>(
    py: Python<'py>,
    operations: &Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    errors::not_forked()?;
    let mut given = Vec::new();
    for (at, operation) in operations.try_iter()?.enumerate() {
        given.push(read(&operation?).map_err(|error| told(py, at, error))?);
    }
    let table = |table: &'_ Bound<'py, Table>| table.get().table.clone();
    let tables = given.iter();
    let tables: Vec<_> = tables
        .map(|(args, on, then)| (args, table(on), then.as_ref().map(table)))
        .collect();
    let done = py.detach(|| {
        let batch = tables.iter();
        let batch = batch.map(|(args, table, then)| args.on(table, then.as_ref()));
        let batch: Vec<BatchOp<'_>> = batch.collect();
        OWNER.store().write_batch(&batch)
    });
    let replies = done.map_err(|error| match error {
        Error::CheckFailed { at } | Error::InBatch { at, .. } => told(py, at, errors::store(error)),
        error => errors::store(error),
    })?;
    let replies = given.iter().zip(replies);
    replies
        .map(|((args, ..), reply)| from_term(py, &args.reply(reply)))
        .collect()
}

/// Returns an error with the number of its operation.
fn told(py: Python<'_>, at: usize, error: PyErr) -> PyErr {
    match error.value(py).setattr("at", at) {
        Ok(()) => error,
        Err(other) => other,
    }
}

fn read<'py>(operation: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
    let parts = operation.cast::<PyTuple>().map_err(|_| no_operation())?;
    let name: String = parts.get_item(0).map_err(|_| no_operation())?.extract()?;
    let table = parts.get_item(1).map_err(|_| no_operation())?;
    let table = table.cast_into::<Table>()?;
    let mut rest: Vec<Bound<'py, PyAny>> = parts.iter().skip(2).collect();
    let mut snapshot = None;
    if name == "check" && rest.len() == 2 {
        // What is no object: none, and a snapshot.
        if rest[1].is_none() {
            rest.truncate(1);
        } else if let Ok(table) = rest[1].cast::<Table>() {
            snapshot = Some(table.clone());
            rest.truncate(1);
        }
    } else if name == "check" {
        return Err(no_operation());
    }
    let args = rest.iter().map(to_term).collect::<PyResult<Vec<Term>>>()?;
    let args = BatchArgs::parse(&name, args).map_err(errors::store)?;
    Ok((args, table, snapshot))
}

fn no_operation() -> PyErr {
    BadValue::new_err("an operation of a batch is a tuple of its name, a table and its arguments")
}
