//! A handle of a table, in the name of a caller.
//!
//! The methods are those of `ets`; those that take match specifications are in [`crate::query`]. Each checks the caller's rights,
//! loads the table's content once, and works on that under a pin (see [`crate::core`] for what
//! that promises). None of them takes a lock to read.

mod admin;
mod cursor;
mod foreign;
mod info;
mod keys;
mod load;
mod many;
mod prefix;
mod range;
mod reading;
mod remove;
mod swap;
mod writing;

pub use admin::Setting;
pub use cursor::{Cursor, Iter};
pub use foreign::{Batch, Step};
pub use info::{Info, InfoValue};
pub use load::Loader;
pub use prefix::Prefix;
pub use range::{RangeCursor, RangeOptions};
pub use reading::{Elements, Generated};

use std::sync::Arc;

use fyris_sync::reclaim::{Guard, pin};
use fyris_term::Atom;

use crate::body::AnyBody;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::ids::{ProcessId, Right, TableId, TableRef, TableType};

/// A table, as one caller sees it.
///
/// A handle is `Send` and `Sync`; clones of it share the table and the caller. It may outlive the
/// table: then every operation is [`Error::NoSuchTable`].
///
/// # Consistency
///
/// Every operation on one object is linearizable. Each method says when more than that is atomic.
///
/// # Cost
///
/// Beside the size of the objects that go in or out, in a table of *n* objects, where a method does not say otherwise:
///
/// | | `set`, bags | `ordered_set` |
/// |---|---|---|
/// | one key: look up, insert, change, delete, take, next, previous | O(1) expected | O(log n) |
/// | *k* objects under the key of a bag: insert into a `duplicate_bag` | O(1) expected | |
/// | the same: look up, insert into a `bag`, delete one of them | O(k) | |
/// | walks and queries | O(n), or of the objects that their plan names | O(log n) and the objects in the range |
/// | size, memory, info | O(1) | O(1) |
///
/// # Errors
///
/// Beside what a method names: [`Error::NoSuchTable`] when the table is gone, [`Error::NoAccess`] when its protection
/// does not let the caller do this.
#[derive(Clone)]
pub struct Table {
    core: Arc<Core>,
    caller: ProcessId,
    /// For a handle that was found by name: the name and the count of renames then.
    found: Option<(Atom, u64)>,
}

impl Table {
    pub(crate) fn new(core: Arc<Core>, caller: ProcessId) -> Table {
        Table {
            core,
            caller,
            found: None,
        }
    }

    #[inline]
    pub(crate) fn found(core: Arc<Core>, caller: ProcessId, found: Option<(Atom, u64)>) -> Table {
        Table {
            core,
            caller,
            found,
        }
    }

    /// In whose name the handle acts.
    pub fn caller(&self) -> ProcessId {
        self.caller
    }

    /// The same table for another caller.
    pub fn for_caller(&self, caller: ProcessId) -> Table {
        Table {
            core: self.core.clone(),
            caller,
            found: self.found,
        }
    }

    /// The table's identity.
    pub fn id(&self) -> TableId {
        self.core.id
    }

    /// The table's name, whether it is registered under it or not.
    pub fn name(&self) -> Atom {
        self.core.name()
    }

    /// How others refer to it: by name if it is a named table.
    pub fn reference(&self) -> TableRef {
        self.core.reference()
    }

    /// The table's type.
    pub fn table_type(&self) -> TableType {
        self.core.settings.kind
    }

    /// Which element is the key, from 1.
    pub fn keypos(&self) -> usize {
        self.core.settings.keypos
    }

    /// The same table, found by identity: renaming does not matter to the handle.
    pub(crate) fn by_identity(&self) -> Table {
        Table::new(self.core.clone(), self.caller)
    }

    /// Works on the content under a pin, with the right to.
    pub(crate) fn with_content<R>(
        &self,
        right: Right,
        f: impl FnOnce(&AnyBody, &Guard) -> Result<R>,
    ) -> Result<R> {
        match right {
            Right::Read => self.read(f),
            Right::Write => self.write(f),
        }
    }

    /// Reads: `f` gets the content under a pin.
    #[inline]
    fn read<R>(&self, f: impl FnOnce(&AnyBody, &Guard) -> Result<R>) -> Result<R> {
        self.read_under(&pin(), f)
    }

    /// The same under a pin of the caller's.
    #[inline]
    fn read_under<R>(
        &self,
        pin: &Guard,
        f: impl FnOnce(&AnyBody, &Guard) -> Result<R>,
    ) -> Result<R> {
        let body = self.core.body(self.caller, Right::Read, pin)?;
        let result = f(body, pin)?;
        self.check_name()?;
        Ok(result)
    }

    /// Writes: `f` gets the content under a pin.
    #[inline]
    fn write<R>(&self, f: impl FnOnce(&AnyBody, &Guard) -> Result<R>) -> Result<R> {
        self.write_under(&pin(), f)
    }

    /// The same under a pin of the caller's.
    #[inline]
    fn write_under<R>(
        &self,
        pin: &Guard,
        f: impl FnOnce(&AnyBody, &Guard) -> Result<R>,
    ) -> Result<R> {
        let body = self.core.body(self.caller, Right::Write, pin)?;
        self.check_name()?;
        f(body, pin)
    }

    /// Refuses what was read through a name that the table has no longer.
    ///
    /// A rename counts before the new name can be found. So a read that saw anything put in under the
    /// new name sees the count here.
    #[inline]
    fn check_name(&self) -> Result<()> {
        match self.found {
            Some((name, renames))
                if self.core.renames() != renames
                    && !cfg!(fyris_mutant = "store_name_unchecked") =>
            {
                Err(Error::NoSuchTable(TableRef::Name(name)))
            }
            _ => Ok(()),
        }
    }

    /// Refuses an operation that needs one object a key.
    fn check_unique(&self, operation: &'static str) -> Result<()> {
        match self.table_type() {
            kind if kind.is_bag() => Err(Error::WrongType {
                operation,
                found: kind,
            }),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Table({} {})",
            self.table_type().as_str(),
            self.reference()
        )
    }
}
