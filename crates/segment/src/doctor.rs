//! Looking a segment over from outside, and repairing it.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::map::ForkMark;
use crate::name::Place;
use crate::trunk::Trunk;
use crate::trunk::entry::{Head, One};
use crate::trunk::layout::SLOTS;
use crate::trunk::lock::Guard;
use crate::trunk::slots::Process;
use crate::words::load;

/// A look at a segment without checking it out: who is attached, what is retained, is it sound.
///
/// Opening takes a slot, so that the doctor may hold the lock and be found dead itself.
#[derive(Debug)]
pub struct Doctor {
    trunk: Trunk,
    slot: usize,
    fork: ForkMark,
    /// Held with the commit lock, which names the slot: it cannot tell two threads of one slot apart.
    thread: Mutex<()>,
}

/// Both locks, let go in this order: a thread that found its own slot's name in the commit lock would take it over.
struct Held<'a> {
    commits: Guard<'a>,
    _thread: MutexGuard<'a, ()>,
}

/// What the doctor sees.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Bytes in the segment, and how many it may have.
    pub size: usize,
    /// The size that it may grow to, in bytes.
    pub max_size: usize,
    /// The editing unit in bytes.
    pub unit: usize,
    /// The trunk's version.
    pub version: u64,
    /// The trunk's log position: page changes ever published.
    pub position: u64,
    /// Entries of the log that somebody may still need.
    pub log_used: u64,
    /// Entries that the log can hold.
    pub log_size: usize,
    /// Page frames by use: in the trunk's newest version.
    pub frames_current: usize,
    /// Older versions of pages, retained for processes that have not updated.
    pub frames_retained: usize,
    /// Reserved by processes for their next commit.
    pub frames_reserved: usize,
    /// Free.
    pub frames_free: usize,
    /// How often a process was cut off for lagging.
    pub cuts: u64,
    /// The attached processes, this one's slot left out.
    pub processes: Vec<Attached>,
}

/// A process that has the segment checked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attached {
    /// Its id.
    pub pid: u32,
    /// Whether it still runs.
    pub alive: bool,
    /// Page changes that it has not merged yet; `None` if it was cut off.
    pub behind: Option<u64>,
    /// Commits it has made.
    pub commits: u64,
}

/// What a repair did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Repaired {
    /// Page changes that a dead process had published but not entered into the index.
    pub replayed: usize,
    /// Dead processes forgotten.
    pub reaped: usize,
    /// Page frames freed: what dead processes had lost, or kept from being reused.
    pub freed_frames: usize,
}

impl Doctor {
    /// Opens an existing segment by name or path.
    ///
    /// # Errors
    ///
    /// Those of opening, see [`crate::Segment::checkout`].
    pub fn open(name: impl AsRef<Path>) -> Result<Doctor> {
        let trunk = Trunk::open(&Place::of(name.as_ref())?)?;
        let fork = ForkMark::new()?;
        let slot = trunk.claim(Process::me()?)?;
        Ok(Doctor {
            trunk,
            slot,
            fork,
            thread: Mutex::new(()),
        })
    }

    /// Describes the segment. Exact while nobody commits. O(frames + pages).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`], [`Error::LockTimeout`].
    pub fn report(&self) -> Result<Report> {
        let _lock = self.lock()?;
        let (geometry, bounds) = (self.trunk.geometry, self.trunk.bounds()?);
        let frames = self.trunk.count_frames();
        let mut current = 0;
        for page in 0..geometry.pages {
            current += usize::from(self.trunk.head(page)?.0 != 0);
        }
        let others = (0..SLOTS).filter(|&slot| slot != self.slot);
        let processes = others
            .filter_map(|slot| self.trunk.view(slot))
            .map(|view| Attached {
                pid: view.owner.pid(),
                alive: view.owner.alive(),
                behind: view.position.map(|at| bounds.position.saturating_sub(at)),
                commits: view.commits,
            });
        Ok(Report {
            size: self.trunk.size()?,
            max_size: geometry.pages * crate::PAGE,
            unit: geometry.unit.bytes(),
            version: self.trunk.version(),
            position: bounds.position,
            log_used: bounds.position - bounds.tail,
            log_size: geometry.log,
            frames_current: current,
            frames_retained: frames.in_trunk.saturating_sub(current),
            frames_reserved: frames.reserved,
            frames_free: frames.free,
            cuts: self.trunk.cuts(),
            processes: processes.collect(),
        })
    }

    /// Checks every invariant that can be checked from outside: bounds, the log's entries, that no two pages share a
    /// frame, that what is named is marked as the trunk's and nothing else is. O(frames + pages).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] with the first thing found.
    pub fn check(&self) -> Result<()> {
        let _lock = self.lock()?;
        self.trunk.check_length()?;
        self.trunk.size()?;
        let bounds = self.trunk.bounds()?;
        if bounds.applied != bounds.position {
            return Err(Error::Corrupt("published changes are not in the index"));
        }
        self.check_heads()?;
        self.check_log(bounds.tail..bounds.position)?;
        let used = self.trunk.used(&bounds)?;
        let ready = self.trunk.count_frames().ready;
        if used.iter().skip(ready + 1).any(|&used| used) {
            return Err(Error::Corrupt("a frame beyond the file's space is in use"));
        }
        for (frame, &used) in used.iter().enumerate().take(ready + 1).skip(1) {
            if used != self.trunk.is_in_trunk(frame as u32) {
                return Err(Error::Corrupt("a frame's state does not fit its use"));
            }
        }
        Ok(())
    }

    fn lock(&self) -> Result<Held<'_>> {
        if self.fork.forked() {
            return Err(Error::Forked);
        }
        // A panic of another thread has let the commit lock go.
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Held {
            commits: self.trunk.lock(self.slot)?,
            _thread: thread,
        })
    }

    fn check_heads(&self) -> Result<()> {
        let mut seen = vec![false; self.trunk.geometry.frames + 1];
        for page in 0..self.trunk.geometry.pages {
            let (frame, _) = self.trunk.head(page)?;
            if frame != 0 && std::mem::replace(&mut seen[frame as usize], true) {
                return Err(Error::Corrupt("two pages have one frame"));
            }
        }
        Ok(())
    }

    /// Each change of a page starts from the frame that the one before left.
    fn check_log(&self, positions: std::ops::Range<u64>) -> Result<()> {
        let mut last = std::collections::HashMap::new();
        for position in positions {
            let head = self.trunk.entry(position)?;
            if head.grown() {
                continue;
            }
            let before = last.insert(head.page, head.frame);
            if before.is_some_and(|frame| frame != head.before) {
                return Err(Error::Corrupt("a page's changes do not follow each other"));
            }
            self.check_few(position, &head)?;
        }
        for (page, frame) in last {
            if self.trunk.head(page as usize)?.0 != frame {
                return Err(Error::Corrupt("a page head is not the last change"));
            }
        }
        Ok(())
    }

    /// Words in the log are those of the frames.
    fn check_few(&self, position: u64, head: &Head) -> Result<()> {
        let (before, after) = (
            self.trunk.frame(head.before)?,
            self.trunk.frame(head.frame)?,
        );
        let right = |one: One| {
            // SAFETY: pages by `frame`; the words of an entry are below WORDS.
            let values = unsafe { (load(before, one.word.into()), load(after, one.word.into())) };
            values == (one.before, one.after)
        };
        match self.trunk.few(position, head).all(right) {
            true => Ok(()),
            false => Err(Error::Corrupt("a word in the log is not that of its frame")),
        }
    }

    /// Repairs what dead processes have left: completes published commits, forgets the processes, frees
    /// their frames. The next commit that needs it does the same; nothing living is harmed.
    ///
    /// # Errors
    ///
    /// [`Error::LockTimeout`], [`Error::Corrupt`].
    pub fn repair(&self) -> Result<Repaired> {
        let lock = self.lock()?;
        let repair = self.trunk.recover(&lock.commits)?;
        Ok(Repaired {
            replayed: repair.replayed,
            reaped: repair.reaped,
            freed_frames: repair.lost_frames,
        })
    }
}

impl Drop for Doctor {
    fn drop(&mut self) {
        match self.fork.forked() {
            // Slot and mapping are the parent's.
            true => self.trunk.forget(),
            false => self.trunk.detach(self.slot),
        }
    }
}
