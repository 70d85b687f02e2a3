//! Changing maps by a function that is run again until no other process has committed meanwhile.

use std::ffi::c_void;
use std::ops::Bound::{Excluded, Included};

use ::fyris_segment::MapError;
use ::fyris_segment::versioned_map::{Batch, View};

use super::read::{Found, fyris_entry};
use super::{fyris_map, with};
use crate::args::{Out, bytes, handle_mut};
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome, call, fyris_code, fyris_error};

/// The map inside a `fyris_change`, which alone may use it.
pub struct fyris_batch {
    batch: *mut Batch<'static>,
    /// What the last call that failed has said: the function may give up for it.
    failed: Option<String>,
}

/// Changes the map through the batch. 0: commit; anything else: give up, and nothing of it remains. May be called
/// several times, each time on a newer version, so what it does beside must bear repetition. It must not leave by
/// `longjmp` or an exception; calls with the map itself say FYRIS_E_BUSY. Where it gives up after a call with the batch
/// has failed, the error of `fyris_map_write` tells what that call said.
pub type fyris_change =
    Option<unsafe extern "C" fn(context: *mut c_void, batch: *mut fyris_batch) -> i32>;

/// Changes the map by a function, on the latest version, as one step: others see all of it or nothing. `context` is
/// handed on.
///
/// Fails with FYRIS_E_GAVE_UP, FYRIS_E_UNCOMMITTED if changes were made before, and as `fyris_map_update` and
/// `fyris_map_commit`, but never with FYRIS_E_BEHIND. Nothing of the changes remains then.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_write(
    map: *const fyris_map,
    change: fyris_change,
    context: *mut c_void,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let Some(change) = change else {
            return Err(Failure::new(FYRIS_E_NULL, "the function is NULL"));
        };
        let run = |batch: &mut Batch<'_>| {
            let mut lent = fyris_batch {
                batch: std::ptr::from_mut(batch).cast(),
                failed: None,
            };
            // SAFETY: CALLBACK: a function of this type; the batch lives until it returns.
            match unsafe { change(context, &mut lent) } {
                0 => Ok(()),
                said => {
                    let why = lent.failed.map(|failed| format!(", after: {failed}"));
                    let why = why.unwrap_or_default();
                    let text = format!("the function gave up: {said}{why}");
                    Err(Failure::new(FYRIS_E_GAVE_UP, text))
                }
            }
        };
        // SAFETY: HANDLE: the map.
        unsafe { with(map, |map| map.write(run)) }
    })
}

/// Runs an operation on a batch.
///
/// # Safety
///
/// HANDLE and THREAD: the batch, which is that of a running `fyris_change`.
unsafe fn within<T>(
    batch: *mut fyris_batch,
    operation: impl FnOnce(&mut Batch<'static>) -> Result<T, MapError>,
) -> Result<T, Failure> {
    // SAFETY: HANDLE and THREAD: the batch; `fyris_map_write` waits for the function that has it, and uses nothing of
    // it meanwhile.
    let (lent, batch) = unsafe {
        let lent = handle_mut(batch, "the batch")?;
        let batch = &mut *lent.batch;
        (lent, batch)
    };
    let done = operation(batch).map_err(Failure::from);
    if let Err(failure) = &done {
        lent.failed = Some(failure.text.clone());
    }
    done
}

/// The value of a key, with the changes so far, borrowed until the next change: `*value` is NULL if the key is not
/// there. O(log size).
///
/// Threads: one.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_batch_get(
    batch: *mut fyris_batch,
    key: *const c_void,
    key_len: usize,
    value: *mut *const u8,
    value_len: *mut usize,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let value = Out::new(value, "the place for the value")?;
        let len = Out::new(value_len, "the place for its length")?;
        // SAFETY: ARRAY: the key; HANDLE and THREAD: the batch; OUT: both places.
        unsafe {
            let key = bytes(key, key_len, "the key")?;
            let (found, found_len) = within(batch, |batch| {
                let found = batch.get(key)?;
                Ok(found.map_or((std::ptr::null(), 0), |v| (v.as_ptr(), v.len())))
            })?;
            value.put(found);
            len.put(found_len);
        }
        Ok(())
    })
}

/// Runs a search on a batch, and puts the entry found into the caller's place.
///
/// # Safety
///
/// HANDLE and THREAD: the batch; OUT: the entry.
unsafe fn look(
    batch: *mut fyris_batch,
    find: impl FnOnce(View<'_>) -> Found<'_>,
    entry: *mut fyris_entry,
) -> Outcome {
    let out = Out::new(entry, "the place for the entry")?;
    // SAFETY: HANDLE and THREAD: the batch; OUT: the entry.
    unsafe {
        out.put(within(batch, |batch| {
            find(batch.view()).map(fyris_entry::new)
        })?)
    };
    Ok(())
}

/// The entry with the smallest key that is not below `key`, with the changes so far, borrowed until the next change.
/// With no bytes: the first entry. O(log size).
///
/// Threads: one.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_batch_seek(
    batch: *mut fyris_batch,
    key: *const c_void,
    key_len: usize,
    entry: *mut fyris_entry,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE and THREAD: the batch; ARRAY: the key; OUT: the entry.
    call(err, || unsafe {
        let key = bytes(key, key_len, "the key")?;
        look(batch, |view| view.first_in(Included(key)), entry)
    })
}

/// The entry with the smallest key above `key`, which need not be there, with the changes so far, borrowed until the
/// next change. O(log size).
///
/// Threads: one.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_batch_next(
    batch: *mut fyris_batch,
    key: *const c_void,
    key_len: usize,
    entry: *mut fyris_entry,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE and THREAD: the batch; ARRAY: the key; OUT: the entry.
    call(err, || unsafe {
        let key = bytes(key, key_len, "the key")?;
        look(batch, |view| view.first_in(Excluded(key)), entry)
    })
}

/// The entry with the largest key below `key`, which need not be there, with the changes so far, borrowed until the
/// next change; below no bytes there is none. O(log size).
///
/// Threads: one.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_batch_prev(
    batch: *mut fyris_batch,
    key: *const c_void,
    key_len: usize,
    entry: *mut fyris_entry,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE and THREAD: the batch; ARRAY: the key; OUT: the entry.
    call(err, || unsafe {
        let key = bytes(key, key_len, "the key")?;
        look(batch, |view| view.last_in(Excluded(key)), entry)
    })
}

/// The entry with the largest key, with the changes so far, borrowed until the next change. O(log size).
///
/// Threads: one.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_batch_last(
    batch: *mut fyris_batch,
    entry: *mut fyris_entry,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE and THREAD: the batch; OUT: the entry.
    call(err, || unsafe { look(batch, |view| view.last(), entry) })
}

/// Maps a key to a value. O(log size). The segment grows if need be, as far as it may.
///
/// Fails with FYRIS_E_NO_SPACE, FYRIS_E_LIMIT (key or value too long), FYRIS_E_DAMAGED.
///
/// Threads: one.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_batch_insert(
    batch: *mut fyris_batch,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: ARRAY: key and value; HANDLE and THREAD: the batch.
    call(err, || unsafe {
        let key = bytes(key, key_len, "the key")?;
        let value = bytes(value, value_len, "the value")?;
        within(batch, |batch| batch.insert(key, value).map(drop))
    })
}

/// Removes a key. `removed`, which may be NULL, says whether it was there. O(log size).
///
/// Fails with FYRIS_E_DAMAGED.
///
/// Threads: one.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_batch_remove(
    batch: *mut fyris_batch,
    key: *const c_void,
    key_len: usize,
    removed: *mut bool,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: ARRAY: the key; HANDLE and THREAD: the batch.
        let found = unsafe {
            let key = bytes(key, key_len, "the key")?;
            within(batch, |batch| batch.remove(key))?
        };
        if let Ok(out) = Out::new(removed, "removed") {
            // SAFETY: OUT.
            unsafe { out.put(found) };
        }
        Ok(())
    })
}
