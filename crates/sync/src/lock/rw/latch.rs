//! The latch of a queue: held for some tens of nanoseconds, and taken over in the child of a fork.

#[cfg(any(loom, shuttle))]
pub(super) use modelled::Latched;
#[cfg(not(any(loom, shuttle)))]
pub(super) use spinning::Latched;

#[cfg(not(any(loom, shuttle)))]
mod spinning {
    use std::cell::UnsafeCell;

    use crate::atomic::{AtomicU64, Ordering};
    use crate::lock::Backoff;
    use crate::reclaim::this_process;

    /// A value that one thread at a time looks at, and that is made anew in a child of a fork.
    ///
    /// The latch is the number of the process whose thread holds it, and the value belongs to a process as well
    /// (invariant OWN_PROCESS): a child finds the latch free whatever a thread of its parent did at the fork, and finds
    /// no pointer into the stack of a thread that it does not have.
    #[derive(Debug)]
    pub(in super::super) struct Latched<T> {
        holder: AtomicU64,
        value: UnsafeCell<(u64, T)>,
    }

    // SAFETY: the value is reached by the holder of the latch only, so it moves between threads as a `Send` value may.
    unsafe impl<T: Send> Sync for Latched<T> {}

    impl<T> Latched<T> {
        /// Makes a free latch around `value`.
        pub(in super::super) const fn new(value: T) -> Self {
            Self {
                holder: AtomicU64::new(0),
                value: UnsafeCell::new((0, value)),
            }
        }
    }

    impl<T: Default> Latched<T> {
        /// Runs `f` on the value, alone. `f` does not block, and takes no other latch.
        pub(in super::super) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
            let mine = this_process() + 1;
            self.acquire(mine);
            // SAFETY: this thread holds the latch.
            let (owner, value) = unsafe { &mut *self.value.get() };
            if *owner != mine && !cfg!(fyris_mutant = "rw_child_inherits") {
                // The first use, or the first in a child: what the value names is not of this process.
                (*owner, *value) = (mine, T::default());
            }
            let result = f(value);
            // Release: pairs with the Acquire in `acquire`.
            self.holder.store(0, Ordering::Release);
            result
        }

        #[inline]
        fn acquire(&self, mine: u64) {
            let mut backoff = Backoff::new();
            loop {
                // Relaxed: the exchange orders. Another number than this process's is of a thread that does not exist.
                let seen = self.holder.load(Ordering::Relaxed);
                if (seen != mine || cfg!(fyris_mutant = "rw_latch_given_away"))
                    // Acquire: pairs with the Release in `with`.
                    && (self.holder)
                        .compare_exchange(seen, mine, Ordering::Acquire, Ordering::Relaxed)
                        .is_ok()
                {
                    return;
                }
                backoff.wait();
            }
        }
    }
}

/// A latch on which the model checker lets threads sleep: spinning would multiply the interleavings.
#[cfg(any(loom, shuttle))]
mod modelled {
    use crate::lock::Mutex;

    #[derive(Debug)]
    pub(in super::super) struct Latched<T>(Mutex<T>);

    impl<T> Latched<T> {
        pub(in super::super) fn new(value: T) -> Self {
            Self(Mutex::new(value))
        }

        pub(in super::super) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
            f(&mut self.0.lock().expect("no model panics under a latch"))
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let latched = Latched::new(0);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..500 {
                        latched.with(|count| {
                            let seen = *count;
                            std::thread::yield_now();
                            *count = seen + 1;
                        });
                    }
                });
            }
        });
        assert_eq!(latched.with(|count| *count), 2000);
    }
}
