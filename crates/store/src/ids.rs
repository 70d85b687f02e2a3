//! Names of things: processes, tables, table types, rights.

use fyris_term::Atom;

/// An opaque number for a caller that can own tables: an Erlang process, a Rust [`Owner`](crate::Owner).
///
/// The store knows nothing of it but equality and, through [`Store::ended`](crate::Store::ended), its
/// end. The program that hands out the numbers sees to it that a number stands for one caller only; one that is
/// registered anew after its end is a new process, and no heir that the old one was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(pub u64);

/// The identity of a table: given once, never again in the life of its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u64);

/// A caller's reference to a table.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableRef {
    /// By its identity: goes on working after a rename.
    Id(TableId),
    /// By the name it is registered under.
    Name(Atom),
}

impl From<TableId> for TableRef {
    fn from(id: TableId) -> TableRef {
        TableRef::Id(id)
    }
}

impl From<Atom> for TableRef {
    fn from(name: Atom) -> TableRef {
        TableRef::Name(name)
    }
}

impl std::fmt::Display for TableRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TableRef::Id(id) => write!(f, "#{}", id.0),
            TableRef::Name(name) => f.write_str(name.as_str()),
        }
    }
}

impl std::fmt::Debug for TableRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A table as an error names it: so that a person knows it, also one that is found by its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedTable {
    /// The reference by which it is or was found.
    pub reference: TableRef,
    /// Its name, registered or not; `None` where no table was found.
    pub name: Option<Atom>,
}

impl From<TableRef> for NamedTable {
    fn from(reference: TableRef) -> NamedTable {
        let name = None;
        NamedTable { reference, name }
    }
}

impl std::fmt::Display for NamedTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.reference, self.name) {
            (TableRef::Id(_), Some(name)) => write!(f, "{} ({})", name.as_str(), self.reference),
            _ => self.reference.fmt(f),
        }
    }
}

/// The four types of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableType {
    /// One object a key; keys are the same when `=:=`.
    Set,
    /// One object a key, in term order; keys are the same when `==`.
    OrderedSet,
    /// Any number of different objects a key.
    Bag,
    /// Any number of objects a key, repeats too.
    DuplicateBag,
}

impl TableType {
    /// Returns the word that stands for it in `new/2` and `info/2`.
    ///
    /// ```
    /// assert_eq!(fyris::TableType::OrderedSet.as_str(), "ordered_set");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            TableType::Set => "set",
            TableType::OrderedSet => "ordered_set",
            TableType::Bag => "bag",
            TableType::DuplicateBag => "duplicate_bag",
        }
    }

    /// Returns the index that holds a table of this type.
    pub(crate) fn index(self) -> &'static str {
        match self {
            TableType::OrderedSet => "ordered",
            _ => "hash",
        }
    }

    /// Returns true for the two types that hold several objects a key.
    ///
    /// ```
    /// use fyris::TableType;
    ///
    /// assert!(TableType::DuplicateBag.is_bag() && !TableType::OrderedSet.is_bag());
    /// ```
    pub fn is_bag(self) -> bool {
        matches!(self, TableType::Bag | TableType::DuplicateBag)
    }
}

/// The protection of a table: which processes may read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protection {
    /// Every process reads and writes.
    Public,
    /// Everybody reads, the owner writes.
    Protected,
    /// The owner reads and writes.
    Private,
}

impl Protection {
    /// Returns the word that stands for it in `new/2` and `info/2`.
    ///
    /// ```
    /// assert_eq!(fyris::Protection::Protected.as_str(), "protected");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Protection::Public => "public",
            Protection::Protected => "protected",
            Protection::Private => "private",
        }
    }
}

/// The right that an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Right {
    /// Look at objects.
    Read,
    /// Change objects, or delete the table.
    Write,
}

impl std::fmt::Display for Protection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Right::Read => "read",
            Right::Write => "write",
        })
    }
}
