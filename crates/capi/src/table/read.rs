//! Reading tables.

use std::ffi::{c_char, c_void};

use ::fyris_term::Term;
use fyris::InfoValue;

use super::{boxed, fyris_table, in_list, listed, of_key, place, table, term};
use crate::args::{bytes, text};
use crate::error::fyris_code::*;
use crate::error::{Failure, call, fyris_code, fyris_error};
use crate::term::{decode, encode, fyris_bytes, fyris_term};

/// The objects with a key: a list, which may be empty. Takes no lock.
///
/// Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_lookup(
    handle: *const fyris_table,
    key: *const fyris_term,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the key; OUT: the objects.
    call(err, || unsafe {
        let key = term(key, "the key")?;
        listed(handle, objects, |table| table.lookup(key))
    })
}

/// The objects with each of the keys of a list: a list of lists, in the order of the keys, where there is none an empty
/// one. Each key is looked up at a moment of its own, but of every list that was inserted at once all is seen or
/// nothing.
///
/// Fails with FYRIS_E_ARGUMENT (`keys` is no list), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_lookup_many(
    handle: *const fyris_table,
    keys: *const fyris_term,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the keys; OUT: the objects.
    call(err, || unsafe {
        let keys = in_list(term(keys, "the keys")?, "what names the keys")?;
        listed(handle, objects, |table| table.lookup_many(keys))
    })
}

/// A part of the object with a key, without the rest: `path` is a list of a position, from 1, and then of keys of maps
/// and positions. NULL if there is no such part; in the bags it is one of the newest object.
///
/// Fails with FYRIS_E_ARGUMENT (the path is no list), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_get_in(
    handle: *const fyris_table,
    key: *const fyris_term,
    path: *const fyris_term,
    part: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(part)?;
        // SAFETY: HANDLE: the table and the terms.
        let (table, key, path) = unsafe {
            (
                table(handle)?,
                term(key, "the key")?,
                term(path, "the path")?,
            )
        };
        let found = table.get_in(key, in_list(path, "the path")?)?;
        // SAFETY: OUT.
        unsafe { out.put(found.map_or(std::ptr::null_mut(), boxed)) };
        Ok(())
    })
}

/// The objects that have a value by a secondary index: a list, which may be empty, in the order of their keys, in the
/// bags those of one key in the order of their insertion. `index` is the name of one that the table was made with, by
/// the option `{secondary, Name, Value}` of `fyris_table_new`, or that `fyris_table_add_secondary` has added. Values
/// are equal if they are of the same type: 1 and 1.0 are two. If more than 512 objects are visited, all are as they
/// were at one moment of the call.
///
/// Fails with FYRIS_E_ARGUMENT (the table has no such index), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_lookup_by(
    handle: *const fyris_table,
    index: *const c_char,
    value: *const fyris_term,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the value; TEXT: the name of the index; OUT: the objects.
    call(err, || unsafe {
        let (value, index) = (
            term(value, "the value")?,
            text(index, "the name of the index")?,
        );
        listed(handle, objects, |table| table.lookup_by(index, value))
    })
}

/// The objects with a key, a list, which may be empty: both in external term format. Takes no lock.
///
/// Fails with FYRIS_E_FORMAT, FYRIS_E_LIMIT, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_lookup_encoded(
    handle: *const fyris_table,
    key: *const c_void,
    len: usize,
    objects: *mut fyris_bytes,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(objects)?;
        // SAFETY: HANDLE: the table; ARRAY: the encoded key.
        let (table, key) = unsafe { (table(handle)?, bytes(key, len, "the encoded key")?) };
        let found = encode(&Term::list(table.lookup(&decode(key)?)?))?;
        // SAFETY: OUT.
        unsafe { out.put(found) };
        Ok(())
    })
}

/// The element at `position` (from 1) of the object with a key; in the bags a list of them. Takes no lock.
///
/// Fails with FYRIS_E_NO_KEY, FYRIS_E_ARGUMENT (the object is shorter), FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_lookup_element(
    handle: *const fyris_table,
    key: *const fyris_term,
    position: usize,
    element: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(element)?;
        // SAFETY: HANDLE: the table and the key.
        let (table, key) = unsafe { (table(handle)?, term(key, "the key")?) };
        let found = table.lookup_element(key, position).map_err(of_key(key))?;
        // SAFETY: OUT.
        unsafe { out.put(boxed(found.into_term())) };
        Ok(())
    })
}

/// Returns whether an object has the key. Takes no lock.
///
/// Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_member(
    handle: *const fyris_table,
    key: *const fyris_term,
    found: *mut bool,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(found)?;
        // SAFETY: HANDLE: the table and the key.
        let (table, key) = unsafe { (table(handle)?, term(key, "the key")?) };
        let found = table.member(key)?;
        // SAFETY: OUT.
        unsafe { out.put(found) };
        Ok(())
    })
}

/// One item of what `ets:info/2` tells, by its name: `size` (objects), `memory` (bytes), `type`, `keypos`,
/// `protection`, `index`, and so on.
///
/// Fails with FYRIS_E_ARGUMENT for another name, and for what only Erlang can show (pids); FYRIS_E_NO_TABLE.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_info(
    handle: *const fyris_table,
    item: *const c_char,
    value: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(value)?;
        // SAFETY: HANDLE: the table; TEXT: the item's name.
        let (table, item) = unsafe { (table(handle)?, text(item, "the name of the item")?) };
        let found = match table.info_item(item)? {
            Some(InfoValue::Term(term)) => term,
            Some(_) => {
                let text = format!("the item {item} is not for C");
                return Err(Failure::new(FYRIS_E_ARGUMENT, text));
            }
            None => return Err(gone(table).into()),
        };
        // SAFETY: OUT.
        unsafe { out.put(boxed(found)) };
        Ok(())
    })
}

/// Returns the number of objects: every finished insert and delete is counted.
///
/// Fails with FYRIS_E_NO_TABLE.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_size(
    handle: *const fyris_table,
    objects: *mut usize,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(objects)?;
        // SAFETY: HANDLE: the table.
        let table = unsafe { table(handle) }?;
        match table.info() {
            // SAFETY: OUT.
            Some(info) => unsafe { out.put(info.size) },
            None => return Err(gone(table).into()),
        }
        Ok(())
    })
}

/// Returns why a table has no information: it is deleted, or a snapshot that was released.
fn gone(table: &fyris::Table) -> fyris::Error {
    let error = table.check(fyris::Right::Read).err();
    error.unwrap_or_else(|| fyris::Error::NoSuchTable(table.reference().into()))
}
