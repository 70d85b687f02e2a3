//! Tables as dictionaries.
//!
//! An object of two elements is a key and its value, whichever of the two is the key. Objects of other lengths, and the
//! bags, have no place in a dictionary: they are refused by name, never guessed at.

use fyris_term::Term;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::{Table, pair, value_of};
use crate::convert::{from_term, to_term};
use crate::errors::{self, WrongType};

/// The error of a dictionary.
pub(super) fn missing(key: &Bound<'_, PyAny>) -> PyErr {
    PyKeyError::new_err((key.clone().unbind(),))
}

impl Table {
    /// The object of a key and its value.
    pub(super) fn object(&self, key: Term, value: Term) -> PyResult<Term> {
        self.check()?;
        Ok(Term::tuple(match self.table.keypos() {
            1 => vec![key, value],
            _ => vec![value, key],
        }))
    }

    /// A dictionary has one value a key.
    fn check(&self) -> PyResult<()> {
        let kind = self.table.table_type();
        if kind.is_bag() {
            let text = format!(
                "a {} has no values: use lookup() and insert()",
                kind.as_str()
            );
            return Err(WrongType::new_err(text));
        }
        if self.table.keypos() > 2 {
            let text = "a table whose key is behind the second element is no dictionary";
            return Err(WrongType::new_err(text));
        }
        Ok(())
    }

    /// The value of a key.
    pub(crate) fn find(&self, key: &Term) -> PyResult<Option<Term>> {
        self.check()?;
        self.only(self.table.lookup(key).map_err(errors::store)?)
    }

    /// The value of the only object, if there is one.
    fn only(&self, mut objects: Vec<Term>) -> PyResult<Option<Term>> {
        let object = objects.pop();
        object
            .map(|object| value_of(object, self.table.keypos()))
            .transpose()
    }

    /// Returns whether an object has the key.
    pub(crate) fn has(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.table.member(&to_term(key)?).map_err(errors::store)
    }

    /// The objects that `dict.update` would put in.
    fn objects_of(
        &self,
        others: Option<&Bound<'_, PyAny>>,
        more: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Term>> {
        let mut objects = Vec::new();
        let mut add = |key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>| {
            objects.push(self.object(to_term(key)?, to_term(value)?)?);
            PyResult::Ok(())
        };
        if let Some(others) = others {
            let pairs = match others.getattr_opt("items")? {
                Some(items) => items.call0()?,
                None => others.clone(),
            };
            for one in pairs.try_iter()? {
                let (key, value) = one?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
                add(&key, &value)?;
            }
        }
        for (key, value) in more.into_iter().flat_map(|more| more.iter()) {
            add(&key, &value)?;
        }
        Ok(objects)
    }
}

#[pymethods]
impl Table {
    /// The value of a key, or default.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.find(&to_term(key)?)? {
            Some(value) => from_term(key.py(), &value).map(Some),
            None => Ok(default),
        }
    }

    /// Removes a key and returns its value, in one atomic step; default, or KeyError, if it is not there.
    #[pyo3(signature = (key, *default))]
    fn pop<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.check()?;
        if default.len() > 1 {
            let text = "pop() takes a key and at most one default";
            return Err(pyo3::exceptions::PyTypeError::new_err(text));
        }
        let term = to_term(key)?;
        let taken = self.write(key.py(), |table| table.take(&term))?;
        match self.only(taken)? {
            Some(value) => from_term(key.py(), &value),
            None => default.get_item(0).map_err(|_| missing(key)),
        }
    }

    /// Puts the result of function(value) in the place of the value of a key, or of default if it has none, and returns it.
    /// Atomic: when another thread writes the key meanwhile, function is called again, on the new value; so it should do
    /// nothing else.
    #[pyo3(signature = (key, function, default=None))]
    fn compute<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        function: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, term) = (key.py(), to_term(key)?);
        let default = default.unwrap_or_else(|| py.None().into_bound(py));
        loop {
            self.check()?;
            let old = self.table.lookup(&term).map_err(errors::store)?.pop();
            let value = match old.clone() {
                Some(object) => from_term(py, &value_of(object, self.table.keypos())?)?,
                None => default.clone(),
            };
            let made = function.call1((value,))?;
            let new = self.object(term.clone(), to_term(&made)?)?;
            let is_done = match old {
                None => self.write(py, |table| table.insert_new(&new))?,
                Some(old) => self.write(py, |table| table.compare_and_swap(&old, &new))?,
            };
            if is_done {
                return Ok(made);
            }
        }
    }

    /// Removes a pair and returns it: the first in order from an ordered_set. KeyError if there is none.
    fn popitem<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.check()?;
        while let Some(key) = self.table.first().map_err(errors::store)? {
            // Another thread may have been faster.
            if let Some(object) = self.write(py, |table| table.take(&key))?.pop() {
                let (key, value) = pair(object, self.table.keypos())?;
                return from_term(py, &Term::tuple(vec![key, value]));
            }
        }
        Err(PyKeyError::new_err("popitem(): the table is empty"))
    }

    /// The value of a key; if it is not there, default is put in first. Of several threads one puts in, all get the
    /// same.
    #[pyo3(signature = (key, default=None))]
    fn setdefault<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        let none = py.None().into_bound(py);
        let (key, value) = (to_term(key)?, to_term(default.unwrap_or(&none))?);
        let object = self.object(key.clone(), value.clone())?;
        loop {
            if let Some(found) = self.find(&key)? {
                return from_term(py, &found);
            }
            if self.write(py, |table| table.insert_new(&object))? {
                return from_term(py, &value);
            }
            // Somebody was faster, and somebody has deleted it again perhaps.
        }
    }

    /// As dict.update, in one atomic step: others see all of it or nothing.
    #[pyo3(signature = (others=None, /, **more))]
    fn update(
        &self,
        py: Python<'_>,
        others: Option<&Bound<'_, PyAny>>,
        more: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let objects = self.objects_of(others, more)?;
        let done = py.detach(|| self.table.insert_list(&objects));
        done.map_err(errors::store)
    }

    /// Empties the table, in one atomic step.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let done = py.detach(|| self.table.delete_all_objects());
        done.map_err(errors::store)
    }
}
