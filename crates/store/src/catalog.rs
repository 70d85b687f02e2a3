//! From a table's number or name to the table, without locks.
//!
//! # Why
//!
//! Every operation of a binding begins with a table id or a name, so finding the table must cost
//! no more than two loads and must not write a shared line. Names are atoms, and an atom is a
//! small number in this process, so one structure serves both: an array of pointers indexed by
//! number, in chunks that appear when first used.
//!
//! # Invariant
//!
//! **TABLE_STAYS**: a pointer in a directory is to a [`TableShared`] that is alive: the registry, under its lock, owns
//! a count of it, takes it out of both directories first, and drops the count only after every thread that was pinned
//! has unpinned (RECLAIM). So a pinned reader may use what it finds.
//!
//! A table that is found by a name may have another one by then, or be deleted: the table itself says so (see
//! [`crate::life`]). While it has a name and lives, it is found by it.

use fyris_sync::atomic::{AtomicPtr, Ordering};
use fyris_sync::reclaim::{Guard, PROTECT};

use crate::table_shared::TableShared;

/// Entries of a chunk, and chunks: together the most atoms and the most tables there can be.
const CHUNK: usize = 1 << 10;
const CHUNKS: usize = 1 << 10;

/// The most entries of a directory.
pub(crate) const ENTRIES: usize = CHUNK * CHUNKS;

type TableChunk = [AtomicPtr<TableShared>; CHUNK];

/// Tables by a small number.
pub(crate) struct Directory {
    chunks: Box<[AtomicPtr<TableChunk>]>,
}

impl Directory {
    pub(crate) fn new() -> Directory {
        let empty = || AtomicPtr::new(std::ptr::null_mut());
        Directory {
            chunks: (0..CHUNKS).map(|_| empty()).collect(),
        }
    }

    /// Returns the table with this number. Takes two loads.
    #[inline]
    pub(crate) fn get<'g>(&self, number: usize, _pin: &'g impl Guard) -> Option<&'g TableShared> {
        let chunk = self.chunks.get(number / CHUNK)?;
        // Acquire: pairs with the Release in `set`. Chunks live as long as the directory.
        // SAFETY: null, or from the Box in `set`.
        let chunk = unsafe { chunk.load(Ordering::Acquire).as_ref() }?;
        // PROTECT: pairs with the Release in `set`. SAFETY: TABLE_STAYS.
        unsafe { chunk[number % CHUNK].load(PROTECT).as_ref() }
    }

    /// Enters a table, or null. Called under the registry's lock.
    pub(crate) fn set(&self, number: usize, shared: *const TableShared) {
        let place = &self.chunks[number / CHUNK];
        // Relaxed: only holders of the registry's lock write here.
        let mut chunk = place.load(Ordering::Relaxed);
        if chunk.is_null() {
            let empty = || AtomicPtr::new(std::ptr::null_mut());
            let fresh: Box<[AtomicPtr<TableShared>]> = (0..CHUNK).map(|_| empty()).collect();
            chunk = Box::into_raw(fresh).cast::<TableChunk>();
            // Release: pairs with the Acquire in `get`, which sees the nulls.
            place.store(chunk, Ordering::Release);
        }
        // SAFETY: a chunk lives as long as the directory.
        let entry = unsafe { &(&*chunk)[number % CHUNK] };
        // Release: pairs with PROTECT in `get`, which sees a whole TableShared.
        entry.store(shared.cast_mut(), Ordering::Release);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        for chunk in &self.chunks {
            // Relaxed: no other thread has the directory any more.
            let chunk = chunk.load(Ordering::Relaxed);
            if !chunk.is_null() {
                // SAFETY: from the Box in `set`, a slice of this length.
                drop(unsafe { Box::from_raw(chunk) });
            }
        }
    }
}
