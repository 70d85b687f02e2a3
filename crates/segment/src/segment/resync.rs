//! Without the log: the first load, and catching up when the log has gone on.
//!
//! The page heads say for each page which frame it has and since when. The slot keeps the frames of the base for a
//! process that the log has left behind: pages whose frame is another now are merged, three-way, as any others.
//!
//! A process that was evicted has no base. The heads are enough to bring every page up to date that was not changed
//! here; of a page that was changed on both sides it cannot be told which words were changed here
//! ([`Error::BaseLost`]).

use std::collections::HashSet;

use super::Segment;
use super::update::{Case, Policy, Updated};
use super::window::push_range;
use crate::PAGE;
use crate::error::{Error, Result};
use crate::failpoints::failpoint;
use crate::words::{self, Mask, load};

/// The number of times that a process may be overrun again while it catches up.
const TRIES: usize = 1000;

/// The trunk at one position, held by our slot.
struct Heads {
    at: u64,
    /// For each page that the segment may have; those behind `pages` have none.
    frames: Vec<u32>,
    /// For each page a position at or after its last change.
    changed: Vec<u64>,
    pages: usize,
    version: u64,
    size: usize,
}

impl Segment {
    /// Does the first load of a new checkout.
    pub(super) fn load(&mut self) -> Result<()> {
        if !self.trunk.writable {
            return self.look().map(drop);
        }
        self.start_over(&mut Policy::Discard, &HashSet::new(), 0)?;
        Ok(())
    }

    /// Brings the copy up to date from the page heads, merging with the base that the slot keeps.
    pub(super) fn catch_up(&mut self, policy: &mut Policy<'_>) -> Result<Updated> {
        for _ in 0..TRIES {
            let heads = match self.read_heads() {
                Ok(Some(heads)) => heads,
                Ok(None) => continue,
                Err(error) => {
                    self.trunk.back(self.slot, self.position);
                    return Err(error);
                }
            };
            if !self.trunk.keeps(self.slot) {
                return self.start_over(policy, &HashSet::new(), self.position);
            }
            let pages = ..heads.pages;
            self.window.between(&self.base[pages], &heads.frames[pages]);
            return self.take_window(heads.at, heads.size, policy);
        }
        self.trunk.back(self.slot, self.position);
        // The segment is whole: others commit faster than this process reads.
        Err(Error::Busy)
    }

    /// Brings the copy up to date page by page, without a base. The pages `ahead` are already at position `ahead_at`,
    /// the others at ours.
    pub(super) fn start_over(
        &mut self,
        policy: &mut Policy<'_>,
        ahead: &HashSet<u32>,
        ahead_at: u64,
    ) -> Result<Updated> {
        let result =
            (0..TRIES).find_map(|_| self.try_start_over(policy, ahead, ahead_at).transpose());
        match result {
            Some(Ok(updated)) => Ok(updated),
            Some(Err(error)) => {
                // Still where we were, and still evicted.
                self.trunk.leave(self.slot, self.position);
                Err(error)
            }
            // As in `catch_up`.
            None => {
                self.trunk.leave(self.slot, self.position);
                Err(Error::Busy)
            }
        }
    }

    /// Reads all page heads and takes the pages that changed, by the policy; returns `None` if the log overran this
    /// process again meanwhile.
    fn try_start_over(
        &mut self,
        policy: &mut Policy<'_>,
        ahead: &HashSet<u32>,
        ahead_at: u64,
    ) -> Result<Option<Updated>> {
        let Some(heads) = self.read_heads()? else {
            return Ok(None);
        };
        let since = |page: usize| match ahead.contains(&(page as u32)) {
            true => ahead_at,
            false => self.position,
        };
        let all = self.copy.not_deferred(heads.pages);
        let mut stale: Vec<usize> = all
            .filter(|&page| heads.changed[page] > since(page))
            .collect();
        let mut candidates = std::mem::take(&mut self.prepared.candidates);
        self.copy.collect(&mut candidates)?;
        candidates
            .iter()
            .for_each(|&page| self.copy.mark(page as usize));
        let discard = matches!(policy, Policy::Discard);
        let mut decided = Vec::new();
        let mut conflicts = 0;
        if discard {
            stale.extend(candidates.iter().map(|&page| page as usize));
            stale.sort_unstable();
            stale.dedup();
        } else {
            let lost: Vec<usize> = candidates.iter().map(|&page| page as usize).collect();
            let lost = lost
                .into_iter()
                .filter(|page| stale.binary_search(page).is_ok());
            let Some(cases) = self.lost_cases(lost.collect(), &heads)? else {
                return Ok(None);
            };
            decided = decide_lost(&cases, self.unit(), policy)?;
            conflicts = cases.len();
            let dirty: HashSet<usize> = candidates.iter().map(|&page| page as usize).collect();
            stale.retain(|page| !dirty.contains(page));
        }
        self.prepared.candidates = candidates;
        // Pages that are shown in place are not copied.
        let copied = match self.copy.is_in_place() {
            true => &[][..],
            false => &stale,
        };
        for &page in copied {
            let frame = self.trunk.frame(heads.frames[page])?;
            // SAFETY: pages by `frame` and `page`.
            unsafe { words::copy(frame, self.copy.page(page), [frame; 2]) };
        }
        failpoint!("stale pages copied");
        if !self.trunk.return_to(self.slot, heads.at) {
            return Ok(None);
        }
        let written = self.write_decided(&decided);
        self.install(heads, discard)?;
        let pages = self.pages();
        self.copy.show(&self.trunk, &self.base[..pages])?;
        Ok(Some(Updated {
            version: self.version,
            pages: stale.len(),
            bytes: stale.len() * PAGE + written,
            conflicts,
        }))
    }

    /// Notes that the copy is at `heads` now.
    fn install(&mut self, heads: Heads, discarded: bool) -> Result<()> {
        self.base = heads.frames;
        self.position = heads.at;
        self.version = heads.version;
        if discarded {
            self.copy.discarded();
        }
        self.extend_to(heads.size)
    }

    /// Reads all page heads as of one position, and holds it. `None`: overrun meanwhile.
    fn read_heads(&mut self) -> Result<Option<Heads>> {
        let trunk = std::sync::Arc::clone(&self.trunk);
        // Heads up to here are in place; newer changes are in the log from here on, which we hold.
        let from = trunk.enter(self.slot)?;
        // Read after entering: what the segment grows by meanwhile is in the log. Memory that is zero and not looked at
        // is free.
        let mut pages = trunk.size()?.div_ceil(PAGE);
        let (mut frames, mut changed) =
            (vec![0; trunk.geometry.pages], vec![0; trunk.geometry.pages]);
        // None has written to what is deferred.
        for page in self.copy.not_deferred(pages) {
            (frames[page], changed[page]) = trunk.head(page)?;
        }
        failpoint!("heads read");
        // Read after the heads: a head newer than `from` is of a change below this.
        let to = trunk.position();
        if !trunk.holds(self.slot, from) {
            return Ok(None);
        }
        // A slot that was not overrun keeps the tail behind it.
        if to < from || to - from > trunk.ring().len as u64 {
            return Err(Error::Corrupt("the trunk's position"));
        }
        self.window.version = trunk.version();
        let read = self.window.read(&trunk, from..to, &self.base, &self.copy);
        let size = trunk.size();
        if !trunk.holds(self.slot, from) {
            return Ok(None);
        }
        read?;
        for change in &self.window.changes {
            frames[change.page as usize] = change.frame;
            changed[change.page as usize] = to;
            pages = pages.max(change.page as usize + 1);
        }
        Ok(trunk.advance_place(self.slot, from, to).then_some(Heads {
            at: to,
            frames,
            changed,
            pages,
            version: self.window.version,
            size: size?,
        }))
    }

    /// Returns the units of `pages` where working copy and trunk differ, no matter which side changed them.
    fn lost_cases(&self, pages: Vec<usize>, heads: &Heads) -> Result<Option<Vec<Case>>> {
        let mut cases = Vec::new();
        let unit = self.unit();
        for page in pages {
            let (local, frame) = (self.copy.page(page), self.trunk.frame(heads.frames[page])?);
            // SAFETY: pages by `frame` and `page`.
            let differ = self.units().widen(&unsafe { words::diff(local, frame) });
            cases.extend(lost_in(&differ, local, frame, page, unit));
        }
        Ok(self.trunk.holds(self.slot, heads.at).then_some(cases))
    }

    /// Extends the copy to `size` bytes.
    pub(super) fn extend_to(&mut self, size: usize) -> Result<()> {
        if size > self.size {
            // First: writes to pages that are not armed would be unseen.
            self.copy.arm(self.pages()..size.div_ceil(PAGE))?;
            self.size = size;
        }
        Ok(())
    }
}

/// Returns the units of one page where `local` and `frame` differ.
fn lost_in(
    differ: &Mask,
    local: *const u8,
    frame: *const u8,
    page: usize,
    unit: usize,
) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for word in differ.iter() {
        // SAFETY: both are pages (of the caller); a mask has bits below WORDS only.
        let (mine, theirs) = unsafe {
            (
                load(local, word).to_le_bytes(),
                load(frame, word).to_le_bytes(),
            )
        };
        for at in 0..8 {
            let (offset, byte) = (
                page * PAGE + (word * 8 + at) / unit * unit,
                (word * 8 + at) % unit,
            );
            if cases.last().is_none_or(|case| case.offset != offset) {
                cases.push(Case {
                    offset,
                    base: None,
                    local: [0; 64],
                    incoming: [0; 64],
                });
            }
            if let Some(case) = cases.last_mut() {
                case.local[byte] = mine[at];
                case.incoming[byte] = theirs[at];
            }
        }
    }
    cases.retain(|case| case.local != case.incoming);
    cases
}

/// Asks the callback of the policy for the values of the lost units; without a callback, returns an error if there are
/// any. Without a base only a person, or a callback, can decide.
fn decide_lost(
    cases: &[Case],
    unit: usize,
    policy: &mut Policy<'_>,
) -> Result<Vec<(usize, [u8; 64])>> {
    match policy {
        Policy::Ask(decide) => Ok(cases
            .iter()
            .filter_map(|case| case.ask(unit, *decide))
            .collect()),
        _ if cases.is_empty() => Ok(Vec::new()),
        _ => {
            let mut offsets: Vec<usize> = cases.iter().map(|case| case.offset).collect();
            offsets.sort_unstable();
            let mut ranges = Vec::new();
            for offset in offsets {
                push_range(&mut ranges, offset..offset + unit);
            }
            Err(Error::BaseLost { ranges })
        }
    }
}
