//! `segment[i]` and `segment[a:b]`: bytes of the working copy, copied in and out, as of a `bytearray` that keeps its
//! length.

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::slice::PySliceIndices;
use pyo3::types::{PyBytes, PySlice};

use super::{Segment, forked};
use crate::buffer::Buffer;
use crate::errors::{self, BadValue, ReadOnly};

/// The elements that an index names.
enum Place {
    One(usize),
    Some(PySliceIndices),
}

fn place(index: &Bound<'_, PyAny>, len: usize) -> PyResult<Place> {
    if let Ok(slice) = index.cast::<PySlice>() {
        return Ok(Place::Some(slice.indices(len as isize)?));
    }
    let at: isize = index
        .extract()
        .map_err(|_| PyTypeError::new_err("a segment is indexed by integers and slices"))?;
    let from_start = if at < 0 { at + len as isize } else { at };
    match usize::try_from(from_start) {
        Ok(at) if at < len => Ok(Place::One(at)),
        _ => Err(PyIndexError::new_err("outside of the segment")),
    }
}

/// The places of a slice, in its order.
fn places(slice: &PySliceIndices) -> impl Iterator<Item = usize> + use<> {
    let (start, step) = (slice.start, slice.step);
    (0..slice.slicelength as isize).map(move |n| (start + n * step) as usize)
}

#[pymethods]
impl Segment {
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut state = self.state()?;
        let segment = state.open()?;
        if segment.is_forked() {
            return Err(forked());
        }
        let bytes = segment.as_slice();
        Ok(match place(index, bytes.len())? {
            Place::One(at) => bytes[at].into_pyobject(py)?.into_any(),
            Place::Some(slice) if slice.step == 1 => {
                let start = slice.start as usize;
                PyBytes::new(py, &bytes[start..start + slice.slicelength]).into_any()
            }
            Place::Some(slice) => {
                let picked: Vec<u8> = places(&slice).map(|at| bytes[at]).collect();
                PyBytes::new(py, &picked).into_any()
            }
        })
    }

    fn __setitem__(&self, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = match index.cast::<PySlice>() {
            Ok(_) => Some(Buffer::of(value)?),
            Err(_) => None,
        };
        let byte = match bytes {
            Some(_) => 0,
            None => value.extract::<u8>()?,
        };
        let (from, given) = match &bytes {
            Some(bytes) => bytes.parts(),
            None => (&raw const byte, 1),
        };
        let mut state = self.state()?;
        let segment = state.open()?;
        if segment.is_forked() {
            return Err(forked());
        }
        if self.read_only {
            return Err(ReadOnly::new_err("the checkout is read-only"));
        }
        let (start, step, count) = match place(index, segment.len())? {
            Place::One(at) => (at as isize, 1, 1),
            Place::Some(slice) => (slice.start, slice.step, slice.slicelength),
        };
        if count != given {
            let text = format!("a segment keeps its length: {given} bytes for {count}");
            return Err(BadValue::new_err(text));
        }
        if count == 0 {
            return Ok(());
        }
        if self.checkout.tracking == "declared" {
            let last = start + step * (count as isize - 1);
            let declared = start.min(last) as usize..start.max(last) as usize + 1;
            segment.touch(declared).map_err(errors::segment)?;
        }
        let to = segment.as_mut_slice();
        if step == 1 {
            let to = to[start as usize..][..count].as_mut_ptr();
            // SAFETY: `count` bytes at both places: those given are held by `bytes`, or are the one; they may be of
            // this very segment.
            unsafe { std::ptr::copy(from, to, count) };
            return Ok(());
        }
        // SAFETY: as above. A copy: they may be of this very segment.
        let given = unsafe { std::slice::from_raw_parts(from, count) }.to_vec();
        for (n, byte) in given.into_iter().enumerate() {
            to[(start + step * n as isize) as usize] = byte;
        }
        Ok(())
    }
}
