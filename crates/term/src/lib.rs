//! Erlang terms.

#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod atom;
mod convert;
pub mod etf;
pub mod key;
mod macros;
mod map;
mod order;
mod serde_impl;
pub mod term;
pub mod text;
pub mod value;

pub use atom::{Atom, AtomError};
pub use convert::ConvertError;
pub use serde_impl::{SerdeError, from_term, to_term};
pub use term::{BitString, Float, Fun, LocalFun, Map, Pid, Port, Reference, Term};

/// The most levels of nesting that decoders and parsers accept.
///
/// A level is a tuple, a list, a map or a closure around a term: `1` has none, `[]` and `{1}` have one, `{[1]}` two.
/// Comparing, printing, encoding and dropping a term recurse once a level, so this bounds the stack that a term from
/// outside can take. Terms built by a program may be deeper, at its own risk.
pub const MAX_DEPTH: usize = 1000;
