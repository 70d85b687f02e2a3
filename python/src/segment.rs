//! `fyris.Segment`: a private working copy of memory that processes share.
//!
//! # Who holds the memory
//!
//! Arrays and memoryviews point into the working copy, and every one of them holds an *export* of it. The copy is given
//! up when the segment is closed (or collected) **and** the last export is gone, so that no array ever points at
//! nothing. The address never changes meanwhile: updates and growth happen in place.
//!
//! The exception is a fork: the copy stays with the parent. In the child every call raises `Forked` until `reattach()`,
//! and arrays made before the fork must not be touched: there is no memory behind them. Exports carry a generation, so
//! that those of before do not count for the copy that the child checks out.
//!
//! # Threads
//!
//! One thread at a time is inside a call, or between the begin and the end of a transaction; others wait (`turns`).
//! Calls that take longer than letting go of the interpreter's lock let go of it, except while they ask a conflict
//! callback.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fyris_segment::{Inside, Options, Origin, Reattach, Tracking};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::errors::{self, BadValue, Closed, Forked, Natural};
use crate::turns::Turns;

mod buffer;
mod outside;
mod slices;
mod transaction;
mod versions;

pub(crate) use outside::{doctor, segments, unlink};
pub(crate) use transaction::{NAP, Watcher, seconds};
pub(crate) use versions::Updated;

/// A checked-out segment, a private working copy of memory that processes share under a name.
///
///     with fyris.Segment("weather", 1 << 20) as segment:
///         here = segment.ndarray((365, 24), "f8")     # NumPy, over the working copy
///         here[17, 3] = 21.5
///         segment.commit(merge=True)                  # others see it at their next update()
///
/// segment[i] and segment[a:b] are bytes of the working copy, to read and to assign. A with statement over the segment
/// itself closes it and commits nothing; one over begin() commits.
///
/// name without a slash is a segment of this user in memory, until unlink() or the machine's restart; with a slash it
/// is the path of a file. size is in bytes; 0 attaches to a segment that is there, whatever its size. create=False: it
/// must exist; exclusive=True: it must not. read_only gives read-only arrays; in_place also shows the trunk's own pages
/// instead of copies, but for those that updates change, and the segment then keeps what this process sees until it
/// updates (others' commits may raise NoSpace). unit is the editing unit in bytes by which changes are merged, a power
/// of two up to 64 (8); max_size is what it may grow to, slots how many processes may have it checked out (1024),
/// history how many bytes of replaced pages it may keep for those that lag (8 times its size), mode and group the
/// permissions (0o600) and the group of its file, all fixed when it is created; mode is also what an existing segment
/// in memory may permit at most. read_only=True needs no more than permission to read. tracking says how writes are
/// noticed: 'auto', 'userfault', 'signal', or 'declared' for not at all, then touch() declares them. private is a list
/// of (start, stop): what this process writes there is never committed. foreign_writes: every commit looks for writes
/// of other processes into the copy (a debugger, process_vm_writev), at half a microsecond a MiB; otherwise such a
/// write is noticed after this process's next page fault, and a commit that follows none costs the same whatever the
/// segment's size. one_writer: always the same thread writes and commits, whose faults are counted faster.
/// after_unlink: commits and waits go on when the name was removed, and do not raise Unlinked.
///
/// A pickled segment is checked out anew where it is unpickled (multiprocessing with spawn); pickles of different
/// contents differ. After a fork the child calls reattach().
#[pyclass(frozen, weakref, module = "fyris")]
pub(crate) struct Segment {
    turns: Turns<SegmentState>,
    /// Never locked for longer than it takes to count, since a conflict callback may let an array go while its thread
    /// is inside a call.
    exports: Mutex<Exports>,
    name: PathBuf,
    read_only: bool,
    checkout: Checkout,
}

/// The state of a segment.
struct SegmentState {
    /// `None` once it is given up.
    segment: Option<fyris_segment::Segment>,
    closed: bool,
    origin: Origin,
}

impl SegmentState {
    fn new(segment: fyris_segment::Segment) -> SegmentState {
        SegmentState {
            origin: segment.origin(),
            segment: Some(segment),
            closed: false,
        }
    }
}

impl Reattach for SegmentState {
    type Error = fyris_segment::Error;

    fn origin(&self) -> Origin {
        self.origin.clone()
    }

    fn again(origin: &Origin) -> fyris_segment::Result<SegmentState> {
        origin.checkout().map(SegmentState::new)
    }

    fn reattach(&mut self) -> fyris_segment::Result<()> {
        match &mut self.segment {
            Some(segment) => segment.reattach(),
            None => Ok(()),
        }
    }
}

/// Buffers that point into the working copy.
#[derive(Default)]
struct Exports {
    count: usize,
    /// The working copy that they point into: a reattached one is another.
    generation: usize,
}

/// The options, to check the segment out again.
#[derive(Clone)]
struct Checkout {
    read_only: bool,
    in_place: bool,
    mode: Option<u32>,
    tracking: String,
    foreign_writes: bool,
    one_writer: bool,
    after_unlink: bool,
    private: Vec<(usize, usize)>,
    /// The name for other processes.
    kept: PathBuf,
}

/// The arguments of a new segment.
pub(crate) struct Made {
    pub(crate) unit: Option<u32>,
    pub(crate) max_size: Option<Natural>,
    pub(crate) slots: Option<Natural>,
    pub(crate) history: Option<Natural>,
    pub(crate) mode: Option<u32>,
    pub(crate) group: Option<u32>,
}

impl Made {
    /// Adds what was said to `options`.
    pub(crate) fn put_in(self, mut options: Options) -> Options {
        if let Some(unit) = self.unit {
            options = options.unit(unit);
        }
        if let Some(max_size) = self.max_size {
            options = options.max_size(max_size.0);
        }
        if let Some(slots) = self.slots {
            options = options.slots(slots.0);
        }
        if let Some(history) = self.history {
            options = options.history(history.0);
        }
        if let Some(mode) = self.mode {
            options = options.mode(mode);
        }
        if let Some(group) = self.group {
            options = options.group(group);
        }
        options
    }
}

impl Checkout {
    fn options(&self) -> PyResult<Options> {
        let tracking = match &*self.tracking {
            "auto" => Tracking::Auto,
            "userfault" => Tracking::Userfault,
            "signal" => Tracking::Signal,
            "declared" => Tracking::Declared,
            other => return Err(BadValue::new_err(format!("no tracking is called {other}"))),
        };
        let options = Options::new().read_only(self.read_only).tracking(tracking);
        let options = options.in_place(self.in_place);
        let options = options
            .foreign_writes(self.foreign_writes)
            .one_writer(self.one_writer)
            .after_unlink(self.after_unlink);
        let private = self.private.iter();
        Ok(private.fold(options, |options, &(start, stop)| {
            options.private(start..stop)
        }))
    }
}

impl SegmentState {
    fn open(&mut self) -> PyResult<&mut fyris_segment::Segment> {
        match &mut self.segment {
            Some(segment) if !self.closed => Ok(segment),
            _ => Err(Closed::new_err("the segment is closed")),
        }
    }
}

impl Segment {
    /// The state, when no other thread is inside a call.
    fn state(&self) -> PyResult<Inside<'_, SegmentState>> {
        // A callback's exception left the segment as it was.
        self.turns.enter()
    }

    fn exports(&self) -> MutexGuard<'_, Exports> {
        self.exports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the working copy up when nobody needs it any more: when it is closed and has no exports. A thread that
    /// looks at the closed segment just now leaves it to the end of the object.
    fn settle(&self) -> Option<fyris_segment::Segment> {
        let mut state = self.turns.try_enter().ok()?;
        let unused = state.closed && self.exports().count == 0;
        unused.then(|| state.segment.take()).flatten()
    }

    /// Runs an operation that may take long: without the interpreter's lock.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut fyris_segment::Segment) -> fyris_segment::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| operation(self.state()?.open()?).map_err(|error| self.turns.told(error)))
    }

    /// Looks at something that is there at once.
    fn look<T>(&self, look: impl FnOnce(&fyris_segment::Segment) -> T) -> PyResult<T> {
        Ok(look(self.state()?.open()?))
    }
}

#[pymethods]
impl Segment {
    #[new]
    #[pyo3(signature = (name, size=Natural(0), *, create=true, exclusive=false, read_only=false, in_place=false, unit=None, max_size=None, tracking="auto", private=vec![], slots=None, history=None, mode=None, group=None, foreign_writes=false, one_writer=false, after_unlink=false))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        name: PathBuf,
        size: Natural,
        create: bool,
        exclusive: bool,
        read_only: bool,
        in_place: bool,
        unit: Option<u32>,
        max_size: Option<Natural>,
        tracking: &str,
        private: Vec<(Natural, Natural)>,
        slots: Option<Natural>,
        history: Option<Natural>,
        mode: Option<u32>,
        group: Option<u32>,
        foreign_writes: bool,
        one_writer: bool,
        after_unlink: bool,
    ) -> PyResult<Segment> {
        let read_only = read_only || in_place;
        let made = Made {
            unit,
            max_size,
            slots,
            history,
            mode,
            group,
        };
        let checkout = Checkout {
            read_only,
            in_place,
            mode,
            tracking: tracking.to_owned(),
            foreign_writes,
            one_writer,
            after_unlink,
            private: private
                .iter()
                .map(|(start, stop)| (start.0, stop.0))
                .collect(),
            kept: kept(&name)?,
        };
        let options = checkout.options()?.create(create).exclusive(exclusive);
        let options = made.put_in(options);
        let segment = py.detach(|| fyris_segment::Segment::checkout(&name, size.0, &options));
        let segment = segment.map_err(errors::segment)?;
        Ok(Segment {
            turns: Turns::new(SegmentState::new(segment)),
            exports: Mutex::default(),
            name,
            read_only,
            checkout,
        })
    }

    /// Gives the working copy up, with its uncommitted changes; the segment stays. Arrays over it stay good to read and
    /// write, and keep its memory, but nothing of them is committed any more. Closing twice does no harm.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.state()?.closed = true;
        py.detach(|| drop(self.settle()));
        Ok(())
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// As close(): what was not committed is lost. begin() is for a with statement that commits.
    fn __exit__(
        &self,
        py: Python<'_>,
        _class: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }

    /// In a forked child: checks the same segment out anew, at the trunk's present version; the parent's uncommitted
    /// changes are not in it. Make new arrays: those of before the fork must not be touched. In the process that
    /// checked it out: nothing.
    fn reattach(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            // In a child where a thread of the parent was inside nothing can be looked at before.
            let forked = match self.turns.try_enter() {
                Ok(mut state) => state.open()?.is_forked(),
                Err(fyris_segment::Error::Forked) => true,
                Err(error) => return Err(errors::segment(error)),
            };
            if forked {
                self.turns.reattach().map_err(errors::segment)?;
                let mut exports = self.exports();
                exports.generation += 1;
                exports.count = 0;
            }
            Ok(())
        })
    }

    /// The name, or path, as it was given.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        Ok(self.name.as_os_str().into_pyobject(py)?)
    }

    /// Bytes in the working copy.
    #[getter]
    fn size(&self) -> PyResult<usize> {
        self.look(|segment| segment.len())
    }

    fn __len__(&self) -> PyResult<usize> {
        self.size()
    }

    /// The bytes that the segment may grow to.
    #[getter]
    fn max_size(&self) -> PyResult<usize> {
        self.look(|segment| segment.max_len())
    }

    /// The editing unit in bytes.
    #[getter]
    fn unit(&self) -> PyResult<usize> {
        self.look(|segment| segment.unit())
    }

    /// The version of the working copy: the commits (and growths) that it contains.
    #[getter]
    fn version(&self) -> PyResult<u64> {
        self.look(|segment| segment.version())
    }

    /// The version of the trunk.
    #[getter]
    fn trunk_version(&self) -> PyResult<u64> {
        self.look(|segment| segment.trunk_version())
    }

    /// Returns whether the trunk has changes that the working copy has not; no system call.
    #[getter]
    fn behind(&self) -> PyResult<bool> {
        self.look(|segment| segment.is_behind())
    }

    /// The way in which writes to the working copy are noticed: 'userfault', 'signal', or 'declared' (not at all; also
    /// of a read-only one).
    #[getter]
    fn tracking(&self) -> PyResult<&'static str> {
        self.look(|segment| segment.tracking().name())
    }

    /// Returns whether the checkout is read-only.
    #[getter]
    fn read_only(&self) -> bool {
        self.read_only
    }

    /// Returns whether the segment was closed.
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        Ok(self.state()?.closed)
    }

    /// Returns whether the name is gone, or leads to another segment by now: who checks it out shares nothing with this
    /// one. Processes that have the segment keep it; their commits and waits raise Unlinked, unless they said
    /// after_unlink.
    #[getter]
    fn unlinked(&self, py: Python<'_>) -> PyResult<bool> {
        self.run(py, |segment| segment.is_unlinked())
    }

    fn __repr__(&self) -> String {
        let name = self.name.display();
        // Nobody waits for a text.
        let seen = self.turns.try_enter().map(|mut state| {
            let segment = state.open().ok()?;
            Some((segment.len(), segment.version(), segment.is_forked()))
        });
        let what = match seen.ok().flatten() {
            Some((_, _, true)) => "stayed with the parent".to_owned(),
            Some((size, version, false)) => format!("{size} bytes at version {version}"),
            None => "closed or busy".to_owned(),
        };
        format!("<fyris.Segment {name}, {what}>")
    }

    /// Unpickling checks the segment out anew: what was committed is in it, what was not is not.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let (py, this) = (slf.py(), slf.get());
        // What cannot be told counts as a change.
        let (version, dirty) = this.run(py, |segment| {
            let dirty = !segment.diff().is_ok_and(|ranges| ranges.is_empty());
            Ok((segment.version(), dirty))
        })?;
        let options = PyDict::new(py);
        options.set_item("create", false)?;
        options.set_item("read_only", this.checkout.read_only)?;
        options.set_item("in_place", this.checkout.in_place)?;
        options.set_item("tracking", &this.checkout.tracking)?;
        options.set_item("foreign_writes", this.checkout.foreign_writes)?;
        options.set_item("one_writer", this.checkout.one_writer)?;
        options.set_item("after_unlink", this.checkout.after_unlink)?;
        options.set_item("private", this.checkout.private.clone())?;
        options.set_item("mode", this.checkout.mode)?;
        let name = this.checkout.kept.as_os_str().into_pyobject(py)?.into_any();
        Ok((
            again(py, "again")?,
            (name, options, content(py, version, dirty)?),
        ))
    }

    fn __copy__(&self) -> PyResult<()> {
        uncopied("segment")
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<()> {
        uncopied("segment")
    }
}

/// The function of Python's that checks out what was pickled.
pub(crate) fn again<'py>(py: Python<'py>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("fyris._segment")?.getattr(function)
}

/// The name of a segment for another process, and for later: a relative path means another file elsewhere.
pub(crate) fn kept(name: &Path) -> PyResult<PathBuf> {
    let is_path = name.as_os_str().as_encoded_bytes().contains(&b'/');
    Ok(match is_path {
        true => std::path::absolute(name)?,
        false => name.to_owned(),
    })
}

/// What is in a handle beside the name that it is pickled by: without it pickles of different contents would be the
/// same, and who caches by them (`joblib`) would take old for new. Changes that were not committed have a mark that
/// never repeats.
pub(crate) fn content(py: Python<'_>, version: u64, dirty: bool) -> PyResult<Bound<'_, PyAny>> {
    let mark = match dirty {
        true => Some(py.import("os")?.call_method1("urandom", (16,))?),
        false => None,
    };
    Ok((version, mark).into_pyobject(py)?.into_any())
}

/// Handles are not copied: a copy that leaves uncommitted changes out would be none.
pub(crate) fn uncopied<T>(what: &str) -> PyResult<T> {
    let text = format!("a {what} is not copied: check it out a second time, or copy its bytes");
    Err(PyTypeError::new_err(text))
}

/// A function and its arguments, as pickle wants them.
pub(crate) type Reduced<'py> = (
    Bound<'py, PyAny>,
    (Bound<'py, PyAny>, Bound<'py, PyDict>, Bound<'py, PyAny>),
);

/// The error of a working copy that stayed with the parent.
fn forked() -> PyErr {
    Forked::new_err(fyris_segment::Error::Forked.to_string())
}
