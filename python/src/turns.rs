//! The threads of a process that use one handle of a segment or map: each waits until the others are done.
//!
//! [`Shared`] lets one thread inside, and tells the others so at once. Here they try again for a while, without the
//! interpreter's lock, which the thread inside may need. A thread that calls a function of Python's in the middle of
//! something (a transaction, a merge that asks) owns the handle until that is done: others wait for all of it, and what
//! itself cannot do within it is an error at once.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fyris_segment::{Error, Inside, Reattach, Shared, let_others_pass};
use pyo3::prelude::*;

use crate::errors::{self, InTransaction};

/// How long a thread waits for others before it is told `Busy`.
const PATIENCE: Duration = Duration::from_secs(10);

/// A value that threads use in turn.
pub(crate) struct Turns<T: Reattach> {
    shared: Shared<T>,
    /// The process and the thread whose function runs; 0: none.
    owner: AtomicU64,
}

/// A number of this thread's own, not 0.
fn this_thread() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        // Relaxed: a number that nobody else gets, nothing more.
        static THIS: u32 = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    }
    THIS.with(|this| *this)
}

impl<T: Reattach + Send> Turns<T> {
    pub(crate) fn new(value: T) -> Turns<T> {
        Turns {
            shared: Shared::new(value),
            owner: AtomicU64::new(0),
        }
    }

    /// Goes inside, if no other thread is and no other owns it.
    pub(crate) fn try_enter(&self) -> Result<Inside<'_, T>, Error> {
        let inside = self.shared.lock()?;
        match self.is_others() {
            true => Err(Error::Busy),
            false => Ok(inside),
        }
    }

    /// Goes inside when the others are done.
    pub(crate) fn enter(&self) -> PyResult<Inside<'_, T>> {
        self.in_turn(|| self.try_enter())
    }

    /// Keeps others out while this thread calls a function, inside or not.
    pub(crate) fn own(&self) -> PyResult<Own<'_>> {
        let owner = u64::from(std::process::id()) << 32 | u64::from(this_thread());
        self.in_turn(|| {
            // Relaxed: who goes inside afterwards sees it by the lock, which the owner takes after this.
            let before = self.owner.load(Ordering::Relaxed);
            let is_free = before == 0 || is_of_parent(before);
            let change = |owner| {
                self.owner
                    .compare_exchange(before, owner, Ordering::Relaxed, Ordering::Relaxed)
            };
            match is_free && change(owner).is_ok() {
                true => Ok(Own(&self.owner)),
                false => Err(Error::Busy),
            }
        })
    }

    /// The exception for an error of a call.
    pub(crate) fn told(&self, error: Error) -> PyErr {
        match error {
            Error::Busy if self.is_mine() => InTransaction::new_err(
                "a function that transaction(), write() or on_conflict runs cannot do this with the same segment or map",
            ),
            error => errors::segment(error),
        }
    }

    pub(crate) fn reattach(&self) -> Result<(), T::Error> {
        self.shared.reattach()
    }

    fn in_turn<R: Send>(&self, attempt: impl Fn() -> Result<R, Error> + Sync) -> PyResult<R> {
        let wait = || {
            let begun = Instant::now();
            for turn in 0.. {
                match attempt() {
                    Err(Error::Busy) if begun.elapsed() < PATIENCE => let_others_pass(turn),
                    done => return done,
                }
            }
            unreachable!("a clock that stands still")
        };
        let done = match attempt() {
            Err(Error::Busy) if !self.is_mine() => Python::attach(|py| py.detach(wait)),
            done => done,
        };
        done.map_err(|error| self.told(error))
    }

    fn is_mine(&self) -> bool {
        // Relaxed: a thread sees what it has stored.
        self.owner.load(Ordering::Relaxed) as u32 == this_thread()
    }

    fn is_others(&self) -> bool {
        // Relaxed: as in `own`.
        let owner = self.owner.load(Ordering::Relaxed);
        owner != 0 && owner as u32 != this_thread() && !is_of_parent(owner)
    }
}

/// Whether an owner stayed behind when this process was forked.
fn is_of_parent(owner: u64) -> bool {
    owner >> 32 != u64::from(std::process::id())
}

/// Others are kept out until this is dropped.
pub(crate) struct Own<'a>(&'a AtomicU64);

impl Drop for Own<'_> {
    fn drop(&mut self) {
        // Relaxed: what the owner did is seen by the lock.
        self.0.store(0, Ordering::Relaxed);
    }
}
