//! The end of snapshots of calls that went on for too long, or were given up and not dropped.
//!
//! A thread waits for the next end; there is none while no such snapshot lives.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::Instant;

use super::SnapshotInner;

struct Ends {
    /// Those that are to end, by the moment and where they are.
    ends: BTreeMap<(Instant, usize), Weak<SnapshotInner>>,
    /// Whether the thread runs.
    is_kept: bool,
}

static ENDS: Mutex<Ends> = Mutex::new(Ends {
    ends: BTreeMap::new(),
    is_kept: false,
});
/// Told when there is an end before all others.
static SOONER: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Ends> {
    // Nothing is left half done by a panic.
    ENDS.lock().unwrap_or_else(|p| p.into_inner())
}

/// Has a snapshot released at the end of its time. If there is no thread to be had it is memory that stays until the
/// snapshot is dropped: reading it is refused all the same.
pub(super) fn watch(taken: &Arc<SnapshotInner>, end: Instant) {
    let mut all = lock();
    all.ends
        .insert((end, Arc::as_ptr(taken).addr()), Arc::downgrade(taken));
    if !all.is_kept {
        let thread = std::thread::Builder::new().name("fyris-snapshots".to_owned());
        all.is_kept = thread.spawn(keep).is_ok();
    }
    drop(all);
    SOONER.notify_one();
}

/// Forgets a snapshot that has ended.
pub(super) fn forget(taken: &SnapshotInner, end: Instant) {
    lock().ends.remove(&(end, std::ptr::from_ref(taken).addr()));
}

/// Releases one snapshot after another when its time has come, until there are no more.
fn keep() {
    let mut all = lock();
    while let Some(first) = all.ends.first_entry() {
        let left = first.key().0.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            let waited = SOONER.wait_timeout(all, left);
            all = waited.unwrap_or_else(|p| p.into_inner()).0;
            continue;
        }
        let due = first.remove();
        drop(all);
        if let Some(due) = due.upgrade() {
            due.release();
        }
        all = lock();
    }
    all.is_kept = false;
}
