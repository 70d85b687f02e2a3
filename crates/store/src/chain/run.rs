//! Sorted runs: how one object is found among many of its key.
//!
//! # Why
//!
//! To delete one of 10,000 objects of a key, or to see that a bag has an object already, a walk would look at 10,000
//! cells. So the cells stand in sorted runs as well, as in a log-structured merge tree (O'Neil et al., 1996). Each
//! [`LENGTH`]th cell has a run, which covers the cells down to the next one with a run. Each [`FAN_OUT`]th run is of
//! the next level: it merges the runs below it down to the next one of its level. A search looks at fewer than
//! [`LENGTH`] cells, and bisects fewer than [`FAN_OUT`] runs of each level: O(log² n) of n cells, plus the objects that
//! it finds.
//!
//! Where more than [`LENGTH`] cells of a run have a fingerprint that is searched for, the search walks on from cell to
//! cell, and tries the smaller runs below: so a few objects are found without all the others that are like them.
//!
//! # Invariants
//!
//! - PERSISTENT holds for runs as for cells. The entries of a run depend on nothing but the chain below its cell, so
//!   chains that share cells share their runs, however commits are decided.
//! - **NEWEST**: a search visits cells from the newest to the oldest. The entries of one fingerprint are in the order
//!   of the chain, the newest first, and the entries of a run are newer than those of the next run. So a tombstone is
//!   visited before its object, as in a walk; the two have the same fingerprint.
//!
//! A merged run is a copy: the runs below it stay, for the chains whose newest cell is there. A cell has one entry of
//! 16 bytes in a run of each level.

use std::ops::RangeInclusive;
use std::ptr::NonNull;

use fyris_sync::alloc;
use smallvec::SmallVec;

use super::cell::{self, CellPtr, ChainPlace};
use super::{Dead, Member};
use crate::slot::{Content, Kind};

/// Cells from one run to the next. Few in tests, where a short chain has runs of several levels.
pub(super) const LENGTH: ChainPlace = if cfg!(any(test, fyris_small)) { 4 } else { 64 };
/// Runs of a level that one of the next level takes in.
const FAN_OUT: ChainPlace = if cfg!(any(test, fyris_small)) { 2 } else { 16 };

/// The fingerprints that a search looks for.
pub(crate) type Fingerprints = RangeInclusive<u64>;

/// All fingerprints.
pub(crate) const ANY: Fingerprints = 0..=u64::MAX;

#[derive(Clone, Copy)]
struct Entry {
    fingerprint: u64,
    cell: CellPtr,
}

impl Entry {
    fn of(cell: CellPtr) -> Entry {
        Entry {
            fingerprint: cell.get().fingerprint,
            cell,
        }
    }
}

/// A cell, and some of those below it, by their fingerprints.
pub(super) struct Run {
    entries: NonNull<Entry>,
    len: usize,
    /// The chain below the lowest cell of the run.
    below: Content,
}

impl Run {
    /// Returns the run of a cell that is on top of `older`.
    pub(super) fn new(newest: CellPtr, older: Content) -> Run {
        let place = newest.get().place();
        let end = place - covered(place);
        let mut entries = vec![Entry::of(newest)];
        let mut below = older;
        while let Kind::Many(cell) = below.kind()
            && cell.get().place() > end
        {
            match cell.run() {
                None => {
                    entries.push(Entry::of(cell));
                    below = cell.get().older;
                }
                Some(run) => {
                    entries.extend_from_slice(run.entries());
                    below = run.below;
                }
            }
        }
        debug_assert_eq!(entries.len(), (place - end) as usize);
        // Stable, for NEWEST, and quick about the runs that it is made of.
        entries.sort_by_key(|entry| entry.fingerprint);
        let at = alloc::allocate(size_of_val(&entries[..])).cast::<Entry>();
        // SAFETY: allocated just now for as many entries, with an alignment of 8.
        unsafe { at.copy_from_nonoverlapping(NonNull::from(&entries[..]).cast(), entries.len()) };
        Run {
            entries: at,
            len: entries.len(),
            below,
        }
    }

    fn entries(&self) -> &[Entry] {
        // SAFETY: `new` wrote that many, and they are freed with the run.
        unsafe { std::slice::from_raw_parts(self.entries.as_ptr(), self.len) }
    }

    /// Returns the number of bytes allocated for the entries.
    pub(super) fn size(&self) -> usize {
        size_of_val(self.entries())
    }

    /// Frees the entries.
    ///
    /// # Safety
    ///
    /// The run is not looked at any more, and freed once.
    pub(super) unsafe fn free(&self) {
        // SAFETY: allocated in `new` with this size; the caller's contract.
        unsafe { alloc::free(self.entries.cast(), self.size()) }
    }

    /// Returns the cells with fingerprints in a range, the oldest first; `None` if they are more than [`LENGTH`].
    fn within(&self, fingerprints: &Fingerprints) -> Option<SmallVec<[CellPtr; 4]>> {
        let entries = self.entries();
        let from = entries.partition_point(|entry| entry.fingerprint < *fingerprints.start());
        let is_within = |entry: &Entry| entry.fingerprint <= *fingerprints.end();
        let count = entries[from..].partition_point(is_within);
        if count > LENGTH as usize {
            return None;
        }
        let found = entries[from..from + count].iter();
        let mut cells: SmallVec<[CellPtr; 4]> = found.map(|entry| entry.cell).collect();
        if fingerprints.start() != fingerprints.end() {
            cells.sort_unstable_by_key(|cell| cell.get().place());
        } else if !cfg!(fyris_mutant = "chain_run_reversed") {
            cells.reverse();
        }
        Some(cells)
    }
}

/// Returns the number of cells that the run of a cell covers, by the cell's place: the greatest of a level whose runs
/// are at multiples of it.
fn covered(place: ChainPlace) -> ChainPlace {
    let mut cells = LENGTH;
    while let Some(more) = cells.checked_mul(FAN_OUT)
        && place.is_multiple_of(more)
    {
        cells = more;
    }
    cells
}

/// Returns the chain in which a search goes on behind a cell.
#[cfg(test)]
pub(super) fn below(cell: CellPtr) -> Content {
    cell.run().map_or(cell.get().older, |run| run.below)
}

/// Returns whether a chain has a large run between two places, which takes long to make again.
pub(super) fn has_large(lowest: ChainPlace, highest: ChainPlace) -> bool {
    const LARGE: ChainPlace = LENGTH * FAN_OUT;
    highest / LARGE > lowest.saturating_sub(1) / LARGE
}

/// A search for the live objects of a chain with fingerprints in a range, the newest first. The oldest object, beside
/// which there is no fingerprint, is always found.
pub(crate) struct Search {
    fingerprints: Fingerprints,
    rest: Option<Content>,
    oldest_is_dead: bool,
    /// Cells of the last run, the oldest first.
    found: SmallVec<[CellPtr; 4]>,
    dead: Dead,
}

/// Searches a chain, or a single object.
pub(crate) fn search(content: Content, fingerprints: Fingerprints) -> Search {
    Search {
        fingerprints,
        rest: Some(content),
        oldest_is_dead: cell::figures(content).oldest_is_dead,
        found: SmallVec::new(),
        dead: Dead::default(),
    }
}

impl Search {
    /// Goes on to the next cell with such a fingerprint and returns the live object in it, or to the oldest object.
    fn step(&mut self) -> Option<Option<Member>> {
        if let Some(cell) = self.found.pop() {
            return Some(self.dead.visit(cell));
        }
        let cell = match self.rest.take()?.kind() {
            Kind::One(record) => {
                return Some((!self.oldest_is_dead).then(|| Member::oldest(record)));
            }
            Kind::Many(cell) => cell,
        };
        if let Some(run) = cell.run()
            && let Some(found) = run.within(&self.fingerprints)
        {
            (self.found, self.rest) = (found, Some(run.below));
            return Some(None);
        }
        self.rest = Some(cell.get().older);
        let is_like = self.fingerprints.contains(&cell.get().fingerprint);
        Some(is_like.then(|| self.dead.visit(cell)).flatten())
    }
}

impl Iterator for Search {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        loop {
            if let Some(object) = self.step()? {
                return Some(object);
            }
        }
    }
}
