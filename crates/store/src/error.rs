//! Errors, each with its cause.
//!
//! ETS answers `badarg` to nearly everything. Here every error says what was wrong and where, and
//! [`Error::ets_class`] gives the word ETS would have used. An operation that returns an error has
//! left the table as it was.

use std::time::Duration;

#[cfg(feature = "indexes")]
use fyris_index::library::Fault;
use fyris_query::{KeyChanges, SpecError};
#[cfg(feature = "serde")]
use fyris_term::SerdeError;
use fyris_term::Term;

use crate::ids::{NamedTable, Protection, Right, TableType};
use crate::record::brief;

/// The result of an operation of the store.
pub type Result<T> = std::result::Result<T, Error>;

/// The class of an error in ETS's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EtsClass {
    /// `badarg`.
    Badarg,
    /// `system_limit`.
    SystemLimit,
}

impl EtsClass {
    /// Returns the atom's name.
    pub fn as_str(self) -> &'static str {
        match self {
            EtsClass::Badarg => "badarg",
            EtsClass::SystemLimit => "system_limit",
        }
    }
}

/// Why an operation was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The table does not exist, or no longer.
    #[error("{}", missing(.0))]
    NoSuchTable(NamedTable),
    /// No table has this name, which is no atom.
    #[error("no table {0:?}")]
    NoSuchName(String),
    /// A name that is too long for an atom, or new when there are as many as there can be.
    #[error(transparent)]
    Atom(#[from] fyris_term::AtomError),
    /// The caller may not do this.
    #[error("no {right} access: table {table} is {protection} and belongs to another owner")]
    NoAccess {
        /// The table.
        table: NamedTable,
        /// The right that was needed.
        right: Right,
        /// The protection of the table.
        protection: Protection,
    },
    /// Only the owner may do this.
    #[error("only the table's owner may do this")]
    NotOwner,
    /// The target of a give-away is the owner already.
    #[error("the new owner has the table already")]
    AlreadyOwner,
    /// The process is not known to live.
    #[error("process {0} is not alive")]
    NoSuchProcess(u64),
    /// A table of this name exists.
    #[error("the name {0} is taken")]
    NameTaken(String),
    /// The table to be opened is there, and is of another kind than was asked for.
    #[error("the table {name} is there, of type {} with key position {keypos}", .kind.as_str())]
    OtherTable {
        /// Its name.
        name: String,
        /// Its type.
        kind: TableType,
        /// Its key position.
        keypos: usize,
    },
    /// An object must be a tuple.
    #[error("an object must be a tuple, not {0}")]
    NotATuple(String),
    /// An object that was read as one of a [`TypedTable`](crate::TypedTable), and is none.
    #[cfg(feature = "serde")]
    #[error("the object of key {key} is not of the table's types: {why}")]
    OtherObject {
        /// Its key, shortened if it is long.
        key: String,
        /// What is wrong with it. In a box: results carry errors, so these are to be small.
        why: Box<SerdeError>,
    },
    /// A tuple too short to have a key.
    #[error("bad key position {keypos} in a tuple of {arity}")]
    BadKeyPosition {
        /// The position of the table's key.
        keypos: usize,
        /// The number of elements of the tuple.
        arity: usize,
    },
    /// An element that the object does not have.
    #[error("bad position {position} in a tuple of {arity}")]
    BadPosition {
        /// The position asked for.
        position: String,
        /// The number of elements of the tuple.
        arity: usize,
    },
    /// The key of a stored object cannot be changed in place.
    #[error("position {0} is the key, which cannot be updated")]
    KeyUpdate(usize),
    /// No object has the key.
    #[error("no object has this key")]
    NoSuchKey,
    /// A counter must be an integer.
    #[error("element {position} is {found}, not an integer")]
    NotAnInteger {
        /// The position of the element.
        position: usize,
        /// The element found.
        found: String,
    },
    /// An integer grew beyond what can be represented.
    #[error("an integer of {0} bits is too large")]
    IntegerTooLarge(u64),
    /// An object beyond the limits of its stored form.
    #[error("an object of {0} bytes is too large to store")]
    ObjectTooLarge(usize),
    /// The operation does not exist for this type of table.
    #[error("{operation} does not work on a {}", .found.as_str())]
    WrongType {
        /// The operation asked for.
        operation: &'static str,
        /// The table's type.
        found: TableType,
    },
    /// A slot beyond the last one.
    #[error("slot {slot} of a table with {slots}")]
    BadSlot {
        /// The slot asked for.
        slot: usize,
        /// The number of slots.
        slots: usize,
    },
    /// An option that does not exist, or an ill-formed one.
    #[error("bad option {0}")]
    BadOption(String),
    /// An option given twice where once is allowed.
    #[error("option {0} given twice")]
    RepeatedOption(String),
    /// An index that does not exist, or that cannot carry the type of table.
    #[error(
        "no index {index} for type {}: its own is {}, others are {}",
        .table_type.as_str(), .table_type.index(), .others.join(", ")
    )]
    BadIndex {
        /// The name given.
        index: String,
        /// The table's type.
        table_type: TableType,
        /// The other indexes that can carry it, in alphabetical order.
        others: Box<[&'static str]>,
    },
    /// The table has no secondary index of this name.
    #[error("the table has no secondary index {0}")]
    NoSecondaryIndex(String),
    /// The table has a secondary index of this name.
    #[error("the table has a secondary index {0} already")]
    SecondaryExists(String),
    /// Another object has the value that a write was going to bring, by a unique index: see
    /// [`SecondaryIndex::unique`](crate::SecondaryIndex::unique).
    #[error("the value {} of the unique index {index} is taken", brief(.value))]
    NotUnique {
        /// The name of the index.
        index: String,
        /// The value. In a box: results carry errors, so these are to be small.
        value: Box<Term>,
    },
    /// The table's index lacks what the operation needs.
    #[error("index {index} lacks {feature}, which {operation} needs")]
    LacksFeature {
        /// The index's name.
        index: &'static str,
        /// The missing feature.
        feature: &'static str,
        /// The operation asked for.
        operation: &'static str,
    },
    /// A library that cannot serve as the index of the table ([`Options::library_index`]), or that has answered
    /// wrongly: then every later operation on the table fails by this, but for its deletion.
    ///
    /// [`Options::library_index`]: crate::Options::library_index
    #[cfg(feature = "indexes")]
    #[error("library {path} as an index: {what}")]
    LibraryIndex {
        /// The path of the library.
        path: String,
        /// What is wrong with it, or what it did. In a box: results carry errors, so these are to be small.
        what: Box<Fault>,
    },
    /// An argument of the wrong form.
    #[error("bad argument: {0}")]
    BadArgument(String),
    /// A match specification, or a pattern, that is none.
    #[error(transparent)]
    BadMatchSpec(#[from] SpecError),
    /// A replacement that need not keep the key of the object it replaces.
    #[error(transparent)]
    KeyChanges(#[from] KeyChanges),
    /// An info item that does not exist.
    #[error("no info item {0}")]
    BadItem(String),
    /// More tables than a store has room for.
    #[error("a store holds at most {0} tables")]
    TooManyTables(usize),
    /// This process is a forked child of one that has made a store: see [`Store::is_forked`](crate::Store::is_forked).
    #[error("the process was forked from one that has tables: it may only exec or _exit")]
    Forked,
    /// The snapshot was released.
    #[error("the snapshot has been released")]
    Released,
    /// The snapshot of a call in several steps is older than the table's `snapshot_ttl` lets it be.
    #[error("the snapshot of the call has reached the age that snapshot_ttl allows")]
    Expired,
    /// A snapshot is not written to.
    #[error("a snapshot can only be read")]
    ReadOnly,
    /// A transaction could not be committed, or could not go on, as others have changed what it had read: it may be
    /// tried again. See [`Store::transaction`](crate::Store::transaction).
    #[error("another write to {table} was faster{}", at_key(.key))]
    Conflict {
        /// The table.
        table: NamedTable,
        /// The key, where one is known. In a box: results carry errors, so these are to be small.
        key: Option<Box<Term>>,
    },
    /// A transaction that went first, after others had been faster too often, was not done in the time for which they
    /// wait for it: see [`TransactionOptions::hold`](crate::TransactionOptions::hold).
    #[error("the transaction was not done in the {0:?} for which writers wait for it")]
    HoldExpired(Duration),
    /// A check of a batch does not hold: see [`Store::write_batch`](crate::Store::write_batch).
    #[error("operation {at} of the batch, a check, does not hold")]
    CheckFailed {
        /// Its place in the batch, from 0.
        at: usize,
    },
    /// An operation of a batch was refused, and the batch with it.
    #[error("operation {at} of the batch: {why}")]
    InBatch {
        /// Its place in the batch, from 0.
        at: usize,
        /// What the call of the table returns. In a box: results carry errors, so these are to be small.
        why: Box<Error>,
    },
    /// The transaction was committed or aborted.
    #[error("the transaction has ended")]
    TransactionEnded,
    /// A transaction reads and writes objects; this works on the table itself.
    #[error("{0} does not work in a transaction")]
    InTransaction(&'static str),
    /// The generator of `init_table` gave up.
    #[error("the generator failed: {0}")]
    Generator(String),
}

/// Every lookup writes or passes over the room of an error: with 8 bytes more one of an element took 4 ns longer, of
/// 58.
const _: () = assert!(size_of::<Error>() <= 56);

/// Says that a table was not found, or that one of which there is a handle is gone.
fn missing(table: &NamedTable) -> String {
    match table.name {
        None => format!("no table {table}"),
        Some(_) => format!("table {table} was deleted, by a call or with its owner"),
    }
}

/// Returns the words for the key of a conflict.
fn at_key(key: &Option<Box<Term>>) -> String {
    key.as_ref()
        .map_or_else(String::new, |key| format!(", key {}", brief(key)))
}

impl Error {
    /// Returns the error class that ETS would use: `badarg` or `system_limit`.
    pub fn ets_class(&self) -> EtsClass {
        match self {
            Error::IntegerTooLarge(_)
            | Error::ObjectTooLarge(_)
            | Error::Atom(_)
            | Error::TooManyTables(_) => EtsClass::SystemLimit,
            Error::InBatch { why, .. } => why.ets_class(),
            _ => EtsClass::Badarg,
        }
    }
}
