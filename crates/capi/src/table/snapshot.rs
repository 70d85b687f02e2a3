//! Snapshots: tables as they were at one moment.

use fyris::{Snapshot, Table};

use super::store::owner;
use super::{fyris_store, fyris_table, table};
use crate::args::array;
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome, call, fyris_code, fyris_error, make};

/// Makes a handle of a snapshot.
fn handle_of(snapshot: &Snapshot) -> fyris_table {
    fyris_table(Table::clone(snapshot))
}

/// Returns a snapshot of the table: a handle that reads the table as it is at this moment, with all writes that have
/// returned, by every function that reads one, while others write and do not wait. Whatever becomes of the table, the
/// snapshot lasts until `fyris_table_release`, until its handle is freed, or until the handle of the store is freed
/// that the table's handle came from.
///
/// What writes to it fails with FYRIS_E_READ_ONLY.
///
/// Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS; with FYRIS_E_READ_ONLY for a snapshot.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_snapshot(
    handle: *const fyris_table,
    err: *mut fyris_error,
) -> *mut fyris_table {
    make(err, || {
        // SAFETY: HANDLE: the table.
        Ok(handle_of(&unsafe { table(handle) }?.snapshot()?))
    })
}

/// Puts snapshots of `count` tables of the store, all of one moment, into `snapshots`, which has room for as many
/// handles.
///
/// Fails as `fyris_table_snapshot` for any of the tables; FYRIS_E_ARGUMENT for one of another store. Then there is
/// none.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_store_snapshots(
    store: *const fyris_store,
    tables: *const *mut fyris_table,
    count: usize,
    snapshots: *mut *mut fyris_table,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the store; ARRAY: the tables.
        let (owner, handles) =
            unsafe { (owner(store)?, array(tables, count, "the array of tables")?) };
        if snapshots.is_null() && count > 0 {
            return Err(Failure::new(FYRIS_E_NULL, "the room for snapshots is NULL"));
        }
        // SAFETY: HANDLE: each of the tables.
        let each = handles.iter().map(|&handle| unsafe { table(handle) });
        let live: Vec<&Table> = each.collect::<Outcome<_>>()?;
        let taken = owner.store().snapshots(&live)?;
        for (at, snapshot) in taken.iter().enumerate() {
            let handle = Box::into_raw(Box::new(handle_of(snapshot)));
            // SAFETY: ARRAY: there is room for as many handles as there are tables.
            unsafe { snapshots.add(at).write(handle) };
        }
        Ok(())
    })
}

/// Ends a snapshot: reading it fails with FYRIS_E_ARGUMENT from then on. What only this one saw is freed in the
/// background. Does nothing to a table that is none, and to one that has ended.
///
/// Fails with FYRIS_E_NULL.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_release(
    handle: *const fyris_table,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table.
        if let Some(snapshot) = unsafe { table(handle) }?.as_snapshot() {
            snapshot.release();
        }
        Ok(())
    })
}
