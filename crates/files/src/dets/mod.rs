//! The files of OTP's `dets`, version 9: sets, bags and duplicate bags on disk.
//!
//! # Layout
//!
//! All numbers are 32 bits, big-endian.
//!
//! | offset | what |
//! |---|---|
//! | 0 | position of the lists of free blocks: the end of the data in a closed file |
//! | 4 | `00 ab cd ef` |
//! | 8 | 1 closed, 0 not (or its writer is at work) |
//! | 12 | type: 1 set, 2 bag, 3 duplicate bag |
//! | 16 | version: 9 |
//! | 20, 24 | slots before the last doubling (m); slots in use |
//! | 28 | position of the key |
//! | 32, 36 | objects, keys |
//! | 40, 44 | least and most slots |
//! | 48 | hash function: 1 `phash2`, 0 an older one |
//! | 52 | slots of m that have been split (n) |
//! | 56 | 28 counters of collections, by size |
//! | 168 | MD5 of what stands from 12 to here, or zeros in old files |
//! | 184 | what is added to the last number of the file to give its length |
//! | 312 | 256 positions of parts |
//!
//! A part is 512 positions of segments; a segment is 256 slots, each the size and the position of a *collection*, or
//! two
//! zeros. A collection is its size (with the 8 bytes of its head), `12 34 56 78`, and the objects whose keys belong to
//! the slot: each its size (with these 4 bytes) and a term in external format. In bags the objects of a key stand
//! behind
//! one more such size. A collection lies in a block of a power of two, 16 bytes at the least.
//!
//! # Closed, and not
//!
//! Of a file that was closed the slots say where everything is ([`Rows`] follows them), and how much there is, so it is
//! seen if something is missing. While a file is open its slots and collections are behind each other on disk. What is
//! left by a writer that died is what its repair finds, and so does [`Rows`]: every collection from the first block to
//! the last, in the order of the file. In a set a later object of a key replaces an earlier one; in a bag equal ones
//! are
//! one; in a duplicate bag an object whose collection had just been moved may be there twice, as after `dets`'s repair.
//!
//! # Damage
//!
//! Only the header has a checksum. A byte of an object may have changed, and nothing tells it. Everything else is
//! checked: each key against the slot that it stands in, keys against each other, sizes, and the number of objects.
//!
//! Invariant **APART_ON_DISK**: collections and segments do not share bytes, so who has read as many bytes of either as
//! the file has, stops: time and memory are bounded by the length of the file, whatever its positions say.

mod collection;
mod header;
mod scan;
mod slots;

use std::path::Path;

use fyris_term::Term;

use crate::FileError;
use crate::source::Source;

use header::Header;

/// The type of a table in a dets file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetsType {
    /// One object a key.
    Set,
    /// Several different objects a key.
    Bag,
    /// Several objects a key, equal ones too.
    DuplicateBag,
}

/// What the header of a dets file says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DetsInfo {
    /// The type of the table.
    pub table_type: DetsType,
    /// The position of the key in objects, from 1.
    pub keypos: usize,
    /// The number of objects: of a file that is not closed, when it was saved last.
    pub objects: u64,
    /// Was it closed, or saved since the last change? `dets` repairs others when it opens them.
    pub closed: bool,
}

/// A dets file, open for reading. Nothing is ever written to it, and no lock is taken: a process that writes it
/// meanwhile is seen as damage.
#[derive(Debug)]
pub struct Dets {
    source: Source,
    header: Header,
}

impl Dets {
    /// Opens a file and checks its header.
    ///
    /// # Errors
    ///
    /// [`FileError::Foreign`] for what is no dets file of version 9 or has a header that is not as it was written,
    /// which `dets` refuses as well; [`FileError::Read`].
    pub fn open(path: impl AsRef<Path>) -> Result<Dets, FileError> {
        let source = Source::open(path.as_ref())?;
        let header = Header::read(&source)?;
        Ok(Dets { source, header })
    }

    /// Returns what the header says.
    pub fn info(&self) -> &DetsInfo {
        &self.header.info
    }

    /// Returns the objects, in the order of the file's slots; of a file that was not closed, in the order of the file,
    /// where they replace each other as inserts would; if it ends before what its header points to, that is told first.
    ///
    /// Takes memory for one collection at a time (the objects of all keys of a slot; a key of a bag is in one), and one
    /// read of the file for each.
    pub fn rows(&self) -> Rows<'_> {
        let header = &self.header;
        Rows(match header.info.closed {
            true => Walk::Slots(slots::Slots::new(&self.source, header)),
            false => Walk::Scan(scan::Scan::new(&self.source, header)),
        })
    }
}

/// The objects of a dets file: see [`Dets::rows`].
///
/// An item is an object, or what is wrong: after damage ([`FileError::is_damage`]) it goes on with what stands behind
/// it, after another error it ends.
#[derive(Debug)]
pub struct Rows<'d>(Walk<'d>);

#[derive(Debug)]
enum Walk<'d> {
    Slots(slots::Slots<'d>),
    Scan(scan::Scan<'d>),
}

impl Iterator for Rows<'_> {
    type Item = Result<Term, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Walk::Slots(slots) => slots.next(),
            Walk::Scan(scan) => scan.next(),
        }
    }
}
