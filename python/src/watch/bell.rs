//! Who waits for a subscription, and how it is woken by who writes to a table: without the interpreter's lock, and
//! without waiting for anybody.
//!
//! Threads sleep on a condition. An event loop sleeps on a socket of its own, one for all the subscriptions that its
//! tasks wait for.

use std::io::{Read, Result, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::Duration;

use pyo3::prelude::*;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half done by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes all who wait for one subscription: each looks what there is for it. Its lock is held for some instructions
/// only, in which nobody waits for the interpreter's.
#[derive(Default)]
pub(super) struct Bell {
    state: Mutex<Ringing>,
    sleepers: Condvar,
}

#[derive(Default)]
struct Ringing {
    /// How often it was rung.
    times: u64,
    /// The event loops that wait, and the place of the subscription in them.
    alarms: Vec<(Arc<Loop>, usize)>,
}

impl Bell {
    /// Returns how often it was rung.
    pub(super) fn rung(&self) -> u64 {
        lock(&self.state).times
    }

    /// Sleeps, for some time, until it was rung more often.
    pub(super) fn wait(&self, before: u64, time: Duration) {
        let is_quiet = |state: &mut Ringing| state.times == before;
        let woken = self
            .sleepers
            .wait_timeout_while(lock(&self.state), time, is_quiet);
        drop(woken);
    }

    /// Sets an alarm, which the next ring sets off. One that is set already stays one, or tasks that give up, again and
    /// again, would leave more and more.
    pub(super) fn set(&self, alarm: &Arc<Loop>, place: usize) {
        let mut state = lock(&self.state);
        let is_it = |set: &(Arc<Loop>, usize)| Arc::ptr_eq(&set.0, alarm) && set.1 == place;
        if !state.alarms.iter().any(is_it) {
            state.alarms.push((Arc::clone(alarm), place));
        }
    }

    /// Wakes all who wait.
    pub(super) fn ring(&self) {
        let alarms = {
            let mut state = lock(&self.state);
            state.times += 1;
            std::mem::take(&mut state.alarms)
        };
        self.sleepers.notify_all();
        for (alarm, place) in alarms {
            alarm.set_off(place);
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }
}

/// An event loop, as those have it who wake it.
pub(super) struct Loop {
    /// The places whose alarms were set off since it looked.
    due: Mutex<Vec<usize>>,
    /// Where one byte or more is to be read while some are due.
    bytes: UnixStream,
}

impl Loop {
    fn set_off(&self, place: usize) {
        let is_first = {
            let mut due = lock(&self.due);
            due.push(place);
            due.len() == 1
        };
        if is_first {
            // A socket that takes no more has bytes to be read.
            let _ = (&self.bytes).write(&[0]);
        }
    }
}

/// What wakes an event loop, which watches the file.
#[pyclass(frozen, module = "fyris._fyris")]
pub(crate) struct Alarm {
    shared: Arc<Loop>,
    bytes: UnixStream,
}

impl Alarm {
    pub(super) fn shared(&self) -> &Arc<Loop> {
        &self.shared
    }
}

#[pymethods]
impl Alarm {
    #[new]
    fn new() -> Result<Alarm> {
        let (bytes, theirs) = UnixStream::pair()?;
        bytes.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let shared = Loop {
            due: Mutex::default(),
            bytes: theirs,
        };
        Ok(Alarm {
            shared: Arc::new(shared),
            bytes,
        })
    }

    fn fileno(&self) -> i32 {
        self.bytes.as_raw_fd()
    }

    /// The places that were set off since the last call. None is missed: a byte comes after the first of them.
    fn due(&self) -> Vec<usize> {
        // Nothing to be read is as good.
        let _ = (&self.bytes).read(&mut [0; 64]);
        std::mem::take(&mut *lock(&self.shared.due))
    }
}
