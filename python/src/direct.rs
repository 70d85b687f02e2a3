//! Values of Python's as the bytes that a table stores, and back, without a [`Term`] between them.
//!
//! Most values are dicts of text, lists, tuples, text and numbers. A `Term` of a text is three allocations; these are
//! written where they lie ([`Written`]), and made out of the bytes ([`value`]). Whatever else there is in a value goes
//! by way of `convert`, whose rules these are, of which it says why.

use std::cmp::Ordering;

use fyris::{AsObject, Object, ObjectWriter};
use fyris_term::key::KeyBuf;
use fyris_term::value::{Build, ValueWriter};
use fyris_term::{Blob, Float, Term};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple};

use crate::convert::{from_atom, from_term, is_struct, to_term, word_of};
use crate::errors::BadValue;
use crate::values::Atom;

/// How deep a value may be that is written here. What contains itself is deeper.
const DEEP: usize = 32;

/// Room for a value that most find enough, in bytes.
const SOME: usize = 256;

/// An object of a key and a value, as it is stored.
pub(crate) struct Written {
    key: Term,
    /// The value, if it is one.
    int: Option<i64>,
    value: Vec<u8>,
    blobs: Vec<Blob>,
}

impl Written {
    pub(crate) fn new(key: Term, value: &Bound<'_, PyAny>) -> PyResult<Written> {
        let mut written = Written {
            key,
            int: value
                .cast_exact::<PyInt>()
                .ok()
                .and_then(|int| int.extract().ok()),
            value: Vec::with_capacity(SOME),
            blobs: Vec::new(),
        };
        let mut out = ValueWriter::new(&mut written.value, &mut written.blobs);
        write(value, 0, &mut out)?;
        Ok(written)
    }
}

impl AsObject for Written {
    fn write(&self, keypos: usize, out: &mut ObjectWriter<'_>) -> fyris::Result<usize> {
        debug_assert!(keypos <= 2, "a table that is a dictionary");
        KeyBuf::encode_into(&self.key, out.key());
        out.values().append(&self.value);
        // In the places that the bytes name.
        self.blobs.iter().for_each(|blob| out.keep(blob.clone()));
        Ok(2)
    }

    fn ints(&self, _keypos: usize) -> Option<(i64, i64)> {
        match self.key {
            Term::Int(key) => Some((key, self.int?)),
            _ => None,
        }
    }
}

/// Writes a value. Where others change a list meanwhile, the number of its elements that was written is wrong: that is
/// an error, and nothing of it is stored.
fn write(value: &Bound<'_, PyAny>, depth: usize, out: &mut ValueWriter<'_>) -> PyResult<()> {
    if let Ok(text) = value.cast::<PyString>() {
        return write_text(text, out);
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        out.atom(word_of(Some(truth.is_true())));
    } else if let Ok(int) = value.cast::<PyInt>() {
        match int.extract::<i64>() {
            Ok(int) => out.int(int),
            Err(_) => out.any(&to_term(value)?),
        }
    } else if let Some(float) = float_of(value) {
        out.float(float);
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        out.binary(bytes.as_bytes());
    } else if value.cast::<PyNone>().is_ok() {
        out.atom(word_of(None));
    } else if let Ok(atom) = value.cast::<Atom>() {
        out.atom(atom.get().atom());
    } else if depth >= DEEP {
        out.any(&to_term(value)?);
    } else if let Ok(dict) = value.cast::<PyDict>() {
        return write_dict(dict, depth, out);
    } else if let Ok(list) = value.cast::<PyList>() {
        return write_list(list, depth, out);
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        out.begin_tuple(tuple.len());
        return tuple
            .iter()
            .try_for_each(|part| write(&part, depth + 1, out));
    } else {
        out.any(&to_term(value)?);
    }
    Ok(())
}

fn float_of(value: &Bound<'_, PyAny>) -> Option<Float> {
    value
        .cast::<PyFloat>()
        .ok()
        .and_then(|float| Float::new(float.value()))
}

fn write_text(text: &Bound<'_, PyString>, out: &mut ValueWriter<'_>) -> PyResult<()> {
    match text.to_str() {
        Ok(utf8) => write_utf8(utf8, out),
        // Says what is wrong.
        Err(_) => out.any(&to_term(text)?),
    }
    Ok(())
}

/// Writes what `convert::kept_text` makes.
fn write_utf8(utf8: &str, out: &mut ValueWriter<'_>) {
    out.begin_improper(1);
    out.nil();
    out.binary(utf8.as_bytes());
}

fn write_list(list: &Bound<'_, PyList>, depth: usize, out: &mut ValueWriter<'_>) -> PyResult<()> {
    let count = list.len();
    // An empty one, and one of small integers, has a form of its own.
    if list
        .get_item(0)
        .map_or(true, |first| first.extract::<u8>().is_ok())
    {
        out.any(&to_term(list)?);
        return Ok(());
    }
    out.begin_list(count);
    let mut written = 0;
    for part in list.iter() {
        write(&part, depth + 1, out)?;
        written += 1;
    }
    match written == count {
        true => Ok(()),
        false => Err(BadValue::new_err("a list that changes while it is read")),
    }
}

/// A key of a dict, which is text; the first bytes of it as a number that is ordered as they are, and its value.
struct TextPair<'py> {
    first: u64,
    /// Of the key.
    text: *const str,
    _key: Bound<'py, PyString>,
    value: Bound<'py, PyAny>,
}

impl<'py> TextPair<'py> {
    /// `None` for other keys. Of classes derived from `str` two may be the same text.
    fn new((key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>)) -> Option<TextPair<'py>> {
        let key = key.cast_into_exact::<PyString>().ok()?;
        let text = key.to_str().ok()?;
        let mut first = [0; 8];
        let len = text.len().min(8);
        first[..len].copy_from_slice(&text.as_bytes()[..len]);
        Some(TextPair {
            first: u64::from_be_bytes(first),
            text,
            _key: key,
            value,
        })
    }

    fn text(&self) -> &str {
        // SAFETY: the key, which is held, keeps its text, and never changes it.
        unsafe { &*self.text }
    }
}

fn write_dict(dict: &Bound<'_, PyDict>, depth: usize, out: &mut ValueWriter<'_>) -> PyResult<()> {
    let mut pairs = Vec::with_capacity(dict.len());
    for pair in dict.iter() {
        let Some(pair) = TextPair::new(pair) else {
            out.any(&to_term(dict)?);
            return Ok(());
        };
        pairs.push(pair);
    }
    pairs.sort_unstable_by(|a, b| match a.first.cmp(&b.first) {
        Ordering::Equal => a.text().cmp(b.text()),
        known => known,
    });
    out.begin_map(pairs.len());
    for pair in &pairs {
        write_utf8(pair.text(), out);
        write(&pair.value, depth + 1, out)?;
    }
    Ok(())
}

/// The value of an object that is a key and a value.
pub(crate) fn value<'py>(py: Python<'py>, object: &Object<'_>) -> PyResult<Bound<'py, PyAny>> {
    let at = 3 - object.keypos();
    let mut maker = Builder {
        py,
        bytes: Vec::new(),
        is_odd: false,
    };
    let made = object.build_element(at, &mut maker, &mut Vec::new());
    let made = made.expect("two elements");
    let made = maker.object(made);
    match maker.is_odd {
        false => Ok(made),
        true => from_term(py, &object.element(at).expect("two elements")),
    }
}

/// Makes Python values of what is stored. Of text and binaries it makes one object, when it sees which it is.
struct Builder<'py> {
    py: Python<'py>,
    /// The bytes of binaries that may be text.
    bytes: Vec<u8>,
    /// Something has come that is left to `convert`: what is made is thrown away.
    is_odd: bool,
}

/// A value that is being made. What is an object is owned: whoever gets it puts it into another or lets it go.
#[derive(Clone, Copy)]
enum Built {
    Object(*mut ffi::PyObject),
    /// The place of bytes in [`Builder::bytes`], and how many they are.
    Bytes(usize, usize),
    Nil,
}

impl<'py> Builder<'py> {
    fn built<T>(&mut self, object: Result<Bound<'py, T>, impl Sized>) -> Built {
        match object {
            Ok(object) => Built::Object(object.into_ptr()),
            Err(_) => self.odd(),
        }
    }

    fn odd(&mut self) -> Built {
        self.is_odd = true;
        Built::Nil
    }

    fn object(&mut self, made: Built) -> Bound<'py, PyAny> {
        match made {
            // SAFETY: it is owned, and what the builder's calls give is used once.
            Built::Object(object) => unsafe { Bound::from_owned_ptr(self.py, object) },
            Built::Bytes(from, count) => {
                PyBytes::new(self.py, &self.bytes[from..from + count]).into_any()
            }
            Built::Nil => PyList::empty(self.py).into_any(),
        }
    }

    fn objects(&mut self, made: &[Built]) -> Vec<Bound<'py, PyAny>> {
        made.iter().map(|&made| self.object(made)).collect()
    }

    /// The text that a tail of bytes behind `[]` is.
    fn text(&mut self, tail: Built) -> Built {
        if let Built::Bytes(from, count) = tail {
            let text = std::str::from_utf8(&self.bytes[from..from + count]);
            let text = text.map(|text| PyString::new(self.py, text));
            // No other bytes were met since.
            self.bytes.truncate(from);
            return self.built(text);
        }
        let tail = self.object(tail);
        let text = tail.cast::<PyBytes>().ok();
        match text.and_then(|bytes| std::str::from_utf8(bytes.as_bytes()).ok()) {
            Some(text) => self.built(Ok::<_, PyErr>(PyString::new(self.py, text))),
            None => self.odd(),
        }
    }

    fn put_in(&mut self, dict: &Bound<'py, PyDict>, key: Built, value: Built) {
        let (key, value) = (self.object(key), self.object(value));
        // Of these classes none has a key that another takes for its own; but what a map with a struct's name stands
        // for is told by others.
        let is_plain = key.is_exact_instance_of::<PyString>()
            || key.is_exact_instance_of::<PyInt>()
            || key.is_exact_instance_of::<PyBytes>()
            || key
                .cast::<Atom>()
                .is_ok_and(|key| !is_struct(key.get().atom()));
        if !is_plain || dict.set_item(key, value).is_err() {
            self.odd();
        }
    }
}

impl Build for Builder<'_> {
    type Out = Built;
    type KeySet = ();

    fn int(&mut self, value: i64) -> Built {
        self.built(value.into_pyobject(self.py))
    }

    fn float(&mut self, value: f64) -> Built {
        self.built(value.into_pyobject(self.py))
    }

    fn atom(&mut self, atom: fyris_term::Atom) -> Built {
        self.built(from_atom(self.py, atom))
    }

    fn binary(&mut self, bytes: &[u8]) -> Built {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Built::Bytes(from, bytes.len())
    }

    fn blob(&mut self, blob: &Blob) -> Built {
        Built::Object(PyBytes::new(self.py, blob).into_any().into_ptr())
    }

    fn string(&mut self, bytes: &[u8]) -> Built {
        self.built(PyList::new(self.py, bytes))
    }

    fn list(&mut self, elements: &[Built], tail: Option<Built>) -> Built {
        match (elements, tail) {
            ([], None) => Built::Nil,
            ([Built::Nil], Some(tail)) => self.text(tail),
            (_, None) => {
                let elements = self.objects(elements);
                self.built(PyList::new(self.py, elements))
            }
            (_, Some(tail)) => {
                drop((self.objects(elements), self.object(tail)));
                self.odd()
            }
        }
    }

    fn tuple(&mut self, elements: &[Built]) -> Built {
        let elements = self.objects(elements);
        self.built(PyTuple::new(self.py, elements))
    }

    fn begin_map(&mut self, _size: usize) -> Option<Built> {
        Some(Built::Object(PyDict::new(self.py).into_ptr()))
    }

    fn put_pair(&mut self, map: Built, _at: usize, key: Built, value: Built) {
        let Built::Object(dict) = map else { return };
        // SAFETY: of `begin_map`, and owned by who goes on to build it.
        let dict = unsafe { Bound::from_borrowed_ptr(self.py, dict).cast_into_unchecked() };
        self.put_in(&dict, key, value);
    }

    fn key_at(_keys: &(), _place: usize) -> &[u8] {
        &[]
    }

    fn map_of(&mut self, _keys: &(), values: &[Built]) -> Built {
        drop(self.objects(values));
        self.odd()
    }

    fn map(&mut self, pairs: &[Built]) -> Built {
        let dict = PyDict::new(self.py);
        for &[key, value] in pairs.as_chunks::<2>().0 {
            self.put_in(&dict, key, value);
        }
        Built::Object(dict.into_ptr())
    }

    fn other(&mut self, term: &Term) -> Built {
        self.built(from_term(self.py, term))
    }
}
