//! Waiting: spin, a little longer each time, then yield.

use crate::thread::{spin_loop, yield_now};

/// Rounds of spinning before the first yield; round `n` spins `2^n` times.
const SPIN_ROUNDS: u32 = 6;

/// The state of one wait. Make one when the wait begins, call [`Backoff::wait`] in the loop.
#[derive(Debug, Default)]
pub struct Backoff(u32);

impl Backoff {
    /// A wait that has just begun.
    #[inline]
    pub const fn new() -> Self {
        Self(0)
    }

    /// Waits a little; never blocks.
    #[inline]
    pub fn wait(&mut self) {
        // In a model only a yield tells that another thread has to move.
        if cfg!(any(loom, shuttle)) || self.0 >= SPIN_ROUNDS {
            yield_now();
            return;
        }
        for _ in 0..1 << self.0 {
            spin_loop();
        }
        self.0 += 1;
    }

    /// True once waiting has turned from spinning to yielding.
    pub fn is_long(&self) -> bool {
        self.0 >= SPIN_ROUNDS
    }
}
