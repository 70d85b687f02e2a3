//! Watching: subscriptions to what changes in tables.

use std::ops::Bound as Limit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use fyris::{SubscribeOptions, TableRef, WatchEvent, WatchFilter, WatchKind};
use fyris_term::Term;
use pyo3::exceptions::PyStopAsyncIteration;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::convert::{from_term, from_terms, to_term};
use crate::errors::{self, BadValue};
use crate::mapping::Argument;
use crate::segment::{NAP, seconds};
use crate::table::{OWNER, Table, pattern_of, spec_of};

mod bell;

pub(crate) use bell::Alarm;
use bell::Bell;

/// The two ends of a range, or None for an open one.
type Ends<'py> = (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Reads what is asked for: one thing at most.
fn filter_of(
    key: Argument<'_>,
    range: Option<Ends<'_>>,
    pattern: Option<Bound<'_, PyAny>>,
    match_spec: Option<Bound<'_, PyAny>>,
) -> PyResult<WatchFilter> {
    match (key.0, range, pattern, match_spec) {
        (None, None, None, None) => Ok(WatchFilter::all()),
        (Some(key), None, None, None) => Ok(WatchFilter::key(to_term(&key)?)),
        (None, Some((start, stop)), None, None) => {
            let end = |end: Option<Bound<'_, PyAny>>| end.as_ref().map(to_term).transpose();
            let start = end(start)?.map_or(Limit::Unbounded, Limit::Included);
            let stop = end(stop)?.map_or(Limit::Unbounded, Limit::Excluded);
            Ok(WatchFilter::range((start, stop)))
        }
        (None, None, Some(pattern), None) => {
            WatchFilter::pattern(&pattern_of(&pattern)?).map_err(errors::store)
        }
        (None, None, None, Some(spec)) => Ok(WatchFilter::matching(spec_of(&spec)?)),
        _ => Err(BadValue::new_err(
            "one of key, range, pattern and match_spec is asked for, not several",
        )),
    }
}

fn options_of(from_snapshot: bool, queue: Option<usize>, conflate: bool) -> SubscribeOptions {
    let mut options = SubscribeOptions::new();
    if from_snapshot {
        options = options.from_snapshot();
    }
    if let Some(changes) = queue {
        options = options.queue(changes);
    }
    if conflate {
        options = options.conflate();
    }
    options
}

/// Subscribes to what changes in tables, as Table.subscribe() does: what a transaction changes in several of them is
/// one event.
///
///     for event in fyris.subscribe([accounts, log], from_snapshot=True):
///         ...
///
/// Raises BadValue for no table and for one that is given twice.
#[pyfunction]
#[pyo3(signature = (
    tables, *, key=Argument(None), range=None, pattern=None, match_spec=None,
    from_snapshot=false, queue=None, conflate=false
))]
#[expect(clippy::too_many_arguments, reason = "arguments by name in Python")]
pub(crate) fn subscribe(
    py: Python<'_>,
    tables: Vec<Bound<'_, Table>>,
    key: Argument<'_>,
    range: Option<Ends<'_>>,
    pattern: Option<Bound<'_, PyAny>>,
    match_spec: Option<Bound<'_, PyAny>>,
    from_snapshot: bool,
    queue: Option<usize>,
    conflate: bool,
) -> PyResult<Subscription> {
    errors::not_forked()?;
    let filter = filter_of(key, range, pattern, match_spec)?;
    let options = options_of(from_snapshot, queue, conflate);
    Subscription::new(py, tables, &filter, &options)
}

#[pymethods]
impl Table {
    /// Subscribes to what changes in the table: an iterator of WatchEvent, which waits for each, for `for` and
    /// `async for`. It ends when the table is deleted, and when it is closed, as at the end of a with statement.
    ///
    ///     with orders.subscribe(pattern="""{'_', "paid"}""") as changes:
    ///         for event in changes:
    ///             for table, old, new in event.changes:
    ///                 print(old, "->", new)
    ///
    /// By default it is told of all changes: with key of those of one key, with range=(start, stop) of an ordered_set
    /// of keys with start <= key < stop (None is an open end), with pattern or match_spec (as for match_object() and
    /// select_count()) of objects that match before the change or after it.
    ///
    /// from_snapshot tells the objects first that are there now, and then all changes since: none is missing, and none
    /// comes twice. queue is how many changes wait to be read, at most (65,536 unless said): what does not fit is lost,
    /// which an event of the kind 'overflow' says; with 0 all is. With conflate one change of each key waits: from what
    /// was told last to what is there now. It is for tables with one object a key. A write that leaves an object as it
    /// was is no change.
    ///
    /// Writers never wait for who reads. The subscription keeps a table without a name. Raises WrongType for a range of
    /// a table without an order of keys, and to conflate a bag; ReadOnly for a snapshot; InTransaction.
    #[pyo3(signature = (
        *, key=Argument(None), range=None, pattern=None, match_spec=None,
        from_snapshot=false, queue=None, conflate=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "arguments by name in Python")]
    fn subscribe(
        slf: Bound<'_, Self>,
        key: Argument<'_>,
        range: Option<Ends<'_>>,
        pattern: Option<Bound<'_, PyAny>>,
        match_spec: Option<Bound<'_, PyAny>>,
        from_snapshot: bool,
        queue: Option<usize>,
        conflate: bool,
    ) -> PyResult<Subscription> {
        errors::not_forked()?;
        let filter = filter_of(key, range, pattern, match_spec)?;
        let options = options_of(from_snapshot, queue, conflate);
        Subscription::new(slf.py(), vec![slf], &filter, &options)
    }
}

/// What changes in tables, from subscribe() on: an iterator of WatchEvent that waits, and one for asyncio. Threads and
/// tasks may share it: each event goes to one of them.
#[pyclass(frozen, weakref, module = "fyris")]
pub(crate) struct Subscription {
    /// `None` once it was closed. Held for steps only, never while somebody waits or Python runs.
    open: Mutex<Option<fyris::Subscription>>,
    bell: Arc<Bell>,
    tables: Vec<Watched>,
}

/// A table, and its reference when the subscription began.
struct Watched(Py<Table>, TableRef);

/// What is to be had at once.
enum Next {
    Event(WatchEvent),
    /// Nothing yet.
    Later,
    /// Nothing any more.
    Ended,
}

impl Subscription {
    fn new(
        py: Python<'_>,
        tables: Vec<Bound<'_, Table>>,
        filter: &WatchFilter,
        options: &SubscribeOptions,
    ) -> PyResult<Subscription> {
        let handles: Vec<fyris::Table> = tables.iter().map(|t| t.get().table.clone()).collect();
        let watched = tables.into_iter().map(|table| {
            let reference = table.get().table.reference();
            Watched(table.unbind(), reference)
        });
        let tables = watched.collect();
        let store = OWNER.store();
        let handles: Vec<&fyris::Table> = handles.iter().collect();
        let begun = py.detach(|| store.subscribe(&handles, filter, options));
        Ok(Subscription {
            open: Mutex::new(Some(begun.map_err(errors::store)?)),
            bell: Arc::default(),
            tables,
        })
    }

    fn open(&self) -> MutexGuard<'_, Option<fyris::Subscription>> {
        // Nothing is left half done by a panic.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next event; the bell is rung when there may be one.
    fn poll(&self, py: Python<'_>) -> Next {
        let waker = Waker::from(Arc::clone(&self.bell));
        py.detach(|| match &mut *self.open() {
            None => Next::Ended,
            Some(open) => match open.poll_event(&mut Context::from_waker(&waker)) {
                Poll::Ready(Some(event)) => Next::Event(event),
                Poll::Ready(None) => Next::Ended,
                Poll::Pending => Next::Later,
            },
        })
    }

    /// Waits for the next event until a moment; `None` if none came, or there are no more.
    fn wait(&self, py: Python<'_>, end: Option<Instant>) -> PyResult<Option<WatchEvent>> {
        errors::not_forked()?;
        loop {
            let before = self.bell.rung();
            match self.poll(py) {
                Next::Event(event) => return Ok(Some(event)),
                Next::Ended => return Ok(None),
                Next::Later => {}
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            let nap = left.map_or(NAP, |left| left.min(NAP));
            py.detach(|| self.bell.wait(before, nap));
            py.check_signals()?;
        }
    }

    /// Returns the table that an event tells of. Its name may be another now.
    fn table(&self, py: Python<'_>, told: &TableRef) -> Option<Py<Table>> {
        let is_it = |of: &&Watched| of.0.get().table.reference() == *told || of.1 == *told;
        let found = match &self.tables[..] {
            [only] => Some(only),
            tables => tables.iter().find(is_it),
        };
        found.map(|of| of.0.clone_ref(py))
    }

    /// Returns the `WatchEvent` of an event.
    fn told<'py>(&self, py: Python<'py>, event: WatchEvent) -> PyResult<Bound<'py, PyAny>> {
        let module = py.import("fyris._watch")?;
        let new = module.getattr("WatchEvent")?;
        let (none, nobody) = (PyTuple::empty(py), py.None());
        let seq = event.seq;
        match event.kind {
            WatchKind::Changes(changes) => {
                let change = module.getattr("ObjectChange")?;
                let changes = changes.iter().map(|told| {
                    let of = |object: &Option<Term>| {
                        object.as_ref().map(|term| from_term(py, term)).transpose()
                    };
                    change.call1((self.table(py, &told.table), of(&told.old)?, of(&told.new)?))
                });
                let changes = changes.collect::<PyResult<Vec<_>>>()?;
                new.call1((seq, "changes", PyTuple::new(py, changes)?))
            }
            WatchKind::Objects { table, objects } => {
                let objects = PyTuple::new(py, from_terms(py, &objects)?)?;
                new.call1((seq, "objects", none, self.table(py, &table), objects))
            }
            WatchKind::Current => new.call1((seq, "current")),
            WatchKind::Cleared { table, objects } => {
                let table = self.table(py, &table);
                new.call1((seq, "cleared", &none, table, &none, objects))
            }
            WatchKind::Deleted { table } => {
                new.call1((seq, "deleted", none, self.table(py, &table)))
            }
            WatchKind::Overflow { lost } => {
                new.call1((seq, "overflow", &none, nobody, &none, 0, lost))
            }
            other => Err(BadValue::new_err(format!(
                "an event of a new kind: {other:?}"
            ))),
        }
    }

    fn some<'py>(
        &self,
        py: Python<'py>,
        event: Option<WatchEvent>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        event.map(|event| self.told(py, event)).transpose()
    }
}

#[pymethods]
impl Subscription {
    /// Returns the next event if there is one now; None if there is none yet, or there are no more.
    fn try_next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        errors::not_forked()?;
        let next = py.detach(|| self.open().as_mut()?.try_next());
        self.some(py, next)
    }

    /// Waits for the next event, for timeout seconds at most (None: for ever); None if none came, or there are no more.
    /// Other threads run meanwhile, and Ctrl-C ends it.
    #[pyo3(signature = (timeout=None))]
    fn next<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let end = seconds(timeout)?.and_then(|time| Instant::now().checked_add(time));
        let next = self.wait(py, end)?;
        self.some(py, next)
    }

    /// Whether it was closed, or all its tables are deleted and all was told.
    #[getter]
    fn ended(&self, py: Python<'_>) -> PyResult<bool> {
        errors::not_forked()?;
        Ok(py.detach(|| {
            self.open()
                .as_ref()
                .is_none_or(fyris::Subscription::has_ended)
        }))
    }

    /// Ends it, for those as well who wait for it; what was not read is gone. Nothing happens to one that has ended.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        errors::not_forked()?;
        py.detach(|| {
            let closed = self.open().take();
            self.bell.ring();
            drop(closed);
        });
        Ok(())
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// Closes it.
    fn __exit__(
        &self,
        class: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(class.py())
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let next = self.wait(py, None)?;
        self.some(py, next)
    }

    fn __aiter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __anext__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        errors::not_forked()?;
        let module = slf.py().import("fyris._watch")?;
        module.call_method1("next_event", (slf,))
    }

    /// The next event; None if there is none yet: the alarm is set off for place when there may be one. Raises
    /// StopAsyncIteration.
    fn _poll<'py>(
        &self,
        py: Python<'py>,
        alarm: &Bound<'py, Alarm>,
        place: usize,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        errors::not_forked()?;
        // Before it looks: what comes afterwards sets it off.
        self.bell.set(alarm.get().shared(), place);
        match self.poll(py) {
            Next::Event(event) => self.told(py, event).map(Some),
            Next::Ended => Err(PyStopAsyncIteration::new_err(())),
            Next::Later => Ok(None),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let names = self
            .tables
            .iter()
            .map(|of| of.0.get().table.reference().to_string());
        let names = names.collect::<Vec<_>>().join(", ");
        let ended = if self.ended(py)? { ", ended" } else { "" };
        Ok(format!("<fyris.Subscription to {names}{ended}>"))
    }
}
