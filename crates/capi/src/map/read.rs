//! Reading maps: no lock, no system call, no copy.

use std::ffi::c_void;
use std::ops::Bound;

use ::fyris_segment::MapError;

use super::{fyris_map, with};
use crate::args::{Out, bytes};
use crate::error::{Outcome, answer, call, fyris_code, fyris_error};

/// An entry of a map, borrowed until a call changes the working copy.
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

impl fyris_entry {
    fn new(found: Option<(&[u8], &[u8])>) -> fyris_entry {
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

/// The value of a key, borrowed until a call changes the working copy: `*value` is NULL if the key is not there. O(log
/// size).
///
/// Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: any.
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

/// Returns the entry with the smallest key above a bound.
///
/// # Safety
///
/// HANDLE: the map; OUT: the entry.
unsafe fn above(map: *const fyris_map, low: Bound<&[u8]>, entry: *mut fyris_entry) -> Outcome {
    let out = Out::new(entry, "the place for the entry")?;
    // SAFETY: HANDLE: the map; OUT: the entry.
    unsafe {
        out.put(with(map, |map| {
            map.is_empty()?; // which says it if the process was forked
            map.view().first_in(low).map(fyris_entry::new)
        })?)
    };
    Ok(())
}

/// The entry with the smallest key that is not below `key`, borrowed. With no bytes: the first entry. O(log size).
///
/// Fails as `fyris_map_get`.
///
/// Threads: any.
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
        above(map, Bound::Included(bytes(key, key_len, "the key")?), entry)
    })
}

/// The entry with the smallest key above `key`, which need not be there, borrowed. O(log size).
///
/// Fails as `fyris_map_get`.
///
/// Threads: any.
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
        above(map, Bound::Excluded(bytes(key, key_len, "the key")?), entry)
    })
}

/// The entry with the largest key below `key`, which need not be there, borrowed; with `key` NULL the last entry. O(log
/// size).
///
/// Fails as `fyris_map_get`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_prev(
    map: *const fyris_map,
    key: *const c_void,
    key_len: usize,
    entry: *mut fyris_entry,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = Out::new(entry, "the place for the entry")?;
        let high = match key.is_null() {
            true => Bound::Unbounded,
            // SAFETY: ARRAY: the key.
            false => Bound::Excluded(unsafe { bytes(key, key_len, "the key") }?),
        };
        // SAFETY: HANDLE: the map; OUT: the entry.
        unsafe {
            out.put(with(map, |map| {
                map.is_empty()?; // which says it if the process was forked
                map.view().last_in(high).map(fyris_entry::new)
            })?)
        };
        Ok(())
    })
}

/// Returns the number of entries. O(1).
///
/// Fails as `fyris_map_get`.
///
/// Threads: any.
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

/// Returns the version of the working copy, in commits; 0 for NULL, and while another thread is inside a call with the
/// map.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_version(map: *const fyris_map) -> u64 {
    // SAFETY: HANDLE: the map.
    answer(0, || unsafe {
        with(map, |map| Ok::<_, MapError>(map.version()))
    })
}

/// Returns whether others have committed since: two loads, no system call. False for NULL, and while another thread is
/// inside a call with the map.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_is_behind(map: *const fyris_map) -> bool {
    // SAFETY: HANDLE: the map.
    answer(false, || unsafe {
        with(map, |map| Ok::<_, MapError>(map.is_behind()))
    })
}

/// Reads the whole map and verifies it. O(size).
///
/// Fails with FYRIS_E_DAMAGED and the first thing that is wrong.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_check(
    map: *const fyris_map,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the map.
    call(err, || unsafe { with(map, |map| map.check().map(drop)) })
}
