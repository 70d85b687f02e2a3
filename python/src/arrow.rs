//! Tables as columns, by Arrow's C data interface, which polars, pandas, pyarrow and duckdb read.
//!
//! | objects | columns |
//! |---|---|
//! | pairs whose values are dicts with the same keys, which are text or atoms | `key`, and one a field |
//! | other pairs | `key`, `value` |
//! | others, all of one length | in the order of the elements: `key`, and `element_N` where the position is `N` |
//!
//! All columns are made, of one moment of the table, before the consumer gets anything: what no column holds is an
//! exception of the call, and a stream that was handed out has no errors. It holds batches of rows, and nothing of the
//! table or of Python.

mod columns;
mod rows;
mod stream;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors;
use crate::table::Table;
use rows::Rows;
use stream::Stream;

/// Returns a table as it is, or was, at one moment.
fn at_one_moment(table: &fyris::Table) -> fyris::Result<fyris::Table> {
    match table.snapshot() {
        Ok(taken) => Ok(fyris::Table::clone(&taken)),
        // It is one, or of a transaction.
        Err(fyris::Error::ReadOnly | fyris::Error::InTransaction(_)) => Ok(table.clone()),
        Err(error) => Err(error),
    }
}

fn stream(table: &fyris::Table) -> Result<Stream, rows::Refused> {
    let table = at_one_moment(table)?;
    let mut rows = Rows::new(table.keypos());
    for object in table.iter() {
        rows.add(&object?)?;
    }
    Ok(rows.finish())
}

#[pymethods]
impl Table {
    /// Returns the table as columns, as it is at one moment: a capsule with a stream of Arrow's C data interface, which
    /// pyarrow.table(t), pandas.DataFrame.from_arrow(t), polars.scan_arrow_c_stream(t) and duckdb ask for.
    ///
    /// The columns are key and value; key and one a field, if all values are dicts with the same keys, each a str or an
    /// Atom; key, element_2, element_3 and so on, in their order, if the objects are no pairs. Each holds int of 64
    /// bits, float, bool, str, bytes or, as text, Atom, and None beside these. An empty table has the columns key and
    /// value, of the type null. requested_schema changes nothing: consumers cast.
    ///
    /// Raises WrongType, with the key and the column, for values of two types in a column and for what no column holds;
    /// BadValue for an int of more than 64 bits, and for a field called key. O(objects), in time and in memory.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        errors::not_forked()?;
        let made = py.detach(|| stream(&self.table));
        let made = made.or_else(|refused| Err(refused.told(py)?))?;
        PyCapsule::new_with_value(py, made, c"arrow_array_stream")
    }
}
