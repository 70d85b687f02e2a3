//! What tables and maps of segments have of dictionaries alike.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};

/// An argument, which may be None, or none.
pub(crate) struct Argument<'py>(pub(crate) Option<Bound<'py, PyAny>>);

impl<'py> FromPyObject<'_, 'py> for Argument<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Argument<'py>> {
        Ok(Argument(Some(given.to_owned())))
    }
}

/// `fyris/_views.py`.
fn views(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static VIEWS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = VIEWS.get_or_try_init(py, || py.import("fyris._views").map(Bound::unbind))?;
    Ok(module.bind(py))
}

/// The keys, values or items of a mapping that has `_walk`.
pub(crate) fn view<'py>(mapping: &Bound<'py, PyAny>, class: &str) -> PyResult<Bound<'py, PyAny>> {
    views(mapping.py())?.call_method1(class, (mapping,))
}

/// Whether a mapping equals something else.
pub(crate) fn equal<'py>(
    mapping: &Bound<'py, PyAny>,
    other: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    views(mapping.py())?.call_method1("equal", (mapping, other))
}

/// The dict of the items of two mappings.
pub(crate) fn union<'py>(
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    views(first.py())?.call_method1("union", (first, second))
}

/// Gives every key and value that `dict.update` takes from `others`: a mapping is what has `keys`, and everything else
/// pairs.
pub(crate) fn each_pair<'py>(
    others: &Bound<'py, PyAny>,
    mut put: impl FnMut(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    if let Ok(dict) = others.cast_exact::<PyDict>() {
        // In a list: what reads a value may run Python, which may change the dict.
        let items: Vec<_> = dict.iter().collect();
        return items.iter().try_for_each(|(key, value)| put(key, value));
    }
    if let Some(keys) = others.getattr_opt("keys")? {
        for key in keys.call0()?.try_iter()? {
            let key = key?;
            put(&key, &others.get_item(&key)?)?;
        }
        return Ok(());
    }
    for (at, pair) in others.try_iter()?.enumerate() {
        let no_pair = || format!("element {at} of what to update by is no pair of key and value");
        let parts = pair?.try_iter();
        let mut parts = parts.map_err(|_| PyTypeError::new_err(no_pair()))?;
        match (parts.next(), parts.next(), parts.next()) {
            (Some(key), Some(value), None) => put(&key?, &value?)?,
            (Some(Err(error)), ..) | (_, Some(Err(error)), _) | (.., Some(Err(error))) => {
                return Err(error);
            }
            _ => return Err(PyValueError::new_err(no_pair())),
        }
    }
    Ok(())
}
