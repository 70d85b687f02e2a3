//! Fyris inside the Erlang machine.
//!
//! # What is where
//!
//! | module | what |
//! |---|---|
//! | `sys` | the one door to the machine's C interface; invariant CALL |
//! | `words` | terms written word by word; invariant WHOLE |
//! | `references` | local references, read where they are |
//! | `externals` | pids and references of other nodes, read where they are; invariant ENTRY |
//! | `funs` | funs, read and made where they are |
//! | `held` | large binaries of the machine, held where they are |
//! | `shapes` | the order of keys in maps of few keys |
//! | `ranks` | sorting by hashes and integers |
//! | `trees` | the trees and the order of keys in maps of many |
//! | `load` | loading, upgrading, kinds of resources |
//! | `copies` | other copies of this library in the process |
//! | `call` | from a C call to a Rust function and back; errors; panics |
//! | `atoms` | the machine's atoms and ours |
//! | `term` | terms into stored forms and back; invariant LOCAL |
//! | `process` | owners, and what happens when they end |
//! | `tables` | tids, and finding tables |
//! | `watch` | whether a table has been written to; invariant NOTICE |
//! | `calls` | the functions, by what they do |
//!
//! # How long a call may take
//!
//! A scheduler of the machine runs one process at a time and must get back to the others within about
//! a millisecond. So no function here does more than some hundred objects' work: tables are walked by
//! cursors, a slice a call, from loops in Erlang; a list that is inserted as one step is encoded and
//! committed on a dirty scheduler if it is long; and the content of a large table is freed by a thread of the store.

mod atoms;
mod call;
mod calls;
mod copies;
mod externals;
mod funs;
mod held;
mod load;
mod process;
mod ranks;
mod references;
mod shapes;
mod sys;
mod tables;
mod term;
mod trees;
mod watch;
mod words;

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
