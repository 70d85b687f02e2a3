//! A lock that counts how it is waited for.
//!
//! The statistics collecting lock of the 2014 paper (section 3.1) for reader-writer locks: over any of them, by a try
//! before each wait. A lock that is not asked for its statistics is not wrapped, and costs nothing more; a wrapped one
//! costs one branch more where it is free, and two atomic additions where it is not. The numbers are in a line of their
//! own, so that an uncontended lock does not write it.

use std::time::{Duration, Instant};

use lock_api::{
    RawRwLock, RawRwLockDowngrade, RawRwLockFair, RawRwLockTimed, RawRwLockUpgrade,
    RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair, RawRwLockUpgradeTimed,
};

use crate::atomic::{AtomicU64, Ordering};

/// What a [`Watched`] lock has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Times that the lock was not free for a thread that wanted it, tries among them.
    pub conflicts: u64,
    /// Times that a thread waited for it, whether or not it got it in time.
    pub waits: u64,
    /// The largest number of threads that waited at the same time.
    pub longest_queue: u64,
}

#[repr(align(64))]
#[derive(Debug)]
struct Numbers {
    conflicts: AtomicU64,
    waits: AtomicU64,
    waiting: AtomicU64,
    longest: AtomicU64,
}

/// A reader-writer lock over another one, `L`, with statistics. Every hold and wait is that of `L`.
#[derive(Debug)]
pub struct Watched<L> {
    lock: L,
    numbers: Numbers,
}

/// One thread more that waits, while this lives.
struct Wait<'a>(&'a Numbers);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        // Relaxed, all in this file: numbers; nothing is read because of them.
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<L> Watched<L> {
    /// Wraps a lock, with all numbers at zero.
    pub const fn new(lock: L) -> Self {
        let numbers = Numbers {
            conflicts: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            longest: AtomicU64::new(0),
        };
        Self { lock, numbers }
    }

    /// Returns the lock below.
    pub fn inner(&self) -> &L {
        &self.lock
    }

    /// Returns what was counted. Each number is right at a moment during the call.
    pub fn statistics(&self) -> Statistics {
        // Relaxed, all: numbers alone.
        Statistics {
            conflicts: self.numbers.conflicts.load(Ordering::Relaxed),
            waits: self.numbers.waits.load(Ordering::Relaxed),
            longest_queue: self.numbers.longest.load(Ordering::Relaxed),
        }
    }

    /// Counts a try that failed, and returns its result.
    #[inline]
    fn tried(&self, got: bool) -> bool {
        if !got {
            // Relaxed: a number alone.
            self.numbers.conflicts.fetch_add(1, Ordering::Relaxed);
        }
        got
    }

    /// Counts a thread that waits, until the result is dropped.
    #[cold]
    fn wait(&self) -> Wait<'_> {
        let numbers = &self.numbers;
        // Relaxed, all: numbers alone.
        numbers.waits.fetch_add(1, Ordering::Relaxed);
        let waiting = numbers.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        if numbers.longest.load(Ordering::Relaxed) < waiting {
            numbers.longest.fetch_max(waiting, Ordering::Relaxed);
        }
        Wait(numbers)
    }

    /// Takes the lock by a try, or else by waiting, and counts.
    #[inline]
    fn take<T>(&self, attempt: impl Fn(&L) -> bool, wait: impl FnOnce(&L) -> T, got: T) -> T {
        if self.tried(attempt(&self.lock)) {
            return got;
        }
        let _waits = self.wait();
        wait(&self.lock)
    }
}

// SAFETY: every hold is one of the lock below.
unsafe impl<L: RawRwLock> RawRwLock for Watched<L> {
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "lock_api asks for it"
    )]
    const INIT: Self = Self::new(L::INIT);
    type GuardMarker = L::GuardMarker;

    #[inline]
    fn lock_shared(&self) {
        self.take(L::try_lock_shared, L::lock_shared, ());
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        self.tried(self.lock.try_lock_shared())
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        // SAFETY: forwarded.
        unsafe { self.lock.unlock_shared() }
    }

    #[inline]
    fn lock_exclusive(&self) {
        self.take(L::try_lock_exclusive, L::lock_exclusive, ());
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        self.tried(self.lock.try_lock_exclusive())
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: forwarded.
        unsafe { self.lock.unlock_exclusive() }
    }

    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    fn is_locked_exclusive(&self) -> bool {
        self.lock.is_locked_exclusive()
    }
}

// SAFETY: as above.
unsafe impl<L: RawRwLockDowngrade> RawRwLockDowngrade for Watched<L> {
    unsafe fn downgrade(&self) {
        // SAFETY: forwarded.
        unsafe { self.lock.downgrade() }
    }
}

// SAFETY: as above.
unsafe impl<L: RawRwLockUpgrade> RawRwLockUpgrade for Watched<L> {
    fn lock_upgradable(&self) {
        self.take(L::try_lock_upgradable, L::lock_upgradable, ());
    }

    fn try_lock_upgradable(&self) -> bool {
        self.tried(self.lock.try_lock_upgradable())
    }

    unsafe fn unlock_upgradable(&self) {
        // SAFETY: forwarded.
        unsafe { self.lock.unlock_upgradable() }
    }

    unsafe fn upgrade(&self) {
        // SAFETY: forwarded, both.
        let (attempt, wait) = (
            |lock: &L| unsafe { lock.try_upgrade() },
            |lock: &L| unsafe { lock.upgrade() },
        );
        self.take(attempt, wait, ());
    }

    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: forwarded.
        self.tried(unsafe { self.lock.try_upgrade() })
    }
}

// SAFETY: as above.
unsafe impl<L: RawRwLockTimed<Duration = Duration, Instant = Instant>> RawRwLockTimed
    for Watched<L>
{
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        let wait = |lock: &L| lock.try_lock_shared_for(timeout);
        self.take(L::try_lock_shared, wait, true)
    }

    fn try_lock_shared_until(&self, deadline: Instant) -> bool {
        let wait = |lock: &L| lock.try_lock_shared_until(deadline);
        self.take(L::try_lock_shared, wait, true)
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        let wait = |lock: &L| lock.try_lock_exclusive_for(timeout);
        self.take(L::try_lock_exclusive, wait, true)
    }

    fn try_lock_exclusive_until(&self, deadline: Instant) -> bool {
        let wait = |lock: &L| lock.try_lock_exclusive_until(deadline);
        self.take(L::try_lock_exclusive, wait, true)
    }
}

// SAFETY: as above.
unsafe impl<L: RawRwLockFair> RawRwLockFair for Watched<L> {
    unsafe fn unlock_shared_fair(&self) {
        // SAFETY: forwarded.
        unsafe { self.lock.unlock_shared_fair() }
    }

    unsafe fn unlock_exclusive_fair(&self) {
        // SAFETY: forwarded.
        unsafe { self.lock.unlock_exclusive_fair() }
    }
}

// SAFETY: as above.
unsafe impl<L: RawRwLockUpgradeFair> RawRwLockUpgradeFair for Watched<L> {
    unsafe fn unlock_upgradable_fair(&self) {
        // SAFETY: forwarded.
        unsafe { self.lock.unlock_upgradable_fair() }
    }
}

// SAFETY: as above.
unsafe impl<L: RawRwLockUpgradeDowngrade> RawRwLockUpgradeDowngrade for Watched<L> {
    unsafe fn downgrade_upgradable(&self) {
        // SAFETY: forwarded.
        unsafe { self.lock.downgrade_upgradable() }
    }

    unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: forwarded.
        unsafe { self.lock.downgrade_to_upgradable() }
    }
}

// SAFETY: as above.
unsafe impl<L: RawRwLockUpgradeTimed<Duration = Duration, Instant = Instant>> RawRwLockUpgradeTimed
    for Watched<L>
{
    fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
        let wait = |lock: &L| lock.try_lock_upgradable_for(timeout);
        self.take(L::try_lock_upgradable, wait, true)
    }

    fn try_lock_upgradable_until(&self, deadline: Instant) -> bool {
        let wait = |lock: &L| lock.try_lock_upgradable_until(deadline);
        self.take(L::try_lock_upgradable, wait, true)
    }

    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        // SAFETY: forwarded, both.
        let (attempt, wait) = (
            |lock: &L| unsafe { lock.try_upgrade() },
            |lock: &L| unsafe { lock.try_upgrade_for(timeout) },
        );
        self.take(attempt, wait, true)
    }

    unsafe fn try_upgrade_until(&self, deadline: Instant) -> bool {
        // SAFETY: forwarded, both.
        let (attempt, wait) = (
            |lock: &L| unsafe { lock.try_upgrade() },
            |lock: &L| unsafe { lock.try_upgrade_until(deadline) },
        );
        self.take(attempt, wait, true)
    }
}

#[cfg(test)]
mod tests {
    use lock_api::{RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};

    use super::*;
    use crate::lock::rw::{Groups, InWord, Indicated, RawFair, Readers};

    fn counts_conflicts_and_waits<R: Readers>(readers: R) {
        let raw = Watched::new(RawFair::with_readers(readers));
        let lock = &lock_api::RwLock::from_raw(raw, 0);
        // SAFETY: only asks for numbers.
        let raw = unsafe { lock.raw() };
        drop((lock.read(), lock.read()));
        drop(lock.write());
        drop(lock.upgradable_read());
        assert_eq!(raw.statistics(), Statistics::default());

        let held = lock.read();
        assert!(lock.try_write().is_none());
        let counted = |conflicts, waits, longest_queue| Statistics {
            conflicts,
            waits,
            longest_queue,
        };
        assert_eq!(raw.statistics(), counted(1, 0, 0));
        assert!(lock.try_write_for(Duration::from_millis(1)).is_none());
        assert_eq!(raw.statistics(), counted(2, 1, 1));
        std::thread::scope(|s| {
            for waiters in 1..=3 {
                s.spawn(|| *lock.write() += 1);
                while raw.inner().waiting().writers < waiters {
                    std::thread::yield_now();
                }
            }
            drop(held);
        });
        assert_eq!(raw.statistics(), counted(5, 4, 3));
        assert_eq!(*lock.read(), 3);
    }

    #[test]
    fn conflicts_and_waits_are_counted() {
        counts_conflicts_and_waits(InWord);
        counts_conflicts_and_waits(Indicated::new(Groups::new(2)));
    }

    /// Every way into the lock, out of it and from one hold to another is that of the lock below.
    fn holds_are_those_below<R: Readers>(readers: R) {
        let raw = Watched::new(RawFair::with_readers(readers));
        let lock = &lock_api::RwLock::from_raw(raw, 0);
        let short = Duration::from_millis(1);
        let from_elsewhere = |expected: [bool; 3]| {
            let tries = || {
                let read = lock.try_read_for(short).is_some();
                let upgradable = lock.try_upgradable_read_for(short).is_some();
                let write = lock.try_write_until(Instant::now() + short).is_some();
                [read, upgradable, write]
            };
            let seen = std::thread::scope(|s| s.spawn(tries).join().unwrap());
            assert_eq!(seen, expected);
        };
        let upgradable = lock.try_upgradable_read_until(Instant::now()).unwrap();
        from_elsewhere([true, false, false]);
        let write = RwLockUpgradableReadGuard::try_upgrade_for(upgradable, short).unwrap();
        from_elsewhere([false; 3]);
        let upgradable = RwLockWriteGuard::downgrade_to_upgradable(write);
        let held = lock.read();
        let refused = RwLockUpgradableReadGuard::try_upgrade_until(upgradable, Instant::now());
        let read = RwLockUpgradableReadGuard::downgrade(refused.expect_err("another reads"));
        from_elsewhere([true, true, false]);
        RwLockReadGuard::unlock_fair(read);
        RwLockReadGuard::unlock_fair(held);
        RwLockWriteGuard::unlock_fair(lock.write());
        RwLockUpgradableReadGuard::unlock_fair(lock.upgradable_read());
        from_elsewhere([true; 3]);
        // SAFETY: only asks for numbers.
        assert!(unsafe { lock.raw() }.statistics().waits >= 6);
    }

    #[test]
    fn holds_are_those_of_the_lock_below() {
        holds_are_those_below(InWord);
        holds_are_those_below(Indicated::new(Groups::new(2)));
    }
}
