//! The native half of the Python package `fyris`.
//!
//! # What is where
//!
//! | module | what |
//! |---|---|
//! | `convert` | Python values as terms, and back, without loss |
//! | `direct` | the same for what is stored, without terms between |
//! | `values` | `Atom` and `Term`: what Python has no value for; parsing, printing, external format |
//! | `buffer` | bytes of other objects |
//! | `table`, `walk` | `Table`: tables as dictionaries, and as ETS has them |
//! | `arrow` | tables as columns, for polars, pandas, pyarrow and duckdb |
//! | `import` | tables of the files that Erlang systems leave behind |
//! | `mapping` | what tables and maps of segments have of dictionaries alike |
//! | `transaction` | `Transaction`: several keys, of several tables, as one |
//! | `batch` | `write_batch`: the same without a function |
//! | `watch` | `Subscription`: what changes in tables, for threads and for asyncio |
//! | `segment` | `Segment`: version-controlled memory shared by processes |
//! | `map` | `VersionedMap`: an ordered map in a segment |
//! | `turns` | the threads that use one handle of these |
//! | `errors` | errors of the store as Python exceptions, which `fyris/_errors.py` defines |
//!
//! # The interpreter's lock
//!
//! Operations on one object keep it: they take less time than letting it go. Everything whose time grows with its
//! argument or with the table converts first, then lets the lock go and works on terms.
//!
//! All classes are frozen and hold only what threads may share, so that the module needs no lock of the interpreter's.

mod arrow;
mod batch;
mod buffer;
mod convert;
mod direct;
mod errors;
mod import;
mod map;
mod mapping;
mod segment;
mod table;
mod transaction;
mod turns;
mod values;
mod walk;
mod watch;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _fyris(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<values::Atom>()?;
    module.add_class::<values::Other>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<walk::Walk>()?;
    module.add_class::<watch::Subscription>()?;
    module.add_class::<watch::Alarm>()?;
    module.add_class::<segment::Segment>()?;
    module.add_class::<segment::Updated>()?;
    module.add_class::<segment::Watcher>()?;
    module.add_class::<map::VersionedMap>()?;
    module.add_class::<map::MapWalk>()?;
    module.add_function(wrap_pyfunction!(transaction::transaction, module)?)?;
    module.add_function(wrap_pyfunction!(batch::write_batch, module)?)?;
    module.add_function(wrap_pyfunction!(import::import_from, module)?)?;
    module.add_function(wrap_pyfunction!(watch::subscribe, module)?)?;
    module.add_function(wrap_pyfunction!(segment::unlink, module)?)?;
    module.add_function(wrap_pyfunction!(segment::doctor, module)?)?;
    module.add_function(wrap_pyfunction!(segment::segments, module)?)?;
    module.add_function(wrap_pyfunction!(values::parse, module)?)?;
    module.add_function(wrap_pyfunction!(values::format, module)?)?;
    module.add_function(wrap_pyfunction!(values::encode, module)?)?;
    module.add_function(wrap_pyfunction!(values::decode, module)?)?;
    Ok(())
}
