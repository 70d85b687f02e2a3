//! Python values as terms, and back.
//!
//! | Python | Erlang |
//! |---|---|
//! | `int`, of any size | integer |
//! | `float` but for infinities and NaN | float |
//! | `True`, `False`, `None` | `true`, `false`, `undefined` |
//! | `str` | `[[] | <<"UTF-8">>]`: text as Erlang's chardata, a form no Python list has |
//! | `bytes` (and `bytearray`, one way) | binary |
//! | `tuple`, `list` | tuple, list |
//! | `dict` | map |
//! | `fyris.Atom` | every other atom |
//! | `fyris.Term` | every other term |
//!
//! # Without loss
//!
//! A value that goes in comes out equal and of the same type (subclasses come out as the class named here), and a term
//! that goes out comes back in exactly equal. Hence a `str` is no binary: it could not be told from `bytes`. As
//! chardata, `iolist_to_binary/1` and `unicode:characters_to_binary/1` of Erlang and `to_string/1` of Elixir take it as
//! it is, and in an ordered table texts sort by code points.
//!
//! Maps that no `dict` can hold (keys like `1` and `1.0`, which Python takes for one, or keys that cannot be hashed)
//! come out as `fyris.Term`.

use std::sync::LazyLock;

use fyris_term::{Atom, Float, MAX_DEPTH, Map, Term};
use num_bigint::BigInt;
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple,
};

use crate::errors::{self, BadValue, LimitReached};
use crate::values;

/// The atoms that are values of Python's.
struct Words {
    yes: Atom,
    no: Atom,
    none: Atom,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let atom = Atom::word;
    Words {
        yes: atom("true"),
        no: atom("false"),
        none: atom("undefined"),
    }
});

/// The Python value that an atom stands for, if there is one.
pub(crate) fn word(atom: Atom) -> Option<&'static str> {
    let words = &*WORDS;
    [
        (words.yes, "True"),
        (words.no, "False"),
        (words.none, "None"),
    ]
    .into_iter()
    .find_map(|(word, python)| (word == atom).then_some(python))
}

/// The term of a Python value.
///
/// # Errors
///
/// `TypeError` for a class not in the table above, `BadValue` for a value that Erlang does not have, `LimitReached` for
/// too deep a nesting (also of a list that contains itself), `Forked`.
pub(crate) fn to_term(value: &Bound<'_, PyAny>) -> PyResult<Term> {
    errors::not_forked()?;
    at_level(value, MAX_DEPTH)
}

/// Returns the term of a value that may have up to `levels` levels.
fn at_level(value: &Bound<'_, PyAny>, levels: usize) -> PyResult<Term> {
    if let Some(plain) = plain(value)? {
        return Ok(plain);
    }
    if let Ok(other) = value.cast::<values::Other>() {
        return deep_enough(other.get().term(), levels);
    }
    let Some(below) = levels.checked_sub(1) else {
        return Err(too_deep());
    };
    if let Ok(tuple) = value.cast::<PyTuple>() {
        let parts: PyResult<_> = tuple.iter().map(|part| at_level(&part, below)).collect();
        return parts.map(Term::Tuple);
    }
    if let Ok(list) = value.cast::<PyList>() {
        let parts: PyResult<_> = list.iter().map(|part| at_level(&part, below)).collect();
        return parts.map(Term::List);
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return map(dict, below);
    }
    let class = value.get_type();
    let text = format!("no Erlang term stands for a {}", class.name()?);
    Err(PyTypeError::new_err(text))
}

/// Values without parts.
fn plain(value: &Bound<'_, PyAny>) -> PyResult<Option<Term>> {
    let words = &*WORDS;
    Ok(Some(if let Ok(text) = value.cast::<PyString>() {
        text_term(text)?
    } else if let Ok(yes) = value.cast::<PyBool>() {
        Term::Atom(if yes.is_true() { words.yes } else { words.no })
    } else if let Ok(int) = value.cast::<PyInt>() {
        integer(int)?
    } else if let Ok(float) = value.cast::<PyFloat>() {
        let float = float.value();
        let known = Float::new(float);
        Term::Float(
            known.ok_or_else(|| BadValue::new_err(format!("{float} is no float of Erlang")))?,
        )
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        Term::binary(bytes.as_bytes())
    } else if value.cast::<PyNone>().is_ok() {
        Term::Atom(words.none)
    } else if let Ok(atom) = value.cast::<values::Atom>() {
        Term::Atom(atom.get().atom())
    } else if let Ok(bytes) = value.cast::<PyByteArray>() {
        Term::binary(bytes.to_vec())
    } else {
        return Ok(None);
    }))
}

fn integer(int: &Bound<'_, PyInt>) -> PyResult<Term> {
    match int.extract::<i64>() {
        Ok(small) => Ok(Term::Int(small)),
        Err(_) => int.extract::<BigInt>().map(Term::integer),
    }
}

fn text_term(text: &Bound<'_, PyString>) -> PyResult<Term> {
    let utf8 = text.to_cow().map_err(|error| {
        if error.is_instance_of::<PyUnicodeEncodeError>(text.py()) {
            BadValue::new_err("text with a lone surrogate, which UTF-8 does not have")
        } else {
            error
        }
    })?;
    let empty = vec![Term::List(Vec::new())];
    Ok(Term::improper(empty, Term::binary(utf8.as_bytes())))
}

fn map(dict: &Bound<'_, PyDict>, below: usize) -> PyResult<Term> {
    let pairs: PyResult<Vec<_>> = dict
        .iter()
        .map(|(key, value)| Ok((at_level(&key, below)?, at_level(&value, below)?)))
        .collect();
    Ok(Term::Map(Map::new(pairs?)))
}

fn too_deep() -> PyErr {
    LimitReached::new_err(format!("a value nested deeper than {MAX_DEPTH} levels"))
}

/// A term from elsewhere, put below others: it may make them too deep together.
fn deep_enough(term: &Term, levels: usize) -> PyResult<Term> {
    if fits(term, levels) {
        Ok(term.clone())
    } else {
        Err(too_deep())
    }
}

/// Returns whether a term, itself of bounded depth, has at most `levels` levels.
fn fits(term: &Term, levels: usize) -> bool {
    let below = |parts: &[Term]| levels > 0 && parts.iter().all(|part| fits(part, levels - 1));
    match term {
        Term::Tuple(parts) | Term::List(parts) => below(parts),
        Term::Improper(parts, tail) => below(parts) && fits(tail, levels - 1),
        Term::Map(map) => {
            let mut pairs = map.iter();
            levels > 0 && pairs.all(|(k, v)| fits(k, levels - 1) && fits(v, levels - 1))
        }
        // Captured values: as much as a closure may have.
        Term::Fun(_) => levels > 0,
        _ => true,
    }
}

/// The Python value of a term.
pub(crate) fn from_term<'py>(py: Python<'py>, term: &Term) -> PyResult<Bound<'py, PyAny>> {
    Ok(match term {
        Term::Int(int) => int.into_pyobject(py)?.into_any(),
        Term::Big(big) => (&**big).into_pyobject(py)?.into_any(),
        Term::Float(float) => float.get().into_pyobject(py)?.into_any(),
        Term::Binary(bytes) => PyBytes::new(py, bytes).into_any(),
        Term::Atom(atom) => from_atom(py, *atom)?,
        Term::Tuple(parts) => PyTuple::new(py, from_terms(py, parts)?)?.into_any(),
        Term::List(parts) => PyList::new(py, from_terms(py, parts)?)?.into_any(),
        Term::Map(map) => from_map(py, map)?,
        other => match text_of(other) {
            Some(text) => PyString::new(py, text).into_any(),
            None => values::other(py, term)?,
        },
    })
}

/// The Python values of terms.
pub(crate) fn from_terms<'py>(py: Python<'py>, terms: &[Term]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    terms.iter().map(|term| from_term(py, term)).collect()
}

fn from_atom<'py>(py: Python<'py>, atom: Atom) -> PyResult<Bound<'py, PyAny>> {
    let words = &*WORDS;
    Ok(if atom == words.none {
        py.None().into_bound(py)
    } else if atom == words.yes || atom == words.no {
        PyBool::new(py, atom == words.yes).to_owned().into_any()
    } else {
        values::Atom::from(atom).into_pyobject(py)?.into_any()
    })
}

/// The text in the form that `str` is kept in.
fn text_of(term: &Term) -> Option<&str> {
    match term {
        Term::Improper(parts, tail) => match (&parts[..], &**tail) {
            ([Term::List(empty)], Term::Binary(utf8)) if empty.is_empty() => {
                std::str::from_utf8(utf8).ok()
            }
            _ => None,
        },
        _ => None,
    }
}

fn from_map<'py>(py: Python<'py>, map: &Map) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    for (key, value) in map.iter() {
        let key = from_term(py, key)?;
        if key.hash().is_err() {
            return values::other(py, &Term::Map(map.clone()));
        }
        dict.set_item(key, from_term(py, value)?)?;
    }
    // Python took two keys for one.
    if dict.len() != map.len() {
        return values::other(py, &Term::Map(map.clone()));
    }
    Ok(dict.into_any())
}
