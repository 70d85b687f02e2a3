//! How far a move from one array of buckets to another has come.

use std::ops::Range;
use std::sync::PoisonError;

use fyris_sync::atomic::{AtomicUsize, Ordering};
use fyris_sync::lock::{Mutex, MutexGuard};

/// The units of a move that are done, and those that a panic has left: a user's hash function may panic, and a unit is
/// as it was then. They are taken up again by later writes; else the move would never end.
#[derive(Default)]
pub(crate) struct Progress {
    done: AtomicUsize,
    /// Length of `left`, to be looked at without the lock.
    waiting: AtomicUsize,
    /// Each with the generation of its move.
    left: Mutex<Vec<(u64, usize)>>,
}

impl Progress {
    /// Begins anew. For the thread that begins a move, before others can see it.
    pub(crate) fn begin(&self) {
        // Relaxed: published with the move.
        self.done.store(0, Ordering::Relaxed);
    }

    /// Does these units of the `all` that the move has. Returns whether it is done, to one caller.
    #[inline]
    pub(crate) fn run(
        &self,
        generation: u64,
        units: Range<usize>,
        all: usize,
        mut move_unit: impl FnMut(usize),
    ) -> bool {
        let mut share = Share {
            progress: self,
            generation,
            first: units.start,
            units,
        };
        while !share.units.is_empty() {
            move_unit(share.units.start);
            share.units.start += 1;
        }
        share.count() == all
    }

    /// Takes a unit that a panic has left in this move.
    pub(crate) fn take_left(&self, generation: u64) -> Option<usize> {
        // Relaxed: who misses it is followed by another write.
        if self.waiting.load(Ordering::Relaxed) == 0 || cfg!(fyris_mutant = "move_forgets_units") {
            return None;
        }
        let mut left = self.left();
        let at = left.iter().position(|(of, _)| *of == generation)?;
        // Relaxed: as above.
        self.waiting.store(left.len() - 1, Ordering::Relaxed);
        Some(left.swap_remove(at).1)
    }

    fn left(&self) -> MutexGuard<'_, Vec<(u64, usize)>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Units that a thread has taken on: those from `first` to `units` are done and not counted yet, those of `units` are not
/// done.
struct Share<'a> {
    progress: &'a Progress,
    generation: u64,
    first: usize,
    units: Range<usize>,
}

impl Share<'_> {
    /// Counts what is done; returns the units of the move that are.
    fn count(&mut self) -> usize {
        let done = self.units.start - std::mem::replace(&mut self.first, self.units.start);
        // AcqRel: pairs with itself; the thread that is last has all moves behind it.
        self.progress.done.fetch_add(done, Ordering::AcqRel) + done
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        if !self.units.is_empty() {
            self.count();
            let mut left = self.progress.left();
            left.extend(self.units.clone().map(|unit| (self.generation, unit)));
            // Relaxed: as in `take_left`.
            self.progress.waiting.store(left.len(), Ordering::Relaxed);
        }
    }
}
