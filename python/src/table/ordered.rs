//! Keys and objects in their order: places, ranges and prefixes.

use std::ops::Bound as Limit;

use fyris::{Prefix, RangeOptions};
use fyris_term::Term;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use super::Table;
use super::ets::{optional, term_or};
use crate::convert::{from_terms, text_of, to_term};
use crate::errors::{self, BadValue};

/// The number of a key in the order, an argument.
struct KeyNumber(usize);

impl<'py> FromPyObject<'_, 'py> for KeyNumber {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<KeyNumber> {
        given.extract().map(KeyNumber).map_err(|error| {
            match error.is_instance_of::<PyOverflowError>(given.py()) {
                true => {
                    BadValue::new_err(format!("no key has the number {given:?}: the first has 0"))
                }
                false => error,
            }
        })
    }
}

/// The keys with start <= key < stop.
fn ends(
    start: Option<&Bound<'_, PyAny>>,
    stop: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Limit<Term>, Limit<Term>)> {
    let start = optional(start)?.map_or(Limit::Unbounded, Limit::Included);
    let stop = optional(stop)?.map_or(Limit::Unbounded, Limit::Excluded);
    Ok((start, stop))
}

fn form(limit: Option<usize>, reverse: bool) -> RangeOptions {
    let mut options = RangeOptions::new();
    if reverse {
        options = options.reverse();
    }
    if let Some(limit) = limit {
        options = options.limit(limit);
    }
    options
}

/// How keys begin: a str, bytes, a list, or a tuple whose other elements are `_`.
fn beginning(prefix: &Bound<'_, PyAny>) -> PyResult<Prefix> {
    let term = to_term(prefix)?;
    if let Some(text) = text_of(&term) {
        return Ok(Prefix::Tail(vec![Term::list(Vec::new())], text.into()));
    }
    Prefix::of_pattern(&term).map_err(errors::store)
}

#[pymethods]
impl Table {
    /// The first key; in an ordered_set the lowest. default if the table is empty.
    #[pyo3(signature = (default=None))]
    fn first<'py>(
        &self,
        py: Python<'py>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        term_or(py, self.table.first(), default)
    }

    /// The last key; in an ordered_set the highest. default if the table is empty.
    #[pyo3(signature = (default=None))]
    fn last<'py>(
        &self,
        py: Python<'py>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        term_or(py, self.table.last(), default)
    }

    /// The key behind this one; in an ordered_set the next above, whether key is there or not. default
    /// behind the last.
    #[pyo3(signature = (key, default=None))]
    fn next<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        term_or(key.py(), self.table.next(&to_term(key)?), default)
    }

    /// The key before this one; in an ordered_set the next below, whether key is there or not. default
    /// before the first.
    #[pyo3(signature = (key, default=None))]
    fn prev<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        term_or(key.py(), self.table.prev(&to_term(key)?), default)
    }

    /// The key number n of an ordered_set that was made with index="judysl" or "judyesl", from 0. default if there are
    /// no more than n.
    #[pyo3(signature = (n, default=None))]
    fn nth<'py>(
        &self,
        py: Python<'py>,
        n: KeyNumber,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        term_or(py, self.table.nth(n.0), default)
    }

    /// How many keys are below this one, which need not be there. For the same tables as nth. Dates, times and Decimals
    /// are not ordered by time or size: see range().
    fn rank(&self, key: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.table.rank(&to_term(key)?).map_err(errors::store)
    }

    /// How many keys there are with start <= key < stop; a bound that is None is open. For the same tables as nth.
    #[pyo3(signature = (*, start=None, stop=None))]
    fn count_between(
        &self,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let found = self.table.count_between(&ends(start, stop)?);
        found.map_err(errors::store)
    }

    /// The objects of an ordered_set with start <= key < stop, as Python's ranges go: a list in order, or with reverse
    /// from the end. A bound that is None is open; limit is how many at most.
    ///
    /// The order is Erlang's: numbers, Atoms (True, False and None among them), tuples, dicts, lists and str, bytes. Of
    /// tuples a shorter one comes first, whatever is in it. Dates, times and Decimals are ordered as dicts, not by time
    /// or size: date.isoformat() and date.toordinal() make good keys.
    #[pyo3(signature = (*, start=None, stop=None, limit=None, reverse=false))]
    fn range<'py>(
        &self,
        py: Python<'py>,
        start: Option<&Bound<'py, PyAny>>,
        stop: Option<&Bound<'py, PyAny>>,
        limit: Option<usize>,
        reverse: bool,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (ends, options) = (ends(start, stop)?, form(limit, reverse));
        let found = py.detach(|| self.table.range(ends, options));
        from_terms(py, &found.map_err(errors::store)?)
    }

    /// The objects of an ordered_set whose keys begin alike, as range() returns them. prefix is a str, bytes, a list
    /// (an empty one also begins each str), or a tuple in which fyris.Atom('_') stands for each further element: tuples
    /// of other lengths lie elsewhere.
    #[pyo3(signature = (prefix, *, limit=None, reverse=false))]
    fn prefix<'py>(
        &self,
        prefix: &Bound<'py, PyAny>,
        limit: Option<usize>,
        reverse: bool,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (py, prefix, options) = (prefix.py(), beginning(prefix)?, form(limit, reverse));
        let found = py.detach(|| self.table.prefix(&prefix, options));
        from_terms(py, &found.map_err(errors::store)?)
    }

    /// The first object of an ordered_set at or above a key, or with reverse the last at or below it; None if there is
    /// none. The order is that of range(), which is not by time for dates.
    #[pyo3(signature = (key, *, reverse=false))]
    fn seek<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        reverse: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let term = to_term(key)?;
        let found = match reverse {
            true => self.table.seek_back(&term),
            false => self.table.seek(&term),
        };
        term_or(key.py(), found, None)
    }

    /// Takes the objects that range() would return out of an ordered_set, and returns them. Each goes to one of several
    /// callers.
    #[pyo3(signature = (*, start=None, stop=None, limit=None, reverse=false))]
    fn take_range<'py>(
        &self,
        py: Python<'py>,
        start: Option<&Bound<'py, PyAny>>,
        stop: Option<&Bound<'py, PyAny>>,
        limit: Option<usize>,
        reverse: bool,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (ends, options) = (ends(start, stop)?, form(limit, reverse));
        let taken = py.detach(|| self.table.take_range(ends, options));
        from_terms(py, &taken.map_err(errors::store)?)
    }

    /// Deletes the objects of an ordered_set with start <= key < stop, each in one atomic step; returns how many. A
    /// bound that is None is open.
    #[pyo3(signature = (*, start=None, stop=None))]
    fn delete_range(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let ends = ends(start, stop)?;
        let done = py.detach(|| self.table.delete_range(ends));
        done.map_err(errors::store)
    }
}
