//! How a segment is checked out.

use std::ops::Range;

use crate::error::{Error, Result};

/// How writes to the working copy are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tracking {
    /// The best that the kernel has: `Userfault`, else `Signal`.
    #[default]
    Auto,
    /// userfaultfd in its asynchronous write-protect mode, read by PAGEMAP_SCAN (Linux 6.7).
    Userfault,
    /// mprotect and a SIGSEGV handler, which passes on every fault that is not its own.
    Signal,
    /// Not at all: the program says by [`Segment::touch`](crate::Segment::touch) where it writes.
    /// No fault, no scan; what was written and not declared may or may not be committed.
    Declared,
}

/// How to check a segment out. The default: create it if need be, writable, tracked, unit of 8 bytes.
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
    pub(crate) read_only: bool,
    pub(crate) tracking: Tracking,
    pub(crate) unit: Option<u32>,
    pub(crate) max_size: usize,
    pub(crate) private: Vec<Range<usize>>,
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
            private: Vec::new(),
        }
    }
}

impl Options {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a segment that does not exist is created (default: yes).
    pub fn create(mut self, yes: bool) -> Self {
        self.create = yes;
        self
    }

    /// Demands that the segment is new (default: no).
    pub fn exclusive(mut self, yes: bool) -> Self {
        self.exclusive = yes;
        self
    }

    /// A working copy that cannot be written to: nothing is tracked, commits are errors.
    pub fn read_only(mut self, yes: bool) -> Self {
        self.read_only = yes;
        self
    }

    /// How writes are noticed (default: the best way there is).
    pub fn tracking(mut self, tracking: Tracking) -> Self {
        self.tracking = tracking;
        self
    }

    /// Short for [`Tracking::Declared`].
    pub fn declared(self) -> Self {
        self.tracking(Tracking::Declared)
    }

    /// The editing unit in bytes: 1, 2, 4, 8, 16, 32 or 64. Fixed when the segment is created
    /// (default 8); on an existing segment a different one is an error.
    pub fn unit(mut self, bytes: u32) -> Self {
        self.unit = Some(bytes);
        self
    }

    /// The size in bytes that the segment may grow to, fixed when it is created (default: its size).
    /// What is not used costs address space, and 12% of a page for each page.
    pub fn max_size(mut self, bytes: usize) -> Self {
        self.max_size = bytes;
        self
    }

    /// The paper's flag for garbage collectors: what this process writes in this byte range, whole
    /// units, is its own. It is never committed, and pages wholly inside are not tracked: no fault.
    /// An update brings the trunk's changes into units that were not written here. [`Segment::discard`] leaves
    /// them alone. If this process is cut off for lagging, pages wholly inside that the trunk has changed become the trunk's.
    ///
    /// [`Segment::discard`]: crate::Segment::discard
    pub fn private(mut self, range: Range<usize>) -> Self {
        self.private.push(range);
        self
    }

    /// Whether the private ranges are within a segment of `max` bytes.
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
