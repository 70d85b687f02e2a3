//! Tables of the files that Erlang systems leave behind. `fyris/_import.py` has what is said of it.

use std::path::PathBuf;

use fyris::Options;
use fyris::import::{Format, format};
use pyo3::prelude::*;

use crate::errors::{self, Damaged};
use crate::table::{OWNER, Table};

/// What was read, tables with the names of their elements, how much was wrong, and messages.
type Reply = (&'static str, Vec<(Table, Vec<String>)>, u64, Vec<String>);

#[pyfunction]
pub(crate) fn import_from(py: Python<'_>, path: PathBuf) -> PyResult<Reply> {
    errors::not_forked()?;
    let made = py.detach(|| match format(&path) {
        Ok(Some(Format::Dump)) => None,
        _ => Some(OWNER.import(&path, &Options::set().public())),
    });
    let Some(made) = made else {
        let text = format!(
            "{}: a dump of a table: Table.load() reads it",
            path.display()
        );
        return Err(Damaged::new_err(text));
    };
    let made = made.map_err(errors::import)?;
    let tables = made.tables.into_iter();
    let tables = tables.map(|made| (Table::owned(made.table), made.columns));
    Ok((made.what, tables.collect(), made.wrong, made.messages))
}
