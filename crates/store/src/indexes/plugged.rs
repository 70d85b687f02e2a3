//! Indexes behind a pointer: those of factories, and of shared libraries.

use std::sync::Arc;

use fyris_index::IndexOptions;
use fyris_index::library::{Fault, Library};
use fyris_index::plug::{DynIndex, DynOrderedIndex, Features, IndexFactory, PlugKey, Plugged};

use crate::commits::CommitLog;
use crate::error::{Error, Result};
use crate::ids::TableType;
use crate::key_kind::{Exact, Order};
use crate::keys::{ExactKey, OrderKey};
use crate::slot::Slot;
use crate::table_data::{AnyTableData, TableData};

/// An index behind a pointer, of tables without an order.
pub(crate) type PluggedHash = Plugged<dyn DynIndex<Slot<Exact>>>;

/// An index behind a pointer, of ordered sets.
pub(crate) type PluggedOrder = Plugged<dyn DynOrderedIndex<Slot<Order>>>;

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
pub(super) trait Factory: Send + Sync {
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

/// The maker of an index behind a pointer.
#[derive(Clone)]
pub(super) enum PluggedMaker {
    Factory(Arc<dyn Factory>),
    Library(Library),
}

impl PluggedMaker {
    /// Loads a library.
    pub(super) fn load(path: &str) -> Result<(&'static str, PluggedMaker)> {
        // SAFETY: what the options of a table name is trusted with that: see `Options::library_index`.
        let library = unsafe { Library::load(path) };
        let library = library.map_err(|what| library_fault(path, what))?;
        Ok((library.path(), PluggedMaker::Library(library)))
    }

    /// Returns whether an index with a name serves a type of table.
    pub(super) fn serves(&self, kind: TableType) -> bool {
        let options = IndexOptions::with_capacity(0);
        match self {
            PluggedMaker::Factory(factory) if kind == TableType::OrderedSet => {
                factory.order(&options).is_some()
            }
            PluggedMaker::Factory(factory) => factory.exact(&options).is_some(),
            PluggedMaker::Library(_) => false,
        }
    }

    /// Returns what operations and options need and the index may lack.
    pub(super) fn features(&self) -> Features {
        match self {
            PluggedMaker::Factory(factory) => factory.features(),
            PluggedMaker::Library(library) => library.features(),
        }
    }

    /// Makes fresh content; `None` if the index does not serve the type of table.
    ///
    /// # Errors
    ///
    /// [`Error::LibraryIndex`].
    pub(super) fn content(
        &self,
        kind: TableType,
        keypos: usize,
        log: &Arc<CommitLog>,
        options: &IndexOptions,
    ) -> Result<Option<AnyTableData>> {
        let of_order = |index| AnyTableData::PluggedOrder(TableData::new(index, kind, keypos, log));
        let of_hash = |index| AnyTableData::PluggedHash(TableData::new(index, kind, keypos, log));
        let features = self.features();
        Ok(match self {
            PluggedMaker::Factory(factory) if kind == TableType::OrderedSet => factory
                .order(options)
                .map(|index| of_order(Plugged::new(index, features))),
            PluggedMaker::Factory(factory) => factory
                .exact(options)
                .map(|index| of_hash(Plugged::new(index, features))),
            PluggedMaker::Library(library) => {
                let fault = |what| library_fault(library.path(), what);
                Some(if kind == TableType::OrderedSet {
                    let index = library.ordered_index(options).map_err(fault)?;
                    let status = index.status();
                    of_order(Plugged::from_library(Box::new(index), features, status))
                } else {
                    let index = library.index(options).map_err(fault)?;
                    let status = index.status();
                    of_hash(Plugged::from_library(Box::new(index), features, status))
                })
            }
        })
    }
}

/// Returns a content on a plugged index, or the error of every operation on one that has failed.
#[inline(never)]
pub(crate) fn unfailed(data: &AnyTableData) -> Result<&AnyTableData> {
    let status = match data {
        AnyTableData::PluggedHash(data) => data.index.failed(),
        AnyTableData::PluggedOrder(data) => data.index.failed(),
        _ => None,
    };
    match status {
        Some(status) if !cfg!(fyris_mutant = "store_fault_untold") => {
            let fault = status.fault().expect("it has failed");
            Err(library_fault(status.path(), fault.clone()))
        }
        _ => Ok(data),
    }
}

/// Returns the error of a library that is at fault.
fn library_fault(path: &str, what: Fault) -> Error {
    Error::LibraryIndex {
        path: path.to_owned(),
        what: Box::new(what),
    }
}
