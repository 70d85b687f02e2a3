//! The editing unit: which bytes stand or fall together in a merge.

use super::{Mask, WORDS};

/// An editing unit of 1, 2, 4, 8, 16, 32 or 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit(u32);

impl Unit {
    /// Returns the unit of `bytes` bytes, if there is one.
    pub(crate) fn new(bytes: u64) -> Option<Unit> {
        (bytes.is_power_of_two() && bytes <= 64).then_some(Unit(bytes as u32))
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(self) -> usize {
        self.0 as usize
    }

    /// Returns the number of words that are merged together: 1 for units up to a word.
    pub(crate) fn words(self) -> usize {
        self.bytes().div_ceil(8)
    }

    /// Returns a word with all ones in each unit in which `difference` has any one.
    #[inline]
    pub(crate) fn spread(self, difference: u64) -> u64 {
        let bits = match self.0 {
            1 => 8,
            2 => 16,
            4 => 32,
            _ => return if difference == 0 { 0 } else { u64::MAX },
        };
        // The lanes' highest bits; adding the rest to itself carries into them from any other bit.
        let high = (u64::MAX / ((1u64 << bits) - 1)) << (bits - 1);
        let any = (((difference & !high) + !high) | difference) & high;
        (any >> (bits - 1)) * ((1u64 << bits) - 1)
    }

    /// Sets every word of each unit that has one set.
    pub(crate) fn widen(self, mask: &Mask) -> Mask {
        let words = self.words();
        if words == 1 {
            return *mask;
        }
        let mut wide = Mask::default();
        for first in (0..WORDS).step_by(words) {
            if (first..first + words).any(|w| mask.has(w)) {
                (first..first + words).for_each(|w| wide.set(w));
            }
        }
        wide
    }
}
