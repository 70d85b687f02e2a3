//! Threads, and small numbers that name them.

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    thread::{JoinHandle, spawn, yield_now},
};
#[cfg(not(loom))]
pub use std::{
    hint::spin_loop,
    thread::{JoinHandle, spawn, yield_now},
};

pub use slot::{NO_SLOT, slot};

/// Numbers for living threads: dense, from zero, given again after a thread has ended.
///
/// Between the last act of a thread under a number and the first act of the next thread under it
/// stands the mutex below, so what the first wrote plainly the second may read plainly.
mod slot {
    use std::cell::Cell;
    use std::collections::BTreeSet;
    use std::sync::{Mutex, PoisonError};

    /// What [`slot`] says while a thread's own storage is being torn down.
    pub const NO_SLOT: usize = usize::MAX;
    const UNSET: usize = usize::MAX - 1;

    struct Free {
        next: usize,
        returned: BTreeSet<usize>,
    }

    static FREE: Mutex<Free> = Mutex::new(Free {
        next: 0,
        returned: BTreeSet::new(),
    });

    thread_local! {
        static SLOT: Cell<usize> = const { Cell::new(UNSET) };
        static LEASE: Lease = const { Lease(Cell::new(UNSET)) };
    }

    /// Gives the number back when the thread ends.
    struct Lease(Cell<usize>);

    impl Drop for Lease {
        fn drop(&mut self) {
            SLOT.with(|slot| slot.set(NO_SLOT));
            let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
            free.returned.insert(self.0.get());
        }
    }

    /// The calling thread's number: no other living thread has it. A nanosecond.
    ///
    /// [`NO_SLOT`] in destructors of thread-local values that run after this module's own.
    #[inline]
    pub fn slot() -> usize {
        let slot = SLOT.with(Cell::get);
        if slot == UNSET { lease() } else { slot }
    }

    #[cold]
    fn lease() -> usize {
        let slot = {
            let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
            free.returned.pop_first().unwrap_or_else(|| {
                free.next += 1;
                free.next - 1
            })
        };
        let leased = LEASE.try_with(|lease| lease.0.set(slot));
        let slot = if leased.is_ok() { slot } else { NO_SLOT };
        SLOT.with(|cell| cell.set(slot));
        slot
    }
}

#[cfg(all(test, not(loom)))]
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
