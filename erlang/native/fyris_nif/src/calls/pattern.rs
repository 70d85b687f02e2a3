//! The elements of a head besides the key, when they say something: constants, and tuples of them and of `'_'`.
//!
//! Values are stored in a form in which equal terms have equal bytes, the header of a tuple before its elements. So such
//! a pattern is bytes that are compared and values that are passed over, in turn, and nothing of an object is decoded.
//! Terms of which that is not true (floats, references, funs, maps, large binaries) make it no such pattern.

use fyris::Object;
use fyris_term::value::{self, ValueWriter};
use smallvec::SmallVec;

use crate::atoms;
use crate::sys::{Env, ErlNifTermType as Kind, Term};
use crate::term::write_value;

/// Patterns nested deeper, and longer ones, are none of these.
const DEPTH: usize = 8;
const LENGTH: usize = 1 << 12;

/// What all values of an object but the key are to be.
#[derive(Default)]
pub(super) struct Pattern {
    /// All bytes that are compared.
    bytes: Vec<u8>,
    pieces: SmallVec<[Piece; 8]>,
}

/// A piece of the values.
enum Piece {
    /// The bytes up to this place.
    Bytes(usize),
    Any,
}

impl Pattern {
    /// One value more, of any kind.
    pub(super) fn any(&mut self) {
        self.pieces.push(Piece::Any);
    }

    /// One value more: a constant, or a tuple with `'_'` in it. `None` if it is neither, and then there is no pattern.
    pub(super) fn value(&mut self, env: Env, term: Term, depth: usize) -> Option<()> {
        if term == atoms::anything(env) {
            self.any();
            return Some(());
        }
        if self.bytes.len() > LENGTH || depth > DEPTH {
            return None;
        }
        let is_tuple = matches!(env.kind(term), Kind::ERL_NIF_TERM_TYPE_TUPLE);
        if is_tuple && !is_constant(env, term, depth) {
            let elements = env.tuple(term)?;
            self.constant(|out| {
                out.begin_tuple(elements.len());
                Some(())
            })?;
            let mut elements = elements.iter();
            return elements.try_for_each(|&element| self.value(env, element, depth + 1));
        }
        is_constant(env, term, depth).then_some(())?;
        self.constant(|out| write_value(env, term, out).ok())
    }

    fn constant(&mut self, write: impl FnOnce(&mut ValueWriter<'_>) -> Option<()>) -> Option<()> {
        let mut blobs = Vec::new();
        write(&mut ValueWriter::new(&mut self.bytes, &mut blobs))?;
        let end = self.bytes.len();
        match self.pieces.last_mut() {
            Some(Piece::Bytes(last)) => *last = end,
            _ => self.pieces.push(Piece::Bytes(end)),
        }
        blobs.is_empty().then_some(())
    }

    /// Returns whether it says nothing.
    pub(super) fn is_any(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns whether an object with as many elements matches.
    pub(super) fn fits(&self, object: &Object<'_>) -> bool {
        self.is_any() || object.with_values(|values| self.fits_values(values))
    }

    fn fits_values(&self, mut values: &[u8]) -> bool {
        let mut from = 0;
        self.pieces.iter().all(|piece| match *piece {
            Piece::Any => value::skip(&mut values).is_ok(),
            Piece::Bytes(to) => {
                let rest = values.strip_prefix(&self.bytes[from..to]);
                from = to;
                rest.map(|rest| values = rest).is_some()
            }
        })
    }
}

/// Returns whether a term stands for itself, and equal terms have equal bytes.
fn is_constant(env: Env, term: Term, depth: usize) -> bool {
    if term.small().is_some() || term.local_pid().is_some() {
        return true;
    }
    if term.atom_index().is_some() {
        return super::point::is_name(env, term);
    }
    match env.kind(term) {
        Kind::ERL_NIF_TERM_TYPE_INTEGER => true,
        Kind::ERL_NIF_TERM_TYPE_BITSTRING => env.binary(term).is_some(),
        Kind::ERL_NIF_TERM_TYPE_TUPLE if depth < DEPTH => {
            let elements = env.tuple(term).unwrap_or(&[]);
            elements.iter().all(|&e| is_constant(env, e, depth + 1))
        }
        Kind::ERL_NIF_TERM_TYPE_LIST if depth < DEPTH => {
            let mut rest = term;
            while let Some((head, tail)) = env.cell(rest) {
                if !is_constant(env, head, depth + 1) {
                    return false;
                }
                rest = tail;
            }
            env.is_nil(rest) || is_constant(env, rest, depth + 1)
        }
        _ => false,
    }
}
