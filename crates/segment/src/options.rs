//! Options of a checkout.

use std::ops::Range;

use crate::PAGE;
use crate::error::{Error, Result};
use crate::trunk::layout::Shape;
use crate::words::Unit;

/// The way in which writes to the working copy are noticed.
///
/// ```
/// use fyris_segment::{Error, Options, Segment, Tracking};
///
/// let segment = Segment::nameless(4096, &Options::new().tracking(Tracking::Signal))?;
/// assert_eq!(segment.tracking(), Tracking::Signal);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tracking {
    /// The best that the kernel has: `Userfault`, else `Signal`.
    #[default]
    Auto,
    /// userfaultfd in its asynchronous write-protect mode, read by PAGEMAP_SCAN (Linux 6.7).
    Userfault,
    /// mprotect and a SIGSEGV handler, which passes on every fault that is not its own.
    ///
    /// Writes of the kernel on behalf of a program raise no signal: `read` into pages that were not written since the
    /// last commit fails with `EFAULT` ([`Segment::touch`](crate::Segment::touch) them before). A handler for SIGSEGV
    /// that is installed after the checkout must pass on what is not its own, to the one that it replaces: otherwise
    /// the next write is fatal.
    Signal,
    /// Not at all: the program says by [`Segment::touch`](crate::Segment::touch) where it writes.
    /// No fault, no scan; bytes that were written and not declared may or may not be committed.
    Declared,
}

/// Permissions of a new segment's file, unless the options say otherwise.
const MODE: u32 = 0o600;
/// Slots of a new segment, unless the options say otherwise.
const SLOTS: usize = 1024;
/// Replaced pages that a new segment may keep for laggards, for each page that it may have; and at least.
const HISTORY: usize = 8;
const MIN_HISTORY: usize = 1024;

impl Tracking {
    /// Returns the name: `auto`, `userfault`, `signal` or `declared`.
    ///
    /// ```
    /// assert_eq!(fyris_segment::Tracking::default().name(), "auto");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Tracking::Auto => "auto",
            Tracking::Userfault => "userfault",
            Tracking::Signal => "signal",
            Tracking::Declared => "declared",
        }
    }
}

/// Options of a checkout. The default: create it if need be, writable, tracked, unit of 8 bytes.
///
/// ```
/// # use fyris_segment::{Error, Options, Segment};
/// let name = format!("options-{}", std::process::id());
/// let options = Options::new().max_size(1 << 30).unit(1);
/// let writer = Segment::checkout(&name, 4096, &options)?;
/// let reader = Segment::checkout(&name, 0, &Options::new().read_only(true))?;
/// assert_eq!((reader.max_len(), reader.unit()), (1 << 30, 1)); // fixed at its creation
/// # Segment::unlink(&name)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
    read_only: bool,
    pub(crate) tracking: Tracking,
    pub(crate) unit: Option<u32>,
    pub(crate) max_size: usize,
    pub(crate) slots: usize,
    pub(crate) history: Option<usize>,
    pub(crate) mode: u32,
    pub(crate) group: Option<u32>,
    pub(crate) private: Vec<Range<usize>>,
    /// Of the segment that was checked out by them ([`Segment::defer`](crate::Segment::defer)).
    pub(crate) deferred: Vec<Range<usize>>,
    pub(crate) places: Vec<Placement>,
    pub(crate) in_place: bool,
    pub(crate) foreign_writes: bool,
    pub(crate) one_writer: bool,
    pub(crate) lag: Option<usize>,
    pub(crate) after_unlink: bool,
}

/// Bytes of a working copy that are to be at an address.
#[derive(Debug, Clone)]
pub(crate) struct Placement {
    pub(crate) range: Range<usize>,
    pub(crate) address: usize,
    /// Mappings that are there now go.
    pub(crate) replace: bool,
}

impl Placement {
    pub(crate) fn pages(&self) -> Range<usize> {
        self.range.start / PAGE..self.range.end / PAGE
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            create: true,
            exclusive: false,
            read_only: false,
            tracking: Tracking::Auto,
            unit: None,
            max_size: 0,
            slots: SLOTS,
            history: None,
            mode: MODE,
            group: None,
            private: Vec::new(),
            deferred: Vec::new(),
            places: Vec::new(),
            in_place: false,
            foreign_writes: false,
            one_writer: false,
            lag: None,
            after_unlink: false,
        }
    }
}

impl Options {
    /// Returns the default.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("new-{}", std::process::id());
    /// let segment = Segment::checkout(&name, 4096, &Options::new())?;
    /// assert!(!segment.is_read_only());
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether a segment that does not exist is created (default: yes).
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let found = Segment::checkout("no-such-segment", 4096, &Options::new().create(false));
    /// assert!(matches!(found, Err(Error::NotFound(_))));
    /// ```
    pub fn create(mut self, yes: bool) -> Self {
        self.create = yes;
        self
    }

    /// Demands that the segment is new (default: no).
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("exclusive-{}", std::process::id());
    /// let options = Options::new().exclusive(true);
    /// let segment = Segment::checkout(&name, 4096, &options)?;
    /// assert!(matches!(Segment::checkout(&name, 4096, &options), Err(Error::Exists(_))));
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn exclusive(mut self, yes: bool) -> Self {
        self.exclusive = yes;
        self
    }

    /// Makes the working copy read-only, if `yes`: nothing is tracked, commits are errors.
    ///
    /// It needs no more than permission to read the file. With permission to write, too, it takes a slot, and its
    /// updates wait for no process. Without, the segment does not know of it and keeps nothing for it: an update looks
    /// at every page head, and again if a process commits meanwhile. Nearly always that is over at once; beside commits
    /// that follow each other faster than a look takes (a few ns a page) it may be [`Error::Busy`], after ten seconds.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("read-only-{}", std::process::id());
    /// Segment::checkout(&name, 4096, &Options::new())?;
    /// let mut reader = Segment::checkout(&name, 0, &Options::new().read_only(true))?;
    /// assert!(reader.as_mut_slice().is_empty()); // nothing to write to
    /// assert!(matches!(reader.commit(), Err(Error::ReadOnly)));
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn read_only(mut self, yes: bool) -> Self {
        self.read_only = yes;
        self
    }

    /// Makes the working copy read-only and shows the trunk's own pages in it, if `yes`. Pages that an update changes
    /// become copies. So a reader takes memory only for pages that were changed while it was attached, and a checkout
    /// maps pages instead of copying them: a run of pages that lie side by side in the file in one piece. Runs of less
    /// than four pages are copied.
    ///
    /// A commit of a whole array makes one run of it; commits of scattered pages break runs. Once a process has read a
    /// segment in place, commits of up to 32 pages mend them: each moves at most one page more than it changes, which
    /// takes about as long again. So the first reader after thousands of scattered commits copies nearly everything,
    /// and one that comes as many commits later next to nothing. A page whose former version another process still has
    /// is mended when that one has updated, and none while a process lags by more than a quarter of the log.
    /// [`Doctor`](crate::Doctor) shows the longest runs that there are; the example `in_place_runs` shows what readers
    /// copy after many kinds of commits.
    ///
    /// The price: the segment keeps the pages that this process sees for as long as it does not update, and never
    /// evicts it ([`Options::history`]). If it stands still while others change more pages than the log and the history
    /// hold, their commits are [`Error::NoSpace`] until it updates, lets go or dies. [`Doctor`](crate::Doctor) shows
    /// the processes that read in place. Cannot be combined with [`Options::place`].
    ///
    /// ```
    /// use fyris_segment::{Error, Options, PAGE, Segment};
    ///
    /// let name = format!("in-place-{}", std::process::id());
    /// let mut writer = Segment::checkout(&name, 1000 * PAGE, &Options::new())?;
    /// writer.as_mut_slice().fill(1);
    /// writer.commit()?;
    /// let mut reader = Segment::checkout(&name, 0, &Options::new().in_place(true))?; // copies nothing
    /// writer.as_mut_slice()[5 * PAGE] = 2;
    /// writer.commit()?;
    /// assert_eq!(reader.as_slice()[5 * PAGE], 1);
    /// reader.update()?; // copies one page
    /// assert_eq!(reader.as_slice()[5 * PAGE], 2);
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn in_place(mut self, yes: bool) -> Self {
        self.in_place = yes;
        self
    }

    pub(crate) fn is_in_place(&self) -> bool {
        self.in_place
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only || self.in_place
    }

    /// Sets the way in which writes are noticed (default: the best way there is).
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment, Tracking};
    ///
    /// let segment = Segment::nameless(4096, &Options::new().tracking(Tracking::Declared))?;
    /// assert_eq!(segment.tracking(), Tracking::Declared);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn tracking(mut self, tracking: Tracking) -> Self {
        self.tracking = tracking;
        self
    }

    /// Sets the tracking to [`Tracking::Declared`].
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let mut segment = Segment::nameless(4096, &Options::new().declared())?;
    /// segment.touch(0..8)?; // or it need not be committed
    /// segment.as_mut_slice()[0] = 1;
    /// segment.commit()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn declared(self) -> Self {
        self.tracking(Tracking::Declared)
    }

    /// Sets the editing unit in bytes: 1, 2, 4, 8, 16, 32 or 64. Fixed when the segment is created
    /// (default 8); on an existing segment a different one is an error.
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let mut ours = Segment::nameless(4096, &Options::new().unit(1))?;
    /// let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// ours.commit()?;
    /// theirs.as_mut_slice()[1] = 2; // by units of eight bytes this would be a conflict
    /// theirs.update_validated()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn unit(mut self, bytes: u32) -> Self {
        self.unit = Some(bytes);
        self
    }

    /// Sets the size in bytes that the segment may grow to, fixed when it is created (default: its size).
    /// A page that the segment has not grown to costs address space only, in the file and in each process. A page that
    /// it has takes some 270 bytes of log and index besides itself.
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let mut segment = Segment::nameless(4096, &Options::new().max_size(1 << 30))?;
    /// segment.grow(1 << 20)?;
    /// assert_eq!((segment.len(), segment.max_len()), (1 << 20, 1 << 30));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn max_size(mut self, bytes: usize) -> Self {
        self.max_size = bytes;
        self
    }

    /// Sets the number of processes that may have the segment checked out at once, 1 to 65,536, fixed when it is
    /// created (default: 1,024). A slot costs 64 bytes.
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let ours = Segment::nameless(4096, &Options::new().slots(1))?;
    /// assert!(matches!(ours.origin().checkout(), Err(Error::TooManyProcesses(_))));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn slots(mut self, count: usize) -> Self {
        self.slots = count;
        self
    }

    /// Sets the number of bytes of replaced pages that the segment may keep for processes that lag by more than its
    /// log, fixed when it is created (default: eight times `max_size`, and at least 4 MiB).
    ///
    /// A process that lags so far needs the replaced pages that its working copy started from: at most as many as the
    /// segment has, and twice as many during an update. They are kept, and given up when it has updated or died, so the
    /// memory is used only while a process lags. If all of them together are more than this, or the file system has no
    /// more space, the process that is furthest behind is *evicted*: pages that it has changed and that others have
    /// changed too have no common base any more ([`Error::BaseLost`]). With 0 a process that lags by more than the log
    /// is evicted.
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// // Processes that lag by more than the log are evicted, rather than kept memory for.
    /// Segment::nameless(1 << 20, &Options::new().history(0))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn history(mut self, bytes: usize) -> Self {
        self.history = Some(bytes);
        self
    }

    /// Makes a byte range of whole units private, as the paper's flag for garbage collectors does: the bytes that this
    /// process writes there are never committed, and pages wholly inside are not tracked: no fault. An update brings
    /// the trunk's changes into units that were not written here. [`Segment::discard`] leaves them alone. If this
    /// process is evicted, pages wholly inside that the trunk has changed become the trunk's. Not for a
    /// [`VersionedMap`](crate::VersionedMap).
    ///
    /// [`Segment::discard`]: crate::Segment::discard
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let mut ours = Segment::nameless(4096, &Options::new().private(0..8))?;
    /// let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// ours.as_mut_slice()[8] = 2;
    /// ours.commit()?;
    /// theirs.update()?;
    /// assert_eq!((theirs.as_slice()[0], theirs.as_slice()[8]), (0, 2));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn private(mut self, range: Range<usize>) -> Self {
        self.private.push(range);
        self
    }

    /// Makes every commit look for writes that others make into the copy, if `yes` (default: no): a debugger, or
    /// another process by `process_vm_writev` or `/proc/PID/mem`. A commit then costs O(segment), half a microsecond a
    /// MiB.
    ///
    /// The first write to a tracked page is a page fault. So commits of a process that has taken no fault since the
    /// last one need not look at the segment, and cost the same whatever its size. But a fault of another process is
    /// not this process's: unless this is set such a write stays local, and is part of the first commit that looks,
    /// after this process's next fault.
    ///
    /// It makes a difference only where writes are tracked by userfaultfd. By signals (and with
    /// [`Tracking::Declared`]) writes of other processes are never noticed.
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let mut debugged = Segment::nameless(4096, &Options::new().foreign_writes(true))?;
    /// // Whatever a debugger writes into the copy here
    /// debugged.commit()?; // is committed now, not with the next write of this process.
    /// # Ok::<(), Error>(())
    /// ```
    pub fn foreign_writes(mut self, yes: bool) -> Self {
        self.foreign_writes = yes;
        self
    }

    /// Says that one thread of this process, always the same, both writes to the copy and commits, if `yes` (default:
    /// no). Counting one thread's faults takes half the time of counting the process's, and less still where there are
    /// many threads; with [`foreign_writes`](Options::foreign_writes) it changes nothing.
    ///
    /// A write of another thread is not noticed before the next scan.
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let mut segment = Segment::nameless(4096, &Options::new().one_writer(true))?;
    /// segment.as_mut_slice()[0] = 1; // by the thread that commits
    /// segment.commit()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn one_writer(mut self, yes: bool) -> Self {
        self.one_writer = yes;
        self
    }

    /// Makes commits of this process let the log go on without processes that lag by more than `pages` changed pages
    /// (default: only when the log is full). Such a process is overrun: its next update compares page heads instead of
    /// reading the log, and costs O(pages) once. In return the frames that commits replace are soon written again, and
    /// are few: a process that sleeps does not make the others' commits touch ever fresh memory.
    ///
    /// Up to twice as many frames are in use beside those of the trunk and those that laggards need.
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let mut ours = Segment::nameless(4096, &Options::new().lag(8))?;
    /// let mut theirs = ours.origin().checkout()?;
    /// for n in 1..100 {
    ///     ours.as_mut_slice()[0] = n;
    ///     ours.commit()?;
    /// }
    /// theirs.update()?; // the log went on without it: costs more, and loses nothing
    /// assert_eq!(theirs.as_slice()[0], 99);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn lag(mut self, pages: usize) -> Self {
        self.lag = Some(pages);
        self
    }

    /// Lets commits and waits go on when the segment's name was removed, if `yes` (default: no, they are
    /// [`Error::Unlinked`](crate::Error::Unlinked)): for processes that remove it once all have checked the segment
    /// out.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("after-unlink-{}", std::process::id());
    /// let mut segment = Segment::checkout(&name, 4096, &Options::new().after_unlink(true))?;
    /// Segment::unlink(&name)?; // nobody else gets it from now on
    /// segment.as_mut_slice()[0] = 1;
    /// segment.commit()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn after_unlink(mut self, yes: bool) -> Self {
        self.after_unlink = yes;
        self
    }

    /// Sets the permissions of a new segment's file, as in `chmod` (default: 0600, this user alone; the umask does not
    /// count).
    ///
    /// Users that may read the file may check the segment out to read ([`Options::read_only`]); those that may also
    /// write to it may commit. Others find a segment that has no slash in its name by its path,
    /// `/dev/shm/fyris-UID-NAME` with this user's number. To attach to a segment in memory whose file gives more than
    /// 0600, say the same mode: a file that gives more than was asked for is [`Error::NotOurs`].
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("mode-{}", std::process::id());
    /// use std::os::unix::fs::PermissionsExt;
    ///
    /// let segment = Segment::checkout(&name, 4096, &Options::new().mode(0o640))?;
    /// let file = std::fs::metadata(segment.path()).expect("it is there");
    /// assert_eq!(file.permissions().mode() & 0o777, 0o640);
    /// assert!(matches!(Segment::checkout(&name, 0, &Options::new()), Err(Error::NotOurs(_))));
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn mode(mut self, mode: u32) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the group of a new segment's file, by number (default: this process's). It must be one of this user's.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("group-{}", std::process::id());
    /// let group = rustix::process::getgid().as_raw();
    /// let options = Options::new().mode(0o660).group(group);
    /// Segment::checkout(&name, 4096, &options)?; // all of the group may commit
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn group(mut self, group: u32) -> Self {
        self.group = Some(group);
        self
    }

    /// Returns an error unless the mode has permissions of the three kinds of users only, and the owner may read and
    /// write.
    pub(crate) fn check_mode(&self) -> Result<()> {
        match self.mode & !0o777 == 0 && self.mode & MODE == MODE {
            true => Ok(()),
            false => Err(Error::BadArgument(
                "mode: 0600 to 0777, the owner reads and writes",
            )),
        }
    }

    /// Returns the shape of a new segment of `size` bytes.
    pub(crate) fn shape(&self, size: usize) -> Result<Shape> {
        let unit = Unit::new(u64::from(self.unit.unwrap_or(8)));
        let pages = size.max(self.max_size).div_ceil(PAGE);
        let kept = match self.history {
            Some(bytes) => bytes.div_ceil(PAGE),
            None => pages.saturating_mul(HISTORY).max(MIN_HISTORY),
        };
        Ok(Shape {
            unit: unit.ok_or(Error::BadArgument("unit: 1 to 64, a power of two"))?,
            pages: pages as u64,
            slots: self.slots as u64,
            kept: kept as u64,
        })
    }

    /// Places this byte range of the working copy at `address`: there it is read and written, and there writes are
    /// noticed. Several ranges may be placed, next to each other or not, for programs whose data must stay at its
    /// address: pointers in a segment then mean the same in every process. All three numbers are multiples of
    /// [`PAGE`](crate::PAGE); nothing may be mapped there ([`Error::AddressInUse`]). The range may lie beyond the
    /// segment's present size, within its `max_size`; writes to pages that the segment has not grown to yet are not
    /// noticed.
    ///
    /// [`Segment::as_ptr`] still leads to the whole copy. Placed bytes that are written to *there* are not noticed:
    /// they have to be declared ([`Segment::touch`]). Dropping the segment unmaps the place. A forked child has nothing
    /// there until [`Segment::reattach`], which places it again. Needs userfaultfd, or [`Tracking::Declared`].
    ///
    /// ```
    /// use fyris_segment::{Error, Options, PAGE, Segment, Tracking};
    ///
    /// let name = format!("placed-{}", std::process::id());
    /// let address = 0x2000_0000_0000;
    /// let options = Options::new().tracking(Tracking::Userfault).place(0..2 * PAGE, address);
    /// let mut segment = Segment::checkout(&name, 4 * PAGE, &options)?;
    /// // SAFETY: 2 pages are mapped there while the segment lives, and no other code uses them.
    /// unsafe { std::ptr::with_exposed_provenance_mut::<u64>(address).write(7) };
    /// segment.commit()?;
    /// assert_eq!(segment.as_slice()[0], 7);
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// [`Segment::as_ptr`]: crate::Segment::as_ptr
    /// [`Segment::touch`]: crate::Segment::touch
    /// [`Segment::reattach`]: crate::Segment::reattach
    pub fn place(mut self, range: Range<usize>, address: usize) -> Self {
        self.places.push(Placement {
            range,
            address,
            replace: false,
        });
        self
    }

    /// Places this byte range of the working copy at `address`, like [`Options::place`], but in the place of the
    /// present mapping there, whose content is lost.
    ///
    /// # Safety
    ///
    /// The memory that is mapped there when the segment is checked out (or reattached) is not used any more, but as
    /// memory of the segment while that is checked out; this holds for every thread and for this library too. When the
    /// segment is dropped nothing is mapped there.
    pub unsafe fn replace(mut self, range: Range<usize>, address: usize) -> Self {
        self.places.push(Placement {
            range,
            address,
            replace: true,
        });
        self
    }

    /// Returns whether the placed ranges are whole pages within a segment of `max` bytes, and apart.
    pub(crate) fn check_places(&self, max: usize) -> Result<()> {
        let mut ranges: Vec<&Range<usize>> = self.places.iter().map(|place| &place.range).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        if let Some(range) = ranges.iter().find(|range| range.end > max) {
            return Err(Error::OutOfRange {
                range: (*range).clone(),
                len: max,
            });
        }
        let whole = |place: &Placement| {
            let numbers = [place.range.start, place.range.end, place.address];
            let end = place.address.checked_add(place.range.len());
            numbers.iter().all(|number| number.is_multiple_of(PAGE)) && end.is_some()
        };
        if self.is_in_place() && !ranges.is_empty() {
            return Err(Error::BadArgument("a copy in place is not placed"));
        }
        let apart = ranges.windows(2).all(|two| two[0].end <= two[1].start);
        match apart && self.places.iter().all(whole) && !ranges.iter().any(|r| r.is_empty()) {
            true => Ok(()),
            false => Err(Error::BadArgument(
                "placed ranges are whole pages, and apart",
            )),
        }
    }

    /// Returns an error unless a map can live in a segment that is checked out so. A map in which bytes are never
    /// committed would lead from committed pages to some that are not. Placed ranges do it no harm: they show the copy
    /// at one more address.
    pub(crate) fn check_map(&self) -> Result<()> {
        match self.private.is_empty() || cfg!(fyris_mutant = "map_private") {
            true => Ok(()),
            false => Err(Error::BadArgument("private: a map is committed as a whole")),
        }
    }

    /// Returns whether the private ranges are within a segment of `max` bytes.
    pub(crate) fn check_private(&self, max: usize) -> Result<()> {
        let bad = |range: &&Range<usize>| range.start > range.end || range.end > max;
        match self.private.iter().find(bad) {
            Some(range) => Err(Error::OutOfRange {
                range: range.clone(),
                len: max,
            }),
            None => Ok(()),
        }
    }
}
