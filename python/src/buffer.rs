//! Bytes of other objects: what `bytes`, `bytearray`, `memoryview`, `mmap` and arrays have in common.

use std::borrow::Cow;
use std::ffi::{CStr, c_int};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// The memory of an object that has a buffer, if it lies in one piece.
pub(crate) struct Buffer(Box<ffi::Py_buffer>);

impl Buffer {
    /// That of whatever type its elements are.
    pub(crate) fn of(value: &Bound<'_, PyAny>) -> PyResult<Buffer> {
        Buffer::with(value, ffi::PyBUF_SIMPLE)
    }

    /// That of a row of bytes; `None` for what has no buffer.
    pub(crate) fn of_bytes(value: &Bound<'_, PyAny>) -> PyResult<Option<Buffer>> {
        // Some single values of NumPy have a buffer of bytes, but are no row. SAFETY: an object.
        if unsafe {
            ffi::PyObject_CheckBuffer(value.as_ptr()) == 0
                || ffi::PySequence_Check(value.as_ptr()) == 0
        } {
            return Ok(None);
        }
        match Buffer::with(value, ffi::PyBUF_C_CONTIGUOUS | ffi::PyBUF_FORMAT) {
            Ok(buffer) => Ok(buffer.is_row_of_bytes().then_some(buffer)),
            Err(error) if error.is_instance_of::<PyBufferError>(value.py()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn with(value: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Buffer> {
        // In a box: what fills the view may point into it.
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: an object, and a place for the view, which stays where it is until it is released.
        let got = unsafe { ffi::PyObject_GetBuffer(value.as_ptr(), &raw mut *view, flags) };
        match got {
            0 => Ok(Buffer(view)),
            _ => Err(PyErr::fetch(value.py())),
        }
    }

    /// Whether nothing is lost where its bytes stand for it.
    fn is_row_of_bytes(&self) -> bool {
        if self.0.ndim > 1 {
            return false;
        }
        if self.0.format.is_null() {
            return true;
        }
        // SAFETY: a C string of the view's, if it is not null.
        let format = unsafe { CStr::from_ptr(self.0.format) }.to_bytes();
        let format = format.strip_prefix(b"<").unwrap_or(format);
        matches!(format, b"B" | b"b" | b"c")
    }

    /// Returns their place, and how many they are.
    pub(crate) fn parts(&self) -> (*const u8, usize) {
        (self.0.buf.cast_const().cast(), self.0.len as usize)
    }

    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let (from, count) = self.parts();
        let mut bytes = Vec::with_capacity(count);
        // SAFETY: `count` bytes at both places; those of the view are held. No reference to them is made: others may
        // write there.
        unsafe {
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), count);
            bytes.set_len(count);
        }
        bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: filled by `with`, with the interpreter's lock, which the call that uses it has still.
        unsafe { ffi::PyBuffer_Release(&raw mut *self.0) }
    }
}

/// An argument that is bytes: those of `bytes` where they lie, those of other buffers copied.
pub(crate) struct Bytes<'a>(pub(crate) Cow<'a, [u8]>);

impl<'a, 'py> FromPyObject<'a, 'py> for Bytes<'a> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Bytes<'a>> {
        match given.extract::<&[u8]>() {
            Ok(bytes) => Ok(Bytes(Cow::Borrowed(bytes))),
            Err(_) => Ok(Bytes(Cow::Owned(Buffer::of(&given)?.to_vec()))),
        }
    }
}

impl std::ops::Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
