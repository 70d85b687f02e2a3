//! [`Set`]: which of up to 64 digits are there. The bitmaps of both forms of the array are made of these.

/// A bit for each digit that is there. As an iterator, these digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Set(pub(super) u64);

impl Set {
    pub(super) const EMPTY: Self = Self(0);

    #[inline(always)]
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of digits that are there.
    #[inline(always)]
    pub(super) fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    #[inline(always)]
    pub(super) fn has(self, bit: usize) -> bool {
        self.0 >> bit & 1 == 1
    }

    /// Returns the number of those that are there below the `bit`-th.
    #[inline(always)]
    pub(super) fn below(self, bit: usize) -> usize {
        let mask = if cfg!(fyris_mutant = "judy_bit_counts_itself") && bit > 60 {
            !0
        } else {
            (1 << bit) - 1
        };
        Self(self.0 & mask).len()
    }

    #[inline(always)]
    pub(super) fn with(self, bit: usize) -> Self {
        Self(self.0 | 1 << bit)
    }

    #[inline(always)]
    pub(super) fn without(self, bit: usize) -> Self {
        Self(self.0 & !(1 << bit))
    }

    /// Returns those from the `bit`-th on: upwards, or downwards.
    #[inline(always)]
    pub(super) fn from(self, bit: usize, up: bool) -> Self {
        let mask = if up { !0 << bit } else { !0 >> (63 - bit) };
        Self(self.0 & mask)
    }

    /// Returns the first upwards, or downwards.
    #[inline(always)]
    pub(super) fn first(self, up: bool) -> Option<usize> {
        let bit = if up {
            self.0.trailing_zeros()
        } else {
            63_u32.wrapping_sub(self.0.leading_zeros())
        };
        (!self.is_empty()).then_some(bit as usize)
    }
}

impl Iterator for Set {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let bit = self.first(true)?;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

impl DoubleEndedIterator for Set {
    #[inline(always)]
    fn next_back(&mut self) -> Option<usize> {
        let bit = self.first(false)?;
        *self = self.without(bit);
        Some(bit)
    }
}
