//! Commits over several keys: pending cells and their descriptor.
//!
//! # Why
//!
//! `insert/2` of a list is atomic and isolated: a reader sees all of it or nothing. Readers take no
//! locks, so the step that makes all of it visible must be one store. It is the store of a
//! descriptor's state.
//!
//! # How
//!
//! 1. For every key, in one order for the whole table (that of the key bytes), the committer puts a
//!    *pending cell* in the slot: what the key holds now, what it will hold, and the descriptor.
//! 2. It decides: one Release store of the state, `Committed` or `Aborted`.
//! 3. It replaces each cell that is still there by the content that won, and retires the loser.
//!
//! A reader that meets a cell reads the state: undecided and aborted mean old, committed means new.
//! It never waits. A writer that meets an undecided cell leaves the slot, waits outside and
//! comes back; one that meets a decided cell may replace it at once and then retires the loser itself.
//!
//! # Invariants
//!
//! * (D) The state is written once, after the last cell was put in a slot. So all cells turn together,
//!   and what a committer read of a slot still holds when it decides: nobody can change a slot
//!   that holds an undecided cell.
//! * (G) Cells are put in slots in ascending order of keys, and a committer waits for others while
//!   it holds only cells of smaller keys. So waiting makes no circle.
//! * (B) A descriptor and its cells are one block. Its committer retires it when no slot holds a cell
//!   of it any more; a reader that came by a cell before is pinned (R).
//!
//! A committer that panics half-way aborts (its guard's `Drop`), so that nobody waits for ever.
//!
//! # What will sit on this
//!
//! A transaction is a committer that has also read: between steps 1 and 2 it validates the stamps
//! of what it read and aborts if one has changed. Cells carry removals as well as puts (`new` may be
//! nothing), which is all that writes need. A snapshot needs the version at which the state was decided, a
//! number beside it, written before it.

use std::ptr::NonNull;

use fyris_sync::atomic::{AtomicU8, AtomicU64, Ordering};
use fyris_sync::lock::Backoff;
use fyris_sync::reclaim::{Pin, Retire};

use crate::slot::Content;

/// Whether a commit has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Undecided,
    Committed,
    Aborted,
}

const UNDECIDED: u8 = 0;
const COMMITTED: u8 = 1;
const ABORTED: u8 = 2;

/// One key's part of a commit: 8-byte aligned.
pub(crate) struct Pending {
    descriptor: *const Descriptor,
    /// Bits of a content, or zero. Written before the cell is put in a slot, never after.
    old: AtomicU64,
    /// As `old`.
    new: AtomicU64,
}

/// The state that all cells of a commit share, and the cells (B).
pub(crate) struct Descriptor {
    state: AtomicU8,
    cells: Box<[Pending]>,
}

// SAFETY: the pointer in a cell is to the block the cell is part of.
unsafe impl Send for Descriptor {}
// SAFETY: as above; everything written after publication is atomic.
unsafe impl Sync for Descriptor {}

/// A pointer to a live pending cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PendingPtr(NonNull<Pending>);

impl PendingPtr {
    pub(crate) fn bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// # Safety
    ///
    /// `bits` comes from [`PendingPtr::bits`] of a cell whose block has not been freed.
    pub(crate) unsafe fn from_bits(bits: u64) -> PendingPtr {
        let ptr = std::ptr::with_exposed_provenance_mut(bits as usize);
        // SAFETY: the bits came from a NonNull.
        PendingPtr(unsafe { NonNull::new_unchecked(ptr) })
    }

    pub(crate) fn get<'c>(self) -> &'c Pending {
        // SAFETY: B and R.
        unsafe { self.0.as_ref() }
    }
}

impl Pending {
    /// The state of the commit the cell belongs to.
    pub(crate) fn state(&self) -> State {
        // SAFETY: B: the descriptor lives as long as the cell.
        let state = unsafe { &(*self.descriptor).state };
        // Acquire: pairs with the Release in `Descriptor::decide`.
        match state.load(Ordering::Acquire) {
            UNDECIDED => State::Undecided,
            COMMITTED => State::Committed,
            _ => State::Aborted,
        }
    }

    /// What the key holds according to the state now.
    pub(crate) fn read(&self) -> Option<Content> {
        match self.state() {
            State::Committed => self.after(),
            State::Undecided | State::Aborted => self.before(),
        }
    }

    /// What the key held before.
    pub(crate) fn before(&self) -> Option<Content> {
        // Relaxed: the slot that publishes the cell orders it. SAFETY: live by O.
        unsafe { Content::from_bits(self.old.load(Ordering::Relaxed)) }
    }

    /// What the key holds after a commit.
    pub(crate) fn after(&self) -> Option<Content> {
        // Relaxed: the slot that publishes the cell orders it. SAFETY: live by O.
        unsafe { Content::from_bits(self.new.load(Ordering::Relaxed)) }
    }

    /// Either of the two, for the key they share.
    pub(crate) fn any(&self) -> Content {
        self.after()
            .or(self.before())
            .expect("a pending cell has a content")
    }

    /// Says what the key holds and will hold, before the cell is put in a slot.
    pub(crate) fn prepare(&self, old: Option<Content>, new: Option<Content>) {
        // Relaxed: not published yet.
        self.old
            .store(old.map_or(0, Content::bits), Ordering::Relaxed);
        self.new
            .store(new.map_or(0, Content::bits), Ordering::Relaxed);
    }

    /// Waits until the commit is decided. Called outside every slot.
    pub(crate) fn wait(&self) {
        let mut backoff = Backoff::new();
        while self.state() == State::Undecided {
            backoff.wait();
        }
    }
}

impl Retire for Descriptor {
    unsafe fn reclaim(ptr: *mut Descriptor) {
        // SAFETY: made by `Box` in `Commit::new`, reclaimed once.
        drop(unsafe { Box::from_raw(ptr) });
    }
}

/// A commit under way: owns its descriptor, and decides to abort if it is dropped undecided.
pub(crate) struct Commit(NonNull<Descriptor>);

impl Commit {
    /// A commit over `keys` keys, undecided.
    pub(crate) fn new(keys: usize) -> Commit {
        let block = Box::new(Descriptor {
            state: AtomicU8::new(UNDECIDED),
            cells: Box::new([]),
        });
        let block = Box::into_raw(block);
        let cell = || Pending {
            descriptor: block,
            old: AtomicU64::new(0),
            new: AtomicU64::new(0),
        };
        // SAFETY: `block` is ours alone until a cell is put in a slot.
        unsafe {
            (*block).cells = (0..keys).map(|_| cell()).collect();
            Commit(NonNull::new_unchecked(block))
        }
    }

    fn block(&self) -> &Descriptor {
        // SAFETY: the block is retired by `finish` alone, which consumes the commit.
        unsafe { self.0.as_ref() }
    }

    /// The cell of the `i`-th key.
    pub(crate) fn cell(&self, i: usize) -> PendingPtr {
        PendingPtr(NonNull::from(&self.block().cells[i]))
    }

    /// Makes the commit happen, or not happen, for all keys at once (D).
    pub(crate) fn decide(&self, committed: bool) {
        let state = if committed { COMMITTED } else { ABORTED };
        // Release: pairs with the Acquire in `Pending::state`, so that whoever sees the decision
        // sees everything before it.
        self.block().state.store(state, Ordering::Release);
    }

    /// Retires the block.
    ///
    /// # Safety
    ///
    /// No slot holds a cell of it any more.
    pub(crate) unsafe fn finish(self, pin: &impl Pin) {
        let block = self.0;
        std::mem::forget(self);
        // SAFETY: B: the caller's contract makes it unreachable for threads that pin from now on.
        unsafe { pin.retire(block.as_ptr()) }
    }
}

impl Drop for Commit {
    fn drop(&mut self) {
        // Only a panic half-way comes here: cells may be in slots for ever, and stay readable,
        // so the block is leaked.
        // Relaxed: only this thread writes the state.
        if self.block().state.load(Ordering::Relaxed) == UNDECIDED {
            self.decide(false);
        }
    }
}
