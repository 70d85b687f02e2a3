//! Walks through tables.

use std::sync::{Mutex, PoisonError};

use fyris::Iter;
use fyris_term::Term;
use pyo3::prelude::*;

use crate::convert::from_term;
use crate::errors;
use crate::table::{Table, pair, value_of};

/// The part of each object that a walk gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Object,
    Key,
    Value,
    Item,
}

impl Part {
    fn of(self, object: Term, keypos: usize) -> PyResult<Term> {
        Ok(match self {
            Part::Object => object,
            Part::Key => key_of(object, keypos),
            Part::Value => value_of(object, keypos)?,
            Part::Item => {
                let (key, value) = pair(object, keypos)?;
                Term::tuple(vec![key, value])
            }
        })
    }
}

fn key_of(object: Term, keypos: usize) -> Term {
    match object {
        Term::Tuple(mut parts) => parts.swap_remove(keypos - 1),
        other => other,
    }
}

/// An iterator over a table. It holds nothing that makes others wait, and shows the table as it was at one moment (see
/// Table): one with consistent=False as it is, and what is there throughout comes up exactly once.
#[pyclass(frozen, module = "fyris._fyris")]
pub(crate) struct Walk {
    iter: Mutex<Iter>,
    part: Part,
    /// Keeps an unnamed table alive.
    table: Py<Table>,
}

impl Walk {
    pub(crate) fn new(table: Bound<'_, Table>, part: Part, back: bool) -> Walk {
        let store = &table.get().table;
        let iter = if back {
            store.iter_back()
        } else {
            store.iter()
        };
        Walk {
            iter: Mutex::new(iter),
            part,
            table: table.unbind(),
        }
    }
}

#[pymethods]
impl Walk {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // Never held while Python runs, so it waits for nothing but another thread's step.
        let next = self
            .iter
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next();
        let Some(object) = next.transpose().map_err(errors::store)? else {
            return Ok(None);
        };
        let part = self.part.of(object, self.table.get().table.keypos())?;
        from_term(py, &part).map(Some)
    }
}
