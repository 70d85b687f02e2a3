//! Walking through tables.

use ::fyris_term::Term;
use fyris::{Iter, Table};

use super::{boxed, fyris_table, of_key, place, table, term};
use crate::args::{handle_mut, room};
use crate::error::{Failure, Outcome, call, free, fyris_code, fyris_error, make};
use crate::term::fyris_term;

/// Makes a step from nowhere or from a key.
///
/// # Safety
///
/// HANDLE: the table; OUT: the key.
unsafe fn step<E>(
    handle: *const fyris_table,
    key: *mut *mut fyris_term,
    step: impl FnOnce(&Table) -> Result<Option<Term>, E>,
) -> Outcome
where
    Failure: From<E>,
{
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
#[must_use]
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
#[must_use]
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
#[must_use]
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
        unsafe { step(handle, key, |table| table.next(from).map_err(of_key(from))) }
    })
}

/// Sets `key` to key number `n` in Erlang's order of terms, from 0; to NULL if there are no more than `n` keys. For an
/// `ordered_set` on the index `judysl` or `judyesl`; O(bytes of the key).
///
/// Fails as `fyris_table_first`; FYRIS_E_ARGUMENT if the table's index does not count keys.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_nth(
    handle: *const fyris_table,
    n: usize,
    key: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table; OUT: the key.
    call(err, || unsafe { step(handle, key, |table| table.nth(n)) })
}

/// The number of keys below `key`, which need not be there. For the same tables as `fyris_table_nth`.
///
/// Fails as `fyris_table_nth`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_rank(
    handle: *const fyris_table,
    key: *const fyris_term,
    count: *mut usize,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(count)?;
        // SAFETY: HANDLE: the table and the key.
        let (table, key) = unsafe { (table(handle)?, term(key, "the key")?) };
        let found = table.rank(key)?;
        // SAFETY: OUT.
        unsafe { out.put(found) };
        Ok(())
    })
}

/// The number of keys from `first` to `last`, which both count and need not be there. For the same tables as
/// `fyris_table_nth`.
///
/// Fails as `fyris_table_nth`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_count_between(
    handle: *const fyris_table,
    first: *const fyris_term,
    last: *const fyris_term,
    count: *mut usize,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(count)?;
        // SAFETY: HANDLE: the table and the keys.
        let (table, first, last) = unsafe {
            let last = term(last, "the last key")?;
            (table(handle)?, term(first, "the first key")?, last)
        };
        let found = table.count_between(&(first.clone()..=last.clone()))?;
        // SAFETY: OUT.
        unsafe { out.put(found) };
        Ok(())
    })
}

/// The key before `from`; NULL if there is none. The same as the next, except in an `ordered_set`.
///
/// Fails as `fyris_table_next`.
///
/// Threads: any.
#[must_use]
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
        unsafe { step(handle, key, |table| table.prev(from).map_err(of_key(from))) }
    })
}

/// All objects as a list, in the order of a walk. An object that is there throughout comes up exactly once. O(size).
///
/// Fails as `fyris_table_first`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_list(
    handle: *const fyris_table,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(objects)?;
        // SAFETY: HANDLE: the table.
        let table = unsafe { table(handle) }?;
        // An object is a tuple of some terms.
        let size = table.len().saturating_mul(4 * size_of::<Term>());
        room(size, "the objects of a table")?;
        let found = Term::list(table.tab2list()?);
        // SAFETY: OUT.
        unsafe { out.put(boxed(found)) };
        Ok(())
    })
}

/// A walk through a table, object by object. It holds nothing that makes others wait. Of more than 512 objects it shows
/// the table as it was at one moment, unless this was made with `{consistent, false}`.
pub struct fyris_walk(Iter);

/// Begins a walk; `backwards` makes a difference in an `ordered_set` only. The handle of the table may be freed
/// meanwhile.
///
/// Threads: any.
#[must_use]
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
#[must_use]
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
