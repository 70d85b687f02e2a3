//! Fyris inside the Erlang machine.
//!
//! # What is where
//!
//! | module | what |
//! |---|---|
//! | `machine` | the one door to the machine's C interface, and its words; invariants CALL, ARITY, WHOLE |
//! | `kind` | the kinds of terms, a file each: how they look, are read where they are and are made; invariant LOCAL |
//! | `load` | loading, upgrading, kinds of resources |
//! | `copies` | other copies of this library in the process |
//! | `call` | from a C call to a Rust function and back; errors; panics |
//! | `term` | terms into stored forms and back |
//! | `process` | owners, and what happens when they end |
//! | `tables` | tids, and finding tables |
//! | `watch` | subscriptions, and the thread that sends their messages |
//! | `calls` | the functions, by what they do |
//!
//! # How long a call may take
//!
//! A scheduler of the machine runs one process at a time and must get back to the others within about
//! a millisecond. So no function here does more than some hundred objects' work: tables are walked by
//! cursors, a slice a call, from loops in Erlang; a list that is inserted as one step is encoded and
//! committed on a dirty scheduler if it is long; and the content of a large table is freed by a thread of the store.

mod call;
mod calls;
mod copies;
mod kind;
mod load;
mod machine;
mod process;
mod tables;
mod term;
mod watch;

use rustler::codegen_runtime::ErlNifEntry;

/// The entry point of the library: the machine looks this symbol up.
///
/// # Safety
///
/// Called by the machine when it loads the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nif_init() -> *const ErlNifEntry {
    // SAFETY: the library has been loaded, so the machine's functions can be looked up where that is needed.
    unsafe { rustler::codegen_runtime::internal_write_symbols() };
    load::stay();
    copies::serving()
}
