//! Sorted runs: how one object is found among many of its key.
//!
//! # Why
//!
//! To delete one of 10,000 objects of a key, or to see that a bag has an object already, a walk would look at 10,000
//! cells. So the cells stand in sorted runs as well, as in a log-structured merge tree (O'Neil et al., 1996): each
//! [`LENGTH`]th cell has a run of the cells down to the run before it, and each [`FAN_OUT`]th run takes in those that
//! lie between it and the one before it of its level. A search looks at fewer than [`LENGTH`] cells, and bisects fewer
//! than [`FAN_OUT`] runs of each level: O(log² n) of n cells, beside the objects that it finds.
//!
//! # Invariants
//!
//! - **PERSISTENT** holds for runs as for cells. What a run holds depends on nothing but the chain below its cell, so
//!   chains that share cells share their runs, whatever commits are decided in whatever way.
//! - **NEWEST**: the entries of one fingerprint stand in the order of the chain, the newest first, and all entries of a
//!   run are newer than those of the next run that a search comes to. So a tombstone is met before its object, as in a
//!   walk; both have one fingerprint.
//!
//! A run of a higher level copies those below it, which stay for the chains that end there: a cell stands in one run of
//! each level, 16 bytes in each.

use std::collections::BinaryHeap;
use std::ops::RangeInclusive;
use std::ptr::NonNull;

use fyris_sync::alloc;
use smallvec::SmallVec;

use super::cell::{self, CellPtr, Place};
use super::{Dead, Member};
use crate::slot::{Content, Kind};

/// Cells from one run to the next. Few in tests, where a short chain has runs of several levels.
pub(super) const LENGTH: Place = if cfg!(any(test, fyris_small)) { 4 } else { 64 };
/// Runs of a level that one of the next level takes in.
const FAN_OUT: Place = if cfg!(any(test, fyris_small)) { 2 } else { 16 };

/// The fingerprints that a search looks for.
pub(crate) type Prints = RangeInclusive<u64>;

/// All fingerprints.
pub(crate) const ANY: Prints = 0..=u64::MAX;

#[derive(Clone, Copy)]
struct Entry {
    print: u64,
    cell: CellPtr,
}

impl Entry {
    fn of(cell: CellPtr) -> Entry {
        Entry {
            print: cell.get().print,
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
        entries.sort_by_key(|entry| entry.print);
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

    /// Returns the entries with fingerprints in a range.
    fn within(&self, prints: &Prints) -> &[Entry] {
        let entries = self.entries();
        let from = entries.partition_point(|entry| entry.print < *prints.start());
        let behind = entries[from..].partition_point(|entry| entry.print <= *prints.end());
        &entries[from..from + behind]
    }

    /// Returns the cells with fingerprints in a range, the oldest first.
    fn with_prints(&self, prints: &Prints) -> SmallVec<[CellPtr; 4]> {
        let found = self.within(prints).iter();
        let mut cells: SmallVec<[CellPtr; 4]> = found.map(|entry| entry.cell).collect();
        if prints.start() != prints.end() {
            cells.sort_unstable_by_key(|cell| cell.get().place());
        } else if !cfg!(fyris_mutant = "chain_run_reversed") {
            cells.reverse();
        }
        cells
    }
}

/// Returns the number of cells in the run of a cell, by its place: those of a level are a multiple of those of the level
/// below, and stand at places that are multiples of their number.
fn covered(place: Place) -> Place {
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
pub(super) fn has_large(lowest: Place, highest: Place) -> bool {
    const LARGE: Place = LENGTH * FAN_OUT;
    highest / LARGE > lowest.saturating_sub(1) / LARGE
}

/// Returns whether a search meets more than `most` cells with fingerprints in a range. O(log² n), and O(most).
pub(crate) fn is_long(content: Content, prints: &Prints, most: usize) -> bool {
    let (mut rest, mut met) = (content, 0);
    while let Kind::Many(cell) = rest.kind()
        && met <= most
    {
        (met, rest) = match cell.run().filter(|_| *prints != ANY) {
            Some(run) => (met + run.within(prints).len(), run.below),
            None => {
                let is_like = prints.contains(&cell.get().print);
                (met + usize::from(is_like), cell.get().older)
            }
        };
    }
    met > most
}

/// A search for the live objects of a chain with fingerprints in a range, the newest first. The oldest object, which
/// has none beside it, is always found.
pub(crate) struct Search<'p> {
    prints: &'p Prints,
    rest: Option<Content>,
    oldest_is_dead: bool,
    /// Cells of the last run, the oldest first.
    found: SmallVec<[CellPtr; 4]>,
    dead: Dead,
}

/// Searches a chain, or a single object.
pub(crate) fn search(content: Content, prints: &Prints) -> Search<'_> {
    Search {
        prints,
        rest: Some(content),
        oldest_is_dead: cell::figures(content).oldest_is_dead,
        found: SmallVec::new(),
        dead: Dead(BinaryHeap::new()),
    }
}

impl Search<'_> {
    /// Goes on to the next cell with such a fingerprint and returns the live object in it, or to the oldest object.
    fn step(&mut self) -> Option<Option<Member>> {
        if let Some(cell) = self.found.pop() {
            return Some(self.dead.met(cell));
        }
        match self.rest.take()?.kind() {
            Kind::One(record) => Some((!self.oldest_is_dead).then(|| Member::oldest(record))),
            Kind::Many(cell) => Some(match cell.run().filter(|_| *self.prints != ANY) {
                Some(run) => {
                    self.rest = Some(run.below);
                    self.found = run.with_prints(self.prints);
                    None
                }
                None => {
                    self.rest = Some(cell.get().older);
                    let is_like = self.prints.contains(&cell.get().print);
                    is_like.then(|| self.dead.met(cell)).flatten()
                }
            }),
        }
    }
}

impl Iterator for Search<'_> {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        loop {
            if let Some(object) = self.step()? {
                return Some(object);
            }
        }
    }
}
