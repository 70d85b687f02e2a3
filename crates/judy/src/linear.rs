//! The linear branch: up to seven children, and their digits in one word.

use std::cell::Cell;
use std::ptr::NonNull;

use super::branch::{BranchForm, Living};
use super::class::Account;
use super::digits::{Digits, MOST};
use super::gap;
use super::jp::{At, Jp};

/// A linear branch: two lines.
#[repr(C, align(16))]
pub(super) struct Linear {
    head: Head,
    children: [Jp; MOST],
}

/// The digits, which ascend, and the number of keys.
struct Head {
    digits: Cell<Digits>,
    keys: Cell<u64>,
}

impl Living<Linear> {
    #[inline(always)]
    fn head<'a>(self) -> &'a Head {
        // SAFETY: the node lives (NODES).
        unsafe { &(*self.ptr()).head }
    }

    #[inline(always)]
    fn digits(self) -> Digits {
        self.head().digits.get()
    }

    /// Returns the place of a child by its index.
    #[inline(always)]
    fn place(self, i: usize) -> At {
        // SAFETY: as above; checked to be one of the places.
        At::of(unsafe { NonNull::new_unchecked(&raw mut (*self.ptr()).children[i]) })
    }

    fn children_ptr(self) -> *mut Jp {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.ptr()).children).cast() }
    }
}

impl BranchForm for Living<Linear> {
    const GROUP: usize = 256;

    #[inline(always)]
    fn child(self, digit: usize) -> Option<At> {
        self.digits().find(digit).map(|i| self.place(i))
    }

    fn near(self, digit: usize, up: bool) -> Option<(usize, At)> {
        let digits = self.digits();
        let i = if up {
            digits.below(digit)
        } else {
            digits.below(digit + 1).checked_sub(1)?
        };
        (i < digits.len()).then(|| (digits.get(i), self.place(i)))
    }

    #[inline]
    fn group(self, _: usize) -> impl Iterator<Item = (usize, At)> {
        let digits = self.digits();
        (0..digits.len()).map(move |i| (digits.get(i), self.place(i)))
    }

    #[inline(always)]
    fn counts<'a>(self) -> &'a [Cell<u64>] {
        std::slice::from_ref(&self.head().keys)
    }

    fn children(self) -> usize {
        self.digits().len()
    }

    fn insert(self, digit: usize, child: Jp, _: &mut Account) -> At {
        let (digits, children) = (self.digits(), self.children_ptr());
        let (i, len) = (digits.below(digit), digits.len());
        assert!(len < MOST);
        // SAFETY: as above; there is room for one more.
        unsafe { gap::open(children, children, len, i) };
        self.head().digits.set(digits.with(i, digit));
        self.place(i).set(child);
        self.place(i)
    }

    fn remove(self, digit: usize, _: &mut Account) {
        let (digits, children) = (self.digits(), self.children_ptr());
        let i = digits.below(digit);
        // SAFETY: as above.
        unsafe { gap::close(children, children, digits.len(), i) };
        self.head().digits.set(digits.without(i));
    }
}
