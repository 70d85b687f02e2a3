//! The indexes that tables can be made on, by name.
//!
//! `hash` and `ordered` are compiled into every operation ([`AnyTableData`]). With the feature `indexes` there are others,
//! made by factories of other crates, which a program makes known ([`Registry`](fyris_index::plug::Registry)), and
//! reached through a pointer ([`fyris_index::plug`]). An index from a shared library ([`fyris_index::library`]) is named
//! by the library's path, and made like those of a factory. Each way is one more instance of all operations.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use fyris_index::plug::Features;
#[cfg(feature = "indexes")]
use fyris_index::plug::IndexFactory;
use fyris_index::{Build, HashIndex, IndexOptions, Ordered};
use fyris_term::Atom;

use crate::commits::CommitLog;
use crate::error::{Error, Result};
use crate::ids::TableType;
use crate::options::atom;
use crate::table_data::{AnyTableData, TableData};

#[cfg(feature = "indexes")]
mod plugged;

#[cfg(feature = "indexes")]
use plugged::PluggedMaker;
#[cfg(feature = "indexes")]
pub(crate) use plugged::{PluggedHash, PluggedOrder, unfailed};

/// The maker of an index.
#[derive(Clone)]
enum Maker {
    Hash,
    Ordered,
    #[cfg(feature = "indexes")]
    Plugged(PluggedMaker),
}

impl Maker {
    /// Returns whether an index with a name serves a type of table.
    fn serves(&self, kind: TableType) -> bool {
        let ordered = kind == TableType::OrderedSet;
        match self {
            Maker::Hash => !ordered,
            Maker::Ordered => ordered || cfg!(feature = "indexes"),
            #[cfg(feature = "indexes")]
            Maker::Plugged(maker) => maker.serves(kind),
        }
    }
}

/// The index that options ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestedIndex {
    Name(String),
    /// The path of a library.
    #[cfg(feature = "indexes")]
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
        match self.maker {
            #[cfg(feature = "indexes")]
            Maker::Plugged(PluggedMaker::Library(_)) => true,
            _ => false,
        }
    }

    /// Returns what operations and options need and the index may lack.
    pub(crate) fn features(&self) -> Features {
        match &self.maker {
            Maker::Hash | Maker::Ordered => Features::ALL.without_lock_options(),
            #[cfg(feature = "indexes")]
            Maker::Plugged(maker) => maker.features(),
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
            #[cfg(feature = "indexes")]
            Maker::Ordered => {
                AnyTableData::Tree(TableData::new(Ordered::build(options), kind, keypos, log))
            }
            #[cfg(not(feature = "indexes"))]
            Maker::Ordered => return Err(serves_not()),
            #[cfg(feature = "indexes")]
            Maker::Plugged(maker) => {
                let content = maker.content(kind, keypos, log, options)?;
                content.ok_or_else(serves_not)?
            }
        })
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
    #[cfg(feature = "indexes")]
    pub(crate) fn add(&self, name: &str, factory: impl IndexFactory) -> Result<()> {
        let name = atom(name)?;
        let mut indexes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if indexes.contains_key(&name) {
            return Err(Error::NameTaken(name.as_str().to_owned()));
        }
        let maker = PluggedMaker::Factory(Arc::new(factory));
        indexes.insert(name, Maker::Plugged(maker));
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
            #[cfg(feature = "indexes")]
            RequestedIndex::Library(path) => {
                let (name, maker) = PluggedMaker::load(path)?;
                let maker = Maker::Plugged(maker);
                Ok(Choice { name, maker })
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
