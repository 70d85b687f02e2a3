//! Transactions, and waiting for versions.

use std::ffi::c_void;
use std::time::Duration;

use ::fyris_segment::{Segment, Watcher, let_others_pass};

use super::commit::tell;
use super::{fyris_segment, fyris_updated, update, with};
use crate::args::{Out, handle};
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome, call, fyris_code, fyris_error};

/// Begins a transaction by hand: brings the working copy to the trunk's latest version. Then change it and commit:
/// FYRIS_E_BEHIND says that another process was faster; discard and begin again, as `fyris_segment_transaction` does.
/// `updated` may be NULL.
///
/// Fails with FYRIS_E_UNCOMMITTED if there are changes already, FYRIS_E_BASE_LOST if that cannot be told because this
/// process lagged too far (commit or discard first, in both cases), FYRIS_E_READ_ONLY, FYRIS_E_FORKED, FYRIS_E_BUSY,
/// FYRIS_E_DAMAGED.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_begin(
    segment: *const fyris_segment,
    updated: *mut fyris_updated,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the segment; OUT: `updated`.
    call(err, || unsafe {
        update::told(updated, || with(segment, Segment::begin))
    })
}

/// Changes the working copy, of `size` bytes at `data`. 0: commit; anything else: give up, and nothing of it remains.
/// May be called several times, each time on a newer version, so what it does beside must bear repetition. It must not
/// leave by `longjmp` or an exception. With the option `declared` it calls `fyris_segment_touch`; calls with the
/// segment that update, commit, discard or begin say FYRIS_E_BUSY.
pub type fyris_segment_change =
    Option<unsafe extern "C" fn(context: *mut c_void, data: *mut c_void, size: usize) -> i32>;

/// Changes the segment by a function, on the latest version, as one step: others see all of it or nothing. The function
/// is called again whenever another process committed meanwhile. `context` is handed on; `version`, which may be NULL,
/// is the new version.
///
/// Fails with FYRIS_E_GAVE_UP, and as `fyris_segment_begin` and `fyris_segment_commit`, but never with FYRIS_E_BEHIND.
/// Nothing of the changes remains then.
///
/// Threads: turn; while the function runs other threads are told FYRIS_E_BUSY as it is.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_transaction(
    segment: *const fyris_segment,
    change: fyris_segment_change,
    context: *mut c_void,
    version: *mut u64,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let Some(change) = change else {
            return Err(Failure::new(FYRIS_E_NULL, "the function is NULL"));
        };
        // SAFETY: HANDLE: the segment.
        let shared = &unsafe { handle(segment, "the segment") }?.0;
        for lost in 0.. {
            let (data, size) = shared.with(|segment| {
                segment.begin_change()?;
                Ok((segment.as_ptr().cast_mut(), segment.len()))
            })?;
            // SAFETY: CALLBACK: a function of this type; HANDLE: the working copy stays while the segment does, and is
            // writable.
            let said = unsafe { change(context, data.cast(), size) };
            let committed = shared.lock_in_turn()?.end_change(said == 0);
            if said != 0 {
                let text = format!("the function gave up: {said}");
                return Err(Failure::new(FYRIS_E_GAVE_UP, text));
            }
            match committed? {
                Some(committed) => return tell(committed, version),
                None => let_others_pass(lost),
            }
        }
        unreachable!("lost more often than a number can say")
    })
}

/// Sleeps until the trunk has changes that the working copy has not, or until `millis` milliseconds have passed (for
/// ever, if that is negative). `news`, which may be NULL, says whether there are such changes; if there are already it
/// returns at once. Commits wake the sleeper. Another thread may use the segment meanwhile, but not free it.
///
/// Fails with FYRIS_E_UNLINKED (there are none, and the segment's name is gone), FYRIS_E_FORKED, FYRIS_E_BUSY.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_wait(
    segment: *const fyris_segment,
    millis: i64,
    news: *mut bool,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the segment.
        let watcher = unsafe { with(segment, |segment| Ok(segment.watcher())) }?;
        wait(&watcher, millis, news)
    })
}

/// Sleeps for `millis`, or for ever, and says where the caller wants it whether there are news.
pub(crate) fn wait(watcher: &Watcher, millis: i64, news: *mut bool) -> Outcome {
    let timeout = u64::try_from(millis).ok().map(Duration::from_millis);
    let found = watcher.wait(timeout)?;
    if let Ok(out) = Out::new(news, "news") {
        // SAFETY: OUT: an out-argument of the C caller.
        unsafe { out.put(found) };
    }
    Ok(())
}
