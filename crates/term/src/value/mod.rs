//! Terms as compact bytes that are fast to rebuild: the elements of an object that are not its key.
//!
//! # Why another form
//!
//! Key bytes pay for their order: escapes, big-endian numbers, names of atoms spelled out. Elements that are not looked
//! up need none of that. A value is read once from front to back, in the process that wrote it, so atoms are their
//! numbers here, integers are little-endian, and large binaries stay where they are: the value holds their place in a
//! list of shared blobs, and reading one costs a reference count instead of a copy. Values do not leave the process.
//!
//! # Layout
//!
//! A value is one tag byte and what it announces; it delimits itself, so values stand one behind another.
//!
//! ```text
//! tag         what follows                                 term
//! 00..7F                                                   integer 0..127
//! 80..8F                                                   integer -16..-1
//! 90..9F      low 8 of 12 bits (high 4 in the tag)         integer 128..4223
//! A0..A7      1 to 8 bytes, two's complement               other integers of 64 bits
//! A9          8 bytes                                      float
//! AA          length, bytes in two's complement            integer of more than 64 bits
//! AC..AF      1 to 4 bytes: number                         atom
//! B0..BF      0 to 15 bytes                                binary
//! C0          length 1, 16 to 255 bytes                    binary
//! C1          place in the blobs                           binary of more than 255 bytes
//! C2          bits in the last byte 1, length 1, bytes     bitstring
//! C3          bits in the last byte 1, place in the blobs  bitstring of more than 255 bytes
//! C7          size 1, number of the shape, values          map whose keys are a shape
//! C8                                                       []
//! C9          length, bytes                                list of integers 0..255, not empty
//! CA          length, elements                             any other list
//! CB          length, elements, tail                       improper list
//! CC          size, keys and values in turn                any other map
//! CD          node 4, id 4, serial 4, creation 4           pid
//! CE          node 4, creation 4, id 8                     port
//! CF          node 4, creation 4, count, words 4           reference
//! D0          module 4, function 4, arity 1                external fun
//! D1          module 4, index 4, OldUniq 8, arity 1,       closure
//!             MD5 16, OldIndex 8, creator 16 as a pid,
//!             count, captured values
//! D2          arity, elements                              tuple of more than 7
//! D3          count, number of the definition, values       native record
//! D3          count, 0, module 4, name 4, true or false 4,
//!             names 4, values                              native record of a definition without a number
//! D8..DF      0 to 7 elements                              tuple
//! ```
//!
//! A map whose keys have a [`Shape`], from 2 to 32 atoms, has its values in the order of the keys, which is the exact
//! one.
//!
//! A native record, of up to 128 fields, has the number of its definition plus one; the definitions are kept once, as
//! shapes are, up to [`MAX_SHAPES`] of them.
//!
//! Numbers of fixed width are little-endian. Lengths, sizes, counts and places are LEB128: seven bits a byte, low ones
//! first, the top bit set while more follow.
//!
//! # Invariants
//!
//! - **CANONICAL_VALUE**: a term has one form only (the shortest integer, the string form of a list whenever it can
//!   be), and blobs are numbered in the order they are met. So two values that started with equally long blob lists are
//!   `=:=` exactly when their bytes and the contents of their blobs are equal, but for closures and references, where
//!   equality overlooks the creator of a closure and zero words at the end of a reference: [`equal`] knows.
//! - **READING_BOUNDED**: reading trusts no count beyond the bytes that are there. Corrupt bytes are an error; never a
//!   panic.

use std::sync::MutexGuard;

pub use build::{Build, build, build_each, build_term};
pub use decode::decode;
pub(crate) use definition::KnownDefinition;
pub use encode::{IntBytes, ValueWriter, encode};
pub use equal::equal;
pub use error::{ValueError, ValueErrorKind};
pub use fingerprint::{fingerprint, fingerprints};
pub use fun::FunCode;
pub use pairs::{Pair, Pairs};
pub use shape::{MAX_SHAPE_KEYS, MAX_SHAPES, Shape};
pub use skip::{skip, skip_many};
pub use token::Token;
pub use view::{View, as_int, is_plain, refers_to_blobs, view};

mod build;
mod decode;
mod definition;
mod encode;
mod equal;
mod error;
mod fingerprint;
mod fun;
mod pairs;
mod reader;
mod shape;
mod skip;
mod tag;
mod token;
mod view;
mod writer;

/// The locks under which shapes and definitions are made.
pub(crate) type MadeHeld = [MutexGuard<'static, usize>; 2];

/// Locks what values have in common, so that none of it is made meanwhile.
pub(crate) fn hold() -> MadeHeld {
    [shape::TABLE.hold(), definition::TABLE.hold()]
}

/// Binaries longer than this many bytes are kept beside the value.
pub const MAX_INLINE_BINARY: usize = 255;
