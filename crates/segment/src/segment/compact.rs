//! Keeping runs of frames together, for readers in place.
//!
//! A commit gives each page that it changes another frame, so commits of few pages break runs. Once a process has read
//! in place ([`Trunk::pin`](crate::trunk::Trunk::pin)), they mend them as well:
//!
//! * A frame between the frames of the page's neighbours is the page's *home*. Once no process needs it any more, it is
//!   kept for the page: the next commit of the page takes it, or else one of the next commits moves the page there.
//! * Where runs are short a whole group of pages is moved, one after the other, to frames that follow each other.
//!
//! A move is an entry of the log that changes no word: an update that comes upon it takes the new frame for its base,
//! and nothing else. Moves belong to a commit, and become visible and are repaired after a death as its changes are. A
//! commit moves at most one page more than it changes, and none while a process lags, so that moves cost the laggard
//! none of the log.
//!
//! Invariant **MOVES**: a page comes once in a commit, and the frame that it is moved to has the content of its base.

use std::collections::BTreeMap;

use super::Segment;
use crate::copy::SHORT;
use crate::error::Result;
use crate::failpoints::failpoint;
use crate::trunk::entry::Image;
use crate::words;

/// Changed pages above which a commit makes runs of its own.
const FEW_PAGES: usize = 32;
/// Homes that wait, in case their pages are about to change again, and homes that are kept at most.
const WAITING: usize = 8;
const HOMES: usize = 4096;
/// Pages of a group, and the breaks between runs in it above which it is moved.
const GROUP: usize = if cfg!(fyris_small) { 8 } else { 64 };
const BREAKS: usize = GROUP / SHORT;

/// Frames that are reserved for certain pages.
#[derive(Debug, Default)]
pub(super) struct Compactor {
    active: bool,
    homes: BTreeMap<u32, u32>,
    /// The rest of the group that is being moved.
    group: BTreeMap<u32, u32>,
    /// Pages and frames that they had, which no process needs any more.
    freed: Vec<(u32, u32)>,
    /// Where to look for the next home, the next group, and for frames.
    home: u32,
    page: usize,
    frame: u32,
}

impl Compactor {
    /// Begins a commit of some pages.
    pub(super) fn begin(&mut self, wanted: bool, pages: usize, spare: &mut Vec<u32>) {
        let active = wanted && pages <= FEW_PAGES && !cfg!(fyris_mutant = "segment_runs_unmended");
        if self.active && !active {
            self.stop(spare);
        }
        self.active = active;
    }

    /// Lets all frames go.
    pub(super) fn stop(&mut self, spare: &mut Vec<u32>) {
        for kept in [&mut self.homes, &mut self.group] {
            spare.extend(std::mem::take(kept).into_values());
        }
    }

    /// Takes the frame that is kept for `page`.
    #[inline]
    pub(super) fn take(&mut self, page: u32) -> Option<u32> {
        if !self.active {
            return None;
        }
        let home = self.homes.remove(&page);
        home.or_else(|| self.group.remove(&page))
    }

    /// Takes the home whose turn it is: all before it comes again.
    fn next_home(&mut self) -> Option<(u32, u32)> {
        let next = self.homes.range(self.home..).next();
        let (&page, &frame) = next.or_else(|| self.homes.first_key_value())?;
        self.home = page + 1;
        self.homes.remove(&page);
        Some((page, frame))
    }

    /// Keeps a frame for `page`.
    pub(super) fn put(&mut self, page: u32, frame: u32, spare: &mut Vec<u32>) {
        spare.extend(self.homes.insert(page, frame));
    }

    /// Notes a frame that no process needs any more.
    #[inline]
    pub(super) fn freed(&mut self, frame: u32, page: Option<u32>, spare: &mut Vec<u32>) {
        match page {
            Some(page) if self.active => self.freed.push((page, frame)),
            _ => spare.push(frame),
        }
    }

    /// Keeps the freed frames that are homes; `base` has the frames of all pages.
    pub(super) fn keep_homes(&mut self, base: &[u32], spare: &mut Vec<u32>) {
        for (page, frame) in std::mem::take(&mut self.freed) {
            match self.homes.len() < HOMES && is_home(base, page as usize, frame) {
                true => self.put(page, frame, spare),
                false => spare.push(frame),
            }
        }
    }
}

impl Segment {
    /// Adds moves to the changes that a commit has prepared.
    pub(super) fn compact(&mut self, records: &mut Vec<Image>) -> Result<()> {
        if !self.prepared.compactor.active || records.is_empty() || !self.trunk.is_log_short() {
            return Ok(());
        }
        for _ in 0..=records.len() {
            let Some((page, frame)) = self.next_move(records) else {
                break;
            };
            let (from, to) = (
                self.trunk.frame(self.base[page as usize])?,
                self.trunk.frame_mut(frame)?,
            );
            // SAFETY: pages by `frame` and `frame_mut`; the frame is reserved by us and no base.
            unsafe { words::copy(from, to, [from; 2]) };
            self.trunk.ask_for(page as usize, frame);
            let mut image = Image::EMPTY;
            image.set_change(page, self.base[page as usize], frame);
            records.push(image);
            failpoint!("page moved");
        }
        Ok(())
    }

    /// Returns the next page to be moved, and its frame.
    fn next_move(&mut self, records: &[Image]) -> Option<(u32, u32)> {
        let base = &self.base[..self.size.div_ceil(crate::PAGE)];
        let prepared = &mut self.prepared;
        let compactor = &mut prepared.compactor;
        let within = |page| {
            let mut pages = records.iter().map(|image| image.head().page);
            pages.any(|of| of == page) && !cfg!(fyris_mutant = "segment_moves_changed")
        };
        while compactor.homes.len() > WAITING {
            let (page, frame) = compactor.next_home()?;
            if !within(page) && is_home(base, page as usize, frame) {
                return Some((page, frame));
            }
            prepared.spare.push(frame);
        }
        if compactor.group.is_empty() {
            let start = compactor.page / GROUP * GROUP;
            let group = start..base.len().min(start + GROUP);
            compactor.page = if group.end < base.len() { group.end } else { 0 };
            let breaks = group.clone().filter(|&page| !follows(base, page)).count();
            if breaks > BREAKS {
                let frame = &mut compactor.frame;
                let frames = self.trunk.reserve_run(group.len(), self.slot, frame);
                compactor.group.extend((group.start as u32..).zip(frames));
            }
        }
        while let Some((page, frame)) = compactor.group.pop_first() {
            // A page of zeros has no frame.
            if !within(page) && base[page as usize] != 0 {
                return Some((page, frame));
            }
            prepared.spare.push(frame);
        }
        None
    }
}

/// Returns whether the frame of `page` follows that of the page before, or neither has one.
fn follows(base: &[u32], page: usize) -> bool {
    let before = page.checked_sub(1).map_or(0, |before| base[before]);
    match base[page] {
        0 => true,
        frame => before != 0 && frame == before.wrapping_add(1),
    }
}

/// Returns whether `page`, which is in a short run, would join its neighbours if it had `frame`.
fn is_home(base: &[u32], page: usize, frame: u32) -> bool {
    let next = |at: usize| at < base.len() && follows(base, at);
    let before = (page.saturating_sub(SHORT) + 1..=page).rev();
    let run = before.take_while(|&at| next(at)).count();
    let run = run + (page + 1..page + SHORT).take_while(|&at| next(at)).count();
    let joins = |at: usize, neighbour: u32| {
        base.get(at)
            .is_some_and(|&has| has != 0 && has == neighbour)
    };
    base.get(page).is_some_and(|&has| has != 0)
        && run + 1 < SHORT
        && (joins(page.wrapping_sub(1), frame.wrapping_sub(1))
            || joins(page + 1, frame.wrapping_add(1)))
}
