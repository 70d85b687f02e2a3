//! The segment: a trunk, a slot in it, and a working copy.

mod commit;
mod compact;
mod defer;
mod inspect;
mod onlooker;
mod resync;
mod shared;
mod transaction;
mod update;
mod watch;
mod window;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

pub use shared::{Inside, Reattach, Shared};
pub use transaction::Words;
pub use transaction::let_others_pass;
pub use update::{Choice, Conflict, Updated};
pub use watch::Watcher;

use commit::Prepared;
use window::{Scratch, Window};

use crate::copy::WorkCopy;
use crate::error::{Error, Result};
use crate::map::ForkProbe;
use crate::name::Location;
use crate::trunk::Trunk;
use crate::trunk::create::create_nameless;
use crate::trunk::slots::Process;
use crate::words::Unit;
use crate::{Options, PAGE, Tracking};

/// In place of a slot's number: a process that only looks on has none.
const NO_SLOT: usize = usize::MAX;

/// A checked-out segment: a private working copy of a shared trunk.
///
/// # Consistency
///
/// The working copy is a *snapshot* of the trunk plus this process's own changes. It changes when its owner
/// writes or calls [`update`](Segment::update) and at no other time. A commit becomes visible to
/// others' updates as a whole or not at all. Commits of all processes have one order, in which each version
/// follows from the one before.
///
/// # Threads
///
/// A segment may be sent to another thread; `&mut self` keeps two from using it at once. Programs that
/// write through [`as_mut_ptr`](Segment::as_mut_ptr) from several threads see to it themselves that none
/// writes during a call: such a write may be torn, or be part of the commit or not.
///
/// ```
/// # use fyris_segment::{Error, Options, Segment};
/// # let mut ours = Segment::nameless(4096, &Options::new())?;
/// # let mut theirs = ours.origin().checkout()?;
/// ours.as_mut_slice()[0] = 1;
/// theirs.as_mut_slice()[8] = 2; // another unit
/// ours.commit()?;
/// assert_eq!(theirs.as_slice()[0], 0); // a snapshot, until it is updated
/// theirs.update()?;
/// assert_eq!((theirs.as_slice()[0], theirs.as_slice()[8]), (1, 2));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Segment {
    trunk: Arc<Trunk>,
    slot: usize,
    /// The trunk's mark: looked at in every call.
    fork: ForkProbe,
    copy: WorkCopy,
    /// Log position and version of the working copy.
    position: u64,
    version: u64,
    /// Pages of the last commit.
    published: usize,
    /// Bytes.
    size: usize,
    /// For each page the frame that it equalled at `position`, before local changes.
    base: Vec<u32>,
    /// For a process that only looks on: for each page the log position after the last change that is in the copy.
    seen: Vec<u64>,
    window: Window,
    scratch: Box<Scratch>,
    prepared: Prepared,
    /// The positions of the log whose pages are populated in this process, where it counts its faults.
    populated: Range<u64>,
    /// Words of pages that are private in part: page, word, bits.
    private_words: Vec<(u32, u16, u64)>,
    written: Written,
    /// Within a change of a binding: see [`Segment::begin_change`].
    changing: bool,
    options: Options,
}

/// Whether the working copy may have changes that were neither committed nor discarded, as far as that is known without
/// a look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// No reference to write through was given out since.
    No,
    /// Such a reference was given out.
    Perhaps,
    /// There is a pointer to write through, for ever.
    Always,
}

impl Segment {
    /// Checks a segment out, creating it if the options allow.
    ///
    /// A `name` without a slash is an anonymous segment of this user (`/dev/shm`, mode 0600) and lasts until
    /// it is unlinked or the machine restarts. With a slash it is the path of a file: a persistent segment.
    /// `size` is in bytes; 0 attaches to an existing segment whatever its size.
    ///
    /// O(pages that the segment has, not that it may have): some 5 ns a page, 25 more if writes are tracked, and with a
    /// copy what copying the pages takes that were ever written. The first process to attach repairs what a crash may
    /// have left.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("checkout-{}", std::process::id());
    /// let ours = Segment::checkout(&name, 4096, &Options::new())?; // makes it
    /// let theirs = Segment::checkout(&name, 0, &Options::new())?; // whatever its size
    /// assert_eq!(theirs.len(), 4096);
    /// assert!(matches!(Segment::checkout(&name, 8192, &Options::new()), Err(Error::TooSmall { .. })));
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for opening ([`Error::NotFound`] to [`Error::TooManyProcesses`]), [`Error::NoSpace`],
    /// [`Error::Unsupported`].
    ///
    /// *Source*: CONVERSION, section 3.1, `checkout`.
    pub fn checkout(name: impl AsRef<Path>, size: usize, options: &Options) -> Result<Segment> {
        Segment::checkout_as(name.as_ref(), size, options, Ok)
    }

    /// Checks a segment out and makes something of it by `open`. A new segment gets its name when that is done, so a
    /// checkout that fails leaves nothing behind.
    pub(crate) fn checkout_as<T, E: From<Error>>(
        name: &Path,
        size: usize,
        options: &Options,
        open: impl Fn(Segment) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let place = Location::of(name)?;
        // Twice at most in practice: it may vanish or appear between the two steps.
        for _ in 0..100 {
            match Trunk::open(&place, options) {
                Ok(trunk) => return open(Segment::attach(trunk, size, options)?),
                Err(Error::NotFound(_)) if options.create => {}
                Err(error) => return Err(error.into()),
            }
            let segment = Segment::attach(Trunk::make(&place, size, options)?, size, options)?;
            let trunk = Arc::clone(&segment.trunk);
            let opened = open(segment)?;
            if trunk.name(&place)? {
                return Ok(opened);
            }
        }
        Err(Error::Exists(place.path).into())
    }

    /// Makes a new segment without a name, in memory, and checks it out. It lasts until the last process that has it
    /// has let go of it: nothing is left behind however they end.
    ///
    /// Other processes get it by descent: a forked child calls [`Segment::reattach`], or checks [`Segment::origin`]
    /// out. The descriptor behind it must be open there (it is, unless the child has closed it or called `exec`).
    /// [`Segment::path`] leads to that descriptor. Options about names and permissions do not count.
    ///
    /// # Errors
    ///
    /// Those of making a segment: [`Error::NoSpace`], [`Error::Unsupported`] and what else [`Segment::checkout`] lists.
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let mut ours = Segment::nameless(1 << 20, &Options::new())?;
    /// ours.as_mut_slice()[0] = 7;
    /// ours.commit()?;
    /// assert_eq!(ours.origin().checkout()?.as_slice()[0], 7);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn nameless(size: usize, options: &Options) -> Result<Segment> {
        if options.is_read_only() {
            return Err(Error::BadArgument(
                "a segment without a name is made to be written",
            ));
        }
        options.check_places(size.max(options.max_size).next_multiple_of(PAGE))?;
        // It is new, as `exclusive` asks for, and then exists.
        let place = create_nameless(size, options)?;
        let options = options.clone().exclusive(false);
        Segment::attach(Trunk::open(&place, &options)?, 0, &options)
    }

    fn attach(trunk: Trunk, size: usize, options: &Options) -> Result<Segment> {
        let geometry = trunk.geometry;
        check_fit(&trunk, size, options)?;
        options.check_private(geometry.pages * PAGE)?;
        options.check_places(geometry.pages * PAGE)?;
        let (private_pages, private_words) = private_parts(&options.private);
        // A process that only looks on cannot keep the trunk's pages as they are, and copies them.
        let in_place = options.is_in_place() && trunk.writable;
        let mut copy = WorkCopy::new(
            geometry.pages,
            options.tracking,
            !options.is_read_only(),
            private_pages,
            &options.places,
            in_place,
        )?;
        if !options.foreign_writes || cfg!(fyris_mutant = "segment_foreign_unheard") {
            copy.count_faults(options.one_writer);
        }
        for range in &options.deferred {
            copy.defer(range.start / PAGE..range.end / PAGE);
        }
        let (slot, seen) = match trunk.writable {
            true => (trunk.claim(Process::me()?)?, Vec::new()),
            false => (NO_SLOT, vec![0; geometry.pages]),
        };
        if in_place {
            trunk.pin(slot);
        }
        let mut segment = Segment {
            fork: trunk.fork_probe(),
            trunk: Arc::new(trunk),
            slot,
            copy,
            position: 0,
            version: 0,
            published: 0,
            size: 0,
            base: vec![0; geometry.pages],
            seen,
            window: Window::new(geometry.pages),
            scratch: Box::default(),
            prepared: Prepared::default(),
            populated: 0..0,
            private_words,
            written: Written::No,
            changing: false,
            options: options.clone(),
        };
        segment.load()?;
        Ok(segment)
    }

    /// Removes the name of a segment. Processes attached to it keep it until they let go; their next commit, and each
    /// wait, is [`Error::Unlinked`]: who checks the name out from now on shares nothing with them. Those that are to go
    /// on among themselves say so ([`Options::after_unlink`]). Nothing else ever removes a name.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("unlink-{}", std::process::id());
    /// let mut segment = Segment::checkout(&name, 4096, &Options::new())?;
    /// Segment::unlink(&name)?;
    /// segment.as_mut_slice()[0] = 1;
    /// assert!(matches!(segment.commit(), Err(Error::Unlinked(_))));
    /// assert!(matches!(Segment::unlink(&name), Err(Error::NotFound(_))));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::BadName`], [`Error::NotASegment`], [`Error::NotOurs`]: the file is left alone if
    /// it is not a segment, or not this user's.
    pub fn unlink(name: impl AsRef<Path>) -> Result<()> {
        Trunk::unlink(&Location::of(name.as_ref())?)
    }

    /// Returns whether the segment's name is gone, or leads to another file by now: processes that check it out share
    /// nothing with this one. False if it never had a name. Two system calls.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// assert!(!ours.is_unlinked()?); // it never had a name
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Os`] if the name cannot be looked at.
    pub fn is_unlinked(&self) -> Result<bool> {
        self.trunk.is_unlinked()
    }

    /// Returns the number of bytes in the working copy.
    pub fn len(&self) -> usize {
        self.size
    }

    /// Returns false: a segment has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Returns the bytes that the segment may [`grow`](Segment::grow) to.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// let segment = Segment::nameless(4096, &Options::new().max_size(1 << 20))?;
    /// assert_eq!((segment.len(), segment.max_len()), (4096, 1 << 20));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn max_len(&self) -> usize {
        self.base.len() * PAGE
    }

    /// Returns the editing unit in bytes.
    pub fn unit(&self) -> usize {
        self.units().bytes()
    }

    fn units(&self) -> Unit {
        self.trunk.geometry.unit
    }

    fn pages(&self) -> usize {
        self.size.div_ceil(PAGE)
    }

    /// Returns the file behind the trunk.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("path-{}", std::process::id());
    /// let segment = Segment::checkout(&name, 4096, &Options::new())?;
    /// assert!(segment.path().starts_with("/dev/shm") && segment.path().is_file());
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.trunk.place.path
    }

    /// Returns whether the checkout is read-only.
    pub fn is_read_only(&self) -> bool {
        self.options.is_read_only()
    }

    /// Returns the way in which writes to the working copy are noticed: the choice of
    /// [`Tracking::Auto`](crate::Tracking::Auto), and [`Tracking::Declared`](crate::Tracking::Declared) for a read-only
    /// one.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// use fyris_segment::Tracking;
    ///
    /// assert_ne!(ours.tracking(), Tracking::Auto); // what was chosen
    /// let declared = Segment::nameless(4096, &Options::new().declared())?;
    /// assert_eq!(declared.tracking(), Tracking::Declared);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn tracking(&self) -> Tracking {
        self.copy.tracking()
    }

    /// Returns the start of the working copy, at a multiple of the page size; stays the same through updates and
    /// growth, until the segment is dropped. In a forked child there is no memory there.
    pub fn as_ptr(&self) -> *const u8 {
        self.copy.view()
    }

    /// Returns the address like [`Segment::as_ptr`], to write through. Writing to a read-only checkout raises SIGSEGV.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// // SAFETY: 4096 bytes are there while the segment lives, and no other code uses them now.
    /// unsafe { ours.as_mut_ptr().cast::<u64>().write(7) };
    /// ours.commit()?; // found, as any write is
    /// theirs.update()?;
    /// assert_eq!(theirs.as_slice()[0], 7);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        // No store if it is so already: this may stand in a loop of stores.
        if self.written != Written::Always {
            self.written = Written::Always;
        }
        self.copy.view()
    }

    /// Returns the working copy; empty in a forked child.
    pub fn as_slice(&self) -> &[u8] {
        let len = if self.is_forked() { 0 } else { self.size };
        // SAFETY: `size` bytes of the view are mapped and readable while `self` lives; what changes
        // them borrows `self` mutably (updates) or is `unsafe` (raw pointers).
        unsafe { std::slice::from_raw_parts(self.copy.view(), len) }
    }

    /// Returns the working copy, to write to; empty in a forked child and for a read-only checkout.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[..5].copy_from_slice(b"hello");
    /// ours.commit()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        if self.written == Written::No {
            self.written = Written::Perhaps;
        }
        self.slice_mut()
    }

    /// Notes that no change is uncommitted any more.
    fn settled(&mut self) {
        if self.written == Written::Perhaps {
            self.written = Written::No;
        }
    }

    fn slice_mut(&mut self) -> &mut [u8] {
        let none = self.is_forked() || self.options.is_read_only();
        let len = if none { 0 } else { self.size };
        // SAFETY: as above, and writable.
        unsafe { std::slice::from_raw_parts_mut(self.copy.view(), len) }
    }

    /// Returns the version of the working copy: the commits (and growths) it contains.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// ours.commit()?;
    /// assert_eq!((ours.version(), theirs.version()), (1, 0));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the number of pages that the last commit of this process has published: those in which it changed a
    /// byte.
    ///
    /// ```
    /// let mut segment = fyris_segment::Segment::nameless(1 << 20, &Default::default())?;
    /// segment.as_mut_slice()[..2 * fyris_segment::PAGE].fill(1);
    /// segment.as_mut_slice()[1 << 19] = 0; // as it was
    /// segment.commit()?;
    /// assert_eq!(segment.published(), 2);
    /// # Ok::<(), fyris_segment::Error>(())
    /// ```
    pub fn published(&self) -> usize {
        self.published
    }

    /// Returns the version of the trunk. One load, no system call. For a moment after a commit it may still be
    /// the version before; [`Segment::is_behind`] is exact.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// ours.commit()?;
    /// assert_eq!((theirs.trunk_version(), theirs.version()), (1, 0));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn trunk_version(&self) -> u64 {
        match self.is_forked() {
            true => self.version,
            false => self.trunk.version().max(self.version),
        }
    }

    /// Returns whether the trunk has changes that the working copy has not. Two loads, no system call.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// ours.commit()?;
    /// assert!(theirs.is_behind() && !ours.is_behind());
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn is_behind(&self) -> bool {
        !self.is_forked() && self.trunk.position() != self.position
    }

    /// Returns whether this is a forked child of the process that checked the segment out: every operation
    /// but [`Segment::reattach`] is then [`Error::Forked`]. No system call.
    #[inline]
    pub fn is_forked(&self) -> bool {
        // SAFETY: the trunk has the mark.
        unsafe { self.fork.forked() }
    }

    #[inline]
    fn check(&self) -> Result<()> {
        match self.is_forked() {
            true => Err(Error::Forked),
            false => Ok(()),
        }
    }

    /// Returns [`Error::Busy`] within a change, which begins and ends by itself.
    pub(crate) fn check_between(&self) -> Result<()> {
        match self.changing && !cfg!(fyris_mutant = "segment_change_ends_early") {
            true => self.check().and(Err(Error::Busy)),
            false => Ok(()),
        }
    }

    /// Returns [`Error::Unlinked`] if the name was removed, unless that does not matter. One load if it was not.
    #[inline]
    fn check_named(&self) -> Result<()> {
        let goes_on = self.options.after_unlink || cfg!(fyris_mutant = "segment_unlinked_unheard");
        match self.trunk.is_told_unlinked() && !goes_on {
            true => Err(Error::Unlinked(self.path().to_owned())),
            false => Ok(()),
        }
    }

    fn check_writable(&self) -> Result<()> {
        self.check()?;
        match self.options.is_read_only() {
            true => Err(Error::ReadOnly),
            false => Ok(()),
        }
    }

    /// Returns the pages of a byte range inside the segment.
    fn pages_of(&self, range: &Range<usize>) -> Result<Range<usize>> {
        if range.start > range.end || range.end > self.size {
            return Err(Error::OutOfRange {
                range: range.clone(),
                len: self.size,
            });
        }
        match range.is_empty() {
            true => Ok(0..0),
            false => Ok(range.start / PAGE..range.end.div_ceil(PAGE)),
        }
    }

    /// Declares that this byte range was or will be written before the next commit. Its pages take no fault
    /// then and need no scan; under [`Tracking::Declared`](crate::Tracking::Declared) it is the only way to
    /// be committed. O(pages in range); one system call if writes are tracked.
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let mut ours = Segment::nameless(4096, &Options::new().declared())?;
    /// let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// ours.touch(0..1)?; // before or after the write
    /// ours.commit()?;
    /// theirs.update()?;
    /// assert_eq!(theirs.as_slice()[0], 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`], [`Error::ReadOnly`], [`Error::Forked`].
    #[inline]
    pub fn touch(&mut self, range: Range<usize>) -> Result<()> {
        self.check_writable()?;
        let pages = self.pages_of(&range)?;
        self.copy.touch(pages)
    }

    /// Limits what the following commits look at to these byte ranges, until the next call (an empty list: everything,
    /// as at first). A program that knows where it wrote since its last commit saves the scan of the rest; a scan looks
    /// at some 700 pages in a microsecond.
    ///
    /// Writes elsewhere are not lost: they are noticed as ever, stay local through updates, and are part of the first
    /// commit that looks there. Declared and hot pages are committed wherever they are. O(ranges + placed ranges); no
    /// system call.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] beyond [`Segment::max_len`].
    ///
    /// ```
    /// use fyris_segment::{Error, Options, PAGE, Segment};
    ///
    /// let mut ours = Segment::nameless(2 * PAGE, &Options::new())?;
    /// let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// ours.as_mut_slice()[PAGE] = 2;
    /// ours.scan_only(&[0..PAGE])?;
    /// ours.commit()?;
    /// theirs.update()?;
    /// # if ours.tracking() == fyris_segment::Tracking::Userfault {
    /// assert_eq!((theirs.as_slice()[0], theirs.as_slice()[PAGE]), (1, 0));
    /// # }
    /// ours.scan_only(&[])?;
    /// ours.commit()?;
    /// theirs.update()?;
    /// assert_eq!(theirs.as_slice()[PAGE], 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn scan_only(&mut self, ranges: &[Range<usize>]) -> Result<()> {
        let len = self.max_len();
        let outside = |range: &&Range<usize>| range.start > range.end || range.end > len;
        if let Some(range) = ranges.iter().find(outside) {
            let range = range.clone();
            return Err(Error::OutOfRange { range, len });
        }
        let pages = ranges.iter().filter(|range| !range.is_empty());
        self.copy
            .scan_only(pages.map(|range| range.start / PAGE..range.end.div_ceil(PAGE)));
        Ok(())
    }

    /// Writes a file-backed segment to its disk (`msync`). O(pages changed), as slow as the disk. After a power failure
    /// the content of the disk is consistent if no commit ran between the last `sync` and the failure; a crash of
    /// processes never harms it.
    ///
    /// ```
    /// let path = std::env::temp_dir().join(format!("synced-{}", std::process::id()));
    /// # use fyris_segment::{Error, Options, Segment};
    /// let mut segment = Segment::checkout(&path, 4096, &Options::new())?;
    /// segment.as_mut_slice()[0] = 1;
    /// segment.commit()?;
    /// segment.sync()?; // what was committed is on the disk
    /// # Segment::unlink(&path)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Os`], [`Error::NoSpace`], [`Error::Forked`].
    pub fn sync(&self) -> Result<()> {
        self.check()?;
        let (start, len) = self.trunk.bytes();
        // SAFETY: the whole mapping of the trunk; msync changes nothing.
        unsafe { rustix::mm::msync(start.cast(), len, rustix::mm::MsyncFlags::SYNC) }
            .map_err(Error::os("writing a segment to its disk"))
    }

    /// Checks the same segment out anew in a forked child, at the trunk's present version. The parent's local changes
    /// are not in it. Does nothing in the process that checked it out.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the name was unlinked, and what else opening the segment fails with
    /// ([`Segment::checkout`]).
    pub fn reattach(&mut self) -> Result<()> {
        if !self.is_forked() {
            return Ok(());
        }
        *self = self.origin().checkout()?;
        Ok(())
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the place and the options that this was checked out with.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// let origin = ours.origin();
    /// drop((ours, theirs));
    /// assert!(origin.checkout().is_ok()); // it keeps a nameless segment
    /// # Ok::<(), Error>(())
    /// ```
    pub fn origin(&self) -> Origin {
        Origin {
            place: self.trunk.place.clone(),
            options: self.options.clone(),
        }
    }
}

/// The place and the options that a segment was checked out with: enough to check it out again, in a forked child or
/// after it was dropped.
#[derive(Debug, Clone)]
pub struct Origin {
    place: Location,
    options: Options,
}

impl Origin {
    /// Checks the same segment out again, at the trunk's present version. It must exist.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// let name = format!("origin-{}", std::process::id());
    /// let segment = Segment::checkout(&name, 4096, &Options::new())?;
    /// let origin = segment.origin();
    /// Segment::unlink(&name)?;
    /// assert!(matches!(origin.checkout(), Err(Error::NotFound(_)))); // it makes none
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the name was unlinked, and what else opening the segment fails with
    /// ([`Segment::checkout`]).
    pub fn checkout(&self) -> Result<Segment> {
        let trunk = Trunk::open(&self.place, &self.options.clone().exclusive(false))?;
        Segment::attach(trunk, 0, &self.options)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if self.is_forked() {
            // The slot and the mappings are the parent's.
            self.copy.forget();
            return;
        }
        if self.trunk.writable {
            self.prepared.give_back(&self.trunk, self.slot, 0);
            self.trunk.detach(self.slot);
        }
    }
}

/// Returns an error unless an existing segment has the properties that the options and the size ask for.
fn check_fit(trunk: &Trunk, size: usize, options: &Options) -> Result<()> {
    let has = trunk.size()?;
    if size > has {
        return Err(Error::TooSmall { has, asked: size });
    }
    let unit = trunk.geometry.unit.bytes() as u32;
    match options.unit {
        Some(asked) if asked != unit => Err(Error::UnitMismatch { has: unit, asked }),
        _ => Ok(()),
    }
}

type PrivateParts = (Vec<Range<usize>>, Vec<(u32, u16, u64)>);

/// Splits private byte ranges into whole pages and words (with the bits that are private).
fn private_parts(ranges: &[Range<usize>]) -> PrivateParts {
    let (mut pages, mut words) = (Vec::new(), Vec::new());
    for range in ranges {
        let whole = range.start.div_ceil(PAGE)..range.end / PAGE;
        let (first, last) = match whole.start < whole.end {
            true => (range.start..whole.start * PAGE, whole.end * PAGE..range.end),
            false => (range.clone(), 0..0),
        };
        if !whole.is_empty() {
            pages.push(whole);
        }
        words.extend(words_of(first).chain(words_of(last)));
    }
    (pages, words)
}

/// Returns the words of a byte range, with the bits of each that are in it.
fn words_of(range: Range<usize>) -> impl Iterator<Item = (u32, u16, u64)> {
    let end = if range.is_empty() {
        0
    } else {
        range.end.div_ceil(8)
    };
    (range.start / 8..end).map(move |word| {
        let bytes = (word * 8..word * 8 + 8).enumerate();
        let inside = bytes.filter(|(_, byte)| range.contains(byte));
        let bits = inside.fold(0, |bits, (at, _)| bits | 0xff << (8 * at));
        ((word * 8 / PAGE) as u32, (word % (PAGE / 8)) as u16, bits)
    })
}
