//! Batches: writes and checks of several keys, of several tables, in one call and without a closure.
//!
//! A batch is a transaction: it takes in the tables, refuses what the single calls would refuse whatever the tables
//! hold, looks whether the checks hold, and only then writes. Where one call of a table does the same, that is called:
//! for one write, and for inserts into one table.

mod args;

use fyris_sync::reclaim::{LocalGuard, pin};
use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::{Transaction, TransactionOptions, refuse};
use crate::chain::{self, Alike};
use crate::error::{Error, Result};
use crate::ids::Right;
use crate::native_terms::record_of;
use crate::ops::{CounterOp, Patience};
use crate::record::{NewRecord, RecordPtr};
use crate::slot::Content;
use crate::store::Store;
use crate::table::Table;
use crate::view::View;

pub use args::BatchArgs;

/// An operation of [`Store::write_batch`], on a table.
///
/// ```
/// use fyris::{BatchOp, BatchReply, CounterOp, Options, Store, term};
///
/// let store = Store::new();
/// let owner = store.owner();
/// let (stock, sold) = (owner.new_table("stock", &Options::set())?, owner.new_table("sold", &Options::bag())?);
/// let (apples, pears) = (term!(:apples), term!({:pears, 0}));
/// let replies = store.write_batch(&[
///     BatchOp::InsertNew(&stock, &[pears]),
///     BatchOp::UpdateCounter(&stock, &apples, &[CounterOp::add(5)], Some(&term!({:apples, 0}))),
///     BatchOp::Insert(&sold, &[term!({1, :apples}), term!({1, :pears})]),
///     BatchOp::DeleteObject(&sold, &term!({1, :pears})),
/// ])?;
/// assert_eq!(replies[1], BatchReply::Counted(vec![term!(5)]));
/// assert_eq!(sold.tab2list()?, [term!({1, :apples})]);
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum BatchOp<'a> {
    /// As [`Table::insert_list`].
    Insert(&'a Table, &'a [Term]),
    /// As [`Table::insert_new_list`]: all of these objects, or none, and the batch goes on.
    InsertNew(&'a Table, &'a [Term]),
    /// As [`Table::delete_key`].
    Delete(&'a Table, &'a Term),
    /// As [`Table::delete_object`].
    DeleteObject(&'a Table, &'a Term),
    /// As [`Table::take`].
    Take(&'a Table, &'a Term),
    /// As [`Table::update_counter`], or with a default [`Table::update_counter_or`].
    UpdateCounter(&'a Table, &'a Term, &'a [CounterOp], Option<&'a Term>),
    /// As [`Table::update_element`], or with a default [`Table::update_element_or`].
    UpdateElement(&'a Table, &'a Term, &'a [(usize, Term)], Option<&'a Term>),
    /// Lets the batch happen only if the key held this before it.
    Check(&'a Table, &'a Term, BatchCheck<'a>),
}

/// What a key is to hold for a batch to happen, before anything of it does.
///
/// ```
/// use fyris::{BatchCheck, BatchOp, Error, Options, Store, term};
///
/// let store = Store::new();
/// let owner = store.owner();
/// let table = owner.new_table("t", &Options::set())?;
/// let then = table.snapshot()?;
/// let (key, object) = (term!(1), term!({1, "one"}));
/// let batch = [
///     BatchOp::Check(&table, &key, BatchCheck::Unchanged(&then)),
///     BatchOp::Insert(&table, std::slice::from_ref(&object)),
/// ];
/// store.write_batch(&batch)?;
/// assert_eq!(store.write_batch(&batch), Err(Error::CheckFailed { at: 0 }));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum BatchCheck<'a> {
    /// No object.
    Absent,
    /// Exactly these objects (`=:=`), in any order: in the bags as often as they stand here.
    Objects(&'a [Term]),
    /// What it held in this snapshot of the table.
    Unchanged(&'a Table),
}

/// The result of an operation of [`Store::write_batch`].
///
/// ```
/// use fyris::{BatchOp, BatchReply, Options, Store, term};
///
/// let store = Store::new();
/// let owner = store.owner();
/// let table = owner.new_table("t", &Options::set())?;
/// let object = [term!({1, "one"})];
/// let batch = [BatchOp::Insert(&table, &object), BatchOp::InsertNew(&table, &object)];
/// assert_eq!(store.write_batch(&batch)?, [BatchReply::Done, BatchReply::Whether(false)]);
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchReply {
    /// Of what returns nothing, and of a check.
    Done,
    /// Whether it did, of [`BatchOp::InsertNew`] and [`BatchOp::UpdateElement`].
    Whether(bool),
    /// The new values, of [`BatchOp::UpdateCounter`].
    Counted(Vec<Term>),
    /// The objects, of [`BatchOp::Take`].
    Taken(Vec<Term>),
}

impl BatchOp<'_> {
    fn table(&self) -> &Table {
        match self {
            BatchOp::Insert(table, _)
            | BatchOp::InsertNew(table, _)
            | BatchOp::Delete(table, _)
            | BatchOp::DeleteObject(table, _)
            | BatchOp::Take(table, _)
            | BatchOp::UpdateCounter(table, ..)
            | BatchOp::UpdateElement(table, ..)
            | BatchOp::Check(table, ..) => table,
        }
    }

    /// Returns the objects that it inserts or asks for, of those that have a list of them.
    fn objects(&self) -> &[Term] {
        match self {
            BatchOp::Insert(_, objects)
            | BatchOp::InsertNew(_, objects)
            | BatchOp::Check(_, _, BatchCheck::Objects(objects)) => objects,
            _ => &[],
        }
    }

    /// Does it as a call of the table, which it names or which is given for it; a check does nothing.
    fn call(&self, table: &Table) -> Result<BatchReply> {
        match *self {
            BatchOp::Insert(_, [object]) => table.insert(object).map(|()| BatchReply::Done),
            BatchOp::Insert(_, objects) => table.insert_list(objects).map(|()| BatchReply::Done),
            BatchOp::InsertNew(_, [object]) => table.insert_new(object).map(BatchReply::Whether),
            BatchOp::InsertNew(_, objects) => {
                table.insert_new_list(objects).map(BatchReply::Whether)
            }
            BatchOp::Delete(_, key) => table.delete_key(key).map(|()| BatchReply::Done),
            BatchOp::DeleteObject(_, object) => {
                table.delete_object(object).map(|()| BatchReply::Done)
            }
            BatchOp::Take(_, key) => table.take(key).map(BatchReply::Taken),
            BatchOp::UpdateCounter(_, key, ops, default) => match default {
                Some(default) => table.update_counter_or(key, ops, default),
                None => table.update_counter(key, ops),
            }
            .map(BatchReply::Counted),
            BatchOp::UpdateElement(_, key, edits, default) => match default {
                Some(default) => table.update_element_or(key, edits, default),
                None => table.update_element(key, edits),
            }
            .map(BatchReply::Whether),
            BatchOp::Check(..) => Ok(BatchReply::Done),
        }
    }
}

/// Returns the error of an operation of a batch.
fn of(at: usize) -> impl FnOnce(Error) -> Error {
    move |why| match why {
        // The batch as a whole is tried again.
        Error::Conflict { .. } => why,
        _ => Error::InBatch {
            at,
            why: Box::new(why),
        },
    }
}

impl Store {
    /// Does several writes, of any tables of the store, in one atomic and isolated step, if all checks among them hold;
    /// returns a reply for each, in their order. Strictly serializable, with all other operations on the tables.
    ///
    /// Checks see what the tables held before the batch, wherever they stand in it. Writes are done in their order: one
    /// sees those before it. It is tried until nobody is in the way.
    ///
    /// A single write, and inserts into one table, cost about what the call of the table does; everything else what a
    /// [transaction](Store::transaction) does.
    ///
    /// ```
    /// use fyris::{BatchCheck, BatchOp, CounterOp, Error, Options, Store, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let (stock, orders) = (Options::set(), Options::ordered_set());
    /// let (stock, orders) = (owner.new_table("stock", &stock)?, owner.new_table("orders", &orders)?);
    /// stock.insert(&term!({:apples, 3}))?;
    /// let (apples, seen, order) = (term!(:apples), [term!({:apples, 3})], [term!({1, :apples, 2})]);
    /// let sell = [
    ///     BatchOp::Check(&stock, &apples, BatchCheck::Objects(&seen)),
    ///     BatchOp::UpdateCounter(&stock, &apples, &[CounterOp::add(-2)], None),
    ///     BatchOp::Insert(&orders, &order),
    /// ];
    /// store.write_batch(&sell)?;
    /// assert_eq!(stock.lookup(&apples)?, [term!({:apples, 1})]);
    /// assert_eq!(store.write_batch(&sell), Err(Error::CheckFailed { at: 0 }));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Nothing is done then. [`Error::CheckFailed`] of the first check that does not hold; [`Error::InBatch`] of the
    /// first operation that fails, with the error that the call of the table would return: also [`Error::ReadOnly`] for
    /// a snapshot, and [`Error::BadArgument`] for a table of another store, for the same table by handles of several
    /// callers, for a table within a transaction (see [`Transaction::write_batch`]), and for what is no snapshot of the
    /// table. [`Error::HoldExpired`], as of a transaction.
    pub fn write_batch(&self, ops: &[BatchOp<'_>]) -> Result<Vec<BatchReply>> {
        if let Some(done) = self.write_directly(ops, Patience::Waits) {
            return done.map(Option::unwrap_or_default);
        }
        let patient = TransactionOptions::new().attempts(u32::MAX);
        self.transaction_with(&patient, |tx| run(tx, ops))
    }

    /// As [`Store::write_batch`], for a caller that must not be held up: `None`, and nothing is done, if others are in
    /// the way.
    ///
    /// ```
    /// # use fyris::{BatchOp, BatchReply, Options, Store, term};
    /// # let store = Store::new();
    /// # let owner = store.owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let batch = [BatchOp::Insert(&table, &[term!({1})])];
    /// assert_eq!(store.try_write_batch(&batch)?, Some(vec![BatchReply::Done]));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Store::write_batch`].
    pub fn try_write_batch(&self, ops: &[BatchOp<'_>]) -> Result<Option<Vec<BatchReply>>> {
        if let Some(done) = self.write_directly(ops, Patience::GivesUp) {
            return done;
        }
        let once = TransactionOptions::new().attempts(1);
        match self.transaction_with(&once, |tx| run(tx, ops)) {
            Err(Error::Conflict { .. }) => Ok(None),
            done => done.map(Some),
        }
    }

    /// Does a batch by one call of a table, where that does the same. `Some(Ok(None))`, and nothing is done, if it gave
    /// up on another list.
    fn write_directly(
        &self,
        ops: &[BatchOp<'_>],
        patience: Patience,
    ) -> Option<Result<Option<Vec<BatchReply>>>> {
        let (insert, only_new) = match ops {
            [] => return Some(Ok(Some(Vec::new()))),
            [BatchOp::Check(..)] => return None,
            [BatchOp::InsertNew(_, [_, _, ..])] => (true, true),
            [BatchOp::Insert(_, [_, _, ..])] => (true, false),
            [_] => (false, false),
            ops if are_inserts(ops) => (true, false),
            _ => return None,
        };
        if !insert {
            let op = &ops[0];
            let done = self.takes(op.table()).and_then(|()| op.call(op.table()));
            return Some(done.map(|reply| Some(vec![reply])).map_err(of(0)));
        }
        let done = self.insert_directly(ops, only_new, patience);
        let replies = |done| match only_new {
            true => vec![BatchReply::Whether(done)],
            false => vec![BatchReply::Done; ops.len()],
        };
        Some(done.map(|done| done.map(replies)))
    }

    /// Inserts into one table.
    fn insert_directly(
        &self,
        ops: &[BatchOp<'_>],
        only_new: bool,
        patience: Patience,
    ) -> Result<Option<bool>> {
        let (first, pin) = (ops[0].table(), pin());
        let mut records = Vec::with_capacity(ops.len());
        for (at, op) in ops.iter().enumerate() {
            let table = op.table();
            self.takes(table)
                .and_then(|()| table.live(Right::Write, &pin).map(|_| ()))
                .and_then(|()| push(&mut records, op.objects(), table.keypos()))
                .map_err(of(at))?;
        }
        let done = first.insert_records(Ok(records), only_new, patience, &pin);
        done.map_err(of(0))
    }

    /// Refuses a table that is none of the live ones of the store.
    fn takes(&self, table: &Table) -> Result<()> {
        table.check_in(self)?;
        match (table.past(), table.part()) {
            (Some(_), _) => Err(Error::ReadOnly),
            (_, Some(_)) => refuse("a table of another transaction"),
            (None, None) => Ok(()),
        }
    }
}

/// Returns whether all operations are inserts into one table.
fn are_inserts(ops: &[BatchOp<'_>]) -> bool {
    let first = ops[0].table();
    ops.iter().all(|op| match op {
        BatchOp::Insert(table, _) => table.id() == first.id() && table.caller() == first.caller(),
        _ => false,
    })
}

/// Appends the records of objects.
fn push(records: &mut Vec<NewRecord>, objects: &[Term], keypos: usize) -> Result<()> {
    for object in objects {
        records.push(record_of(object, keypos)?);
    }
    Ok(())
}

impl Transaction {
    /// As [`Store::write_batch`], within the transaction: checks see what that sees before the batch, and all of it
    /// happens when the transaction is committed. Of a batch that fails nothing is done, and the transaction goes on.
    ///
    /// Tables may be given by handles of [`Transaction::table`] or as they are; those are taken in.
    ///
    /// ```
    /// use fyris::{BatchCheck, BatchOp, Error, Options, Store, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// let (key, object) = (term!(1), [term!({1, "one"})]);
    /// store.transaction(|tx| {
    ///     let new = [BatchOp::Check(&table, &key, BatchCheck::Absent), BatchOp::Insert(&table, &object)];
    ///     tx.write_batch(&new)?;
    ///     assert_eq!(tx.write_batch(&new), Err(Error::CheckFailed { at: 0 }));
    ///     Ok::<_, Error>(())
    /// })?;
    /// assert_eq!(table.len(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Store::write_batch`], and of [`Transaction::table`].
    pub fn write_batch(&self, ops: &[BatchOp<'_>]) -> Result<Vec<BatchReply>> {
        self.nested(|tx| run(tx, ops))
    }
}

/// An operation under way.
struct BatchStep<'a> {
    op: BatchOp<'a>,
    table: Table,
    /// The objects to insert, or that are to be there.
    records: Vec<NewRecord>,
}

/// Does a batch within a transaction. What it has written when it fails is for the caller to take back.
fn run(tx: &Transaction, ops: &[BatchOp<'_>]) -> Result<Vec<BatchReply>> {
    let pin = pin();
    tx.take_in_all(ops.iter().map(BatchOp::table));
    let mut steps = Vec::with_capacity(ops.len());
    for (at, op) in ops.iter().enumerate() {
        steps.push(BatchStep::new(tx, *op, &pin).map_err(of(at))?);
    }
    if !cfg!(fyris_mutant = "store_batch_checks_late") {
        check(&steps, &pin)?;
    }
    let write = |(at, step): (usize, &mut BatchStep<'_>)| step.write(&pin).map_err(of(at));
    let replies = steps.iter_mut().enumerate().map(write).collect();
    if cfg!(fyris_mutant = "store_batch_checks_late") {
        check(&steps, &pin)?;
    }
    replies
}

fn check(steps: &[BatchStep<'_>], pin: &LocalGuard) -> Result<()> {
    for (at, step) in steps.iter().enumerate() {
        if !step.holds(pin).map_err(of(at))? {
            return Err(Error::CheckFailed { at });
        }
    }
    Ok(())
}

impl<'a> BatchStep<'a> {
    /// Takes the table in, and refuses what is refused whatever the table holds.
    fn new(tx: &Transaction, op: BatchOp<'a>, pin: &LocalGuard) -> Result<BatchStep<'a>> {
        let table = tx.table(op.table())?;
        if !matches!(op, BatchOp::Check(..)) {
            table.live(Right::Write, pin)?;
        }
        let (keypos, mut records) = (table.keypos(), Vec::new());
        push(&mut records, op.objects(), keypos)?;
        match op {
            BatchOp::DeleteObject(_, object) => drop(record_of(object, keypos)?),
            BatchOp::UpdateCounter(_, key, _, default) => {
                table.default_of("update_counter", key, default)?;
            }
            BatchOp::UpdateElement(_, key, _, default) => {
                table.default_of("update_element", key, default)?;
            }
            BatchOp::Check(_, _, BatchCheck::Unchanged(then))
                if then.past().is_none() || then.id() != table.id() =>
            {
                return refuse("not a snapshot of the table");
            }
            _ => {}
        }
        Ok(BatchStep { op, table, records })
    }

    /// Returns whether the key holds what it is checked for; `true` of a write.
    fn holds(&self, pin: &LocalGuard) -> Result<bool> {
        let BatchOp::Check(_, key, expected) = self.op else {
            return Ok(true);
        };
        let key = KeyBuf::encode(key);
        let held = |table: &Table| -> Result<Option<Content>> {
            table.read_under(pin, |view, pin| Ok(view.get(&key, pin)))
        };
        let found = held(&self.table)?;
        let expected = match expected {
            BatchCheck::Absent => Vec::new(),
            BatchCheck::Objects(_) => self.records.iter().map(NewRecord::ptr).collect(),
            BatchCheck::Unchanged(then) => {
                let before = held(then)?;
                if before == found {
                    return Ok(true);
                }
                chain::newest_first(before).collect()
            }
        };
        Ok(are_same(found, expected))
    }

    fn write(&mut self, pin: &LocalGuard) -> Result<BatchReply> {
        let records = std::mem::take(&mut self.records);
        let insert = |only_new| {
            let records = Ok(records);
            let done = self
                .table
                .insert_records(records, only_new, Patience::Waits, pin);
            done.map(Option::unwrap_or_default)
        };
        match self.op {
            BatchOp::Insert(..) => insert(false).map(|_| BatchReply::Done),
            BatchOp::InsertNew(..) => insert(true).map(BatchReply::Whether),
            _ => self.op.call(&self.table),
        }
    }
}

/// Returns whether a key holds exactly these objects, in any order. O(n).
fn are_same(found: Option<Content>, expected: Vec<RecordPtr>) -> bool {
    let is_as_many = found.map_or(0, Content::count) == expected.len();
    let mut expected = Alike::of(expected);
    is_as_many && chain::newest_first(found).all(|record| expected.take(record))
}
