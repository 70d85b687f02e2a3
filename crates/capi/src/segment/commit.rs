//! Commits: the working copy's changes into the trunk.

use ::fyris_segment::Segment;

use super::{fyris_ranges, fyris_segment, range, with, with_conflicts};
use crate::args::Out;
use crate::error::{Outcome, call, fyris_code, fyris_error};

/// Puts a version where the caller wants it, if it does.
pub(super) fn tell(version: u64, out: *mut u64) -> Outcome {
    if let Ok(out) = Out::new(out, "version") {
        // SAFETY: OUT: an out-argument of the C caller.
        unsafe { out.put(version) };
    }
    Ok(())
}

/// Publishes the changes made here: others see all of them at their next update, or none. `version`, which may be NULL,
/// is the new version, or the present one if nothing was changed. A process that dies meanwhile, at any instruction,
/// harms nobody.
///
/// Fails with FYRIS_E_BEHIND, FYRIS_E_READ_ONLY, FYRIS_E_NO_SPACE, FYRIS_E_TIMEOUT, FYRIS_E_FORKED, FYRIS_E_BUSY,
/// FYRIS_E_DAMAGED, FYRIS_E_UNLINKED; the changes stay local then.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_commit(
    segment: *const fyris_segment,
    version: *mut u64,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the segment.
        tell(unsafe { with(segment, Segment::commit) }?, version)
    })
}

/// Update and commit in one step, never FYRIS_E_BEHIND: where both sides changed a unit, that of this process wins.
///
/// Fails as `fyris_segment_update` and `fyris_segment_commit`; the update may have been done then.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_commit_merge(
    segment: *const fyris_segment,
    version: *mut u64,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the segment.
        tell(unsafe { with(segment, Segment::commit_merge) }?, version)
    })
}

/// Update and commit in one step, unless a unit was changed on both sides: then nothing is committed, and `conflicts`
/// says where, as for `fyris_segment_update_validated`.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_commit_merge_validated(
    segment: *const fyris_segment,
    version: *mut u64,
    conflicts: *mut fyris_ranges,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the segment; OUT: the conflicts.
        let done = unsafe { with_conflicts(segment, conflicts, Segment::commit_merge_validated) }?;
        tell(done, version)
    })
}

/// Declares that `len` bytes from `offset` on were or will be written before the next commit: their pages take no fault
/// and need no scan. With the option `declared` only what was touched is committed. O(pages).
///
/// Fails with FYRIS_E_ARGUMENT (outside of the segment), FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_touch(
    segment: *const fyris_segment,
    offset: usize,
    len: usize,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let range = range(offset, len)?;
        // SAFETY: HANDLE: the segment.
        unsafe { with(segment, |segment| segment.touch(range)) }
    })
}

/// Makes the segment longer, for everybody: others see it at their next update. The new bytes are zero, the old ones
/// stay where they are. A smaller size changes nothing.
///
/// Fails with FYRIS_E_LIMIT beyond its `max_size`, FYRIS_E_READ_ONLY, FYRIS_E_NO_SPACE, FYRIS_E_TIMEOUT,
/// FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_UNLINKED.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_grow(
    segment: *const fyris_segment,
    size: usize,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the segment.
    call(err, || unsafe {
        with(segment, |segment| segment.grow(size))
    })
}

/// Takes the changes made here back: the working copy is at its version again.
///
/// Fails with FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_discard(
    segment: *const fyris_segment,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the segment.
    call(err, || unsafe { with(segment, Segment::discard) })
}

/// Writes a segment that is a file to its disk.
///
/// Fails with FYRIS_E_IO, FYRIS_E_NO_SPACE, FYRIS_E_FORKED, FYRIS_E_BUSY.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_sync(
    segment: *const fyris_segment,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the segment.
    call(err, || unsafe { with(segment, |segment| segment.sync()) })
}
