//! Indexes from shared libraries of C or C++: `{index, {library, Path}}`.
//!
//! As the paper plugged `std::unordered_set` into ETS (Klaftenegger, Sagonas and Winblad, "On the Scalability of the
//! Erlang Term Storage", 2013, section 6.2.2), so does any structure serve as a table whose library exports what
//! `fyris_index.h` declares (`crates/capi/include`): a table of functions, with a version and capabilities.
//!
//! # The division of labour
//!
//! The library keeps a word for each key. All else is here: the entries, copies of the keys' bytes, which the library
//! may point to, and a *record* of the keys that are in, a [`HashIndex`](crate::HashIndex).
//!
//! | file | what |
//! |---|---|
//! | `abi` | the functions of the library, and calls of them |
//! | `load` | loading a library, once for each file |
//! | `held` | what is held under a key |
//! | `words` | from words to what is held |
//! | `locks` | which calls are made at the same time |
//! | `index` | lookups and changes |
//! | `walk` | iteration |
//! | `fault` | what a library can do wrong |
//!
//! # Invariant
//!
//! **CALLS**: functions of a library are called as the header says: with the table that `create` returned, until it is
//! destroyed; under the locks that the capabilities ask for; `insert` for keys that are not in and `remove` for those
//! that are, whose bytes stay as long as the header says. Nothing that a function returns is followed: tables are
//! handed back, words are looked up (WORDS), numbers are compared. What is left to trust the library with is that it is
//! code which runs in this process, and [`Library::load`] asks that of its caller.
//!
//! # Invariant
//!
//! **RECORD**: the record has a key if and only if it is in the index, whatever the library says, and changes with the
//! key's lock. An answer of the library counts if it agrees: a word must be the key's own, which is seen without the
//! record, and a key that is not found must not be in the record. A reader beside writers, who may see the library
//! before a change and the record after it, asks again with the key's lock, where both agree or the library is at
//! fault.
//!
//! So the promises of [`Index`](crate::Index) do not depend on the library. An index that has found a fault is
//! *failed*: its [`Status`] names the fault, the library is not called any more, not even to free what it has, and
//! operations go on by the record alone. Tables refuse all that comes later.
//!
//! # Progress
//!
//! An index has one reader-writer lock. If the library declares concurrent writers it has 64, of which a writer takes
//! one by the key's hash, and readers take none. All operations are linearizable.
//!
//! # Complexity
//!
//! That of the library; beside it a lookup that finds nothing, a new key and a removal take one lookup in the record.
//! Scans of a library without iteration, which tables do not use, and those of an index that has failed, go through the
//! whole record at each step: O(n). Memory: 56 bytes a key, its bytes, and some 24 for its places in the record and
//! among the words.

mod abi;
mod fault;
mod held;
mod index;
mod load;
mod locks;
mod walk;
mod words;

pub use fault::{Fault, Status};
pub use index::LibraryIndex;
pub use load::Library;
