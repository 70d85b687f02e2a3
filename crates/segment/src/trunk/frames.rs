//! Page frames: who has which.
//!
//! A frame is *free*, *in the trunk* (named by a page head or by the log), or *reserved* by the process of a
//! slot, which may write to it. Free and reserved change by compare-and-swap. A process that dies
//! takes its reservations along only until it is reaped, because the state names its slot.

use std::sync::atomic::Ordering;

use rustix::fs::{FallocateFlags, fallocate};

use super::Trunk;
use super::layout::word;
use crate::PAGE;
use crate::error::{Error, Result};
use crate::steps::step;

const FREE: u32 = 0;
const IN_TRUNK: u32 = 1;
/// The state of a frame reserved by slot `s` is `RESERVED + s`.
const RESERVED: u32 = 2;

/// Frames that the file grows by, at least and at most.
const GROWTH: std::ops::RangeInclusive<usize> = 32..=4096;

/// How often the file is made longer in one go: others may take what was won, but not without end.
const EXTENSIONS: usize = 100;

/// How many frames are what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FrameCount {
    pub(crate) ready: usize,
    pub(crate) free: usize,
    pub(crate) in_trunk: usize,
    pub(crate) reserved: usize,
}

impl Trunk {
    fn state(&self, frame: u32) -> &std::sync::atomic::AtomicU32 {
        assert!(frame as usize <= self.geometry.frames);
        self.half(self.geometry.states_at + frame as usize * 4)
    }

    /// Frames that the file has space for.
    fn ready(&self) -> usize {
        // Relaxed: who reserves a frame gets it by the compare-and-swap.
        let ready = self.word(word::READY).load(Ordering::Relaxed);
        (ready as usize).min(self.geometry.frames)
    }

    /// Marks a frame as the trunk's. For holders of the lock.
    pub(super) fn set_in_trunk(&self, frame: u32) {
        // Relaxed: the lock's Release follows.
        self.state(frame).store(IN_TRUNK, Ordering::Relaxed);
    }

    /// Turns a frame of the trunk that nobody can see any more into one reserved by `slot`. For
    /// holders of the lock. False if it is not the trunk's, which only a spoiled log can say.
    pub(crate) fn take_back(&self, frame: u32, slot: usize) -> bool {
        let state = self.state(frame);
        let mine = RESERVED + slot as u32;
        // Acquire: whoever read the frame has moved its slot on before (invariant K).
        state
            .compare_exchange(IN_TRUNK, mine, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Gives a reserved frame back.
    pub(crate) fn release(&self, frame: u32, slot: usize) {
        let mine = RESERVED + slot as u32;
        // Release: what we wrote there comes before the next owner's writes.
        let given =
            self.state(frame)
                .compare_exchange(mine, FREE, Ordering::Release, Ordering::Relaxed);
        if given.is_ok() {
            // Relaxed: a hint, so that nobody searches in vain.
            self.word(word::FREE).fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reserves `count` frames for `slot` and adds them to `out`. `cursor` is where to look first.
    /// Makes the file longer if need be. On error some may have been added.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`]: the file system is full, or every frame is in use.
    pub(crate) fn reserve(
        &self,
        count: usize,
        slot: usize,
        cursor: &mut u32,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let target = out.len() + count;
        // Relaxed: a hint.
        if self.word(word::FREE).load(Ordering::Relaxed) != 0 {
            self.search(target, slot, cursor, out);
        }
        for _ in 0..EXTENSIONS {
            if out.len() >= target {
                return Ok(());
            }
            let first = self.ready();
            match self.extend(target - out.len()) {
                Ok(()) => *cursor = first as u32,
                // No more space: the hint may have lied.
                Err(error) => {
                    self.search(target, slot, cursor, out);
                    return if out.len() < target {
                        Err(error)
                    } else {
                        Ok(())
                    };
                }
            }
            self.search(target, slot, cursor, out);
        }
        match out.len() < target {
            true => Err(Error::NoSpace("page frames: others take them all")),
            false => Ok(()),
        }
    }

    /// Looks at every frame once, or until `out` has `target` frames.
    fn search(&self, target: usize, slot: usize, cursor: &mut u32, out: &mut Vec<u32>) {
        let ready = self.ready() as u32;
        let mut found = 0u64;
        for _ in 0..ready {
            if out.len() >= target {
                break;
            }
            *cursor = if *cursor >= ready { 1 } else { *cursor + 1 };
            if self.grab(*cursor, slot) {
                step!("frame reserved");
                out.push(*cursor);
                found += 1;
            }
        }
        // Relaxed: a hint; saturating, since a hostile process may have written anything.
        let free = self.word(word::FREE);
        let left = free.load(Ordering::Relaxed).saturating_sub(found);
        free.store(if out.len() < target { 0 } else { left }, Ordering::Relaxed);
    }

    fn grab(&self, frame: u32, slot: usize) -> bool {
        let state = self.state(frame);
        // Relaxed load: only a look. Acquire: pairs with the Release in `release`.
        state.load(Ordering::Relaxed) == FREE
            && state
                .compare_exchange(
                    FREE,
                    RESERVED + slot as u32,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                )
                .is_ok()
    }

    /// Gets file space for more frames. Space is allocated before it is used: a full file system is
    /// an error here, never a SIGBUS later.
    fn extend(&self, wanted: usize) -> Result<()> {
        let ready = self.ready();
        let more = wanted
            .max((ready / 4).clamp(*GROWTH.start(), *GROWTH.end()))
            .min(self.geometry.frames - ready);
        if more == 0 {
            return Err(Error::NoSpace("page frames: all are in use"));
        }
        let at = (self.geometry.frames_at + ready * PAGE) as u64;
        let mut got = more;
        let mut result = self.allocate(at, got);
        // Near the limit take only what is needed.
        if result.is_err() && got > wanted {
            got = wanted.min(more);
            result = self.allocate(at, got);
        }
        result?;
        step!("file grown");
        // Relaxed: frames are zero and free. The maximum: two processes may extend at once.
        self.word(word::READY)
            .fetch_max((ready + got) as u64, Ordering::Relaxed);
        // Relaxed: a hint. Without it the next who needs a frame would make the file longer again.
        self.word(word::FREE)
            .fetch_add(got as u64, Ordering::Relaxed);
        Ok(())
    }

    fn allocate(&self, at: u64, frames: usize) -> Result<()> {
        fallocate(
            &self.file,
            FallocateFlags::empty(),
            at,
            (frames * PAGE) as u64,
        )
        .map_err(Error::os("page frames"))
    }

    /// Frees every frame that a dead process of `slot` had reserved. For holders of the lock.
    pub(super) fn free_reserved(&self, slot: usize) {
        for frame in 1..=self.ready() as u32 {
            // Relaxed: only a look; `release` does it.
            if self.state(frame).load(Ordering::Relaxed) == RESERVED + slot as u32 {
                self.release(frame, slot);
            }
        }
    }

    /// Frees the frames of the trunk that are not `used`, and marks the used ones. For holders of
    /// the lock, in repairs. Returns how many were lost.
    pub(super) fn sweep(&self, used: &[bool]) -> usize {
        let mut lost = 0;
        for frame in 1..=self.ready() as u32 {
            // Relaxed: under the lock.
            let state = self.state(frame).load(Ordering::Relaxed);
            if used[frame as usize] {
                self.set_in_trunk(frame);
            } else if state == IN_TRUNK || state >= RESERVED + super::layout::SLOTS as u32 {
                self.state(frame).store(FREE, Ordering::Relaxed);
                self.word(word::FREE).fetch_add(1, Ordering::Relaxed);
                lost += 1;
            }
        }
        lost
    }

    /// As [`Trunk::sweep`], but reservations do not count: nobody is there.
    pub(super) fn sweep_all(&self, used: &[bool]) {
        let mut free = 0;
        for frame in 1..=self.ready() as u32 {
            // Relaxed: nobody else is there.
            let state = match used[frame as usize] {
                true => IN_TRUNK,
                false => FREE,
            };
            self.state(frame).store(state, Ordering::Relaxed);
            free += u64::from(state == FREE);
        }
        self.word(word::FREE).store(free, Ordering::Relaxed);
    }

    /// Counts the frames by state.
    pub(crate) fn count_frames(&self) -> FrameCount {
        let mut count = FrameCount {
            ready: self.ready(),
            ..FrameCount::default()
        };
        for frame in 1..=count.ready as u32 {
            // Relaxed: a count, exact only while nothing moves.
            match self.state(frame).load(Ordering::Relaxed) {
                FREE => count.free += 1,
                IN_TRUNK => count.in_trunk += 1,
                _ => count.reserved += 1,
            }
        }
        count
    }

    /// Whether a frame is the trunk's.
    pub(crate) fn is_in_trunk(&self, frame: u32) -> bool {
        // Relaxed: under the lock.
        self.state(frame).load(Ordering::Relaxed) == IN_TRUNK
    }
}
