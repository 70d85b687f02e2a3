//! Match specifications and patterns.

use fyris::{MatchSpec, Table as Store};
use fyris_term::Term;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::Table;
use crate::convert::{from_terms, is_variable, kept_text, pattern_term, text_of};
use crate::errors::{self, BadValue};

/// A pattern or specification: a str is Erlang's syntax, since text by itself is neither. What is in double quotes
/// there is the text that a str is kept as, and not Erlang's list of numbers.
pub(crate) fn described(value: &Bound<'_, PyAny>) -> PyResult<Term> {
    match value.cast::<PyString>() {
        Ok(text) => Term::parse_strings_as(&text.to_cow()?, kept_text)
            .map_err(|e| BadValue::new_err(e.to_string())),
        Err(_) => pattern_term(value),
    }
}

/// A pattern. What is no tuple and no variable is a slip, since objects are tuples.
pub(crate) fn pattern_of(value: &Bound<'_, PyAny>) -> PyResult<Term> {
    let pattern = described(value)?;
    match &pattern {
        Term::Tuple(_) => Ok(pattern),
        Term::Atom(name) if is_variable(name.as_str()) => Ok(pattern),
        other => Err(BadValue::new_err(format!(
            "a pattern is a tuple or a variable: nothing matches {}",
            other.brief(60)
        ))),
    }
}

pub(crate) fn spec_of(spec: &Bound<'_, PyAny>) -> PyResult<MatchSpec> {
    let spec = described(spec)?;
    MatchSpec::compile(&spec).map_err(|error| match misspelt(&spec) {
        Some(hint) => BadValue::new_err(format!("{error} ({hint})")),
        None => errors::store(error.into()),
    })
}

/// What an operator in the guards and bodies of a refused specification should have been, if one was written as Python
/// has it.
fn misspelt(spec: &Term) -> Option<String> {
    let Term::List(clauses) = spec else {
        return None;
    };
    let mut waiting: Vec<&Term> = Vec::new();
    for clause in clauses.iter() {
        if let Term::Tuple(parts) = clause {
            waiting.extend(parts.iter().skip(1));
        }
    }
    while let Some(term) = waiting.pop() {
        if let Term::Tuple(parts) = term
            && let Some(hint) = parts.first().and_then(misspelt_operator)
        {
            return Some(hint);
        }
        if let Term::Tuple(parts) | Term::List(parts) = term {
            waiting.extend(parts.iter());
        }
    }
    None
}

fn misspelt_operator(operator: &Term) -> Option<String> {
    const OPERATORS: [&str; 19] = [
        "<", ">", "=<", ">=", "==", "/=", "=:=", "=/=", "<=", "!=", "+", "-", "*", "/", "and",
        "or", "not", "andalso", "orelse",
    ];
    match operator {
        Term::Atom(name) => {
            let right = match name.as_str() {
                "<=" => "=<",
                "!=" => "/=",
                _ => return None,
            };
            Some(format!("Erlang's operator is '{right}'"))
        }
        other => {
            let name = text_of(other).filter(|text| OPERATORS.contains(text))?;
            let text = format!("the operator is the str {name:?}: write fyris.Atom({name:?})");
            Some(text)
        }
    }
}

impl Table {
    /// Runs a query without the interpreter's lock.
    pub(super) fn query<T: Send>(
        &self,
        py: Python<'_>,
        run: impl FnOnce(&Store) -> fyris::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| run(&self.table)).map_err(errors::store)
    }
}

#[pymethods]
impl Table {
    /// Returns a list of the results of a match specification for the objects that match: select("[{{'$1', '$2'},
    /// [{'>', '$2', 10}], ['$1']}]"). The specification is Erlang's, as a str in its syntax or as a value. limit is how
    /// many at most; with reverse from the end of an ordered_set.
    ///
    /// Keys that it names are looked up instead of searched for: see explain(). Raises BadValue for a specification
    /// that is none.
    #[pyo3(signature = (spec, *, limit=None, reverse=false))]
    fn select<'py>(
        &self,
        py: Python<'py>,
        spec: &Bound<'py, PyAny>,
        limit: Option<usize>,
        reverse: bool,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let spec = spec_of(spec)?;
        let found = self.query(py, |table| match (limit, reverse) {
            (None, false) => table.select(&spec),
            (None, true) => table.select_reverse(&spec),
            (Some(limit), false) => Ok(table.select_limit(&spec, limit)?.results),
            (Some(limit), true) => Ok(table.select_reverse_limit(&spec, limit)?.results),
        })?;
        from_terms(py, &found)
    }

    /// Of how many objects a match specification makes true.
    fn select_count(&self, py: Python<'_>, spec: &Bound<'_, PyAny>) -> PyResult<usize> {
        let spec = spec_of(spec)?;
        self.query(py, |table| table.select_count(&spec))
    }

    /// Deletes the objects of which a match specification makes true, each judged and deleted in one atomic step;
    /// returns how many.
    fn select_delete(&self, py: Python<'_>, spec: &Bound<'_, PyAny>) -> PyResult<usize> {
        let spec = spec_of(spec)?;
        self.query(py, |table| table.select_delete(&spec))
    }

    /// Puts what a match specification makes of the objects that match in their places, each judged and replaced in one
    /// atomic step; returns how many. The specification must keep every object's key.
    fn select_replace(&self, py: Python<'_>, spec: &Bound<'_, PyAny>) -> PyResult<usize> {
        let spec = spec_of(spec)?;
        self.query(py, |table| table.select_replace(&spec))
    }

    /// For every object that matches a pattern, what its variables stand for, a list of lists: match("{'_', '$1',
    /// '$2'}").
    fn r#match<'py>(
        &self,
        py: Python<'py>,
        pattern: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let pattern = pattern_of(pattern)?;
        let found = self.query(py, |table| table.match_pattern(&pattern))?;
        from_terms(py, &found)
    }

    /// The objects that match a pattern, a list: match_object("""{'_', "red"}"""). What is in double quotes is a str,
    /// red without them an Atom. Raises BadValue for a pattern that is no tuple and no variable.
    fn match_object<'py>(
        &self,
        py: Python<'py>,
        pattern: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let pattern = pattern_of(pattern)?;
        let found = self.query(py, |table| table.match_object(&pattern))?;
        from_terms(py, &found)
    }

    /// Deletes the objects that match a pattern, each in one atomic step.
    fn match_delete(&self, py: Python<'_>, pattern: &Bound<'_, PyAny>) -> PyResult<()> {
        let pattern = pattern_of(pattern)?;
        self.query(py, |table| table.match_delete(&pattern))
    }

    /// Explains select() without running it: a dict of plan (how the objects are found, a str), estimated (about
    /// how many would be visited) and size (how many there are); also secondary, the name of the secondary index that
    /// finds them, if one does.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        spec: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let spec = spec_of(spec)?;
        let found = self.query(py, |table| table.explain(&spec))?;
        let dict = PyDict::new(py);
        dict.set_item("plan", found.plan.to_string())?;
        dict.set_item("estimated", found.estimated)?;
        dict.set_item("size", found.size)?;
        if let Some(name) = found.secondary {
            dict.set_item("secondary", name.as_str())?;
        }
        Ok(dict)
    }
}
