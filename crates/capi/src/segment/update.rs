//! Updates: the trunk's changes into the working copy.

use std::ffi::c_void;

use ::fyris_segment::{Choice, Conflict, Segment, Updated};

use super::{fyris_ranges, fyris_segment, with, with_conflicts};
use crate::args::Known;
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome, call, fyris_code, fyris_error};

/// The result of an update.
#[repr(C)]
pub struct fyris_updated {
    /// `sizeof` of this struct, which the caller sets (FYRIS_UPDATED_INIT): later versions may have more fields.
    pub struct_size: usize,
    /// The version that the working copy is at now.
    pub version: u64,
    /// Pages that the trunk had changed.
    pub pages: usize,
    /// Bytes that were written into the working copy: whole words or pages, and the units that a callback decided.
    pub bytes: usize,
    /// Units that both sides had changed.
    pub conflicts: usize,
}

/// Runs what updates, and puts what that brought where the caller wants it, if it does.
///
/// # Safety
///
/// OUT: `out`.
pub(crate) unsafe fn told(
    out: *mut fyris_updated,
    update: impl FnOnce() -> Outcome<Updated>,
) -> Outcome {
    // SAFETY: OUT: an out-argument of the C caller.
    let out = unsafe { Known::wanted(out, "updated") }?;
    let updated = update()?;
    if let Some(out) = out {
        let updated = fyris_updated {
            struct_size: 0,
            version: updated.version,
            pages: updated.pages,
            bytes: updated.bytes,
            conflicts: updated.conflicts,
        };
        // SAFETY: OUT: an out-argument of the C caller.
        unsafe { out.put(updated) };
    }
    Ok(())
}

/// Merges the trunk's changes into the working copy, unit by unit: what was changed here stays, everything else becomes
/// the trunk's. Never waits for commits; with nothing new it is two loads. `updated` may be NULL.
///
/// Fails with FYRIS_E_BASE_LOST, FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED; the working copy is untouched then.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_update(
    segment: *const fyris_segment,
    updated: *mut fyris_updated,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the segment; OUT: `updated`.
    call(err, || unsafe {
        told(updated, || with(segment, Segment::update))
    })
}

/// Merges the trunk's changes into the working copy, unless a unit was changed on both sides, even to the same value:
/// then nothing is done and `conflicts`, which may be NULL, says where: with FYRIS_E_CONFLICT the units that both sides
/// changed, with FYRIS_E_BASE_LOST the units in which the two sides differ, on pages that both have changed. With other
/// codes it is not written.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_update_validated(
    segment: *const fyris_segment,
    updated: *mut fyris_updated,
    conflicts: *mut fyris_ranges,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the segment; OUT: the conflicts and `updated`.
    call(err, || unsafe {
        told(updated, || {
            with_conflicts(segment, conflicts, Segment::update_validated)
        })
    })
}

/// Keep the working copy's; the next commit overwrites the trunk's.
pub const FYRIS_LOCAL: i32 = 0;
/// Take the trunk's.
pub const FYRIS_INCOMING: i32 = 1;
/// Take what the callback wrote to `result`.
pub const FYRIS_RESULT: i32 = 2;
/// Do nothing: the update fails with FYRIS_E_GAVE_UP.
pub const FYRIS_GIVE_UP: i32 = -1;

/// A unit that both sides changed. The memory is borrowed until the callback returns.
#[repr(C)]
pub struct fyris_conflict {
    /// The offset of the unit in the segment, in bytes.
    pub offset: usize,
    /// The number of bytes of the unit, and of each of the following.
    pub unit: usize,
    /// The unit as both sides began with it; NULL if that is gone because the working copy lagged too far behind.
    pub base: *const u8,
    /// The unit in the working copy.
    pub local: *const u8,
    /// The unit in the trunk.
    pub incoming: *const u8,
}

/// Decides about a conflict: FYRIS_LOCAL, FYRIS_INCOMING, FYRIS_RESULT having written `unit` bytes to `result`, or
/// FYRIS_GIVE_UP. It may block, but not leave by `longjmp` or an exception; a call with the same segment says
/// FYRIS_E_BUSY.
pub type fyris_decide = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        conflict: *const fyris_conflict,
        result: *mut u8,
    ) -> i32,
>;

/// Merges the trunk's changes into the working copy, asking `decide` about each unit that both sides changed. All are
/// asked before anything is written, in no order that means anything, and some perhaps twice. `context` is handed on.
///
/// Fails with FYRIS_E_GAVE_UP, FYRIS_E_ARGUMENT for an answer that is none, FYRIS_E_FORKED, FYRIS_E_BUSY,
/// FYRIS_E_DAMAGED; the working copy is untouched then.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_update_with(
    segment: *const fyris_segment,
    decide: fyris_decide,
    context: *mut c_void,
    updated: *mut fyris_updated,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let Some(decide) = decide else {
            return Err(Failure::new(FYRIS_E_NULL, "the callback is NULL"));
        };
        let ask = |conflict: Conflict<'_>| {
            let mut result = [0; 64];
            let question = question(&conflict);
            // SAFETY: CALLBACK: a function of this type, which writes no more than a unit; all pointers are to memory
            // that lives until it returns, 64 bytes are as long as the longest unit.
            match unsafe { decide(context, &question, result.as_mut_ptr()) } {
                FYRIS_LOCAL => Choice::Local,
                FYRIS_INCOMING => Choice::Incoming,
                FYRIS_RESULT => Choice::Write(result),
                // Mutant: a callback that gives up is not heard.
                _ if cfg!(fyris_mutant = "capi_give_up_unheard") => Choice::Local,
                FYRIS_GIVE_UP => Failure::new(FYRIS_E_GAVE_UP, "the callback gave up").throw(),
                other => {
                    let text = format!("the callback's answer {other} is none");
                    Failure::new(FYRIS_E_ARGUMENT, text).throw()
                }
            }
        };
        // SAFETY: HANDLE: the segment; OUT: `updated`.
        unsafe {
            told(updated, || {
                with(segment, |segment| segment.update_with(ask))
            })
        }
    })
}

fn question(conflict: &Conflict<'_>) -> fyris_conflict {
    fyris_conflict {
        offset: conflict.offset,
        unit: conflict.local.len(),
        base: conflict.base.map_or(std::ptr::null(), <[u8]>::as_ptr),
        local: conflict.local.as_ptr(),
        incoming: conflict.incoming.as_ptr(),
    }
}
