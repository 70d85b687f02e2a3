//! Snapshots: the tree as it was at one moment.

use std::marker::PhantomData;
use std::ops::Bound;

use fyris_index::key::TreeKey;
use fyris_index::{Batch, Entry, Range};
use fyris_sync::atomic::{AtomicBool, Ordering};
use fyris_sync::lock::{Backoff, Mutex};
use fyris_sync::reclaim::{LocalGuard, OwnedGuard, Section, Sections, pin, pin_owned};

use crate::place::{ByKey, Cut};

use super::RelaxedAvl;
use super::find::find;
use super::node::{AvlNodeRef, HIGH};
use super::walk::Walk;

/// Lets writers in but while a snapshot is taken, and tells when those that are inside are done (invariant QUIET).
#[derive(Default)]
pub(super) struct Gate {
    writers: Sections,
    closed: AtomicBool,
    /// Held by the thread that has closed the gate.
    keeper: Mutex<()>,
}

impl Gate {
    /// Waits while the gate is closed, and enters.
    #[inline]
    pub(super) fn enter<'a>(&'a self, pin: &'a LocalGuard) -> Section<'a> {
        let mut backoff = Backoff::new();
        loop {
            let section = self.writers.enter(pin);
            // Acquire: pairs with the Release in `quietly`: what was marked as shared is seen.
            if !self.closed.load(Ordering::Acquire) {
                return section;
            }
            drop(section);
            backoff.wait_long();
        }
    }

    /// Runs `f` while no writer is inside.
    fn quietly<R>(&self, f: impl FnOnce() -> R) -> R {
        // A thread that panicked here has changed nothing.
        let _keeper = (self.keeper.lock()).unwrap_or_else(std::sync::PoisonError::into_inner);
        // Relaxed: the barrier of `wait` orders it.
        self.closed.store(true, Ordering::Relaxed);
        if !cfg!(fyris_mutant = "ravl_snapshot_undrained") {
            self.writers.wait(&pin());
        }
        let result = f();
        // Release: pairs with the Acquire in `enter`.
        self.closed.store(false, Ordering::Release);
        result
    }
}

impl<E: Entry<Key: TreeKey>> RelaxedAvl<E, true> {
    /// Returns the tree as it is at one moment of the call, for reading.
    ///
    /// O(1), but for waiting until the writers that are at work are done; others wait meanwhile. Writes one node.
    /// Afterwards the writers copy each node that was in the tree once, when they first come by it: 48 bytes a node.
    /// The snapshot is a pin: what is taken out of the tree, or of any other index, while it lives is freed after its
    /// end.
    ///
    /// Not to be called from the closure of an `upsert` of the same tree, which it would wait for.
    pub fn snapshot(&self) -> Snapshot<'_, E> {
        let pin = pin_owned();
        let (holder, len) = self.gate.quietly(|| {
            let root = self.holder().child(HIGH);
            (AvlNodeRef::snapshot_of(root), self.count())
        });
        Snapshot {
            holder,
            len,
            _pin: pin,
            entry: PhantomData,
        }
    }
}

/// A [`RelaxedAvl`] as it was at one moment. See [`RelaxedAvl::snapshot`].
///
/// Reads take no lock and wait for no writer; all of them see the same entries, which live as long as the snapshot.
pub struct Snapshot<'t, E: Entry> {
    /// A node of the snapshot's own, whose higher child is the root.
    holder: AvlNodeRef<'t>,
    len: usize,
    /// Since before the snapshot was taken, so that its nodes and entries are not freed (invariant FROZEN_SHARED).
    _pin: OwnedGuard,
    entry: PhantomData<E>,
}

// SAFETY: the nodes do not change, and hand out copies of entries; the pin may move between threads.
unsafe impl<E: Entry + Send + Sync> Send for Snapshot<'_, E> {}
// SAFETY: as above; the pin is not used but by its drop.
unsafe impl<E: Entry + Send + Sync> Sync for Snapshot<'_, E> {}

impl<E: Entry<Key: TreeKey>> Snapshot<'_, E> {
    /// Returns the entry with this key. O(log n).
    pub fn get(&self, key: &E::Key) -> Option<E> {
        find::<E>(self.holder, &ByKey::new(key)).ok()?.entry()
    }

    /// Appends the first `want` entries of a range, one at least, in the order of keys; returns whether there are more.
    /// O(log n + want).
    pub fn scan(&self, (from, to): Range<'_, E::Key>, want: usize, out: &mut Batch<E>) -> bool {
        let walk = Walk::<false>::new::<E>(self.holder, &Cut::begin(from));
        walk.append(&Cut::end(to), want, out)
    }

    /// Appends the last `want` entries of the range, one at least, downwards; returns whether there are more. O(log n +
    /// want).
    pub fn scan_back(
        &self,
        (from, to): Range<'_, E::Key>,
        want: usize,
        out: &mut Batch<E>,
    ) -> bool {
        let walk = Walk::<true>::new::<E>(self.holder, &Cut::end(to));
        walk.append(&Cut::begin(from), want, out)
    }

    /// Returns the first entry at or above the bound (above for `Excluded`; the first of all for `Unbounded`).
    /// O(log n).
    pub fn seek(&self, from: Bound<&E::Key>) -> Option<E> {
        Walk::<false>::new::<E>(self.holder, &Cut::begin(from)).next_entry()
    }

    /// Returns the last entry at or below the bound (below for `Excluded`; the last of all for `Unbounded`). O(log n).
    pub fn seek_back(&self, from: Bound<&E::Key>) -> Option<E> {
        Walk::<true>::new::<E>(self.holder, &Cut::end(from)).next_entry()
    }
}

impl<E: Entry> Snapshot<'_, E> {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<E: Entry> Drop for Snapshot<'_, E> {
    fn drop(&mut self) {
        // SAFETY: made by `snapshot_of`; no other thread has it.
        unsafe { self.holder.free() };
    }
}
