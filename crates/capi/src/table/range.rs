//! Ranges of keys, and what begins alike.

use std::ops::Bound;

use ::fyris_term::Term;
use fyris::{Prefix, RangeOptions};

use super::{boxed, fyris_table, listed, place, table, term};
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome, call, fyris_code, fyris_error};
use crate::term::fyris_term;

/// `from` does not count.
pub const FYRIS_FROM_EXCLUDED: u32 = 1;
/// `to` does not count.
pub const FYRIS_TO_EXCLUDED: u32 = 2;
/// From the end.
pub const FYRIS_REVERSE: u32 = 4;
/// Keys in the places of objects.
pub const FYRIS_KEYS: u32 = 8;

/// What the flags of ends are.
const ENDS: u32 = FYRIS_FROM_EXCLUDED | FYRIS_TO_EXCLUDED;
/// What the flags of a form are.
const FORM: u32 = FYRIS_REVERSE | FYRIS_KEYS;

fn known(flags: u32, allowed: u32) -> Outcome {
    match flags & !allowed {
        0 => Ok(()),
        unknown => {
            let text = format!("flags: {unknown:#x} is no flag of this function");
            Err(Failure::new(FYRIS_E_ARGUMENT, text))
        }
    }
}

fn form(flags: u32, limit: usize) -> RangeOptions {
    let mut options = RangeOptions::new();
    if flags & FYRIS_REVERSE != 0 {
        options = options.reverse();
    }
    if flags & FYRIS_KEYS != 0 {
        options = options.keys_only();
    }
    match limit {
        0 => options,
        limit => options.limit(limit),
    }
}

/// Returns an end of a range; NULL is an open one.
///
/// # Safety
///
/// HANDLE: the key, or NULL.
unsafe fn end(key: *const fyris_term, is_excluded: bool) -> Outcome<Bound<Term>> {
    if key.is_null() {
        return Ok(Bound::Unbounded);
    }
    // SAFETY: HANDLE: the key.
    let key = unsafe { term(key, "the key") }?.clone();
    Ok(match is_excluded {
        true => Bound::Excluded(key),
        false => Bound::Included(key),
    })
}

/// Returns a range of keys.
///
/// # Safety
///
/// HANDLE: the keys, or NULL.
unsafe fn ends(
    from: *const fyris_term,
    to: *const fyris_term,
    flags: u32,
) -> Outcome<(Bound<Term>, Bound<Term>)> {
    // SAFETY: HANDLE: the keys, or NULL.
    unsafe {
        let from = end(from, flags & FYRIS_FROM_EXCLUDED != 0)?;
        Ok((from, end(to, flags & FYRIS_TO_EXCLUDED != 0)?))
    }
}

/// Gives a list of what `find` returns for a range of a table.
///
/// # Safety
///
/// HANDLE: the table; HANDLE, or NULL: the keys; OUT: the list.
unsafe fn ranged(
    handle: *const fyris_table,
    (from, to): (*const fyris_term, *const fyris_term),
    (flags, limit): (u32, usize),
    list: *mut *mut fyris_term,
    find: impl FnOnce(
        &fyris::Table,
        (Bound<Term>, Bound<Term>),
        RangeOptions,
    ) -> fyris::Result<Vec<Term>>,
) -> Outcome {
    known(flags, ENDS | FORM)?;
    // SAFETY: as promised.
    unsafe {
        let ends = ends(from, to, flags)?;
        listed(handle, list, |table| find(table, ends, form(flags, limit)))
    }
}

/// The objects of an `ordered_set` with keys from `from` to `to`, a list in order, which may be empty. NULL is an open
/// end. `flags` are FYRIS_FROM_EXCLUDED, FYRIS_TO_EXCLUDED, FYRIS_REVERSE and FYRIS_KEYS, or 0; `limit` is how many at
/// most, 0 for all. Of more than 512 all are as they were at one moment of the call. O(log n), and the objects.
///
/// Fails with FYRIS_E_ARGUMENT (an unknown flag), FYRIS_E_TYPE, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_range(
    handle: *const fyris_table,
    from: *const fyris_term,
    to: *const fyris_term,
    flags: u32,
    limit: usize,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the keys; OUT: the objects.
    call(err, || unsafe {
        ranged(
            handle,
            (from, to),
            (flags, limit),
            objects,
            fyris::Table::range,
        )
    })
}

/// The objects of an `ordered_set` whose keys begin alike, as `fyris_table_range` gives them. `prefix` is `{a, b,
/// '_'}`, tuples of this size that begin so, `[a, b | '_']`, or a binary; `flags` are FYRIS_REVERSE and FYRIS_KEYS.
///
/// Fails as `fyris_table_range`; FYRIS_E_ARGUMENT also if that is no prefix.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_prefix(
    handle: *const fyris_table,
    prefix: *const fyris_term,
    flags: u32,
    limit: usize,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        known(flags, FORM)?;
        // SAFETY: HANDLE: the table and the prefix; OUT: the objects.
        unsafe {
            let prefix = Prefix::of_pattern(term(prefix, "the prefix")?)?;
            listed(handle, objects, |table| {
                table.prefix(&prefix, form(flags, limit))
            })
        }
    })
}

/// Takes the objects that `fyris_table_range` would give out of an `ordered_set`. Each goes to one of several callers.
///
/// Fails as `fyris_table_range`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_take_range(
    handle: *const fyris_table,
    from: *const fyris_term,
    to: *const fyris_term,
    flags: u32,
    limit: usize,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the keys; OUT: the objects.
    call(err, || unsafe {
        ranged(
            handle,
            (from, to),
            (flags, limit),
            objects,
            fyris::Table::take_range,
        )
    })
}

/// Deletes the objects of an `ordered_set` with keys from `from` to `to`, each in one atomic step, and says how many in
/// `count`. NULL is an open end; `flags` are FYRIS_FROM_EXCLUDED and FYRIS_TO_EXCLUDED.
///
/// Fails as `fyris_table_range`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_delete_range(
    handle: *const fyris_table,
    from: *const fyris_term,
    to: *const fyris_term,
    flags: u32,
    count: *mut usize,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        known(flags, ENDS)?;
        let out = place(count)?;
        // SAFETY: HANDLE: the table and the keys.
        let (table, ends) = unsafe { (table(handle)?, ends(from, to, flags)?) };
        let deleted = table.delete_range(ends)?;
        // SAFETY: OUT.
        unsafe { out.put(deleted) };
        Ok(())
    })
}

/// The first object of an `ordered_set` at or above a key, or with the flag FYRIS_REVERSE the last at or below it; NULL
/// if there is none. O(log n).
///
/// Fails as `fyris_table_range`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_seek(
    handle: *const fyris_table,
    key: *const fyris_term,
    flags: u32,
    object: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        known(flags, FYRIS_REVERSE)?;
        let out = place(object)?;
        // SAFETY: HANDLE: the table and the key.
        let (table, key) = unsafe { (table(handle)?, term(key, "the key")?) };
        let found = match flags {
            FYRIS_REVERSE => table.seek_back(key)?,
            _ => table.seek(key)?,
        };
        // SAFETY: OUT.
        unsafe { out.put(found.map_or(std::ptr::null_mut(), boxed)) };
        Ok(())
    })
}

/// Takes all objects out: a list. Each goes to one of several callers; one that is put in meanwhile is taken or stays.
///
/// Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_drain(
    handle: *const fyris_table,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table; OUT: the objects.
    call(err, || unsafe {
        listed(handle, objects, fyris::Table::drain)
    })
}
