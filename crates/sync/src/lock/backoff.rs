//! Waiting: spin, a little longer each time; then yield, or sleep.

use std::time::Duration;

use crate::thread::{spin_loop, yield_now};

/// Rounds of spinning before the first yield; round `n` spins `2^n` times.
const SPIN_ROUNDS: u32 = 6;

/// Rounds of spinning before the first sleep, of [`Backoff::wait_long`]: some 20 us.
const LONG_SPIN_ROUNDS: u32 = 10;

/// The longest sleep, as a power of two of [`SLEEP`].
const LONGEST: u32 = 4;

/// The first sleep.
const SLEEP: Duration = Duration::from_micros(50);

/// The state of one wait. Make one when the wait begins, call [`Backoff::wait`] in the loop.
#[derive(Debug, Default)]
pub struct Backoff(u32);

impl Backoff {
    /// Makes a wait that has just begun.
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
        self.spin();
    }

    /// Waits a little, for what may take as long as a whole operation of another thread: sleeps, for at most 0.8 ms at
    /// a time, once spinning has not helped. A thread that waits for 0.4 s this way takes a few milliseconds of the
    /// processor.
    ///
    /// It does not yield: if the awaited thread is not running, the waiting one most likely has its processor. On Linux a
    /// thread that yields runs again only after a time slice of the other; one that sleeps wakes after some 100 us.
    pub fn wait_long(&mut self) {
        if cfg!(any(loom, shuttle)) {
            return yield_now();
        }
        if self.0 < LONG_SPIN_ROUNDS {
            return self.spin();
        }
        let slept = self.0 - LONG_SPIN_ROUNDS;
        self.0 = self.0.saturating_add(1);
        std::thread::sleep(SLEEP * (1 << slept.min(LONGEST)));
    }

    fn spin(&mut self) {
        for _ in 0..1 << self.0 {
            spin_loop();
        }
        self.0 += 1;
    }

    /// Returns true once waiting has turned from spinning to yielding.
    pub fn is_long(&self) -> bool {
        self.0 >= SPIN_ROUNDS
    }
}
