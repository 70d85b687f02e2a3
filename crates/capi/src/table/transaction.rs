//! Transactions: several keys, of several tables, read and changed as one.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::fyris_segment::let_others_pass;
use fyris::{Error, Transaction};

use super::store::owner;
use super::{fyris_store, fyris_table, not_forked, table};
use crate::args::handle;
use crate::error::{Outcome, call, free, fyris_code, fyris_error, make};

/// Several tables as a transaction reads and writes them, until it is committed or aborted. What was read and written
/// by the handles of `fyris_transaction_table` happens at one moment, all of it or nothing. Nobody waits for it: what
/// others write meanwhile it does not see, and if that is something it has read, its commit fails.
///
/// While it lasts, others that write to its tables keep what they change, as with snapshots.
pub struct fyris_transaction {
    /// `None` once it has ended.
    open: Mutex<Option<Transaction>>,
    /// In the same place among others, for who tries again.
    place: Transaction,
    retries: AtomicU32,
}

impl fyris_transaction {
    fn open(&self) -> MutexGuard<'_, Option<Transaction>> {
        // Nothing is left half done by a panic.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the transaction that a handle is of.
///
/// # Safety
///
/// HANDLE: the transaction.
unsafe fn transaction<'a>(pointer: *const fyris_transaction) -> Outcome<&'a fyris_transaction> {
    // SAFETY: HANDLE: the transaction.
    let transaction = unsafe { handle(pointer, "the transaction") }?;
    not_forked()?;
    Ok(transaction)
}

/// Begins a transaction over tables of a store. Nothing is read yet.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_transaction_begin(
    store: *const fyris_store,
    err: *mut fyris_error,
) -> *mut fyris_transaction {
    make(err, || {
        // SAFETY: HANDLE: the store.
        let begun = unsafe { owner(store) }?.store().begin();
        Ok(fyris_transaction {
            place: begun.again(),
            open: Mutex::new(Some(begun)),
            retries: AtomicU32::new(0),
        })
    })
}

/// Returns a handle by which the transaction reads and writes a table, by all functions that do so to one; it is freed
/// by `fyris_table_free`, before the transaction or after it. What is done by other handles is done at once, and is no
/// part of it. Calls about a table as a whole (delete, rename, setopts, give away, delete all objects, snapshot) fail
/// by this handle with FYRIS_E_IN_TRANSACTION; after the end of the transaction all fail with FYRIS_E_ENDED. A call
/// that fails in another way, with FYRIS_E_NO_KEY for instance, has done nothing, and the transaction goes on.
///
/// A table that comes in later is read at a later moment, and with it the others, in which nothing may have changed
/// that was read.
///
/// Fails with FYRIS_E_CONFLICT if it has; FYRIS_E_ENDED, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS; FYRIS_E_READ_ONLY for a
/// snapshot; FYRIS_E_ARGUMENT for a table of another store or transaction, and for one that another owner has in it.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_transaction_table(
    handle: *const fyris_transaction,
    given: *const fyris_table,
    err: *mut fyris_error,
) -> *mut fyris_table {
    make(err, || {
        // SAFETY: HANDLE: the transaction and the table.
        let (transaction, given) = unsafe { (transaction(handle)?, table(given)?) };
        let open = transaction.open();
        let open = open.as_ref().ok_or(Error::TransactionEnded)?;
        Ok(fyris_table(open.table(given)?))
    })
}

/// Makes happen, all at once, what was written, if nothing that was read has changed since; else nothing happens, and
/// the text of the error names the table, and the key if one is known. In both cases the transaction has ended. One
/// that has written nothing meets no conflict here.
///
/// Fails with FYRIS_E_CONFLICT, also if one of its tables was emptied or deleted, or if a table could not come in
/// before; FYRIS_E_ENDED, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS; FYRIS_E_NOT_UNIQUE;
/// FYRIS_E_HOLD_EXPIRED, see `fyris_transaction_retry`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_transaction_commit(
    handle: *const fyris_transaction,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the transaction.
        let open = unsafe { transaction(handle) }?.open().take();
        Ok(open.ok_or(Error::TransactionEnded)?.commit()?)
    })
}

/// Ends the transaction without a trace. Does nothing to one that has ended.
///
/// Fails with FYRIS_E_NULL.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_transaction_abort(
    handle: *const fyris_transaction,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the transaction.
        let open = unsafe { transaction(handle) }?.open().take();
        drop(open);
        Ok(())
    })
}

/// Begins the transaction anew, after FYRIS_E_CONFLICT: lets others pass for a moment, and keeps its place among them.
/// Of transactions that are at odds the one that began first goes first, so that each is committed in the end. One that
/// has not ended is aborted. Its tables are to be asked for again.
///
/// After eight conflicts writes of what it has read or written wait for it, up to 100 ms. If it has not ended by then,
/// its next read fails with FYRIS_E_HOLD_EXPIRED, and so does its commit if others were faster once more.
///
/// Fails with FYRIS_E_NULL.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_transaction_retry(
    handle: *const fyris_transaction,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the transaction.
        let transaction = unsafe { transaction(handle) }?;
        let before = transaction.open().take();
        drop(before);
        // Relaxed: a number.
        let_others_pass(transaction.retries.fetch_add(1, Ordering::Relaxed));
        *transaction.open() = Some(transaction.place.again());
        Ok(())
    })
}

/// Frees a handle of a transaction, which is aborted if it has not ended.
///
/// Threads: last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_transaction_free(handle: *mut fyris_transaction) {
    // SAFETY: OWNED and THREAD: the last use.
    unsafe { free(handle) }
}
