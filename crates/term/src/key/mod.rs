//! Keys as bytes whose `memcmp` order is Erlang's term order.
pub use buf::KeyBuf;
pub use decode::decode;
pub use error::{KeyError, KeyErrorKind};
pub use rest::{is_same, trailer_len};
pub use writer::KeyWriter;

mod buf;
mod decode;
mod error;
mod escape;
mod map;
mod marks;
mod number;
mod rest;
mod tag;
mod writer;
