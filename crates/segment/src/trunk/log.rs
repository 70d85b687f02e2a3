//! The log: publication, and giving old entries back.

use fyris_sync::atomic::{AtomicU64, Ordering};

use super::entry::{self, FEW, Head, Image, LEN, One};
use super::frames::no_frames;
use super::gate;
use super::kept::Kept;
use super::layout::{ENTRY, word};
use super::ring::Ring;
use super::slots::Standing;
use super::{Bounds, Trunk};
use crate::PAGE;
use crate::error::{Error, Result};
use crate::failpoints::failpoint;
use crate::words::Mask;

/// The number of times that overrun processes may come back before the tail has moved.
const OVERRUN_TRIES: usize = 100;

/// Entries that [`Trunk::populate_log`] populates: 64 pages.
pub(crate) const AHEAD: u64 = 2048;

/// The log, for entries below a position that was read before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Log<'a> {
    trunk: &'a Trunk,
    ring: Ring,
}

impl<'a> Log<'a> {
    /// Returns the words of entry `position`.
    #[inline]
    fn words(&self, position: u64) -> &'a [AtomicU64; LEN] {
        let place = match self.ring.start <= position {
            true => self.ring.place(position),
            false => self.trunk.older_ring(position).place(position),
        };
        let at = self.trunk.geometry.log_at + place * ENTRY;
        // SAFETY: inside the mapping (no ring is longer than the log) and aligned; accessed as atomics only.
        unsafe { &*self.trunk.map.start().add(at).cast() }
    }

    /// Returns a function that reads the words of entry `position`.
    #[inline]
    fn reader(&self, position: u64) -> impl Fn(usize) -> u64 + Copy + use<'a> {
        let words = self.words(position);
        // Relaxed: `position` was read with Acquire; and a fence follows for processes that may be overrun.
        move |i: usize| words[i].load(Ordering::Relaxed)
    }

    /// Copies the first words of entry `position` out and checks them (invariant BOUNDS). Whether it was overwritten
    /// meanwhile (which can happen to an overrun process only) the caller finds out from its slot.
    #[inline]
    pub(crate) fn entry(&self, position: u64) -> Result<Head> {
        let head = Head::of(self.reader(position));
        let (frame, geometry) = (head.frame.max(head.before), &self.trunk.geometry);
        let good = (head.page as usize) < geometry.pages && frame as usize <= geometry.frames;
        match head.grown() || good && head.few <= FEW {
            true => Ok(head),
            false => Err(Error::Corrupt("a log entry")),
        }
    }

    /// Returns the words of entry `position` that its head says there are, with their values.
    #[inline]
    pub(crate) fn few(&self, position: u64, head: &Head) -> impl Iterator<Item = One> {
        entry::few(head, self.reader(position))
    }

    /// Returns the mask of entry `position`, if its head says that the words are not few.
    #[inline]
    pub(crate) fn mask(&self, position: u64) -> Mask {
        entry::mask(self.reader(position))
    }

    /// Returns the page of entry `position` and the frame that it replaced, if it is one. For holders of the lock.
    pub(super) fn replaced(&self, position: u64) -> Option<(u32, Kept)> {
        // The lock's Acquire came before.
        let head = Head::of(self.reader(position));
        let frames = 1..=self.trunk.geometry.frames;
        let good = !head.grown() && frames.contains(&(head.before as usize));
        let kept = Kept {
            frame: head.before,
            from: head.current_from(position),
            to: position,
        };
        good.then_some((head.page, kept))
    }

    /// Writes entry `position`, which no other process reads yet. For holders of the lock.
    fn put(&self, position: u64, image: &Image) {
        for (to, &word) in self.words(position).iter().zip(image.words()) {
            // Relaxed: published by `position`.
            to.store(word, Ordering::Relaxed);
        }
    }
}

impl Trunk {
    /// Returns the log as it is now.
    #[inline]
    pub(crate) fn log(&self) -> Log<'_> {
        self.log_in(self.ring())
    }

    #[inline]
    fn log_in(&self, ring: Ring) -> Log<'_> {
        Log { trunk: self, ring }
    }

    /// Populates the part of the present ring from `position` on in this process, so that it takes no page fault there.
    /// Returns the position behind that part, at most [`AHEAD`] on. For processes that may write.
    pub(crate) fn populate_log(&self, position: u64) -> u64 {
        let ring = self.ring();
        let place = ring.place(position);
        let count = AHEAD.min((ring.len - place) as u64);
        let at = self.geometry.log_at + place * ENTRY;
        let start = at / PAGE * PAGE;
        self.map
            .populate(start, at - start + count as usize * ENTRY);
        position + count
    }

    /// Publishes `records` (steps 4 to 6 of a commit, see the crate). The log has room for them
    /// (`make_room`). For holders of the lock. Returns the new position.
    pub(crate) fn publish(&self, bounds: &mut Bounds, records: &mut [Image]) -> u64 {
        let start = bounds.position;
        let end = start + records.len() as u64;
        let log = self.log_in(bounds.ring);
        debug_assert!(end - bounds.tail <= log.ring.len as u64);
        for (position, image) in (start..).zip(&mut *records) {
            let head = image.head();
            if !head.grown() {
                image.set_age(position.saturating_sub(self.changed_at(head.page as usize)));
            }
            log.put(position, image);
            failpoint!("entry written");
        }
        failpoint!("about to publish");
        if cfg!(fyris_mutant = "segment_publish_partly") {
            // Release: as below.
            self.word(word::POSITION)
                .store(start + 1, Ordering::Release);
            failpoint!("partly published");
        }
        // Release, within SeqCst: pairs with the Acquire in `position`. From here on the commit has happened. SeqCst:
        // one side of the handshake with the processes that sleep until then, see `watch`.
        self.word(word::POSITION).store(end, Ordering::SeqCst);
        failpoint!("published");
        bounds.position = end;
        self.apply(bounds, records.iter().map(Image::head));
        end
    }

    /// Brings page heads and frame states up to the position. Repeating it changes nothing, so
    /// recovery does just that.
    fn apply(&self, bounds: &mut Bounds, heads: impl Iterator<Item = Head>) {
        let mut version = None;
        for (position, head) in (bounds.applied..).zip(heads) {
            version = Some(head.version);
            if !head.grown() {
                self.set_head(head.page as usize, head.frame, position + 1);
                failpoint!("head set");
                self.set_in_trunk(head.frame);
            }
            failpoint!("entry applied");
        }
        if let Some(version) = version {
            // Release: pairs with the Acquire fence at the end of `Onlooker::try_look`: a look that has this version
            // finds the position of its commit.
            self.word(word::VERSION).store(version, Ordering::Release);
        }
        failpoint!("about to say applied");
        // Release: pairs with the Acquire in `applied`: heads below are in place.
        self.word(word::APPLIED)
            .store(bounds.position, Ordering::Release);
        bounds.applied = bounds.position;
        failpoint!("applied");
    }

    /// Applies what was published and not applied. For holders of the lock; returns how much it was.
    pub(super) fn replay(&self, bounds: &mut Bounds) -> Result<usize> {
        if bounds.applied == bounds.position {
            return Ok(0);
        }
        let log = self.log_in(bounds.ring);
        let heads: Vec<Head> = (bounds.applied..bounds.position)
            .map(|position| log.entry(position))
            .collect::<Result<_>>()?;
        let count = heads.len();
        self.apply(bounds, heads.into_iter());
        Ok(count)
    }

    /// Returns a position up to which all page heads are in place.
    pub(crate) fn applied(&self) -> u64 {
        // Acquire: pairs with the Release in `apply`.
        self.word(word::APPLIED).load(Ordering::Acquire)
    }

    /// Moves the tail up to where the slowest process stands that holds the log, or up to `floor` if only bases are
    /// below; keeps the frames that snapshots have, and hands the others to `free`, with the page of each if that is
    /// known. False if readers in place need more frames than can be kept beside the log: then the tail stays. For
    /// holders of the lock.
    ///
    /// 1. The places and bases of all slots say how far it may go.
    /// 2. The gate is raised to there, so that no process begins to hold what is about to go. Then all slots are looked
    ///    at again: one that was there before the gate brings gate and target back (GATE).
    /// 3. Kept frames that no snapshot has any more are freed, whether the tail moves or not.
    /// 4. What snapshots have of the frames that the passing entries replaced is kept beside the log. Where that is too
    ///    much, snapshots are given up, those of the dead and then the lowest; if only pinned ones are left the tail
    ///    stays.
    /// 5. The tail is stored, and with that the entries are gone. Only then the other frames that they replaced are
    ///    freed (KEEP).
    pub(crate) fn advance(
        &self,
        bounds: &mut Bounds,
        floor: u64,
        mut free: impl FnMut(u32, Option<u32>),
    ) -> bool {
        let tail = bounds.tail;
        let reach = |standing: &Standing| {
            let floor = floor.min(standing.place);
            standing.low.max(floor).min(bounds.applied).max(tail)
        };
        let mut standing = self.standing(tail, tail);
        let mut target = reach(&standing);
        if cfg!(fyris_mutant = "segment_keep_nothing") {
            target = bounds.applied;
        }
        if target > tail {
            // Owners as well: a process writes its owner before its place.
            target = gate::raise(self.word(word::GATE), target, || {
                standing = self.standing(tail, target);
                reach(&standing)
            });
            failpoint!("gate moved");
        }
        let mut snapshots = standing.snapshots;
        self.let_go_for(&snapshots, |frame| free(frame, None));
        if target == tail {
            return true;
        }
        let pageless = |frame| free(frame, None);
        if !snapshots.is_empty() && !self.keep_for(&mut snapshots, tail..target, pageless) {
            return false;
        }
        // Relaxed: for holders of the lock. From here on the entries are gone.
        self.word(word::TAIL).store(target, Ordering::Relaxed);
        bounds.tail = target;
        failpoint!("tail moved");
        let log = self.log_in(bounds.ring);
        for position in tail..target {
            // A frame whose entry a hostile process spoiled is lost until the next sweep.
            let replaced = log.replaced(position);
            if let Some((page, kept)) = replaced.filter(|(_, kept)| !kept.needed(&snapshots)) {
                free(kept.frame, Some(page));
                failpoint!("frame given back");
            }
        }
        let log = log.ring.len as u64;
        if !snapshots.is_empty() && tail / log != target / log {
            // Once a turn of the log: those that were left behind may have died. An error is not theirs to see.
            let _ = self.reap(None);
        }
        true
    }

    /// Sees to it that `count` entries fit, by overrunning the slowest processes if need be. For
    /// holders of the lock.
    pub(crate) fn make_room(
        &self,
        bounds: &mut Bounds,
        count: usize,
        mut free: impl FnMut(u32, Option<u32>),
    ) -> Result<()> {
        let ring = bounds.ring;
        if count > ring.len {
            return Err(Error::Corrupt("a commit larger than the segment"));
        }
        let needed = ring.tail_for(bounds.position + count as u64);
        if bounds.tail >= needed {
            return Ok(());
        }
        self.advance(bounds, 0, &mut free);
        if bounds.tail >= needed {
            return Ok(());
        }
        self.reap(None)?;
        // An overrun process may come back before the tail has moved: then it is overrun again.
        for _ in 0..OVERRUN_TRIES {
            self.overrun_below(needed);
            if !self.advance(bounds, needed, &mut free) {
                return Err(no_frames("pages that readers in place have", count));
            }
            if bounds.tail >= needed {
                return Ok(());
            }
        }
        Err(Error::Corrupt("the log cannot be shortened"))
    }
}
