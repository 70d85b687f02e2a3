//! Changing tables.

use std::ffi::{c_char, c_void};

use ::fyris_term::Term;
use fyris::{CounterOp, SecondaryIndex};

use super::{boxed, fyris_table, in_list, listed, of_key, place, table, term};
use crate::args::{array, bytes, text};
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome, call, fyris_code, fyris_error};
use crate::term::{decode, fyris_term, int};

/// Inserts an object, a tuple, in place of one with the same key (in the bags: beside them). The object stays yours.
///
/// Atomic. Fails with FYRIS_E_TYPE, FYRIS_E_ARGUMENT (too short for its key), FYRIS_E_LIMIT, FYRIS_E_NO_TABLE,
/// FYRIS_E_NO_ACCESS, FYRIS_E_NOT_UNIQUE (a value that it brings is another object's).
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_insert(
    handle: *const fyris_table,
    object: *const fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and the object.
        let (table, object) = unsafe { (table(handle)?, term(object, "the object")?) };
        Ok(table.insert(object)?)
    })
}

/// Inserts an object in external term format, a tuple, in place of one with the same key (in the bags: beside them).
///
/// Atomic. Fails with FYRIS_E_FORMAT, and as `fyris_table_insert`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_insert_encoded(
    handle: *const fyris_table,
    data: *const c_void,
    len: usize,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table; ARRAY: the encoded object.
        let (table, data) = unsafe { (table(handle)?, bytes(data, len, "the encoded object")?) };
        Ok(table.insert(&decode(data)?)?)
    })
}

/// Inserts `count` objects in one atomic and isolated step: others see all of them or none. Later ones replace earlier
/// ones with the same key. The objects stay yours.
///
/// Fails as `fyris_table_insert` for any of the objects; then none is inserted.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_insert_list(
    handle: *const fyris_table,
    objects: *const *mut fyris_term,
    count: usize,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and each object; ARRAY: the objects.
        let (table, objects) = unsafe { (table(handle)?, terms(objects, count)?) };
        Ok(table.insert_list(&objects)?)
    })
}

/// Returns the objects of an array.
///
/// # Safety
///
/// ARRAY: the objects; HANDLE: each of them.
unsafe fn terms(objects: *const *mut fyris_term, count: usize) -> Outcome<Vec<Term>> {
    // SAFETY: ARRAY: the objects.
    let objects = unsafe { array(objects, count, "the array of objects") }?;
    let each = objects.iter().enumerate();
    each.map(|(i, &object)| {
        // SAFETY: HANDLE: an element of the array.
        unsafe { term(object, &format!("object {i}")) }.cloned()
    })
    .collect()
}

/// Inserts an object unless its key is there; says whether it did. Atomic. `inserted` may be NULL.
///
/// Fails as `fyris_table_insert`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_insert_new(
    handle: *const fyris_table,
    object: *const fyris_term,
    inserted: *mut bool,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and the object.
        let (table, object) = unsafe { (table(handle)?, term(object, "the object")?) };
        let done = table.insert_new(object)?;
        if let Ok(out) = place(inserted) {
            // SAFETY: OUT.
            unsafe { out.put(done) };
        }
        Ok(())
    })
}

/// Deletes the objects with a key; there need be none. Atomic.
///
/// Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_delete_key(
    handle: *const fyris_table,
    key: *const fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and the key.
        let (table, key) = unsafe { (table(handle)?, term(key, "the key")?) };
        Ok(table.delete_key(key)?)
    })
}

/// Deletes exactly this object, and in a `duplicate_bag` all its repeats. Atomic.
///
/// Fails as `fyris_table_insert`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_delete_object(
    handle: *const fyris_table,
    object: *const fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and the object.
        let (table, object) = unsafe { (table(handle)?, term(object, "the object")?) };
        Ok(table.delete_object(object)?)
    })
}

/// Empties the table in one atomic and isolated step. O(1) for the caller.
///
/// Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_delete_all_objects(
    handle: *const fyris_table,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table.
    call(err, || Ok(unsafe { table(handle) }?.delete_all_objects()?))
}

/// Removes the objects with a key and returns them as a list, in one atomic step.
///
/// Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_take(
    handle: *const fyris_table,
    key: *const fyris_term,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the key; OUT: the objects.
    call(err, || unsafe {
        let key = term(key, "the key")?;
        listed(handle, objects, |table| table.take(key))
    })
}

/// Removes the objects with all keys of a list and returns them: a list of lists, in the order of the keys. One atomic
/// and isolated step.
///
/// Fails with FYRIS_E_ARGUMENT (`keys` is no list), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS, FYRIS_E_READ_ONLY; then none
/// is removed.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_take_many(
    handle: *const fyris_table,
    keys: *const fyris_term,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the keys; OUT: the objects.
    call(err, || unsafe {
        let keys = in_list(term(keys, "the keys")?, "what names the keys")?;
        listed(handle, objects, |table| table.take_many(keys))
    })
}

/// Puts a value in the place of a part of the object with a key: `path` as for `fyris_table_get_in`; a map need not
/// have the last key of the path. One atomic step. `found`, which may be NULL, says whether there is an object.
///
/// Fails with FYRIS_E_ARGUMENT (the path is no list, leads nowhere or to the key), FYRIS_E_TYPE (a bag), FYRIS_E_LIMIT,
/// FYRIS_E_NOT_UNIQUE, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS, FYRIS_E_READ_ONLY.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_put_in(
    handle: *const fyris_table,
    key: *const fyris_term,
    path: *const fyris_term,
    value: *const fyris_term,
    found: *mut bool,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and the terms.
        let (table, key, path, value) = unsafe {
            let (path, value) = (term(path, "the path")?, term(value, "the value")?);
            (table(handle)?, term(key, "the key")?, path, value)
        };
        let is_there = table.put_in(key, in_list(path, "the path")?, value)?;
        if let Ok(out) = place(found) {
            // SAFETY: OUT.
            unsafe { out.put(is_there) };
        }
        Ok(())
    })
}

/// Takes a part of the object with a key away, and gives it, or NULL if there is none: a key of a map with its value,
/// or an element of a list; `path` as for `fyris_table_get_in`. One atomic step. `part` may be NULL.
///
/// Fails as `fyris_table_put_in`, but not where the path leads nowhere; FYRIS_E_ARGUMENT for an element of a tuple.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_delete_in(
    handle: *const fyris_table,
    key: *const fyris_term,
    path: *const fyris_term,
    part: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and the terms.
        let (table, key, path) = unsafe {
            (
                table(handle)?,
                term(key, "the key")?,
                term(path, "the path")?,
            )
        };
        let old = table.delete_in(key, in_list(path, "the path")?)?;
        if let Ok(out) = place(part) {
            // SAFETY: OUT.
            unsafe { out.put(old.map_or(std::ptr::null_mut(), boxed)) };
        }
        Ok(())
    })
}

/// Adds `increment` to the integer at `position` (from 1; 0 for the element behind the key) and says what it is then,
/// in one atomic step. If no object has the key, `initial` is inserted first, with its key field replaced by `key`;
/// with `initial` NULL that is FYRIS_E_NO_KEY. `value` may be NULL.
///
/// Fails with FYRIS_E_TYPE (no integer there, or the table is a bag), FYRIS_E_ARGUMENT (no such position, or it is the
/// key), FYRIS_E_LIMIT, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS, FYRIS_E_NOT_UNIQUE. Counters never overflow; one that has
/// outgrown `value` is FYRIS_E_RANGE, and is counted all the same.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_count(
    handle: *const fyris_table,
    key: *const fyris_term,
    position: usize,
    increment: i64,
    initial: *const fyris_term,
    value: *mut i64,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and the key.
        let (table, key) = unsafe { (table(handle)?, term(key, "the key")?) };
        let mut op = CounterOp::add(increment);
        if position != 0 {
            op = op.at(position);
        }
        // SAFETY: HANDLE: the initial object, or null.
        let counted = match unsafe { initial.as_ref() } {
            Some(initial) => table.update_counter_or(key, &[op], &initial.0),
            None => table.update_counter(key, &[op]),
        };
        let counted = counted.map_err(of_key(key))?;
        if let (Ok(out), Some(counted)) = (place(value), counted.first()) {
            let counted = int(counted)?;
            // SAFETY: OUT.
            unsafe { out.put(counted) };
        }
        Ok(())
    })
}

/// Counts as `ets:update_counter/3,4`: `ops` is an increment, `{Position, Increment}`, `{Position, Increment,
/// Threshold, Value}` or a list of these, done in order in one atomic and isolated step; `initial` as in
/// `fyris_table_count`. `result`, which may be NULL, is the new value, or the list of them.
///
/// Fails as `fyris_table_count`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_update_counter(
    handle: *const fyris_table,
    key: *const fyris_term,
    ops: *const fyris_term,
    initial: *const fyris_term,
    result: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and the key.
        let (table, key) = unsafe { (table(handle)?, term(key, "the key")?) };
        // SAFETY: HANDLE: the operations, and the initial object or null.
        let (ops, initial) = unsafe { (term(ops, "the operations")?, initial.as_ref()) };
        let counted = table.update_counter_term(key, ops, initial.map(|term| &term.0));
        let counted = counted.map_err(of_key(key))?;
        if let Ok(out) = place(result) {
            // SAFETY: OUT.
            unsafe { out.put(boxed(counted)) };
        }
        Ok(())
    })
}

/// Replaces elements of the object with a key, in one atomic step: `edits` is `{Position, Value}` or a list of them, as
/// for `ets:update_element/3`. If no object has the key, `initial` is inserted with the edits, or with `initial` NULL
/// nothing is done. `updated`, which may be NULL, says whether there is such an object now.
///
/// Fails with FYRIS_E_TYPE for a bag, FYRIS_E_ARGUMENT, FYRIS_E_LIMIT, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS,
/// FYRIS_E_NOT_UNIQUE.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_update_element(
    handle: *const fyris_table,
    key: *const fyris_term,
    edits: *const fyris_term,
    initial: *const fyris_term,
    updated: *mut bool,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and the key.
        let (table, key) = unsafe { (table(handle)?, term(key, "the key")?) };
        // SAFETY: HANDLE: the edits, and the initial object or null.
        let (edits, initial) = unsafe { (term(edits, "the edits")?, initial.as_ref()) };
        let done = table.update_element_term(key, edits, initial.map(|term| &term.0))?;
        if let Ok(out) = place(updated) {
            // SAFETY: OUT.
            unsafe { out.put(done) };
        }
        Ok(())
    })
}

/// Replaces the object `old` by `new`, which has the same key, if the table holds exactly `old`. `swapped`, which may
/// be NULL, says whether it did. Atomic.
///
/// Fails with FYRIS_E_TYPE for a bag and for what is no tuple, FYRIS_E_ARGUMENT (different keys, or too short for one),
/// FYRIS_E_LIMIT, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS, FYRIS_E_NOT_UNIQUE.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_compare_and_swap(
    handle: *const fyris_table,
    old: *const fyris_term,
    new: *const fyris_term,
    swapped: *mut bool,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and the objects.
        let (table, old, new) = unsafe {
            let (old, new) = (term(old, "the old object")?, term(new, "the new object")?);
            (table(handle)?, old, new)
        };
        let done = table.compare_and_swap(old, new)?;
        if let Ok(out) = place(swapped) {
            // SAFETY: OUT.
            unsafe { out.put(done) };
        }
        Ok(())
    })
}

/// Adds a secondary index to a table in use, as the option `{secondary, Name, Value}` of `fyris_table_new` would have
/// made it: all objects are in it when this returns. `value` says what it is of: `{element, Position}`, `{path,
/// [...]}`, `{body, [...]}`, or `{unique, one of these}`. Copies the objects while others go on, and lets transactions
/// under way that have the table conflict.
///
/// Fails with FYRIS_E_ARGUMENT (a wrong value, there is one of this name, or the table's index cannot visit all
/// objects), FYRIS_E_NOT_UNIQUE (two objects have the same value), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_add_secondary(
    handle: *const fyris_table,
    index: *const c_char,
    value: *const fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and the value.
        let (table, value) = unsafe { (table(handle)?, term(value, "the value")?) };
        // SAFETY: TEXT: the name of the index.
        let index = unsafe { text(index, "the name of the index")? };
        table.add_secondary(&SecondaryIndex::new(index, value.clone()))?;
        Ok(())
    })
}

/// Removes a secondary index from a table in use. Costs what adding it does.
///
/// Fails with FYRIS_E_ARGUMENT (the table has no such index), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_remove_secondary(
    handle: *const fyris_table,
    index: *const c_char,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table; TEXT: the name of the index.
        let (table, index) = unsafe { (table(handle)?, text(index, "the name of the index")?) };
        Ok(table.remove_secondary(index)?)
    })
}

/// Gives the table another name. Fails with FYRIS_E_NAME_TAKEN, FYRIS_E_ARGUMENT, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_rename(
    handle: *const fyris_table,
    name: *const fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table and the name.
        let (table, name) = unsafe { (table(handle)?, term(name, "the name")?) };
        let Term::Atom(name) = name else {
            let text = "the name of a table is an atom";
            return Err(Failure::new(FYRIS_E_TYPE, text));
        };
        table.rename(*name)?;
        Ok(())
    })
}
