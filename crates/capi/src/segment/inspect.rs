//! Changes in a working copy or the trunk, and the state of a segment.

use std::ffi::c_char;
use std::ops::Range;

use ::fyris_segment::{Doctor, Listed, Report, Segment};
use ::fyris_term::{Map, Term};

use super::{fyris_ranges, fyris_segment, with};
use crate::args::{Out, text};
use crate::error::{Outcome, call, fyris_code, fyris_error};
use crate::term::fyris_term;

/// # Safety
///
/// HANDLE: the segment; OUT: the ranges.
unsafe fn ranges(
    segment: *const fyris_segment,
    out: *mut fyris_ranges,
    find: impl FnOnce(&mut Segment) -> ::fyris_segment::Result<Vec<Range<usize>>>,
) -> Outcome {
    let out = Out::new(out, "the place for the ranges")?;
    // SAFETY: HANDLE: the segment.
    let found = unsafe { with(segment, find) }?;
    // SAFETY: OUT.
    unsafe { out.put(fyris_ranges::new(&found)) };
    Ok(())
}

/// Lists the places where the working copy differs from its version: whole units. O(pages written).
///
/// Fails with FYRIS_E_BASE_LOST if that version is gone because this process lagged too far, FYRIS_E_FORKED,
/// FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_diff(
    segment: *const fyris_segment,
    changed: *mut fyris_ranges,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the segment; OUT: the ranges.
    call(err, || unsafe { ranges(segment, changed, Segment::diff) })
}

/// Lists the changes in the trunk since the version of the working copy: whole words or units, whichever is larger.
/// O(pages changed), no system call.
///
/// Fails with FYRIS_E_FORKED, FYRIS_E_BUSY, FYRIS_E_DAMAGED.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_incoming(
    segment: *const fyris_segment,
    changed: *mut fyris_ranges,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the segment; OUT: the ranges.
    call(err, || unsafe {
        ranges(segment, changed, Segment::incoming)
    })
}

/// Looks a segment over without checking it out, repairs what dead processes have left, and checks every invariant.
/// `report`, which may be NULL, is a map: `size`, `max_size`, `unit`, `version`, `frames_free` and so on; `processes`,
/// a list of maps; `longest_runs`, what readers with `in_place` map in one piece, as a list of {Start, End} in pages.
/// O(size).
///
/// Fails with FYRIS_E_DAMAGED and the first thing that is wrong; else as `fyris_segment_checkout`; FYRIS_E_TIMEOUT.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_doctor(
    name: *const c_char,
    report: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: TEXT: the name.
        let doctor = Doctor::open(unsafe { text(name, "the segment's name") }?)?;
        doctor.repair()?;
        doctor.check()?;
        if let Ok(out) = Out::new(report, "report") {
            let term = fyris_term(described(&doctor.report()?));
            // SAFETY: OUT.
            unsafe { out.put(Box::into_raw(Box::new(term))) };
        }
        Ok(())
    })
}

/// Lists this user's segments in memory, by looking at their files: no slot is taken, and nothing changed. `list` is a
/// list of maps: `name` and `path` (binaries), then `size`, `max_size`, `unit`, `version`, `processes` (living ones
/// that have it checked out) and `backed` (bytes of memory), or `error` (a binary) where the file is none that this
/// library reads. O(files in `/dev/shm`).
///
/// Fails with FYRIS_E_IO.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_list(
    list: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = Out::new(list, "the place for the list")?;
        let all = Segment::list()?;
        let term = fyris_term(Term::List(all.iter().map(entry).collect()));
        // SAFETY: OUT.
        unsafe { out.put(Box::into_raw(Box::new(term))) };
        Ok(())
    })
}

fn entry(listed: &Listed) -> Term {
    let number = |name: &str, n: u64| (Term::atom(name), Term::integer(n));
    let binary = |name: &str, text: &str| (Term::atom(name), Term::binary(text.as_bytes()));
    let mut map = vec![
        binary("name", &listed.name),
        binary("path", &listed.path.to_string_lossy()),
    ];
    match &listed.overview {
        Ok(overview) => map.extend([
            number("size", overview.size as u64),
            number("max_size", overview.max_size as u64),
            number("unit", overview.unit as u64),
            number("version", overview.version),
            number("processes", overview.processes as u64),
            number("backed", overview.backed),
        ]),
        Err(error) => map.push(binary("error", &error.to_string())),
    }
    Term::Map(Map::new(map))
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
                process.behind.map_or(Term::atom("evicted"), Term::integer),
            ),
            number("commits", process.commits),
            (
                Term::atom("in_place"),
                Term::atom(if process.in_place { "true" } else { "false" }),
            ),
        ]))
    });
    let runs = report.longest_runs.iter().map(|run| {
        let ends = [run.start, run.end].map(|page| Term::integer(page as u64));
        Term::tuple(ends)
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
        number("frames_kept", report.frames_kept as u64),
        number("frames_kept_max", report.frames_kept_max as u64),
        number("frames_reserved", report.frames_reserved as u64),
        number("frames_free", report.frames_free as u64),
        number("frames_holes", report.frames_holes as u64),
        number("runs", report.runs as u64),
        (Term::atom("longest_runs"), Term::List(runs.collect())),
        number("overruns", report.overruns),
        number("evictions", report.evictions),
        number("slots", report.slots as u64),
        (Term::atom("processes"), Term::List(processes.collect())),
    ]))
}
