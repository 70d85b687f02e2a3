//! Tables in files.

use std::ffi::c_char;

use fyris::dump::{LoadOptions, SaveOptions};

use super::store::{fyris_store, owner};
use super::{fyris_table, place, table};
use crate::args::text;
use crate::error::{call, fyris_code, fyris_error, make};

/// Writes the table to a file that `ets:file2tab` reads, with a checksum; a file that is there is replaced when the new
/// one is whole. `objects`, which may be NULL, is how many were written.
///
/// Fails with FYRIS_E_IO, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_save(
    handle: *const fyris_table,
    path: *const c_char,
    objects: *mut u64,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table; TEXT: the path.
        let (table, path) = unsafe { (table(handle)?, text(path, "the path")?) };
        let options = SaveOptions {
            object_count: true,
            md5sum: true,
            ..SaveOptions::default()
        };
        let written = table.tab2file(path, &options)?;
        if let Ok(out) = place(objects) {
            // SAFETY: OUT.
            unsafe { out.put(written) };
        }
        Ok(())
    })
}

/// Makes a table out of a file that `ets:tab2file` or `fyris_table_save` wrote. The file may come from anybody: it is
/// checked, as far as it lets itself be, and refused whole if anything in it is wrong.
///
/// Fails with FYRIS_E_IO, FYRIS_E_DAMAGED, FYRIS_E_NAME_TAKEN, FYRIS_E_LIMIT.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_load(
    store: *const fyris_store,
    path: *const c_char,
    err: *mut fyris_error,
) -> *mut fyris_table {
    make(err, || {
        // SAFETY: HANDLE: the store; TEXT: the path.
        let (owner, path) = unsafe { (owner(store)?, text(path, "the path")?) };
        let loaded = owner.file2tab(path, &LoadOptions::verified())?;
        Ok(fyris_table(loaded.table))
    })
}
