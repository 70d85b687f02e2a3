//! Terms: values of Erlang.

mod bytes;
mod make;
mod read;

use ::fyris_term::{Fun, MAX_DEPTH, Term};

use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome};

pub use bytes::*;
pub use make::*;
pub use read::*;

/// A value: a number, an atom, a binary, a tuple, a list, a map. It never changes.
// Transparent, so that a part of a term is a `fyris_term` too, without a copy. For C it is opaque: cbindgen.toml
// declares it.
#[repr(transparent)]
pub struct fyris_term(pub(crate) Term);

impl fyris_term {
    /// Returns a part of a term, borrowed.
    pub(crate) fn part(term: &Term) -> *const fyris_term {
        std::ptr::from_ref(term).cast()
    }
}

/// Returns a term fit for everything below: no deeper than the stack can take.
pub(crate) fn bounded(term: Term) -> Outcome<fyris_term> {
    // Mutant: what the stack cannot take is taken.
    if cfg!(fyris_mutant = "capi_depth_unchecked") || fits(&term, MAX_DEPTH) {
        return Ok(fyris_term(term));
    }
    let text = format!("a term nested deeper than {MAX_DEPTH} levels");
    Err(Failure::new(FYRIS_E_LIMIT, text))
}

/// Returns whether a term has at most `levels` levels. Its parts were checked when they were made, so the recursion is
/// bounded by one more than that.
fn fits(term: &Term, levels: usize) -> bool {
    let below = |parts: &[Term]| levels > 0 && parts.iter().all(|part| fits(part, levels - 1));
    match term {
        Term::Tuple(parts) | Term::List(parts) => below(parts),
        Term::Improper(parts, tail) => below(parts) && fits(tail, levels - 1),
        Term::Map(map) => {
            levels > 0 && (map.iter()).all(|(k, v)| fits(k, levels - 1) && fits(v, levels - 1))
        }
        Term::Fun(fun) => match &**fun {
            Fun::Local(local) => below(&local.free),
            Fun::External { .. } => true,
        },
        _ => true,
    }
}
