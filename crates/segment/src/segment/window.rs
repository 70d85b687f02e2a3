//! The changes of the trunk between two positions, in private memory.

use std::ops::Range;

use crate::PAGE;
use crate::copy::WorkCopy;
use crate::error::Result;
use crate::trunk::Trunk;
use crate::trunk::entry::{Head, One};
use crate::trunk::log::Log;
use crate::words::{self, Mask, Page, Unit, WORDS, load};

/// One page's change over a whole window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) page: u32,
    /// The last frame.
    pub(super) frame: u32,
    pub(super) words: ChangedWords,
}

/// The place where a window keeps the changed words of a page.
#[derive(Debug, Clone, Copy)]
pub(super) enum ChangedWords {
    /// Words with their values: the index of the first, and their number.
    Few(u32, u32),
    /// Every word that any of the commits changed, whole units: this mask.
    Many(u32),
}

/// The changes of a part of the log, one for each page however often it was committed.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) changes: Vec<Change>,
    ones: Vec<One>,
    masks: Vec<Mask>,
    /// For each page its index in `changes`, if that is a change of this page; otherwise old garbage. Made only for
    /// windows in which a page comes twice: in those of one commit none does.
    index: Vec<u32>,
    indexed: bool,
    pub(super) version: u64,
}

impl Window {
    /// Makes a window for a segment of at most `pages` pages.
    pub(super) fn new(pages: usize) -> Window {
        Window {
            changes: Vec::new(),
            ones: Vec::new(),
            masks: Vec::new(),
            index: vec![0; pages],
            indexed: false,
            version: 0,
        }
    }

    /// Reads the entries `positions`. `base` has the frame of each page before them; the lines of `copy` that will
    /// change are asked for. O(entries). `version` keeps its value if there are none.
    pub(super) fn read(
        &mut self,
        trunk: &Trunk,
        positions: Range<u64>,
        base: &[u32],
        copy: &WorkCopy,
    ) -> Result<()> {
        self.changes.clear();
        self.ones.clear();
        self.masks.clear();
        self.indexed = false;
        // Read after the positions were published.
        let log = trunk.log();
        for position in positions {
            let head = log.entry(position)?;
            self.version = head.version;
            // Growth is seen by the header's size, which was written before the entry.
            if head.grown() {
                continue;
            }
            // The first change of a page starts from its base (invariant KEEP: no other frame has that number
            // meanwhile).
            if !self.indexed && base[head.page as usize] != head.before {
                self.make_index();
            }
            match self.find(head.page) {
                Some(index) => self.add_again(index, trunk.geometry.unit, &log, position, &head),
                None => self.add(trunk.geometry.unit, &log, position, &head, copy),
            }
        }
        Ok(())
    }

    /// Makes it the pages that differ between two states of the trunk, of which any word may have changed. `version`
    /// keeps its value. O(pages).
    pub(super) fn between(&mut self, base: &[u32], frames: &[u32]) {
        self.changes.clear();
        self.ones.clear();
        self.masks.clear();
        self.masks.push(Mask([u64::MAX; WORDS / 64]));
        self.indexed = false;
        // A frame that the base has keeps its number: the slot keeps the frame.
        let changed = (0..).zip(base.iter().zip(frames));
        let changed = changed.filter(|(_, (before, now))| before != now);
        self.changes
            .extend(changed.map(|(page, (_, &frame))| Change {
                page,
                frame,
                words: ChangedWords::Many(0),
            }));
    }

    #[cold]
    fn make_index(&mut self) {
        for (index, change) in self.changes.iter().enumerate() {
            self.index[change.page as usize] = index as u32;
        }
        self.indexed = true;
    }

    /// Returns the index of a page's change, if it is in the window already.
    #[inline]
    fn find(&self, page: u32) -> Option<usize> {
        if !self.indexed {
            return None;
        }
        let index = self.index[page as usize] as usize;
        let change = self.changes.get(index)?;
        (change.page == page).then_some(index)
    }

    #[inline]
    fn add(&mut self, unit: Unit, log: &Log<'_>, position: u64, head: &Head, copy: &WorkCopy) {
        let words = match head.few {
            // A unit of several words is taken whole, also those that did not change.
            1.. if unit.words() == 1 => {
                let (start, local) = (self.ones.len(), copy.page(head.page as usize));
                for one in log.few(position, head) {
                    words::prefetch(local, usize::from(one.word) * 8);
                    self.ones.push(one);
                }
                ChangedWords::Few(start as u32, head.few as u32)
            }
            _ => {
                let mask = changed(unit, log, position, head);
                self.add_mask(mask)
            }
        };
        if self.indexed {
            self.index[head.page as usize] = self.changes.len() as u32;
        }
        self.changes.push(Change {
            page: head.page,
            frame: head.frame,
            words,
        });
    }

    /// Adds another change of a page that is in the window: its content before the first change is in its base only.
    fn add_again(&mut self, index: usize, unit: Unit, log: &Log<'_>, position: u64, head: &Head) {
        let words = match self.changes[index].words {
            few @ ChangedWords::Few(..) => {
                let mask = self.mask(few);
                self.add_mask(mask)
            }
            many => many,
        };
        if let ChangedWords::Many(at) = words
            && !cfg!(fyris_mutant = "segment_few_forgets")
        {
            self.masks[at as usize].merge(&changed(unit, log, position, head));
        }
        let change = &mut self.changes[index];
        (change.frame, change.words) = (head.frame, words);
    }

    fn add_mask(&mut self, mask: Mask) -> ChangedWords {
        self.masks.push(mask);
        ChangedWords::Many(self.masks.len() as u32 - 1)
    }

    /// Returns words with their values.
    #[inline]
    pub(super) fn ones(&self, start: u32, count: u32) -> &[One] {
        &self.ones[start as usize..][..count as usize]
    }

    /// Returns the mask of the words.
    pub(super) fn mask(&self, words: ChangedWords) -> Mask {
        let mut mask = Mask::default();
        match words {
            ChangedWords::Many(at) => return self.masks[at as usize],
            ChangedWords::Few(start, count) => {
                let ones = self.ones(start, count).iter();
                ones.for_each(|one| mask.set(one.word.into()));
            }
        }
        mask
    }

    /// Returns the number of words.
    #[inline]
    pub(super) fn count(&self, words: ChangedWords) -> usize {
        match words {
            ChangedWords::Few(_, count) => count as usize,
            ChangedWords::Many(at) => self.masks[at as usize].count(),
        }
    }
}

/// Returns every word that an entry changed, whole units.
fn changed(unit: Unit, log: &Log<'_>, position: u64, head: &Head) -> Mask {
    let mut mask = Mask::default();
    match head.few {
        0 => mask = log.mask(position),
        _ => log
            .few(position, head)
            .for_each(|one| mask.set(one.word.into())),
    }
    unit.widen(&mask)
}

/// The words of one change, copied out of two frames (invariant BOUNDS: decide from the copy).
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
    /// Copies words with their values.
    pub(super) fn gather_few(&mut self, ones: &[One]) {
        for (at, one) in ones.iter().enumerate() {
            self.words[at] = one.word;
            self.base[at] = one.before;
            self.incoming[at] = one.after;
        }
        self.count = ones.len();
    }

    /// Copies the words of `mask` from the frames `base` and `incoming`.
    #[inline]
    pub(super) fn gather(
        &mut self,
        trunk: &Trunk,
        mask: &Mask,
        base: u32,
        incoming: u32,
    ) -> Result<()> {
        let (base, incoming) = (trunk.frame(base)?, trunk.frame(incoming)?);
        self.count = 0;
        for word in mask.iter() {
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
