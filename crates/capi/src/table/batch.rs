//! Batches: writes and checks of several keys, of several tables, in one call.

use ::fyris_term::Term;
use fyris::{BatchArgs, BatchOp, Error, Table};

use super::store::owner;
use super::{boxed, fyris_store, fyris_table, place, table, term};
use crate::args::array;
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome, call, fyris_code, fyris_error};
use crate::term::fyris_term;

/// Inserts `value`, an object or a list of objects, as `fyris_table_insert_list`. The reply is `true`.
pub const FYRIS_INSERT: i32 = 1;
/// Inserts `value`, an object or a list of objects, unless one of the keys is there; then none, and the batch goes on.
/// The reply says whether it did.
pub const FYRIS_INSERT_NEW: i32 = 2;
/// Deletes the objects with `key`. The reply is `true`.
pub const FYRIS_DELETE: i32 = 3;
/// Deletes exactly the object `value`. The reply is `true`.
pub const FYRIS_DELETE_OBJECT: i32 = 4;
/// Counts as `fyris_table_update_counter`, `value` being the operations. The reply is the new value, or a list of them.
pub const FYRIS_UPDATE_COUNTER: i32 = 5;
/// Replaces elements as `fyris_table_update_element`, `value` being the edits. The reply says whether there is an
/// object.
pub const FYRIS_UPDATE_ELEMENT: i32 = 6;
/// Lets the batch happen only if `key` held exactly `value`, an object or a list of objects in any order, before it; no
/// object, if `value` is NULL; what it holds in `snapshot`, if that is not NULL. The reply is `true`.
pub const FYRIS_CHECK: i32 = 7;
/// Takes the objects with `key` out, as `fyris_table_take`. The reply is the list of them.
pub const FYRIS_TAKE: i32 = 8;

/// An operation of `fyris_store_write_batch`. What it has no use for is NULL. All of it stays yours.
#[repr(C)]
pub struct fyris_write_op {
    /// The operation: one of FYRIS_INSERT to FYRIS_TAKE.
    pub what: i32,
    /// The table.
    pub table: *const fyris_table,
    /// The key, but for FYRIS_INSERT, FYRIS_INSERT_NEW and FYRIS_DELETE_OBJECT.
    pub key: *const fyris_term,
    /// The object, the objects, the operations or the edits.
    pub value: *const fyris_term,
    /// The object that a counter or an element begins with, or NULL: see `fyris_table_count`.
    pub initial: *const fyris_term,
    /// A snapshot of the table, for FYRIS_CHECK, or NULL.
    pub snapshot: *const fyris_table,
}

/// Does `count` operations on tables of the store in one atomic and isolated step, or none. Writes are done in their
/// order, and one sees those before it; checks see what the tables held before the batch, wherever they stand. It is
/// tried until nobody is in the way.
///
/// `replies`, which may be NULL, is the list of replies, one for each. `failed`, which may be NULL, is the number of
/// the operation, from 0, that is the reason of a failure.
///
/// Nothing is done if it fails: with FYRIS_E_CHECK if a check does not hold, and with what the function for the
/// operation alone would fail with; FYRIS_E_READ_ONLY for a snapshot, FYRIS_E_ARGUMENT for a table of another store or
/// within a transaction, and for a snapshot of another table.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_store_write_batch(
    store: *const fyris_store,
    ops: *const fyris_write_op,
    count: usize,
    replies: *mut *mut fyris_term,
    failed: *mut usize,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the store; ARRAY: the operations.
        let (owner, ops) =
            unsafe { (owner(store)?, array(ops, count, "the array of operations")?) };
        let tell = |at: usize| {
            if let Ok(out) = place(failed) {
                // SAFETY: OUT.
                unsafe { out.put(at) };
            }
        };
        let mut given = Vec::with_capacity(count);
        for (at, op) in ops.iter().enumerate() {
            // SAFETY: HANDLE: all that the operation names.
            let read = unsafe { read(op) };
            given.push(read.map_err(|failure| {
                tell(at);
                Failure::new(
                    failure.code,
                    format!("operation {at} of the batch: {}", failure.text),
                )
            })?);
        }
        let batch = given
            .iter()
            .map(|(args, table, then)| args.on(table, *then));
        let batch: Vec<BatchOp<'_>> = batch.collect();
        let done = owner
            .store()
            .write_batch(&batch)
            .inspect_err(|error| match error {
                Error::CheckFailed { at } | Error::InBatch { at, .. } => tell(*at),
                _ => {}
            })?;
        if let Ok(out) = place(replies) {
            let each = given.iter().zip(done);
            let each = each.map(|((args, ..), reply)| args.reply(reply));
            // SAFETY: OUT.
            unsafe { out.put(boxed(Term::list(each.collect::<Vec<_>>()))) };
        }
        Ok(())
    })
}

/// Returns what an operation names: its arguments, the table, and the snapshot if there is one.
///
/// # Safety
///
/// HANDLE: the table, the terms and the snapshot.
unsafe fn read<'a>(op: &fyris_write_op) -> Outcome<(BatchArgs, &'a Table, Option<&'a Table>)> {
    // SAFETY: HANDLE, as promised, for all of them.
    let (on, key, value, initial, snapshot) = unsafe {
        let snapshot = (!op.snapshot.is_null()).then(|| table(op.snapshot));
        (
            table(op.table)?,
            || term(op.key, "the key").cloned(),
            || term(op.value, "the value").cloned(),
            op.initial.as_ref().map(|term| term.0.clone()),
            snapshot.transpose()?,
        )
    };
    let (name, mut args) = match op.what {
        FYRIS_INSERT => ("insert", vec![value()?]),
        FYRIS_INSERT_NEW => ("insert_new", vec![value()?]),
        FYRIS_DELETE => ("delete", vec![key()?]),
        FYRIS_DELETE_OBJECT => ("delete_object", vec![value()?]),
        FYRIS_TAKE => ("take", vec![key()?]),
        FYRIS_UPDATE_COUNTER => ("update_counter", vec![key()?, value()?]),
        FYRIS_UPDATE_ELEMENT => ("update_element", vec![key()?, value()?]),
        FYRIS_CHECK if op.value.is_null() => ("check", vec![key()?]),
        FYRIS_CHECK => ("check", vec![key()?, value()?]),
        other => {
            let text = format!("{other} is no operation");
            return Err(Failure::new(FYRIS_E_ARGUMENT, text));
        }
    };
    if matches!(op.what, FYRIS_UPDATE_COUNTER | FYRIS_UPDATE_ELEMENT) {
        args.extend(initial);
    }
    Ok((BatchArgs::parse(name, args)?, on, snapshot))
}
