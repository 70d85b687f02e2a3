#![doc = include_str!("../README.md")]
//!
//! # Inside
//!
//! Erlang terms: values, order and equality, text, external format, and the bytes that stores keep.
//!
//! Nothing here knows of tables or threads. The crate is the bottom floor of Fyris and useful by itself.
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | [`mod@term`] | [`Term`]: the owned value of every Erlang type; [`Map`] |
//! | [`atom`] | names interned once, bounded in length and number |
//! | `blob` | [`Blob`]: the content of binaries, shared by reference count |
//! | [`text`] | Erlang's syntax: [`Term::parse`], [`text::print_w`], [`text::print_p`] |
//! | [`etf`] | the external term format (`term_to_binary`) |
//! | [`key`] | bytes whose `memcmp` order is Erlang's order: the form of keys in tables |
//! | [`value`] | compact bytes made for fast decoding: the form of all other elements in tables |
//! | `arbitrary` | strategies that make nasty terms for tests (feature `arbitrary`) |
//!
//! Besides: the [`term!`] macro, `From` and `TryFrom` for the usual Rust types ([`ConvertError`]), and serde both
//! ways ([`to_term`], [`from_term`]).
//!
//! # Equal, and equal
//!
//! Erlang has two equalities. Rust's `==` on terms is `=:=`: `1` and `1.0` differ, and so do `0.0` and `-0.0` (as in
//! OTP 27 and later). [`Term::cmp_order`] and [`Term::eq_order`] are `<` and `==`, where they are equal.
//! [`Term::cmp_exact`] is the total order that goes with `=:=`, by which maps sort their keys.
//!
//! # Invariants
//!
//! - **CANONICAL_TERM**: an integer that fits 64 bits is [`Term::Int`], a bitstring of whole bytes is [`Term::Binary`],
//!   a list with a proper tail is [`Term::List`]. The constructors ([`Term::integer`], [`Term::bits`],
//!   [`Term::improper`]) keep it, so that equal terms have one form.
//! - **ANY_DEPTH**: terms may be nested as deep as memory allows. Whatever is done with them takes the stack of a few
//!   dozen levels at most, see [`walk`]; but `serde`, which recurses, goes down [`MAX_DEPTH`] levels.
//!
//! # Hostile input
//!
//! No bytes and no text make this crate panic, recurse without bound, or allocate more than a small multiple of the
//! input's size; errors say where the input is wrong. The number of atoms is bounded too ([`atom::MAX_ATOMS`]).

#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod atom;
mod blob;
mod convert;
mod copy;
#[cfg(feature = "etf")]
pub mod etf;
mod fork;
pub mod key;
mod macros;
mod map;
#[doc(hidden)]
pub mod memory;
mod native;
mod order;
#[cfg(feature = "serde")]
mod serde_impl;
pub mod term;
mod terms;
pub mod text;
pub mod value;
pub mod walk;

pub use atom::{Atom, AtomError};
pub use blob::{Blob, ForeignBlobs, set_foreign_blobs};
pub use convert::ConvertError;
pub use native::{Definition, NativeRecord};
#[cfg(feature = "serde")]
pub use serde_impl::{SerdeError, from_term, from_term_owned, to_term};
pub use term::{BitString, Float, Fun, LocalFun, Map, Pid, Port, Reference, Term};
pub use terms::Terms;

/// The most levels of nesting where a library recurses that is not ours: `serde`, both ways.
///
/// A level is a tuple, a list, a map or a closure around a term: `1` has none, `[]` and `{1}` have one, `{[1]}` two.
pub const MAX_DEPTH: usize = 1000;
