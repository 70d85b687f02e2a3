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
//! # Modules
//!
//! | module | functions |
//! |---|---|
//! | `error` | `fyris_error`, codes; the wall that no panic passes |
//! | `args` | arguments from C, checked |
//! | `term` | making, taking apart, comparing, printing and encoding terms |
//! | `table` | stores, tables, transactions and subscriptions |
//! | `segment` | version-controlled shared memory |
//! | `map` | ordered maps in segments |
//! | `version` | the version of the library |
//!
//! # Promises of the caller
//!
//! Promises that no library can check. A `SAFETY` comment names the promises that its operation rests on, and what they
//! are about:
//!
//! * **HANDLE**: a handle is NULL or came from a maker of its own type, and is neither freed nor taken over before the
//!   call returns. A part borrowed from a term is a handle while the term is there, a batch while its function runs.
//! * **OWNED**: a handle that is freed or taken over is NULL or came from a maker of its own type, is no borrowed part,
//!   and is given back once.
//! * **THREAD**: a function that says *one* or *last* under Threads is not called by two threads at once with the same
//!   handle: it has the handle to itself, and after *last* no thread uses it.
//! * **ARRAY**: a pointer with a length is to that many initialised elements (bytes, handles), which no thread changes
//!   before the call returns.
//! * **TEXT**: text is NULL or ends with a zero byte, and no thread changes it before the call returns.
//! * **OUT**: an out-argument, as `err` is one, is NULL or a place for a value of its type that no other thread uses
//!   meanwhile. Where the type begins with `struct_size`, that is set.
//! * **FILLED**: a `fyris_bytes` or `fyris_ranges` that is freed is empty or as a function filled it, and what it
//!   points to was not freed by a copy of it.
//! * **CALLBACK**: a function is NULL or of the type that the header declares, does with its arguments what is said
//!   there, and leaves by returning.
//! * **REPLACE**: the memory where the option `replace` puts a segment is used only as memory of that segment, while it
//!   is checked out.
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

pub use error::{FYRIS_ERROR_TEXT, fyris_code, fyris_code_name, fyris_error};
pub use map::*;
pub use segment::*;
pub use table::*;
pub use term::*;
pub use version::*;

/// The header's promises about threads: handles that any thread may use, several at once, and one that only one at a
/// time uses.
const _: () = {
    const fn any<T: Send + Sync>() {}
    const fn one<T: Send>() {}
    any::<fyris_store>();
    any::<fyris_table>();
    any::<fyris_transaction>();
    any::<fyris_subscription>();
    any::<fyris_event>();
    any::<fyris_term>();
    any::<fyris_segment>();
    any::<fyris_map>();
    one::<fyris_walk>();
};
