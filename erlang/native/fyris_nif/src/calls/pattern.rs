//! Patterns for the values of an object: constants, `'_'`, and tuples of both.
//!
//! Equal values are stored as equal bytes, the header of a tuple before its elements. So a pattern is compiled to runs
//! of bytes, which are compared, and values that are skipped; no value is decoded. Terms that have several stored
//! forms, or whose equality is not that of bytes (floats, references, funs, maps, large binaries), are not compiled.

use fyris::Object;
use fyris_term::value::{self, ValueWriter};
use smallvec::SmallVec;

use crate::kind::atom;
use crate::machine::{Env, ErlNifTermType as Kind, Term};
use crate::term::write_value;

/// Terms nested deeper are not looked through.
const DEPTH: usize = 8;
/// Patterns of more bytes are not compiled.
const LENGTH: usize = 1 << 12;

/// Bytes of most patterns.
const USUAL: usize = 64;

/// A pattern for the values of an object, all elements but the key.
#[derive(Default)]
pub(super) struct Pattern {
    /// All runs of bytes.
    bytes: Vec<u8>,
    pieces: SmallVec<[Piece; 8]>,
}

/// A piece of a pattern.
enum Piece {
    /// A run of bytes, from the end of the last one to this place.
    Bytes(usize),
    /// A value of any kind.
    Any,
}

impl Pattern {
    /// Adds a value of any kind.
    pub(super) fn any(&mut self) {
        self.pieces.push(Piece::Any);
    }

    /// Adds a value that matches a term; `None` if the term is not compiled.
    pub(super) fn value(&mut self, env: Env, term: Term, depth: usize) -> Option<()> {
        if term == atom::anything(env) {
            self.any();
            return Some(());
        }
        if self.bytes.len() > LENGTH || depth > DEPTH {
            return None;
        }
        if is_constant(env, term, depth, is_stored_alike) {
            return self.constant(|out| write_value(env, term, out).ok());
        }
        let elements = env.tuple(term)?;
        self.constant(|out| {
            out.begin_tuple(elements.len());
            Some(())
        })?;
        let mut elements = elements.iter();
        elements.try_for_each(|&element| self.value(env, element, depth + 1))
    }

    fn constant(&mut self, write: impl FnOnce(&mut ValueWriter<'_>) -> Option<()>) -> Option<()> {
        let mut blobs = Vec::new();
        // At once, for most patterns.
        if self.bytes.is_empty() {
            self.bytes.reserve(USUAL);
        }
        write(&mut ValueWriter::new(&mut self.bytes, &mut blobs))?;
        let end = self.bytes.len();
        match self.pieces.last_mut() {
            Some(Piece::Bytes(last)) => *last = end,
            _ => self.pieces.push(Piece::Bytes(end)),
        }
        blobs.is_empty().then_some(())
    }

    /// Returns whether an object with as many elements matches.
    pub(super) fn fits(&self, object: &Object<'_>) -> bool {
        let matches_all = self.bytes.is_empty();
        matches_all || object.with_values(|values| self.fits_values(values))
    }

    /// Returns the prefix of the values of every object that matches.
    pub(super) fn prefix(&self) -> &[u8] {
        match self.pieces.first() {
            Some(&Piece::Bytes(end)) => &self.bytes[..end],
            _ => &[],
        }
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

/// Returns whether equal terms of a kind that is neither atom, tuple nor list have one stored form.
fn is_stored_alike(env: Env, term: Term) -> bool {
    match env.kind(term) {
        Kind::ERL_NIF_TERM_TYPE_INTEGER => true,
        Kind::ERL_NIF_TERM_TYPE_BITSTRING => env.binary(term).is_some(),
        Kind::ERL_NIF_TERM_TYPE_PID => term.local_pid().is_some(),
        _ => false,
    }
}

/// Returns whether a term in a head matches itself alone: there is no variable in it, and `is_simple` accepts all that
/// is neither atom, tuple nor list.
pub(super) fn is_constant(
    env: Env,
    term: Term,
    depth: usize,
    is_simple: fn(Env, Term) -> bool,
) -> bool {
    if term.small().is_some() {
        return true;
    }
    if term.atom_index().is_some() {
        let is_constant = |name: &str| name != "_" && !name.starts_with('$');
        return match atom::known(env, term) {
            Some(Ok(atom)) => is_constant(atom.as_str()),
            Some(Err(name)) => is_constant(&name),
            None => false,
        };
    }
    let all = |terms: &[Term]| {
        let mut terms = terms.iter();
        depth < DEPTH && terms.all(|&term| is_constant(env, term, depth + 1, is_simple))
    };
    match env.kind(term) {
        Kind::ERL_NIF_TERM_TYPE_TUPLE => all(env.tuple(term).unwrap_or(&[])),
        Kind::ERL_NIF_TERM_TYPE_LIST => {
            let mut elements = env.elements(term);
            elements.all(|element| all(&[element]))
                && (elements.are_all() || all(&[elements.rest()]))
        }
        _ => is_simple(env, term),
    }
}
