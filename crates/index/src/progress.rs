//! How far a move from one array of buckets to another has come.

use std::ops::Range;
use std::sync::PoisonError;

use fyris_sync::atomic::{AtomicUsize, Ordering};
use fyris_sync::lock::{Mutex, MutexGuard};

/// The units of a move that are done, and the ones that a panic has left undone: a user's hash function may panic, and
/// a unit is as it was then. Later writes do them; else the move would never end.
#[derive(Default)]
pub(crate) struct Progress {
    done: AtomicUsize,
    /// Length of `abandoned`, to be looked at without the lock.
    waiting: AtomicUsize,
    /// Each with the generation of its move.
    abandoned: Mutex<Vec<(u64, usize)>>,
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
    pub(crate) fn take_abandoned(&self, generation: u64) -> Option<usize> {
        // Relaxed: who misses it is followed by another write.
        if self.waiting.load(Ordering::Relaxed) == 0 || cfg!(fyris_mutant = "move_forgets_units") {
            return None;
        }
        let mut abandoned = self.abandoned();
        let at = abandoned.iter().position(|(of, _)| *of == generation)?;
        // Relaxed: as above.
        self.waiting.store(abandoned.len() - 1, Ordering::Relaxed);
        Some(abandoned.swap_remove(at).1)
    }

    fn abandoned(&self) -> MutexGuard<'_, Vec<(u64, usize)>> {
        self.abandoned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Units that a thread has taken on: the ones of `units` are to be done, the ones from `first` up to them are done and
/// not counted yet.
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
            let mut abandoned = self.progress.abandoned();
            abandoned.extend(self.units.clone().map(|unit| (self.generation, unit)));
            // Relaxed: as in `take_abandoned`.
            self.progress
                .waiting
                .store(abandoned.len(), Ordering::Relaxed);
        }
    }
}
