//! `segment[i]` and `segment[a:b]`: bytes of the working copy, copied in and out, as of a `bytearray` that keeps its
//! length.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::slice::PySliceIndices;
use pyo3::types::{PyBytes, PySlice};

use super::{Segment, forked};
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
                PyBytes::new(py, &bytes[start..start + slice.slicelength as usize]).into_any()
            }
            Place::Some(slice) => {
                let picked: Vec<u8> = places(&slice).map(|at| bytes[at]).collect();
                PyBytes::new(py, &picked).into_any()
            }
        })
    }

    fn __setitem__(&self, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        // Copied first: it may be a view of this very segment.
        let given = match index.cast::<PySlice>() {
            Ok(_) => PyBuffer::<u8>::get(value)?.to_vec(value.py())?,
            Err(_) => vec![value.extract::<u8>()?],
        };
        let mut state = self.state()?;
        let segment = state.open()?;
        if segment.is_forked() {
            return Err(forked());
        }
        if self.read_only {
            return Err(ReadOnly::new_err("the checkout is read-only"));
        }
        let places: Vec<usize> = match place(index, segment.len())? {
            Place::One(at) => vec![at],
            Place::Some(slice) => places(&slice).collect(),
        };
        if places.len() != given.len() {
            let (places, given) = (places.len(), given.len());
            let text = format!("a segment keeps its length: {given} bytes for {places}");
            return Err(BadValue::new_err(text));
        }
        if let (Some(&low), Some(&high)) = (places.iter().min(), places.iter().max())
            && self.checkout.tracking == "declared"
        {
            segment.touch(low..high + 1).map_err(errors::segment)?;
        }
        let bytes = segment.as_mut_slice();
        for (at, byte) in places.into_iter().zip(given) {
            bytes[at] = byte;
        }
        Ok(())
    }
}
