//! The exactness trailer: which of the numbers are floats.
//!
//! ```text
//! byte i of the trailer:   7 6 | 5 4 | 3 2 | 1 0     two bits for each number with an integral value in `==` position,
//! number                   4i    4i+1  4i+2  4i+3    in the order of their bytes: 0 integer, 1 float, 2 -0.0
//! ```
//!
//! A number with a fraction can only be a float and has no mark. Bytes of nothing but integers at the end are left
//! out, so the trailer of a key without integral floats is empty.
//!
//! Invariant **TRAILER**: no trailer byte is above `AA`, so none can be taken for a fraction mark or an escape when the
//! trailer follows the order part: order part and trailer together are one string that can be read in one way only.

use smallvec::SmallVec;

/// The form of a number with an integral value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Integer = 0,
    Float = 1,
    NegativeZero = 2,
}

impl Mark {
    fn from_bits(bits: u8) -> Option<Mark> {
        [Mark::Integer, Mark::Float, Mark::NegativeZero]
            .get(usize::from(bits))
            .copied()
    }
}

/// The marks of a key that is being written. Its last byte, if any, is not zero.
#[derive(Default)]
pub(super) struct Marks {
    bytes: SmallVec<[u8; 16]>,
    count: usize,
}

impl Marks {
    /// Counts a number that is an integer.
    #[inline(always)]
    pub(super) fn push_integer(&mut self) {
        self.count += 1;
    }

    /// Appends a mark.
    pub(super) fn push(&mut self, mark: Mark) {
        if mark != Mark::Integer {
            self.bytes.resize(self.count / 4 + 1, 0);
            self.bytes[self.count / 4] |= (mark as u8) << shift(self.count);
        }
        self.count += 1;
    }

    /// Returns the number of numbers that have been met.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the mark of the `index`-th number.
    pub(super) fn get(&self, index: usize) -> Mark {
        read(&self.bytes, index).unwrap_or(Mark::Integer)
    }

    /// Forgets all but the first `count` numbers.
    pub(super) fn truncate(&mut self, count: usize) {
        self.bytes.truncate(count.div_ceil(4));
        if !count.is_multiple_of(4)
            && let Some(last) = self.bytes.get_mut(count / 4)
        {
            *last &= 0xFFu8 << (shift(count) + 2);
        }
        while self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
        self.count = count;
    }

    /// Returns the trailer.
    #[inline]
    pub(super) fn trailer(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns the shift of the `index`-th mark in its byte.
fn shift(index: usize) -> u32 {
    6 - 2 * (index as u32 % 4)
}

/// Returns the `index`-th mark of a trailer, which goes on with integers for ever. `None` for two bits that are no
/// mark.
pub(super) fn read(trailer: &[u8], index: usize) -> Option<Mark> {
    let byte = trailer.get(index / 4).copied().unwrap_or(0);
    Mark::from_bits(byte >> shift(index) & 3)
}

/// Returns whether a trailer is the one that is written for `count` numbers: nothing left over, no zero byte at the
/// end.
pub(super) fn is_canonical(trailer: &[u8], count: usize) -> bool {
    let Some(&last) = trailer.last() else {
        return true;
    };
    let from = 4 * (trailer.len() - 1);
    last != 0
        && from < count
        && (count..from + 4).all(|index| read(trailer, index) == Some(Mark::Integer))
}
