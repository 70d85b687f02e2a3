//! The layout of the shared file.

use std::ops::Range;

use crate::PAGE;
use crate::error::{Error, Result};
use crate::words::Unit;

/// "FYRISSEG".
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"FYRISSEG");
/// Changes when a byte changes its meaning.
pub(crate) const FORMAT: u64 = 4;
/// Most slots for attached processes.
pub(crate) const MAX_SLOTS: u64 = 1 << 16;
/// Bytes of a slot.
pub(crate) const SLOT: usize = 64;
/// Bytes of a page head.
pub(crate) const HEAD: usize = 16;
/// Bytes of a log entry.
pub(crate) const ENTRY: usize = 128;
/// Bytes of an entry of the table of kept frames.
pub(crate) const KEPT: usize = 16;
/// Fewest entries of a log.
pub(super) const MIN_LOG: u64 = 1024;
/// Lengths that the log of the largest segment has had: powers of two from [`MIN_LOG`] on.
pub(super) const MAX_RINGS: usize = 20;
/// Most pages of a segment: page and frame numbers have 32 bits.
const MAX_PAGES: u64 = 1 << 28;
/// One more than the most page frames.
const MAX_FRAMES: u64 = u32::MAX as u64;

/// Words of the header that are written once: [`Geometry::header`].
pub(crate) const CONSTANTS: usize = 10;

/// Offsets of the words of the header that change, each of 8 bytes. Before them are its constants: magic, format, unit,
/// pages, slots, frames kept at most, log entries, frames, the file's length, sum.
pub(crate) mod word {
    /// Log position of the trunk: page changes ever published. On a line with what updates read.
    pub(crate) const POSITION: usize = 128;
    pub(crate) const VERSION: usize = 136;
    pub(crate) const SIZE: usize = 144;
    /// Not 0 if the file was to lose its name: a hint, on the line that every commit reads.
    pub(crate) const UNLINKED: usize = 152;
    /// Not 0 if a process has read in place: commits of few pages keep runs of frames together then.
    pub(crate) const READ_IN_PLACE: usize = 160;
    /// The commit lock (4 bytes) on a line of its own.
    pub(crate) const LOCK: usize = 192;
    /// How often it was taken (4 bytes).
    pub(crate) const TURNS: usize = 196;
    pub(crate) const TAIL: usize = 256;
    pub(crate) const APPLIED: usize = 264;
    pub(crate) const READY: usize = 272;
    pub(crate) const FREE: usize = 280;
    pub(crate) const GATE: usize = 288;
    pub(crate) const NAMESPACE: usize = 296;
    pub(crate) const SLOTS_USED: usize = 304;
    /// Not 0 while a process may sleep until the position moves.
    pub(crate) const WATCHED: usize = 312;
    pub(crate) const KEPT: usize = 320;
    pub(crate) const OVERRUNS: usize = 328;
    pub(crate) const EVICTIONS: usize = 336;
    /// The table of kept frames: entries ever used, a cursor for empty ones, and the sum of the snapshots that it was
    /// last gone through for.
    pub(crate) const KEPT_TOP: usize = 344;
    pub(crate) const KEPT_CURSOR: usize = 352;
    pub(crate) const KEPT_FOR: usize = 360;
    /// Frames below READY that are holes (a hint).
    pub(crate) const HOLES: usize = 368;
    /// The present ring of the log, and the table of all (see `ring`).
    pub(crate) const RING: usize = 376;
    pub(crate) const RINGS: usize = 384;
}

/// The numbers that a segment is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The editing unit.
    pub(crate) unit: Unit,
    /// Pages that the segment may have.
    pub(crate) pages: u64,
    /// Processes that may be attached.
    pub(crate) slots: u64,
    /// Replaced pages that may be kept for processes which the log has left behind.
    pub(crate) kept: u64,
}

/// The sizes of a segment's parts. Read from the header once, checked, and kept in private memory:
/// nothing that another process writes later moves a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// The editing unit.
    pub(crate) unit: Unit,
    /// Pages that the segment may have.
    pub(crate) pages: usize,
    /// Slots for attached processes; the one after them is the doctor's.
    pub(crate) slots: usize,
    /// Entries of the table of kept frames.
    pub(crate) kept: usize,
    /// Entries of the longest log, a power of two above `pages`: one commit always fits.
    pub(crate) log: usize,
    /// Page frames; numbers 1 to `frames`, 0 is the page of zeros.
    pub(crate) frames: usize,
    /// Offset of the slots, page heads, log, kept frames, frame states, frames; and the file's length.
    pub(crate) slots_at: usize,
    pub(crate) heads_at: usize,
    pub(crate) log_at: usize,
    pub(crate) kept_at: usize,
    pub(crate) states_at: usize,
    pub(crate) frames_at: usize,
    pub(crate) total: usize,
}

impl Geometry {
    /// Returns the geometry of a segment of this shape.
    pub(crate) fn new(shape: Shape) -> Result<Geometry> {
        let Shape {
            unit,
            pages,
            slots,
            kept,
        } = shape;
        if pages == 0 || pages > MAX_PAGES {
            return Err(Error::BadArgument("a segment has 1 byte to 1 TiB"));
        }
        if slots == 0 || slots > MAX_SLOTS {
            return Err(Error::BadArgument("slots: 1 to 65,536"));
        }
        let log = log_for(pages);
        // The trunk's pages, their predecessors in the log and beyond it, and what two commits prepare; the file
        // is sparse, so a frame that is never used costs four bytes.
        let frames = (pages + log + 2 * pages + 1024).saturating_add(kept);
        if frames >= MAX_FRAMES {
            return Err(Error::BadArgument("history: too many pages to be kept"));
        }
        let mut at = 0u64;
        let mut part = |bytes: u64| {
            let start = at;
            at += bytes.next_multiple_of(PAGE as u64);
            start as usize
        };
        part(PAGE as u64);
        Ok(Geometry {
            unit,
            pages: pages as usize,
            slots: slots as usize,
            kept: kept as usize,
            log: log as usize,
            frames: frames as usize,
            slots_at: part((slots + 1) * SLOT as u64),
            heads_at: part(pages * HEAD as u64),
            log_at: part(log * ENTRY as u64),
            kept_at: part(kept * KEPT as u64),
            states_at: part((frames + 1) * 4),
            frames_at: part(frames * PAGE as u64),
            total: part(0),
        })
    }

    /// Returns the entries of the log of a segment that has `pages` pages now.
    pub(super) fn log_for(&self, pages: usize) -> usize {
        (log_for(pages as u64) as usize).min(self.log)
    }

    /// Returns the ranges of the file that need space before a segment has `pages` pages and a log of as many entries
    /// as belong to that; the tables of frames get more as they are used, a page at a time.
    pub(super) fn parts(&self, pages: usize) -> [Range<usize>; 4] {
        let heads = 0..self.heads_at + pages * HEAD;
        let log = self.log_at..self.log_at + self.log_for(pages) * ENTRY;
        let [kept, states] = [self.kept_at, self.states_at].map(|at| at..at + PAGE);
        [heads, log, kept, states]
    }

    /// Returns the words of the header that never change, the sum over the others last.
    pub(crate) fn header(&self) -> [u64; CONSTANTS] {
        let mut words = [
            MAGIC,
            FORMAT,
            self.unit.bytes() as u64,
            self.pages as u64,
            self.slots as u64,
            self.kept as u64,
            self.log as u64,
            self.frames as u64,
            self.total as u64,
            0,
        ];
        words[CONSTANTS - 1] = sum(&words[..CONSTANTS - 1]);
        words
    }

    /// Checks the constant words of a header against each other.
    pub(crate) fn check(words: &[u64; CONSTANTS]) -> Result<Geometry> {
        if sum(&words[..CONSTANTS - 1]) != words[CONSTANTS - 1] {
            return Err(Error::Corrupt("the header's sum is wrong"));
        }
        let shape = Shape {
            unit: Unit::new(words[2]).ok_or(Error::Corrupt("the header's unit"))?,
            pages: words[3],
            slots: words[4],
            kept: words[5],
        };
        let geometry =
            Geometry::new(shape).map_err(|_| Error::Corrupt("the header's page count"))?;
        match geometry.header() == *words {
            true => Ok(geometry),
            false => Err(Error::Corrupt("the header's sizes do not fit together")),
        }
    }
}

/// Returns the length of the log, in entries, of a segment of `pages` pages.
fn log_for(pages: u64) -> u64 {
    (2 * pages).next_power_of_two().max(MIN_LOG)
}

/// Returns the FNV-1a sum of the words: against accidents, not against malice (every word is checked as well).
pub(super) fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0xcbf2_9ce4_8422_2325, |sum, word| {
        (sum ^ word).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape(pages: u64) -> Shape {
        Shape {
            unit: Unit::new(8).unwrap(),
            pages,
            slots: 1024,
            kept: 8 * pages,
        }
    }

    #[test]
    fn parts_do_not_overlap() {
        for pages in [1, 2, 255, 256, 100_000, MAX_PAGES] {
            let g = Geometry::new(shape(pages)).unwrap();
            assert!(g.slots_at == PAGE && g.heads_at >= g.slots_at + (g.slots + 1) * SLOT);
            assert!(g.log_at >= g.heads_at + g.pages * HEAD && g.log > g.pages);
            assert!(g.kept_at >= g.log_at + g.log * ENTRY);
            assert!(g.states_at >= g.kept_at + g.kept * KEPT);
            assert!(g.frames_at >= g.states_at + (g.frames + 1) * 4);
            assert_eq!(g.total, g.frames_at + g.frames * PAGE);
            assert_eq!(Geometry::check(&g.header()).unwrap(), g);
        }
    }

    #[test]
    fn shapes_out_of_bounds_are_refused() {
        let good = shape(1);
        for bad in [
            shape(0),
            shape(MAX_PAGES + 1),
            Shape { slots: 0, ..good },
            Shape {
                slots: MAX_SLOTS + 1,
                ..good
            },
            Shape {
                kept: MAX_FRAMES,
                ..good
            },
            Shape {
                kept: u64::MAX,
                ..good
            },
        ] {
            let refused = Geometry::new(bad);
            assert!(matches!(refused, Err(Error::BadArgument(_))), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn a_header_with_any_word_changed_is_refused(
            word in 0..CONSTANTS,
            value: u64,
            resum: bool,
        ) {
            let mut header = Geometry::new(shape(100)).unwrap().header();
            // Magic and format are checked by their own errors; the shape alone sets the rest.
            prop_assume!(word >= 2 && header[word] != value);
            prop_assume!(!(3..6).contains(&word) && (word != 2 || Unit::new(value).is_none()));
            header[word] = value;
            if resum && word != CONSTANTS - 1 {
                header[CONSTANTS - 1] = sum(&header[..CONSTANTS - 1]);
            }
            prop_assert!(Geometry::check(&header).is_err());
        }
    }
}
