//! What happened in the trunk between two positions, in private memory.

use std::ops::Range;

use crate::PAGE;
use crate::error::Result;
use crate::trunk::Trunk;
use crate::trunk::log::{Entry, Record};
use crate::words::{Mask, Page, Unit, WORDS, load};

/// One page's change over a whole window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) page: u32,
    /// The last frame.
    pub(super) frame: u32,
    /// Every word that any of the commits changed, whole units.
    pub(super) mask: Mask,
}

/// The changes of a part of the log, one for each page however often it was committed.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) changes: Vec<Change>,
    /// For each page its index in `changes`, if that is a change of this page; otherwise old garbage.
    index: Vec<u32>,
    pub(super) version: u64,
}

impl Window {
    /// For a segment of at most `pages` pages.
    pub(super) fn new(pages: usize) -> Window {
        Window {
            changes: Vec::new(),
            index: vec![0; pages],
            version: 0,
        }
    }

    /// Reads the entries `positions`. O(entries). `version` keeps its value if there are none.
    pub(super) fn read(&mut self, trunk: &Trunk, positions: Range<u64>) -> Result<()> {
        let unit = trunk.geometry.unit;
        self.changes.clear();
        for position in positions {
            let record = trunk.entry(position)?;
            self.version = record.version();
            // Growth is seen by the header's size, which was written before the entry.
            if let Record::Change(entry) = record {
                self.add(&entry, unit);
            }
        }
        Ok(())
    }

    #[inline]
    fn add(&mut self, entry: &Entry, unit: Unit) {
        let index = &mut self.index[entry.page as usize];
        let mask = unit.widen(&entry.mask);
        match self.changes.get_mut(*index as usize) {
            Some(change) if change.page == entry.page => {
                change.frame = entry.frame;
                change.mask.merge(&mask);
            }
            _ => {
                *index = self.changes.len() as u32;
                self.changes.push(Change {
                    page: entry.page,
                    frame: entry.frame,
                    mask,
                });
            }
        }
    }
}

/// The words of one change, copied out of two frames (invariant B: decide from the copy).
#[derive(Debug)]
pub(super) struct Scratch {
    pub(super) count: usize,
    pub(super) words: [u16; WORDS],
    pub(super) base: [u64; WORDS],
    pub(super) incoming: [u64; WORDS],
    pub(super) page: Page,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch {
            count: 0,
            words: [0; WORDS],
            base: [0; WORDS],
            incoming: [0; WORDS],
            page: Page::default(),
        }
    }
}

impl Scratch {
    /// Copies the words of `mask` from the frames `base` and `incoming`.
    #[inline]
    pub(super) fn gather(&mut self, trunk: &Trunk, base: u32, change: &Change) -> Result<()> {
        let (base, incoming) = (trunk.frame(base)?, trunk.frame(change.frame)?);
        self.count = 0;
        for word in change.mask.iter() {
            let at = self.count;
            self.words[at] = word as u16;
            // SAFETY: pages by `Trunk::frame`; a mask has bits below WORDS only.
            unsafe {
                self.base[at] = load(base, word);
                self.incoming[at] = load(incoming, word);
            }
            self.count += 1;
        }
        Ok(())
    }
}

/// Adds to `ranges` the units of `page` that differ: `differ(word)` has a bit set for each bit that does.
pub(super) fn add_ranges(
    ranges: &mut Vec<Range<usize>>,
    unit: Unit,
    page: usize,
    words: impl Iterator<Item = (usize, u64)>,
) {
    for (word, difference) in words {
        let at = page * PAGE + word * 8;
        let step = unit.bytes().min(8);
        let bytes = unit.spread(difference).to_le_bytes();
        for first in (0..8).step_by(step).filter(|&first| bytes[first] != 0) {
            let wide = unit.bytes().max(8);
            let start = if wide > 8 {
                at / wide * wide
            } else {
                at + first
            };
            push_range(ranges, start..start + unit.bytes());
        }
    }
}

/// Adds a range, joined to the last one if they touch.
pub(super) fn push_range(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.start <= range.start && range.start <= last.end => {
            last.end = last.end.max(range.end);
        }
        _ => ranges.push(range),
    }
}
