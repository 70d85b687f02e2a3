//! Update: the trunk's changes come into the working copy.

use std::ops::Range;

use super::Segment;
use super::window::{Change, ChangedWords, add_ranges};
use crate::PAGE;
use crate::error::{Error, Result};
use crate::failpoints::failpoint;
use crate::trunk::entry::One;
use crate::words::{self, Mask, WORDS, load, store};

/// Words of a page above which copying it whole may be cheaper than word by word.
const DENSE: usize = WORDS / 2;

/// Pages that a scan looks at in the time that it takes to compare a dense page with its base; and what a scan costs
/// whatever it looks at, in pages.
const SCANNED: usize = 128;
const SCAN: usize = 600;

/// Changes between asking for the lines that one needs and using them.
const AHEAD: usize = 6;

/// The result of an update.
///
/// ```
/// # use fyris_segment::{Error, Options, Segment};
/// # let mut ours = Segment::nameless(4096, &Options::new())?;
/// # let mut theirs = ours.origin().checkout()?;
/// ours.as_mut_slice()[0] = 1;
/// ours.commit()?;
/// theirs.as_mut_slice()[1] = 2; // the same unit
/// let updated = theirs.update()?;
/// assert_eq!((updated.version, updated.pages, updated.conflicts), (1, 1, 1));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Updated {
    /// The version that the working copy is at now.
    pub version: u64,
    /// Pages that the trunk had changed.
    pub pages: usize,
    /// Bytes that were written into the working copy: whole words or pages, and the units that a callback decided.
    pub bytes: usize,
    /// Units changed on both sides (in a default update the local ones were kept).
    pub conflicts: usize,
}

/// One editing unit that was changed on both sides.
///
/// ```
/// # use fyris_segment::{Error, Options, Segment};
/// # let mut ours = Segment::nameless(4096, &Options::new())?;
/// # let mut theirs = ours.origin().checkout()?;
/// use fyris_segment::Choice;
///
/// ours.as_mut_slice()[0] = 1;
/// ours.commit()?;
/// theirs.as_mut_slice()[0] = 2;
/// theirs.update_with(|unit| {
///     let firsts = (unit.base.map(|base| base[0]), unit.local[0], unit.incoming[0]);
///     assert_eq!((unit.offset, firsts), (0, (Some(0), 2, 1)));
///     Choice::Local
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Conflict<'a> {
    /// The offset of the unit in the segment, in bytes.
    pub offset: usize,
    /// The unit as both sides began with it; `None` if the process was evicted ([`Error::BaseLost`]).
    pub base: Option<&'a [u8]>,
    /// The unit in the working copy.
    pub local: &'a [u8],
    /// The unit in the trunk.
    pub incoming: &'a [u8],
}

/// The decision about a conflicting unit.
///
/// ```
/// # use fyris_segment::{Error, Options, Segment};
/// # let mut ours = Segment::nameless(4096, &Options::new())?;
/// # let mut theirs = ours.origin().checkout()?;
/// use fyris_segment::Choice;
///
/// ours.as_mut_slice()[0] = 1;
/// ours.commit()?;
/// theirs.as_mut_slice()[0] = 2;
/// theirs.update_with(|_| Choice::Incoming)?;
/// assert_eq!(theirs.as_slice()[0], 1);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Keep the working copy's; the next commit overwrites the trunk's.
    Local,
    /// Take the trunk's.
    Incoming,
    /// Write this, a local change: the first bytes, as many as the unit has.
    Write([u8; 64]),
}

/// The policy for conflicts.
pub(super) enum Policy<'a> {
    LocalWins,
    Validate,
    Ask(&'a mut dyn FnMut(Conflict<'_>) -> Choice),
    /// Drop every local change.
    Discard,
}

/// A conflicting unit with its three values, in private memory.
pub(super) struct Case {
    pub(super) offset: usize,
    pub(super) base: Option<[u8; 64]>,
    pub(super) local: [u8; 64],
    pub(super) incoming: [u8; 64],
}

impl Case {
    /// Asks, and turns the answer into bytes to write, if any.
    pub(super) fn ask(
        &self,
        unit: usize,
        decide: &mut dyn FnMut(Conflict<'_>) -> Choice,
    ) -> Option<(usize, [u8; 64])> {
        let choice = decide(Conflict {
            offset: self.offset,
            base: self.base.as_ref().map(|bytes| &bytes[..unit]),
            local: &self.local[..unit],
            incoming: &self.incoming[..unit],
        });
        match choice {
            Choice::Local => None,
            Choice::Incoming => Some((self.offset, self.incoming)),
            Choice::Write(bytes) => Some((self.offset, bytes)),
        }
    }
}

/// The progress of a merge before it found that the process was evicted.
pub(super) enum Merged {
    All(Updated),
    /// This many changes of the window are in.
    Evicted(usize),
}

impl Segment {
    /// Merges the trunk's changes into the working copy, three-way, by editing unit: units that were not changed here
    /// become the trunk's, units that were changed here stay. Never waits for a commit, makes no system call (but for
    /// many wholly rewritten pages, to learn which are unchanged here).
    ///
    /// O(1) if there is nothing new, else O(pages changed in the trunk since, plus the changed words).
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// ours.commit()?;
    /// theirs.as_mut_slice()[1] = 2; // the same unit of eight bytes
    /// theirs.as_mut_slice()[8] = 3;
    /// theirs.update()?;
    /// assert_eq!(theirs.as_slice()[..9], [0, 2, 0, 0, 0, 0, 0, 0, 3]); // what is local stays
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BaseLost`] if the process was evicted (see [`Options::history`](crate::Options::history)) and both
    /// sides changed a page; [`Error::Corrupt`], [`Error::Forked`]. The working copy is untouched.
    ///
    /// *Source*: CONVERSION, sections 3.2, 3.3, 3.8.
    #[inline]
    pub fn update(&mut self) -> Result<Updated> {
        self.check()?;
        self.check_between()?;
        match self.trunk.position() == self.position {
            true => Ok(self.nothing_new()),
            false => self.update_by(&mut Policy::LocalWins),
        }
    }

    /// Merges the trunk's changes into the working copy, unless both sides changed a unit, even to the same value: then
    /// nothing is done. Waits and costs as [`Segment::update`].
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// ours.commit()?;
    /// theirs.as_mut_slice()[0] = 1; // the same value is a conflict, too
    /// assert!(matches!(theirs.update_validated(), Err(Error::Conflict { .. })));
    /// assert!(theirs.is_behind()); // nothing was done
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] with the ranges; those of [`Segment::update`].
    ///
    /// *Source*: CONVERSION, section 3.2, the flag VALIDATE.
    pub fn update_validated(&mut self) -> Result<Updated> {
        self.check_between()?;
        self.update_by(&mut Policy::Validate)
    }

    /// Merges the trunk's changes into the working copy, asking `decide` about each unit that both sides changed. All
    /// are asked before anything is written, so a panic in `decide` leaves the working copy as it was. It cannot reach
    /// the segment, may block, and is asked at most once more for a unit if this process is evicted meanwhile.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// use fyris_segment::Choice;
    ///
    /// // Two counters that both sides have added to: the sum of the additions.
    /// ours.as_mut_slice()[0] = 3;
    /// ours.commit()?;
    /// theirs.as_mut_slice()[0] = 4;
    /// theirs.update_with(|unit| {
    ///     let mut merged = [0; 64]; // as many of them as a unit has
    ///     let base = unit.base.map_or(0, |base| base[0]);
    ///     merged[0] = unit.local[0] + unit.incoming[0] - base;
    ///     Choice::Write(merged)
    /// })?;
    /// assert_eq!(theirs.as_slice()[0], 7);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`], [`Error::Forked`]. Never [`Error::BaseLost`]: such units are asked about without a base.
    pub fn update_with(
        &mut self,
        mut decide: impl FnMut(Conflict<'_>) -> Choice,
    ) -> Result<Updated> {
        self.check_between()?;
        self.update_by(&mut Policy::Ask(&mut decide))
    }

    fn nothing_new(&self) -> Updated {
        Updated {
            version: self.version,
            ..Updated::default()
        }
    }

    /// Does steps 1 to 5 of an update, see the crate.
    pub(super) fn update_by(&mut self, policy: &mut Policy<'_>) -> Result<Updated> {
        self.check()?;
        let (from, to) = (self.position, self.trunk.position());
        if to == from {
            return Ok(self.nothing_new());
        }
        if !self.trunk.writable {
            return self.look();
        }
        // The entries of the log lead from here to there, if the slot holds the log from here on (KEEP):
        // * it does not, and it is too late to: the page heads lead there (`catch_up`);
        // * it does, also after the entries were read: they are what they were. If the frames of the base are too, and
        //   the place moves on by one exchange, they are merged, while the log may go on;
        // * it was overrun or evicted meanwhile: what was read is worth nothing; `catch_up`.
        if !self.trunk.holds(self.slot, from) && !self.trunk.hold(self.slot, from) {
            return self.catch_up(policy);
        }
        if to < from || to - from > self.trunk.ring().len as u64 {
            return Err(Error::Corrupt("the trunk's position"));
        }
        let trunk = std::sync::Arc::clone(&self.trunk);
        let read = self.window.read(&trunk, from..to, &self.base, &self.copy);
        let size = trunk.size();
        failpoint!("window read");
        if trunk.holds(self.slot, from) {
            read?;
            let size = size?;
            // From here on the slot keeps both what is merged and what it is merged with.
            if self.keeps() && trunk.advance_place(self.slot, from, to) {
                if cfg!(fyris_mutant = "segment_base_moves_first") {
                    trunk.settle(self.slot, to);
                }
                return self.take_window(to, size, policy);
            }
        }
        self.catch_up(policy)
    }

    /// Returns whether the frames of the base, and those that are being merged, are still what they were.
    pub(super) fn keeps(&self) -> bool {
        // A process that only looks on has changed nothing, and merges nothing.
        if !self.trunk.writable {
            return true;
        }
        // The log from our position on has them too: then an eviction that came too late for us is forgotten.
        self.trunk.keeps(self.slot) || self.trunk.return_to(self.slot, self.position)
    }

    /// Merges the window, which leads from our position, where the slot has its base, to `to`, where it has its place.
    pub(super) fn take_window(
        &mut self,
        to: u64,
        size: usize,
        policy: &mut Policy<'_>,
    ) -> Result<Updated> {
        let merged = self.merge(policy);
        if merged.is_err() {
            self.trunk.back(self.slot, self.position);
        }
        match merged? {
            Merged::Evicted(done) => {
                let ahead = self.window.changes[..done].iter().map(|c| c.page).collect();
                self.start_over(policy, &ahead, to)
            }
            Merged::All(updated) => {
                self.version = self.window.version;
                self.position = to;
                failpoint!("merged");
                self.trunk.settle(self.slot, to);
                failpoint!("settled");
                self.extend_to(size)?;
                Ok(Updated {
                    version: self.version,
                    ..updated
                })
            }
        }
    }

    /// Brings the changes of the window in.
    fn merge(&mut self, policy: &mut Policy<'_>) -> Result<Merged> {
        let decided = match policy {
            Policy::LocalWins | Policy::Discard => Vec::new(),
            Policy::Validate | Policy::Ask(_) => {
                let cases = self.cases()?;
                if !self.keeps() {
                    return Ok(Merged::Evicted(0));
                }
                self.decide(&cases, policy)?
            }
        };
        let mut merged = self.apply_window()?;
        if let Merged::All(updated) = &mut merged {
            updated.bytes += self.write_decided(&decided);
        }
        Ok(merged)
    }

    /// Asks about the cases, or refuses them.
    fn decide(&self, cases: &[Case], policy: &mut Policy<'_>) -> Result<Vec<(usize, [u8; 64])>> {
        let unit = self.unit();
        match policy {
            Policy::Ask(decide) => {
                let answers = cases.iter().filter_map(|case| case.ask(unit, *decide));
                Ok(answers.collect())
            }
            _ if cases.is_empty() => Ok(Vec::new()),
            _ => {
                let mut offsets: Vec<usize> = cases.iter().map(|case| case.offset).collect();
                offsets.sort_unstable();
                let mut ranges = Vec::new();
                for offset in offsets {
                    super::window::push_range(&mut ranges, offset..offset + unit);
                }
                Err(Error::Conflict { ranges })
            }
        }
    }

    /// Writes decided units into the working copy. Returns how many bytes they are.
    pub(super) fn write_decided(&mut self, decided: &[(usize, [u8; 64])]) -> usize {
        let unit = self.unit();
        for (offset, bytes) in decided {
            let page = self.copy.page(offset / PAGE);
            // SAFETY: a unit lies within a page, and the page is this process's own.
            unsafe {
                page.add(offset % PAGE)
                    .copy_from_nonoverlapping(bytes.as_ptr(), unit)
            };
            self.copy.mark(offset / PAGE);
        }
        decided.len() * unit
    }

    /// Returns the units of the window that both sides changed.
    fn cases(&mut self) -> Result<Vec<Case>> {
        let mut cases = Vec::new();
        for change in &self.window.changes {
            let page = change.page as usize;
            match change.words {
                ChangedWords::Few(start, count) => {
                    self.scratch.gather_few(self.window.ones(start, count));
                }
                many => {
                    let mask = self.window.mask(many);
                    self.scratch
                        .gather(&self.trunk, &mask, self.base[page], change.frame)?;
                }
            }
            let local = self.copy.page(page);
            let scratch = &self.scratch;
            let mut ranges: Vec<Range<usize>> = Vec::new();
            let unit = self.trunk.geometry.unit;
            let group = unit.words();
            for at in (0..scratch.count).step_by(group) {
                let (mut ours, mut theirs) = (0, 0);
                for at in at..at + group {
                    // SAFETY: a page of ours; gathered words are below WORDS.
                    let value = unsafe { load(local, scratch.words[at].into()) };
                    let (mine, other) = (
                        value ^ scratch.base[at],
                        scratch.incoming[at] ^ scratch.base[at],
                    );
                    (ours, theirs) = match group {
                        1 => (unit.spread(mine), unit.spread(other)),
                        _ => (ours | unit.spread(mine), theirs | unit.spread(other)),
                    };
                }
                let word = usize::from(scratch.words[at]);
                add_ranges(&mut ranges, unit, page, [(word, ours & theirs)].into_iter());
            }
            let offsets = ranges
                .into_iter()
                .flat_map(|range| range.step_by(unit.bytes()));
            cases.extend(offsets.map(|offset| case(scratch, local, page, offset, unit.bytes())));
        }
        Ok(cases)
    }

    /// Applies the window; where a unit was changed on both sides the local one stays.
    fn apply_window(&mut self) -> Result<Merged> {
        if self.copy.is_in_place() && !cfg!(fyris_mutant = "segment_changes_unowned") {
            let pages = self.window.changes.iter().map(|change| change.page);
            self.copy.own(&self.trunk, &self.base, pages)?;
        }
        let clean = self.know_clean()?;
        let mut updated = Updated {
            pages: self.window.changes.len(),
            ..Updated::default()
        };
        for at in 0..self.window.changes.len() {
            let change = self.window.changes[at];
            if let Some(next) = self.window.changes.get(at + AHEAD) {
                self.prefetch(next)?;
            }
            failpoint!("page begun");
            let kept = match change.words {
                ChangedWords::Few(start, count) => {
                    self.take_few(change.page, start, count, &mut updated);
                    true
                }
                ChangedWords::Many(mask) => self.take_many(at, mask, clean, &mut updated)?,
            };
            if !kept {
                return Ok(Merged::Evicted(at));
            }
            self.base[change.page as usize] = change.frame;
        }
        Ok(Merged::All(updated))
    }

    /// Asks for the first lines that a change will need: they are far apart, and last written elsewhere. Words with
    /// their values were asked for when the log was read.
    #[inline]
    fn prefetch(&self, change: &Change) -> Result<()> {
        if let many @ ChangedWords::Many(_) = change.words {
            let at = self.window.mask(many).first() * 8;
            words::prefetch(self.trunk.frame(change.frame)?, at);
            words::prefetch(self.copy.page(change.page as usize), at);
            // Of dense pages most are copied whole.
            if self.window.count(many) < DENSE {
                words::prefetch(self.trunk.frame(self.base[change.page as usize])?, at);
            }
        }
        Ok(())
    }

    /// Takes words that came with their values: they were read, and found whole, with the log.
    #[inline]
    fn take_few(&self, page: u32, start: u32, count: u32, updated: &mut Updated) {
        let local = self.copy.page(page as usize);
        for one in self.window.ones(start, count) {
            self.merge_word(local, *one, updated);
        }
    }

    /// Takes change number `at` of the window, whose words are known. Returns false if this process was evicted.
    fn take_many(
        &mut self,
        at: usize,
        mask: u32,
        clean: bool,
        updated: &mut Updated,
    ) -> Result<bool> {
        let change = self.window.changes[at];
        let mask = self.window.mask(ChangedWords::Many(mask));
        if mask.is_empty() && !cfg!(fyris_mutant = "segment_moves_count") {
            // The page was only moved.
            updated.pages -= 1;
            return Ok(true);
        }
        if mask.count() < DENSE {
            return self.take_words(&change, &mask, updated);
        }
        let next = *self.window.changes.get(at + 1).unwrap_or(&change);
        let next = [
            self.trunk.frame(next.frame)?,
            self.copy.page(next.page as usize).cast_const(),
        ];
        if clean && self.copy.is_clean(change.page as usize) {
            return self.take_whole(&change, next, updated);
        }
        next.into_iter().for_each(words::prefetch_page);
        match self.unit() {
            8 => self.merge_whole(&change, &mask, updated),
            _ => self.take_words(&change, &mask, updated),
        }
    }

    /// Returns whether it pays to find out which pages are unchanged here, and if so finds out: those can be
    /// copied whole. A scan costs as much as it looks at pages; it saves the comparison of dense ones.
    fn know_clean(&mut self) -> Result<bool> {
        let dense = |change: &&Change| self.window.count(change.words) >= DENSE;
        let dense = self.window.changes.iter().filter(dense).count();
        let pays = dense * SCANNED > self.pages() + SCAN;
        if pays {
            self.copy.look()?;
        }
        Ok(pays)
    }

    /// Takes a page that is unchanged here; frame and page of the next change are prefetched meanwhile. Returns false
    /// if this process was evicted: the page (unchanged here, so nothing is lost) is to be copied again.
    fn take_whole(
        &mut self,
        change: &Change,
        next: [*const u8; 2],
        updated: &mut Updated,
    ) -> Result<bool> {
        let frame = self.trunk.frame(change.frame)?;
        // SAFETY: pages by `frame` and `page`.
        unsafe { words::copy(frame, self.copy.page(change.page as usize), next) };
        failpoint!("page copied");
        updated.bytes += PAGE;
        Ok(self.keeps())
    }

    /// Merges a page that was mostly rewritten, and may be changed here too, where the unit is a word. Returns false if
    /// this process was evicted: the page is as it was.
    fn merge_whole(&mut self, change: &Change, mask: &Mask, updated: &mut Updated) -> Result<bool> {
        let page = change.page as usize;
        let (base, incoming) = (
            self.trunk.frame(self.base[page])?,
            self.trunk.frame(change.frame)?,
        );
        let (local, merged) = (self.copy.page(page), self.scratch.page.ptr());
        // SAFETY: pages by `frame`, `page` and `Page`.
        let conflicts = unsafe { words::merge(local, base, incoming, merged) };
        failpoint!("page merged");
        if !self.keeps() {
            return Ok(false);
        }
        // SAFETY: as above.
        unsafe { words::copy(merged, local, [merged; 2]) };
        updated.conflicts += conflicts;
        updated.bytes += mask.count() * 8;
        Ok(true)
    }

    /// Takes the changed words of a page. Returns false if this process was evicted: the page is as it was.
    #[inline]
    fn take_words(&mut self, change: &Change, mask: &Mask, updated: &mut Updated) -> Result<bool> {
        let page = change.page as usize;
        self.scratch
            .gather(&self.trunk, mask, self.base[page], change.frame)?;
        failpoint!("words gathered");
        if !cfg!(fyris_mutant = "segment_torn_read") && !self.keeps() {
            return Ok(false);
        }
        let local = self.copy.page(page);
        match self.units().words() {
            1 => self.merge_words(local, updated),
            group => self.merge_groups(local, group, updated),
        }
        Ok(true)
    }

    /// Merges the gathered words, where units are at most a word.
    #[inline]
    fn merge_words(&self, local: *mut u8, updated: &mut Updated) {
        let scratch = &self.scratch;
        for at in 0..scratch.count {
            let one = One {
                word: scratch.words[at],
                before: scratch.base[at],
                after: scratch.incoming[at],
            };
            self.merge_word(local, one, updated);
        }
    }

    /// Merges one word, where units are at most a word.
    #[inline]
    fn merge_word(&self, local: *mut u8, one: One, updated: &mut Updated) {
        let unit = self.units();
        let (word, base, incoming) = (usize::from(one.word), one.before, one.after);
        // SAFETY: a page of ours; the words of changes are below WORDS.
        let value = unsafe { load(local, word) };
        let mut new = incoming;
        if value != base {
            let ours = unit.spread(value ^ base);
            new = if cfg!(fyris_mutant = "segment_trunk_wins") {
                incoming
            } else {
                value & ours | incoming & !ours
            };
            let both = ours & unit.spread(incoming ^ base);
            updated.conflicts += both.count_ones() as usize / (unit.bytes() * 8);
        }
        if new != value {
            // SAFETY: as above.
            unsafe { store(local, word, new) };
            updated.bytes += 8;
        }
    }

    /// Merges the gathered words, where a unit is `group` words.
    fn merge_groups(&self, local: *mut u8, group: usize, updated: &mut Updated) {
        let scratch = &self.scratch;
        for first in (0..scratch.count).step_by(group) {
            let unit = first..first + group;
            let differs = |at: usize| {
                // SAFETY: a page of ours; gathered words are below WORDS.
                unsafe { load(local, scratch.words[at].into()) != scratch.base[at] }
            };
            if unit.clone().any(differs) {
                let theirs = unit
                    .clone()
                    .any(|at| scratch.incoming[at] != scratch.base[at]);
                updated.conflicts += usize::from(theirs);
                continue;
            }
            for at in unit {
                // SAFETY: as above.
                unsafe { store(local, scratch.words[at].into(), scratch.incoming[at]) };
            }
            updated.bytes += group * 8;
        }
    }
}

/// Returns the three values of the unit at `offset`.
fn case(
    scratch: &super::window::Scratch,
    local: *const u8,
    page: usize,
    offset: usize,
    unit: usize,
) -> Case {
    let mut case = Case {
        offset,
        base: Some([0; 64]),
        local: [0; 64],
        incoming: [0; 64],
    };
    let mut base = [0; 64];
    let within = offset - page * PAGE;
    for word in within / 8..(within + unit).div_ceil(8) {
        let at = scratch.words[..scratch.count].partition_point(|&w| usize::from(w) < word);
        // SAFETY: a page of ours; `word` is below WORDS since units do not cross pages.
        let value = unsafe { load(local, word) };
        for (out, value) in [
            (&mut case.local, value),
            (&mut base, scratch.base[at]),
            (&mut case.incoming, scratch.incoming[at]),
        ] {
            let bytes = value.to_le_bytes();
            for (i, byte) in bytes.into_iter().enumerate() {
                let to = (word * 8 + i).wrapping_sub(within);
                if to < unit {
                    out[to] = byte;
                }
            }
        }
    }
    case.base = Some(base);
    case
}
