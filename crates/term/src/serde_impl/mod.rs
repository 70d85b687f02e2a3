//! serde, both ways and two ways.
//!
//! # A term in another format
//!
//! [`Term`](crate::Term) implements `Serialize` and `Deserialize` for self-describing formats (JSON, CBOR,
//! MessagePack), and every term survives the round trip exactly. Types that the format has are used as they are:
//!
//! | term | JSON |
//! |---|---|
//! | integer of at most 64 bits, signed or not | number |
//! | float | number with a point or exponent (exact if the reader rounds exactly; `serde_json` needs its feature `float_roundtrip`) |
//! | `true`, `false`, `null` | the same |
//! | binary in UTF-8 | string |
//! | list | array |
//! | map whose keys are all binaries in UTF-8 that do not start with `$` | object |
//!
//! The rest is an object with one key that starts with `$`:
//!
//! | term | JSON |
//! |---|---|
//! | other atom | `{"$atom": "ok"}` |
//! | other integer | `{"$int": "340282366920938463463374607431768211456"}` |
//! | other binary, bitstring | `{"$bytes": [255]}`, `{"$bits": [[128], 1]}` (bits of the last byte) |
//! | tuple | `{"$tuple": [...]}` |
//! | other map | `{"$map": [[key, value], ...]}` |
//! | improper list | `{"$improper": [[...], tail]}` |
//! | pid, port, reference | `{"$pid": [node, id, serial, creation]}`, `{"$port": [node, id, creation]}`, `{"$reference": [node, creation, [words]]}` |
//! | fun | `{"$fun": [module, function, arity]}`, `{"$closure": [module, arity, md5, index, old_index, old_uniq, creator, [free]]}` |
//! | native record | `{"$record": [module, name, exported, [fields], [values]]}` |
//!
//! # A Rust value as a term
//!
//! [`to_term`] says which.

mod error;
mod from_term;
mod tagged;
mod to_term;
mod untag;

pub use error::SerdeError;
pub use from_term::{from_term, from_term_owned};
pub use to_term::to_term;

/// The name by which our own serializers know that a newtype struct is a term.
const TERM: &str = "$fyris::Term";

#[cfg(test)]
mod tests;
