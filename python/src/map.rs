//! `fyris.VersionedMap`: an ordered map of bytes in a segment.
//!
//! Everything is copied on the way out, since what the map lends points into a working copy that the next update
//! changes. A walk remembers a key between its steps, so it survives every change.

use std::ops::Bound as Limit;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use fyris_segment::versioned_map::Cursor;
use fyris_segment::{
    Inside, MapError, Options, Origin, Reattach, VersionedMap as Store, let_others_pass,
};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use crate::buffer::Bytes;
use crate::errors::{self, Closed, Natural};
use crate::mapping::{self, Argument, each_pair, view};
use crate::segment::{Made, Updated, Watcher, again, content, kept, uncopied};
use crate::turns::Turns;

/// An ordered map of bytes to bytes that processes share, in a segment.
///
///     with fyris.VersionedMap("prices", 1 << 20) as prices:
///         prices[b"pear"] = b"12"
///         prices.commit()                  # others see it at their next update()
///         def raise_it(m):
///             m[b"pear"] = str(int(m[b"pear"]) + 1).encode()
///         prices.write(raise_it)           # on the latest version, again if another process was faster
///
/// Each process reads its own version, at the speed of private memory, until it calls update(). Maps are not merged: a
/// commit that is not the first raises Behind, and write() does what is to be done then. The arguments are those of
/// Segment; the map declares its writes itself, and grows up to max_size.
#[pyclass(frozen, mapping, weakref, module = "fyris")]
pub(crate) struct VersionedMap {
    map: Turns<MapState>,
    name: PathBuf,
    /// The name for other processes.
    kept: PathBuf,
    read_only: bool,
    in_place: bool,
    mode: Option<u32>,
    after_unlink: bool,
}

/// The state of a map.
struct MapState {
    /// `None` once it is closed.
    map: Option<Store>,
    origin: Origin,
}

impl MapState {
    fn new(map: Store) -> MapState {
        MapState {
            origin: map.segment().origin(),
            map: Some(map),
        }
    }
}

impl Reattach for MapState {
    type Error = MapError;

    fn origin(&self) -> Origin {
        self.origin.clone()
    }

    fn again(origin: &Origin) -> Result<MapState, MapError> {
        Store::again(origin).map(MapState::new)
    }

    fn reattach(&mut self) -> Result<(), MapError> {
        self.map.as_mut().map_or(Ok(()), Store::reattach)
    }
}

fn whole(entry: Option<(&[u8], &[u8])>) -> Option<(Vec<u8>, Vec<u8>)> {
    entry.map(|(key, value)| (key.to_vec(), value.to_vec()))
}

type Pair<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

fn pair<'py>(py: Python<'py>, entry: &(Vec<u8>, Vec<u8>)) -> Pair<'py> {
    (PyBytes::new(py, &entry.0), PyBytes::new(py, &entry.1))
}

fn closed() -> PyErr {
    Closed::new_err("the map is closed")
}

fn missing(key: &[u8], py: Python<'_>) -> PyErr {
    PyKeyError::new_err((PyBytes::new(py, key).unbind(),))
}

impl VersionedMap {
    fn state(&self) -> PyResult<Inside<'_, MapState>> {
        self.map.enter()
    }

    fn told(&self, error: MapError) -> PyErr {
        match error {
            MapError::Segment(error @ fyris_segment::Error::Busy) => self.map.told(error),
            error => errors::map(error),
        }
    }

    /// Runs an operation that is soon done. In a forked child none does anything, whatever it would have done.
    fn with<T>(&self, operation: impl FnOnce(&mut Store) -> Result<T, MapError>) -> PyResult<T> {
        match &mut self.state()?.map {
            Some(map) if map.segment().is_forked() => {
                Err(errors::segment(fyris_segment::Error::Forked))
            }
            Some(map) => operation(map).map_err(|error| self.told(error)),
            None => Err(closed()),
        }
    }

    /// Runs an operation without the interpreter's lock.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut Store) -> Result<T, MapError> + Send,
    ) -> PyResult<T> {
        py.detach(|| self.with(operation))
    }

    /// Commits a change, if it is to be kept; whether it is: otherwise it was taken back.
    fn end_change(&self, py: Python<'_>, keep: bool) -> PyResult<bool> {
        py.detach(|| {
            let mut state = self.state()?;
            let map = state.map.as_mut().ok_or_else(closed)?;
            let version = map.end_change(keep).map_err(errors::map)?;
            Ok(version.is_some())
        })
    }

    fn find(&self, key: &[u8]) -> PyResult<Option<Vec<u8>>> {
        self.with(|map| Ok(map.get(key)?.map(<[u8]>::to_vec)))
    }

    /// The entries between two bounds, from either end.
    fn between(
        &self,
        py: Python<'_>,
        bounds: (Limit<&[u8]>, Limit<&[u8]>),
        limit: Option<usize>,
        reverse: bool,
    ) -> PyResult<Vec<(Vec<u8>, Vec<u8>)>> {
        self.run(py, |map| {
            let range = map.range::<&[u8]>(bounds)?;
            let owned = |entry: Result<(&[u8], &[u8]), MapError>| {
                entry.map(|(key, value)| (key.to_vec(), value.to_vec()))
            };
            let limit = limit.unwrap_or(usize::MAX);
            match reverse {
                false => range.take(limit).map(owned).collect(),
                true => range.rev().take(limit).map(owned).collect(),
            }
        })
    }

    /// Puts in what `dict.update` would, all of which is read before.
    fn put_all(&self, others: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut pairs = Vec::new();
        each_pair(others, |key, value| {
            pairs.push((key.clone(), value.clone()));
            Ok(())
        })?;
        let read: Vec<(Bytes<'_>, Bytes<'_>)> = pairs
            .iter()
            .map(|(key, value)| Ok((key.extract()?, value.extract()?)))
            .collect::<PyResult<_>>()?;
        read.into_iter()
            .try_for_each(|(key, value)| self.__setitem__(key, value))
    }
}

#[pymethods]
impl VersionedMap {
    #[new]
    #[pyo3(signature = (name, size=Natural(0), *, create=true, exclusive=false, read_only=false, in_place=false, unit=None, max_size=None, slots=None, history=None, mode=None, group=None, after_unlink=false))]
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
        slots: Option<Natural>,
        history: Option<Natural>,
        mode: Option<u32>,
        group: Option<u32>,
        after_unlink: bool,
    ) -> PyResult<VersionedMap> {
        let read_only = read_only || in_place;
        let made = Made {
            unit,
            max_size,
            slots,
            history,
            mode,
            group,
        };
        let options = Options::new().create(create).exclusive(exclusive);
        let options = options
            .read_only(read_only)
            .in_place(in_place)
            .after_unlink(after_unlink);
        let options = made.put_in(options);
        let map = py.detach(|| Store::checkout(&name, size.0, &options));
        Ok(VersionedMap {
            map: Turns::new(MapState::new(map.map_err(errors::map)?)),
            kept: kept(&name)?,
            name,
            read_only,
            in_place,
            mode,
            after_unlink,
        })
    }

    /// Gives the working copy up, with its uncommitted changes; the map stays.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let gone = self.state()?.map.take();
        py.detach(|| drop(gone));
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

    /// The name, or path, as it was given.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        Ok(self.name.as_os_str().into_pyobject(py)?)
    }

    /// The version of the working copy, in commits.
    #[getter]
    fn version(&self) -> PyResult<u64> {
        self.with(|map| Ok(map.version()))
    }

    /// Returns whether others have committed since; no system call.
    #[getter]
    fn behind(&self) -> PyResult<bool> {
        self.with(|map| Ok(map.is_behind()))
    }

    /// Returns whether there are changes that were neither committed nor discarded.
    #[getter]
    fn dirty(&self) -> PyResult<bool> {
        self.with(|map| Ok(map.is_dirty()))
    }

    fn __len__(&self) -> PyResult<usize> {
        self.with(|map| Ok(map.len()? as usize))
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        match key.extract::<Bytes>() {
            Ok(key) => self.with(|map| Ok(map.get(&key)?.is_some())),
            Err(_) => Ok(false),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: Bytes<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match self.find(&key)? {
            Some(value) => Ok(PyBytes::new(py, &value)),
            None => Err(missing(&key, py)),
        }
    }

    fn __setitem__(&self, key: Bytes<'_>, value: Bytes<'_>) -> PyResult<()> {
        self.with(|map| map.insert(&key, &value).map(drop))
    }

    fn __delitem__(&self, py: Python<'_>, key: Bytes<'_>) -> PyResult<()> {
        match self.with(|map| map.remove(&key))? {
            true => Ok(()),
            false => Err(missing(&key, py)),
        }
    }

    fn __iter__(slf: Bound<'_, Self>) -> MapWalk {
        MapWalk::new(slf, MapPart::Key, false)
    }

    fn __reversed__(slf: Bound<'_, Self>) -> MapWalk {
        MapWalk::new(slf, MapPart::Key, true)
    }

    /// Equal to any mapping with the same items.
    fn __eq__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        mapping::equal(slf.as_any(), other)
    }

    /// The dict of the items of both.
    fn __or__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        mapping::union(slf.as_any(), other)
    }

    fn __ror__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        mapping::union(other, slf.as_any())
    }

    /// As update(other).
    fn __ior__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        self.put_all(other)
    }

    fn _walk(slf: Bound<'_, Self>, items: bool, back: bool) -> MapWalk {
        let part = if items { MapPart::Item } else { MapPart::Value };
        MapWalk::new(slf, part, back)
    }

    /// The keys in order: a view, as of a dictionary. A walk through it survives changes.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf.as_any(), "Keys")
    }

    /// The values in the order of their keys: a view.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf.as_any(), "Values")
    }

    /// Pairs of key and value, in order: a view.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf.as_any(), "Items")
    }

    /// Removes a key and returns its value; default, or KeyError, if it is not there.
    #[pyo3(signature = (key, *default))]
    fn pop<'py>(
        &self,
        py: Python<'py>,
        key: Bytes<'py>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if default.len() > 1 {
            let text = "pop() takes a key and at most one default";
            return Err(PyTypeError::new_err(text));
        }
        match self.find(&key)? {
            Some(value) => {
                self.with(|map| map.remove(&key))?;
                Ok(PyBytes::new(py, &value).into_any())
            }
            None => default.get_item(0).map_err(|_| missing(&key, py)),
        }
    }

    /// Removes the pair with the smallest key and returns it.
    fn popitem<'py>(&self, py: Python<'py>) -> PyResult<Pair<'py>> {
        let Some(entry) = self.with(|map| map.first().map(whole))? else {
            return Err(PyKeyError::new_err("popitem(): the map is empty"));
        };
        self.with(|map| map.remove(&entry.0))?;
        Ok(pair(py, &entry))
    }

    /// The value of a key; if it is not there, default is put in first.
    fn setdefault<'py>(
        &self,
        py: Python<'py>,
        key: Bytes<'py>,
        default: Bytes<'py>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if let Some(found) = self.find(&key)? {
            return Ok(PyBytes::new(py, &found));
        }
        let put = PyBytes::new(py, &default);
        self.__setitem__(key, default)?;
        Ok(put)
    }

    /// The value of a key, or default.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, key) = (key.py(), key.extract::<Bytes>());
        let found = key.map_or(Ok(None), |key| self.find(&key))?;
        Ok(found.map_or(default, |value| Some(PyBytes::new(py, &value).into_any())))
    }

    /// The pair with the smallest key, or None.
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Pair<'py>>> {
        let found = self.with(|map| map.first().map(whole))?;
        Ok(found.map(|entry| pair(py, &entry)))
    }

    /// The pair with the largest key, or None.
    fn last<'py>(&self, py: Python<'py>) -> PyResult<Option<Pair<'py>>> {
        let found = self.with(|map| map.last().map(whole))?;
        Ok(found.map(|entry| pair(py, &entry)))
    }

    /// The pairs with start <= key < stop, a list in order, or with reverse from the end; a bound that is None is open,
    /// limit is how many at most.
    #[pyo3(signature = (*, start=None, stop=None, limit=None, reverse=false))]
    fn range<'py>(
        &self,
        py: Python<'py>,
        start: Option<Bytes<'py>>,
        stop: Option<Bytes<'py>>,
        limit: Option<usize>,
        reverse: bool,
    ) -> PyResult<Vec<Pair<'py>>> {
        let low = start.as_deref().map_or(Limit::Unbounded, Limit::Included);
        let high = stop.as_deref().map_or(Limit::Unbounded, Limit::Excluded);
        let found = self.between(py, (low, high), limit, reverse)?;
        Ok(found.iter().map(|entry| pair(py, entry)).collect())
    }

    /// The pairs whose keys begin with prefix, a list in order; limit is how many at most.
    #[pyo3(signature = (prefix, *, limit=None))]
    fn prefix<'py>(
        &self,
        py: Python<'py>,
        prefix: Bytes<'py>,
        limit: Option<usize>,
    ) -> PyResult<Vec<Pair<'py>>> {
        let found = self.run(py, |map| {
            let entries = map.prefix(&prefix)?;
            let owned = |entry: Result<(&[u8], &[u8]), MapError>| {
                entry.map(|(key, value)| (key.to_vec(), value.to_vec()))
            };
            let entries = entries.take(limit.unwrap_or(usize::MAX));
            entries.map(owned).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(found.iter().map(|entry| pair(py, entry)).collect())
    }

    /// Removes everything from the working copy.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, Store::clear)
    }

    /// update() takes the latest version, as of a segment. Raises Uncommitted if there are changes: maps are not
    /// merged.
    ///
    /// update(others) is that of dictionaries: puts in the items of a mapping, or pairs of key and value, to be
    /// committed. It reads all of them first; one that is too long, or does not fit, comes after those before it, which
    /// discard() takes back.
    #[pyo3(signature = (others=Argument(None), /))]
    fn update(&self, py: Python<'_>, others: Argument<'_>) -> PyResult<Option<Updated>> {
        match &others.0 {
            None => self
                .run(py, Store::update)
                .map(|updated| Some(updated.into())),
            Some(others) => self.put_all(others).map(|()| None),
        }
    }

    /// For a with statement: changes made in it are committed at its end, and taken back if it ends by an exception, or
    /// if the commit fails. It begins with the latest version; raises Uncommitted if there are changes already. At the
    /// end Behind is raised if another writer was first; write() would begin again.
    fn begin<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import("fyris._segment")?;
        module.call_method1("MapBegun", (slf,))
    }

    fn _watcher(&self) -> PyResult<Watcher> {
        self.with(|map| Ok(Watcher(map.segment().watcher())))
    }

    /// Sleeps until others have committed since the last update(), or until timeout seconds have passed (None: for
    /// ever); returns whether they have.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        self._watcher()?.wait(py, timeout)
    }

    /// As wait(), for asyncio.
    #[pyo3(signature = (timeout=None))]
    fn wait_async<'py>(
        slf: &Bound<'py, Self>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let watcher = slf.get()._watcher()?;
        let module = slf.py().import("fyris._segment")?;
        module.call_method1("wait_async", (watcher, timeout))
    }

    /// Publishes the changes of the working copy and returns the new version. Raises Behind if another writer was
    /// first: discard(), update(), and make the changes again, as write() does.
    fn commit(&self, py: Python<'_>) -> PyResult<u64> {
        self.run(py, Store::commit)
    }

    /// Takes back the changes since the last commit.
    fn discard(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, Store::discard)
    }

    /// Calls change(self) on the latest version and commits what it did, as one step; returns what it returned. It is
    /// called again, on a newer version, whenever another writer was faster, so what it does beside must bear
    /// repetition. If it raises, nothing of what it did remains. Raises Uncommitted if there were changes before. While
    /// change runs update(), commit(), discard() and another write() raise InTransaction; other threads wait with this
    /// map.
    fn write<'py>(
        slf: &Bound<'py, Self>,
        change: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let _own = this.map.own()?;
        for lost in 0.. {
            this.run(py, Store::begin_change)?;
            let answer = change.call1((slf,));
            let committed = this.end_change(py, answer.is_ok());
            let answer = answer?;
            if committed? {
                return Ok(answer);
            }
            // The process that was faster may go on; this one comes back later each time.
            py.detach(|| let_others_pass(lost));
        }
        unreachable!("a writer that lost more often than a number can say")
    }

    /// Reads the whole map and verifies it. Raises Damaged with the first thing that is wrong.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |map| map.check().map(drop))
    }

    /// In a forked child: checks the map out anew, as Segment.reattach(). Raises Closed.
    fn reattach(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.map.reattach()).map_err(errors::map)?;
        self.with(|_| Ok(()))
    }

    fn __repr__(&self) -> String {
        let name = self.name.display();
        // Nobody waits for a text.
        let seen = self.map.try_enter().ok().and_then(|mut state| {
            let map = state.map.as_mut()?;
            Some((map.len().ok()?, map.version()))
        });
        match seen {
            Some((len, version)) => {
                format!("<fyris.VersionedMap {name}, {len} entries at version {version}>")
            }
            None => format!("<fyris.VersionedMap {name}, closed, busy or of the parent>"),
        }
    }

    /// Unpickling checks the map out anew.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<crate::segment::Reduced<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let (version, dirty) = this.with(|map| Ok((map.version(), map.is_dirty())))?;
        let options = PyDict::new(py);
        options.set_item("create", false)?;
        options.set_item("read_only", this.read_only)?;
        options.set_item("in_place", this.in_place)?;
        options.set_item("mode", this.mode)?;
        options.set_item("after_unlink", this.after_unlink)?;
        let name = this.kept.as_os_str().into_pyobject(py)?.into_any();
        Ok((
            again(py, "map_again")?,
            (name, options, content(py, version, dirty)?),
        ))
    }

    fn __copy__(&self) -> PyResult<()> {
        uncopied("map")
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<()> {
        uncopied("map")
    }
}

/// The part of each entry that a walk gives.
#[derive(Clone, Copy)]
enum MapPart {
    Key,
    Value,
    Item,
}

/// A walk through a map, in order. It remembers its place, and a key, so it goes on whatever happens to the map.
#[pyclass(frozen, module = "fyris._fyris")]
pub(crate) struct MapWalk {
    map: Py<VersionedMap>,
    part: MapPart,
    back: bool,
    at: Mutex<Cursor>,
}

impl MapWalk {
    fn new(map: Bound<'_, VersionedMap>, part: MapPart, back: bool) -> MapWalk {
        let mut at = Cursor::new();
        if back {
            at.to_end();
        }
        MapWalk {
            map: map.unbind(),
            part,
            back,
            at: Mutex::new(at),
        }
    }

    /// The parts of the next entry that are wanted. No code of Python's runs under its lock.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<Option<Parts<'py>>> {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        self.map.get().with(|map| {
            let entry = match self.back {
                false => at.next(map.view()),
                true => at.previous(map.view()),
            };
            Ok(entry?.map(|(key, value)| {
                let key = matches!(self.part, MapPart::Key | MapPart::Item).then_some(key);
                let value = matches!(self.part, MapPart::Value | MapPart::Item).then_some(value);
                [key, value].map(|part| part.map(|bytes| PyBytes::new(py, bytes)))
            }))
        })
    }
}

type Parts<'py> = [Option<Bound<'py, PyBytes>>; 2];

#[pymethods]
impl MapWalk {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match self.step(py)? {
            None => None,
            Some([Some(key), Some(value)]) => Some((key, value).into_pyobject(py)?.into_any()),
            Some([key, value]) => key.or(value).map(Bound::into_any),
        })
    }
}
