//! The segment.
#![allow(unused_variables, clippy::needless_pass_by_ref_mut)]

use std::ops::Range;
use std::path::Path;

use crate::{Error, Options, Result};

/// What an update brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Updated {
    /// The version that the working copy is at now.
    pub version: u64,
    /// Pages that the trunk had changed.
    pub pages: usize,
    /// Bytes written into the working copy.
    pub bytes: usize,
    /// Units changed on both sides (in a default update the local ones were kept).
    pub conflicts: usize,
}

/// One editing unit that was changed on both sides.
#[derive(Debug)]
#[non_exhaustive]
pub struct Conflict<'a> {
    /// Where it is, in bytes from the start of the segment.
    pub offset: usize,
    /// What both sides started from; `None` if the copy's log was cut ([`Error::BaseLost`]).
    pub base: Option<&'a [u8]>,
    /// What stands in the working copy.
    pub local: &'a [u8],
    /// What the trunk has.
    pub incoming: &'a [u8],
}

/// What becomes of a conflicting unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Keep the working copy's; the next commit overwrites the trunk's.
    Local,
    /// Take the trunk's.
    Incoming,
    /// Write this, a local change: the first bytes, as many as the unit has.
    Write([u8; 64]),
}

/// A checked-out segment: a private working copy of a shared trunk.
#[derive(Debug)]
pub struct Segment(());

impl Segment {
    /// Checks a segment out, creating it if the options allow. `name` without a slash is an anonymous
    /// segment of this user (`/dev/shm`, mode 0600); with a slash it is the path of a file.
    /// `size` is in bytes; 0 attaches to an existing segment whatever its size.
    pub fn checkout(name: impl AsRef<Path>, size: usize, options: &Options) -> Result<Segment> {
        Err(Error::Unsupported("segments"))
    }

    /// Removes the name of a segment. Processes attached to it keep it until they let go.
    pub fn unlink(name: impl AsRef<Path>) -> Result<()> {
        Err(Error::Unsupported("segments"))
    }

    /// Bytes in the working copy.
    pub fn len(&self) -> usize {
        0
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The editing unit in bytes.
    pub fn unit(&self) -> usize {
        8
    }

    /// The start of the working copy, page-aligned; stays the same until the segment is dropped,
    /// through updates and growth. In a forked child there is no memory there.
    pub fn as_ptr(&self) -> *const u8 {
        std::ptr::null()
    }

    /// As [`Segment::as_ptr`], to write through.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        std::ptr::null_mut()
    }

    /// The working copy.
    pub fn as_slice(&self) -> &[u8] {
        &[]
    }

    /// The working copy, to write to. Empty if read-only.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut []
    }

    /// The version of the working copy: how many commits it has seen.
    pub fn version(&self) -> u64 {
        0
    }

    /// The version of the trunk. No system call.
    pub fn trunk_version(&self) -> u64 {
        0
    }

    /// Whether the trunk has changes that the working copy has not. One load, no system call.
    pub fn is_behind(&self) -> bool {
        false
    }

    /// Merges the trunk's changes into the working copy; where both changed a unit the local one stays.
    pub fn update(&mut self) -> Result<Updated> {
        Err(Error::Unsupported("segments"))
    }

    /// As [`Segment::update`], but if both sides changed a unit: [`Error::Conflict`], and nothing done.
    pub fn update_validated(&mut self) -> Result<Updated> {
        Err(Error::Unsupported("segments"))
    }

    /// As [`Segment::update`], asking `decide` about each unit that both sides changed, ascending
    /// within a page. All are asked before anything is written.
    pub fn update_with(&mut self, decide: impl FnMut(Conflict<'_>) -> Choice) -> Result<Updated> {
        Err(Error::Unsupported("segments"))
    }

    /// Publishes the local changes; all of them become visible to others' updates at once. Returns
    /// the new version, or the present one if nothing was changed.
    pub fn commit(&mut self) -> Result<u64> {
        Err(Error::Unsupported("segments"))
    }

    /// Update and commit in one step: never [`Error::Behind`].
    pub fn commit_merge(&mut self) -> Result<u64> {
        Err(Error::Unsupported("segments"))
    }

    /// As [`Segment::commit_merge`], but a conflict is an error and nothing is done.
    pub fn commit_merge_validated(&mut self) -> Result<u64> {
        Err(Error::Unsupported("segments"))
    }

    /// Declares that this byte range was or will be written before the next commit.
    pub fn touch(&mut self, range: Range<usize>) -> Result<()> {
        Err(Error::Unsupported("segments"))
    }

    /// Makes the segment longer, for everybody; others see the new length at their next update.
    pub fn grow(&mut self, size: usize) -> Result<()> {
        Err(Error::Unsupported("segments"))
    }

    /// Takes the local changes back. The working copy is at its version again.
    pub fn discard(&mut self) -> Result<()> {
        Err(Error::Unsupported("segments"))
    }

    /// The byte ranges, at unit granularity, where the working copy differs from its version.
    pub fn diff(&mut self) -> Result<Vec<Range<usize>>> {
        Err(Error::Unsupported("segments"))
    }

    /// The byte ranges that the trunk has changed since the working copy's version, at word or unit
    /// granularity, whichever is larger.
    pub fn incoming(&mut self) -> Result<Vec<Range<usize>>> {
        Err(Error::Unsupported("segments"))
    }

    /// Writes a file-backed segment to its disk.
    pub fn sync(&self) -> Result<()> {
        Err(Error::Unsupported("segments"))
    }

    /// After a fork, in the child: checks the same segment out anew. The parent's local changes are
    /// not in it.
    pub fn reattach(&mut self) -> Result<()> {
        Err(Error::Unsupported("segments"))
    }
}
