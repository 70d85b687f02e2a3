//! Making and opening the shared file.
//!
//! A new segment is complete, and checked out, before it has a name: it is written to a file without one, which is then
//! linked. So a checkout that fails, or dies, leaves nothing behind. Every attached process keeps a shared `flock` on
//! the file; one that can get the exclusive lock is alone, and cleans up whatever an earlier crash, or an earlier boot,
//! has left.

use fyris_sync::atomic::Ordering;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FlockOperation, MemfdFlags, Mode, OFlags, fallocate,
};
use rustix::io::Errno;

use super::Trunk;
use super::layout::{CONSTANTS, FORMAT, Geometry, MAGIC, word};
use super::ring::{ring_number, ring_word};
use crate::descriptors::aside;
use crate::error::{Error, Result};
use crate::failpoints::{failpoint, patience};
use crate::map::{ForkMark, Mapping};
use crate::name::Location;
use crate::{Options, PAGE};

/// Bytes of log and index that may be holes.
const HOLES: u64 = 256 << 20;

const MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// All that a mode can permit.
pub(crate) const ANY_MODE: u32 = 0o777;

impl Trunk {
    /// Opens the existing segment at `place`.
    pub(crate) fn open(place: &Location, options: &Options) -> Result<Trunk> {
        let (file, writable) = open_file(place, options.is_read_only())?;
        if options.exclusive {
            return Err(Error::Exists(place.path.clone()));
        }
        check_owner(&file, place, options.mode)?;
        Trunk::attach(file, writable, place)
    }

    /// Makes a segment in the folder of `place`, which has no name yet.
    pub(crate) fn make(place: &Location, size: usize, options: &Options) -> Result<Trunk> {
        Trunk::attach(create(place, size, options)?, true, place)
    }

    /// Gives a segment that [`Trunk::make`] has made its name; false if another process was quicker.
    pub(crate) fn name(&self, place: &Location) -> Result<bool> {
        failpoint!("to be named");
        name(&self.file, place)
    }

    /// Removes the name of the segment at `place`.
    pub(crate) fn unlink(place: &Location) -> Result<()> {
        let file = Trunk::look_at(place)?;
        failpoint!("looked at");
        // Before the name goes: a process that dies between leaves a hint that is looked into in vain. Who may only
        // read the file leaves none, and attached processes learn of it from their waits.
        let hint = |mark: u8| file.write_all_at(&[mark; 8], word::UNLINKED as u64);
        let _ = hint(u8::MAX);
        rustix::fs::unlink(&place.path).map_err(|error| match error {
            // It went meanwhile.
            Errno::NOENT => Error::NotFound(place.path.clone()),
            error => {
                let _ = hint(0);
                Error::os_at("removing segment", &place.path)(error)
            }
        })
    }

    /// Returns an error unless there is a segment at `place`.
    fn look_at(place: &Location) -> Result<File> {
        let (file, _) = open_file(place, true)?;
        check_owner(&file, place, ANY_MODE)?;
        let mut magic = [0; 8];
        match file.read_exact_at(&mut magic, 0) {
            Ok(()) if u64::from_le_bytes(magic) == MAGIC => Ok(file),
            _ => Err(Error::NotASegment(place.path.clone())),
        }
    }

    /// Returns whether the place where it was opened does not lead to this file any more.
    pub(crate) fn is_unlinked(&self) -> Result<bool> {
        let place = &self.place;
        let mine = self.file.metadata().map_err(io("looking at a segment"))?;
        if place.is_nameless() {
            return Ok(false);
        }
        match std::fs::metadata(&place.path) {
            Ok(there) => Ok((there.dev(), there.ino()) != (mine.dev(), mine.ino())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(io("looking at a segment's name")(error)),
        }
    }

    /// Returns whether [`Trunk::unlink`] was called. One load, unless it was.
    #[inline]
    pub(crate) fn is_told_unlinked(&self) -> bool {
        // Relaxed: a hint; a commit beside the call that gives it is one before that call.
        self.word(word::UNLINKED).load(Ordering::Relaxed) != 0 && self.is_known_unlinked()
    }

    /// Returns whether the name leads elsewhere, or nowhere; false if that cannot be told.
    #[cold]
    pub(crate) fn is_known_unlinked(&self) -> bool {
        self.is_unlinked().unwrap_or(false)
    }

    /// Checks and maps an open file.
    fn attach(file: File, writable: bool, place: &Location) -> Result<Trunk> {
        // A process that only looks on does not count as attached: the next to open the file for writing repairs as if
        // alone.
        let alone = writable && lock_file(&file)?;
        let geometry = read_header(&file, place)?;
        let trunk = Trunk {
            map: Mapping::shared(file.as_fd(), geometry.total, writable)?,
            file,
            geometry,
            place: place.clone(),
            fork: ForkMark::new()?,
            writable,
        };
        trunk.size()?;
        if !writable {
            return Ok(trunk);
        }
        let here = pid_namespace()?;
        let namespace = trunk.word(word::NAMESPACE);
        if alone {
            trunk.recover_alone()?;
            // Relaxed: the file's lock orders.
            namespace.store(here, Ordering::Relaxed);
            share(&trunk.file)?;
        }
        // Also after being alone: another process may have been attached between the two locks. Relaxed: as above.
        if namespace.load(Ordering::Relaxed) != here {
            return Err(Error::Namespace);
        }
        Ok(trunk)
    }

    /// Returns whether the file is still as long as its header says: a hostile process may shorten it, and
    /// touching what is gone raises SIGBUS.
    pub(crate) fn check_length(&self) -> Result<()> {
        let has = self
            .file
            .metadata()
            .map_err(io("looking at a segment"))?
            .len();
        match has >= self.geometry.total as u64 {
            true => Ok(()),
            false => Err(Error::Truncated {
                has,
                expected: self.geometry.total as u64,
            }),
        }
    }
}

fn io(what: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Os {
        what,
        path: None,
        source,
    }
}

/// Opens the file, and says whether for writing too: if only `to_read`, permission to read is enough.
fn open_file(place: &Location, to_read: bool) -> Result<(File, bool)> {
    let open = |access: OFlags| {
        let mut flags = access | OFlags::CLOEXEC | OFlags::NONBLOCK;
        // Every user can write to the folder of anonymous segments: follow no link there.
        flags.set(OFlags::NOFOLLOW, place.anonymous);
        let opened = rustix::fs::openat(CWD, &place.path, flags, Mode::empty());
        opened.map(|file| aside(File::from(file)))
    };
    let opened = match open(OFlags::RDWR) {
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) if to_read => {
            open(OFlags::RDONLY).map(|file| (file, false))
        }
        opened => opened.map(|file| (file, true)),
    };
    opened.map_err(|error| match error {
        Errno::NOENT => Error::NotFound(place.path.clone()),
        Errno::LOOP if place.anonymous => Error::NotOurs(place.path.clone()),
        error => Error::os_at("opening segment", &place.path)(error),
    })
}

/// Makes the file of a segment, without a name.
fn create(place: &Location, size: usize, options: &Options) -> Result<File> {
    if size == 0 {
        return Err(Error::NotFound(place.path.clone()));
    }
    let geometry = Geometry::new(options.shape(size)?)?;
    options.check_mode()?;
    options.check_private(geometry.pages * PAGE)?;
    options.check_places(geometry.pages * PAGE)?;
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::TMPFILE;
    let file = rustix::fs::openat(CWD, place.folder(), flags, MODE)
        .map_err(Error::os_at("making a segment in", place.folder()))?;
    let file = File::from(file);
    permit(&file, options)?;
    rustix::fs::ftruncate(&file, geometry.total as u64).map_err(Error::os("a segment"))?;
    let parts = geometry.parts(size.div_ceil(PAGE));
    back(&file, "a segment's log and index", &parts)?;
    fill(&file, &geometry, size)?;
    Ok(file)
}

/// Gives parts of a file their space, or says how much `what` needs in all.
pub(super) fn back(file: &File, what: &'static str, parts: &[Range<usize>]) -> Result<()> {
    let needed = parts.iter().map(|part| part.len() as u64).sum();
    let parts = parts.iter().filter(|part| !part.is_empty());
    let mut parts = parts.map(|part| (part.start as u64, part.len() as u64));
    parts
        .try_for_each(|(at, len)| fallocate(file, FallocateFlags::empty(), at, len))
        .map_err(Error::os_needing(what, needed))
}

/// Gives a new file its group and its permissions, before it has a name.
fn permit(file: &File, options: &Options) -> Result<()> {
    if let Some(group) = options.group {
        let group = rustix::fs::Gid::from_raw(group);
        rustix::fs::fchown(file, None, Some(group))
            .map_err(Error::os("giving a segment's group"))?;
    }
    rustix::fs::fchmod(file, Mode::from_raw_mode(options.mode))
        .map_err(Error::os("giving a segment's permissions"))
}

/// Makes a segment in memory that has no name, and returns its place.
pub(crate) fn create_nameless(size: usize, options: &Options) -> Result<Location> {
    if size == 0 {
        return Err(Error::BadArgument("size: a segment has at least one byte"));
    }
    let geometry = Geometry::new(options.shape(size)?)?;
    let file = rustix::fs::memfd_create("fyris-segment", MemfdFlags::CLOEXEC)
        .map_err(Error::os("making a segment in memory"))?;
    let file = aside(File::from(file));
    // Its log and index get their space as they are used: no file system could be full, only the machine.
    fill(&file, &geometry, size)?;
    Ok(Location::nameless(file.into()))
}

/// Names a filled file; false if the name was taken meanwhile.
fn name(file: &File, place: &Location) -> Result<bool> {
    let nameless = format!("/proc/self/fd/{}", file.as_raw_fd());
    match rustix::fs::linkat(CWD, nameless, CWD, &place.path, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(error) => Err(Error::os_at("naming segment", &place.path)(error)),
    }
}

/// Writes an empty segment into a file.
fn fill(file: &File, geometry: &Geometry, size: usize) -> Result<()> {
    rustix::fs::ftruncate(file, geometry.total as u64).map_err(Error::os("a segment"))?;
    let mut header = [0u8; PAGE];
    for (at, value) in header.chunks_exact_mut(8).zip(geometry.header()) {
        at.copy_from_slice(&value.to_le_bytes());
    }
    let mut set = |at: usize, value: u64| {
        header[at..at + 8].copy_from_slice(&value.to_le_bytes());
    };
    let ring = ring_number(geometry.log_for(size.div_ceil(PAGE)));
    set(word::SIZE, size as u64);
    set(word::RING, ring as u64);
    set(word::RINGS + 8 * ring, ring_word(0, 0));
    file.write_all_at(&header, 0)
        .map_err(io("writing a segment's header"))?;
    failpoint!("file written");
    Ok(())
}

/// Returns an error if the file is no plain file, or if an anonymous segment is not this user's or gives others more
/// than `mode`. The owner and the mode of a file at a path are left to the caller.
fn check_owner(file: &File, place: &Location, mode: u32) -> Result<()> {
    let meta = file.metadata().map_err(io("looking at a segment"))?;
    if !meta.is_file() {
        return Err(Error::NotASegment(place.path.clone()));
    }
    let mine = meta.uid() == rustix::process::geteuid().as_raw();
    let ours = mine && meta.mode() & ANY_MODE & !mode & 0o077 == 0;
    if place.anonymous && !ours {
        return Err(Error::NotOurs(place.path.clone()));
    }
    Ok(())
}

/// Locks the file for sharing; returns true if no other checkout holds its lock, and then the lock is exclusive.
fn lock_file(file: &File) -> Result<bool> {
    let both = [
        FlockOperation::NonBlockingLockExclusive,
        FlockOperation::NonBlockingLockShared,
    ];
    let got = lock_by(file, &both)?;
    Ok(got == FlockOperation::NonBlockingLockExclusive)
}

/// Lets others in again.
fn share(file: &File) -> Result<()> {
    lock_by(file, &[FlockOperation::NonBlockingLockShared]).map(|_| ())
}

/// Tries `operations` until one succeeds, and returns it. Bounded: a hostile process may keep the lock.
fn lock_by(file: &File, operations: &[FlockOperation]) -> Result<FlockOperation> {
    let start = Instant::now();
    loop {
        for &operation in operations {
            match rustix::fs::flock(file, operation) {
                Ok(()) => return Ok(operation),
                Err(Errno::WOULDBLOCK | Errno::INTR) => (),
                Err(error) => return Err(Error::os("locking a segment's file")(error)),
            }
        }
        // Another process is opening it, alone so far.
        if start.elapsed() > patience() {
            return Err(Error::Busy);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(super) fn read_header(file: &File, place: &Location) -> Result<Geometry> {
    let path = &place.path;
    let has = file.metadata().map_err(io("looking at a segment"))?.len();
    let mut bytes = [0u8; 8 * CONSTANTS];
    if file.read_exact_at(&mut bytes, 0).is_err() {
        return Err(Error::NotASegment(path.clone()));
    }
    let mut words = [0u64; CONSTANTS];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = bytes
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte));
    }
    if words[0] != MAGIC {
        return Err(Error::NotASegment(path.clone()));
    }
    if words[1] != FORMAT {
        return Err(Error::WrongFormat {
            found: words[1],
            known: FORMAT,
        });
    }
    let geometry = Geometry::check(&words)?;
    if has < geometry.total as u64 {
        return Err(Error::Truncated {
            has,
            expected: geometry.total as u64,
        });
    }
    // A file without a name gets its space as it is used, and comes from nobody else.
    if !place.is_nameless() {
        check_backing(file, &geometry)?;
    }
    Ok(geometry)
}

/// Returns an error unless log and index have the space that belongs to the segment's size, except for a few holes. A
/// file that claims a large size and is a hole would make every process reserve memory in vain.
fn check_backing(file: &File, geometry: &Geometry) -> Result<()> {
    // Before the space: the size is set when that is there.
    let mut size = [0; 8];
    file.read_exact_at(&mut size, word::SIZE as u64)
        .map_err(io("reading a segment's size"))?;
    let pages = u64::from_le_bytes(size).div_ceil(PAGE as u64);
    let pages = pages.min(geometry.pages as u64) as usize;
    let needed: usize = geometry.parts(pages).iter().map(|part| part.len()).sum();
    let meta = file.metadata().map_err(io("looking at a segment"))?;
    // The kernel counts in 512 bytes, whatever the file system's blocks are.
    let backed = meta.blocks().saturating_mul(512);
    // Copying a file may have made holes of its zeros: those of a segment of ordinary size do no harm.
    match backed.saturating_add(HOLES) >= needed as u64 {
        true => Ok(()),
        false => Err(Error::Corrupt("the header claims more than the file holds")),
    }
}

/// Returns the number of the pid namespace of this process.
fn pid_namespace() -> Result<u64> {
    let meta = std::fs::metadata("/proc/self/ns/pid").map_err(io("reading /proc/self/ns/pid"))?;
    Ok(meta.ino())
}
