//! The uncompressed branch: 256 pointers.

use super::class::Account;
use super::jp::Jp;
use super::weigh::{Weigh, keys_of};

/// Digits that are counted together.
const GROUP: usize = 32;
/// One child in a count; what is below counts keys.
const CHILD: u64 = 1 << 48;

/// An uncompressed branch. All zeros are an empty one.
#[repr(C)]
pub(super) struct Uncompressed {
    children: [Jp; 256],
    /// For each group of digits its keys, and its children.
    counts: [u64; 256 / GROUP],
}

/// Returns the keys of a count.
fn keys_in(count: u64) -> usize {
    (count & (CHILD - 1)) as usize
}

impl Uncompressed {
    #[inline(always)]
    pub(super) unsafe fn child(this: *mut Self, digit: usize) -> *mut Jp {
        // SAFETY: the node lives (NODES).
        unsafe {
            let child = &raw mut (*this).children[digit];
            if (*child).meta.is_empty() {
                return std::ptr::null_mut();
            }
            child
        }
    }

    pub(super) unsafe fn child_from(this: *mut Self, digit: usize) -> Option<(usize, *mut Jp)> {
        // SAFETY: the node lives (NODES).
        unsafe {
            let found = (digit..256).find(|digit| !(*this).children[*digit].meta.is_empty())?;
            Some((found, &raw mut (*this).children[found]))
        }
    }

    pub(super) unsafe fn child_to(this: *mut Self, digit: usize) -> Option<(usize, *mut Jp)> {
        // SAFETY: the node lives (NODES).
        unsafe {
            let found = (0..=digit).rfind(|digit| !(*this).children[*digit].meta.is_empty())?;
            Some((found, &raw mut (*this).children[found]))
        }
    }

    #[inline(always)]
    pub(super) unsafe fn counter(this: *mut Self, digit: usize) -> *mut u64 {
        // SAFETY: the node lives (NODES).
        unsafe { &raw mut (*this).counts[digit / GROUP] }
    }

    /// Returns the counts of the groups.
    unsafe fn counts<'a>(this: *mut Self) -> &'a [u64] {
        // SAFETY: the node lives (NODES); the borrow ends before a count changes.
        unsafe { &(*this).counts }
    }

    pub(super) unsafe fn keys(this: *mut Self) -> usize {
        // SAFETY: the node lives (NODES).
        keys_in(unsafe { Self::counts(this) }.iter().sum())
    }

    pub(super) unsafe fn keys_below<W: Weigh>(this: *mut Self, digit: usize) -> usize {
        let group = digit / GROUP;
        // SAFETY: the node lives (NODES).
        unsafe {
            let before: usize = Self::counts(this)[..group]
                .iter()
                .map(|count| keys_in(*count))
                .sum();
            let here = group * GROUP..digit;
            before
                + here
                    .map(|i| keys_of::<W>(&raw const (*this).children[i]))
                    .sum::<usize>()
        }
    }

    pub(super) unsafe fn nth<W: Weigh>(this: *mut Self, mut n: usize) -> (usize, *mut Jp, usize) {
        // SAFETY: the node lives (NODES).
        unsafe {
            let mut group = 0;
            while n >= keys_in((*this).counts[group]) {
                n -= keys_in((*this).counts[group]);
                group += 1;
            }
            let mut digit = group * GROUP;
            while n >= keys_of::<W>(&raw const (*this).children[digit]) {
                n -= keys_of::<W>(&raw const (*this).children[digit]);
                digit += 1;
            }
            (digit, &raw mut (*this).children[digit], n)
        }
    }

    pub(super) unsafe fn children(this: *mut Self) -> usize {
        // SAFETY: the node lives (NODES).
        (unsafe { Self::counts(this) }.iter().sum::<u64>() / CHILD) as usize
    }

    #[inline]
    pub(super) unsafe fn insert(
        this: *mut Self,
        digit: usize,
        child: Jp,
        _: &mut Account,
    ) -> *mut Jp {
        // SAFETY: the node lives (NODES), and the caller has it alone.
        unsafe {
            (*this).counts[digit / GROUP] += CHILD;
            (*this).children[digit] = child;
            &raw mut (*this).children[digit]
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, digit: usize, _: &mut Account) {
        self.counts[digit / GROUP] -= CHILD;
        self.children[digit] = Jp::EMPTY;
    }

    pub(super) fn free_parts(&mut self, _: &mut Account) {}
}
