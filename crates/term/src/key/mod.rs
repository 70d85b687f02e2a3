//! Keys as bytes whose `memcmp` order is Erlang's term order.
//!
//! # Why
//!
//! An index compares keys far more often than it builds them. With the comparison of two terms done once, when the
//! bytes are written, a tree, a trie and a hash table all look at nothing but bytes, and any of them serves any term.
//! A key has three parts, one behind another:
//!
//! | part | purpose | length |
//! |---|---|---|
//! | order part | `memcmp` of two order parts is `<`, `==` or `>` of the terms; ordered tables look at nothing else | a few bytes more than the term's own |
//! | trailer | order part and trailer together are equal exactly when the terms are `=:=`; hash tables look at both | empty unless a float has an integral value |
//! | rest | the parts that decoding needs and equality must not see: the creator of a closure | empty unless there is a closure |
//!
//! [`KeyBuf::order`], [`KeyBuf::trailer`] and [`KeyBuf::rest`] are the parts, [`KeyBuf::bytes`] the first two,
//! [`KeyBuf::stored`] all of them. [`decode`] takes the order part and what is behind it; [`is_same`] compares what is
//! stored with the identity of a key. Nothing of this leaves the process: the layout may change between versions.
//!
//! # The order part
//!
//! One tag byte a term, in Erlang's order of types. All tags lie in `02..EF`, so that `00` appended to a prefix of
//! whole terms sorts below and `F0` above every key that goes on with another term.
//!
//! ```text
//! tag      what follows                                          term
//! 08       length (complemented), bytes                          below -256^128
//! 09       length 1 (complemented), groups                       9 to 128 bytes, negative
//! 0A..11   8 to 1 bytes [, FF, fraction]                         floor below -1
//! 12                                                             -1
//! 13       8 bytes (complemented): the float                     between -1 and 0
//! 14                                                             0, 0.0, -0.0
//! 15       8 bytes: the float                                    between 0 and 1
//! 16..1D   1 to 8 bytes [, FF, fraction]                         floor of 1 or more
//! 1E       length 1, groups                                      9 to 128 bytes, positive
//! 1F       length, bytes                                         longer
//! 20       8 bytes: the float, sign flipped                      any float inside a map's key
//! 28       name                                                  atom
//! 30       node, creation 4, words, words from the highest 4     reference
//! 38       module, index 4, OldUniq 8, count, captured values    closure
//! 39       module, function, arity 1                             external fun
//! 40       node, creation 4, id 8                                port
//! 48       serial 4, id 4, node, creation 4                      pid
//! 50..6E   elements                                              tuple of 0 to 30
//! 6F       arity, elements                                       longer tuple
//! 70       module, name, exported 1, count, fields, values      native record
//! 78       size, keys, values                                    map
//! 80                                                             []
//! 88       element, tail                                         list cell
//! 90       content, bits in the last byte 1                      bitstring
//! ```
//!
//! Integers are big-endian; signed ones of fixed width have their sign bit flipped. A length, an arity, a size or a
//! count is one byte below `F0`, or `F0 + n` and `n` bytes. Names and contents are escaped: `00` is written `00 FF`,
//! and a lone `00` ends them (a name inside another type ends in `00 00`, because any byte may follow it there).
//!
//! ## Numbers
//!
//! Integers and floats of the same value have the same bytes. The tag tells how many bytes the floor has; they are its
//! two's complement without the sign. A fraction is what is left above the floor, so it adds to a negative number too,
//! and comes behind a byte above every tag. Its bits follow seven a byte, the lowest bit of the byte telling that there
//! are more:
//!
//! ```text
//!  300     17 01 2C                      -2      11 FE
//!    2     16 02                         -2.5    11 FD FF 80     (floor -3, and a half)
//!    2.5   16 02 FF 80                   -3      11 FD
//!    2^64  1E 09 01 00 00 00 00 00 00 00 00
//!  1e300   1E 7D 17 E4 3C 88 00 75 9C 00 00                    (125 bytes, zeros from the eighth on)
//!  5e-324  15 00 00 00 00 00 00 00 01
//! ```
//!
//! A group of a big number is eight bytes, and before the next one `01`, or `00` if there are only zeros to come: a
//! large float takes 11 bytes however large it is. Beyond 128 bytes there are no floats, and no groups.
//!
//! ## Maps
//!
//! Keys in the exact order (every integer before every float, recursively, the two zeros different), each in a form
//! that sorts so: the same as above but for floats, which have the tag `20`. Then the values, in the order of their
//! keys.
//!
//! # Invariants
//!
//! - Where a form may go on with `FF`, what follows a finished one is never `FF` (ESCAPE, NUMBERS), so no form needs a
//!   terminator to keep its order in front of whatever comes next.
//! - No trailer byte can be taken for the continuation of an order part (TRAILER), so order part and trailer are one
//!   string that reads in one way only; and none is the mark that starts a rest (FOLLOW).
//! - **CANONICAL_KEY**: [`decode`] accepts nothing but what [`KeyBuf::encode`] writes.

pub use buf::{Flat, KeyBuf};
pub use build::build;
pub use decode::decode;
pub use error::{KeyError, KeyErrorKind};
pub use parts::{MOST_ELEMENTS, begin_cell, begin_map, begin_tuple, behind, strip};
pub use peek::{KeyKind, as_binary, as_int, as_plain_binary, kind};
pub use rest::{is_same, trailer_len};
pub use writer::KeyWriter;

mod buf;
mod build;
mod decode;
mod error;
mod escape;
mod input;
mod map;
mod marks;
mod number;
mod parts;
mod peek;
mod read_number;
mod rest;
mod tag;
mod writer;
