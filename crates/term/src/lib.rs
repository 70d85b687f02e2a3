//! Erlang terms.

pub mod atom;
pub mod term;

pub use atom::{Atom, AtomError};
pub use term::{BitString, Float, Fun, LocalFun, Map, Pid, Port, Reference, Term};
