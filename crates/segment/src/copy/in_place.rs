//! Reading the trunk's pages where they are.
//!
//! A read-only checkout may show frames of the trunk instead of copies of them: the user's view is mapped run by run, a
//! run being pages next to each other whose frames are next to each other in the file. Runs shorter than [`SHORT`] are
//! copied, as everything is without this.
//!
//! Invariant **SHOWN**: a page that is shown in place has the frame that it had at the copy's version, and the slot,
//! which is pinned, keeps that frame. So before an update changes a page the copy makes it its own: the frame is copied
//! into the memory behind the alias, which then is mapped into the view instead. From there on it is a page like any
//! other.

use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

use super::WorkCopy;
use crate::PAGE;
use crate::error::Result;
use crate::trunk::Trunk;
use crate::words;

/// Pages of a run that are copied: mapping them costs more than their copies do.
pub(crate) const SHORT: usize = if cfg!(fyris_small) { 2 } else { 4 };
/// Pieces of a view, at most. The kernel allows a process some 65,000.
const PIECES: usize = if cfg!(fyris_small) { 8 } else { 16_384 };

/// The pages that are shown in place.
#[derive(Debug)]
pub(super) struct InPlace {
    bits: Vec<u64>,
    /// Pieces of the view, or more.
    pieces: usize,
}

impl InPlace {
    pub(super) fn new(pages: usize) -> InPlace {
        InPlace {
            bits: vec![0; pages.div_ceil(64)],
            pieces: 1,
        }
    }

    fn has(&self, page: usize) -> bool {
        self.bits[page / 64] >> (page % 64) & 1 == 1
    }

    fn set(&mut self, page: usize, on: bool) {
        let bit = 1 << (page % 64);
        match on {
            true => self.bits[page / 64] |= bit,
            false => self.bits[page / 64] &= !bit,
        }
    }

    /// Returns all of them.
    fn all(&self) -> Vec<u32> {
        (0..self.bits.len() * 64)
            .filter(|&page| self.has(page))
            .map(|page| page as u32)
            .collect()
    }
}

/// Returns the runs of pages whose frames, of which there is one for each page, follow each other in the file.
pub(crate) fn runs_of_frames(frames: &[u32]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut page = 0;
    let runs = frames.chunk_by(|&a, &b| a != 0 && b == a.wrapping_add(1));
    runs.filter_map(move |run| {
        let pages = page..page + run.len();
        page = pages.end;
        (run[0] != 0).then_some(pages)
    })
}

impl WorkCopy {
    /// Returns whether pages of the trunk are shown in place of copies.
    pub(crate) fn is_in_place(&self) -> bool {
        self.in_place.is_some()
    }

    /// Shows the trunk's pages, of which `frames` says which they are, whatever was shown before. O(pages), most of
    /// them without being touched.
    pub(crate) fn show(&mut self, trunk: &Trunk, frames: &[u32]) -> Result<()> {
        let Some(old) = self.in_place.take() else {
            return Ok(());
        };
        let len = self.view.len() / PAGE;
        let done = match old.pieces {
            1 => Ok(()),
            _ => self.remap(self.memory.as_fd(), 0, &(0..len)),
        };
        let mut shown = InPlace::new(len);
        let done = done.and_then(|()| self.show_runs(trunk, frames, &mut shown));
        self.in_place = Some(shown);
        done
    }

    fn show_runs(&mut self, trunk: &Trunk, frames: &[u32], shown: &mut InPlace) -> Result<()> {
        for pages in runs_of_frames(frames) {
            let first = frames[pages.start];
            let short = pages.len() < SHORT || shown.pieces + 2 > PIECES;
            if !short && self.map_run(trunk, pages.clone(), first).is_ok() {
                shown.pieces += 2;
                pages.for_each(|page| shown.set(page, true));
                continue;
            }
            for page in pages {
                let from = trunk.frame(frames[page])?;
                // SAFETY: pages by `frame` and `page`.
                unsafe { words::copy(from, self.page(page), [from; 2]) };
            }
        }
        Ok(())
    }

    fn map_run(&self, trunk: &Trunk, pages: Range<usize>, first: u32) -> Result<()> {
        // The last frame is there too: frames of a run follow each other.
        trunk.frame(first + (pages.len() as u32 - 1))?;
        let (file, offset) = trunk.place_of(first)?;
        self.remap(file, offset, &pages)
    }

    fn remap(&self, file: BorrowedFd<'_>, offset: usize, pages: &Range<usize>) -> Result<()> {
        self.view
            .show(pages.start * PAGE, file, offset, pages.len() * PAGE)
    }

    /// Makes those of `pages` its own that are shown in place; `frames` says which they are. O(pages), and a system
    /// call for each run of those.
    pub(crate) fn own(
        &mut self,
        trunk: &Trunk,
        frames: &[u32],
        pages: impl Iterator<Item = u32>,
    ) -> Result<()> {
        let Some(mut shown) = self.in_place.take() else {
            return Ok(());
        };
        let mut pages: Vec<u32> = pages.filter(|&page| shown.has(page as usize)).collect();
        pages.sort_unstable();
        if shown.pieces + 2 * pages.len() > PIECES {
            pages = shown.all();
            shown.pieces = 1;
        }
        let done = self.own_runs(trunk, frames, &pages, &mut shown);
        self.in_place = Some(shown);
        done
    }

    fn own_runs(
        &mut self,
        trunk: &Trunk,
        frames: &[u32],
        pages: &[u32],
        shown: &mut InPlace,
    ) -> Result<()> {
        for run in super::runs(pages) {
            for page in run.clone() {
                let from = trunk.frame(frames[page])?;
                // SAFETY: pages by `frame` and `page`.
                unsafe { words::copy(from, self.page(page), [from; 2]) };
            }
            self.remap(self.memory.as_fd(), run.start * PAGE, &run)?;
            shown.pieces += 2;
            run.for_each(|page| shown.set(page, false));
        }
        Ok(())
    }
}
