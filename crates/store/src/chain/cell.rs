//! The cells of a chain.

use std::num::NonZeroU32;
use std::ptr::NonNull;

use fyris_sync::alloc;
use fyris_sync::reclaim::{Guard, Retire};

use super::Member;
use super::run::{self, Run};
use crate::record::RecordPtr;
use crate::slot::{Content, Kind};

/// One object of several, or a tombstone.
pub(crate) struct Cell {
    /// The object; in a tombstone the newest live object.
    pub(crate) record: RecordPtr,
    /// The chain below.
    pub(super) older: Content,
    /// The [fingerprint](RecordPtr::fingerprint) of the object, or of the deleted one.
    pub(super) fingerprint: u64,
    /// The number of tombstones, this cell's and those below.
    pub(super) tombstones: u32,
    /// The sequence number of the newest object, in this cell or below: one more than that of the object before it. The
    /// oldest object has 0.
    pub(super) seq: u32,
    /// In a tombstone, one more than the sequence number of the deleted object.
    deleted: Option<NonZeroU32>,
    /// Whether the oldest object was deleted, by this tombstone or by one below.
    pub(super) oldest_is_dead: bool,
}

/// A cell with a run beside it: one whose [place](ChainPlace) is a multiple of [`run::LENGTH`].
#[repr(C)]
struct Indexed {
    cell: Cell,
    run: Run,
}

/// The number of cells from the oldest one up to a cell. It decides which cells have runs.
pub(super) type ChainPlace = u32;

impl Cell {
    /// Returns the number of live objects, in this cell and below.
    pub(crate) fn count(&self) -> usize {
        (self.seq + 1 - self.tombstones) as usize
    }

    pub(super) fn place(&self) -> ChainPlace {
        self.seq + self.tombstones
    }

    /// Returns the sequence number of the object that this tombstone says is deleted.
    pub(super) fn deleted(&self) -> Option<u32> {
        self.deleted.map(|deleted| deleted.get() - 1)
    }

    fn has_run(&self) -> bool {
        self.place().is_multiple_of(run::LENGTH)
    }
}

/// A pointer to a live cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellPtr(NonNull<Cell>);

impl CellPtr {
    pub(crate) fn bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// # Safety
    ///
    /// `bits` comes from [`CellPtr::bits`] of a cell that has not been freed.
    pub(crate) unsafe fn from_bits(bits: u64) -> CellPtr {
        let ptr = std::ptr::with_exposed_provenance_mut(bits as usize);
        // SAFETY: the bits came from a NonNull.
        CellPtr(unsafe { NonNull::new_unchecked(ptr) })
    }

    #[inline]
    pub(crate) fn get<'c>(self) -> &'c Cell {
        // SAFETY: live by RECLAIM, as the caller holds it under a pin or owns it; never written (PERSISTENT).
        unsafe { self.0.as_ref() }
    }

    /// Returns the object in the cell, dead or alive; `None` for a tombstone.
    #[inline]
    pub(super) fn object(self) -> Option<Member> {
        let cell = self.get();
        cell.deleted.is_none().then_some(Member {
            record: cell.record,
            seq: cell.seq,
            cell: Some(self),
        })
    }

    /// Returns the run beside the cell, if it has one.
    pub(super) fn run<'c>(self) -> Option<&'c Run> {
        let indexed = self.0.cast::<Indexed>();
        // SAFETY: live as in `get`, and `new` made it with a run.
        self.get()
            .has_run()
            .then(|| unsafe { &(*indexed.as_ptr()).run })
    }

    /// Returns the number of bytes allocated for it.
    pub(super) fn size(self) -> usize {
        match self.run() {
            None => size_of::<Cell>(),
            Some(run) => size_of::<Indexed>() + run.size(),
        }
    }

    /// Retires it.
    ///
    /// # Safety
    ///
    /// It is in no slot any more, and retired once.
    pub(super) unsafe fn retire(self, pin: &impl Guard) {
        if let Some(run) = self.run() {
            pin.weigh(run.size());
        }
        // SAFETY: forwarded.
        unsafe { pin.retire(self.0.as_ptr()) }
    }

    /// Frees it.
    ///
    /// # Safety
    ///
    /// No other thread can reach it, and it was not retired.
    pub(super) unsafe fn free(self) {
        // SAFETY: forwarded.
        unsafe { Cell::reclaim(self.0.as_ptr()) }
    }
}

impl Retire for Cell {
    unsafe fn reclaim(ptr: *mut Cell) {
        const { assert!(!std::mem::needs_drop::<Indexed>()) };
        // SAFETY: no pointer to a cell is null.
        let cell = CellPtr(unsafe { NonNull::new_unchecked(ptr) });
        let size = match cell.run() {
            None => size_of::<Cell>(),
            Some(run) => {
                // SAFETY: the run goes with its cell, and is not looked at any more.
                unsafe { run.free() };
                size_of::<Indexed>()
            }
        };
        // SAFETY: allocated in `new` with this size, and reclaimed once.
        unsafe { alloc::free(cell.0.cast(), size) };
    }
}

/// The figures of a chain that the next cell builds on.
#[derive(Clone, Copy, Default)]
pub(super) struct Figures {
    /// The number of tombstones.
    pub(super) tombstones: u32,
    /// The sequence number of the newest object.
    pub(super) seq: u32,
    pub(super) oldest_is_dead: bool,
}

/// Returns the figures of a chain, or of a single object.
pub(super) fn figures(content: Content) -> Figures {
    match content.kind() {
        Kind::One(_) => Figures::default(),
        Kind::Many(cell) => {
            let cell = cell.get();
            Figures {
                tombstones: cell.tombstones,
                seq: cell.seq,
                oldest_is_dead: cell.oldest_is_dead,
            }
        }
    }
}

/// Returns an object on top of `older`.
pub(super) fn object(record: RecordPtr, fingerprint: u64, older: Content) -> Content {
    let below = figures(older);
    new(Cell {
        record,
        older,
        fingerprint,
        tombstones: below.tombstones,
        seq: below.seq + 1,
        deleted: None,
        oldest_is_dead: below.oldest_is_dead,
    })
}

/// Returns a tombstone on top of `older`, for `deleted`; `newest` is the newest live object.
pub(super) fn tombstone(deleted: &Member, newest: RecordPtr, older: Content) -> Content {
    let below = figures(older);
    new(Cell {
        record: newest,
        older,
        fingerprint: deleted.fingerprint(),
        tombstones: below.tombstones + 1,
        seq: below.seq,
        deleted: NonZeroU32::new(deleted.seq + 1),
        oldest_is_dead: deleted.seq == 0 || below.oldest_is_dead,
    })
}

fn new(cell: Cell) -> Content {
    const { assert!(align_of::<Indexed>() <= 8 && size_of::<Cell>() == 40) };
    let (has_run, older) = (cell.has_run(), cell.older);
    let size = match has_run {
        true => size_of::<Indexed>(),
        false => size_of::<Cell>(),
    };
    let at = CellPtr(alloc::allocate(size).cast());
    // SAFETY: allocated just now, with this size and an alignment of 8; no other thread has it. The run, which looks at
    // the cell, is made when the cell is there.
    unsafe {
        at.0.write(cell);
        if has_run {
            let run = Run::new(at, older);
            let indexed = at.0.cast::<Indexed>().as_ptr();
            std::ptr::addr_of_mut!((*indexed).run).write(run);
        }
    }
    Content::many(at)
}
