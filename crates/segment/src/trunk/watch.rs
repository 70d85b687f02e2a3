//! Sleeping until a process commits: a futex on the position.
//!
//! | a process that sleeps | a process that commits |
//! |---|---|
//! | 1. sets WATCHED | a. stores the position |
//! | 2. loads the position: moved? | b. loads WATCHED: set? then clears it and wakes all |
//! | 3. sleeps, if the position is still that one (the kernel compares again) | |
//!
//! 1, 2, a and b are SeqCst, so in one order: if b does not see 1, then a came before 2. So no process sleeps through a
//! commit, but for one whose process died between a and b: therefore sleepers look again after a nap.

use fyris_sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::thread::futex;

use super::Trunk;
use super::layout::word;
use crate::error::{Error, Result};

/// The sleep between two looks whether a process committed and died.
const NAP: Duration = Duration::from_millis(250);
/// The same for a process that may not write to the file, and so cannot ask to be woken.
const SHORT_NAP: Duration = Duration::from_millis(5);

impl Trunk {
    /// Returns the lower half of the position, for the kernel: it alone reads it as such.
    fn position_half(&self) -> &AtomicU32 {
        let lower = if cfg!(target_endian = "big") { 4 } else { 0 };
        self.half(word::POSITION + lower)
    }

    /// Sleeps until the position is another than `seen`, or `timeout` has passed; whether it is another. An error if
    /// the segment has lost its name, unless that does not matter.
    pub(crate) fn wait(
        &self,
        seen: u64,
        timeout: Option<Duration>,
        nameless: bool,
    ) -> Result<bool> {
        // A deadline beyond what the clock can say is none.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut napped = false;
        loop {
            if self.writable {
                // SeqCst: step 1; pairs with step b in `wake_watchers`.
                self.word(word::WATCHED).store(1, Ordering::SeqCst);
            }
            // SeqCst: step 2; pairs with step a in `Trunk::publish`.
            if self.word(word::POSITION).load(Ordering::SeqCst) != seen {
                return Ok(true);
            }
            // After a nap a look by itself: the name may be gone without a call of ours.
            if !nameless && (self.is_told_unlinked() || napped && self.is_known_unlinked()) {
                return Err(Error::Unlinked(self.place.path.clone()));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
            let nap = if self.writable { NAP } else { SHORT_NAP };
            let time = nap.min(left.unwrap_or(nap));
            let time = futex::Timespec {
                tv_sec: 0,
                tv_nsec: i64::from(time.subsec_nanos()),
            };
            let flags = futex::Flags::empty();
            let woken = futex::wait(self.position_half(), flags, seen as u32, Some(&time));
            napped = woken == Err(Errno::TIMEDOUT);
            match woken {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => (),
                Err(error) => return Err(Error::os("waiting for a commit")(error)),
            }
        }
    }

    /// Wakes the processes that sleep until the position moves, if there are any. One load if not.
    #[inline]
    pub(super) fn wake_watchers(&self) {
        // SeqCst: step b; pairs with step 1 in `wait`.
        if self.word(word::WATCHED).load(Ordering::SeqCst) != 0
            && !cfg!(fyris_mutant = "segment_wakes_nobody")
        {
            self.wake_all();
        }
    }

    #[cold]
    fn wake_all(&self) {
        // SeqCst: pairs with the store in `wait`. Before the wake: a sleeper that sets it again looks at the position
        // after that.
        self.word(word::WATCHED).store(0, Ordering::SeqCst);
        // A process that is not woken wakes from its nap.
        let _ = futex::wake(self.position_half(), futex::Flags::empty(), i32::MAX as u32);
    }
}
