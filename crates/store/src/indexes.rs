//! The indexes that tables can be made on, by name.
//!
//! `hash` and `ordered` are compiled into every operation ([`AnyTableData`]); the others are made by factories of other
//! crates, which a program makes known ([`Registry`](fyris_index::plug::Registry)), and reached through a pointer
//! ([`fyris_index::plug`]). An index from a shared library ([`fyris_index::library`]) is named by the library's path,
//! and made like those of a factory.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use fyris_index::library::{Fault, Library};
use fyris_index::plug::{DynIndex, DynOrderedIndex, Features, IndexFactory, PlugKey, Plugged};
use fyris_index::{Build, HashIndex, IndexOptions, Ordered};
use fyris_term::Atom;

use crate::commits::CommitLog;
use crate::error::{Error, Result};
use crate::ids::TableType;
use crate::key_kind::{Exact, Order};
use crate::keys::{ExactKey, OrderKey};
use crate::options::atom;
use crate::slot::Slot;
use crate::table_data::{AnyTableData, PluggedHash, PluggedOrder, TableData};

impl PlugKey for ExactKey {
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.bytes())
    }
}

impl PlugKey for OrderKey {
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.bytes())
    }
}

/// An [`IndexFactory`] for the two kinds of entries that tables have.
trait Factory: Send + Sync {
    fn features(&self) -> Features;
    fn exact(&self, options: &IndexOptions) -> Option<Box<dyn DynIndex<Slot<Exact>>>>;
    fn order(&self, options: &IndexOptions) -> Option<Box<dyn DynOrderedIndex<Slot<Order>>>>;
}

impl<F: IndexFactory> Factory for F {
    fn features(&self) -> Features {
        IndexFactory::features(self)
    }

    fn exact(&self, options: &IndexOptions) -> Option<Box<dyn DynIndex<Slot<Exact>>>> {
        self.build(options)
    }

    fn order(&self, options: &IndexOptions) -> Option<Box<dyn DynOrderedIndex<Slot<Order>>>> {
        self.build_ordered(options)
    }
}

/// The maker of an index.
#[derive(Clone)]
enum Maker {
    Hash,
    Ordered,
    Factory(Arc<dyn Factory>),
    Library(Library),
}

impl Maker {
    /// Returns whether an index with a name serves a type of table.
    fn serves(&self, kind: TableType) -> bool {
        let ordered = kind == TableType::OrderedSet;
        let options = IndexOptions::with_capacity(0);
        match self {
            Maker::Hash => !ordered,
            Maker::Ordered => true,
            Maker::Factory(factory) if ordered => factory.order(&options).is_some(),
            Maker::Factory(factory) => factory.exact(&options).is_some(),
            Maker::Library(_) => false,
        }
    }
}

/// The index that options ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestedIndex {
    Name(String),
    /// The path of a library.
    Library(String),
}

/// The index of a table: its name, and what makes it.
#[derive(Clone)]
pub(crate) struct Choice {
    /// The name, or the path of the library.
    name: &'static str,
    maker: Maker,
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Choice {
    /// Returns the name in `{index, Name}`, or the path in `{index, {library, Path}}`.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns whether it is from a library.
    pub(crate) fn is_from_library(&self) -> bool {
        matches!(self.maker, Maker::Library(_))
    }

    /// Returns what operations and options need and the index may lack.
    pub(crate) fn features(&self) -> Features {
        match &self.maker {
            Maker::Hash | Maker::Ordered => Features::ALL.without_lock_options(),
            Maker::Factory(factory) => factory.features(),
            Maker::Library(library) => library.features(),
        }
    }

    /// Makes fresh content.
    ///
    /// # Errors
    ///
    /// [`Error::BadIndex`] if the index does not serve the type of table; [`Error::LibraryIndex`].
    pub(crate) fn content(
        &self,
        kind: TableType,
        keypos: usize,
        log: &Arc<CommitLog>,
        options: &IndexOptions,
    ) -> Result<AnyTableData> {
        let ordered = kind == TableType::OrderedSet;
        let serves_not = || Error::BadIndex {
            index: self.name.to_owned(),
            table_type: kind,
            others: Box::default(),
        };
        Ok(match &self.maker {
            Maker::Hash if ordered => return Err(serves_not()),
            Maker::Hash => {
                AnyTableData::Hash(TableData::new(HashIndex::build(options), kind, keypos, log))
            }
            Maker::Ordered if ordered => {
                AnyTableData::OrderedSet(TableData::new(Ordered::build(options), kind, keypos, log))
            }
            Maker::Ordered => {
                AnyTableData::Tree(TableData::new(Ordered::build(options), kind, keypos, log))
            }
            Maker::Factory(factory) if ordered => {
                let index = factory.order(options).ok_or_else(serves_not)?;
                let index = Plugged::new(index, factory.features());
                AnyTableData::PluggedOrder(TableData::new(index, kind, keypos, log))
            }
            Maker::Factory(factory) => {
                let index = factory.exact(options).ok_or_else(serves_not)?;
                let index = Plugged::new(index, factory.features());
                AnyTableData::PluggedHash(TableData::new(index, kind, keypos, log))
            }
            Maker::Library(library) => {
                let content = from_library(*library, kind, keypos, log, options);
                return content.map_err(|what| library_fault(self.name, what));
            }
        })
    }
}

/// Makes fresh content on an index from a library.
fn from_library(
    library: Library,
    kind: TableType,
    keypos: usize,
    log: &Arc<CommitLog>,
    options: &IndexOptions,
) -> std::result::Result<AnyTableData, Fault> {
    let features = library.features();
    Ok(if kind == TableType::OrderedSet {
        let index = library.ordered_index(options)?;
        let status = index.status();
        let index: PluggedOrder = Plugged::from_library(Box::new(index), features, status);
        AnyTableData::PluggedOrder(TableData::new(index, kind, keypos, log))
    } else {
        let index = library.index(options)?;
        let status = index.status();
        let index: PluggedHash = Plugged::from_library(Box::new(index), features, status);
        AnyTableData::PluggedHash(TableData::new(index, kind, keypos, log))
    })
}

/// Returns the error of a library that is at fault.
pub(crate) fn library_fault(path: &str, what: Fault) -> Error {
    Error::LibraryIndex {
        path: path.to_owned(),
        what: Box::new(what),
    }
}

/// The indexes that the tables of a store can be made on.
pub(crate) struct Indexes(RwLock<HashMap<Atom, Maker>>);

impl Indexes {
    pub(crate) fn new() -> Indexes {
        let compiled = [("hash", Maker::Hash), ("ordered", Maker::Ordered)];
        let named = compiled.map(|(name, maker)| (Atom::word(name), maker));
        Indexes(RwLock::new(HashMap::from(named)))
    }

    /// Adds an index.
    pub(crate) fn add(&self, name: &str, factory: impl IndexFactory) -> Result<()> {
        let name = atom(name)?;
        let mut indexes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if indexes.contains_key(&name) {
            return Err(Error::NameTaken(name.as_str().to_owned()));
        }
        indexes.insert(name, Maker::Factory(Arc::new(factory)));
        Ok(())
    }

    /// Returns the names of all, in alphabetical order.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let indexes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<_> = indexes.keys().map(|name| name.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the index that is asked for, for a type of table.
    pub(crate) fn find(&self, asked: &RequestedIndex, table_type: TableType) -> Result<Choice> {
        match asked {
            RequestedIndex::Name(name) => self.named(name, table_type),
            RequestedIndex::Library(path) => {
                // SAFETY: what the options of a table name is trusted with that: see `Options::library_index`.
                let library = unsafe { Library::load(path) };
                let library = library.map_err(|what| library_fault(path, what))?;
                Ok(Choice {
                    name: library.path(),
                    maker: Maker::Library(library),
                })
            }
        }
    }

    /// Returns the index of this name for a type of table.
    pub(crate) fn named(&self, wanted: &str, table_type: TableType) -> Result<Choice> {
        let indexes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = atom(wanted).ok().and_then(|name| {
            let maker = indexes.get(&name)?.clone();
            Some(Choice {
                name: name.as_str(),
                maker,
            })
        });
        found.ok_or_else(|| Error::BadIndex {
            index: wanted.to_owned(),
            table_type,
            others: Box::default(),
        })
    }

    /// Adds to an [`Error::BadIndex`] the indexes that there are for the type of table; other errors stay as they are.
    ///
    /// A factory says whether it serves the type by making an index, so this is done for an error only.
    pub(crate) fn told(&self, mut error: Error) -> Error {
        if let Error::BadIndex {
            table_type, others, ..
        } = &mut error
        {
            // Copied: a factory of another crate is not called under the lock.
            let all = self
                .0
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            let own = table_type.index();
            let mut names: Vec<_> = all
                .iter()
                .filter(|(name, maker)| name.as_str() != own && maker.serves(*table_type))
                .map(|(name, _)| name.as_str())
                .collect();
            names.sort_unstable();
            *others = names.into_boxed_slice();
        }
        error
    }
}
