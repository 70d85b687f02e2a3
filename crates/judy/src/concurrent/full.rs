//! [`Full`]: a bitmap leaf that has room for all 256 values in itself.

use fyris_sync::atomic::Ordering;
use fyris_sync::reclaim::PROTECT;

use super::super::set::Set;
use super::block::{self, Cell};
use super::group::{ALL, Group};
use super::make::Child;
use super::node::Header;

/// An uncompressed leaf: a bit for each key that is there, and a slot for every key.
///
/// All of its groups are open (OPEN). The bit and the value of a key are loaded in parallel, as the address of
/// neither depends on the other. The bits and the header are one cache line.
#[repr(C)]
pub(super) struct Full {
    bits: [Cell; 4],
    pub(super) header: Header,
    pub(super) slots: [Cell; 256],
}

impl Full {
    /// Makes a leaf of these values, in its place: the slots are more than the stack of a model's thread has room for.
    pub(super) fn make(values: &[Child], header: Header) -> *mut Self {
        let node = block::allocate_node::<Self>();
        let mut bits = [0; 4];
        // SAFETY: a new node, all of which is written here, and which nobody else has.
        unsafe {
            let slots = (&raw mut (*node).slots).cast::<Cell>();
            (0..256).for_each(|digit| slots.add(digit).write(Cell::new(0)));
            for (digit, value, _) in values {
                bits[digit / 64] |= 1 << (digit % 64);
                slots.add(*digit).write(Cell::new(*value));
            }
            (&raw mut (*node).bits).write(bits.map(Cell::new));
            (&raw mut (*node).header).write(header);
        }
        node
    }

    /// Returns the group of a digit.
    #[inline(always)]
    pub(super) fn group(&self, digit: usize) -> Group {
        // PROTECT: pairs with the Release store in `change`.
        let bits = (self.bits[(digit / 64) & 3].load(PROTECT) >> (digit & 48)) & 0xFFFF;
        Group::open(&self.slots[digit & 0xF0], Set(bits))
    }

    /// Puts in a value that is not there. Under the lock.
    pub(super) fn add(&self, digit: usize, value: u64) {
        // Release: pairs with the Acquire in `SharedBranch::value`, which sees then that the bit is clear (OPEN).
        self.slots[digit].store(value, Ordering::Release);
        self.change(digit);
    }

    /// Changes the bit of a digit: so takes out a value that is there. Under the lock.
    pub(super) fn change(&self, digit: usize) {
        let bits = &self.bits[digit / 64];
        // Relaxed: under the lock. Release: pairs with PROTECT in `group`.
        let changed = bits.load(Ordering::Relaxed) ^ 1 << (digit % 64);
        bits.store(changed, Ordering::Release);
    }
}

const _: () = assert!(256 % ALL == 0 && 64 % ALL == 0);
