//! The traits of `lock_api`: all but those for recursive reading, by which a reader would pass a writer that waits.

use std::time::{Duration, Instant};

use super::raw::RawFair;
use super::readers::Readers;

/// A deadline that lies farther ahead than the clock reaches is none.
fn after(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
}

// SAFETY: a writer works while it has the claim and no reader is noted, and a reader has the lock only if it is noted
// while there is no claim (invariant EXCLUSION).
unsafe impl<R: Readers> lock_api::RawRwLock for RawFair<R> {
    #[cfg(not(any(loom, shuttle)))]
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "lock_api asks for it"
    )]
    const INIT: Self = Self::with_readers(R::INIT);
    /// The atomics of a model are made while it runs: its locks are made by `lock_api::RwLock::from_raw`.
    #[cfg(any(loom, shuttle))]
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "lock_api asks for it"
    )]
    const INIT: Self = panic!("a lock of a model is made by `from_raw`");

    /// A reader departs from the place of the thread that arrived.
    type GuardMarker = lock_api::GuardNoSend;

    #[inline]
    fn lock_shared(&self) {
        self.read(None);
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        self.try_lock_shared()
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        // SAFETY: forwarded.
        unsafe { self.unlock_shared() }
    }

    #[inline]
    fn lock_exclusive(&self) {
        self.write(None);
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        self.try_lock_exclusive()
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: forwarded.
        unsafe { self.unlock_exclusive() }
    }

    fn is_locked(&self) -> bool {
        self.is_locked()
    }

    fn is_locked_exclusive(&self) -> bool {
        self.is_locked_exclusive()
    }
}

// SAFETY: as for the lock itself: every unlock hands over to the head of the queue, so a fair one is the usual one.
unsafe impl<R: Readers> lock_api::RawRwLockFair for RawFair<R> {
    unsafe fn unlock_shared_fair(&self) {
        // SAFETY: forwarded.
        unsafe { self.unlock_shared() }
    }

    unsafe fn unlock_exclusive_fair(&self) {
        // SAFETY: forwarded.
        unsafe { self.unlock_exclusive() }
    }
}

// SAFETY: as above.
unsafe impl<R: Readers> lock_api::RawRwLockUpgradeFair for RawFair<R> {
    unsafe fn unlock_upgradable_fair(&self) {
        // SAFETY: forwarded.
        unsafe { self.unlock_upgradable() }
    }
}

// SAFETY: to go from a hold to a weaker one lets no claim in between.
unsafe impl<R: Readers> lock_api::RawRwLockDowngrade for RawFair<R> {
    unsafe fn downgrade(&self) {
        // SAFETY: forwarded.
        unsafe { self.downgrade() }
    }
}

// SAFETY: as for the lock itself; one thread at a time has the upgrader's bit, which keeps claims away.
unsafe impl<R: Readers> lock_api::RawRwLockUpgrade for RawFair<R> {
    fn lock_upgradable(&self) {
        self.read_upgradably(None);
    }

    fn try_lock_upgradable(&self) -> bool {
        self.try_lock_upgradable()
    }

    unsafe fn unlock_upgradable(&self) {
        // SAFETY: forwarded.
        unsafe { self.unlock_upgradable() }
    }

    unsafe fn upgrade(&self) {
        // SAFETY: forwarded.
        unsafe { self.upgrade_until(None) };
    }

    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: forwarded.
        unsafe { self.try_upgrade() }
    }
}

// SAFETY: as for `RawRwLockDowngrade`.
unsafe impl<R: Readers> lock_api::RawRwLockUpgradeDowngrade for RawFair<R> {
    unsafe fn downgrade_upgradable(&self) {
        // SAFETY: forwarded.
        unsafe { self.downgrade_upgradable() }
    }

    unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: forwarded.
        unsafe { self.downgrade_to_upgradable() }
    }
}

// SAFETY: as for the lock itself; a thread that gives up waiting holds nothing.
unsafe impl<R: Readers> lock_api::RawRwLockTimed for RawFair<R> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        self.try_lock_shared() || self.read(after(timeout))
    }

    fn try_lock_shared_until(&self, deadline: Instant) -> bool {
        self.read(Some(deadline))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        self.try_lock_exclusive() || self.write(after(timeout))
    }

    fn try_lock_exclusive_until(&self, deadline: Instant) -> bool {
        self.write(Some(deadline))
    }
}

// SAFETY: as for `RawRwLockTimed`; an upgrade that is given up leaves the thread reading.
unsafe impl<R: Readers> lock_api::RawRwLockUpgradeTimed for RawFair<R> {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
        self.read_upgradably(after(timeout))
    }

    fn try_lock_upgradable_until(&self, deadline: Instant) -> bool {
        self.read_upgradably(Some(deadline))
    }

    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        // SAFETY: forwarded.
        unsafe { self.upgrade_until(after(timeout)) }
    }

    unsafe fn try_upgrade_until(&self, deadline: Instant) -> bool {
        // SAFETY: forwarded.
        unsafe { self.upgrade_until(Some(deadline)) }
    }
}
