//! Looking a segment over from outside, and repairing it.

use std::cmp::Reverse;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Options;
use crate::copy::runs_of_frames as runs;
use crate::error::{Error, Result};
use crate::name::Location;
use crate::trunk::Trunk;
use crate::trunk::create::ANY_MODE;
use crate::trunk::entry::{Head, One};
use crate::trunk::lock::Guard;
use crate::trunk::slots::{Desk, Process};
use crate::words::load;

/// Runs that a report has.
const LONGEST: usize = 8;

/// A look at a segment without checking it out: its processes, the frames that it keeps, and whether it is sound.
///
/// It needs no slot of the attached processes': the doctor has one of its own, for one call at a time, so that it may
/// hold the lock and be found dead itself.
///
/// ```
/// # use fyris_segment::{Error, Options, Segment};
/// let name = format!("doctor-{}", std::process::id());
/// let segment = Segment::checkout(&name, 4096, &Options::new())?;
/// let doctor = fyris_segment::Doctor::open(&name)?;
/// doctor.check()?;
/// assert_eq!(doctor.report()?.processes.len(), 1);
/// # Segment::unlink(&name)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Doctor {
    trunk: Trunk,
    /// Held with the doctor's slot, so that two threads do not take turns by sleeping.
    thread: Mutex<()>,
}

/// All three, let go in this order: the next owner of the slot may take over a lock in its name.
struct Locks<'a> {
    commits: Guard<'a>,
    _desk: Desk<'a>,
    _thread: MutexGuard<'a, ()>,
}

/// The state of a segment, as the doctor sees it.
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
    /// Entries of the log that a process may still need.
    pub log_used: u64,
    /// Entries that the log can hold; it gets longer with the segment.
    pub log_size: usize,
    /// Page frames by use: in the trunk's newest version.
    pub frames_current: usize,
    /// Older versions of pages, retained for processes that have not updated.
    pub frames_retained: usize,
    /// The part of these that is kept for processes that the log has left behind
    /// ([`Options::history`](crate::Options::history)).
    pub frames_kept: usize,
    /// The most frames that may be kept so.
    pub frames_kept_max: usize,
    /// Reserved by processes for their next commit.
    pub frames_reserved: usize,
    /// Free.
    pub frames_free: usize,
    /// Free, without space: it was given back to the file system.
    pub frames_holes: usize,
    /// Runs of pages whose current frames follow each other, as readers in place map them in one piece
    /// ([`Options::in_place`](crate::Options::in_place)).
    pub runs: usize,
    /// The pages of the longest of these runs, at most eight, the longest first.
    pub longest_runs: Vec<Range<usize>>,
    /// The number of times that the log went on without a process.
    pub overruns: u64,
    /// The number of times that a process was evicted, as the frames of its base were more than may be kept.
    pub evictions: u64,
    /// Processes that may be attached.
    pub slots: usize,
    /// The attached processes.
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
    /// Page changes that it has not merged yet; `None` if it was evicted, or is just checking out.
    pub behind: Option<u64>,
    /// Commits it has made.
    pub commits: u64,
    /// It reads in place ([`Options::in_place`](crate::Options::in_place)): it is never evicted.
    pub in_place: bool,
}

/// The work of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Repaired {
    /// Page changes that a dead process had published but not entered into the index.
    pub replayed: usize,
    /// Dead processes forgotten.
    pub reaped: usize,
    /// Page frames freed: those that dead processes had lost, or kept from being reused.
    pub freed_frames: usize,
}

impl Doctor {
    /// Opens an existing segment by name or path.
    ///
    /// ```
    /// use fyris_segment::{Doctor, Error};
    ///
    /// assert!(matches!(Doctor::open("no-such-segment"), Err(Error::NotFound(_)))); // it makes none
    /// ```
    ///
    /// # Errors
    ///
    /// As for opening, see [`crate::Segment::checkout`].
    pub fn open(name: impl AsRef<Path>) -> Result<Doctor> {
        let trunk = Trunk::open(
            &Location::of(name.as_ref())?,
            &Options::new().mode(ANY_MODE),
        )?;
        Ok(Doctor {
            trunk,
            thread: Mutex::new(()),
        })
    }

    /// Describes the segment. Exact while no process commits. O(frames + pages).
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("report-{}", std::process::id());
    /// let mut segment = Segment::checkout(&name, 4096, &Options::new())?;
    /// let mut laggard = segment.origin().checkout()?;
    /// segment.as_mut_slice()[0] = 1;
    /// segment.commit()?;
    /// let report = fyris_segment::Doctor::open(&name)?.report()?;
    /// let behind: Vec<_> = report.processes.iter().map(|process| process.behind).collect();
    /// assert_eq!((report.version, behind), (1, vec![Some(0), Some(1)])); // page changes
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`], [`Error::LockTimeout`].
    pub fn report(&self) -> Result<Report> {
        let _lock = self.lock()?;
        let (geometry, bounds) = (self.trunk.geometry, self.trunk.bounds()?);
        let frames = self.trunk.count_frames();
        let heads = (0..self.trunk.pages()?).map(|page| Ok(self.trunk.head(page)?.0));
        let heads = heads.collect::<Result<Vec<u32>>>()?;
        let mut runs: Vec<Range<usize>> = runs(&heads).collect();
        let count = runs.len();
        runs.sort_by_key(|run| Reverse(run.len()));
        runs.truncate(LONGEST);
        let current = heads.iter().filter(|&&frame| frame != 0).count();
        let processes = (0..geometry.slots)
            .filter_map(|slot| self.trunk.view(slot))
            .map(|view| Attached {
                pid: view.owner.pid(),
                alive: view.owner.alive(),
                behind: view.position.map(|at| bounds.position.saturating_sub(at)),
                commits: view.commits,
                in_place: view.in_place,
            });
        Ok(Report {
            size: self.trunk.size()?,
            max_size: geometry.pages * crate::PAGE,
            unit: geometry.unit.bytes(),
            version: self.trunk.version(),
            position: bounds.position,
            log_used: bounds.position - bounds.tail,
            log_size: self.trunk.ring().len,
            frames_current: current,
            frames_retained: frames.in_trunk.saturating_sub(current),
            frames_kept: self.trunk.kept_count(),
            frames_kept_max: geometry.kept,
            frames_reserved: frames.reserved,
            frames_free: frames.free,
            frames_holes: frames.holes,
            runs: count,
            longest_runs: runs,
            overruns: self.trunk.overruns(),
            evictions: self.trunk.evictions(),
            slots: geometry.slots,
            processes: processes.collect(),
        })
    }

    /// Checks every invariant that can be checked from outside: bounds, the log's entries, that no two pages share a
    /// frame, that what is named is marked as the trunk's and nothing else is. O(frames + pages).
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("check-{}", std::process::id());
    /// let segment = Segment::checkout(&name, 4096, &Options::new())?;
    /// fyris_segment::Doctor::open(&name)?.check()?;
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
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
        self.check_kept(bounds.tail)?;
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

    fn lock(&self) -> Result<Locks<'_>> {
        if self.trunk.forked() {
            return Err(Error::Forked);
        }
        // A panic of another thread has let the commit lock go.
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let desk = self.trunk.take_desk(Process::me()?)?;
        Ok(Locks {
            commits: self.trunk.lock(desk.slot())?,
            _desk: desk,
            _thread: thread,
        })
    }

    fn check_heads(&self) -> Result<()> {
        let mut seen = vec![false; self.trunk.geometry.frames + 1];
        for page in 0..self.trunk.pages()? {
            let (frame, _) = self.trunk.head(page)?;
            if frame != 0 && std::mem::replace(&mut seen[frame as usize], true) {
                return Err(Error::Corrupt("two pages have one frame"));
            }
        }
        Ok(())
    }

    /// Checks that each change of a page starts from the frame that the one before left.
    fn check_log(&self, positions: Range<u64>) -> Result<()> {
        let mut last = std::collections::HashMap::new();
        let log = self.trunk.log();
        for position in positions {
            let head = log.entry(position)?;
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

    /// Checks that kept frames have left the log, and no page or other entry has them.
    fn check_kept(&self, tail: u64) -> Result<()> {
        let mut seen = vec![false; self.trunk.geometry.frames + 1];
        for page in 0..self.trunk.pages()? {
            seen[self.trunk.head(page)?.0 as usize] = true;
        }
        let mut count = 0;
        for (_, kept) in self.trunk.kept() {
            let number = seen.get_mut(kept.frame as usize);
            let seen = number.ok_or(Error::Corrupt("a kept frame's number"))?;
            if std::mem::replace(seen, true) {
                return Err(Error::Corrupt("a kept frame is in use elsewhere"));
            }
            if kept.to >= tail {
                return Err(Error::Corrupt("a kept frame is still in the log"));
            }
            count += 1;
        }
        match count == self.trunk.kept_count() {
            true => Ok(()),
            false => Err(Error::Corrupt("the number of kept frames")),
        }
    }

    /// Checks that the words in the log are those of the frames.
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
        match self.trunk.log().few(position, head).all(right) {
            true => Ok(()),
            false => Err(Error::Corrupt("a word in the log is not that of its frame")),
        }
    }

    /// Repairs what dead processes have left: completes published commits, forgets the processes, frees
    /// their frames. The next commit that needs it does the same; nothing living is harmed.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("repair-{}", std::process::id());
    /// let segment = Segment::checkout(&name, 4096, &Options::new())?;
    /// let repaired = fyris_segment::Doctor::open(&name)?.repair()?;
    /// assert_eq!(repaired.reaped, 0); // nobody has died
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
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
