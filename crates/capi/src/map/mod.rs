//! Ordered maps in segments: byte-string keys, byte-string values, shared by processes.
//!
//! A pointer that a call lends out points into the working copy. It stays until a call changes the copy, of whatever
//! thread: an update, an insert, a removal, a commit's retry. As with segments, a second thread inside is told
//! FYRIS_E_BUSY.

mod batch;
mod read;
mod write;

use std::ffi::c_char;

use ::fyris_segment::{Shared, VersionedMap};

use crate::args::{handle, text};
use crate::error::{Failure, Outcome, free, fyris_error, make};
use crate::segment::options_of;

pub use batch::*;
pub use read::*;
pub use write::*;

/// An ordered map in a segment, as this process sees it.
pub struct fyris_map(Shared<VersionedMap>);

/// Runs an operation on a map.
///
/// # Safety
///
/// HANDLE: the map.
unsafe fn with<T, E: Into<Failure>>(
    map: *const fyris_map,
    operation: impl FnOnce(&mut VersionedMap) -> Result<T, E>,
) -> Outcome<T> {
    // SAFETY: HANDLE: the map.
    let map = unsafe { handle(map, "the map") }?;
    // A callback that left half-way left the map as it was.
    operation(&mut *map.0.lock()?).map_err(Into::into)
}

/// Checks a segment out and opens the map in it; in a new segment an empty map is made. Name, size and options are
/// those of `fyris_segment_checkout` (with `{max_size, Bytes}` the map grows by itself), but for `{private, Start,
/// End}`, since a map is committed as a whole; writes are declared by the map, whatever they say of tracking.
///
/// Fails as `fyris_segment_checkout`; FYRIS_E_DAMAGED if the segment holds no map, FYRIS_E_ARGUMENT if it is too small,
/// its unit larger than 8, or bytes of it are to be private.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_checkout(
    name: *const c_char,
    size: usize,
    options: *const c_char,
    err: *mut fyris_error,
) -> *mut fyris_map {
    make(err, || {
        // SAFETY: TEXT: the name.
        let name = unsafe { text(name, "the map's name") }?;
        // SAFETY: TEXT: the options, or null.
        let options = unsafe { options_of(options) }?;
        let map = VersionedMap::checkout(name, size, &options)?;
        Ok(fyris_map(Shared::new(map)))
    })
}

/// Gives the working copy up, with its uncommitted changes; the map stays, until `fyris_segment_unlink` removes its
/// name.
///
/// Threads: last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_map_free(map: *mut fyris_map) {
    // SAFETY: OWNED and THREAD: the last use.
    unsafe { free(map) }
}
