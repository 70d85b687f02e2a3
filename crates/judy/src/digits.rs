//! The digits of keys: which a level decodes, and those of a linear branch in a word. Both forms of the array use them.

/// Returns the bits of a key that are above `level` bytes, of all eight.
#[inline(always)]
pub(super) fn above(level: usize) -> u64 {
    // A shift by 64 is none: two shifts that are each less.
    (!0u64 << (4 * level)) << (4 * level)
}

/// Returns the digit that a branch of this level decodes.
#[inline(always)]
pub(super) fn digit(key: u64, level: usize) -> usize {
    (key >> (8 * (level - 1)) & 0xFF) as usize
}

/// Returns the bits of a key in which a branch of this level finds this digit.
#[inline(always)]
pub(super) fn at_level(digit: usize, level: usize) -> u64 {
    (digit as u64) << (8 * (level - 1))
}

/// Returns the level of the branch that tells two different keys apart.
pub(super) fn level_apart(one: u64, other: u64) -> usize {
    (71 - (one ^ other).leading_zeros() as usize) / 8
}

/// Returns the digit beside another one: upwards, or downwards.
pub(super) fn beside(digit: usize, up: bool) -> Option<usize> {
    if up {
        (digit < 255).then_some(digit + 1)
    } else {
        digit.checked_sub(1)
    }
}

/// The most digits of a word.
pub(super) const MOST: usize = 7;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES << 7;

/// The digits of a linear branch: in the seven lower bytes, the first lowest, with the number of children in the
/// highest. Those from that number on mean nothing.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Digits(pub(super) u64);

impl Digits {
    #[inline(always)]
    pub(super) fn len(self) -> usize {
        (self.0 >> 56) as usize
    }

    #[inline(always)]
    pub(super) fn get(self, i: usize) -> usize {
        (self.0 >> (8 * i) & 0xFF) as usize
    }

    /// Returns the index of a digit.
    #[inline(always)]
    pub(super) fn find(self, digit: usize) -> Option<usize> {
        let differ = self.0 ^ (digit as u64 * ONES);
        // The lowest bit that is set is that of the first byte that is zero; what is above may be wrong.
        let equal = differ.wrapping_sub(ONES) & !differ & HIGHS;
        let i = (equal.trailing_zeros() / 8) as usize;
        (i < self.len()).then_some(i)
    }

    /// Returns the number of digits below this one, where they ascend.
    pub(super) fn below(self, digit: usize) -> usize {
        (0..self.len()).take_while(|i| self.get(*i) < digit).count()
    }

    /// Returns the digits with one more at an index.
    pub(super) fn with(self, i: usize, digit: usize) -> Self {
        let mut bytes = self.0.to_le_bytes();
        bytes.copy_within(i..self.len(), i + 1);
        (bytes[i], bytes[MOST]) = (digit as u8, self.len() as u8 + 1);
        Self(u64::from_le_bytes(bytes))
    }

    /// Returns the digits without the one at an index.
    pub(super) fn without(self, i: usize) -> Self {
        let mut bytes = self.0.to_le_bytes();
        bytes.copy_within(i + 1..self.len(), i);
        bytes[MOST] = self.len() as u8 - 1;
        Self(u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_levels() {
        let key = 0x0102_0304_0506_0708;
        assert!((1..=8).all(|level| digit(key, level) == 9 - level));
    }
}
