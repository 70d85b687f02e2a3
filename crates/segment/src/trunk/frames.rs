//! Page frames and their owners.
//!
//! | state | meaning |
//! |---|---|
//! | hole | not in use; the file may have no space for it |
//! | free | not in use, with space |
//! | in the trunk | named by a page head, by the log, or by the table of kept frames |
//! | reserved | of the process of a slot, which may write to it, give it space, or take its space away |
//!
//! Hole, free and reserved change by compare-and-swap. A process that dies takes its reservations along only until it
//! is reaped, because the state names its slot; whether such a frame has space is not known, so it is a hole then.
//! Space is allocated before a frame is used: a full file system is an error here, never a SIGBUS later.
//!
//! When more frames are free than in use, by [`SLACK`] at least, commits give space back until half as many are free.

use fyris_sync::atomic::Ordering;
use std::ops::Range;

use rustix::fs::{FallocateFlags, fallocate};

use super::Trunk;
use super::layout::word;
use crate::PAGE;
use crate::error::{Error, Result};
use crate::failpoints::failpoint;

const HOLE: u32 = 0;
const FREE: u32 = 1;
const IN_TRUNK: u32 = 2;
/// The state of a frame reserved by slot `s` is `RESERVED + s`.
const RESERVED: u32 = 3;

/// Frames that get space in one go, at least and at most.
const GROWTH: std::ops::RangeInclusive<usize> = 32..=4096;

/// The number of times that frames get space in one call: others may take the frames that were won, but not without
/// end.
const EXTENSIONS: usize = 100;

/// Frames that one look for a run goes over.
const LOOK: u32 = 1024;

/// Free frames, beyond as many as are in use, that keep their space.
const SLACK: usize = 256;
/// Frames whose space one commit gives back, at least (if there are as many) and at most; and the part of the excess.
const SHRINK: std::ops::RangeInclusive<usize> = 256..=4096;
const SHRINK_PART: usize = 8;

/// Returns the error for `count` frames that there are not.
pub(crate) fn no_frames(what: &'static str, count: usize) -> Error {
    let bytes = Some(count as u64 * PAGE as u64);
    Error::NoSpace { what, bytes }
}

/// The number of frames in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FrameCount {
    pub(crate) ready: usize,
    pub(crate) holes: usize,
    pub(crate) free: usize,
    pub(crate) in_trunk: usize,
    pub(crate) reserved: usize,
}

impl Trunk {
    fn state(&self, frame: u32) -> &fyris_sync::atomic::AtomicU32 {
        assert!(frame as usize <= self.geometry.frames);
        self.half(self.geometry.states_at + frame as usize * 4)
    }

    /// Returns the number of frames that the file has, or had, space for.
    fn ready(&self) -> usize {
        // Relaxed: a process that reserves a frame gets it by the compare-and-swap.
        let ready = self.word(word::READY).load(Ordering::Relaxed);
        (ready as usize).min(self.geometry.frames)
    }

    /// Marks a frame as the trunk's. For holders of the lock.
    pub(super) fn set_in_trunk(&self, frame: u32) {
        // Relaxed: the lock's Release follows.
        self.state(frame).store(IN_TRUNK, Ordering::Relaxed);
    }

    /// Turns a frame of the trunk that no process can see any more into one reserved by `slot`. For holders of the
    /// lock. Returns false if it is not the trunk's, which happens only if the log is spoiled.
    pub(crate) fn take_back(&self, frame: u32, slot: usize) -> bool {
        let state = self.state(frame);
        let mine = RESERVED + slot as u32;
        // Acquire: readers of the frame read it before they moved their slots, which the caller found in `standing`
        // (invariant KEEP); the lock orders it after `set_in_trunk`.
        state
            .compare_exchange(IN_TRUNK, mine, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Gives a reserved frame back.
    pub(crate) fn release(&self, frame: u32, slot: usize) {
        if self.give(frame, slot, FREE) {
            // Relaxed: a hint, so that no process searches in vain.
            self.word(word::FREE).fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Makes a reserved frame a hole: it may have no space.
    fn make_hole(&self, frame: u32, slot: usize) {
        if self.give(frame, slot, HOLE) {
            // Relaxed: a hint, as above.
            self.word(word::HOLES).fetch_add(1, Ordering::Relaxed);
        }
    }

    fn give(&self, frame: u32, slot: usize, state: u32) -> bool {
        let mine = RESERVED + slot as u32;
        // Release: pairs with the Acquire in `grab`: what this process did to the frame comes before what the next
        // owner does.
        let given =
            self.state(frame)
                .compare_exchange(mine, state, Ordering::Release, Ordering::Relaxed);
        given.is_ok()
    }

    /// Reserves a frame that is in `state`.
    fn grab(&self, frame: u32, slot: usize, state: u32) -> bool {
        let mine = RESERVED + slot as u32;
        let word = self.state(frame);
        // Relaxed load: only a look. Acquire: pairs with the Release in `give`.
        word.load(Ordering::Relaxed) == state
            && word
                .compare_exchange(state, mine, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
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
            if let Err(error) = self.extend(target, slot, out) {
                // No more space: the hint may have lied.
                self.search(target, slot, cursor, out);
                return if out.len() < target {
                    Err(error)
                } else {
                    Ok(())
                };
            }
        }
        match out.len() < target {
            true => Err(no_frames("page frames: others take them all", count)),
            false => Ok(()),
        }
    }

    /// Looks at every frame once, or until `out` has `target` free ones.
    fn search(&self, target: usize, slot: usize, cursor: &mut u32, out: &mut Vec<u32>) {
        let ready = self.ready() as u32;
        let before = out.len();
        let hint = self.hint(word::FREE);
        for _ in 0..ready {
            if out.len() >= target {
                break;
            }
            *cursor = if *cursor >= ready { 1 } else { *cursor + 1 };
            if self.grab(*cursor, slot, FREE) {
                failpoint!("frame reserved");
                out.push(*cursor);
            }
        }
        self.found(word::FREE, hint, out.len() - before, out.len() >= target);
    }

    /// Returns a count that is only a hint.
    fn hint(&self, at: usize) -> u64 {
        // Relaxed: a hint.
        self.word(at).load(Ordering::Relaxed)
    }

    /// Corrects a hint after a search: it was `hint` before, and if not `enough` were found there are no more.
    fn found(&self, at: usize, hint: u64, found: usize, enough: bool) {
        let word = self.word(at);
        // Relaxed: a hint. Saturating, since a hostile process may have written anything.
        let _ = match enough {
            false => word
                .compare_exchange(hint, 0, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok(),
            true => word
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
                    Some(now.saturating_sub(found as u64))
                })
                .is_ok(),
        };
    }

    /// Gives space to frames until `out` has `target`, and to some more, which are free then. Holes come first.
    fn extend(&self, target: usize, slot: usize, out: &mut Vec<u32>) -> Result<()> {
        let wanted = target - out.len();
        let ready = self.ready();
        let backed = ready.saturating_sub(self.hint(word::HOLES) as usize);
        let more = wanted.max((backed / 4).clamp(*GROWTH.start(), *GROWTH.end()));
        let mut holes = self.take_holes(more, slot);
        if holes.is_empty() {
            let more = more.min(self.geometry.frames - ready);
            if more == 0 {
                return Err(no_frames("page frames: all are in use", wanted));
            }
            self.add_holes(ready, more)?;
            holes = self.take_holes(more, slot);
        }
        let mut result = self.allocate(&holes);
        // Near the limit take only what is needed.
        if result.is_err() && holes.len() > wanted {
            for hole in holes.drain(wanted..) {
                self.make_hole(hole, slot);
            }
            result = self.allocate(&holes);
        }
        failpoint!("file grown");
        match result {
            Ok(()) => self.populate_frames(&holes),
            Err(_) => holes.drain(..).for_each(|hole| self.make_hole(hole, slot)),
        }
        let rest = holes.split_off(holes.len().min(wanted));
        out.append(&mut holes);
        rest.into_iter().for_each(|frame| self.release(frame, slot));
        result
    }

    /// Reserves `count` frames that follow each other, and gives them space; none if there are none nearby, a look on
    /// from `cursor`. O(count + [`LOOK`]).
    pub(crate) fn reserve_run(&self, count: usize, slot: usize, cursor: &mut u32) -> Vec<u32> {
        let Some(first) = self.find_run(count as u32, cursor) else {
            return Vec::new();
        };
        let mut taken = Vec::new();
        for frame in first..first + count as u32 {
            let states = [(FREE, word::FREE), (HOLE, word::HOLES)];
            let got = states
                .into_iter()
                .find(|&(state, _)| self.grab(frame, slot, state));
            let Some((_, hint)) = got else { break };
            self.found(hint, 0, 1, true);
            taken.push(frame);
            failpoint!("frame of a run reserved");
        }
        // Others may be faster; and whether a hole has space is known only after this.
        if taken.len() < count || self.allocate(&taken).is_err() {
            taken
                .drain(..)
                .for_each(|frame| self.make_hole(frame, slot));
        }
        self.populate_frames(&taken);
        taken
    }

    /// Returns the first of `count` frames that follow each other and are not in use, as far as a look tells.
    fn find_run(&self, count: u32, cursor: &mut u32) -> Option<u32> {
        let (ready, begin) = (self.ready(), (*cursor).max(1));
        let end = (ready as u32 + 1).min(begin.saturating_add(LOOK));
        let mut first = begin;
        for frame in begin..end {
            // Relaxed: only a look.
            match self.state(frame).load(Ordering::Relaxed) {
                FREE | HOLE if frame + 1 - first == count => {
                    *cursor = frame + 1;
                    return Some(first);
                }
                FREE | HOLE => (),
                _ => first = frame + 1,
            }
        }
        *cursor = end;
        if end as usize <= ready {
            return None;
        }
        *cursor = 1;
        // Never more than twice the frames in use: frames that pages have left lie side by side in the end.
        let unused = self.hint(word::FREE) + self.hint(word::HOLES);
        let used = ready.saturating_sub(unused as usize);
        let more = ready + count as usize;
        let fits = more <= self.geometry.frames && more <= 2 * used + LOOK as usize;
        (fits && self.add_holes(ready, count as usize).is_ok()).then_some(ready as u32 + 1)
    }

    /// Makes the `count` frames behind `ready` holes that can be taken.
    fn add_holes(&self, ready: usize, count: usize) -> Result<()> {
        self.back_states(ready, ready + count)?;
        // Relaxed, both: these frames are holes so far, and the count is a hint. The maximum: two processes may extend
        // at once.
        self.word(word::READY)
            .fetch_max((ready + count) as u64, Ordering::Relaxed);
        self.word(word::HOLES)
            .fetch_add(count as u64, Ordering::Relaxed);
        failpoint!("file to grow");
        Ok(())
    }

    /// Gives the states of frames up to `last` their space; those of frames up to `ready` have it.
    fn back_states(&self, ready: usize, last: usize) -> Result<()> {
        let end = |frame: usize| (self.geometry.states_at + (frame + 1) * 4).next_multiple_of(PAGE);
        let states = end(ready)..end(last);
        self.give_space("the states of page frames", &[states])
    }

    /// Reserves up to `count` holes, those with the lowest numbers.
    fn take_holes(&self, count: usize, slot: usize) -> Vec<u32> {
        let hint = self.hint(word::HOLES);
        if hint == 0 {
            return Vec::new();
        }
        let frames = 1..=self.ready() as u32;
        let holes = frames.filter(|&frame| self.grab(frame, slot, HOLE));
        let holes: Vec<u32> = holes.take(count).collect();
        self.found(word::HOLES, hint, holes.len(), holes.len() >= count);
        failpoint!("holes reserved");
        holes
    }

    /// Populates frames in this process: each would be a page fault when a commit fills it, and a scan. Not those of a
    /// file, which would be written to its disk.
    fn populate_frames(&self, frames: &[u32]) {
        if self.place.anonymous || self.place.is_nameless() {
            for run in runs(frames) {
                let at = self.geometry.frames_at + (run.start as usize - 1) * PAGE;
                self.map.populate(at, (run.end - run.start) as usize * PAGE);
            }
        }
    }

    fn allocate(&self, frames: &[u32]) -> Result<()> {
        runs(frames).try_for_each(|run| self.space(FallocateFlags::empty(), run))
    }

    fn space(&self, flags: FallocateFlags, frames: Range<u64>) -> Result<()> {
        let at = self.geometry.frames_at as u64 + (frames.start - 1) * PAGE as u64;
        let len = (frames.end - frames.start) * PAGE as u64;
        fallocate(&self.file, flags, at, len).map_err(Error::os_needing("page frames", len))
    }

    /// Returns whether enough frames are free that [`Trunk::shrink`] gives space back.
    #[inline]
    pub(crate) fn is_loose(&self) -> bool {
        self.hint(word::FREE) > SLACK as u64 && self.excess() > 0
    }

    /// Returns the number of free frames whose space should be given back.
    fn excess(&self) -> usize {
        let [free, holes] = [word::FREE, word::HOLES].map(|at| self.hint(at) as usize);
        let used = self.ready().saturating_sub(holes).saturating_sub(free);
        match free > used + SLACK {
            true => free - (used + SLACK) / 2,
            false => 0,
        }
    }

    /// Gives the space of free frames back to the file system, in part: what is left is for the next call. False if the
    /// file system cannot do that.
    pub(crate) fn shrink(&self, slot: usize) -> bool {
        let excess = self.excess();
        let count = (excess / SHRINK_PART).clamp(*SHRINK.start(), *SHRINK.end());
        let count = count.min(excess);
        let hint = self.hint(word::FREE);
        let frames = (1..=self.ready() as u32).rev();
        let free = frames.filter(|&frame| self.grab(frame, slot, FREE));
        let mut free: Vec<u32> = free.take(count).collect();
        self.found(word::FREE, hint, free.len(), free.len() >= count);
        failpoint!("frames reserved to be punched");
        // An evicted process may still be reading what it has lost, and reading a hole takes space again, if there is
        // any. A process that was evicted before these frames became free is seen here.
        if self.anybody_evicted() {
            free.drain(..).for_each(|frame| self.release(frame, slot));
        }
        free.reverse();
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let mut able = true;
        for run in runs(&free) {
            able = able && self.space(flags, run.clone()).is_ok();
            failpoint!("hole punched");
            for frame in run {
                match able && !cfg!(fyris_mutant = "segment_hole_is_free") {
                    true => self.make_hole(frame as u32, slot),
                    false => self.release(frame as u32, slot),
                }
            }
        }
        able
    }

    /// Frees every frame that a dead process of `slot` had reserved. For holders of the lock.
    pub(super) fn free_reserved(&self, slot: usize) {
        for frame in 1..=self.ready() as u32 {
            // Relaxed: only a look; `make_hole` does it.
            if self.state(frame).load(Ordering::Relaxed) == RESERVED + slot as u32 {
                self.make_hole(frame, slot);
            }
        }
    }

    /// Frees the frames of the trunk that are not `used`, and marks the used ones. For holders of
    /// the lock, in repairs. Returns how many were lost.
    pub(super) fn sweep(&self, used: &[bool]) -> usize {
        let mut lost = 0;
        for frame in 1..=self.ready() as u32 {
            // Relaxed, here and below: under the lock.
            let state = self.state(frame).load(Ordering::Relaxed);
            let nobodys = state >= RESERVED + self.geometry.slots as u32;
            if used[frame as usize] {
                self.set_in_trunk(frame);
            } else if state == IN_TRUNK || nobodys {
                let (state, hint) = match nobodys {
                    true => (HOLE, word::HOLES),
                    false => (FREE, word::FREE),
                };
                self.state(frame).store(state, Ordering::Relaxed);
                self.word(hint).fetch_add(1, Ordering::Relaxed);
                lost += 1;
            }
        }
        lost
    }

    /// Marks the used frames, and frees all others, reserved or not: no process is attached.
    pub(super) fn sweep_all(&self, used: &[bool]) {
        let (mut free, mut holes) = (0, 0);
        for frame in 1..=self.ready() as u32 {
            // Relaxed, here and below: no other process is attached.
            let word = self.state(frame);
            let state = match word.load(Ordering::Relaxed) {
                _ if used[frame as usize] => IN_TRUNK,
                FREE | IN_TRUNK => FREE,
                _ => HOLE,
            };
            word.store(state, Ordering::Relaxed);
            free += u64::from(state == FREE);
            holes += u64::from(state == HOLE);
        }
        self.word(word::FREE).store(free, Ordering::Relaxed);
        self.word(word::HOLES).store(holes, Ordering::Relaxed);
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
                HOLE => count.holes += 1,
                FREE => count.free += 1,
                IN_TRUNK => count.in_trunk += 1,
                _ => count.reserved += 1,
            }
        }
        count
    }

    /// Returns whether a frame is the trunk's.
    pub(crate) fn is_in_trunk(&self, frame: u32) -> bool {
        // Relaxed: under the lock.
        self.state(frame).load(Ordering::Relaxed) == IN_TRUNK
    }
}

/// Splits ascending frame numbers into runs.
fn runs(frames: &[u32]) -> impl Iterator<Item = Range<u64>> + '_ {
    let runs = frames.chunk_by(|a, b| a + 1 == *b);
    runs.map(|run| u64::from(run[0])..u64::from(run[0]) + run.len() as u64)
}
