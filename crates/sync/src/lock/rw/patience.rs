//! How long a thread waits awake.

use crate::lock::Backoff;

/// Turns of a thread that waits: the first ones spin, each twice as long as the one before, the others let other
/// threads have the processor, of which one may have the lock.
const TURNS: u32 = if cfg!(any(loom, shuttle, fyris_small)) {
    0
} else {
    16
};

/// One wait of a thread that is awake.
#[derive(Debug)]
pub(super) struct Patience {
    turns: u32,
    backoff: Backoff,
}

impl Patience {
    #[inline]
    pub(super) const fn new() -> Self {
        Self {
            turns: TURNS,
            backoff: Backoff::new(),
        }
    }

    /// Waits a little. Returns false, at once, when the thread has waited long enough; in a model that is always so.
    #[inline]
    pub(super) fn wait(&mut self) -> bool {
        if self.turns == 0 {
            return false;
        }
        self.turns -= 1;
        self.backoff.wait();
        true
    }
}
