//! Python values as terms, and back.
//!
//! | Python | Erlang |
//! |---|---|
//! | `int`, of any size | integer |
//! | `float` but for infinities and NaN | float |
//! | `True`, `False`, `None` | `true`, `false`, `undefined` |
//! | `str` | `[[] | <<"UTF-8">>]`: text as Erlang's chardata, a form no Python list has |
//! | `bytes` | binary |
//! | `tuple`, `list` | tuple, list |
//! | `dict` | map |
//! | `date`, `time`, `datetime`, `Decimal` | the maps of Elixir's `Date`, `Time`, `NaiveDateTime` and `DateTime`, `Decimal` |
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
//! Some classes go in and come out as another that holds the same: what has `__index__`, and other real numbers that a
//! `float` can hold, as NumPy's, as `int` and `float`; rows of bytes (`bytearray`, `memoryview`, `mmap`, arrays) and
//! `UUID` as `bytes`; `MappingProxyType` as `dict`. What has `__index__`, and bytes, are read here,
//! the others by `fyris/_values.py`.
//!
//! Maps that no `dict` can hold (keys like `1` and `1.0`, which Python takes for one, or keys that cannot be hashed)
//! come out as `fyris.Term`.

use std::collections::HashSet;
use std::marker::PhantomData;
use std::sync::LazyLock;
use std::vec;

use fyris_term::walk::{Grow, Part, grow};
use fyris_term::{Atom, Float, Map, Term};
use num_bigint::BigInt;
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyModule, PyNone, PyString, PyTuple,
};

use crate::buffer::Buffer;
use crate::errors::{self, BadValue, LimitReached};
use crate::values;

/// The atoms that are values of Python's.
struct Words {
    yes: Atom,
    no: Atom,
    none: Atom,
    strukt: Term,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let atom = Atom::word;
    Words {
        yes: atom("true"),
        no: atom("false"),
        none: atom("undefined"),
        strukt: Term::Atom(atom("__struct__")),
    }
});

/// The atom of `True`, `False`, or `None`.
pub(crate) fn word_of(truth: Option<bool>) -> Atom {
    match truth {
        Some(true) => WORDS.yes,
        Some(false) => WORDS.no,
        None => WORDS.none,
    }
}

/// Whether a map that has this key may stand for a value of another class.
pub(crate) fn is_struct(key: Atom) -> bool {
    WORDS.strukt == Term::Atom(key)
}

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

/// The term of a Python value, however deep.
///
/// # Errors
///
/// `TypeError` for a class not in the table above, `BadValue` for a value that Erlang does not have, `LimitReached` for
/// one that contains itself, `Forked`.
pub(crate) fn to_term(value: &Bound<'_, PyAny>) -> PyResult<Term> {
    read(value, text_term)
}

/// The term of what may be a key; `None` for what cannot be one.
pub(crate) fn sought(value: &Bound<'_, PyAny>) -> PyResult<Option<Term>> {
    match to_term(value) {
        Ok(term) => Ok(Some(term)),
        Err(error) => {
            let py = value.py();
            let has_no_term = error.is_instance_of::<PyTypeError>(py)
                || error.is_instance_of::<BadValue>(py)
                || error.is_instance_of::<LimitReached>(py);
            if has_no_term { Ok(None) } else { Err(error) }
        }
    }
}

/// The term of a pattern or specification given as values, as [`to_term`]; a `str` that reads as a variable is
/// `BadValue`, since it would be compared as text.
pub(crate) fn pattern_term(value: &Bound<'_, PyAny>) -> PyResult<Term> {
    read(value, |text| {
        let name = text.to_string_lossy();
        if !is_variable(&name) {
            return text_term(text);
        }
        Err(BadValue::new_err(format!(
            "the str {name:?} in a pattern is text, not a variable: write fyris.Atom({name:?})"
        )))
    })
}

/// Whether an atom of this name is a variable of patterns: `_`, `$_`, `$$` or `$` and a number.
pub(crate) fn is_variable(name: &str) -> bool {
    match name.strip_prefix('$') {
        Some("_" | "$") => true,
        Some(number) => !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()),
        None => name == "_",
    }
}

fn read(value: &Bound<'_, PyAny>, text: TextTerm) -> PyResult<Term> {
    errors::not_forked()?;
    let mut reader = Reader {
        depth: 0,
        around: HashSet::new(),
        text,
        values: PhantomData,
    };
    match reader.open(value.clone())? {
        Part::Leaf(term) => Ok(term),
        Part::Open(frame) => grow(&mut reader, frame),
    }
}

/// What a `str` stands for.
type TextTerm = fn(&Bound<'_, PyString>) -> PyResult<Term>;

/// Reads Python values.
struct Reader<'py> {
    /// The number of containers around the value.
    depth: usize,
    /// Those of them that lie deep: only these are compared with what is inside them, which costs more than to read a
    /// value that contains itself a thousand times.
    around: HashSet<usize>,
    text: TextTerm,
    values: PhantomData<Bound<'py, PyAny>>,
}

/// Containers so deep are looked at for themselves.
const DEEP: usize = 1000;

/// A container that is being read.
struct Frame<'py> {
    container: Bound<'py, PyAny>,
    parts: vec::IntoIter<Bound<'py, PyAny>>,
    read: Vec<Term>,
}

impl<'py> Reader<'py> {
    /// Reads a value, or begins to read a container.
    fn open(&mut self, value: Bound<'py, PyAny>) -> PyResult<Part<Term, Frame<'py>>> {
        if let Ok(text) = value.cast::<PyString>() {
            return (self.text)(text).map(Part::Leaf);
        }
        if let Some(plain) = plain(&value)? {
            return Ok(Part::Leaf(plain));
        }
        if let Ok(other) = value.cast::<values::Other>() {
            return Ok(Part::Leaf(other.get().term().clone()));
        }
        let parts: Vec<_> = if let Ok(tuple) = value.cast::<PyTuple>() {
            tuple.iter().collect()
        } else if let Ok(list) = value.cast::<PyList>() {
            list.iter().collect()
        } else if let Ok(dict) = value.cast::<PyDict>() {
            dict.iter().flat_map(|(key, value)| [key, value]).collect()
        } else {
            return match number_or_bytes(&value)? {
                Some(term) => Ok(Part::Leaf(term)),
                None => self.open(instead(&value)?),
            };
        };
        if self.depth >= DEEP && !self.around.insert(value.as_ptr() as usize) {
            return Err(LimitReached::new_err("a value that contains itself"));
        }
        self.depth += 1;
        Ok(Part::Open(Frame {
            container: value,
            read: Vec::with_capacity(parts.len()),
            parts: parts.into_iter(),
        }))
    }
}

impl<'py> Grow for Reader<'py> {
    type Out = Term;
    type Frame = Frame<'py>;
    type Error = PyErr;

    fn part(&mut self, frame: &mut Frame<'py>) -> PyResult<Option<Part<Term, Frame<'py>>>> {
        let part = frame.parts.next();
        part.map(|value| self.open(value)).transpose()
    }

    fn put(&mut self, frame: &mut Frame<'py>, part: Term) {
        frame.read.push(part);
    }

    fn finish(&mut self, frame: Frame<'py>) -> PyResult<Term> {
        self.depth -= 1;
        if self.depth >= DEEP {
            self.around.remove(&(frame.container.as_ptr() as usize));
        }
        Ok(if frame.container.is_instance_of::<PyTuple>() {
            Term::tuple(frame.read)
        } else if frame.container.is_instance_of::<PyList>() {
            Term::list(frame.read)
        } else {
            let mut parts = frame.read.into_iter();
            let pairs = std::iter::from_fn(|| Some((parts.next()?, parts.next()?)));
            Term::Map(pairs.collect::<Map>())
        })
    }
}

/// Values without parts, but text.
fn plain(value: &Bound<'_, PyAny>) -> PyResult<Option<Term>> {
    let words = &*WORDS;
    Ok(Some(if let Ok(yes) = value.cast::<PyBool>() {
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
    } else {
        return Ok(None);
    }))
}

/// A number of another class, and bytes.
fn number_or_bytes(value: &Bound<'_, PyAny>) -> PyResult<Option<Term>> {
    // SAFETY: an object.
    if unsafe { ffi::PyIndex_Check(value.as_ptr()) } != 0 {
        // SAFETY: as above; it returns a reference of its own, or none with an error set.
        let int = unsafe {
            let int = ffi::PyNumber_Index(value.as_ptr());
            Bound::from_owned_ptr_or_err(value.py(), int)
        };
        match int {
            Ok(int) => return integer(int.cast::<PyInt>()?).map(Some),
            // Arrays and truth values of NumPy.
            Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => {}
            Err(error) => return Err(error),
        }
    }
    let bytes = Buffer::of_bytes(value)?;
    Ok(bytes.map(|bytes| Term::binary(bytes.to_vec())))
}

/// The value, of a class in the table above, that is kept instead of another.
fn instead<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let plain = in_python(value.py())?.call_method1("plain", (value,))?;
    if plain.is(value.py().NotImplemented()) {
        let class = value.get_type();
        let text = format!("no Erlang term stands for a {}", class.name()?);
        return Err(PyTypeError::new_err(text));
    }
    Ok(plain)
}

/// `fyris/_values.py`.
fn in_python(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("fyris._values").map(Bound::unbind))?;
    Ok(module.bind(py))
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
    Ok(kept_text(&utf8))
}

/// The term that a `str` is kept as.
pub(crate) fn kept_text(text: &str) -> Term {
    let empty = vec![Term::list(Vec::new())];
    Term::improper(empty, Term::binary(text.as_bytes()))
}

/// The Python value of a term, however deep.
pub(crate) fn from_term<'py>(py: Python<'py>, term: &Term) -> PyResult<Bound<'py, PyAny>> {
    let mut maker = Maker {
        py,
        terms: PhantomData,
    };
    match maker.open(term)? {
        Part::Leaf(value) => Ok(value),
        Part::Open(frame) => grow(&mut maker, frame),
    }
}

/// Makes Python values.
struct Maker<'py, 't> {
    py: Python<'py>,
    terms: PhantomData<&'t Term>,
}

/// A container that is being made.
struct Making<'py, 't> {
    term: &'t Term,
    made: Vec<Bound<'py, PyAny>>,
}

impl<'py, 't> Maker<'py, 't> {
    /// Makes the value of a term, or begins to make a container.
    fn open(&self, term: &'t Term) -> PyResult<Part<Bound<'py, PyAny>, Making<'py, 't>>> {
        let py = self.py;
        Ok(Part::Leaf(match term {
            Term::Tuple(_) | Term::List(_) | Term::Map(_) => {
                let made = Vec::new();
                return Ok(Part::Open(Making { term, made }));
            }
            Term::Int(int) => int.into_pyobject(py)?.into_any(),
            Term::Big(big) => (&**big).into_pyobject(py)?.into_any(),
            Term::Float(float) => float.get().into_pyobject(py)?.into_any(),
            Term::Binary(bytes) => PyBytes::new(py, bytes).into_any(),
            Term::Atom(atom) => from_atom(py, *atom)?,
            other => match text_of(other) {
                Some(text) => PyString::new(py, text).into_any(),
                None => values::other(py, term)?,
            },
        }))
    }
}

impl<'py, 't> Grow for Maker<'py, 't> {
    type Out = Bound<'py, PyAny>;
    type Frame = Making<'py, 't>;
    type Error = PyErr;

    fn part(
        &mut self,
        frame: &mut Making<'py, 't>,
    ) -> PyResult<Option<Part<Bound<'py, PyAny>, Making<'py, 't>>>> {
        let at = frame.made.len();
        let part = match frame.term {
            Term::Tuple(parts) | Term::List(parts) => parts.get(at),
            Term::Map(map) => map.pairs().get(at / 2).map(|(key, value)| match at % 2 {
                0 => key,
                _ => value,
            }),
            _ => None,
        };
        part.map(|term| self.open(term)).transpose()
    }

    fn put(&mut self, frame: &mut Making<'py, 't>, part: Bound<'py, PyAny>) {
        frame.made.push(part);
    }

    fn finish(&mut self, frame: Making<'py, 't>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match frame.term {
            Term::Tuple(_) => PyTuple::new(self.py, frame.made)?.into_any(),
            Term::Map(map) => from_map(self.py, map, &frame.made)?,
            _ => PyList::new(self.py, frame.made)?.into_any(),
        })
    }
}

/// The Python values of terms.
pub(crate) fn from_terms<'py>(py: Python<'py>, terms: &[Term]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    terms.iter().map(|term| from_term(py, term)).collect()
}

pub(crate) fn from_atom<'py>(py: Python<'py>, atom: Atom) -> PyResult<Bound<'py, PyAny>> {
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
pub(crate) fn text_of(term: &Term) -> Option<&str> {
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

/// The `dict` of a map, whose keys and values, in turn, were made.
fn from_map<'py>(
    py: Python<'py>,
    map: &Map,
    parts: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    for ((key, _), made) in map.iter().zip(parts.as_chunks::<2>().0) {
        // Python recurses into a tuple for its hash.
        if is_deeper(key, DEEP) || made[0].hash().is_err() {
            return values::other(py, &Term::Map(map.clone()));
        }
        dict.set_item(&made[0], &made[1])?;
    }
    // Python took two keys for one.
    if dict.len() != map.len() {
        return values::other(py, &Term::Map(map.clone()));
    }
    if map.get(&WORDS.strukt).is_some() {
        return in_python(py)?.call_method1("made", (dict,));
    }
    Ok(dict.into_any())
}

/// Whether a term has more levels of tuples. (Lists have no hash, and maps neither.)
fn is_deeper(term: &Term, levels: usize) -> bool {
    if !matches!(term, Term::Tuple(_)) {
        return false;
    }
    let mut waiting = vec![(term, levels)];
    while let Some((term, levels)) = waiting.pop() {
        if let Term::Tuple(parts) = term {
            let Some(left) = levels.checked_sub(1) else {
                return true;
            };
            waiting.extend(parts.iter().map(|part| (part, left)));
        }
    }
    false
}
