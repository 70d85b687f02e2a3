//! A value behind a lock that spins, and that a forked child can take over.

#[cfg(any(loom, shuttle))]
pub use modelled::SpinLock;
#[cfg(not(any(loom, shuttle)))]
pub use spinning::SpinLock;

#[cfg(not(any(loom, shuttle)))]
mod spinning {
    use std::cell::UnsafeCell;

    use crate::atomic::{AtomicU64, Ordering};
    use crate::lock::lock_bit;

    /// A value that one thread at a time looks at, for some tens of nanoseconds.
    ///
    /// Waiting spins and then yields, see [`Backoff`](crate::lock::Backoff). Nothing that is called under the lock may
    /// take it again.
    #[derive(Debug)]
    pub struct SpinLock<T> {
        locked: AtomicU64,
        value: UnsafeCell<T>,
    }

    // SAFETY: the value is reached under the lock only, so it moves between threads as a `Send` value may.
    unsafe impl<T: Send> Sync for SpinLock<T> {}

    impl<T> SpinLock<T> {
        /// Makes a free lock around `value`.
        pub const fn new(value: T) -> Self {
            Self {
                locked: AtomicU64::new(0),
                value: UnsafeCell::new(value),
            }
        }

        /// Runs `f` on the value, alone. Waits while another thread does.
        #[inline]
        pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
            self.acquire();
            // Unlocks when it goes, also when `f` panics.
            let _held = Held(self);
            // SAFETY: this thread holds the lock.
            f(unsafe { &mut *self.value.get() })
        }

        /// Takes the lock until [`SpinLock::release`]: for the handlers of a fork, between which no scope reaches.
        pub(crate) fn acquire(&self) {
            lock_bit(&self.locked, 1, 0);
        }

        /// Gives up what [`SpinLock::acquire`] took, in the forking process or in its child.
        pub(crate) fn release(&self) {
            // Release: pairs with the Acquire in `lock_bit`.
            self.locked.store(0, Ordering::Release);
        }

        /// Runs `f` on the value under a lock that [`SpinLock::acquire`] took.
        ///
        /// # Safety
        ///
        /// This thread took the lock and has not given it up.
        #[cfg(unix)]
        pub(crate) unsafe fn with_acquired<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
            // SAFETY: the caller holds the lock.
            f(unsafe { &mut *self.value.get() })
        }
    }

    struct Held<'a, T>(&'a SpinLock<T>);

    impl<T> Drop for Held<'_, T> {
        fn drop(&mut self) {
            self.0.release();
        }
    }
}

/// A lock on which the model checker lets threads sleep: spinning would multiply the interleavings.
#[cfg(any(loom, shuttle))]
mod modelled {
    use crate::lock::Mutex;

    /// A value that one thread at a time looks at.
    #[derive(Debug)]
    pub struct SpinLock<T>(Mutex<T>);

    impl<T> SpinLock<T> {
        /// Makes a free lock around `value`.
        pub fn new(value: T) -> Self {
            Self(Mutex::new(value))
        }

        /// Runs `f` on the value, alone. Waits while another thread does.
        pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
            f(&mut self.0.lock().expect("no model panics under a lock"))
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_looks_at_the_value() {
        let lock = SpinLock::new(0);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..2000).for_each(|_| lock.with(|count| *count += 1)));
            }
        });
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            lock.with(|_| panic!("while it is held"))
        }));
        assert!(failed.is_err());
        assert_eq!(lock.with(|count| *count), 8000, "a panic unlocks");
    }
}
