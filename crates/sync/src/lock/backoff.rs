//! Waiting: spin, a little longer each time, then yield; then sleep, if that is asked for.

use crate::thread::{spin_loop, yield_now};

/// Rounds of spinning before the first yield; round `n` spins `2^n` times.
const SPIN_ROUNDS: u32 = 6;

/// Rounds of yielding before the first sleep, of [`Backoff::wait_long`].
#[cfg(not(any(loom, shuttle)))]
const YIELD_ROUNDS: u32 = 32;

/// The longest sleep, as a power of two of [`SLEEP`].
#[cfg(not(any(loom, shuttle)))]
const LONGEST: u32 = 4;

/// The first sleep.
#[cfg(not(any(loom, shuttle)))]
const SLEEP: std::time::Duration = std::time::Duration::from_micros(50);

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
        for _ in 0..1 << self.0 {
            spin_loop();
        }
        self.0 += 1;
    }

    /// Waits a little, for what may take as long as a whole operation of another thread: sleeps, for at most 0.8 ms at
    /// a time, once yielding has not helped. A thread that waits for 0.4 s this way takes a few milliseconds of the
    /// processor.
    pub fn wait_long(&mut self) {
        #[cfg(not(any(loom, shuttle)))]
        if self.0 >= SPIN_ROUNDS {
            self.0 = self.0.saturating_add(1);
            let yielded = self.0 - SPIN_ROUNDS;
            if yielded > YIELD_ROUNDS {
                std::thread::sleep(SLEEP * (1 << (yielded - YIELD_ROUNDS - 1).min(LONGEST)));
                return;
            }
        }
        self.wait();
    }

    /// Returns true once waiting has turned from spinning to yielding.
    pub fn is_long(&self) -> bool {
        self.0 >= SPIN_ROUNDS
    }
}
