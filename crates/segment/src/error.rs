//! Errors, by name.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// The error of every operation on a segment. In every case the working copy and the trunk are as
/// they were before the call, unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The trunk holds changes that are not in the working copy yet.
    #[error("the trunk is at log position {trunk}, the working copy at {local}: update first")]
    Behind {
        /// The position of the working copy, in page changes ever committed.
        local: u64,
        /// The position of the trunk.
        trunk: u64,
    },
    /// A validating update or commit met units changed on both sides.
    #[error("changed on both sides: {}", said(ranges))]
    Conflict {
        /// The overlapping byte ranges, ascending, at unit granularity.
        ranges: Vec<Range<usize>>,
    },
    /// The working copy fell so far behind that it was evicted ([`Options::history`](crate::Options::history)), and
    /// these pages were changed on both sides, and their former content is gone. [`Segment::update_with`] decides for
    /// each unit, [`Segment::discard`] takes the trunk's. Until then pages that were *not* changed here may be of newer
    /// versions, some of one and some of another.
    ///
    /// [`Segment::update_with`]: crate::Segment::update_with
    /// [`Segment::discard`]: crate::Segment::discard
    #[error(
        "the copy was evicted for lagging too far: no common base for {}",
        said(ranges)
    )]
    BaseLost {
        /// The byte ranges, ascending: the units in which the working copy differs from the trunk, on these pages. Of
        /// [`Segment::diff`](crate::Segment::diff) the whole pages, which may be equal.
        ranges: Vec<Range<usize>>,
    },
    /// A call on the same segment is under way in this process: of another thread, or of the callback's own caller; or
    /// another process has kept its file locked for ten seconds, as the first to open it does while it repairs; or
    /// others commit so fast that this process cannot catch up: the log went on without it a thousand times, or a
    /// reader without permission to write found no quiet moment for ten seconds
    /// ([`Options::read_only`](crate::Options::read_only)).
    #[error("in use: a call on this segment is under way, or other processes keep it busy")]
    Busy,
    /// The process forked after the checkout; the working copy belongs to the parent.
    #[error("the working copy stayed with the parent of this forked process: reattach")]
    Forked,
    /// A transaction was to begin on a working copy with changes that were neither committed nor discarded.
    #[error("the working copy has changes that are neither committed nor discarded")]
    Uncommitted,
    /// The checkout is read-only.
    #[error("the checkout is read-only")]
    ReadOnly,
    /// No segment of this name, and the options do not allow to create one.
    #[error("no segment {0:?}")]
    NotFound(PathBuf),
    /// The segment's name was removed, or leads to another file by now: a commit is not done, a wait is over. Processes
    /// that check the name out share nothing with this one. [`Segment::checkout`] gives the new segment;
    /// [`Options::after_unlink`](crate::Options::after_unlink) goes on with this one.
    ///
    /// [`Segment::checkout`]: crate::Segment::checkout
    #[error("segment {0:?} was removed, or is another one by now")]
    Unlinked(PathBuf),
    /// There is a segment of this name already, and the options asked for a new one.
    #[error("segment {0:?} exists already")]
    Exists(PathBuf),
    /// Not a name: 1 to 200 of `A-Z a-z 0-9 . _ -`, not beginning with a dot; or a path with `/`.
    #[error("{0:?} is no name for a segment")]
    BadName(PathBuf),
    /// An option or argument that makes no sense.
    #[error("bad argument: {0}")]
    BadArgument(&'static str),
    /// Something is mapped already where a range was to be placed, or the address cannot be used.
    #[error("address {0:#x} is in use, or cannot be mapped")]
    AddressInUse(usize),
    /// A range outside the segment.
    #[error("range {range:?} is outside the segment of {len} bytes")]
    OutOfRange {
        /// The range asked for.
        range: Range<usize>,
        /// The segment's length.
        len: usize,
    },
    /// The segment is smaller than asked for; see [`crate::Segment::grow`].
    #[error("the segment has {has} bytes, {asked} were asked for")]
    TooSmall {
        /// Its length in bytes.
        has: usize,
        /// The length asked for.
        asked: usize,
    },
    /// Growth beyond the `max_size` that the segment was created with.
    #[error("{asked} bytes are more than the segment may ever have ({max})")]
    TooLarge {
        /// The length asked for.
        asked: usize,
        /// The limit.
        max: usize,
    },
    /// The segment's editing unit is another one.
    #[error("the segment's unit is {has} bytes, {asked} were asked for")]
    UnitMismatch {
        /// The segment's unit.
        has: u32,
        /// The unit asked for.
        asked: u32,
    },
    /// Not a segment at all.
    #[error("{0:?} is not a segment")]
    NotASegment(PathBuf),
    /// Written by another version of Fyris.
    #[error("segment format {found}, this program knows {known}")]
    WrongFormat {
        /// The format found.
        found: u64,
        /// The format of this program.
        known: u64,
    },
    /// The file is shorter than its header says.
    #[error("truncated: {has} bytes, the header says {expected}")]
    Truncated {
        /// Bytes there are.
        has: u64,
        /// Bytes there should be.
        expected: u64,
    },
    /// The shared part holds something that no correct program writes.
    #[error("the segment is corrupt: {0}")]
    Corrupt(&'static str),
    /// The file belongs to another user, is a link, or others may do more with it than the options say
    /// ([`Options::mode`](crate::Options::mode)).
    #[error("{0:?} is not ours alone: another owner, a link, or a wider mode than was asked for")]
    NotOurs(PathBuf),
    /// The other processes of this segment run in another pid namespace (a container): neither side
    /// could tell whether the other is alive.
    #[error("the segment is in use in another pid namespace")]
    Namespace,
    /// All slots for processes are taken by living ones.
    #[error("{0} processes are attached already")]
    TooManyProcesses(usize),
    /// No memory or disk for what was asked, or all page frames are in use by living processes.
    #[error("no space for {what}{}", needed(bytes))]
    NoSpace {
        /// What it was for.
        what: &'static str,
        /// The bytes that were needed, if it was about bytes.
        bytes: Option<u64>,
    },
    /// The commit lock was held too long by one living process (stopped, or hostile). While it goes from one to the
    /// next, however many they are, this process waits.
    #[error("process {pid} has held the commit lock for {millis} ms")]
    LockTimeout {
        /// The holder.
        pid: u32,
        /// How long it has held the lock, at least, in milliseconds.
        millis: u64,
    },
    /// The kernel cannot do what the options demand.
    #[error("not supported here: {0}")]
    Unsupported(&'static str),
    /// A system call failed.
    #[error("{what}{}: {source}", named(path))]
    Os {
        /// The operation under way.
        what: &'static str,
        /// The file that was being opened, made, named or removed.
        path: Option<PathBuf>,
        /// The system's answer.
        source: io::Error,
    },
}

/// The result of every operation on a segment.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Names the call that a system error came from; "no space" gets its own name.
    pub(crate) fn os(what: &'static str) -> impl Fn(Errno) -> Error {
        move |errno| Error::of(errno, what, None)
    }

    /// Names the call that a system error came from, and how many bytes it asked for.
    pub(crate) fn os_needing(what: &'static str, bytes: u64) -> impl Fn(Errno) -> Error {
        move |errno| match Error::of(errno, what, None) {
            Error::NoSpace { what, .. } => Error::NoSpace {
                what,
                bytes: Some(bytes),
            },
            error => error,
        }
    }

    /// Names the call that a system error came from, and the file that it named.
    pub(crate) fn os_at(what: &'static str, path: &Path) -> impl Fn(Errno) -> Error {
        move |errno| Error::of(errno, what, Some(path))
    }

    fn of(errno: Errno, what: &'static str, path: Option<&Path>) -> Error {
        match errno {
            Errno::NOSPC | Errno::DQUOT => Error::NoSpace { what, bytes: None },
            _ => Error::Os {
                what,
                path: path.map(Path::to_owned),
                source: errno.into(),
            },
        }
    }
}

fn needed(bytes: &Option<u64>) -> String {
    bytes.map_or(String::new(), |bytes| format!(": {bytes} bytes are needed"))
}

/// Returns a text that names the file, empty if there is none.
fn named(path: &Option<PathBuf>) -> String {
    path.as_ref()
        .map_or(String::new(), |path| format!(" {path:?}"))
}

/// Describes ranges in words: the first of them, and their number.
fn said(ranges: &[Range<usize>]) -> String {
    match ranges {
        [] => "nothing".to_owned(),
        [only] => format!("bytes {}..{}", only.start, only.end),
        [first, ..] => {
            let (count, start, end) = (ranges.len(), first.start, first.end);
            format!("{count} ranges of bytes, the first {start}..{end}")
        }
    }
}
