//! The trunk: everything that processes share.
//!
//! # Layout
//!
//! | part | content |
//! |---|---|
//! | header | one page: constants with a sum, position, version, lock, tail (see [`layout::word`]) |
//! | slots | 64 bytes a process: its id, and its log position |
//! | page heads | 16 bytes a page: latest frame, log position after the change |
//! | log | ring of 128-byte entries: page, frame, frame before, version, changed words (see [`entry`]) |
//! | kept frames | 16 bytes each: frames that left the log and are still needed (see [`kept`]) |
//! | frame states | 4 bytes a frame: free, in the trunk, or reserved by the process of a slot |
//! | frames | 4096 bytes each, never changed while a process may read them |
//!
//! # Positions
//!
//! The log is numbered from the beginning of time: entry `s` is at `s % log` at first. A process *at position p*
//! has merged the entries below `p`. `tail <= applied <= position`, and the ring holds
//! `tail..position` (it gets longer with the segment: [`ring`]). One store to `position` publishes a whole commit.
//!
//! # Invariants
//!
//! * **BOUNDS**: every number read here is used only after a comparison with the private copy of the geometry. Words
//!   are read by atomics, once, into private memory; then checked; then used.
//! * **KEEP**: while a slot holds the log from position `p` on, its process may read entries from `p` on, and each
//!   frame that was current at `p` or later. While it is not evicted it may read the snapshots of its place and its
//!   base: the frames that were current there. An entry is reused only when `tail` has passed it, and no slot holds the
//!   log below `tail`; the frame that it replaced is free only when no slot keeps a snapshot that has it.
//! * **LOCK**: log entries, `position`, heads, `applied`, `tail`, overruns, evictions, the table of kept frames and the
//!   states of frames that are in the trunk are written by the holder of the lock only. Frames change hands between
//!   *free* and *reserved* by compare-and-swap, without the lock.
//! * **REPAIR**: a process that takes the lock over from a dead process repairs before anything else: `recover`.

pub(crate) mod create;
pub(crate) mod entry;
pub(crate) mod frames;
mod gate;
mod glance;
pub(crate) mod kept;
pub(crate) mod layout;
pub(crate) mod lock;
pub(crate) mod log;
pub(crate) mod recover;
pub(crate) mod ring;
pub(crate) mod slots;
mod watch;

use fyris_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use crate::PAGE;
use crate::error::{Error, Result};
use crate::map::{ForkMark, ForkProbe, Mapping};
use crate::name::Location;
use crate::words::{self, ZERO};

use crate::failpoints::failpoint;
use layout::{ENTRY, Geometry, HEAD, word};
use ring::Ring;

/// The mapped trunk. See the module.
#[derive(Debug)]
pub(crate) struct Trunk {
    map: Mapping,
    pub(crate) file: File,
    pub(crate) geometry: Geometry,
    pub(crate) place: Location,
    fork: ForkMark,
    /// Whether this process may write to the file. If not it has no slot, and is only looking on.
    pub(crate) writable: bool,
}

impl Drop for Trunk {
    fn drop(&mut self) {
        if self.forked() {
            // Invariant FORK: the mapping is the parent's, and something else may be at its place.
            self.map.forget();
        }
    }
}

/// The positions of the log, read consistently enough to be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) tail: u64,
    pub(crate) applied: u64,
    pub(crate) position: u64,
    /// The ring that the next entries are in.
    pub(crate) ring: Ring,
}

impl Trunk {
    /// Returns the word of 8 bytes at `offset`.
    #[inline]
    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.geometry.frames_at);
        // SAFETY: inside the mapping (checked) and aligned; everything below the frames is only ever
        // accessed as atomics, by us. An atomic load tolerates any write of another process.
        unsafe { AtomicU64::from_ptr(self.map.start().add(offset).cast()) }
    }

    /// Returns the half word of 4 bytes at `offset`.
    #[inline]
    fn half(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.geometry.frames_at);
        // SAFETY: as in `word`; no half word overlaps a word.
        unsafe { AtomicU32::from_ptr(self.map.start().add(offset).cast()) }
    }

    /// Returns the log position up to which everything is published.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        // Acquire: pairs with the Release in `log::publish`; entries and frames below are complete.
        self.word(word::POSITION).load(Ordering::Acquire)
    }

    /// Returns whether a process has read in place.
    #[inline]
    pub(crate) fn is_read_in_place(&self) -> bool {
        // Relaxed: a hint.
        self.word(word::READ_IN_PLACE).load(Ordering::Relaxed) != 0
    }

    /// Returns whether no process lags by much: less than a quarter of the log is in use.
    pub(crate) fn is_log_short(&self) -> bool {
        // Relaxed: a hint.
        let tail = self.word(word::TAIL).load(Ordering::Relaxed);
        self.position().saturating_sub(tail) < self.ring().len as u64 / 4
    }

    /// Returns the number of commits. Written just after `position`, so it may be behind it for a moment.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        // Relaxed: for people; nothing is read because of it.
        self.word(word::VERSION).load(Ordering::Relaxed)
    }

    /// Returns the segment's size in bytes.
    pub(crate) fn size(&self) -> Result<usize> {
        // Relaxed: a process that must see a new size has read the entry of the log that announced it.
        let size = self.word(word::SIZE).load(Ordering::Relaxed);
        match usize::try_from(size) {
            Ok(size) if size > 0 && size <= self.geometry.pages * PAGE => Ok(size),
            _ => Err(Error::Corrupt("the segment's size")),
        }
    }

    /// Returns the number of pages that the segment has. Those beyond have no frames, and looking at their heads would
    /// take memory.
    pub(crate) fn pages(&self) -> Result<usize> {
        Ok(self.size()?.div_ceil(PAGE))
    }

    /// Gives parts of the file before the frames their space. What has no name is in memory, which it takes as it is
    /// used.
    fn give_space(&self, what: &'static str, parts: &[Range<usize>]) -> Result<()> {
        match self.place.is_nameless() || cfg!(fyris_mutant = "segment_space_unpromised") {
            true => Ok(()),
            false => create::back(&self.file, what, parts),
        }
    }

    /// Gives the segment's index and log the space that they need at a size of `pages` pages, and makes the log longer.
    /// For holders of the lock.
    pub(crate) fn make_longer(&self, bounds: &mut Bounds, pages: usize) -> Result<()> {
        let (geometry, now) = (self.geometry, bounds.ring.len);
        let [heads, log, ..] = geometry.parts(pages);
        let [old_heads, ..] = geometry.parts(self.pages()?);
        let len = geometry.log_for(pages).max(now);
        let log = geometry.log_at + now * ENTRY..log.end;
        let new = [old_heads.end..heads.end, log];
        self.give_space("a longer segment's log and index", &new)?;
        failpoint!("log has space");
        if len > now {
            self.lengthen(bounds.position, len);
            bounds.ring = self.ring();
        }
        Ok(())
    }

    /// Sets the size. For holders of the lock.
    pub(crate) fn set_size(&self, size: usize) {
        // Relaxed: published by the entry that announces it.
        self.word(word::SIZE).store(size as u64, Ordering::Relaxed);
    }

    /// Returns tail, applied and position, checked against each other. For holders of the lock: without it they may
    /// move between the loads.
    pub(crate) fn bounds(&self) -> Result<Bounds> {
        // Relaxed: the lock's Acquire came before.
        let get = |offset| self.word(offset).load(Ordering::Relaxed);
        let bounds = Bounds {
            tail: get(word::TAIL),
            applied: get(word::APPLIED),
            position: get(word::POSITION),
            ring: self.ring(),
        };
        let ordered = bounds.tail <= bounds.applied && bounds.applied <= bounds.position;
        // Less than what fits: positions are added to without checks, and the table of rings has 58 bits.
        if ordered
            && bounds.position - bounds.tail <= bounds.ring.len as u64
            && bounds.ring.start <= bounds.position
            && bounds.position < 1 << 56
        {
            return Ok(bounds);
        }
        Err(Error::Corrupt("the log's bounds"))
    }

    /// Returns the page of frame `number`; frame 0 is the page of zeros, which is not writable.
    #[inline]
    pub(crate) fn frame(&self, number: u32) -> Result<*const u8> {
        match number {
            0 => Ok(ZERO.ptr()),
            _ => self.frame_mut(number).map(|p| p.cast_const()),
        }
    }

    /// Returns the page of frame `number`, to write to: a frame that this process has reserved.
    #[inline]
    pub(crate) fn frame_mut(&self, number: u32) -> Result<*mut u8> {
        let index = number.wrapping_sub(1) as usize;
        if index >= self.geometry.frames {
            return Err(Error::Corrupt("a frame's number"));
        }
        let offset = self.geometry.frames_at + index * PAGE;
        debug_assert!(offset + PAGE <= self.map.len());
        // SAFETY: inside the mapping: `index < frames`, and the geometry is checked against its length.
        Ok(unsafe { self.map.start().add(offset) })
    }

    /// Returns the offset of frame `number` in the file.
    pub(crate) fn place_of(&self, number: u32) -> Result<(BorrowedFd<'_>, usize)> {
        let offset = self.frame(number)?.addr() - self.map.start().addr();
        Ok((self.file.as_fd(), offset))
    }

    /// Returns frame and position of the latest change of `page`.
    pub(crate) fn head(&self, page: usize) -> Result<(u32, u64)> {
        let offset = self.head_at(page);
        // Acquire, both: pair with the Release stores in `set_head`: the position published before it is seen by a
        // later load of `position`.
        let frame = self.word(offset).load(Ordering::Acquire);
        let position = self.word(offset + 8).load(Ordering::Acquire);
        match u32::try_from(frame) {
            Ok(frame) if frame as usize <= self.geometry.frames => Ok((frame, position)),
            _ => Err(Error::Corrupt("a page head's frame")),
        }
    }

    /// Returns the position after the latest change of `page`. For holders of the lock.
    #[inline]
    pub(super) fn changed_at(&self, page: usize) -> u64 {
        // Relaxed: under the lock.
        self.word(self.head_at(page) + 8).load(Ordering::Relaxed)
    }

    /// Sets a page head. For holders of the lock.
    fn set_head(&self, page: usize, frame: u32, position: u64) {
        let offset = self.head_at(page);
        // Release, both: pair with the Acquire loads in `head`.
        self.word(offset).store(u64::from(frame), Ordering::Release);
        self.word(offset + 8).store(position, Ordering::Release);
    }

    /// Asks for what a commit will write to when it gives `page` the frame `frame`.
    #[inline]
    pub(crate) fn ask_for(&self, page: usize, frame: u32) {
        let start = self.map.start().cast_const();
        words::prefetch(start, self.head_at(page));
        words::prefetch(start, self.geometry.states_at + frame as usize * 4);
    }

    fn head_at(&self, page: usize) -> usize {
        assert!(page < self.geometry.pages);
        self.geometry.heads_at + page * HEAD
    }

    /// Returns a probe that asks whether the process is a forked child, without a reference to the trunk; valid while
    /// the trunk is.
    pub(crate) fn fork_probe(&self) -> ForkProbe {
        self.fork.probe()
    }

    /// Returns whether this is a child of the process that mapped the trunk: then nothing is mapped here. No system
    /// call.
    #[inline]
    pub(crate) fn forked(&self) -> bool {
        self.fork.forked()
    }

    /// Copies frame `number` out of the file: for processes that keep no frame, and may find that its space was given
    /// back. Reading that through the mapping would take space again.
    pub(crate) fn read_frame(&self, number: u32, page: &mut [u8; PAGE]) -> Result<()> {
        let Some(index) = number.checked_sub(1) else {
            page.fill(0);
            return Ok(());
        };
        let at = self.geometry.frames_at + index as usize * PAGE;
        let read = self.file.read_exact_at(page, at as u64);
        read.map_err(|source| Error::Os {
            what: "reading a page of a segment",
            path: None,
            source,
        })
    }

    /// Returns the number of times that the log went on without a process.
    pub(crate) fn overruns(&self) -> u64 {
        // Relaxed: for people.
        self.word(word::OVERRUNS).load(Ordering::Relaxed)
    }

    /// Returns the number of times that a process lost its base.
    pub(crate) fn evictions(&self) -> u64 {
        // Relaxed: for people.
        self.word(word::EVICTIONS).load(Ordering::Relaxed)
    }

    /// Returns the start and the length of the mapping, for `sync`.
    pub(crate) fn bytes(&self) -> (*mut u8, usize) {
        (self.map.start(), self.map.len())
    }
}
