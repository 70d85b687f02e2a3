//! Tables as dictionaries.
//!
//! An object of two elements is a key and its value, whichever of the two is the key. Objects of other lengths, and the
//! bags, have no place in a dictionary: they are refused by name, never guessed at.

use fyris::Object;
use fyris_term::Term;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::{Table, no_pair, pair, value_of};
use crate::convert::{from_term, sought, to_term};
use crate::direct;
use crate::errors::{self, Conflict, WrongType};
use crate::mapping::{Argument, each_pair};

/// The error of a dictionary.
pub(super) fn missing(key: &Bound<'_, PyAny>) -> PyErr {
    PyKeyError::new_err((key.clone().unbind(),))
}

/// The number of calls of a function whose result is to take the place of what it was given.
pub(super) const ATTEMPTS: usize = 1000;

/// The error of a function that was given the value of a key, which was another at the end of each of its calls.
pub(super) fn overtaken(table: &Bound<'_, Table>, key: &Bound<'_, PyAny>) -> PyErr {
    let raised = Conflict::new_err(format!(
        "each of {ATTEMPTS} calls of the function ended after a write of its key, by others or by the function itself: \
         it is to return the new value, and not to write it"
    ));
    let value = raised.value(table.py());
    let told = value.setattr("table", table);
    match told.and_then(|()| value.setattr("key", key)) {
        Ok(()) => raised,
        Err(other) => other,
    }
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
    pub(super) fn check(&self) -> PyResult<()> {
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

    /// The value of what may be a key.
    pub(super) fn find<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.check()?;
        match sought(key)? {
            Some(term) => self.value_at(key.py(), &term),
            None => Ok(None),
        }
    }

    /// The value of a key, if it is there.
    fn value_at<'py>(&self, py: Python<'py>, key: &Term) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = |objects: &[Object<'_>]| match objects.last() {
            Some(object) if object.arity() == 2 => direct::value(py, object).map(Some),
            Some(object) => Err(no_pair(object.arity())),
            None => Ok(None),
        };
        let found = self.table.lookup_with(key, &fyris::pin(), value);
        found.map_err(errors::store)?
    }

    /// Takes out what may be a key, with its object.
    pub(super) fn take_any(&self, key: &Bound<'_, PyAny>) -> PyResult<Vec<Term>> {
        match sought(key)? {
            Some(term) => self.write(key.py(), |table| table.take(&term)),
            None => Ok(Vec::new()),
        }
    }

    /// The value of the only object, if there is one.
    fn only(&self, mut objects: Vec<Term>) -> PyResult<Option<Term>> {
        let object = objects.pop();
        object
            .map(|object| value_of(object, self.table.keypos()))
            .transpose()
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
            Ok(())
        };
        match others {
            // By key and value it would miss what another thread deletes in between.
            Some(others) if others.is_instance_of::<Table>() => {
                each_pair(&others.call_method0("items")?, &mut add)?;
            }
            Some(others) => each_pair(others, &mut add)?,
            None => {}
        }
        if let Some(more) = more {
            each_pair(more, &mut add)?;
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
        Ok(self.find(key)?.or(default))
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
        match self.only(self.take_any(key)?)? {
            Some(value) => from_term(key.py(), &value),
            None => default.get_item(0).map_err(|_| missing(key)),
        }
    }

    /// Puts the result of function(value) in the place of the value of a key, or of default if it has none, and returns
    /// it. Atomic: when another thread writes the key meanwhile, function is called again, on the new value; so it
    /// should do nothing else. After 1,000 calls Conflict is raised, and nothing has happened: it is so where function
    /// itself writes the key.
    #[pyo3(signature = (key, function, default=None))]
    fn compute<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        function: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, this, term) = (key.py(), slf.get(), to_term(key)?);
        let default = default.unwrap_or_else(|| py.None().into_bound(py));
        for _ in 0..ATTEMPTS {
            this.check()?;
            let old = this.table.lookup(&term).map_err(errors::store)?.pop();
            let value = match old.clone() {
                Some(object) => from_term(py, &value_of(object, this.table.keypos())?)?,
                None => default.clone(),
            };
            let made = function.call1((value,))?;
            let new = this.object(term.clone(), to_term(&made)?)?;
            let is_done = match old {
                None => this.write(py, |table| table.insert_new(&new))?,
                Some(old) => this.write(py, |table| table.compare_and_swap(&old, &new))?,
            };
            if is_done {
                return Ok(made);
            }
        }
        Err(overtaken(slf, key))
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
        let value = to_term(default.unwrap_or(&none))?;
        let term = to_term(key)?;
        let object = self.object(term.clone(), value.clone())?;
        loop {
            if let Some(found) = self.value_at(py, &term)? {
                return Ok(found);
            }
            if self.write(py, |table| table.insert_new(&object))? {
                return from_term(py, &value);
            }
            // Somebody was faster, and somebody has deleted it again perhaps.
        }
    }

    /// As dict.update, in one atomic step: others see all of it or nothing.
    #[pyo3(signature = (others=Argument(None), /, **more))]
    pub(super) fn update(
        &self,
        py: Python<'_>,
        others: Argument<'_>,
        more: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let objects = self.objects_of(others.0.as_ref(), more)?;
        let done = py.detach(|| self.table.insert_list(&objects));
        done.map_err(errors::store)
    }

    /// Empties the table, in one atomic step.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let done = py.detach(|| self.table.delete_all_objects());
        done.map_err(errors::store)
    }
}
