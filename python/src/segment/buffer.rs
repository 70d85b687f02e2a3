//! The working copy as a buffer: what memoryview and NumPy look through.

use std::ffi::{c_int, c_void};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use super::{Segment, forked};

#[pymethods]
impl Segment {
    /// # Safety
    ///
    /// Python calls it, with a view to fill.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no place for the view"));
        }
        let this = slf.get();
        let mut state = this.state()?;
        let segment = state.open()?;
        if segment.is_forked() {
            return Err(forked());
        }
        let (data, len) = (segment.as_mut_ptr(), segment.len());
        // SAFETY: `len` bytes at `data` are mapped until the export that is counted below is released, and writable
        // unless the checkout is read-only. FillInfo takes a reference to the object for the view.
        let filled = unsafe {
            let (object, len) = (slf.as_ptr(), len as ffi::Py_ssize_t);
            let read_only = c_int::from(this.read_only);
            ffi::PyBuffer_FillInfo(view, object, data.cast(), len, read_only, flags)
        };
        if filled != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        let mut exports = this.exports();
        exports.count += 1;
        // SAFETY: FillInfo has initialised the view; `internal` is the exporter's own. It carries the generation.
        unsafe { (*view).internal = exports.generation as *mut c_void };
        Ok(())
    }

    /// # Safety
    ///
    /// Python calls it, with a view that was filled above.
    unsafe fn __releasebuffer__(&self, py: Python<'_>, view: *mut ffi::Py_buffer) {
        // SAFETY: as it was filled above.
        let generation = unsafe { (*view).internal } as usize;
        let mut exports = self.exports();
        if exports.generation == generation {
            exports.count -= 1;
        }
        let last = exports.count == 0;
        drop(exports);
        if last {
            py.detach(|| drop(self.settle()));
        }
    }
}
