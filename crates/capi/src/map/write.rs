//! Changing maps, call by call.

use std::ffi::c_void;

use ::fyris_segment::{MapError, VersionedMap};

use super::{fyris_map, with};
use crate::args::{Out, bytes, handle};
use crate::error::{call, fyris_code, fyris_error};
use crate::segment::{fyris_updated, told, wait};

/// Maps a key to a value in the working copy; a commit publishes it. O(log size). The segment grows if need be, as far
/// as it may.
///
/// Fails with FYRIS_E_NO_SPACE, FYRIS_E_LIMIT (key or value too long), FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY;
/// with FYRIS_E_DAMAGED the working copy should be discarded.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_insert(
    map: *const fyris_map,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: ARRAY: key and value; HANDLE: the map.
    call(err, || unsafe {
        let key = bytes(key, key_len, "the key")?;
        let value = bytes(value, value_len, "the value")?;
        with(map, |map| map.insert(key, value).map(drop))
    })
}

/// Removes a key from the working copy. `removed`, which may be NULL, says whether it was there. O(log size).
///
/// Fails with FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY; with FYRIS_E_DAMAGED the working copy should be
/// discarded.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_remove(
    map: *const fyris_map,
    key: *const c_void,
    key_len: usize,
    removed: *mut bool,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: ARRAY: the key; HANDLE: the map.
        let found = unsafe {
            let key = bytes(key, key_len, "the key")?;
            with(map, |map| map.remove(key))?
        };
        if let Ok(out) = Out::new(removed, "removed") {
            // SAFETY: OUT.
            unsafe { out.put(found) };
        }
        Ok(())
    })
}

/// Removes everything from the working copy.
///
/// Fails with FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY; with FYRIS_E_DAMAGED the working copy should be
/// discarded.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_clear(
    map: *const fyris_map,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the map.
    call(err, || unsafe { with(map, VersionedMap::clear) })
}

/// Takes the latest version. `updated` may be NULL.
///
/// Fails with FYRIS_E_UNCOMMITTED (maps are not merged), FYRIS_E_DAMAGED, FYRIS_E_FORKED, FYRIS_E_BUSY.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_update(
    map: *const fyris_map,
    updated: *mut fyris_updated,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the map; OUT: `updated`.
    call(err, || unsafe {
        told(updated, || with(map, VersionedMap::update))
    })
}

/// Publishes the changes of the working copy. `version`, which may be NULL, is the new version, or the present one if
/// there are none.
///
/// Fails with FYRIS_E_BEHIND: another writer was first; discard, update, and make the changes again (`fyris_map_write`
/// does). Else as `fyris_segment_commit`.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_commit(
    map: *const fyris_map,
    version: *mut u64,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the map.
        let committed = unsafe { with(map, VersionedMap::commit) }?;
        if let Ok(out) = Out::new(version, "version") {
            // SAFETY: OUT.
            unsafe { out.put(committed) };
        }
        Ok(())
    })
}

/// Sleeps until others have committed, as `fyris_segment_wait`. Other threads may use the map meanwhile, but not free
/// it.
///
/// Fails as there.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_wait(
    map: *const fyris_map,
    millis: i64,
    news: *mut bool,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the map.
        let watcher = unsafe { with(map, |map| Ok::<_, MapError>(map.segment().watcher())) }?;
        wait(&watcher, millis, news)
    })
}

/// Writes a map whose segment is a file to its disk.
///
/// Fails with FYRIS_E_IO, FYRIS_E_NO_SPACE, FYRIS_E_FORKED, FYRIS_E_BUSY.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_sync(
    map: *const fyris_map,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the map.
    call(err, || unsafe { with(map, |map| map.segment().sync()) })
}

/// Takes back the changes since the last commit.
///
/// Fails with FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_discard(
    map: *const fyris_map,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the map.
    call(err, || unsafe { with(map, VersionedMap::discard) })
}

/// In a forked child: checks the map out anew, as `fyris_segment_reattach`.
///
/// Fails as there.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_reattach(
    map: *const fyris_map,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the map.
        Ok(unsafe { handle(map, "the map") }?.0.reattach()?)
    })
}
