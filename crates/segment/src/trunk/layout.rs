//! Where everything is in the shared file.

use crate::PAGE;
use crate::error::{Error, Result};
use crate::words::Unit;

/// "FYRISSEG".
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"FYRISSEG");
/// Changes when a byte changes its meaning.
pub(crate) const FORMAT: u64 = 2;
/// Slots for attached processes.
pub(crate) const SLOTS: usize = 128;
/// Bytes of a slot.
pub(crate) const SLOT: usize = 64;
/// Bytes of a page head.
pub(crate) const HEAD: usize = 16;
/// Bytes of a log entry.
pub(crate) const ENTRY: usize = 128;
/// Fewest entries of a log.
const MIN_LOG: u64 = 256;
/// Most pages of a segment: page and frame numbers have 32 bits.
const MAX_PAGES: u64 = 1 << 28;

/// Offsets of the words of the header that change, each of 8 bytes. Before them are the eight words of
/// [`Geometry::header`], written once: magic, format, unit, pages, log entries, frames, the file's length, sum.
pub(crate) mod word {
    /// Log position of the trunk: page changes ever published. On a line with what updates read.
    pub(crate) const POSITION: usize = 128;
    pub(crate) const VERSION: usize = 136;
    pub(crate) const SIZE: usize = 144;
    /// The commit lock (4 bytes) on a line of its own.
    pub(crate) const LOCK: usize = 192;
    pub(crate) const TAIL: usize = 256;
    pub(crate) const APPLIED: usize = 264;
    pub(crate) const READY: usize = 272;
    pub(crate) const FREE: usize = 280;
    pub(crate) const CUTS: usize = 288;
    pub(crate) const NAMESPACE: usize = 296;
    pub(crate) const SLOTS_USED: usize = 304;
}

/// The sizes of a segment's parts. Read from the header once, checked, and kept in private memory:
/// nothing that another process writes later moves a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// The editing unit.
    pub(crate) unit: Unit,
    /// Pages that the segment may have.
    pub(crate) pages: usize,
    /// Entries of the log, a power of two above `pages`: one commit always fits.
    pub(crate) log: usize,
    /// Page frames; numbers 1 to `frames`, 0 is the page of zeros.
    pub(crate) frames: usize,
    /// Offset of the slots, page heads, log, frame states, frames; and the file's length.
    pub(crate) slots_at: usize,
    pub(crate) heads_at: usize,
    pub(crate) log_at: usize,
    pub(crate) states_at: usize,
    pub(crate) frames_at: usize,
    pub(crate) total: usize,
}

impl Geometry {
    /// For a segment of at most `pages` pages.
    pub(crate) fn new(unit: Unit, pages: u64) -> Result<Geometry> {
        if pages == 0 || pages > MAX_PAGES {
            return Err(Error::BadArgument("a segment has 1 byte to 1 TiB"));
        }
        let log = (pages + 1).next_power_of_two().max(MIN_LOG);
        // The trunk's pages, their predecessors in the log, and what two commits prepare; the file
        // is sparse, so a frame that is never used costs four bytes.
        let frames = pages + log + 2 * pages + 1024;
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
            log: log as usize,
            frames: frames as usize,
            slots_at: part((SLOTS * SLOT) as u64),
            heads_at: part(pages * HEAD as u64),
            log_at: part(log * ENTRY as u64),
            states_at: part((frames + 1) * 4),
            frames_at: part(frames * PAGE as u64),
            total: part(0),
        })
    }

    /// The words of the header that never change, the sum over the others last.
    pub(crate) fn header(&self) -> [u64; 8] {
        let mut words = [
            MAGIC,
            FORMAT,
            self.unit.bytes() as u64,
            self.pages as u64,
            self.log as u64,
            self.frames as u64,
            self.total as u64,
            0,
        ];
        words[7] = sum(&words[..7]);
        words
    }

    /// Checks the constant words of a header against each other.
    pub(crate) fn check(words: &[u64; 8]) -> Result<Geometry> {
        if sum(&words[..7]) != words[7] {
            return Err(Error::Corrupt("the header's sum is wrong"));
        }
        let unit = Unit::new(words[2]).ok_or(Error::Corrupt("the header's unit"))?;
        let geometry =
            Geometry::new(unit, words[3]).map_err(|_| Error::Corrupt("the header's page count"))?;
        match geometry.header() == *words {
            true => Ok(geometry),
            false => Err(Error::Corrupt("the header's sizes do not fit together")),
        }
    }
}

/// FNV-1a over the words: against accidents, not against malice (every word is checked as well).
fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0xcbf2_9ce4_8422_2325, |sum, word| {
        (sum ^ word).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_do_not_overlap() {
        for pages in [1, 2, 255, 256, 100_000, MAX_PAGES] {
            let g = Geometry::new(Unit::new(8).unwrap(), pages).unwrap();
            assert!(g.slots_at == PAGE && g.heads_at >= g.slots_at + SLOTS * SLOT);
            assert!(g.log_at >= g.heads_at + g.pages * HEAD && g.log > g.pages);
            assert!(g.states_at >= g.log_at + g.log * ENTRY);
            assert!(g.frames_at >= g.states_at + (g.frames + 1) * 4);
            assert_eq!(g.total, g.frames_at + g.frames * PAGE);
            assert_eq!(Geometry::check(&g.header()).unwrap(), g);
        }
        assert!(Geometry::new(Unit::new(8).unwrap(), 0).is_err());
        assert!(Geometry::new(Unit::new(8).unwrap(), MAX_PAGES + 1).is_err());
    }

    proptest! {
        #[test]
        fn a_header_with_any_word_changed_is_refused(word in 0usize..8, value: u64, resum: bool) {
            let mut header = Geometry::new(Unit::new(8).unwrap(), 100).unwrap().header();
            // Magic and format are checked by their own errors; the page count alone sets the rest.
            prop_assume!(word >= 2 && word != 3 && header[word] != value);
            prop_assume!(word != 2 || Unit::new(value).is_none());
            header[word] = value;
            if resum && word != 7 {
                header[7] = sum(&header[..7]);
            }
            prop_assert!(Geometry::check(&header).is_err());
        }
    }
}
