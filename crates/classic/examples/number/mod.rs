//! An entry that is a number.

use fyris_index::Entry;
use fyris_index::reclaim::Guard;

/// A key in the handle itself, as the store has integers of objects `{K}`.
#[derive(Clone, Copy)]
pub(crate) struct Number(pub(crate) u64);

// SAFETY: the highest bit makes the handle non-zero, keys are below 2^47.
unsafe impl Entry for Number {
    type Key = u64;
    fn key(&self) -> &u64 {
        &self.0
    }
    fn into_bits(self) -> u64 {
        1 << 47 | self.0
    }
    unsafe fn from_bits(bits: u64) -> Self {
        Self(bits & !(1 << 47))
    }
    unsafe fn retire(self, _: &impl Guard) {}
    unsafe fn dispose(self) {}
}
