//! Writing values piece by piece, from any representation of terms.

use crate::{Atom, Blob, Float, Pid, Term};

use super::encode::{self, ValueWriter};
use super::{MAX_INLINE_BINARY, Shape, tag};

/// Each call writes one whole term, except those named `begin_...`, after which the parts must be written in order.
///
/// The caller keeps the invariants of the form: a list is written as [`ValueWriter::string`] whenever it can be, and
/// map pairs come in exact key order. Values that break these rules are
/// read back as another term or refused; nothing worse.
///
/// ```
/// use fyris_term::{Term, value::{ValueWriter, decode}};
/// let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
/// let mut writer = ValueWriter::new(&mut bytes, &mut blobs);
/// writer.begin_tuple(2);
/// writer.int(7);
/// writer.binary(b"seven");
/// let term = Term::tuple(vec![Term::Int(7), Term::binary(*b"seven")]);
/// assert_eq!(decode(&mut &bytes[..], &blobs), Ok(term));
/// ```
impl<'a> ValueWriter<'a> {
    /// Appends to `out`, and large binaries to `blobs`.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>, blobs: &'a mut Vec<Blob>) -> ValueWriter<'a> {
        ValueWriter { out, blobs }
    }

    /// Writes an integer.
    #[inline]
    pub fn int(&mut self, value: i64) {
        encode::int(value, self.out);
    }

    /// Writes a float.
    #[inline]
    pub fn float(&mut self, value: Float) {
        let mut bytes = [tag::FLOAT; 9];
        bytes[1..].copy_from_slice(&value.get().to_le_bytes());
        self.out.extend_from_slice(&bytes);
    }

    /// Writes an atom.
    #[inline]
    pub fn atom(&mut self, atom: Atom) {
        self.put_atom(atom);
    }

    /// Writes a binary: copied, once, whatever its length.
    #[inline]
    pub fn binary(&mut self, bytes: &[u8]) {
        match bytes.len() {
            len @ 0..=15 => self.out.push(tag::BINARY_0 + len as u8),
            len @ 16..=MAX_INLINE_BINARY => self.out.extend_from_slice(&[tag::BINARY, len as u8]),
            _ => return self.put_blob(tag::BLOB, None, &bytes.into()),
        }
        self.out.extend_from_slice(bytes);
    }

    /// Writes a binary that is a blob: one of more than [`MAX_INLINE_BINARY`] bytes is not copied.
    #[inline]
    pub fn blob(&mut self, blob: Blob) {
        if blob.len() <= MAX_INLINE_BINARY {
            return self.binary(&blob);
        }
        self.head(tag::BLOB, self.blobs.len());
        self.blobs.push(blob);
    }

    /// Begins a tuple: its elements follow.
    #[inline]
    pub fn begin_tuple(&mut self, arity: usize) {
        match arity {
            0..=7 => self.out.push(tag::TUPLE_0 + arity as u8),
            _ => self.head(tag::TUPLE, arity),
        }
    }

    /// Writes the empty list.
    #[inline]
    pub fn nil(&mut self) {
        self.out.push(tag::NIL);
    }

    /// Writes a list of integers from 0 to 255; not an empty one.
    pub fn string(&mut self, bytes: &[u8]) {
        self.head(tag::STRING, bytes.len());
        self.out.extend_from_slice(bytes);
    }

    /// Begins any other list with a proper end: its elements follow.
    pub fn begin_list(&mut self, length: usize) {
        self.head(tag::LIST, length);
    }

    /// Begins a list with an improper end: its elements follow, then the tail.
    pub fn begin_improper(&mut self, length: usize) {
        self.head(tag::IMPROPER, length);
    }

    /// Begins a map whose keys have no [`Shape`]: its keys and values follow in turn, in exact order of the keys.
    pub fn begin_map(&mut self, size: usize) {
        self.head(tag::MAP, size);
    }

    /// Begins a map with a shape, as a map of its keys has to be written: its values follow, in the order of the keys.
    pub fn begin_shape(&mut self, shape: &Shape) {
        self.shape(shape);
    }

    /// Writes a process identifier.
    pub fn pid(&mut self, pid: &Pid) {
        self.out.push(tag::PID);
        self.pid_body(pid);
    }

    /// Appends values that were written by [`Token`](super::Token)s.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Writes a whole term.
    pub fn any(&mut self, term: &Term) {
        self.term(term);
    }
}
