//! Watches that notice whether a table has been written to.
//!
//! # Invariant
//!
//! **NOTICE**: a watcher that finds the [`count`](Watch::count) of a table as it was before it read the table has seen
//! every write that had returned by then.
//!
//! A write ends with [`wrote`]: a light barrier, and if the table is watched the count goes up. A process that begins
//! to watch says so first, then makes all threads pass a heavy barrier (`membarrier`), and only then reads the table.
//! So a write that found the table unwatched had been published before that reading; any other one is counted before it
//! returns. A write to an unwatched table pays for one load.
//!
//! Tables share a few places by their identities: a write to another table can be taken for one, which costs a reading.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use fyris::{Table, TableId};

/// A place for the tables of some identities, in a cache line of its own.
#[repr(align(64))]
struct WatchPlace {
    watchers: AtomicU64,
    count: AtomicU64,
}

const PLACES: usize = 64;

static ALL: [WatchPlace; PLACES] = [const {
    WatchPlace {
        watchers: AtomicU64::new(0),
        count: AtomicU64::new(0),
    }
}; PLACES];

#[inline]
fn number(id: TableId) -> usize {
    id.0 as usize % PLACES
}

/// Has to be called after every write to a table, before the call that made it returns.
#[inline]
pub(crate) fn wrote(table: &Table) {
    let place = &ALL[number(table.id())];
    // SeqCst, for the compiler only: the light barrier. To the processor it is the heavy one of `Watch::begin` that
    // keeps the order, with which this pairs.
    compiler_fence(Ordering::SeqCst);
    // Relaxed: the barriers order it.
    if place.watchers.load(Ordering::Relaxed) > 0 && !cfg!(fyris_mutant = "nif_writes_unnoticed") {
        // Release: pairs with the Acquire in `count_of`.
        place.count.fetch_add(1, Ordering::Release);
    }
}

/// A table that is watched, until this is dropped.
pub(crate) struct Watch(usize);

/// Returns the count that a watch with this number has, or had; `None` if there is no such.
#[inline]
pub(crate) fn count_of(number: usize) -> Option<u64> {
    // Acquire: pairs with the addition in `wrote`.
    Some(ALL.get(number)?.count.load(Ordering::Acquire))
}

impl Watch {
    /// Begins to watch; `None` where the system has no such barrier.
    pub(crate) fn begin(id: TableId) -> Option<Watch> {
        static POSSIBLE: LazyLock<bool> =
            LazyLock::new(|| membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
        if !*POSSIBLE {
            return None;
        }
        let watch = Watch(number(id));
        // SeqCst: no later than the barrier, for the compiler too; pairs with the load in `wrote`.
        ALL[watch.0].watchers.fetch_add(1, Ordering::SeqCst);
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED).then_some(watch)
    }

    /// Returns a number that has grown if the table was written to.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        count_of(self.0).unwrap_or_default()
    }

    /// Returns its number, for [`count_of`].
    pub(crate) fn number(&self) -> usize {
        self.0
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Relaxed: a write that still counts does no harm.
        ALL[self.0].watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes two numbers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0) == 0 }
}
