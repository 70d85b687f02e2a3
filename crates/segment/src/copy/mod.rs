//! The working copy: private memory with two faces.
//!
//! A memfd of this process is mapped twice. The *user's view* is where the program reads and writes, and
//! writes through it are tracked. The *alias* is how updates get in: writes through it set no mark and
//! take no fault, and need no system call.
//!
//! Parts of the user's view may be placed at addresses that the program chose. There they are mapped once more, and
//! tracked there instead.
//!
//! Pages written lately, in one of every few commits, are *hot*: they are left unprotected, so that writing to
//! them costs nothing, and are compared at each commit instead. A page that was not changed for some
//! commits is protected again.

mod in_place;
mod marks;
mod pageset;
mod signal;
mod span;
mod userfault;

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::MemfdFlags;

use in_place::InPlace;
pub(crate) use in_place::{SHORT, runs_of_frames};
pub(crate) use pageset::PageSet;
use signal::Signal;
pub(crate) use span::Span;
use userfault::Userfault;

use crate::descriptors::aside;
use crate::error::{Error, Result};
use crate::failpoints;
use crate::map::Mapping;
use crate::options::Placement;
use crate::{PAGE, Tracking};

/// Commits that must find a page written before it is hot, each at most [`RECENT`] commits after the one before.
const HOT_AFTER: u8 = 2;
/// More than one, so that pages get hot which a program with a few phases writes in one of them.
const RECENT: u32 = 4;
/// Commits that must leave a hot page alone before it is protected again: comparing it so often costs what a fault
/// does, and the scan that it makes necessary.
const COLD_AFTER: u8 = 16;

/// The way in which writes are noticed.
#[derive(Debug)]
enum Tracker {
    /// The program says.
    Declared,
    Userfault(Userfault),
    Signal(Signal),
}

/// The working copy. See the module.
#[derive(Debug)]
pub(crate) struct WorkCopy {
    // Dropped in this order: the tracker lets go of the view before the view goes.
    tracker: Tracker,
    view: Mapping,
    /// Pages that are tracked at a place of their own, beside the view.
    placed: Vec<(Range<usize>, Mapping)>,
    alias: Mapping,
    memory: OwnedFd,
    in_place: Option<InPlace>,
    /// Pages that may differ from their base, beside the hot ones.
    dirty: PageSet,
    hot: PageSet,
    /// For each page that is armed: commits in a row that changed it, or that did not.
    heat: Vec<Heat>,
    commits: u32,
    /// Pages that are never committed nor tracked, and the others, which are scanned.
    private: Vec<Range<usize>>,
    /// Pages that are not tracked yet.
    deferred: Vec<Range<usize>>,
    tracked: Vec<Span>,
    /// The parts of `tracked` that `collect` looks at; none: all of it.
    scanned: Vec<Span>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Heat {
    last: u32,
    streak: u8,
    idle: u8,
}

impl WorkCopy {
    /// Makes a copy of `pages` pages of zeros. `private` are page ranges that are not tracked, `places` are within the
    /// copy and do not overlap. `in_place`: it will show pages of the trunk.
    pub(crate) fn new(
        pages: usize,
        tracking: Tracking,
        writable: bool,
        private: Vec<Range<usize>>,
        places: &[Placement],
        in_place: bool,
    ) -> Result<WorkCopy> {
        let len = pages * PAGE;
        let memory = rustix::fs::memfd_create("fyris-copy", MemfdFlags::CLOEXEC)
            .map(aside)
            .map_err(Error::os("a working copy"))?;
        rustix::fs::ftruncate(&memory, len as u64).map_err(Error::os("a working copy"))?;
        let view = Mapping::shared(memory.as_fd(), len, writable)?;
        let placed: Vec<(Range<usize>, Mapping)> = places
            .iter()
            .map(|place| {
                Ok((
                    place.pages(),
                    Mapping::placed(memory.as_fd(), place, writable)?,
                ))
            })
            .collect::<Result<_>>()?;
        let alias = Mapping::shared(memory.as_fd(), len, true)?;
        let tracking = if writable {
            tracking
        } else {
            Tracking::Declared
        };
        Ok(WorkCopy {
            tracker: Tracker::new(tracking, &view, &placed)?,
            view,
            placed,
            alias,
            memory,
            in_place: in_place.then(|| InPlace::new(pages)),
            dirty: PageSet::new(pages),
            hot: PageSet::new(pages),
            heat: Vec::new(),
            commits: 1,
            private,
            deferred: Vec::new(),
            tracked: Vec::new(),
            scanned: Vec::new(),
        })
    }

    /// Makes scans wait for a page fault of this process, or of this thread if it is the `one_writer`: without one no
    /// tracked page was written.
    pub(crate) fn count_faults(&mut self, one_writer: bool) {
        if let Tracker::Userfault(t) = &mut self.tracker {
            t.count_faults(one_writer);
        }
    }

    /// Returns whether scans wait for a page fault.
    pub(crate) fn counts_faults(&self) -> bool {
        matches!(&self.tracker, Tracker::Userfault(t) if t.counts_faults())
    }

    /// Makes `collect` look at these pages only, or at all if there are none. By signals every write is noted at once:
    /// there is nothing to save.
    pub(crate) fn scan_only(&mut self, ranges: impl Iterator<Item = Range<usize>>) {
        self.scanned.clear();
        if !matches!(self.tracker, Tracker::Userfault(_)) {
            return;
        }
        for range in ranges {
            let parts = self.tracked.iter().filter_map(|span| span.part(&range));
            self.scanned.extend(parts);
        }
    }

    /// Returns the way in which writes are noticed.
    pub(crate) fn tracking(&self) -> Tracking {
        match self.tracker {
            Tracker::Declared => Tracking::Declared,
            Tracker::Userfault(_) => Tracking::Userfault,
            Tracker::Signal(_) => Tracking::Signal,
        }
    }

    /// Starts to track the pages of `range`, which were filled through the alias.
    pub(crate) fn arm(&mut self, range: Range<usize>) -> Result<()> {
        if matches!(self.tracker, Tracker::Declared) {
            return Ok(());
        }
        self.heat
            .resize(range.end.max(self.heat.len()), Heat::default());
        let holes = [&self.private[..], &self.deferred].concat();
        for part in without(range, &holes) {
            self.set_protected(part.clone(), true)?;
            self.tracked.extend(self.spans(part));
        }
        Ok(())
    }

    /// Places pages that are not tracked yet.
    pub(crate) fn place(&mut self, place: &Placement) -> Result<()> {
        let map = Mapping::placed(self.memory.as_fd(), place, true)?;
        match &self.tracker {
            Tracker::Declared => (),
            Tracker::Userfault(t) => t.register(&map)?,
            Tracker::Signal(_) => return Err(BY_SIGNALS),
        }
        self.placed.push((place.pages(), map));
        Ok(())
    }

    /// Leaves pages out that are armed from now on.
    pub(crate) fn defer(&mut self, pages: Range<usize>) {
        self.deferred.push(pages);
    }

    /// Returns the first `pages` pages without the deferred ones, in their order.
    pub(crate) fn not_deferred(&self, pages: usize) -> impl Iterator<Item = usize> + use<> {
        without(0..pages, &self.deferred).into_iter().flatten()
    }

    /// Starts to track the deferred pages of `range`, of which those below `armed` were to be armed.
    pub(crate) fn track(&mut self, range: Range<usize>, armed: usize) -> Result<()> {
        let before = std::mem::take(&mut self.deferred);
        let cut =
            |hole: &Range<usize>| hole.start.max(range.start)..hole.end.min(range.end.min(armed));
        let late: Vec<_> = before.iter().map(cut).collect();
        let rest = before.into_iter();
        self.deferred = rest
            .flat_map(|hole| without(hole, std::slice::from_ref(&range)))
            .collect();
        late.into_iter()
            .filter(|part| !part.is_empty())
            .try_for_each(|part| self.arm(part))
    }

    /// Returns the spans in which pages are tracked.
    fn spans(&self, range: Range<usize>) -> Vec<Span> {
        let whole = |pages: &Range<usize>, map: &Mapping| Span {
            pages: pages.clone(),
            at: map.start() as usize,
        };
        let view = whole(&(0..self.view.len() / PAGE), &self.view);
        let placed: Vec<Range<usize>> =
            self.placed.iter().map(|(pages, _)| pages.clone()).collect();
        let rest = without(range.clone(), &placed);
        let mut spans: Vec<Span> = rest.iter().filter_map(|part| view.part(part)).collect();
        let there = self.placed.iter().map(|(pages, map)| whole(pages, map));
        spans.extend(there.filter_map(|span| span.part(&range)));
        spans
    }

    fn set_protected(&mut self, range: Range<usize>, on: bool) -> Result<()> {
        if range.is_empty() || matches!(self.tracker, Tracker::Declared) {
            return Ok(());
        }
        let spans = self.spans(range);
        match &mut self.tracker {
            Tracker::Declared => Ok(()),
            Tracker::Userfault(t) => spans.iter().try_for_each(|span| t.protect(span, on)),
            Tracker::Signal(t) => {
                let mut pages = spans.into_iter().map(|span| span.pages);
                pages.try_for_each(|pages| t.protect(&self.view, pages, on))
            }
        }
    }

    /// Returns the user's view.
    pub(crate) fn view(&self) -> *mut u8 {
        self.view.start()
    }

    /// Returns page `page` of the copy through the alias (invariant PAGES of `words`).
    #[inline]
    pub(crate) fn page(&self, page: usize) -> *mut u8 {
        assert!(page < self.alias.len() / PAGE);
        // SAFETY: inside the mapping, as just checked.
        unsafe { self.alias.start().add(page * PAGE) }
    }

    /// Returns whether a page is this process's own affair.
    pub(crate) fn is_private(&self, page: usize) -> bool {
        self.private.iter().any(|range| range.contains(&page))
    }

    /// Declares pages written: unprotects them, so that no fault is taken, and compares them at the
    /// next commit.
    pub(crate) fn touch(&mut self, range: Range<usize>) -> Result<()> {
        if range.len() == 1 && self.hot.has(range.start) {
            return Ok(());
        }
        range.clone().for_each(|page| self.dirty.insert(page));
        if matches!(self.tracker, Tracker::Declared) {
            return Ok(());
        }
        // Unprotected without being hot would be unseen after the commit; hot first, since a failure may
        // leave some pages unprotected.
        range.clone().for_each(|page| self.hot.insert(page));
        self.set_protected(range, false)
    }

    /// Notes writes like `touch`, where they are not noticed otherwise.
    #[inline]
    pub(crate) fn declare(&mut self, range: Range<usize>) {
        if matches!(self.tracker, Tracker::Declared) {
            range.for_each(|page| self.dirty.insert(page));
        }
    }

    /// Finds what was written since the last time, and protects it again. `candidates` then holds
    /// every page that may differ from its base.
    pub(crate) fn collect(&mut self, candidates: &mut Vec<u32>) -> Result<()> {
        match &mut self.tracker {
            Tracker::Declared => (),
            Tracker::Userfault(t) => {
                let spans = match self.scanned.is_empty() {
                    true => &self.tracked,
                    false => &self.scanned,
                };
                t.collect(spans, &self.hot, &mut self.dirty)?
            }
            Tracker::Signal(t) => {
                t.collect(&self.view, &self.tracked, &self.hot, &mut self.dirty)?
            }
        }
        self.candidates(candidates);
        Ok(())
    }

    /// Finds what was written, without protecting it: `is_clean` knows afterwards.
    pub(crate) fn look(&mut self) -> Result<()> {
        match &mut self.tracker {
            Tracker::Declared => Ok(()),
            Tracker::Userfault(t) => t.look(&self.tracked, &mut self.dirty),
            Tracker::Signal(t) => {
                t.look(&self.tracked, &mut self.dirty);
                Ok(())
            }
        }
    }

    /// Returns whether a page is certain to be equal to its base, as of the last `look`.
    pub(crate) fn is_clean(&self, page: usize) -> bool {
        !self.dirty.has(page) && !self.hot.has(page) && !self.is_private(page)
    }

    /// Replaces the content of `candidates` by the pages that may differ from their base, as of the last `collect`.
    fn candidates(&self, candidates: &mut Vec<u32>) {
        candidates.clear();
        let fresh = self
            .dirty
            .iter()
            .filter(|&page| !self.hot.has(page as usize));
        candidates.extend(fresh);
        candidates.extend(self.hot.iter());
        if !self.private.is_empty() {
            candidates.retain(|&page| !self.is_private(page as usize));
        }
    }

    /// Notes that a commit has published these pages, and that no other page differs from its base now. Heats and cools
    /// pages.
    pub(crate) fn committed(&mut self, pages: impl Iterator<Item = u32>) {
        self.commits = self.commits.wrapping_add(1);
        if matches!(self.tracker, Tracker::Declared) {
            return self.dirty.clear();
        }
        // A page that was written without a change has cost a fault, too.
        let mut written = std::mem::take(&mut self.dirty);
        pages.for_each(|page| written.insert(page as usize));
        written.iter().for_each(|page| self.warm(page as usize));
        written.clear();
        self.dirty = written;
        self.cool()
    }

    /// Notes that the last commit has found a page written.
    fn warm(&mut self, page: usize) {
        let heat = &mut self.heat[page];
        heat.streak = match self.commits.wrapping_sub(heat.last) {
            0 => return,
            1..=RECENT => heat.streak.saturating_add(1),
            _ => 1,
        };
        heat.last = self.commits;
        if heat.streak > HOT_AFTER {
            // Still protected until its next write, which the tracker then leaves unprotected.
            self.hot.insert(page);
        }
    }

    fn cool(&mut self) {
        let now = self.commits;
        let heat = &mut self.heat;
        let mut cold = Vec::new();
        self.hot.retain(|page| {
            let heat = &mut heat[page as usize];
            heat.idle = if heat.last == now { 0 } else { heat.idle + 1 };
            let keep = heat.idle < COLD_AFTER;
            if !keep {
                heat.idle = 0;
                cold.push(page as usize);
            }
            keep
        });
        for page in cold {
            // The kernel may have no memory for it: then the page stays hot, or its writes would be unseen.
            if self.set_protected(page..page + 1, true).is_err() {
                self.hot.insert(page);
            }
        }
    }

    /// Returns whether the last commit has found a hot page unchanged: most likely it is unchanged again.
    #[inline]
    pub(crate) fn is_idle(&self, page: usize) -> bool {
        self.heat.get(page).is_some_and(|heat| heat.idle > 0)
    }

    /// Notes that no page differs from its base any more.
    pub(crate) fn discarded(&mut self) {
        self.dirty.clear();
    }

    /// Keeps `page` among the candidates whatever the tracker says.
    pub(crate) fn mark(&mut self, page: usize) {
        self.dirty.insert(page);
    }

    /// Forgets the memory, which stayed with the parent of this forked process.
    pub(crate) fn forget(&mut self) {
        self.view.forget();
        self.alias.forget();
        self.placed.iter_mut().for_each(|(_, map)| map.forget());
    }
}

const BY_SIGNALS: Error = Error::Unsupported("tracking placed ranges by signals");

impl Tracker {
    fn new(
        tracking: Tracking,
        view: &Mapping,
        placed: &[(Range<usize>, Mapping)],
    ) -> Result<Tracker> {
        let mut views = vec![view];
        views.extend(placed.iter().map(|(_, map)| map));
        let by_signals = || match placed {
            [] => Ok(Tracker::Signal(Signal::new(view)?)),
            _ => Err(BY_SIGNALS),
        };
        let wanted = match tracking {
            Tracking::Auto => failpoints::tracking(),
            chosen => chosen,
        };
        match wanted {
            Tracking::Declared => Ok(Tracker::Declared),
            Tracking::Userfault => Ok(Tracker::Userfault(Userfault::new(&views)?)),
            Tracking::Signal => by_signals(),
            Tracking::Auto => match Userfault::new(&views) {
                Ok(userfault) => Ok(Tracker::Userfault(userfault)),
                Err(_) => by_signals(),
            },
        }
    }
}

/// Returns the parts of `range` that are in none of `holes`.
pub(crate) fn without(range: Range<usize>, holes: &[Range<usize>]) -> Vec<Range<usize>> {
    holes.iter().fold(vec![range], |parts, hole| {
        let cut = |part: Range<usize>| {
            let before = part.start..part.end.min(hole.start);
            let after = part.start.max(hole.end)..part.end;
            [before, after].into_iter().filter(|part| !part.is_empty())
        };
        parts.into_iter().flat_map(cut).collect()
    })
}

/// Splits ascending page numbers into runs.
fn runs(pages: &[u32]) -> impl Iterator<Item = Range<usize>> + '_ {
    pages
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| run[0] as usize..run[0] as usize + run.len())
}
