//! Walking through tables.

use ::fyris_term::Term;
use fyris::{Iter, Table};

use super::{boxed, fyris_table, place, table, term};
use crate::args::handle_mut;
use crate::error::{Outcome, call, free, fyris_code, fyris_error, make};
use crate::term::fyris_term;

type Stepped = fyris::Result<Option<Term>>;

/// Makes a step from nowhere or from a key.
///
/// # Safety
///
/// HANDLE: the table; OUT: the key.
unsafe fn step(
    handle: *const fyris_table,
    key: *mut *mut fyris_term,
    step: impl FnOnce(&Table) -> Stepped,
) -> Outcome {
    let out = place(key)?;
    // SAFETY: HANDLE: the table.
    let found = step(unsafe { table(handle) }?)?;
    // SAFETY: OUT.
    unsafe { out.put(found.map_or(std::ptr::null_mut(), boxed)) };
    Ok(())
}

/// The first key; NULL if there is none. The keys of an `ordered_set` are in Erlang's order of terms, others in no
/// order that means anything.
///
/// Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_first(
    handle: *const fyris_table,
    key: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table; OUT: the key.
    call(err, || unsafe { step(handle, key, Table::first) })
}

/// The last key; NULL if there is none. The same as the first, except in an `ordered_set`.
///
/// Fails as `fyris_table_first`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_last(
    handle: *const fyris_table,
    key: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table; OUT: the key.
    call(err, || unsafe { step(handle, key, Table::last) })
}

/// The key after `from`; NULL if there is none. Steps from the first key to NULL meet every key that is there
/// throughout once. In an `ordered_set` `from` need not be there; elsewhere that is FYRIS_E_NO_KEY.
///
/// Fails as `fyris_table_first`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_next(
    handle: *const fyris_table,
    from: *const fyris_term,
    key: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the key to go on from.
        let from = unsafe { term(from, "the key to go on from") }?;
        // SAFETY: HANDLE: the table; OUT: the key.
        unsafe { step(handle, key, |table| table.next(from)) }
    })
}

/// The key before `from`; NULL if there is none. The same as the next, except in an `ordered_set`.
///
/// Fails as `fyris_table_next`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_prev(
    handle: *const fyris_table,
    from: *const fyris_term,
    key: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the key to go on from.
        let from = unsafe { term(from, "the key to go on from") }?;
        // SAFETY: HANDLE: the table; OUT: the key.
        unsafe { step(handle, key, |table| table.prev(from)) }
    })
}

/// All objects as a list, in the order of a walk. An object that is there throughout comes up exactly once. O(size).
///
/// Fails as `fyris_table_first`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_list(
    handle: *const fyris_table,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(objects)?;
        // SAFETY: HANDLE: the table.
        let found = Term::List(unsafe { table(handle) }?.tab2list()?);
        // SAFETY: OUT.
        unsafe { out.put(boxed(found)) };
        Ok(())
    })
}

/// A walk through a table, object by object. It holds nothing that makes others wait, and keeps going whatever happens
/// to the table.
pub struct fyris_walk(Iter);

/// Begins a walk; `backwards` makes a difference in an `ordered_set` only. The handle of the table may be freed
/// meanwhile.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_walk_new(
    handle: *const fyris_table,
    backwards: bool,
    err: *mut fyris_error,
) -> *mut fyris_walk {
    make(err, || {
        // SAFETY: HANDLE: the table.
        let table = unsafe { table(handle) }?;
        Ok(fyris_walk(if backwards {
            table.iter_back()
        } else {
            table.iter()
        }))
    })
}

/// The next object, yours to free; NULL behind the last. An object that is there throughout the walk comes up exactly
/// once.
///
/// Fails as `fyris_table_first`; the walk has ended then.
///
/// Threads: one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_walk_next(
    walk: *mut fyris_walk,
    object: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(object)?;
        // SAFETY: HANDLE and THREAD: the walk.
        let next = unsafe { handle_mut(walk, "the walk") }?.0.next();
        let next = next.transpose()?;
        // SAFETY: OUT.
        unsafe { out.put(next.map_or(std::ptr::null_mut(), boxed)) };
        Ok(())
    })
}

/// Ends a walk.
///
/// Threads: last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_walk_free(walk: *mut fyris_walk) {
    // SAFETY: OWNED and THREAD: the last use.
    unsafe { free(walk) }
}
