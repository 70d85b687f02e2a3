//! Tables as ETS has them: objects are tuples.

use fyris::SecondaryIndex;
use fyris_term::Term;
use pyo3::prelude::*;

use super::{Table, secondary_value};
use crate::convert::{from_term, from_terms, to_term};
use crate::errors::{self, BadValue, WrongType};

/// The terms of the values of an iterable.
pub(super) fn terms(values: &Bound<'_, PyAny>) -> PyResult<Vec<Term>> {
    values.try_iter()?.map(|value| to_term(&value?)).collect()
}

/// The steps of a path into an object.
pub(super) fn path_of(path: &Bound<'_, PyAny>) -> PyResult<Vec<Term>> {
    let path = terms(path)?;
    match path.first() {
        Some(Term::Int(1..)) => Ok(path),
        Some(other) => Err(BadValue::new_err(format!(
            "a path begins with the position of an element, from 1, not with {}",
            other.brief(60)
        ))),
        None => Err(BadValue::new_err(
            "an empty path: it begins with the position of an element, from 1",
        )),
    }
}

/// The object that is put in where there is none.
fn default_object(default: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Term>> {
    match optional(default)? {
        None => Ok(None),
        Some(object @ Term::Tuple(_)) => Ok(Some(object)),
        Some(other) => Err(WrongType::new_err(format!(
            "default is an object, such as (None, 0), not {}",
            other.brief(60)
        ))),
    }
}

/// The objects of keys, a list for each.
pub(super) fn lists<'py>(
    py: Python<'py>,
    all: &[Vec<Term>],
) -> PyResult<Vec<Vec<Bound<'py, PyAny>>>> {
    all.iter().map(|objects| from_terms(py, objects)).collect()
}

pub(super) fn optional(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Term>> {
    value.map(to_term).transpose()
}

/// A term, or what there is instead.
pub(super) fn term_or<'py>(
    py: Python<'py>,
    found: fyris::Result<Option<Term>>,
    default: Option<Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match found.map_err(errors::store)? {
        Some(term) => from_term(py, &term).map(Some),
        None => Ok(default),
    }
}

#[pymethods]
impl Table {
    /// Inserts an object, a tuple, in place of one with the same key; in the bags beside them. Atomic.
    fn insert(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let (object, py) = (to_term(object)?, object.py());
        self.write(py, |table| table.insert(&object))
    }

    /// Inserts all objects of an iterable in one atomic and isolated step: others see all of them or none.
    fn insert_many(&self, py: Python<'_>, objects: &Bound<'_, PyAny>) -> PyResult<()> {
        let objects = terms(objects)?;
        let done = py.detach(|| self.table.insert_list(&objects));
        done.map_err(errors::store)
    }

    /// Inserts an object unless its key is there; says whether it did. Atomic.
    fn insert_new(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (object, py) = (to_term(object)?, object.py());
        self.write(py, |table| table.insert_new(&object))
    }

    /// Inserts all objects of an iterable, unless one of their keys is there: then none. Atomic and isolated.
    fn insert_new_many(&self, py: Python<'_>, objects: &Bound<'_, PyAny>) -> PyResult<bool> {
        let objects = terms(objects)?;
        let done = py.detach(|| self.table.insert_new_list(&objects));
        done.map_err(errors::store)
    }

    /// The objects with a key, a list. Takes no lock.
    fn lookup<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let found = self.table.lookup(&to_term(key)?);
        from_terms(key.py(), &found.map_err(errors::store)?)
    }

    /// The objects with each of the keys of an iterable: a list of lists, in the order of the keys.
    fn lookup_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Vec<Bound<'py, PyAny>>>> {
        let keys = terms(keys)?;
        lists(py, &self.query(py, |table| table.lookup_many(&keys))?)
    }

    /// The objects that have a value by a secondary index of the table, a list in the order of their keys; in the bags
    /// those of one key in the order of their insertion. If more than 512 are looked at, all are as they were at one
    /// moment of the call. Raises BadValue if there is no such index.
    fn lookup_by<'py>(
        &self,
        index: &str,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (py, value) = (value.py(), to_term(value)?);
        let found = py.detach(|| self.table.lookup_by(index, &value));
        from_terms(py, &found.map_err(errors::store)?)
    }

    /// Adds a secondary index to the table, which may be in use: what the option secondary would have made. Others read
    /// and write meanwhile; transactions under way that have the table conflict. Raises BadValue for a wrong value, and
    /// if there is one of this name.
    fn add_secondary(&self, index: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let secondary = SecondaryIndex::new(index, secondary_value(value)?);
        let done = value.py().detach(|| self.table.add_secondary(&secondary));
        done.map_err(errors::store)
    }

    /// Removes a secondary index. Raises BadValue if there is none of this name.
    fn remove_secondary(&self, py: Python<'_>, index: &str) -> PyResult<()> {
        let done = py.detach(|| self.table.remove_secondary(index));
        done.map_err(errors::store)
    }

    /// The element at a position, from 1, of the object with a key; in the bags a list of them. default if no object
    /// has the key.
    #[pyo3(signature = (key, position, default=None))]
    fn lookup_element<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        position: usize,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.table.lookup_element(&to_term(key)?, position) {
            Ok(found) => from_term(key.py(), &found.into_term()).map(Some),
            Err(fyris::Error::NoSuchKey) => Ok(default),
            Err(error) => Err(errors::store(error)),
        }
    }

    /// Returns whether an object has the key.
    fn member(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.table.member(&to_term(key)?).map_err(errors::store)
    }

    /// Deletes the objects with a key; there need be none. Atomic.
    fn delete(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let (key, py) = (to_term(key)?, key.py());
        self.write(py, |table| table.delete_key(&key))
    }

    /// Deletes exactly this object. Atomic.
    fn delete_object(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let (object, py) = (to_term(object)?, object.py());
        self.write(py, |table| table.delete_object(&object))
    }

    /// Removes the objects with a key and returns them, a list, in one atomic step.
    fn take<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (term, py) = (to_term(key)?, key.py());
        let taken = self.write(py, |table| table.take(&term))?;
        from_terms(py, &taken)
    }

    /// Counts: op is an increment, (position, increment), (position, increment, threshold, value) or a list of such
    /// tuples, done in order in one atomic and isolated step. Returns the new value, or the list of them. If no object
    /// has the key, default, an object such as (None, 0), is inserted first with its key replaced, or KeyError raised.
    #[pyo3(signature = (key, op, default=None))]
    fn update_counter<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        op: &Bound<'py, PyAny>,
        default: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (term, op, default) = (to_term(key)?, to_term(op)?, default_object(default)?);
        let count =
            |table: &fyris::Table| match table.update_counter_term(&term, &op, default.as_ref()) {
                Err(fyris::Error::NoSuchKey) => Ok(None),
                counted => counted.map(Some),
            };
        match self.write(key.py(), count)? {
            Some(counted) => from_term(key.py(), &counted),
            None => Err(super::dict::missing(key)),
        }
    }

    /// Replaces elements of the object with a key: edits is (position, value) or a list of such tuples, all done in one
    /// atomic step. If there is no such object default is inserted with the edits, or nothing is done and False
    /// returned.
    #[pyo3(signature = (key, edits, default=None))]
    fn update_element(
        &self,
        key: &Bound<'_, PyAny>,
        edits: &Bound<'_, PyAny>,
        default: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let (py, edits, default) = (key.py(), to_term(edits)?, default_object(default)?);
        let key = to_term(key)?;
        self.write(py, |table| {
            table.update_element_term(&key, &edits, default.as_ref())
        })
    }

    /// Replaces old by new if the table holds exactly old; says whether it did. Both are objects with the same key.
    /// Atomic.
    fn compare_and_swap(&self, old: &Bound<'_, PyAny>, new: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (py, old, new) = (old.py(), to_term(old)?, to_term(new)?);
        self.write(py, |table| table.compare_and_swap(&old, &new))
    }

    /// A part of the object with a key, without building the rest: get_in("ada", [2, "born"]). path begins with a
    /// position, then come keys of dicts and positions of tuples and lists. Positions count from 1: 2 is the value of a
    /// pair. default if there is no such part. Raises BadValue for a path that does not begin with a position.
    #[pyo3(signature = (key, path, default=None))]
    fn get_in<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        path: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        term_or(
            key.py(),
            self.table.get_in(&to_term(key)?, &path_of(path)?),
            default,
        )
    }

    /// Takes all objects out and returns them, a list. Each goes to one of several callers; one that is put in
    /// meanwhile is returned or stays.
    fn drain<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let taken = py.detach(|| self.table.drain());
        from_terms(py, &taken.map_err(errors::store)?)
    }
}
