//! Whether the writes of a table leave versions.
//!
//! They do from the first snapshot on, which waits for the writes under way (TURNED in [`super`]), until some time after
//! the last snapshot has ended: scans that take one snapshot after another then wait once. The first write after that
//! time ends it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard};
use std::time::Instant;

use fyris_sync::reclaim::LocalGuard;

use crate::life::Life;

/// Milliseconds for which a table stays versioned without a snapshot.
const IDLE_MS: u64 = 100;

/// The snapshots of a table, over all contents that it had, as far as its mode goes.
#[derive(Default)]
pub(crate) struct Versioned {
    mode: Mutex<Mode>,
    /// The time when the last snapshot ended, from 1; 0 if one lives. For a look without the lock.
    idle_since: AtomicU64,
}

#[derive(Default)]
struct Mode {
    /// The number of snapshots that live or begin.
    snapshots: usize,
    /// Whether the bit in the state of the table is set, and all writes under way have seen it.
    is_on: bool,
}

impl Versioned {
    /// Counts a snapshot that is about to begin, and has the table versioned (TURNED).
    pub(crate) fn enter(&self, life: &Life, pin: &LocalGuard) {
        let mut mode = self.mode();
        if !mode.is_on {
            life.set_versioned(true);
            if !cfg!(fyris_mutant = "store_turn_unwaited") {
                life.wait_for_writes(pin);
            }
            mode.is_on = true;
        }
        mode.snapshots += 1;
        // Relaxed, here and below: a hint; `end_if_idle` looks again under the lock.
        self.idle_since.store(0, Ordering::Relaxed);
    }

    /// Counts a snapshot less.
    pub(crate) fn leave(&self) {
        let mut mode = self.mode();
        mode.snapshots -= 1;
        if mode.snapshots == 0 {
            self.idle_since.store(now(), Ordering::Relaxed);
        }
    }

    /// Ends the mode if there has been no snapshot for some time. Called by writes of a versioned table.
    pub(crate) fn end_if_idle(&self, life: &Life) {
        let since = self.idle_since.load(Ordering::Relaxed);
        if since == 0 || now() < since + IDLE_MS {
            return;
        }
        // No waiting: another write is here, or a snapshot is beginning and waits for this write.
        let Ok(mut mode) = self.mode.try_lock() else {
            return;
        };
        if mode.is_on && mode.snapshots == 0 {
            life.set_versioned(false);
            mode.is_on = false;
        }
    }

    fn mode(&self) -> MutexGuard<'_, Mode> {
        // Nothing is left half done by a panic.
        self.mode.lock().unwrap_or_else(|p| p.into_inner())
    }
}

/// Returns the time in milliseconds, from 1.
fn now() -> u64 {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    FIRST.elapsed().as_millis() as u64 + 1
}
