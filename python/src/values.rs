//! Terms that Python has no value for, and terms as text and bytes.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use fyris_term::{Term, etf, text};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::buffer::Bytes;
use crate::convert::{from_term, from_terms, to_term, word};
use crate::errors::{BadValue, LimitReached};

/// An atom of Erlang: a name that is a value of its own.
///
/// At most 255 characters. Atoms are kept for ever, and a process has room for a bounded number of different ones: make
/// them of your program's own words, not of what its users type. `true`, `false` and `undefined` are no `Atom` but
/// `True`, `False` and `None`.
#[pyclass(frozen, module = "fyris", name = "Atom")]
pub(crate) struct Atom(fyris_term::Atom);

impl From<fyris_term::Atom> for Atom {
    fn from(atom: fyris_term::Atom) -> Atom {
        Atom(atom)
    }
}

impl Atom {
    pub(crate) fn atom(&self) -> fyris_term::Atom {
        self.0
    }
}

#[pymethods]
impl Atom {
    #[new]
    fn new(name: &str) -> PyResult<Atom> {
        let atom = fyris_term::Atom::new(name);
        let atom = atom.map_err(|error| LimitReached::new_err(error.to_string()))?;
        match word(atom) {
            Some(python) => Err(BadValue::new_err(format!(
                "the atom {name} is {python} in Python"
            ))),
            None => Ok(Atom(atom)),
        }
    }

    /// The name, a str.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.as_str()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.name().into_pyobject(py)?;
        Ok(format!("Atom({})", name.repr()?))
    }

    fn __str__(&self) -> &'static str {
        self.name()
    }

    fn __hash__(&self) -> u64 {
        u64::from(self.0.id())
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<Atom>() else {
            return Ok(py.NotImplemented());
        };
        let same = op.matches(self.name().cmp(other.get().name()));
        Ok(same.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (&'static str,)) {
        (slf.get_type().into_any(), (slf.get().name(),))
    }
}

/// A term that Python has no value for: a pid, a port, a reference, a fun, a bitstring, an improper list, a native
/// record of OTP 29, a map that no dict can hold. It is kept as it is, and can be compared, hashed, printed and
/// pickled.
#[pyclass(frozen, module = "fyris", name = "Term")]
pub(crate) struct Other(Term);

/// A value for a term that has no other.
pub(crate) fn other<'py>(py: Python<'py>, term: &Term) -> PyResult<Bound<'py, PyAny>> {
    Ok(Other(term.clone()).into_pyobject(py)?.into_any())
}

impl Other {
    pub(crate) fn term(&self) -> &Term {
        &self.0
    }
}

#[pymethods]
impl Other {
    /// The kind: 'pid', 'port', 'reference', 'fun', 'bitstring', 'improper_list', 'map' or 'native_record'.
    #[getter]
    fn kind(&self) -> &'static str {
        match &self.0 {
            Term::Pid(_) => "pid",
            Term::Port(_) => "port",
            Term::Reference(_) => "reference",
            Term::Fun(_) => "fun",
            Term::Bits(_) => "bitstring",
            Term::Improper(..) => "improper_list",
            Term::Map(_) => "map",
            Term::Record(_) => "native_record",
            // Never made: these have values in Python.
            _ => "term",
        }
    }

    /// The parts of an improper list, (elements, tail), of a map, [(key, value), ...], or of a native record, [(field,
    /// value), ...] in the order of its fields; TypeError for the others.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.0 {
            Term::Improper(elements, tail) => {
                let elements = PyList::new(py, from_terms(py, elements)?)?.into_any();
                Ok(PyTuple::new(py, [elements, from_term(py, tail)?])?.into_any())
            }
            Term::Map(map) => {
                let pairs: PyResult<Vec<_>> = map
                    .iter()
                    .map(|(key, value)| {
                        PyTuple::new(py, [from_term(py, key)?, from_term(py, value)?])
                    })
                    .collect();
                Ok(PyList::new(py, pairs?)?.into_any())
            }
            Term::Record(record) => {
                let fields = record.definition().fields().iter().copied();
                let pairs: PyResult<Vec<_>> = fields
                    .zip(record.values())
                    .map(|(field, value)| {
                        let field = from_term(py, &Term::Atom(field))?;
                        PyTuple::new(py, [field, from_term(py, value)?])
                    })
                    .collect();
                Ok(PyList::new(py, pairs?)?.into_any())
            }
            _ => Err(PyTypeError::new_err(format!(
                "a {} has no parts",
                self.kind()
            ))),
        }
    }

    fn __repr__(&self) -> String {
        format!("<fyris.Term {}>", text::print_w(&self.0))
    }

    fn __str__(&self) -> String {
        text::print_w(&self.0)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Other>()
            .is_ok_and(|other| other.get().0 == self.0)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let decode = slf.py().import("fyris")?.getattr("decode")?;
        Ok((decode, (encoded(slf.py(), &slf.get().0)?,)))
    }
}

/// The value of a term in Erlang's syntax: parse("{user, [1, 2.5], #{a => <<1>>}}").
///
/// Raises BadValue, with line and column, for text that is no term; LimitReached when there is no room for another
/// atom.
#[pyfunction]
pub(crate) fn parse<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let term = Term::parse(text).map_err(|error| match error.kind {
        text::ParseErrorKind::Atom(_) => LimitReached::new_err(error.to_string()),
        _ => BadValue::new_err(error.to_string()),
    })?;
    from_term(py, &term)
}

/// A value in Erlang's syntax; a str as the chardata that it is in a table. width is the length of a line in
/// characters, None for one line.
#[pyfunction]
#[pyo3(signature = (value, *, width=None))]
pub(crate) fn format(value: &Bound<'_, PyAny>, width: Option<u32>) -> PyResult<String> {
    let options = text::PrintOptions {
        line_width: width.map_or(1 << 40, |width| width as usize),
        ..text::PrintOptions::default()
    };
    Ok(text::print_p(&to_term(value)?, &options))
}

/// A value in Erlang's external term format, as term_to_binary/1 makes it.
#[pyfunction]
pub(crate) fn encode<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    encoded(value.py(), &to_term(value)?)
}

fn encoded<'py>(py: Python<'py>, term: &Term) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = etf::EncodeOptions::default().encode(term);
    let bytes = bytes.map_err(|error| LimitReached::new_err(error.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
}

/// The value of bytes in Erlang's external term format, as binary_to_term/1 reads them. The bytes may come from
/// anybody: safe=True makes no new atoms, which would be kept for ever, as binary_to_term(Data, [safe]).
///
/// Raises BadValue, with the offset, for bytes that are no term, and where a safe decode meets a name that no part of
/// the program has made an atom of; LimitReached when there is no room for another atom.
#[pyfunction]
#[pyo3(signature = (data, *, safe=false))]
pub(crate) fn decode<'py>(
    py: Python<'py>,
    data: Bytes<'py>,
    safe: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let term = match safe {
        true => etf::decode_known(&data),
        false => etf::decode(&data),
    };
    from_term(py, &term.map_err(undecoded)?)
}

fn undecoded(error: etf::DecodeError) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        etf::DecodeErrorKind::Atom(_) => LimitReached::new_err(text),
        etf::DecodeErrorKind::Inflated(inside) => match inside.kind() {
            etf::DecodeErrorKind::Atom(_) => LimitReached::new_err(text),
            _ => BadValue::new_err(text),
        },
        _ => BadValue::new_err(text),
    }
}
