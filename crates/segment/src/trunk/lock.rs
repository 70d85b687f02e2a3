//! The commit lock: a futex word that names the slot of its holder.
//!
//! It orders commits and nothing else: updates and checkouts never look at it. A holder copies no
//! pages under it (the frames of a commit are filled before), so it is held for some ten nanoseconds
//! a page. Each holder counts the turns of the lock: so who waits can tell one that stands still from many that go
//! through, and loses patience with the former only. A holder that died is found by its slot's process id and start
//! time; the process that finds it takes the lock over and repairs (invariant REPAIR).

use fyris_sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::futex;

use super::Trunk;
use super::layout::word;
use crate::error::{Error, Result};
use crate::failpoints::{failpoint, patience};

/// Set while a process may be asleep on the lock.
const WAITERS: u32 = 1 << 31;
/// Looks at the lock before sleeping.
const SPINS: usize = 200;
/// The first sleep between two looks whether the holder is alive; the next ones are each twice as long, so many times.
const NAP: Duration = Duration::from_millis(5);
const LONG_NAPS: u32 = 4;

/// The held lock.
#[derive(Debug)]
pub(crate) struct Guard<'a> {
    trunk: &'a Trunk,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        failpoint!("about to unlock");
        // Release: pairs with the Acquire of the next holder.
        let old = self.trunk.lock_word().swap(0, Ordering::Release);
        failpoint!("unlocked");
        if old & WAITERS != 0 {
            // A waiter that is not woken wakes from its nap.
            let _ = futex::wake(self.trunk.lock_word(), futex::Flags::empty(), 1);
        }
        // After the lock, so that the woken processes need not wait for it.
        self.trunk.wake_watchers();
    }
}

impl Trunk {
    fn lock_word(&self) -> &AtomicU32 {
        self.half(word::LOCK)
    }

    /// Takes the lock for `slot`, repairing first if its holder has died.
    ///
    /// # Errors
    ///
    /// [`Error::LockTimeout`] if one living process does not let go; what repairing may find.
    #[inline]
    pub(crate) fn lock(&self, slot: usize) -> Result<Guard<'_>> {
        let mine = slot as u32 + 1;
        match self.take(0, mine) {
            Some(guard) => {
                failpoint!("locked");
                Ok(guard)
            }
            None => self.lock_slowly(mine),
        }
    }

    /// Takes the lock if `seen` is what is there.
    #[inline]
    fn take(&self, seen: u32, mine: u32) -> Option<Guard<'_>> {
        // Acquire: pairs with the Release of the last holder.
        let lock = self.lock_word();
        let took = lock.compare_exchange(seen, mine, Ordering::Acquire, Ordering::Relaxed);
        took.ok()?;
        // Relaxed, both: only the holder writes it, and waiters only compare.
        let turns = self.half(word::TURNS);
        turns.store(
            turns.load(Ordering::Relaxed).wrapping_add(1),
            Ordering::Relaxed,
        );
        // Made only if the lock was taken: a guard that is dropped unlocks, any process may hold the lock.
        Some(Guard { trunk: self })
    }

    #[cold]
    fn lock_slowly(&self, mine: u32) -> Result<Guard<'_>> {
        // One holder, for one time, and since when it has been seen.
        let mut held = (0, 0);
        let mut since = Instant::now();
        let (mut spins, mut naps) = (0, 0);
        loop {
            // The lock
            // * is free: taken, unless another process is faster;
            // * is held: spin for a moment, then nap and look again. While the holder, or its turn, is another one each
            //   time, the lock goes round, and the patience begins anew;
            // * has had one holder throughout a nap, which lives: nap on, until the patience is at its end
            //   (`LockTimeout`);
            // * has had one that is dead, or none that there is: its word is exchanged for ours, which one process
            //   succeeds in, and what the dead one has left half done is repaired before anything else (REPAIR).
            // Relaxed, both: only a look.
            let seen = self.lock_word().load(Ordering::Relaxed);
            let turn = self.half(word::TURNS).load(Ordering::Relaxed);
            if seen == 0 {
                // Others may still be asleep: keep the flag for them.
                if let Some(guard) = self.take(seen, mine | WAITERS) {
                    failpoint!("locked after waiting");
                    return Ok(guard);
                }
                continue;
            }
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
                continue;
            }
            // Only who has seen one holder throughout a nap asks whether it lives, and how long that takes: a thousand
            // processes may wait for a lock that goes round.
            let now = (seen & !WAITERS, turn);
            if held != now && !(cfg!(fyris_mutant = "segment_one_patience") && naps > 0) {
                (held, since) = (now, Instant::now());
            } else if let Some(pid) = self.holder(seen, mine) {
                if since.elapsed() > patience() {
                    let millis = since.elapsed().as_millis() as u64;
                    return Err(Error::LockTimeout { pid, millis });
                }
            } else if let Some(guard) = self.take(seen, mine | WAITERS) {
                failpoint!("lock taken over");
                self.recover(&guard)?;
                return Ok(guard);
            }
            self.nap(seen, NAP * (1 << naps));
            naps = (naps + 1).min(LONG_NAPS);
        }
    }

    /// Returns the id of the living process that holds the lock, if there is one. A lock in our own name is one that a
    /// dead process left: this one is only taken once.
    fn holder(&self, seen: u32, mine: u32) -> Option<u32> {
        let holder = seen & !WAITERS;
        if holder == mine || holder == 0 || holder as usize > self.geometry.slots + 1 {
            return None;
        }
        let process = self.process(holder as usize - 1)?;
        process.alive().then(|| process.pid())
    }

    fn nap(&self, seen: u32, time: Duration) {
        let lock = self.lock_word();
        // Relaxed: only says that a process sleeps.
        let flagged =
            lock.compare_exchange(seen, seen | WAITERS, Ordering::Relaxed, Ordering::Relaxed);
        if flagged.is_ok() {
            let time = futex::Timespec {
                tv_sec: 0,
                tv_nsec: time.as_nanos() as i64,
            };
            // Woken, timed out or changed: look again in every case.
            let _ = futex::wait(lock, futex::Flags::empty(), seen | WAITERS, Some(&time));
        }
    }

    /// Frees the lock, no matter which slot it names. For the first process to open the file.
    pub(super) fn reset_lock(&self) {
        // Release: pairs with the Acquire in `take`: the first holder sees the writes of the recovery.
        self.lock_word().store(0, Ordering::Release);
    }
}
