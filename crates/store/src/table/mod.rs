//! A handle of a table, in the name of a caller.
//!
//! The methods are those of `ets`; those that take match specifications are in [`crate::query`]. Each checks the
//! caller's rights, loads the table's content once, and works on that under a pin (see [`crate::table_shared`] for what
//! that promises). None of them takes a lock to read.

mod admin;
mod cursor;
mod info;
mod keys;
mod list;
mod load;
mod many;
mod native_terms;
mod places;
mod prefix;
mod range;
mod rank;
mod reading;
mod remove;
mod swap;
mod writing;

pub use admin::Setting;
pub(crate) use cursor::ObjectIter;
pub use cursor::{Cursor, Iter};
pub use info::{Info, InfoValue};
pub use load::Loader;
pub use native_terms::Batch;
pub use prefix::Prefix;
pub(crate) use range::span_of;
pub use range::{RangeCursor, RangeOptions};
pub use reading::{Elements, Generated};

/// The most objects that a call without a limit reads of the live table, under one pin. What may be more is read of a
/// snapshot.
pub(crate) const FEW: usize = if cfg!(fyris_small) { 4 } else { 512 };

use std::sync::Arc;

use fyris_sync::reclaim::{Guard, LocalGuard, pin};
use fyris_term::Atom;

use crate::error::{Error, Result};
use crate::ids::{ProcessId, Right, TableId, TableRef, TableType};
use crate::keys::AsKey;
use crate::life::{Asked, State};
use crate::slot::Content;
use crate::snapshot::SnapshotInner;
use crate::table_data::AnyTableData;
use crate::table_shared::TableShared;
use crate::transaction::TransactionPart;
use crate::view::{Live, TableView, View};
use crate::writer::Writer;

/// A table, as one caller sees it.
///
/// A handle is `Send` and `Sync`; clones of it share the table and the caller. It may outlive the
/// table: then every operation is [`Error::NoSuchTable`].
///
/// # Consistency
///
/// Every operation on one object is linearizable, also with respect to the table's life: when it is deleted, renamed,
/// given away, inherited or gets another protection, nothing is done or seen afterwards by an operation that was
/// admitted before. Each method says when more than one object is atomic.
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
/// ```
/// use fyris::{Error, Options, Store, term};
///
/// let owner = Store::new().owner();
/// let table = owner.new_table("t", &Options::set())?;
/// let theirs = table.clone();
/// theirs.insert(&term!({1, "one"}))?;
/// assert!(table.member(&1)?);
/// table.delete()?;
/// assert!(matches!(theirs.member(&1), Err(Error::NoSuchTable(_))));
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
///
/// Beside what a method names: [`Error::NoSuchTable`] when the table is gone, [`Error::NoAccess`] when its protection
/// does not let the caller do this.
#[derive(Clone)]
pub struct Table {
    shared: Arc<TableShared>,
    caller: ProcessId,
    asked: Asked,
    /// What it is of, if that is not the live table.
    side: Option<Side>,
}

/// What handles are of beside live tables.
#[derive(Clone)]
pub(crate) enum Side {
    /// A snapshot.
    Past(Arc<SnapshotInner>),
    /// A table as a transaction reads and writes it.
    Within(Arc<TransactionPart>),
}

impl Side {
    /// Returns the same without a count of its own.
    ///
    /// # Safety
    ///
    /// It is not dropped, and does not outlive `self`.
    unsafe fn borrowed(&self) -> Side {
        // SAFETY: the counts are those of `self`, by the caller's promise.
        unsafe {
            match self {
                Side::Past(past) => Side::Past(Arc::from_raw(Arc::as_ptr(past))),
                Side::Within(part) => Side::Within(Arc::from_raw(Arc::as_ptr(part))),
            }
        }
    }
}

impl Table {
    #[inline]
    pub(crate) fn new(shared: Arc<TableShared>, caller: ProcessId, asked: Asked) -> Table {
        Table {
            shared,
            caller,
            asked,
            side: None,
        }
    }

    /// Returns a handle of a snapshot of the table, which the caller may read from now on.
    pub(crate) fn at(&self, past: Arc<SnapshotInner>) -> Table {
        Table {
            side: Some(Side::Past(past)),
            ..self.clone()
        }
    }

    /// Returns a handle of the table as a transaction reads and writes it.
    pub(crate) fn within(&self, part: Arc<TransactionPart>) -> Table {
        Table {
            side: Some(Side::Within(part)),
            ..self.clone()
        }
    }

    /// Returns the snapshot, if it is a handle of one.
    #[inline]
    pub(crate) fn past(&self) -> Option<&Arc<SnapshotInner>> {
        match &self.side {
            Some(Side::Past(past)) => Some(past),
            _ => None,
        }
    }

    /// Returns the part of the transaction, if it is a handle of one.
    pub(crate) fn part(&self) -> Option<&Arc<TransactionPart>> {
        match &self.side {
            Some(Side::Within(part)) => Some(part),
            _ => None,
        }
    }

    /// Returns whether it is a handle of the live table.
    pub(crate) fn is_live(&self) -> bool {
        self.side.is_none()
    }

    pub(crate) fn shared(&self) -> &Arc<TableShared> {
        &self.shared
    }

    /// Returns the process in whose name the handle acts.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert_eq!(table.caller(), owner.id());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn caller(&self) -> ProcessId {
        self.caller
    }

    /// Returns a handle of the same table for another caller.
    ///
    /// ```
    /// # use fyris::{Options, ProcessId, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let guest = table.for_caller(ProcessId(7)); // the table is protected
    /// assert!(guest.member(&1).is_ok() && guest.insert(&term!({1, 2})).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn for_caller(&self, caller: ProcessId) -> Table {
        Table {
            caller,
            ..self.clone()
        }
    }

    /// Returns the table's identity.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let other = owner.new_table("t", &Options::set())?; // a name is no identity
    /// assert_ne!(table.id(), other.id());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn id(&self) -> TableId {
        self.shared.id
    }

    /// Returns the table's name, whether it is registered under it or not.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert_eq!(table.name().as_str(), "t");
    /// assert!(owner.named("t").is_err()); // only a named table is found by it
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn name(&self) -> Atom {
        self.shared.name()
    }

    /// Returns the reference by which other processes find the table: its name if it is a named table, else its id.
    ///
    /// ```
    /// # use fyris::{Options, Store, TableRef};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert_eq!(table.reference(), TableRef::Id(table.id()));
    /// let named = owner.new_table("users", &Options::set().named())?;
    /// assert_eq!(named.reference(), TableRef::Name(named.name()));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn reference(&self) -> TableRef {
        self.shared.reference()
    }

    /// Returns the table's type.
    ///
    /// ```
    /// # use fyris::{Options, Store, TableType};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::bag())?;
    /// assert_eq!(table.table_type(), TableType::Bag);
    /// assert!(table.table_type().is_bag());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn table_type(&self) -> TableType {
        self.shared.settings.kind
    }

    /// Returns the position of the key among the elements, from 1.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().keypos(2))?;
    /// table.insert(&term!({"Ada", 1815}))?;
    /// assert!(table.keypos() == 2 && table.member(&1815)?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn keypos(&self) -> usize {
        self.shared.settings.keypos
    }

    /// Returns a handle of the same table, found by identity: renaming does not matter to the handle.
    ///
    /// ```
    /// use fyris::{Atom, Options, Store, pin};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("old", &Options::set().named())?;
    /// let pin = pin();
    /// let by_name = store.borrow(owner.id(), Atom::new("old")?, &pin)?;
    /// let by_identity = by_name.by_identity();
    /// table.rename(Atom::new("new")?)?;
    /// assert!(by_name.member(&1).is_err() && by_identity.member(&1).is_ok());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn by_identity(&self) -> Table {
        Table {
            asked: Asked::BY_IDENTITY,
            ..self.clone()
        }
    }

    /// Reads: `f` gets the view of the table under a pin.
    #[inline]
    pub(crate) fn read<R>(
        &self,
        f: impl FnOnce(TableView<'_>, &LocalGuard) -> Result<R>,
    ) -> Result<R> {
        self.read_under(&pin(), f)
    }

    /// Reads, under a pin of the caller's: `f` gets the view of the table.
    ///
    /// If the table's name, protection or owner changes meanwhile, what was read counts only if the caller may still
    /// read: see [`crate::life`]. `f` is not called again.
    #[inline]
    pub(crate) fn read_under<'g, R, P: Guard>(
        &'g self,
        pin: &'g P,
        f: impl FnOnce(TableView<'g>, &'g P) -> Result<R>,
    ) -> Result<R> {
        let state = self.shared.life.state();
        let result = f(self.view(state, pin)?, pin);
        if !self.is_still(state) {
            self.check_right(Right::Read)?;
        }
        result
    }

    /// Returns the content of a key: one lookup, begun anew if the table's name, protection or owner changes meanwhile.
    /// Linearizable.
    ///
    /// Always inlined: its result takes several words, and to write and read them costs a tenth of a lookup.
    #[inline(always)]
    fn look_up(&self, key: &(impl AsKey + ?Sized), pin: &impl Guard) -> Result<Option<Content>> {
        let state = self.shared.life.state();
        let content = self.view(state, pin)?.get(key, pin);
        if self.is_still(state) {
            return Ok(content);
        }
        self.look_up_again(key, pin)
    }

    #[cold]
    #[inline(never)]
    fn look_up_again(
        &self,
        key: &(impl AsKey + ?Sized),
        pin: &impl Guard,
    ) -> Result<Option<Content>> {
        loop {
            let state = self.shared.life.state();
            let content = self.view(state, pin)?.get(key, pin);
            if self.is_still(state) {
                return Ok(content);
            }
        }
    }

    /// Writes: `f` gets the content, and writes it as it is told.
    #[inline]
    pub(crate) fn write<R>(
        &self,
        f: impl FnOnce(&AnyTableData, &Writer<'_>) -> Result<R>,
    ) -> Result<R> {
        self.write_under(&pin(), f)
    }

    /// Writes, under a pin of the caller's: `f` gets the content, and writes it as it is told.
    ///
    /// Changes of the table's name, protection and owner wait until `f` has returned, so it must run no code that
    /// could wait for them.
    #[inline]
    fn write_under<'g, R>(
        &'g self,
        pin: &'g LocalGuard,
        f: impl FnOnce(&'g AnyTableData, &Writer<'g>) -> Result<R>,
    ) -> Result<R> {
        if self.side.is_some() {
            return self.write_aside(pin, f);
        }
        let (_section, state) = self.shared.life.enter(pin);
        let data = self.data(state, Right::Write, pin)?;
        let writer = Writer::new(pin, state, &self.shared);
        let result = f(data, &writer);
        if state.is_versioned() {
            self.shared.end_versions_if_idle();
        }
        writer.check().and(result)
    }

    /// Writes for the handle's transaction, if it has one.
    #[cold]
    #[inline(never)]
    fn write_aside<'g, R>(
        &'g self,
        pin: &'g LocalGuard,
        f: impl FnOnce(&'g AnyTableData, &Writer<'g>) -> Result<R>,
    ) -> Result<R> {
        let part = self.part().ok_or(Error::ReadOnly)?;
        self.live(Right::Write, pin)?;
        let writer = Writer::within(pin, part);
        let result = f(part.past(pin)?.data, &writer);
        match writer.is_late() {
            false => writer.check().and(result),
            true => Err(Error::TransactionEnded),
        }
    }

    /// Returns what the handle reads by, if it gives the right to read in this state.
    #[inline]
    fn view<'g>(&'g self, state: State, pin: &'g impl Guard) -> Result<TableView<'g>> {
        match &self.side {
            None => Ok(TableView::Now(Live(self.data(state, Right::Read, pin)?))),
            Some(Side::Past(past)) => Ok(TableView::Then(past.view(pin)?)),
            Some(Side::Within(part)) => {
                self.data(state, Right::Read, pin)?;
                Ok(TableView::Within(part.view(pin)?))
            }
        }
    }

    /// Returns whether what was read since the handle was in this state counts.
    #[inline]
    fn is_still(&self, state: State) -> bool {
        match &self.side {
            None => self.shared.life.is_still(state),
            Some(Side::Past(past)) => past.check().is_ok(),
            Some(Side::Within(part)) => self.shared.life.is_still(state) && part.check().is_ok(),
        }
    }

    /// Returns the content of the live table, if the handle gives this right to it now.
    pub(crate) fn live<'g>(&self, right: Right, pin: &'g impl Guard) -> Result<&'g AnyTableData> {
        self.data(self.shared.life.state(), right, pin)
    }

    /// Returns the content, if the handle gives this right to it in this state.
    #[inline]
    fn data<'g>(
        &self,
        state: State,
        right: Right,
        pin: &'g impl Guard,
    ) -> Result<&'g AnyTableData> {
        self.shared
            .data(state, (self.asked, self.caller), right, pin)
    }

    /// Refuses a caller that has not the right to do this now, whether the table lives or not.
    fn check_right(&self, right: Right) -> Result<()> {
        match &self.side {
            Some(Side::Past(past)) if right == Right::Read => return past.check(),
            Some(Side::Within(part)) => part.check()?,
            _ => {}
        }
        let (shared, state) = (&self.shared, self.shared.life.state());
        match shared.life.allows(state, self.asked, self.caller, right) {
            true => Ok(()),
            false => Err(shared.refusal(state, self.asked, right)),
        }
    }

    /// Refuses a handle of a snapshot or of a transaction, for an operation on the table itself.
    pub(crate) fn check_live(&self, operation: &'static str) -> Result<()> {
        match self.side {
            None => Ok(()),
            Some(Side::Past(_)) => Err(Error::ReadOnly),
            Some(Side::Within(_)) => Err(Error::InTransaction(operation)),
        }
    }

    /// Refuses a handle of a snapshot.
    #[inline]
    fn check_writable(&self) -> Result<()> {
        match self.side {
            Some(Side::Past(_)) => Err(Error::ReadOnly),
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
