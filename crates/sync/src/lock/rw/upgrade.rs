//! Upgradable reading, and the ways from one hold to another.
//!
//! One thread at a time reads upgradably, beside ordinary readers. It is not noted among these: its bit in the flag
//! word keeps claims away. To upgrade is to put the claim in the place of that bit, before all who wait, and to drain.

use std::time::Instant;

use super::queue::Kind;
use super::raw::RawFair;
use super::readers::Readers;
use super::word::{NO_CLAIM, QUEUED, UPGRADER, WRITER};
use crate::atomic::Ordering;

impl<R: Readers> RawFair<R> {
    /// Takes the lock for upgradable reading if only readers have it and no thread waits.
    pub fn try_lock_upgradable(&self) -> bool {
        // Acquire: pairs with the Release of the last writer. Relaxed: nothing was taken.
        (self.word)
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |word| {
                (word & NO_CLAIM == 0).then_some(word | UPGRADER)
            })
            .is_ok()
    }

    /// Takes the lock for upgradable reading; waits if need be. Returns false if the deadline passed first.
    pub(super) fn read_upgradably(&self, deadline: Option<Instant>) -> bool {
        self.try_lock_upgradable() || self.enqueue(Kind::Upgradable, deadline)
    }

    /// Gives up upgradable reading.
    ///
    /// # Safety
    ///
    /// The calling thread has the lock for upgradable reading.
    pub unsafe fn unlock_upgradable(&self) {
        self.release(UPGRADER);
    }

    /// Puts the claim in the place of the upgrader's bit, under the latch: there no reader is let in meanwhile by a
    /// thread that did not see the claim.
    fn claim_upgraded(&self) {
        self.waiting.with(|_| {
            // SeqCst: invariant ONE_SEES.
            self.word.fetch_sub(UPGRADER - WRITER, Ordering::SeqCst)
        });
    }

    /// Goes from upgradable reading to writing, when the readers are gone. Returns false, still reading, if the
    /// deadline passed first.
    ///
    /// # Safety
    ///
    /// The calling thread has the lock for upgradable reading.
    pub(super) unsafe fn upgrade_until(&self, deadline: Option<Instant>) -> bool {
        self.claim_upgraded();
        self.drain(deadline, UPGRADER)
    }

    /// Goes from upgradable reading to writing if there are no readers.
    ///
    /// # Safety
    ///
    /// The calling thread has the lock for upgradable reading.
    pub unsafe fn try_upgrade(&self) -> bool {
        self.claim_upgraded();
        if self.readers.is_empty(&self.word) {
            return true;
        }
        // Release: as for every claim that goes. Readers that queued up behind the claim may read.
        if self.word.fetch_add(UPGRADER - WRITER, Ordering::Release) & QUEUED != 0 {
            self.advance();
        }
        false
    }

    /// Goes from writing to reading.
    ///
    /// # Safety
    ///
    /// The calling thread has the lock for writing.
    pub unsafe fn downgrade(&self) {
        // Stale bits of readers may stay: there is a reader again.
        self.become_reader(WRITER);
    }

    /// Goes from upgradable reading to reading.
    ///
    /// # Safety
    ///
    /// The calling thread has the lock for upgradable reading.
    pub unsafe fn downgrade_upgradable(&self) {
        self.become_reader(UPGRADER);
    }

    fn become_reader(&self, held: u64) {
        self.readers.admit(self.readers.place());
        let change = |word| Some(self.readers.noted(word, 1) & !held);
        // SeqCst: invariant ONE_SEES: a later claim sees this reader. It releases what a writer wrote.
        let before = (self.word).fetch_update(Ordering::SeqCst, Ordering::Relaxed, change);
        if before.is_ok_and(|before| before & QUEUED != 0) {
            self.advance();
        }
    }

    /// Goes from writing to upgradable reading.
    ///
    /// # Safety
    ///
    /// The calling thread has the lock for writing.
    pub unsafe fn downgrade_to_upgradable(&self) {
        // Release: pairs with the Acquire of readers that come.
        let before = self.word.fetch_add(UPGRADER - WRITER, Ordering::Release);
        debug_assert!(before & (WRITER | UPGRADER) == WRITER, "{before:x}");
        if before & QUEUED != 0 {
            self.advance();
        }
    }
}
