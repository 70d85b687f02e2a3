//! The C API of Fyris: the functions of `fyris.h`.
//!
//! # Why so
//!
//! A C program cannot be stopped from passing nonsense, but it can be told. Every function checks what can be checked,
//! says in a code *and* in a sentence what was wrong, and catches panics. Three rules make the API small:
//!
//! * **One way to fail.** A call fills a [`fyris_error`] that the caller brought. Nothing is kept in thread-local or
//!   global variables, so nothing can be overwritten between the failure and the look at it.
//! * **Terms are values.** A [`fyris_term`] never changes once made; it can be shared by threads, and its parts are
//!   borrowed from it for free. Makers of compound terms take their elements over, so that terms nest in one
//!   expression.
//! * **Options are terms** in Erlang's syntax (`"[ordered_set, public]"`): no struct that grows from version to
//!   version.
//!
//! # What is where
//!
//! | module | functions |
//! |---|---|
//! | `error` | `fyris_error`, codes; the wall that no panic passes |
//! | `args` | arguments from C, checked |
//! | `term` | making, taking apart, comparing, printing and encoding terms |
//! | `table` | stores and tables |
//! | `segment` | version-controlled shared memory |
//! | `map` | ordered maps in segments |
//! | `version` | which version this is |
//!
//! # Promises of the caller
//!
//! What no library can check, named **C** in the `SAFETY` comments:
//!
//! 1. a handle is NULL or came from a maker of its own type and has not been freed;
//! 2. a pointer with a length is to that many initialised elements, text ends with a zero byte, out-arguments are
//!    places for a value of their type;
//! 3. a function that says *one* or *last* under Threads is not called by two threads at once with the same handle.
//!
//! # The header
//!
//! `include/fyris.h` is made from this source by cbindgen and committed; `tests/header.rs` fails when they differ.

// The names are C's, here as there, so that a search for one finds the other.
#![allow(non_camel_case_types)]
// One text for all: *promises of the caller*, above.
#![allow(clippy::missing_safety_doc)]

mod args;
mod error;
mod map;
mod segment;
mod table;
mod term;
mod version;

pub use error::{FYRIS_ERROR_TEXT, fyris_code, fyris_error};
pub use map::*;
pub use segment::*;
pub use table::*;
pub use term::*;
pub use version::*;

/// What the header promises of threads: handles that any thread may use, several at once, and one that only one at a
/// time uses.
const _: () = {
    const fn any<T: Send + Sync>() {}
    const fn one<T: Send>() {}
    any::<fyris_store>();
    any::<fyris_table>();
    any::<fyris_term>();
    any::<fyris_segment>();
    any::<fyris_map>();
    one::<fyris_walk>();
};
