//! Looking at a trunk's file without attaching to it: no slot, no lock, no mapping.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::Trunk;
use super::create::read_header;
use super::layout::{Geometry, SLOT, word};
use super::slots::Process;
use crate::PAGE;
use crate::error::{Error, Result};
use crate::name::Location;

/// The content of a trunk's file, read piece by piece: exact while no process commits or attaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Glance {
    pub(crate) geometry: Geometry,
    pub(crate) size: usize,
    pub(crate) version: u64,
    /// Living processes with a slot.
    pub(crate) processes: usize,
    /// Bytes of memory or disk behind the file.
    pub(crate) backed: u64,
}

impl Trunk {
    /// Looks at the file of a segment.
    pub(crate) fn glance(place: &Location) -> Result<Glance> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(CWD, &place.path, flags, Mode::empty());
        let file = match file {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Err(Error::NotFound(place.path.clone())),
            Err(error) => return Err(Error::os_at("opening segment", &place.path)(error)),
        };
        let geometry = read_header(&file, place)?;
        let meta = file.metadata().map_err(reading)?;
        let size = usize::try_from(word_at(&file, word::SIZE)?);
        let size = size.ok().filter(|size| *size <= geometry.pages * PAGE);
        Ok(Glance {
            geometry,
            size: size.ok_or(Error::Corrupt("the segment's size"))?,
            version: word_at(&file, word::VERSION)?,
            processes: living(&file, &geometry)?,
            // The kernel counts in 512 bytes, whatever the file system's blocks are.
            backed: meta.blocks().saturating_mul(512),
        })
    }
}

fn reading(source: std::io::Error) -> Error {
    Error::Os {
        what: "reading a segment's file",
        path: None,
        source,
    }
}

fn word_at(file: &File, offset: usize) -> Result<u64> {
    let mut word = [0; 8];
    let read = file.read_exact_at(&mut word, offset as u64);
    read.map_err(reading).map(|()| u64::from_le_bytes(word))
}

/// Returns the number of living processes that are attached. A process that is attached several
/// times has as many slots, and counts once.
fn living(file: &File, geometry: &Geometry) -> Result<usize> {
    let used = (word_at(file, word::SLOTS_USED)? as usize).min(geometry.slots);
    let mut owners = Vec::new();
    for slot in 0..used {
        let owner = word_at(file, geometry.slots_at + slot * SLOT)?;
        if owner != 0 && !owners.contains(&owner) && Process::known_as(owner).alive() {
            owners.push(owner);
        }
    }
    Ok(owners.len())
}
