//! Terms: values of Erlang.

mod bytes;
mod make;
mod read;

use ::fyris_term::Term;

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
