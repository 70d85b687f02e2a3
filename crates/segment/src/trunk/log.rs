//! The log: entries, publication, and giving old ones back.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::layout::{ENTRY, word};
use super::{Bounds, Trunk};
use crate::error::{Error, Result};
use crate::steps::step;
use crate::words::Mask;

/// In place of a page: the segment has grown to `frame` pages.
const GROWN: u32 = u32::MAX;
/// How often processes that lag may come back while they are cut off.
const CUT_TRIES: usize = 100;

/// One change of one page, copied out of the log (invariant B).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Which page.
    pub(crate) page: u32,
    /// The frame it has now.
    pub(crate) frame: u32,
    /// The frame it had.
    pub(crate) before: u32,
    /// The commit this belongs to.
    pub(crate) version: u64,
    /// Which words differ between the two.
    pub(crate) mask: Mask,
}

/// What an entry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record {
    /// A page has changed.
    Change(Entry),
    /// The segment has grown; the header knows to what. And the version.
    Grown(u64),
}

impl Record {
    /// The commit this belongs to.
    pub(crate) fn version(&self) -> u64 {
        match self {
            Record::Change(entry) => entry.version,
            Record::Grown(version) => *version,
        }
    }
}

impl Trunk {
    /// The words of entry `position`.
    #[inline]
    fn entry_words(&self, position: u64) -> &[AtomicU64; ENTRY / 8] {
        let at = (position as usize & (self.geometry.log - 1)) * ENTRY;
        // SAFETY: inside the mapping (the log is `log` entries long) and aligned; accessed as atomics only.
        unsafe { &*self.map.start().add(self.geometry.log_at + at).cast() }
    }

    /// Copies entry `position` out and checks it. Whether it was overwritten meanwhile (which can
    /// happen to a cut process only) the caller finds out from its slot.
    #[inline]
    pub(crate) fn entry(&self, position: u64) -> Result<Record> {
        let words = self.entry_words(position);
        // Relaxed: `position` was read with Acquire; and a fence follows for those who may be cut.
        let get = |i: usize| words[i].load(Ordering::Relaxed);
        let (first, before, version) = (get(0), get(1), get(2));
        let (page, frame) = (first as u32, (first >> 32) as u32);
        if page == GROWN {
            return Ok(Record::Grown(version));
        }
        let frames = self.geometry.frames as u64;
        if page as usize >= self.geometry.pages || u64::from(frame) > frames || before > frames {
            return Err(Error::Corrupt("a log entry"));
        }
        let mut mask = Mask::default();
        for (i, bits) in mask.0.iter_mut().enumerate() {
            *bits = get(8 + i);
        }
        Ok(Record::Change(Entry {
            page,
            frame,
            before: before as u32,
            version,
            mask,
        }))
    }

    /// The frame that entry `position` replaced, if it is one. For holders of the lock.
    fn replaced(&self, position: u64) -> Option<u32> {
        let words = self.entry_words(position);
        // Relaxed: the lock's Acquire came before.
        let page = words[0].load(Ordering::Relaxed) as u32;
        let before = words[1].load(Ordering::Relaxed);
        let good = page != GROWN && (1..=self.geometry.frames as u64).contains(&before);
        good.then_some(before as u32)
    }

    /// Writes entry `position`, which nobody can see yet. For holders of the lock.
    fn put(&self, position: u64, record: &Record) {
        let words = self.entry_words(position);
        // Relaxed: published by `position`.
        let set = |i: usize, value: u64| words[i].store(value, Ordering::Relaxed);
        match record {
            Record::Grown(version) => {
                set(0, u64::from(GROWN));
                set(2, *version);
            }
            Record::Change(e) => {
                set(0, u64::from(e.page) | u64::from(e.frame) << 32);
                set(1, u64::from(e.before));
                set(2, e.version);
                e.mask
                    .0
                    .iter()
                    .enumerate()
                    .for_each(|(i, bits)| set(8 + i, *bits));
            }
        }
    }

    /// Publishes `records` (steps 4 to 6 of a commit, see the crate). The log has room for them
    /// (`make_room`). For holders of the lock. Returns the new position.
    pub(crate) fn publish(&self, bounds: &mut Bounds, records: &[Record]) -> u64 {
        let start = bounds.position;
        let end = start + records.len() as u64;
        debug_assert!(end - bounds.tail <= self.geometry.log as u64);
        for (position, record) in (start..).zip(records) {
            self.put(position, record);
            step!("entry written");
        }
        step!("about to publish");
        if cfg!(fyris_mutant = "segment_publish_partly") {
            self.word(word::POSITION)
                .store(start + 1, Ordering::Release);
            step!("partly published");
        }
        // Release: pairs with the Acquire in `position`. From here on the commit has happened.
        self.word(word::POSITION).store(end, Ordering::Release);
        step!("published");
        bounds.position = end;
        self.apply(bounds, records);
        end
    }

    /// Brings page heads and frame states up to the position. Repeating it changes nothing, so
    /// recovery does just that.
    fn apply(&self, bounds: &mut Bounds, records: &[Record]) {
        for (position, record) in (bounds.applied..).zip(records) {
            if let Record::Change(e) = record {
                self.set_head(e.page as usize, e.frame, position + 1);
                step!("head set");
                self.set_in_trunk(e.frame);
            }
            step!("entry applied");
        }
        if let Some(last) = records.last() {
            // Relaxed: for people.
            self.word(word::VERSION)
                .store(last.version(), Ordering::Relaxed);
        }
        step!("about to say applied");
        // Release: pairs with the Acquire in `applied`: heads below are in place.
        self.word(word::APPLIED)
            .store(bounds.position, Ordering::Release);
        bounds.applied = bounds.position;
        step!("applied");
    }

    /// Applies what was published and not applied. For holders of the lock; returns how much it was.
    pub(super) fn replay(&self, bounds: &mut Bounds) -> Result<usize> {
        if bounds.applied == bounds.position {
            return Ok(0);
        }
        let records: Vec<Record> = (bounds.applied..bounds.position)
            .map(|position| self.entry(position))
            .collect::<Result<_>>()?;
        self.apply(bounds, &records);
        Ok(records.len())
    }

    /// A position up to which all page heads are in place.
    pub(crate) fn applied(&self) -> u64 {
        // Acquire: pairs with the Release in `apply`.
        self.word(word::APPLIED).load(Ordering::Acquire)
    }

    /// Entries below this, and the frames that they replaced, may be reused (invariant K).
    pub(crate) fn tail(&self) -> u64 {
        // SeqCst: one side of the handshake with `advance`; see `slots::enter`.
        self.word(word::TAIL).load(Ordering::SeqCst)
    }

    /// Moves the tail up to where the slowest uncut process stands, and hands the frames that were
    /// replaced before that to `free`. For holders of the lock.
    pub(crate) fn advance(&self, bounds: &mut Bounds, mut free: impl FnMut(u32)) {
        let mut target = self.slowest().min(bounds.applied);
        if cfg!(fyris_mutant = "segment_keep_nothing") {
            target = bounds.applied;
        }
        if target <= bounds.tail {
            return;
        }
        // SeqCst, as the fence and the loads in `slowest`: either a process that enters below the
        // new tail sees it and tries again, or we see its slot here and stay behind it.
        self.word(word::TAIL).store(target, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let again = self.slowest().max(bounds.tail);
        if again < target && !cfg!(fyris_mutant = "segment_keep_nothing") {
            self.word(word::TAIL).store(again, Ordering::SeqCst);
            target = again;
        }
        step!("tail moved");
        for position in bounds.tail..target {
            // A frame whose entry a hostile process spoiled is lost until the next sweep.
            if let Some(frame) = self.replaced(position) {
                free(frame);
                step!("frame given back");
            }
        }
        bounds.tail = target;
    }

    /// Sees to it that `count` entries fit, by cutting off processes that lag if need be. For
    /// holders of the lock.
    pub(crate) fn make_room(
        &self,
        bounds: &mut Bounds,
        count: usize,
        mut free: impl FnMut(u32),
    ) -> Result<()> {
        let log = self.geometry.log as u64;
        if count as u64 > log {
            return Err(Error::Corrupt("a commit larger than the segment"));
        }
        let needed = (bounds.position + count as u64).saturating_sub(log);
        if bounds.tail >= needed {
            return Ok(());
        }
        self.advance(bounds, &mut free);
        if bounds.tail >= needed {
            return Ok(());
        }
        self.reap(None)?;
        // A process that was cut may come back before the tail has moved: then it is cut again.
        for _ in 0..CUT_TRIES {
            self.cut_below(needed);
            self.advance(bounds, &mut free);
            if bounds.tail >= needed {
                return Ok(());
            }
        }
        Err(Error::Corrupt("the log cannot be shortened"))
    }
}
