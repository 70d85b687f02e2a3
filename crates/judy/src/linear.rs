//! The linear branch: up to seven children, and their digits in one word.

use super::class::Account;
use super::jp::Jp;
use super::weigh::{Weigh, keys_of};

const MOST: usize = 7;

/// A linear branch: two lines. Digits ascend; those from `len` on mean nothing.
#[repr(C, align(16))]
pub(super) struct Linear {
    digits: Digits,
    keys: u64,
    children: [Jp; MOST],
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES << 7;

/// The digits of a linear branch: in the seven lower bytes, the first lowest, with the number of children in the
/// highest.
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

    /// Returns the index of a digit, or one behind the last.
    #[inline(always)]
    pub(super) fn find(self, digit: usize) -> usize {
        let differ = self.0 ^ (digit as u64 * ONES);
        // The lowest bit that is set is that of the first byte that is zero; what is above may be wrong.
        let equal = differ.wrapping_sub(ONES) & !differ & HIGHS;
        (equal.trailing_zeros() / 8) as usize
    }

    /// Returns the number of digits below this one.
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
    fn without(self, i: usize) -> Self {
        let mut bytes = self.0.to_le_bytes();
        bytes.copy_within(i + 1..self.len(), i);
        bytes[MOST] = self.len() as u8 - 1;
        Self(u64::from_le_bytes(bytes))
    }
}

impl Linear {
    pub(super) const EMPTY: Self = Self {
        digits: Digits(0),
        keys: 0,
        children: [Jp::EMPTY; MOST],
    };

    #[inline(always)]
    unsafe fn digits(this: *mut Self) -> Digits {
        // SAFETY: the node lives (NODES).
        unsafe { (*this).digits }
    }

    #[inline(always)]
    pub(super) unsafe fn child(this: *mut Self, digit: usize) -> *mut Jp {
        // SAFETY: the node lives (NODES).
        unsafe {
            let i = Self::digits(this).find(digit);
            if i < Self::digits(this).len() {
                &raw mut (*this).children[i]
            } else {
                std::ptr::null_mut()
            }
        }
    }

    pub(super) unsafe fn child_from(this: *mut Self, digit: usize) -> Option<(usize, *mut Jp)> {
        // SAFETY: the node lives (NODES).
        unsafe {
            let i = Self::digits(this).below(digit);
            (i < Self::digits(this).len())
                .then(|| (Self::digits(this).get(i), &raw mut (*this).children[i]))
        }
    }

    pub(super) unsafe fn child_to(this: *mut Self, digit: usize) -> Option<(usize, *mut Jp)> {
        // SAFETY: the node lives (NODES).
        unsafe {
            let i = Self::digits(this).below(digit + 1).checked_sub(1)?;
            Some((Self::digits(this).get(i), &raw mut (*this).children[i]))
        }
    }

    pub(super) unsafe fn counter(this: *mut Self, _: usize) -> *mut u64 {
        // SAFETY: the node lives (NODES).
        unsafe { &raw mut (*this).keys }
    }

    pub(super) unsafe fn keys(this: *mut Self) -> usize {
        // SAFETY: the node lives (NODES).
        unsafe { (*this).keys as usize }
    }

    pub(super) unsafe fn keys_below<W: Weigh>(this: *mut Self, digit: usize) -> usize {
        // SAFETY: the node lives (NODES).
        unsafe {
            let before = 0..Self::digits(this).below(digit);
            before
                .map(|i| keys_of::<W>(&raw const (*this).children[i]))
                .sum()
        }
    }

    pub(super) unsafe fn nth<W: Weigh>(this: *mut Self, mut n: usize) -> (usize, *mut Jp, usize) {
        // SAFETY: the node lives (NODES).
        unsafe {
            let mut i = 0;
            while n >= keys_of::<W>(&raw const (*this).children[i]) {
                n -= keys_of::<W>(&raw const (*this).children[i]);
                i += 1;
            }
            (Self::digits(this).get(i), &raw mut (*this).children[i], n)
        }
    }

    pub(super) unsafe fn children(this: *mut Self) -> usize {
        // SAFETY: the node lives (NODES).
        unsafe { Self::digits(this).len() }
    }

    pub(super) unsafe fn insert(
        this: *mut Self,
        digit: usize,
        child: Jp,
        _: &mut Account,
    ) -> *mut Jp {
        // SAFETY: the node lives (NODES), and the caller has it alone.
        unsafe {
            let node = &mut *this;
            let (i, len) = (node.digits.below(digit), node.digits.len());
            debug_assert!(len < MOST);
            node.children.copy_within(i..len, i + 1);
            node.children[i] = child;
            node.digits = node.digits.with(i, digit);
            &raw mut (*this).children[i]
        }
    }

    pub(super) fn remove(&mut self, digit: usize, _: &mut Account) {
        let (i, len) = (self.digits.below(digit), self.digits.len());
        self.children.copy_within(i + 1..len, i);
        self.digits = self.digits.without(i);
    }

    pub(super) fn free_parts(&mut self, _: &mut Account) {}
}
