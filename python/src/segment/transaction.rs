//! Transactions, and waiting for versions.

use std::time::Duration;

use fyris_segment::let_others_pass;
use pyo3::prelude::*;

use super::Segment;
use crate::errors::{self, BadValue};

/// The sleep between two looks whether Python has a signal to handle.
pub(crate) const NAP: Duration = Duration::from_millis(100);

/// Waits for versions newer than that of a working copy, without keeping other threads from the segment.
#[pyclass(frozen, module = "fyris._fyris")]
pub(crate) struct Watcher(pub(crate) fyris_segment::Watcher);

#[pymethods]
impl Watcher {
    /// Sleeps until there are changes, or timeout seconds have passed; whether there are. Ctrl-C ends it.
    #[pyo3(signature = (timeout=None))]
    pub(crate) fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let mut left = seconds(timeout)?;
        loop {
            let nap = left.map_or(NAP, |left| left.min(NAP));
            if py
                .detach(|| self.0.wait(Some(nap)))
                .map_err(errors::segment)?
            {
                return Ok(true);
            }
            py.check_signals()?;
            match &mut left {
                Some(left) if *left <= nap => return Ok(false),
                Some(left) => *left -= nap,
                None => {}
            }
        }
    }
}

/// A time as Python says it; `None` is for ever, and so is what no clock can say.
pub(crate) fn seconds(timeout: Option<f64>) -> PyResult<Option<Duration>> {
    match timeout {
        None => Ok(None),
        Some(seconds) if seconds >= 0.0 => Ok(Duration::try_from_secs_f64(seconds).ok()),
        Some(seconds) => Err(BadValue::new_err(format!("a timeout of {seconds} seconds"))),
    }
}

#[pymethods]
impl Segment {
    /// Changes the segment by a function, on the latest version, as one step: others see all of it or nothing. Calls
    /// change(self), commits, and returns what change returned. It is called again, on a newer version, whenever
    /// another process committed meanwhile, so what it does beside must bear repetition. If it raises, nothing of what
    /// it did remains. Raises Uncommitted if there were changes before; BaseLost if that cannot be told because this
    /// process lagged too far (discard() first). While change runs it may read and write the segment; update(),
    /// commit(), discard() and another transaction raise InTransaction; other threads wait with this segment.
    fn transaction<'py>(
        slf: &Bound<'py, Self>,
        change: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let _own = this.turns.own()?;
        for lost in 0.. {
            this.run(py, |segment| segment.begin_change())?;
            let answer = change.call1((slf,));
            let committed = this.end_change(py, answer.is_ok());
            let answer = answer?;
            if committed? {
                return Ok(answer);
            }
            py.detach(|| let_others_pass(lost));
        }
        unreachable!("lost more often than a number can say")
    }

    /// For a with statement: changes made in it are committed at its end, and taken back if it ends by an exception, or
    /// if the commit fails. It begins with the latest version; raises Uncommitted if there are changes already. At the
    /// end Behind is raised if another process has committed meanwhile (transaction() would begin again); merge=True
    /// merges that instead, with validate and on_conflict as of commit().
    ///
    ///     with segment.begin(merge=True):
    ///         here[17, 3] = 21.5
    #[pyo3(signature = (*, merge=false, validate=false, on_conflict=None))]
    fn begin<'py>(
        slf: &Bound<'py, Self>,
        merge: bool,
        validate: bool,
        on_conflict: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        super::versions::commit_options(merge, validate, on_conflict.as_ref())?;
        let module = slf.py().import("fyris._segment")?;
        module.call_method1("Begun", (slf, merge, validate, on_conflict))
    }

    /// Brings the working copy, in which nothing may be uncommitted, to the latest version.
    fn _begin(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |segment| segment.begin().map(drop))
    }

    fn _watcher(&self) -> PyResult<Watcher> {
        self.look(|segment| Watcher(segment.watcher()))
    }

    /// Sleeps until the trunk has changes that the working copy has not, or until timeout seconds have passed (None:
    /// for ever); returns whether there are such changes. Commits wake the sleeper. Other threads may use the segment
    /// meanwhile.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        self._watcher()?.wait(py, timeout)
    }

    /// As wait(), for asyncio: await segment.wait_async(). No thread sleeps for it: it looks after an eighth of the
    /// time that it has waited, 20 ms at most.
    #[pyo3(signature = (timeout=None))]
    fn wait_async<'py>(
        slf: &Bound<'py, Self>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        seconds(timeout)?;
        let watcher = slf.get()._watcher()?;
        let module = slf.py().import("fyris._segment")?;
        module.call_method1("wait_async", (watcher, timeout))
    }
}

impl Segment {
    /// Commits a change, if it is to be kept; whether it is: otherwise it was taken back.
    fn end_change(&self, py: Python<'_>, keep: bool) -> PyResult<bool> {
        py.detach(|| {
            let mut state = self.state()?;
            let version = state.open()?.end_change(keep).map_err(errors::segment)?;
            Ok(version.is_some())
        })
    }
}
