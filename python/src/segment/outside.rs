//! Segments from outside.

use std::path::PathBuf;

use fyris_segment::{Doctor, Report};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;

/// Removes the name of a segment. Processes that have it checked out keep it; nothing else ever removes a name.
///
/// Raises NoSuchSegment; Damaged for a file that is no segment, which is left alone.
#[pyfunction]
pub(crate) fn unlink(name: PathBuf) -> PyResult<()> {
    fyris_segment::Segment::unlink(name).map_err(errors::segment)
}

/// Looks a segment over without checking it out: repairs what dead processes have left, checks every invariant, and returns a dict of what
/// it saw, with the attached processes. Raises Damaged with the first thing that is wrong.
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
    dict.set_item("frames_reserved", report.frames_reserved)?;
    dict.set_item("frames_free", report.frames_free)?;
    dict.set_item("cuts", report.cuts)?;
    let mut processes = Vec::new();
    for process in &report.processes {
        let one = PyDict::new(py);
        one.set_item("pid", process.pid)?;
        one.set_item("alive", process.alive)?;
        one.set_item("behind", process.behind)?;
        one.set_item("commits", process.commits)?;
        processes.push(one);
    }
    dict.set_item("processes", processes)?;
    Ok(dict)
}
