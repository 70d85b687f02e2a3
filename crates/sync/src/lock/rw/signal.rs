//! A signal: what a waiting thread waits for. Given once, by one thread.

use std::time::Instant;

use super::patience::Patience;
use crate::park::{Word, has_passed};

const WAITING: u32 = 0;
/// The thread sleeps, or is about to.
const PARKED: u32 = 1;
const GIVEN: u32 = 2;

/// A signal from the thread that hands the lock over to the thread that waits for it, in whose stack frame it is.
#[derive(Debug)]
pub(super) struct Signal(Word);

impl Signal {
    /// Makes a signal that has not been given.
    pub(super) fn new() -> Self {
        Self(Word::new(WAITING))
    }

    /// Gives the signal, and wakes the waiting thread if it sleeps.
    ///
    /// # Safety
    ///
    /// The signal is alive until it is given, by this call and no other. It may be gone before this returns.
    pub(super) unsafe fn give(this: *const Signal) {
        // SAFETY: the caller's promise. The waker is made first, since the swap lets the waiting thread go.
        let (waker, before) = unsafe { ((*this).0.waker(), (*this).0.swap(GIVEN)) };
        if before == PARKED {
            waker.wake();
        }
    }

    /// Waits for the signal: spins, then sleeps. Returns false if the deadline passed first.
    pub(super) fn wait(&self, deadline: Option<Instant>) -> bool {
        let mut patience = Patience::new();
        while self.0.load() != GIVEN && patience.wait() {}
        // Fails when the signal has been given, or when an earlier wait with a deadline left it parked.
        self.0.replace(WAITING, PARKED);
        loop {
            if self.0.load() == GIVEN {
                return true;
            }
            if has_passed(deadline) {
                return false;
            }
            self.0.wait(PARKED, deadline);
        }
    }
}
