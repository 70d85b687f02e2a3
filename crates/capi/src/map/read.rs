//! Reading maps: no lock, no system call, no copy.

use std::ffi::c_void;
use std::ops::Bound::{Excluded, Included};

use ::fyris_segment::MapError;
use ::fyris_segment::versioned_map::View;

use super::{fyris_map, with};
use crate::args::{Out, bytes};
use crate::error::{Outcome, call, fyris_code, fyris_error};

/// An entry of a map, borrowed until a call, of whatever thread, changes the working copy.
#[repr(C)]
pub struct fyris_entry {
    /// The key; NULL if there is no entry.
    pub key: *const u8,
    /// Bytes of the key.
    pub key_len: usize,
    /// The value.
    pub value: *const u8,
    /// Bytes of the value.
    pub value_len: usize,
}

pub(super) type Found<'a> = Result<Option<(&'a [u8], &'a [u8])>, MapError>;

impl fyris_entry {
    pub(super) fn new(found: Option<(&[u8], &[u8])>) -> fyris_entry {
        let (key, value) = match found {
            Some((key, value)) => (key, value),
            None => {
                let (key, value) = (std::ptr::null(), std::ptr::null());
                return fyris_entry {
                    key,
                    key_len: 0,
                    value,
                    value_len: 0,
                };
            }
        };
        fyris_entry {
            key: key.as_ptr(),
            key_len: key.len(),
            value: value.as_ptr(),
            value_len: value.len(),
        }
    }
}

/// The value of a key, borrowed until a call on any thread changes the working copy: `*value` is NULL if the key is not
/// there. O(log size).
///
/// Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_get(
    map: *const fyris_map,
    key: *const c_void,
    key_len: usize,
    value: *mut *const u8,
    value_len: *mut usize,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let value = Out::new(value, "the place for the value")?;
        let len = Out::new(value_len, "the place for its length")?;
        // SAFETY: ARRAY: the key.
        let key = unsafe { bytes(key, key_len, "the key") }?;
        let get = |map: &mut ::fyris_segment::VersionedMap| {
            let found = map.get(key)?;
            Ok::<_, MapError>(found.map_or((std::ptr::null(), 0), |v| (v.as_ptr(), v.len())))
        };
        // SAFETY: HANDLE: the map; OUT: both places.
        unsafe {
            let (found, found_len) = with(map, get)?;
            value.put(found);
            len.put(found_len);
        }
        Ok(())
    })
}

/// Puts what `find` finds in a map, from one end or from a bound, where the caller wants it.
///
/// # Safety
///
/// HANDLE: the map; OUT: the entry.
unsafe fn look(
    map: *const fyris_map,
    find: impl FnOnce(View<'_>) -> Found<'_>,
    entry: *mut fyris_entry,
) -> Outcome {
    let out = Out::new(entry, "the place for the entry")?;
    // SAFETY: HANDLE: the map; OUT: the entry.
    unsafe {
        out.put(with(map, |map| {
            map.is_empty()?; // which says it if the process was forked
            find(map.view()).map(fyris_entry::new)
        })?)
    };
    Ok(())
}

/// The entry with the smallest key that is not below `key`, borrowed. With no bytes (NULL, or a length of 0, which are
/// the same in all of these calls): the first entry. O(log size).
///
/// Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_seek(
    map: *const fyris_map,
    key: *const c_void,
    key_len: usize,
    entry: *mut fyris_entry,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the map; ARRAY: the key; OUT: the entry.
    call(err, || unsafe {
        let key = bytes(key, key_len, "the key")?;
        look(map, |view| view.first_in(Included(key)), entry)
    })
}

/// The entry with the smallest key above `key`, which need not be there, borrowed. O(log size).
///
/// Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_next(
    map: *const fyris_map,
    key: *const c_void,
    key_len: usize,
    entry: *mut fyris_entry,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the map; ARRAY: the key; OUT: the entry.
    call(err, || unsafe {
        let key = bytes(key, key_len, "the key")?;
        look(map, |view| view.first_in(Excluded(key)), entry)
    })
}

/// The entry with the largest key below `key`, which need not be there, borrowed; below no bytes there is none. O(log
/// size).
///
/// Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_prev(
    map: *const fyris_map,
    key: *const c_void,
    key_len: usize,
    entry: *mut fyris_entry,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the map; ARRAY: the key; OUT: the entry.
    call(err, || unsafe {
        let key = bytes(key, key_len, "the key")?;
        look(map, |view| view.last_in(Excluded(key)), entry)
    })
}

/// The entry with the largest key, borrowed: where a walk by `fyris_map_prev` begins. O(log size).
///
/// Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_last(
    map: *const fyris_map,
    entry: *mut fyris_entry,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the map; OUT: the entry.
    call(err, || unsafe { look(map, |view| view.last(), entry) })
}

/// Returns the number of entries. O(1).
///
/// Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_size(
    map: *const fyris_map,
    entries: *mut u64,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = Out::new(entries, "the place for the number")?;
        // SAFETY: HANDLE: the map; OUT: the number.
        unsafe { out.put(with(map, |map| map.len())?) };
        Ok(())
    })
}

/// The version of the working copy, in commits.
///
/// Fails with FYRIS_E_BUSY.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_version(
    map: *const fyris_map,
    version: *mut u64,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = Out::new(version, "the place for the version")?;
        // SAFETY: HANDLE: the map; OUT: the version.
        unsafe { out.put(with(map, |map| Ok::<_, MapError>(map.version()))?) };
        Ok(())
    })
}

/// Whether others have committed since: two loads, no system call.
///
/// Fails with FYRIS_E_BUSY.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_is_behind(
    map: *const fyris_map,
    behind: *mut bool,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = Out::new(behind, "the place for the answer")?;
        // SAFETY: HANDLE: the map; OUT: the answer.
        unsafe { out.put(with(map, |map| Ok::<_, MapError>(map.is_behind()))?) };
        Ok(())
    })
}

/// Reads the whole map and verifies it. O(size).
///
/// Fails with FYRIS_E_DAMAGED and the first thing that is wrong.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_check(
    map: *const fyris_map,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the map.
    call(err, || unsafe { with(map, |map| map.check().map(drop)) })
}
