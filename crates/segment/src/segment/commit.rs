//! Commit: local changes become a version of the trunk.

use fyris_sync::atomic::{Ordering, fence};
use std::sync::Arc;

use super::Segment;
use super::compact::Compactor;
use super::update::Policy;
use crate::PAGE;
use crate::error::{Error, Result};
use crate::failpoints::failpoint;
use crate::trunk::entry::Image;
use crate::trunk::frames::no_frames;
use crate::trunk::lock::Guard;
use crate::trunk::log;
use crate::trunk::{Bounds, Trunk};
use crate::words::{self, load, store};

/// Frames that a process keeps reserved beyond what its last commit took.
const SPARE: usize = 64;
/// The number of times that a process may be overrun while it prepares.
const TRIES: usize = 100;

/// The changes that a commit prepares without the lock, and frames reserved for the next one.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    pub(super) candidates: Vec<u32>,
    records: Vec<Image>,
    pub(super) spare: Vec<u32>,
    pub(super) compactor: Compactor,
    cursor: u32,
    /// The file system cannot take space back.
    solid: bool,
}

impl Prepared {
    /// Takes the frames of unpublished records back.
    fn cancel(&mut self) {
        let frames = self.records.drain(..).map(|image| image.head().frame);
        self.spare.extend(frames);
    }

    /// Orders the next `count` spare frames, which are taken from the end: pages next to each other get frames next to
    /// each other, which readers in place map in one piece.
    fn ascend(&mut self, count: usize) {
        if count > 1 && !cfg!(fyris_mutant = "segment_frames_descend") {
            let from = self.spare.len().saturating_sub(count);
            self.spare[from..].sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Gives spare frames beyond `keep` back.
    pub(super) fn give_back(&mut self, trunk: &Trunk, slot: usize, keep: usize) {
        self.cancel();
        if keep == 0 {
            self.compactor.stop(&mut self.spare);
        }
        for frame in self.spare.drain(keep.min(self.spare.len())..) {
            trunk.release(frame, slot);
        }
    }
}

impl Segment {
    /// Publishes the local changes: all become visible to others' updates at once. Returns the new
    /// version, or the present one if nothing was changed.
    ///
    /// Pages are compared and copied before the commit lock is taken, side by side with other
    /// processes' commits; under it some ten nanoseconds a page remain. Waits for other commits, never
    /// for updates. O(pages written + tracked pages / 500).
    ///
    /// If this process has taken a page fault since the last commit, as it does when it writes to a page for the first
    /// time, the kernel is asked which pages were written to: half a microsecond for each MiB of the segment, unless
    /// [`Segment::touch`] or [`Segment::scan_only`] has said where. Otherwise the commit costs the same at any size.
    /// Writes of other processes into the copy are another matter:
    /// [`Options::foreign_writes`](crate::Options::foreign_writes).
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// assert_eq!(ours.commit()?, 1);
    /// theirs.as_mut_slice()[8] = 2;
    /// assert!(matches!(theirs.commit(), Err(Error::Behind { .. })));
    /// theirs.update()?;
    /// assert_eq!(theirs.commit()?, 2);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Behind`] if the trunk has changes that are not in the working copy; [`Error::Unlinked`];
    /// [`Error::NoSpace`]; [`Error::LockTimeout`]; [`Error::ReadOnly`]; [`Error::Corrupt`]; [`Error::Forked`]. The
    /// local changes stay local.
    ///
    /// *Source*: CONVERSION, sections 3.1, 3.5 and 3.7.
    pub fn commit(&mut self) -> Result<u64> {
        self.check_writable()?;
        self.check_between()?;
        self.check_named()?;
        self.check_current()?;
        self.prepare()?;
        self.check_base()?;
        if self.prepared.records.is_empty() {
            return Ok(self.unchanged());
        }
        let trunk = Arc::clone(&self.trunk);
        let result = trunk
            .lock(self.slot)
            .and_then(|guard| self.finish(&trunk, &guard));
        self.after(result)
    }

    /// Updates and commits in one step: where both sides changed a unit the local one wins. Never [`Error::Behind`]: if
    /// others commit meanwhile, the rest is merged under the commit lock.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// ours.commit()?;
    /// theirs.as_mut_slice()[0] = 2;
    /// theirs.commit_merge()?; // the local one wins
    /// ours.update()?;
    /// assert_eq!(ours.as_slice()[0], 2);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BaseLost`], and those of [`Segment::commit`] but [`Error::Behind`]. After an error the update may have
    /// been done.
    pub fn commit_merge(&mut self) -> Result<u64> {
        self.merge_and_commit(&mut Policy::LocalWins)
    }

    /// Updates and commits in one step, unless both sides changed a unit: then nothing is committed.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// ours.commit()?;
    /// theirs.as_mut_slice()[1] = 2; // the same unit of eight bytes
    /// assert!(matches!(theirs.commit_merge_validated(), Err(Error::Conflict { .. })));
    /// assert_eq!(theirs.as_slice()[..2], [0, 2]); // as it was
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`]; those of [`Segment::commit_merge`].
    pub fn commit_merge_validated(&mut self) -> Result<u64> {
        self.merge_and_commit(&mut Policy::Validate)
    }

    fn merge_and_commit(&mut self, policy: &mut Policy<'_>) -> Result<u64> {
        self.check_writable()?;
        self.check_between()?;
        self.check_named()?;
        self.update_and_prepare(policy)?;
        if self.prepared.records.is_empty() {
            return Ok(self.unchanged());
        }
        let trunk = Arc::clone(&self.trunk);
        let result = trunk.lock(self.slot).and_then(|guard| {
            if trunk.position() != self.position {
                self.update_by(policy)?;
                self.prepare_again()?;
            }
            self.finish(&trunk, &guard)
        });
        self.after(result)
    }

    /// Ends a commit of no changes, and returns the present version.
    fn unchanged(&mut self) -> u64 {
        self.settled();
        self.published = 0;
        self.copy.committed(std::iter::empty());
        self.version
    }

    /// Updates and prepares; does so again if other processes commit meanwhile and the base is lost.
    fn update_and_prepare(&mut self, policy: &mut Policy<'_>) -> Result<()> {
        let mut done = Ok(());
        for _ in 0..TRIES {
            self.update_by(policy)?;
            self.prepare()?;
            done = self.check_base();
            if done.is_ok() {
                break;
            }
        }
        // Never `Behind`: it is others that commit too fast for this process.
        done.map_err(|_| Error::Busy)
    }

    /// Returns an error unless the pages were compared with their base, and not with other content that was written
    /// there since. A page that seems unchanged would be forgotten. Later changes of the base are seen under the lock.
    fn check_base(&mut self) -> Result<()> {
        if cfg!(fyris_mutant = "segment_base_unchecked") || self.keeps() {
            return Ok(());
        }
        self.prepared.cancel();
        Err(Error::Behind {
            local: self.position,
            trunk: self.trunk.position(),
        })
    }

    /// Does step 1 of a commit: returns an error if the trunk holds new changes.
    fn check_current(&self) -> Result<()> {
        let trunk = self.trunk.position();
        match trunk == self.position {
            true => Ok(()),
            false => Err(Error::Behind {
                local: self.position,
                trunk,
            }),
        }
    }

    /// Does step 2: finds the written pages, and fills frames with them.
    fn prepare(&mut self) -> Result<()> {
        if self.copy.counts_faults() {
            self.populate_log();
        }
        let mut candidates = std::mem::take(&mut self.prepared.candidates);
        let result = self
            .copy
            .collect(&mut candidates)
            .and_then(|()| self.fill(&candidates));
        self.prepared.candidates = candidates;
        if result.is_err() {
            self.prepared.cancel();
        }
        result
    }

    /// Populates the log's next part: each of its pages would be a fault when an entry is written there, and a scan.
    fn populate_log(&mut self) {
        let populated = &mut self.populated;
        let ring = self.trunk.ring();
        if populated.start < ring.start {
            // The log has got longer: what was populated is not where the next entries are.
            *populated = self.position..self.position;
        }
        let whole = populated.end - populated.start >= ring.len as u64;
        if whole || self.position + log::AHEAD / 2 < populated.end {
            return;
        }
        if self.position >= populated.end {
            *populated = self.position..self.position;
        }
        populated.end = self.trunk.populate_log(populated.end);
    }

    fn fill(&mut self, candidates: &[u32]) -> Result<()> {
        let Prepared {
            spare, compactor, ..
        } = &mut self.prepared;
        compactor.begin(self.trunk.is_read_in_place(), candidates.len(), spare);
        let missing = candidates.len().saturating_sub(spare.len());
        if missing > 0 {
            self.reserve(missing)?;
        }
        self.prepared.ascend(candidates.len());
        // Release fence: pairs with the Acquire fence in `keeps`. A frame we are about to write may have been
        // another process's until it was evicted: if that one sees our words, it sees the eviction.
        fence(Ordering::Release);
        let mut records = std::mem::take(&mut self.prepared.records);
        let done = self.fill_all(candidates, &mut records);
        let done = done.and_then(|()| self.compact(&mut records));
        self.prepared.records = records;
        done
    }

    fn fill_all(&mut self, candidates: &[u32], records: &mut Vec<Image>) -> Result<()> {
        for (at, &page) in candidates.iter().enumerate() {
            let next = candidates.get(at + 1).map_or(page, |&next| next);
            let home = self.prepared.compactor.take(page);
            let Some(frame) = home.or_else(|| self.prepared.spare.pop()) else {
                return Err(no_frames("page frames", candidates.len() - at));
            };
            let count = records.len();
            records.push(Image::EMPTY);
            if !self.fill_frame(page, frame, next, &mut records[count])? {
                records.truncate(count);
                let Prepared {
                    spare, compactor, ..
                } = &mut self.prepared;
                match home {
                    Some(frame) => compactor.put(page, frame, spare),
                    None => spare.push(frame),
                }
            }
            failpoint!("frame filled");
        }
        Ok(())
    }

    /// Reserves frames. If there are none left the log goes on without laggards, and at worst these are evicted.
    fn reserve(&mut self, missing: usize) -> Result<()> {
        let Prepared {
            spare,
            cursor,
            compactor,
            ..
        } = &mut self.prepared;
        let target = spare.len() + missing;
        let mut done = self.trunk.reserve(missing, self.slot, cursor, spare);
        if done.is_err() {
            compactor.stop(spare);
        }
        for worst in [false, true] {
            if spare.len() >= target {
                return Ok(());
            }
            if !matches!(done, Err(Error::NoSpace { .. })) {
                break;
            }
            let guard = self.trunk.lock(self.slot)?;
            self.trunk.reclaim_all(&guard, self.slot, worst)?;
            drop(guard);
            let missing = target.saturating_sub(spare.len());
            done = self.trunk.reserve(missing, self.slot, cursor, spare);
        }
        done
    }

    /// Copies a page into a frame and says in `image` which words differ from its base; false if none does. Page `next`
    /// comes next.
    #[inline]
    fn fill_frame(&self, page: u32, frame: u32, next: u32, image: &mut Image) -> Result<bool> {
        let base = self.trunk.frame(self.base[page as usize])?;
        let out = self.trunk.frame_mut(frame)?;
        let next = [
            self.copy.page(next as usize).cast_const(),
            self.trunk.frame(self.base[next as usize])?,
        ];
        let local = self.copy.page(page as usize);
        // SAFETY: pages by `page` and `frame`.
        if self.copy.is_idle(page as usize) && unsafe { words::diff(local, base) }.is_empty() {
            return Ok(false);
        }
        // SAFETY: pages by `page`, `frame` and `frame_mut`; the frame is reserved by us and no base.
        let mut mask = unsafe { words::diff_copy(local, base, out, next) };
        for &(_, word, bits) in self
            .private_words
            .iter()
            .filter(|private| private.0 == page)
        {
            let word = usize::from(word);
            // SAFETY: as above; private words are below WORDS.
            unsafe {
                let (before, now) = (load(base, word), load(out, word));
                let public = before & bits | now & !bits;
                store(out, word, public);
                if public == before {
                    mask.clear(word);
                }
            }
        }
        if mask.is_empty() {
            return Ok(false);
        }
        self.trunk.ask_for(page as usize, frame);
        image.set_change(page, self.base[page as usize], frame);
        // SAFETY: as above.
        unsafe { image.set_words(&mask, base, out) };
        Ok(true)
    }

    /// Fills the frames of the pages again that an update under the lock has changed.
    fn prepare_again(&mut self) -> Result<()> {
        let mut records = std::mem::take(&mut self.prepared.records);
        let mut failed = None;
        records.retain_mut(|image| {
            let head = image.head();
            let base = self.base[head.page as usize];
            let is_stale_move = cfg!(fyris_mutant = "segment_stale_move") && image.is_move();
            if base == head.before || is_stale_move {
                return true;
            }
            if image.is_move() {
                self.prepared.spare.push(head.frame);
                return false;
            }
            match self.fill_frame(head.page, head.frame, head.page, image) {
                Ok(true) => (),
                // Merging has made the page equal to the trunk's.
                Ok(false) => {
                    self.prepared.spare.push(head.frame);
                    return false;
                }
                Err(error) => failed = Some(error),
            }
            true
        });
        self.prepared.records = records;
        match failed {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Does steps 3 to 7, under the lock; returns the version of the commit:
    /// * what was published and not applied, by a process that died, is applied first (`settled`);
    /// * if the trunk has moved since step 1, that is [`Error::Behind`], and nothing has happened;
    /// * if the log has no room, its tail moves, at worst past processes that lag, which are overrun (`make_room`);
    /// * the entries are written, the store of the position is the commit, and heads and `applied` follow
    ///   (`Trunk::publish`);
    /// * the base of each page is now the frame that was published, and the slot moves its place and then its base
    ///   there;
    /// * the tail moves up behind the slowest process that holds the log (`advance`).
    fn finish(&mut self, trunk: &Trunk, lock: &Guard<'_>) -> Result<u64> {
        let mut bounds = trunk.settled(lock)?;
        self.check_current()?;
        if !trunk.holds(self.slot, self.position) && !trunk.hold(self.slot, self.position) {
            return Err(Error::Corrupt("a current slot was overrun"));
        }
        let version = self.version.wrapping_add(1);
        let records = &mut self.prepared.records;
        let of_version = |image: &mut Image| image.set_version(version);
        records.iter_mut().for_each(of_version);
        if records.is_empty() {
            return Ok(self.version);
        }
        self.publish(&mut bounds, version)
    }

    fn publish(&mut self, bounds: &mut Bounds, version: u64) -> Result<u64> {
        let (trunk, slot) = (&self.trunk, self.slot);
        let Prepared {
            records,
            spare,
            compactor,
            ..
        } = &mut self.prepared;
        // The frames replaced longest ago are reserved for the next commit: they are still warm in the cache.
        let mut free = |frame, page| {
            if trunk.take_back(frame, slot) {
                compactor.freed(frame, page, spare);
            }
        };
        trunk.make_room(bounds, records.len(), &mut free)?;
        let end = trunk.publish(bounds, records);
        for record in records.iter() {
            let head = record.head();
            self.base[head.page as usize] = head.frame;
        }
        // No other process may overrun this one while it has the lock.
        trunk.advance_place(slot, self.position, end);
        trunk.settle(slot, end);
        self.position = end;
        self.version = version;
        trunk.count_commit(slot);
        match self.options.lag.map(|lag| lag as u64) {
            // Laggards are looked for now and then only.
            Some(lag) if end - bounds.tail > 2 * lag => {
                trunk.overrun_below(end - lag);
                trunk.advance(bounds, end - lag, free);
            }
            _ => {
                trunk.advance(bounds, 0, free);
            }
        }
        Ok(version)
    }

    /// Finishes after the lock: heats pages and gives spare frames back, or takes the prepared ones back.
    fn after(&mut self, result: Result<u64>) -> Result<u64> {
        let pages = ..self.pages();
        let Prepared {
            spare, compactor, ..
        } = &mut self.prepared;
        compactor.keep_homes(&self.base[pages], spare);
        let Ok(version) = result else {
            self.prepared.cancel();
            return result;
        };
        self.settled();
        let changes = self
            .prepared
            .records
            .iter()
            .filter(|image| !image.is_move());
        let pages = changes.map(|image| image.head().page);
        self.published = pages.clone().count();
        self.copy.committed(pages);
        let keep = SPARE.max(2 * self.prepared.records.len());
        self.prepared.records.clear();
        if self.prepared.spare.len() > keep {
            self.prepared.give_back(&self.trunk, self.slot, keep);
        }
        if self.trunk.is_loose() && !self.prepared.solid {
            self.prepared.solid = !self.trunk.shrink(self.slot);
        }
        Ok(version)
    }

    /// Makes the segment longer, for every process; new bytes are zero. Others see the new length at their next update:
    /// growth is a version of its own. A smaller size changes nothing. O(new pages).
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let mut ours = Segment::nameless(4096, &Options::new().max_size(1 << 20))?;
    /// let mut theirs = ours.origin().checkout()?;
    /// ours.grow(8192)?;
    /// assert_eq!((ours.len(), theirs.len(), ours.version()), (8192, 4096, 1)); // a version of its own
    /// theirs.update()?;
    /// assert_eq!(theirs.len(), 8192);
    /// assert!(matches!(ours.grow(1 << 21), Err(Error::TooLarge { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] beyond the `max_size` of its creation; [`Error::NoSpace`] if there is none for log
    /// and index, some 270 bytes a page; [`Error::ReadOnly`]; [`Error::Unlinked`]; the errors of the lock.
    pub fn grow(&mut self, size: usize) -> Result<()> {
        self.check_writable()?;
        self.check_named()?;
        let max = self.max_len();
        if size > max {
            return Err(Error::TooLarge { asked: size, max });
        }
        let trunk = Arc::clone(&self.trunk);
        let guard = trunk.lock(self.slot)?;
        let now = trunk.size()?;
        if size > now {
            let mut bounds = trunk.settled(&guard)?;
            let mut freed = Vec::new();
            let room = trunk.make_room(&mut bounds, 1, |frame, _| freed.push(frame));
            freed.into_iter().for_each(|frame| {
                if trunk.take_back(frame, self.slot) {
                    trunk.release(frame, self.slot);
                }
            });
            room?;
            trunk.make_longer(&mut bounds, size.div_ceil(PAGE))?;
            trunk.set_size(size);
            failpoint!("size set");
            let version = trunk.version().wrapping_add(1);
            let from = bounds.position;
            let end = trunk.publish(&mut bounds, &mut [Image::grown(version)]);
            if self.position == from && trunk.advance_place(self.slot, from, end) {
                trunk.settle(self.slot, end);
                self.position = end;
                self.version = version;
            }
        }
        drop(guard);
        self.extend_to(size.max(now))
    }
}

#[cfg(test)]
mod tests;
