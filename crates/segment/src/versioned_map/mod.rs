//! An ordered map in a segment: byte-string keys to byte-string values.
//!
//! # Why
//!
//! A segment gives bytes with versions. Most programs want to look things up in them, in a structure without pointers,
//! since every process has the segment elsewhere. [`VersionedMap`] is a B+ tree of page-sized nodes in the working
//! copy. Readers read their own version at the speed of private memory: no lock, no system call, no other process's
//! writes under their feet; they [update](VersionedMap::update) when they choose, and see whole commits only. Writers
//! commit.
//!
//! ```
//! use fyris_segment::{MapError, Options, Segment, VersionedMap};
//!
//! let name = format!("rivers-{}", std::process::id());
//! let mut writer = VersionedMap::checkout(&name, 1 << 20, &Options::new())?;
//! let mut reader = VersionedMap::checkout(&name, 0, &Options::new().read_only(true))?; // elsewhere
//!
//! writer.write(|batch| {
//!     batch.insert(b"river/Fyris", b"80 km")?;
//!     batch.insert(b"river/Dal", b"541 km")?;
//!     Ok::<_, MapError>(())
//! })?;
//!
//! assert!(reader.is_behind() && reader.is_empty()?);
//! reader.update()?;
//! for entry in reader.prefix(b"river/")? {
//!     let (key, value) = entry?;
//!     println!("{}: {}", key.escape_ascii(), value.escape_ascii());
//! }
//! assert_eq!(reader.get(b"river/Fyris")?, Some(&b"80 km"[..]));
//! Segment::unlink(&name)?;
//! # Ok::<(), MapError>(())
//! ```
//!
//! # Layout
//!
//! Everything is little-endian; places are page numbers (32 bits) and offsets in pages (16 bits).
//!
//! | pages (of 4096 bytes) | content |
//! |---|---|
//! | 0 | header: see below |
//! | 1, and every 32,768th page | bitmap: one bit for each of the group's 32,768 pages, set if in use |
//! | others | nodes (see `node`), pages of long values, free pages |
//!
//! | bytes of the header | content |
//! |---|---|
//! | 0..8 | `FyrisMap` |
//! | 8..16 | format (1 in the upper half), bytes in a node |
//! | 16, 20, 24, 28 | pages of the map, root's page, root's level, free pages (4 each) |
//! | 32..40 | entries |
//! | 40..44 | no page below this one is free |
//! | 56..64 | sum over the seal |
//! | 64..576 | the seal: 32 pairs of 8-byte words |
//!
//! A value longer than about 1 KB has pages of its own, in one piece, so that [`VersionedMap::get`] can
//! lend it out; it is rounded up to whole pages.
//!
//! # Few dirty pages
//!
//! The cost of a commit is the number of pages that it dirties. An insert that splits nothing dirties the header and
//! one leaf; a split adds the new leaf, its parent and one page of bitmap. There are no links between leaves, since
//! they would dirty neighbours. The lowest free page is used first. A removal joins nodes only when one is three
//! quarters empty.
//!
//! # Writers
//!
//! Two processes that both changed the map since their last common version cannot be merged word by
//! word: the result would have the header of one and nodes of both. So the map is never merged.
//! [`VersionedMap::write`] works optimistically:
//!
//! 1. update, on a clean working copy: nothing to merge, the copy is the trunk's latest version;
//! 2. run the closure, which changes the copy;
//! 3. commit. If the trunk moved meanwhile, the segment refuses (`Behind`): discard, begin again.
//!
//! So every commit follows from the version right before it: changes are serializable, in the order of commits.
//! Each time one writer must begin again, another one has committed.
//!
//! A program may bypass this and merge the segment under the map. The first change after a commit renews the *seal* in
//! the header in such a way that a merge of two changed headers shows (see `seal`); every update and every write looks
//! at it: [`MapError::Merged`].
//!
//! # Invariants
//!
//! **L, levels fall.** A node is only accepted with the level that its parent's level demands. So every
//! descent ends, in any bytes whatever.
//!
//! **B, budget.** A walk over entries visits no more nodes than the map has pages. Who goes on from the key that it
//! was on ([`Cursor`], [`View::first_in`], [`View::last_in`]) comes to one that is really behind, or to an error.
//!
//! **C, checked.** Every place and length is checked where it is used; there is no `unsafe` in this module. Wrong
//! bytes give [`MapError::Corrupt`] or wrong answers, never a panic or an endless loop.
//!
//! **P, prepared.** A change first makes sure that there are pages for everything that it may split. So
//! [`MapError::Full`] leaves the map as it was.

mod batch;
mod check;
mod cursor;
mod edit;
mod editor;
mod error;
mod header;
mod insert;
mod layout;
mod node;
mod pages;
mod plain;
mod range;
mod remove;
mod seal;
mod shared;
mod tree;
mod view;

pub use batch::Batch;
pub use check::MapReport;
pub use cursor::Cursor;
pub use error::{MapError, MapResult};
pub use layout::{MAX_KEY, MAX_VALUE, MIN_BYTES, Region};
pub use plain::Plain;
pub use range::Range;
pub use shared::VersionedMap;
pub use view::View;

/// The memory of a map in its region, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// All pages of the map.
    pub total: usize,
    /// Pages in use, those of the header and the bitmap included.
    pub used: usize,
    /// Free pages.
    pub free: usize,
}
