//! The statistics collecting lock of the contention adapting trees (2014 paper, section 3.1).
//!
//! A lock that remembers how contended it has been: acquiring it at once lowers a number a little,
//! having to wait raises it a lot. The holder of the lock looks at the number and adapts the
//! structure that the lock protects: high means split, low means join.
//!
//! The constants are those ETS uses: a failed try weighs as much as 250 successes, so about one
//! wait in 250 acquisitions keeps the number level.
//!
//! The number is written only by the holder, by plain stores: collecting costs no extra atomic
//! read-modify-write.

use super::Backoff;
use crate::atomic::{AtomicI64, AtomicU32, Ordering};

/// A mutual exclusion lock that counts contention. It protects nothing by itself.
#[derive(Debug)]
pub struct StatLock {
    locked: AtomicU32,
    statistic: AtomicI64,
}

impl Default for StatLock {
    fn default() -> Self {
        Self::new()
    }
}

impl StatLock {
    /// Added when the lock was not free at once.
    pub const CONTENDED: i64 = 250;
    /// Taken when it was.
    pub const UNCONTENDED: i64 = 1;

    /// Makes a free lock with a statistic of zero.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            locked: AtomicU32::new(0),
            statistic: AtomicI64::new(0),
        }
    }

    /// Makes a free lock with a statistic of zero.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self {
            locked: AtomicU32::new(0),
            statistic: AtomicI64::new(0),
        }
    }

    /// Takes the lock if it is free. Leaves the statistic alone.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Relaxed: a hint. Acquire: pairs with the Release in `unlock`.
        self.locked.load(Ordering::Relaxed) == 0
            && self
                .locked
                .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Takes the lock, waiting if need be, and counts. Returns whether it had to wait.
    #[inline]
    pub fn lock(&self) -> bool {
        let free = self.try_lock();
        if !free {
            self.wait();
        }
        self.adjust(if free {
            -Self::UNCONTENDED
        } else {
            Self::CONTENDED
        });
        !free
    }

    /// Takes the lock, counts, and unlocks when the guard is dropped.
    #[inline]
    pub fn hold(&self) -> StatGuard<'_> {
        self.lock();
        StatGuard(self)
    }

    #[cold]
    fn wait(&self) {
        let mut backoff = Backoff::new();
        while !self.try_lock() {
            backoff.wait();
        }
    }

    /// Releases the lock. Only its holder may call this: nothing else checks.
    #[inline]
    pub fn unlock(&self) {
        debug_assert!(self.is_locked());
        // Release: pairs with the Acquire in `try_lock`.
        self.locked.store(0, Ordering::Release);
    }

    /// True while somebody holds it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        // Relaxed: a hint.
        self.locked.load(Ordering::Relaxed) != 0
    }

    /// Returns a measure of contention: above zero more than one wait in 250 acquisitions.
    #[inline]
    pub fn statistic(&self) -> i64 {
        // Relaxed: a number for a decision that is right either way.
        self.statistic.load(Ordering::Relaxed)
    }

    /// Changes the statistic; for the holder.
    #[inline]
    pub fn adjust(&self, delta: i64) {
        // Relaxed: only the holder writes, and the lock orders holders.
        let now = self.statistic.load(Ordering::Relaxed).wrapping_add(delta);
        self.statistic.store(now, Ordering::Relaxed);
    }

    /// Forgets; for the holder, after the structure has adapted.
    pub fn reset(&self) {
        // Relaxed: as in `adjust`.
        self.statistic.store(0, Ordering::Relaxed);
    }
}

/// Unlocks a [`StatLock`] when dropped.
#[derive(Debug)]
pub struct StatGuard<'a>(&'a StatLock);

impl Drop for StatGuard<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn waiting_raises_and_success_lowers() {
        let lock = StatLock::new();
        assert!(!lock.lock());
        assert_eq!(lock.statistic(), -1);
        assert!(!lock.try_lock());
        std::thread::scope(|s| {
            let waiter = s.spawn(|| {
                let waited = lock.lock();
                lock.unlock();
                waited
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            lock.unlock();
            assert!(waiter.join().unwrap());
        });
        assert_eq!(lock.statistic(), 249);
        lock.reset();
        drop(lock.hold());
        assert!(!lock.is_locked());
    }
}
