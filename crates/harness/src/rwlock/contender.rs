//! The locks that take part.

use std::cell::UnsafeCell;

use fyris_sync::lock::rw::{FairRwLock, GroupRwLock, PointerRwLock};

use super::drive::{Data, LockJob, LockTally, drive};
use super::peers;
use crate::error::BenchError;

/// A reader-writer lock over [`Data`].
pub(super) trait Lock: Sync {
    /// Makes a free lock over zeros.
    fn make() -> Self;

    /// Runs `f` with the lock for reading.
    fn read<R>(&self, f: impl FnOnce(&Data) -> R) -> R;

    /// Runs `f` with the lock for writing.
    fn write<R>(&self, f: impl FnOnce(&mut Data) -> R) -> R;
}

macro_rules! own_lock {
    ($($lock:ty),*) => {$(
        impl Lock for $lock {
            fn make() -> Self {
                Self::new(Data::default())
            }

            #[inline]
            fn read<R>(&self, f: impl FnOnce(&Data) -> R) -> R {
                f(&self.read())
            }

            #[inline]
            fn write<R>(&self, f: impl FnOnce(&mut Data) -> R) -> R {
                f(&mut self.write())
            }
        }
    )*};
}

own_lock!(FairRwLock<Data>, GroupRwLock<Data>, PointerRwLock<Data>);

/// The loop without a lock, for one thread.
struct NoLock(UnsafeCell<Data>);

// SAFETY: the contender runs with one thread.
unsafe impl Sync for NoLock {}

impl Lock for NoLock {
    fn make() -> Self {
        Self(UnsafeCell::default())
    }

    #[inline]
    fn read<R>(&self, f: impl FnOnce(&Data) -> R) -> R {
        // SAFETY: the contender runs with one thread.
        f(unsafe { &*self.0.get() })
    }

    #[inline]
    fn write<R>(&self, f: impl FnOnce(&mut Data) -> R) -> R {
        // SAFETY: as above.
        f(unsafe { &mut *self.0.get() })
    }
}

/// A lock that takes part.
pub(super) struct LockContender {
    /// The name in the vocabulary.
    pub(super) name: &'static str,
    /// True if it is for one thread.
    pub(super) alone: bool,
    run: fn(&LockJob) -> Result<Vec<LockTally>, BenchError>,
}

impl LockContender {
    /// Returns a lock under its name.
    pub(super) fn new<L: Lock>(name: &'static str) -> Self {
        Self {
            name,
            alone: false,
            run: drive::<L>,
        }
    }

    /// Does one run with a new lock; returns the tally of each thread, after the check of the numbers under the lock.
    pub(super) fn run(&self, job: &LockJob) -> Result<Vec<LockTally>, BenchError> {
        (self.run)(job)
    }
}

/// Returns the empty loop, Fyris's locks and those of others.
pub(super) fn all() -> Vec<LockContender> {
    let harness = LockContender {
        alone: true,
        ..LockContender::new::<NoLock>("harness")
    };
    let mut all = vec![
        harness,
        LockContender::new::<FairRwLock<Data>>("fair"),
        LockContender::new::<GroupRwLock<Data>>("groups"),
        LockContender::new::<PointerRwLock<Data>>("pointers"),
    ];
    all.extend(peers::all());
    all
}
