#![doc = include_str!("../README.md")]
//!
//! # Inside
//!
//! A concurrent in-memory term store: ETS as a library.
//!
//! # What it is
//!
//! Tables of Erlang terms, shared by any number of threads: sets, ordered sets and bags, with the
//! operations of Erlang's `ets` and its answers. Reads take no lock and write no shared memory;
//! nothing a caller holds can make another one wait.
//!
//! A [`Store`] holds tables. A [`Table`] is a handle in the name of a caller, whose rights every operation
//! checks. In Rust the caller is an [`Owner`]; a binding to another world gives its own numbers
//! ([`ProcessId`]) and says when a process ends.
//!
//! The terms are those of `fyris-term`; what a program needs of them, [`Term`], [`Atom`] and the macro [`term!`], is
//! here as well.
//!
//! ```
//! use fyris::{Options, Store, term};
//!
//! let owner = Store::new().owner();
//! let squares = owner.new_table("squares", &Options::set())?;
//! for i in 0..10 {
//!     squares.insert(&term!({i, i * i}))?;
//! }
//! assert_eq!(squares.lookup(&term!(7))?, [term!({7, 49})]);
//! # Ok::<(), fyris::Error>(())
//! ```
//!
//! # How it is made
//!
//! From the bottom up:
//!
//! * `record`: one immutable block of bytes an object;
//! * `keys`: the two ways of comparing the key in it;
//! * `slot`, `chain`, `pending`: what an index entry is: an object, several, or a commit under way;
//! * `table_data`, `displaced`, `ops`: a table's content, the one path by which it is written, the operations over any
//!   index;
//! * `query`: match specifications over tables, in slices, chunks and threads;
//! * `secondary`: which objects have a value that is not the key;
//! * `table_shared`: a table, whose content one pointer reaches;
//! * `version`, `snapshot`, `transaction`: what keys held before, and who reads and writes by that;
//! * `catalog`, `registry`: tables by number and name, owners and heirs;
//! * [`dump`]: tables in files, as OTP writes and reads them;
//! * [`import`]: tables of what other systems have left, dets files and directories of Mnesia;
//! * [`Table`], [`Store`]: rights, names, and the public face;
//! * [`TypedTable`]: a table of Rust types, by serde.
//!
//! Invariants have names, each stated once and cited by it: the glossary in ARCHITECTURE.md says where.

mod catalog;
mod chain;
mod commits;
mod displaced;
#[cfg(feature = "files")]
pub mod dump;
mod error;
mod event;
mod fix;
mod fork;
mod ids;
#[cfg(feature = "files")]
pub mod import;
mod indexes;
mod key_kind;
mod keys;
mod life;
mod memory;
#[cfg(all(test, loom))]
mod model;
mod native_terms;
mod ops;
mod options;
mod pending;
mod query;
mod record;
mod registry;
mod resource_ref;
mod secondary;
mod slot;
mod snapshot;
mod store;
mod table;
mod table_data;
mod table_shared;
mod transaction;
#[cfg(feature = "serde")]
mod typed;
mod version;
mod view;
mod watch;
mod writer;

pub use error::{Error, EtsClass, Result};
pub use event::{Event, Sink};
pub use fix::Fixed;
pub use fyris_index::{self as index, BucketLocks};
pub use fyris_query::{Machine, MatchSpec, PlanKind, SpecError, Wanted, test_ms};
pub use fyris_sync::reclaim::{Guard, LocalGuard, OwnedGuard, pin, pin_owned};
pub use fyris_term::{Atom, BitString, ConvertError, Float, Map, Term, term};
#[cfg(feature = "serde")]
pub use fyris_term::{SerdeError, from_term, from_term_owned, to_term};
pub use ids::{NamedTable, ProcessId, Protection, Right, TableId, TableRef, TableType};
pub use keys::AsKey;
pub use memory::Memory;
pub use native_terms::{AsObject, ObjectWriter, StoredValue};
pub use ops::{CounterOp, SmallOp};
pub use options::{Options, WriteConcurrency};
pub use query::{Chunk, Continuation, Explanation, Query, match_spec_run};
pub use record::Object;
pub use resource_ref::{ResourceRefs, each_reference, set_resource_refs};
pub use secondary::SecondaryIndex;
pub use snapshot::Snapshot;
pub use store::{Borrowed, Owner, Store};
pub use table::{
    Batch, Cursor, Elements, Generated, Info, InfoValue, Iter, Loader, Prefix, RangeCursor,
    RangeOptions, Setting, Table,
};
pub use transaction::{
    BatchArgs, BatchCheck, BatchOp, BatchReply, Transaction, TransactionOptions,
};
#[cfg(feature = "serde")]
pub use typed::{TypedIter, TypedTable};
pub use view::Step;
pub use watch::{ObjectChange, SubscribeOptions, Subscription, WatchEvent, WatchFilter, WatchKind};
