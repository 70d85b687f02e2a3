//! [`Group`]: a word that leads to the slots of 16 digits of a bitmap.

use super::super::limits::CLOSED_MOST;
use super::super::set::Set;
use super::block::{self, Cell};

/// A group of a bitmap: for 16 digits a bit each in the highest 16 bits, and the address of the slots of those that are
/// there; with the lowest bit set, of the slots of all 16 (OPEN).
#[derive(Clone, Copy)]
pub(super) struct Group(pub(super) u64);

/// The bit of an open group.
const OPEN: u64 = 1;

/// The slots of an open group.
pub(super) const ALL: usize = 16;

impl Group {
    pub(super) const EMPTY: Self = Self(0);

    /// Makes a group of slots for those digits that are there.
    pub(super) fn new(slots: *const Cell, set: Set) -> Self {
        Self(slots.expose_provenance() as u64 | set.0 << 48)
    }

    /// Makes a group of slots for all digits.
    pub(super) fn open(slots: *const Cell, set: Set) -> Self {
        Self(Self::new(slots, set).0 | OPEN)
    }

    /// Returns the same slots with other bits.
    pub(super) fn with_set(self, set: Set) -> Self {
        Self(self.0 & ((1 << 48) - 1) | set.0 << 48)
    }

    #[inline(always)]
    pub(super) fn is_open(self) -> bool {
        self.0 & OPEN != 0
    }

    /// Returns whether the group is open, or is to be when a value comes.
    #[inline]
    pub(super) fn opens(self) -> bool {
        self.is_open() || self.len() >= CLOSED_MOST
    }

    /// Returns the digits that are there.
    #[inline(always)]
    pub(super) fn set(self) -> Set {
        Set(self.0 >> 48)
    }

    /// Returns the number of digits that are there.
    #[inline(always)]
    pub(super) fn len(self) -> usize {
        self.set().len()
    }

    /// Returns the number of slots.
    #[inline(always)]
    pub(super) fn cells(self) -> usize {
        if self.is_open() { ALL } else { self.len() }
    }

    /// Returns the number of digits that are there before that of a bit.
    #[inline(always)]
    pub(super) fn below(self, bit: usize) -> usize {
        let itself = cfg!(fyris_mutant = "judy_shared_bit_counts_itself");
        self.set().below(bit + usize::from(itself))
    }

    /// Returns the index of the slot of a bit that is there.
    #[inline(always)]
    pub(super) fn index(self, bit: usize) -> usize {
        if self.is_open() { bit } else { self.below(bit) }
    }

    #[inline(always)]
    pub(super) fn slots(self) -> *mut Cell {
        let address = self.0 & ((1 << 48) - 1) & !OPEN;
        std::ptr::with_exposed_provenance_mut(address as usize)
    }
}

/// Makes an open group of 16 values.
pub(super) fn open_group(values: impl Iterator<Item = u64>, set: Set) -> Group {
    let slots = block::allocate(ALL);
    for (i, value) in values.take(ALL).enumerate() {
        // SAFETY: a new block with room for them.
        unsafe { slots.add(i).write(Cell::new(value)) };
    }
    Group::open(slots, set)
}
