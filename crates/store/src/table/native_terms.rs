//! Operations for callers with terms of their own: see [`crate::native_terms`].

use std::any::Any;
use std::ops::RangeBounds;
use std::sync::Arc;

use fyris_sync::reclaim::{Guard, LocalGuard, pin};
use fyris_term::key::KeyBuf;
use fyris_term::{Term, value};
use smallvec::SmallVec;

use super::range::span_of;
use super::{RangeCursor, RangeOptions, Table};
use crate::chain;
use crate::error::Result;
use crate::ids::{ProcessId, Right};
use crate::keys::AsKey;
use crate::native_terms::{AsObject, record_in, record_of};
use crate::ops::Patience;
use crate::ops::{CounterOp, SmallOp};
use crate::record::{NewRecord, Object, RecordPtr, Scratch};
use crate::registry::lock_attachment;
use crate::slot::Content;
use crate::table_data::with_data;
use crate::view::{Step, View};

/// Objects on their way into a table in one step. See [`Table::insert_list`] for what that promises.
///
/// ```
/// # use fyris::{Batch, Options, Store, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// let mut batch = Batch::new();
/// batch.push(&term!({1, "one"}), table.keypos())?;
/// batch.push(&term!({2, "two"}), table.keypos())?;
/// assert!(table.insert_batch(batch, false)? && table.len() == 2); // in one step
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Default)]
pub struct Batch {
    records: Vec<NewRecord>,
    scratch: Scratch,
}

impl Batch {
    /// Returns an empty batch.
    ///
    /// ```
    /// assert!(fyris::Batch::new().is_empty());
    /// ```
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Returns an empty batch with room for a number of objects.
    ///
    /// ```
    /// use fyris::{Batch, term};
    ///
    /// let mut batch = Batch::with_capacity(1);
    /// batch.push(&term!({1}), 1)?;
    /// batch.push(&term!({2}), 1)?; // it grows
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn with_capacity(objects: usize) -> Batch {
        Batch {
            records: Vec::with_capacity(objects),
            scratch: Scratch::default(),
        }
    }

    /// Adds an object, for a table with this key position.
    ///
    /// ```
    /// use fyris::{Batch, term};
    ///
    /// let mut batch = Batch::new();
    /// assert!(batch.push(&term!({1}), 2).is_err()); // no second element: the batch is as it was
    /// assert!(batch.is_empty());
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NotATuple`], [`crate::Error::BadKeyPosition`], and what else writing the object fails with.
    pub fn push(&mut self, object: &(impl AsObject + ?Sized), keypos: usize) -> Result<()> {
        self.records
            .push(record_in(&mut self.scratch, object, keypos)?);
        Ok(())
    }

    /// Returns the number of objects.
    ///
    /// ```
    /// use fyris::{Batch, term};
    ///
    /// let mut batch = Batch::new();
    /// batch.push(&term!({1}), 1)?;
    /// batch.push(&term!({1}), 1)?; // the same key: which of them counts is the table's
    /// assert_eq!(batch.len(), 2);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns whether there are none.
    ///
    /// ```
    /// assert!(fyris::Batch::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

impl Table {
    /// Returns the same table in the name of another caller, without counting a handle.
    ///
    /// ```
    /// # use fyris::{Options, ProcessId, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().private())?;
    /// assert!(table.as_caller(ProcessId(7)).member(&1).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    #[inline]
    pub fn as_caller(&self, caller: ProcessId) -> crate::Borrowed<'_> {
        // SAFETY: the counts are those of `self`, which outlives the result; they are not given back.
        let table = unsafe {
            Table {
                shared: Arc::from_raw(Arc::as_ptr(&self.shared)),
                caller,
                asked: self.asked,
                side: self.side.as_ref().map(|side| side.borrowed()),
            }
        };
        crate::Borrowed::new(table)
    }

    /// Returns the owner; `None` for `{owner, none}`.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert_eq!(table.owner(), Some(owner.id()));
    /// let unowned = owner.new_table("u", &Options::set().unowned())?;
    /// assert_eq!(unowned.owner(), None);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    #[inline]
    pub fn owner(&self) -> Option<ProcessId> {
        self.shared.life.owner()
    }

    /// Fails unless the caller has this right now.
    ///
    /// ```
    /// # use fyris::{Options, ProcessId, Right, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let guest = table.for_caller(ProcessId(7));
    /// assert!(guest.check(Right::Read).is_ok() && guest.check(Right::Write).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`](crate::Error::NoSuchTable), [`Error::NoAccess`](crate::Error::NoAccess).
    pub fn check(&self, right: Right) -> Result<()> {
        let pin = fyris_sync::reclaim::pin();
        match right {
            Right::Read => self.view(self.shared.life.state(), &pin).map(|_| ()),
            Right::Write => self
                .check_writable()
                .and(self.live(right, &pin).map(|_| ())),
        }
    }

    /// Keeps something with the table until it is deleted, in the place of what was kept before.
    ///
    /// It is dropped when the table is deleted, in the thread that deletes the table, and must not use the store then.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.attach(Box::new("first"))?;
    /// table.attach(Box::new("second"))?; // in its place
    /// table.delete()?;
    /// assert!(table.attach(Box::new("third")).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`](crate::Error::NoSuchTable).
    pub fn attach(&self, attachment: Box<dyn Any + Send>) -> Result<()> {
        let mut place = lock_attachment(&self.shared);
        if self.shared.is_deleted() {
            return Err(self.shared.gone());
        }
        *place = Some(attachment);
        Ok(())
    }

    /// Shows `f` what is kept with the table.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.attach(Box::new(42_u32))?;
    /// let number = table.attachment(|kept| kept.and_then(|kept| kept.downcast_ref::<u32>().copied()));
    /// assert_eq!(number, Some(42));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn attachment<R>(&self, f: impl FnOnce(Option<&(dyn Any + Send)>) -> R) -> R {
        f(lock_attachment(&self.shared).as_deref())
    }

    /// Inserts one object, under a pin of the caller's: in place of the one with the same key, in the bags beside it.
    /// Linearizable.
    ///
    /// ```
    /// # use fyris::{Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let pin = pin(); // one for many
    /// for n in 0..3 {
    ///     table.insert_object(&term!({n, n * n}), &pin)?;
    /// }
    /// assert_eq!(table.len(), 3);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NotATuple`], [`crate::Error::BadKeyPosition`], and what else writing the object fails with.
    #[inline]
    pub fn insert_object(&self, object: &(impl AsObject + ?Sized), pin: &LocalGuard) -> Result<()> {
        // Before the write, for which others may wait; but one that may not write is told that first.
        let new = record_of(object, self.keypos());
        self.write_under(pin, |data, writer| {
            data.insert_one(new?, writer);
            Ok(())
        })
    }

    /// Inserts one object if its key is not there; returns whether it did.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert!(table.insert_new_object(&term!({1, "one"}))?);
    /// assert!(!table.insert_new_object(&term!({1, "uno"}))?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NotATuple`], [`crate::Error::BadKeyPosition`], and what else writing the object fails with.
    pub fn insert_new_object(&self, object: &(impl AsObject + ?Sized)) -> Result<bool> {
        let new = record_of(object, self.keypos());
        self.write(|data, writer| Ok(data.insert_new_one(new?, writer)))
    }

    /// Inserts all objects in one atomic and isolated step; with `only_new` all or, if any of the keys is there,
    /// nothing.
    ///
    /// ```
    /// # use fyris::{Batch, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({2}))?;
    /// let mut batch = Batch::new();
    /// batch.push(&term!({1}), 1)?;
    /// batch.push(&term!({2}), 1)?;
    /// assert!(!table.insert_batch(batch, true)?); // 2 is there
    /// assert_eq!(table.len(), 1);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`](crate::Error::NoSuchTable), [`Error::NoAccess`](crate::Error::NoAccess).
    pub fn insert_batch(&self, batch: Batch, only_new: bool) -> Result<bool> {
        let done = self.insert_records(Ok(batch.records), only_new, Patience::Waits, &pin())?;
        Ok(done.unwrap_or_default())
    }

    /// Inserts a batch for a caller that must not be held up: `None`, and nothing is inserted, if another list with one
    /// of the keys is being inserted and is not done within some microseconds. Such a list may be of any length.
    ///
    /// ```
    /// # use fyris::{Batch, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut batch = Batch::new();
    /// batch.push(&term!({1}), 1)?;
    /// assert_eq!(table.try_insert_batch(batch, false)?, Some(true)); // no other list is in the way
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchTable`], [`crate::Error::NoAccess`].
    pub fn try_insert_batch(&self, batch: Batch, only_new: bool) -> Result<Option<bool>> {
        self.insert_records(Ok(batch.records), only_new, Patience::GivesUp, &pin())
    }

    /// Returns a range between keys in bytes, to be read bit by bit, or as borrowed objects. Of the options only the
    /// direction counts.
    ///
    /// ```
    /// # use fyris::{Options, RangeOptions, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// use fyris_term::key::KeyBuf;
    ///
    /// table.insert_many((0..10).map(|n| term!({n})))?;
    /// let from = KeyBuf::encode(&term!(8));
    /// let mut cursor = table.key_range_cursor(&(from..), RangeOptions::new())?;
    /// let (pin, mut some) = (pin(), Vec::new());
    /// cursor.next_batch(&table, 10, &pin, &mut some)?;
    /// assert_eq!(some.len(), 2);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::WrongType`] unless the table is an `ordered_set`.
    pub fn key_range_cursor(
        &self,
        range: &impl RangeBounds<KeyBuf>,
        options: RangeOptions,
    ) -> Result<RangeCursor> {
        self.check_order("range")?;
        Ok(self.cursor_of(span_of(range), options.reverse))
    }

    /// Returns the number of keys in a range between keys in bytes, for an operation with this name.
    ///
    /// # Errors
    ///
    /// [`crate::Error::LacksFeature`] if the table's index does not count; [`crate::Error::NoSuchTable`],
    /// [`crate::Error::NoAccess`].
    pub fn key_count(
        &self,
        operation: &'static str,
        range: &impl RangeBounds<KeyBuf>,
    ) -> Result<usize> {
        self.count_span(operation, &span_of(range))
    }

    /// Removes the objects exactly equal to this one. Linearizable.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::bag())?;
    /// table.insert_list(&[term!({1, "one"}), term!({1, "uno"})])?;
    /// table.delete_like(&term!({1, "one"}))?;
    /// assert_eq!(table.tab2list()?, [term!({1, "uno"})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NotATuple`], [`crate::Error::BadKeyPosition`], and what else writing the object fails with.
    pub fn delete_like(&self, object: &(impl AsObject + ?Sized)) -> Result<()> {
        let like = record_of(object, self.keypos());
        self.write(|data, writer| {
            let like = like?;
            with_data!(data, b => b.delete_object(&like, writer));
            Ok(())
        })
    }

    /// Removes every object with the key, under a pin of the caller's. Linearizable.
    ///
    /// ```
    /// # use fyris::{Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// use fyris_term::key::KeyBuf;
    ///
    /// table.insert(&term!({1, "one"}))?;
    /// table.delete_under(&KeyBuf::encode(&term!(1)), &pin())?;
    /// assert!(table.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchTable`], [`crate::Error::NoAccess`].
    #[inline]
    pub fn delete_under(&self, key: &KeyBuf, pin: &LocalGuard) -> Result<()> {
        self.write_under(pin, |data, writer| {
            with_data!(data, b => b.remove(b.key(key), writer));
            Ok(())
        })
    }

    /// Deletes the objects of a key that are doomed, each in one atomic step, as
    /// [`Query::deleting`](crate::Query::deleting) does of those that match; how many.
    ///
    /// The values of a doomed object begin with `prefix`: whole terms and headers of terms, as
    /// [`ValueWriter`](fyris_term::value::ValueWriter) writes them. If there is a term without parts in it, O(log² n)
    /// for n objects of the key, plus the objects with such a prefix; else O(n). `doomed` may be called while the key
    /// is protected, so it must be short and must not use the store.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`](crate::Error::NoSuchTable), [`Error::NoAccess`](crate::Error::NoAccess).
    pub fn delete_of_key(
        &self,
        key: &KeyBuf,
        prefix: &[u8],
        doomed: impl Fn(Object<'_>) -> bool,
    ) -> Result<usize> {
        self.write(|data, writer| {
            let wanted = (key, prefix);
            crate::query::delete_of_key(self, data, wanted, writer, doomed)
        })
    }

    /// Removes the objects with the key in one atomic step; `f` sees them, in insertion order, after they were taken
    /// out.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, 10}))?;
    /// let value = table.take_with(&1, |objects| objects.first().and_then(|o| o.element(2)))?;
    /// assert_eq!((value, table.len()), (Some(term!(10)), 0));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`](crate::Error::NoSuchTable), [`Error::NoAccess`](crate::Error::NoAccess).
    pub fn take_with<R>(
        &self,
        key: &(impl AsKey + ?Sized),
        f: impl FnOnce(&[Object<'_>]) -> R,
    ) -> Result<R> {
        let pin = pin();
        let taken = key.with(|buf| {
            self.write_under(&pin, |data, writer| {
                Ok(with_data!(data, b => b.remove(b.key(buf), writer)))
            })
        })?;
        Ok(f(&self.objects_in(taken)))
    }

    /// Goes a step; `f` sees the objects of the key found, or none at the end. Before a fix vouches for a key that is
    /// not there, `settle` may end the fixes of processes that have ended ([`Table::fixers`]).
    ///
    /// ```
    /// # use fyris::{Options, Step, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert(&term!({1, 10}))?;
    /// let pin = pin();
    /// let first = table.step_with(Step::First, &pin, || (), |objects| objects[0].key())?;
    /// assert_eq!(first, term!(1));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Except in an `ordered_set`, [`crate::Error::NoSuchKey`] if the step's key is not there, and no fix vouches for
    /// it.
    pub fn step_with<R>(
        &self,
        step: Step<'_>,
        pin: &LocalGuard,
        settle: impl Fn(),
        f: impl FnOnce(&[Object<'_>]) -> R,
    ) -> Result<R> {
        let content =
            self.read_under(pin, |view, pin| self.content_at(step, &view, pin, settle))?;
        Ok(self.show(content, f))
    }

    /// Runs the steps in order on one object, in one atomic and isolated step; returns the new values in order.
    ///
    /// ```
    /// # use fyris::{CounterOp, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, 10}))?;
    /// assert_eq!(table.update_counter_with(&1, &[CounterOp::add(5)])?, [term!(15)]); // an `i64` as key
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchKey`], [`crate::Error::NotAnInteger`], [`crate::Error::KeyUpdate`],
    /// [`crate::Error::BadPosition`], [`crate::Error::IntegerTooLarge`], [`crate::Error::WrongType`] for the bags;
    /// nothing changes then.
    pub fn update_counter_with(
        &self,
        key: &(impl AsKey + ?Sized),
        ops: &[CounterOp],
    ) -> Result<Vec<Term>> {
        self.check_unique("update_counter")?;
        key.with(|buf| {
            self.write(
                |data, writer| with_data!(data, b => b.update_counter(b.key(buf), ops, None, writer)),
            )
        })
    }

    /// Replaces elements, given as pairs of position and value, in one atomic step; `false` if there is no object with
    /// the key. A position given twice takes the last value.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, 10}))?;
    /// assert!(table.update_element_with(&1, &[(2, term!(20))])?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::KeyUpdate`], [`crate::Error::BadPosition`], [`crate::Error::WrongType`] for the bags; nothing
    /// changes then.
    pub fn update_element_with(
        &self,
        key: &(impl AsKey + ?Sized),
        edits: &[(usize, Term)],
    ) -> Result<bool> {
        self.check_unique("update_element")?;
        key.with(|buf| {
            self.write(
                |data, writer| with_data!(data, b => b.update_element(b.key(buf), edits, None, writer)),
            )
        })
    }

    /// Runs one step of integers of 64 bits on the object with the key, in one atomic step; returns the new value.
    ///
    /// `None` if the integer or the sum takes more than 64 bits, if it is no integer, or if the object holds
    /// resources: nothing has changed then, and [`Table::update_counter_with`] is to be asked.
    ///
    /// ```
    /// # use fyris::{Options, SmallOp, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_list(&[term!({1, 10}), term!({2, (i64::MAX)})])?;
    /// let (pin, add) = (pin(), SmallOp { position: None, increment: 1, limit: None });
    /// assert_eq!(table.count_small(&1, &add, &pin)?, Some(11));
    /// assert_eq!(table.count_small(&2, &add, &pin)?, None); // more than 64 bits: not done
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchKey`], [`crate::Error::NotAnInteger`], [`crate::Error::KeyUpdate`],
    /// [`crate::Error::BadPosition`], [`crate::Error::IntegerTooLarge`], [`crate::Error::WrongType`] for the bags;
    /// nothing changes then.
    pub fn count_small(
        &self,
        key: &(impl AsKey + ?Sized),
        op: &SmallOp,
        pin: &LocalGuard,
    ) -> Result<Option<i64>> {
        self.check_unique("update_counter")?;
        key.with(|buf| {
            self.write_under(
                pin,
                |data, writer| with_data!(data, b => b.count_small(b.key(buf), op, writer)),
            )
        })
    }

    /// Runs several steps of integers of 64 bits in order on the object with the key, in one atomic step, and puts
    /// their results into `new`, which is as long. `false`, and nothing has changed, where [`Table::count_small`] would
    /// return `None` for one, and for a position that there is not.
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchKey`], [`crate::Error::NotAnInteger`], [`crate::Error::KeyUpdate`],
    /// [`crate::Error::BadPosition`], [`crate::Error::IntegerTooLarge`], [`crate::Error::WrongType`] for the bags;
    /// nothing changes then.
    ///
    /// # Panics
    ///
    /// If `new` is shorter than `ops`.
    pub fn count_all_small(
        &self,
        key: &(impl AsKey + ?Sized),
        ops: &[SmallOp],
        new: &mut [i64],
        pin: &LocalGuard,
    ) -> Result<bool> {
        assert!(new.len() >= ops.len());
        self.check_unique("update_counter")?;
        key.with(|buf| {
            self.write_under(
                pin,
                |data, writer| with_data!(data, b => b.count_all_small(b.key(buf), ops, new, writer)),
            )
        })
    }

    /// Replaces one element of the object with the key, in one atomic step, by one in the form of values (as
    /// [`ValueWriter`](fyris_term::value::ValueWriter) writes it, without blobs); `Some(false)` if there is no such
    /// object.
    ///
    /// `None` if the element that goes holds large binaries, or the object resources: nothing has changed then, and
    /// [`Table::update_element_with`] is to be asked.
    ///
    /// # Errors
    ///
    /// [`crate::Error::KeyUpdate`], [`crate::Error::BadPosition`], [`crate::Error::WrongType`] for the bags; nothing
    /// changes then.
    pub fn overwrite(
        &self,
        key: &(impl AsKey + ?Sized),
        position: usize,
        bytes: &[u8],
        pin: &LocalGuard,
    ) -> Result<Option<bool>> {
        self.check_unique("update_element")?;
        key.with(|buf| {
            self.write_under(
                pin,
                |data, writer| with_data!(data, b => b.overwrite(b.key(buf), position, bytes, writer)),
            )
        })
    }

    /// Replaces several elements of the object with the key, in one atomic step: pairs of position and bytes, of which
    /// the last of a position counts. Returns `None` where [`Table::overwrite`] would for one of them: nothing has
    /// changed then.
    ///
    /// # Errors
    ///
    /// [`crate::Error::KeyUpdate`], [`crate::Error::BadPosition`], [`crate::Error::WrongType`] for the bags; nothing
    /// changes then.
    pub fn overwrite_all<'b>(
        &self,
        key: &(impl AsKey + ?Sized),
        elements: impl Iterator<Item = (usize, &'b [u8])> + Clone,
        pin: &LocalGuard,
    ) -> Result<Option<bool>> {
        self.check_unique("update_element")?;
        key.with(|buf| {
            self.write_under(
                pin,
                |data, writer| with_data!(data, b => b.overwrite_all(b.key(buf), elements, writer)),
            )
        })
    }

    /// Shows `f` the objects in slot `slot`, from 0; `None` exactly one past the last slot.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert(&term!({1}))?;
    /// assert_eq!(table.slot_with(0, |objects| objects.map(<[_]>::len))?, Some(1));
    /// assert_eq!(table.slot_with(1, |objects| objects.map(<[_]>::len))?, None);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadSlot`](crate::Error::BadSlot).
    pub fn slot_with<R>(
        &self,
        slot: usize,
        f: impl FnOnce(Option<&[Object<'_>]>) -> R,
    ) -> Result<R> {
        self.check_iteration("slot")?;
        let pin = pin();
        let contents = self.read_under(&pin, |view, pin| view.slot(slot, pin))?;
        let objects = |all: Vec<Content>| -> Vec<Object<'_>> {
            all.into_iter()
                .flat_map(|c| self.objects_in(Some(c)))
                .collect()
        };
        Ok(f(contents.map(objects).as_deref()))
    }

    /// Calls `f` on the objects with the key, in insertion order; on none if it has none. Allocates nothing where a key
    /// has one object. Linearizable.
    ///
    /// ```
    /// # use fyris::{Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::bag())?;
    /// table.insert_list(&[term!({1, 10}), term!({1, 20})])?;
    /// let last = table.lookup_with(&1, &pin(), |objects| objects[1].element(2))?;
    /// assert_eq!(last, Some(term!(20)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchTable`], [`crate::Error::NoAccess`].
    #[inline]
    pub fn lookup_with<'g, R>(
        &self,
        key: &(impl AsKey + ?Sized),
        pin: &'g impl Guard,
        f: impl FnOnce(&[Object<'g>]) -> R,
    ) -> Result<R> {
        let content = self.look_up(key, pin)?;
        Ok(self.show(content, f))
    }

    /// Calls `f` on the objects with the key, in insertion order; of many it need not see those whose values do not
    /// begin with `prefix`: whole terms and headers of terms, for [`Table::delete_of_key`] the same.
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchTable`], [`crate::Error::NoAccess`].
    pub fn lookup_with_prefix<'g, R>(
        &self,
        key: &(impl AsKey + ?Sized),
        prefix: &[u8],
        pin: &'g impl Guard,
        f: impl FnOnce(&[Object<'g>]) -> R,
    ) -> Result<R> {
        let content = self.look_up(key, pin)?;
        let Some(chain) = content.filter(|content| content.is_chain() && !prefix.is_empty()) else {
            return Ok(self.show(content, f));
        };
        let found = chain::search(chain, value::fingerprints(prefix)).map(|object| object.record);
        Ok(f(&self.in_order(found, 0)))
    }

    #[inline]
    fn show<'g, R>(&self, content: Option<Content>, f: impl FnOnce(&[Object<'g>]) -> R) -> R {
        match content {
            None => f(&[]),
            Some(chain) if chain.is_chain() => f(&self.objects_in(content)),
            Some(one) => f(&[crate::record::newest(one, self.keypos())]),
        }
    }

    fn objects_in<'g>(&self, content: Option<Content>) -> SmallVec<[Object<'g>; 4]> {
        let count = content.map_or(0, Content::count);
        self.in_order(chain::newest_first(content), count)
    }

    /// Returns the objects of about `count` records, which come newest first, in insertion order.
    fn in_order<'g>(
        &self,
        newest_first: impl Iterator<Item = RecordPtr>,
        count: usize,
    ) -> SmallVec<[Object<'g>; 4]> {
        let mut objects = SmallVec::with_capacity(count);
        let newest_first = newest_first.inspect(|record| record.prefetch());
        objects.extend(newest_first.map(|record| crate::record::object(record, self.keypos())));
        objects.reverse();
        objects
    }
}
