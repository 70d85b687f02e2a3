//! Keys for tests whose comparisons panic, or are in no order.

use std::cell::Cell;
use std::cmp::Ordering;

use fyris_index::Entry;
use fyris_index::key::Opaque;
use fyris_index::reclaim::Guard;

/// A key below 256. `COMPARE` says how it compares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Odd(pub(crate) u8);

thread_local! {
    /// How keys compare on this thread.
    pub(crate) static COMPARE: Cell<fn(u8, u8) -> Ordering> = const { Cell::new(honest) };
}

/// Compares as numbers.
pub(crate) fn honest(a: u8, b: u8) -> Ordering {
    a.cmp(&b)
}

impl Ord for Odd {
    fn cmp(&self, other: &Self) -> Ordering {
        COMPARE.get()(self.0, other.0)
    }
}

impl PartialOrd for Odd {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An object that is its key, in the handle.
#[derive(Clone, Copy)]
pub(crate) struct Itself(pub(crate) Opaque<Odd>);

// SAFETY: the handle is the object.
unsafe impl Entry for Itself {
    type Key = Opaque<Odd>;
    fn key(&self) -> &Opaque<Odd> {
        &self.0
    }
    fn into_bits(self) -> u64 {
        1 << 47 | u64::from(self.0.0.0)
    }
    unsafe fn from_bits(bits: u64) -> Self {
        Self(Opaque(Odd(bits as u8)))
    }
    unsafe fn retire(self, _: &impl Guard) {}
    unsafe fn dispose(self) {}
}
