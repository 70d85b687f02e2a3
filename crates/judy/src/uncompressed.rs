//! The uncompressed branch: 256 pointers.

use std::cell::Cell;
use std::ptr::NonNull;

use super::branch::{BranchForm, Living};
use super::class::Account;
use super::jp::{At, Jp};

/// One child in a count; what is below counts keys.
const CHILD: u64 = 1 << 48;

/// An uncompressed branch.
#[repr(C)]
pub(super) struct Uncompressed {
    children: [Jp; 256],
    /// For each group of digits its keys, and its children.
    counts: [Cell<u64>; 8],
}

impl Living<Uncompressed> {
    /// Returns the place of a digit's child, which may be empty.
    #[inline(always)]
    pub(super) fn place(self, digit: usize) -> At {
        // SAFETY: the node lives (NODES); checked to be one of the places.
        At::of(unsafe { NonNull::new_unchecked(&raw mut (*self.ptr()).children[digit]) })
    }

    /// Adds a child to the counts, or takes one off.
    fn count(self, digit: usize, more: i64) {
        let count = &self.counts()[digit / Self::GROUP];
        count.set(count.get().wrapping_add_signed(more));
    }
}

impl BranchForm for Living<Uncompressed> {
    const GROUP: usize = 32;

    #[inline(always)]
    fn child(self, digit: usize) -> Option<At> {
        let child = self.place(digit);
        (!child.meta().is_empty()).then_some(child)
    }

    fn near(self, digit: usize, up: bool) -> Option<(usize, At)> {
        let child = |digit| Some((digit, self.child(digit)?));
        if up {
            (digit..256).find_map(child)
        } else {
            (0..=digit).rev().find_map(child)
        }
    }

    #[inline]
    fn group(self, group: usize) -> impl Iterator<Item = (usize, At)> {
        assert!(group < 256 / Self::GROUP);
        let digits = group * Self::GROUP..(group + 1) * Self::GROUP;
        digits.map(move |digit| {
            // SAFETY: as in `place`, one of 256.
            let child = unsafe { (&raw mut (*self.ptr()).children).cast::<Jp>().add(digit) };
            // SAFETY: as above.
            (digit, At::of(unsafe { NonNull::new_unchecked(child) }))
        })
    }

    #[inline(always)]
    fn counts<'a>(self) -> &'a [Cell<u64>] {
        // SAFETY: the node lives (NODES).
        unsafe { &(*self.ptr()).counts }
    }

    fn children(self) -> usize {
        let counts = self.counts().iter().map(Cell::get);
        (counts.sum::<u64>() / CHILD) as usize
    }

    #[inline]
    fn insert(self, digit: usize, child: Jp, _: &mut Account) -> At {
        self.count(digit, CHILD as i64);
        self.place(digit).set(child);
        self.place(digit)
    }

    #[inline]
    fn remove(self, digit: usize, _: &mut Account) {
        self.count(digit, -(CHILD as i64));
        self.place(digit).set(Jp::EMPTY);
    }
}
