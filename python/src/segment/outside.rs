//! Segments from outside.

use std::path::PathBuf;

use fyris_segment::{Doctor, Listed, Report, Segment};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;

/// Removes the name of a segment. Processes that have it checked out keep it; nothing else ever removes a name.
///
/// Raises NoSuchSegment; Damaged for a file that is no segment, which is left alone.
#[pyfunction]
pub(crate) fn unlink(name: PathBuf) -> PyResult<()> {
    Segment::unlink(name).map_err(errors::segment)
}

/// Looks a segment over without checking it out: repairs what dead processes have left, checks every invariant, and
/// returns a dict of what it saw, with the attached processes. Raises Damaged with the first thing that is wrong.
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>, name: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let report = py.detach(|| {
        let doctor = Doctor::open(name)?;
        doctor.repair()?;
        doctor.check()?;
        doctor.report()
    });
    described(py, &report.map_err(errors::segment)?)
}

/// Lists this user's segments in memory, by name: a dict for each with 'name', 'path', 'size', 'max_size', 'unit',
/// 'version', 'processes' (living ones that have it checked out) and 'backed' (bytes of memory), or with 'error' where
/// the file is none that this version reads. Looks at the files only.
#[pyfunction]
pub(crate) fn segments(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let all = py.detach(Segment::list).map_err(errors::segment)?;
    all.iter().map(|listed| entry(py, listed)).collect()
}

fn entry<'py>(py: Python<'py>, listed: &Listed) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &listed.name)?;
    dict.set_item("path", listed.path.as_os_str())?;
    match &listed.overview {
        Ok(overview) => {
            dict.set_item("size", overview.size)?;
            dict.set_item("max_size", overview.max_size)?;
            dict.set_item("unit", overview.unit)?;
            dict.set_item("version", overview.version)?;
            dict.set_item("processes", overview.processes)?;
            dict.set_item("backed", overview.backed)?;
        }
        Err(error) => dict.set_item("error", error.to_string())?,
    }
    Ok(dict)
}

fn described<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("size", report.size)?;
    dict.set_item("max_size", report.max_size)?;
    dict.set_item("unit", report.unit)?;
    dict.set_item("version", report.version)?;
    dict.set_item("log_used", report.log_used)?;
    dict.set_item("log_size", report.log_size)?;
    dict.set_item("frames_current", report.frames_current)?;
    dict.set_item("frames_retained", report.frames_retained)?;
    dict.set_item("frames_kept", report.frames_kept)?;
    dict.set_item("frames_kept_max", report.frames_kept_max)?;
    dict.set_item("frames_reserved", report.frames_reserved)?;
    dict.set_item("frames_free", report.frames_free)?;
    dict.set_item("frames_holes", report.frames_holes)?;
    dict.set_item("runs", report.runs)?;
    let longest = report.longest_runs.iter().map(|run| (run.start, run.end));
    dict.set_item("longest_runs", longest.collect::<Vec<_>>())?;
    dict.set_item("overruns", report.overruns)?;
    dict.set_item("evictions", report.evictions)?;
    dict.set_item("slots", report.slots)?;
    let mut processes = Vec::new();
    for process in &report.processes {
        let one = PyDict::new(py);
        one.set_item("pid", process.pid)?;
        one.set_item("alive", process.alive)?;
        one.set_item("behind", process.behind)?;
        one.set_item("commits", process.commits)?;
        one.set_item("in_place", process.in_place)?;
        processes.push(one);
    }
    dict.set_item("processes", processes)?;
    Ok(dict)
}
