//! Threads, and small numbers that name them.

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    thread::{JoinHandle, spawn, yield_now},
};
#[cfg(shuttle)]
pub use shuttle::{
    hint::spin_loop,
    thread::{JoinHandle, spawn, yield_now},
};
#[cfg(not(any(loom, shuttle)))]
pub use std::{
    hint::spin_loop,
    thread::{JoinHandle, spawn, yield_now},
};

pub use slot::{NO_SLOT, place, slot};
#[cfg(all(unix, not(any(loom, shuttle))))]
pub(crate) use slot::{keep_own_slot, lock_slots, unlock_slots};

/// Returns the number of processors that this process may use, as it was at the first call: to ask the system means to
/// read several files.
pub fn processors() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    // Not a `OnceLock`: the child of a fork would wait for ever for a thread of its parent that is asking.
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    // Relaxed, both: a number alone, and two threads that ask at once get the same.
    let known = KNOWN.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let processors = std::thread::available_parallelism().map_or(4, |n| n.get());
    KNOWN.store(processors, Ordering::Relaxed);
    processors
}

/// Numbers for living threads: dense, from zero, given again after a thread has ended.
///
/// Between the last act of a thread under a number and the first act of the next thread under it
/// stands the lock below, so what the first wrote plainly the second may read plainly.
#[cfg(not(any(loom, shuttle)))]
mod slot {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use crate::atomic::{AtomicUsize, Ordering};
    use crate::lock::SpinLock;

    /// The result of [`slot`] while a thread's own storage is being torn down.
    pub const NO_SLOT: usize = usize::MAX;
    const UNSET: usize = usize::MAX - 1;

    struct Free {
        next: usize,
        returned: BTreeSet<usize>,
    }

    static FREE: SpinLock<Free> = SpinLock::new(Free {
        next: 0,
        returned: BTreeSet::new(),
    });

    /// Places given to threads that have no slot any more.
    static LATE: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        static PLACE: Cell<usize> = const { Cell::new(UNSET) };
        static SLOT: Cell<usize> = const { Cell::new(UNSET) };
        static LEASE: NumberLease = const { NumberLease(Cell::new(UNSET)) };
    }

    /// Gives the number back when the thread ends.
    struct NumberLease(Cell<usize>);

    impl Drop for NumberLease {
        fn drop(&mut self) {
            SLOT.with(|slot| slot.set(NO_SLOT));
            FREE.with(|free| free.returned.insert(self.0.get()));
        }
    }

    /// Returns the calling thread's number: no other living thread has it. A nanosecond.
    ///
    /// [`NO_SLOT`] in destructors of thread-local values that run after this module's own.
    #[inline]
    pub fn slot() -> usize {
        let slot = SLOT.with(Cell::get);
        if slot == UNSET { lease() } else { slot }
    }

    #[cold]
    fn lease() -> usize {
        let next = |free: &mut Free| {
            free.returned.pop_first().unwrap_or_else(|| {
                free.next += 1;
                free.next - 1
            })
        };
        let leased = LEASE.try_with(|lease| {
            let slot = FREE.with(next);
            lease.0.set(slot);
            slot
        });
        let slot = leased.unwrap_or(NO_SLOT);
        SLOT.with(|cell| cell.set(slot));
        slot
    }

    /// Returns a number of the calling thread that stays the same to its very end: the slot that it had when it first
    /// asked. Threads that live at the same time mostly have different ones. A nanosecond.
    #[inline]
    pub fn place() -> usize {
        let place = PLACE.get();
        if place == UNSET { find_place() } else { place }
    }

    #[cold]
    fn find_place() -> usize {
        let place = match slot() {
            // Relaxed: a number.
            NO_SLOT => LATE.fetch_add(1, Ordering::Relaxed),
            slot => slot,
        };
        PLACE.set(place);
        place
    }

    /// Takes the lock of the numbers, before a fork.
    #[cfg(unix)]
    pub(crate) fn lock_slots() {
        FREE.acquire();
    }

    /// Gives up what [`lock_slots`] took, in the parent and in the child.
    #[cfg(unix)]
    pub(crate) fn unlock_slots() {
        FREE.release();
    }

    /// Takes back the numbers of all threads but this one, in the child of a fork.
    ///
    /// # Safety
    ///
    /// [`lock_slots`] was called, and there is no other thread.
    #[cfg(unix)]
    pub(crate) unsafe fn keep_own_slot() {
        let mine = SLOT.get();
        // SAFETY: the caller holds the lock.
        unsafe {
            FREE.with_acquired(|free| {
                free.returned = (0..free.next).filter(|slot| *slot != mine).collect()
            })
        };
    }
}

/// Under loom counters have one cell, and no code asks for a number but [`place`].
#[cfg(any(loom, shuttle))]
mod slot {
    #[cfg(loom)]
    use loom::thread;
    #[cfg(shuttle)]
    use shuttle::thread;

    /// Returns a number of the calling thread.
    pub fn place() -> usize {
        // The identifier of a model's thread is a number, which it does not tell otherwise.
        let id = format!("{:?}", thread::current().id());
        let digits = id.chars().filter(char::is_ascii_digit);
        digits.fold(0, |number, digit| {
            number * 10 + digit as usize - '0' as usize
        })
    }

    /// No number.
    pub const NO_SLOT: usize = usize::MAX;

    /// Returns [`NO_SLOT`].
    pub fn slot() -> usize {
        NO_SLOT
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn living_threads_have_different_numbers() {
        let mine = slot();
        assert_eq!(mine, slot());
        let others: Vec<usize> = std::thread::scope(|s| {
            let handles: Vec<_> = (0..4).map(|_| s.spawn(slot)).collect();
            handles.into_iter().map(|h| h.join().unwrap()).collect()
        });
        assert!(!others.contains(&mine));
    }
}
