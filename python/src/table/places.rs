//! Parts of objects, changed by their paths, and changes that return what they changed.

use pyo3::prelude::*;

use super::Table;
use super::dict::{ATTEMPTS, missing, overtaken};
use super::ets::{lists, path_of, term_or, terms};
use super::query::spec_of;
use crate::convert::{from_term, from_terms, to_term};
use crate::errors;

#[pymethods]
impl Table {
    /// Puts a value where a path of get_in() leads to in the object with a key; a dict need not have the last key of
    /// the path. Says whether there is an object. Raises BadValue if the object does not have another step of
    /// the path, or if it leads to the object's key.
    /// Atomic.
    fn put_in(
        &self,
        key: &Bound<'_, PyAny>,
        path: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let (py, key, path, value) = (key.py(), to_term(key)?, path_of(path)?, to_term(value)?);
        self.write(py, |table| table.put_in(&key, &path, &value))
    }

    /// Puts the result of function(part) where a path of get_in() leads to in the object with a key, or of
    /// function(default) into a dict that does not have the last key of the path, and returns it. KeyError if there is
    /// no object. Atomic: when another thread writes the part meanwhile, function is called again, on what is there
    /// then, 1,000 times at most, as by compute().
    #[pyo3(signature = (key, path, function, default=None))]
    fn update_in<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        path: &Bound<'py, PyAny>,
        function: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (key.py(), slf.get());
        let (term, path) = (to_term(key)?, path_of(path)?);
        let default = default.unwrap_or_else(|| py.None().into_bound(py));
        for _ in 0..ATTEMPTS {
            if !this.table.member(&term).map_err(errors::store)? {
                return Err(missing(key));
            }
            let found = this.table.get_in(&term, &path).map_err(errors::store)?;
            let part = match &found {
                Some(part) => from_term(py, part)?,
                None => default.clone(),
            };
            let made = function.call1((part,))?;
            let new = to_term(&made)?;
            let is_done = this.write(py, |table| {
                table.compare_and_swap_in(&term, &path, found.as_ref(), &new)
            })?;
            if is_done {
                return Ok(made);
            }
        }
        Err(overtaken(slf, key))
    }

    /// Takes a part of the object with a key away, where a path of get_in() leads to, and returns it: a key of a dict
    /// with its value, or an element of a list. default if there is no such part. Raises BadValue for an element of a
    /// tuple. Atomic.
    #[pyo3(signature = (key, path, default=None))]
    fn delete_in<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        path: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, key, path) = (key.py(), to_term(key)?, path_of(path)?);
        let taken = self.write(py, |table| table.delete_in(&key, &path))?;
        term_or(py, Ok(taken), default)
    }

    /// Removes the objects with all keys of an iterable and returns them, a list of lists, in the order of the keys.
    /// One atomic and isolated step.
    fn take_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Vec<Bound<'py, PyAny>>>> {
        let keys = terms(keys)?;
        lists(py, &self.query(py, |table| table.take_many(&keys))?)
    }

    /// Deletes the objects that match, and returns a list of what a match specification makes of them, as select()
    /// would. Each is judged and deleted in one atomic step, and goes to one of several callers.
    fn select_take<'py>(
        &self,
        py: Python<'py>,
        spec: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let spec = spec_of(spec)?;
        from_terms(py, &self.query(py, |table| table.select_take(&spec))?)
    }

    /// Replaces objects as select_replace() does, and returns the new ones, a list in the order of select().
    fn select_replace_returning<'py>(
        &self,
        py: Python<'py>,
        spec: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let spec = spec_of(spec)?;
        let new = self.query(py, |table| table.select_replace_returning(&spec))?;
        from_terms(py, &new)
    }
}
