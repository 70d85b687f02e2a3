//! Version-controlled shared memory.
//!
//! A handle may be used by any thread, one at a time: a second one is told FYRIS_E_BUSY at once. That, too, keeps a
//! conflict callback from calling back into its own segment.

mod checkout;
mod commit;
mod inspect;
mod options;
mod transaction;
mod update;

use std::ops::Range;

use ::fyris_segment::{Error, Segment, Shared};

use crate::args::{Out, handle};
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome};

pub use checkout::*;
pub use commit::*;
pub use inspect::*;
pub use transaction::*;
pub use update::*;

pub(crate) use options::options_of;
pub(crate) use transaction::wait;
pub(crate) use update::told;

/// A segment that is checked out: a private working copy of memory that processes share.
pub struct fyris_segment(Shared);

/// Bytes from `start` to before `end`, counted from the begin of the segment.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fyris_range {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

/// Byte ranges that Fyris made, ascending, to be given back with `fyris_ranges_free`.
#[repr(C)]
pub struct fyris_ranges {
    /// The first range; NULL if there are none.
    pub ranges: *mut fyris_range,
    /// The number of them.
    pub count: usize,
}

impl fyris_ranges {
    fn new(ranges: &[Range<usize>]) -> fyris_ranges {
        if ranges.is_empty() {
            let ranges = std::ptr::null_mut();
            return fyris_ranges { ranges, count: 0 };
        }
        let each = ranges.iter().map(|range| fyris_range {
            start: range.start,
            end: range.end,
        });
        let all: Box<[fyris_range]> = each.collect();
        fyris_ranges {
            count: all.len(),
            ranges: Box::into_raw(all).cast(),
        }
    }
}

/// Frees the ranges and makes `ranges` empty, so that freeing twice does no harm. NULL is allowed.
///
/// Threads: one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_ranges_free(ranges: *mut fyris_ranges) {
    // SAFETY: FILLED and THREAD: the ranges, or null.
    let Some(ranges) = (unsafe { ranges.as_mut() }) else {
        return;
    };
    if !ranges.ranges.is_null() {
        let all = std::ptr::slice_from_raw_parts_mut(ranges.ranges, ranges.count);
        // SAFETY: FILLED: as `fyris_ranges::new` made it; THREAD: no other thread frees it.
        drop(unsafe { Box::from_raw(all) });
    }
    ranges.ranges = std::ptr::null_mut();
    ranges.count = 0;
}

/// Runs an operation on a segment.
///
/// # Safety
///
/// HANDLE: the segment.
unsafe fn with<T>(
    segment: *const fyris_segment,
    operation: impl FnOnce(&mut Segment) -> ::fyris_segment::Result<T>,
) -> Outcome<T> {
    // SAFETY: HANDLE: the segment.
    let segment = unsafe { handle(segment, "the segment") }?;
    Ok(segment.0.with(operation)?)
}

/// Runs an operation that may find conflicts on a segment; they go to `conflicts` unless that is null.
///
/// # Safety
///
/// HANDLE: the segment; OUT: the conflicts.
unsafe fn with_conflicts<T>(
    segment: *const fyris_segment,
    conflicts: *mut fyris_ranges,
    operation: impl FnOnce(&mut Segment) -> ::fyris_segment::Result<T>,
) -> Outcome<T> {
    // SAFETY: HANDLE: the segment.
    let segment = unsafe { handle(segment, "the segment") }?;
    segment.0.with(operation).map_err(|error| {
        if let Error::Conflict { ranges } | Error::BaseLost { ranges } = &error
            && let Ok(out) = Out::new(conflicts, "conflicts")
        {
            // SAFETY: OUT.
            unsafe { out.put(fyris_ranges::new(ranges)) };
        }
        error.into()
    })
}

/// Returns a range given as offset and length.
fn range(offset: usize, len: usize) -> Outcome<Range<usize>> {
    match offset.checked_add(len) {
        Some(end) => Ok(offset..end),
        None => {
            let text = format!("{len} bytes from offset {offset} on end nowhere");
            Err(Failure::new(FYRIS_E_ARGUMENT, text))
        }
    }
}
