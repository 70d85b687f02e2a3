//! What has changed, and how a segment is.

use std::ffi::c_char;
use std::ops::Range;

use ::fyris_segment::{Doctor, Report, Segment};
use ::fyris_term::{Map, Term};

use super::{fyris_ranges, fyris_segment, with};
use crate::args::{Out, text};
use crate::error::{Outcome, call, fyris_code, fyris_error};
use crate::term::fyris_term;

/// # Safety
///
/// C.
unsafe fn ranges(
    segment: *const fyris_segment,
    out: *mut fyris_ranges,
    find: impl FnOnce(&mut Segment) -> ::fyris_segment::Result<Vec<Range<usize>>>,
) -> Outcome {
    let out = Out::new(out, "the place for the ranges")?;
    // SAFETY: C.
    let found = unsafe { with(segment, find) }?;
    // SAFETY: C.
    unsafe { out.put(fyris_ranges::new(&found)) };
    Ok(())
}

/// Where the working copy differs from its version: whole units. O(pages written).
///
/// Fails with FYRIS_E_BASE_LOST, FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_diff(
    segment: *const fyris_segment,
    changed: *mut fyris_ranges,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: C.
    call(err, || unsafe { ranges(segment, changed, Segment::diff) })
}

/// What the trunk has changed since the version of the working copy: whole words or units, whichever is larger. O(pages changed), no system
/// call.
///
/// Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_incoming(
    segment: *const fyris_segment,
    changed: *mut fyris_ranges,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: C.
    call(err, || unsafe {
        ranges(segment, changed, Segment::incoming)
    })
}

/// Looks a segment over without checking it out, repairs what dead processes have left, and checks every invariant. `report`, which
/// may be NULL, is a map: `size`, `max_size`, `unit`, `version`, `frames_free` and so on, and `processes`, a list of maps. O(size).
///
/// Fails with FYRIS_E_DAMAGED and the first thing that is wrong; else as `fyris_segment_checkout`; FYRIS_E_TIMEOUT.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_doctor(
    name: *const c_char,
    report: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: C.
        let doctor = Doctor::open(unsafe { text(name, "the segment's name") }?)?;
        doctor.repair()?;
        doctor.check()?;
        if let Ok(out) = Out::new(report, "report") {
            let term = fyris_term(described(&doctor.report()?));
            // SAFETY: C.
            unsafe { out.put(Box::into_raw(Box::new(term))) };
        }
        Ok(())
    })
}

fn described(report: &Report) -> Term {
    let number = |name: &str, n: u64| (Term::atom(name), Term::integer(n));
    let processes = report.processes.iter().map(|process| {
        Term::Map(Map::new(vec![
            number("pid", u64::from(process.pid)),
            (
                Term::atom("alive"),
                Term::atom(if process.alive { "true" } else { "false" }),
            ),
            (
                Term::atom("behind"),
                process.behind.map_or(Term::atom("cut"), Term::integer),
            ),
            number("commits", process.commits),
        ]))
    });
    Term::Map(Map::new(vec![
        number("size", report.size as u64),
        number("max_size", report.max_size as u64),
        number("unit", report.unit as u64),
        number("version", report.version),
        number("log_used", report.log_used),
        number("log_size", report.log_size as u64),
        number("frames_current", report.frames_current as u64),
        number("frames_retained", report.frames_retained as u64),
        number("frames_reserved", report.frames_reserved as u64),
        number("frames_free", report.frames_free as u64),
        number("cuts", report.cuts),
        (Term::atom("processes"), Term::List(processes.collect())),
    ]))
}
