//! Updates and commits.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fyris_segment::{Choice, Conflict};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::Segment;
use crate::errors::{self, BadValue, Natural, pairs};

/// The result of an update.
#[pyclass(frozen, get_all, module = "fyris")]
pub(crate) struct Updated {
    /// The version that the working copy is at now.
    version: u64,
    /// Pages that the trunk had changed.
    pages: usize,
    /// Bytes that were written into the working copy: whole words or pages, and the units that a callback decided.
    bytes: usize,
    /// Units that both sides had changed.
    conflicts: usize,
}

#[pymethods]
impl Updated {
    fn __repr__(&self) -> String {
        format!(
            "Updated(version={}, pages={}, bytes={}, conflicts={})",
            self.version, self.pages, self.bytes, self.conflicts
        )
    }
}

impl From<fyris_segment::Updated> for Updated {
    fn from(updated: fyris_segment::Updated) -> Updated {
        Updated {
            version: updated.version,
            pages: updated.pages,
            bytes: updated.bytes,
            conflicts: updated.conflicts,
        }
    }
}

/// Two ways at once make no sense.
fn one_way(validate: bool, on_conflict: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    if validate && on_conflict.is_some() {
        let text = "validate=True refuses conflicts: there is nothing to call on_conflict for";
        return Err(BadValue::new_err(text));
    }
    Ok(())
}

/// Only a commit that merges meets conflicts.
pub(super) fn commit_options(
    merge: bool,
    validate: bool,
    on_conflict: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    one_way(validate, on_conflict)?;
    if !merge && (validate || on_conflict.is_some()) {
        let text = "validate and on_conflict need merge=True";
        return Err(BadValue::new_err(text));
    }
    Ok(())
}

/// Merges, asking a function of Python's. Keeps the interpreter's lock.
fn update_with(
    segment: &mut fyris_segment::Segment,
    on_conflict: &Bound<'_, PyAny>,
) -> PyResult<fyris_segment::Updated> {
    let ask = |conflict: Conflict<'_>| match decide(&conflict, on_conflict) {
        Ok(choice) => choice,
        // The way out of a callback that cannot return an error: the merge unwinds and has done nothing.
        Err(error) => resume_unwind(Box::new(error)),
    };
    match catch_unwind(AssertUnwindSafe(|| segment.update_with(ask))) {
        Ok(done) => done.map_err(errors::segment),
        Err(payload) => match payload.downcast::<PyErr>() {
            Ok(error) => Err(*error),
            Err(payload) => resume_unwind(payload),
        },
    }
}

fn decide(conflict: &Conflict<'_>, on_conflict: &Bound<'_, PyAny>) -> PyResult<Choice> {
    let py = on_conflict.py();
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
    let answer = on_conflict.call1((
        conflict.offset,
        conflict.base.map(bytes),
        bytes(conflict.local),
        bytes(conflict.incoming),
    ))?;
    if let Ok(word) = answer.extract::<&str>() {
        match word {
            "local" => return Ok(Choice::Local),
            "incoming" => return Ok(Choice::Incoming),
            _ => {}
        }
    } else if let Ok(written) = answer.extract::<&[u8]>()
        && written.len() == conflict.local.len()
    {
        let mut result = [0; 64];
        result[..written.len()].copy_from_slice(written);
        return Ok(Choice::Write(result));
    }
    Err(BadValue::new_err(format!(
        "on_conflict must return 'local', 'incoming' or {} bytes, not {}",
        conflict.local.len(),
        answer.repr()?
    )))
}

#[pymethods]
impl Segment {
    /// Merges the trunk's changes into the working copy, unit by unit: what was changed here stays, everything else
    /// becomes the trunk's. Never waits for commits. Raises BaseLost if this process lagged so far that what it started
    /// from is gone.
    ///
    /// validate=True raises SegmentConflict if a unit was changed on both sides, and does nothing. on_conflict(offset,
    /// base, local, incoming) is asked about each such unit instead, before anything is written: it gets three bytes
    /// objects (base is None if that is gone), and returns 'local', 'incoming', or bytes to put there; an exception of
    /// it ends the update with nothing done.
    #[pyo3(signature = (*, validate=false, on_conflict=None))]
    fn update(
        &self,
        py: Python<'_>,
        validate: bool,
        on_conflict: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Updated> {
        one_way(validate, on_conflict)?;
        let updated = match on_conflict {
            Some(on_conflict) => self.ask(on_conflict)?,
            None if validate => self.run(py, |segment| segment.update_validated())?,
            None => self.run(py, |segment| segment.update())?,
        };
        Ok(updated.into())
    }

    /// Publishes the changes made here, all at once, and returns the new version (the present one if nothing was
    /// changed). Raises Behind if the trunk has changes that are not merged yet.
    ///
    /// merge=True merges them first, as update() does, with validate and on_conflict as there, and never raises Behind;
    /// it raises SegmentConflict and BaseLost as update() does. In each case the changes stay local.
    #[pyo3(signature = (*, merge=false, validate=false, on_conflict=None))]
    fn commit(
        &self,
        py: Python<'_>,
        merge: bool,
        validate: bool,
        on_conflict: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        commit_options(merge, validate, on_conflict)?;
        match on_conflict {
            Some(on_conflict) => self.commit_with(py, on_conflict),
            None if validate => self.run(py, |segment| segment.commit_merge_validated()),
            None if merge => self.run(py, |segment| segment.commit_merge()),
            None => self.run(py, |segment| segment.commit()),
        }
    }

    /// Declares that the bytes from start to before stop were or will be written before the next commit: their pages
    /// take no fault and need no scan. With tracking='declared' only what was touched is committed.
    fn touch(&self, py: Python<'_>, start: Natural, stop: Natural) -> PyResult<()> {
        self.run(py, |segment| segment.touch(start.0..stop.0))
    }

    /// Makes the segment longer, for everybody: others see it at their next update. The new bytes are zero; arrays stay
    /// as they are. A smaller size changes nothing. Raises LimitReached beyond max_size.
    fn grow(&self, py: Python<'_>, size: Natural) -> PyResult<()> {
        self.run(py, |segment| segment.grow(size.0))
    }

    /// Takes the changes made here back: the working copy is at its version again.
    fn discard(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |segment| segment.discard())
    }

    /// The places where the working copy differs from its version: a list of (start, stop), whole units.
    fn diff(&self, py: Python<'_>) -> PyResult<Vec<(usize, usize)>> {
        self.run(py, |segment| segment.diff()).map(pairs)
    }

    /// The changes in the trunk since the version of the working copy: a list of (start, stop), whole words or units.
    fn incoming(&self, py: Python<'_>) -> PyResult<Vec<(usize, usize)>> {
        self.run(py, |segment| segment.incoming()).map(pairs)
    }

    /// Writes a segment that is a file to its disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |segment| segment.sync())
    }

    /// A NumPy array over the working copy: of this shape and dtype (float64 if None), offset bytes from its begin, in
    /// C order. It keeps the working copy alive; of a read-only checkout it is read-only.
    #[pyo3(signature = (shape, dtype=None, offset=Natural(0)))]
    fn ndarray<'py>(
        slf: &Bound<'py, Self>,
        shape: Bound<'py, PyAny>,
        dtype: Option<Bound<'py, PyAny>>,
        offset: Natural,
    ) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import("fyris._segment")?;
        module.call_method1("ndarray", (slf, shape, dtype, offset.0))
    }
}

impl Segment {
    /// Merges, asking.
    fn ask(&self, on_conflict: &Bound<'_, PyAny>) -> PyResult<fyris_segment::Updated> {
        let _own = self.turns.own()?;
        update_with(self.state()?.open()?, on_conflict)
    }

    /// Merges and commits, asking, until nobody was faster.
    fn commit_with(&self, py: Python<'_>, on_conflict: &Bound<'_, PyAny>) -> PyResult<u64> {
        loop {
            match self.run(py, |segment| segment.commit()) {
                Err(error) if error.is_instance_of::<errors::Behind>(py) => {
                    self.ask(on_conflict)?;
                }
                done => return done,
            }
        }
    }
}
