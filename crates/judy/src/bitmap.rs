//! The bitmap branch: a bit for each of 256 digits, and the children in eight arrays.

use std::cell::Cell;
use std::ptr::NonNull;

use super::branch::{BranchForm, Living};
use super::class::{Account, Use};
use super::jp::{At, Jp};
use super::part::Part;

/// A bitmap branch: two lines for lookups, 32 digits in each part, and one that counts.
#[repr(C)]
pub(super) struct Bitmap {
    eighths: [Part<Jp>; 8],
    keys: [Cell<u64>; 8],
}

/// Returns the eighth of a digit, and its bit there.
#[inline(always)]
fn place(digit: usize) -> (usize, usize) {
    (digit / 32, digit % 32)
}

/// Returns the place of a child in a part's array.
#[inline(always)]
fn at(child: *mut Jp) -> Option<At> {
    NonNull::new(child).map(At::of)
}

impl Living<Bitmap> {
    #[inline(always)]
    fn node<'a>(self) -> &'a Bitmap {
        // SAFETY: the node lives (NODES); children are in blocks of their own.
        unsafe { &*self.ptr() }
    }
}

impl BranchForm for Living<Bitmap> {
    const GROUP: usize = 32;

    #[inline(always)]
    fn child(self, digit: usize) -> Option<At> {
        let (eighth, bit) = place(digit);
        at(self.node().eighths[eighth].get(bit))
    }

    fn near(self, digit: usize, up: bool) -> Option<(usize, At)> {
        let (mut eighth, bit) = place(digit);
        let mut set = self.node().eighths[eighth].set().from(bit, up);
        loop {
            if let Some(bit) = set.first(up) {
                let digit = 32 * eighth + bit;
                return Some((digit, self.child(digit)?));
            }
            eighth = if up {
                eighth + 1
            } else {
                eighth.checked_sub(1)?
            };
            set = self.node().eighths.get(eighth)?.set();
        }
    }

    #[inline]
    fn group(self, group: usize) -> impl Iterator<Item = (usize, At)> {
        let child = move |(bit, child)| Some((32 * group + bit, at(child)?));
        self.node().eighths[group].iter().filter_map(child)
    }

    #[inline(always)]
    fn counts<'a>(self) -> &'a [Cell<u64>] {
        &self.node().keys
    }

    fn children(self) -> usize {
        self.node().eighths.iter().map(Part::len).sum()
    }

    fn insert(self, digit: usize, child: Jp, account: &mut Account) -> At {
        let (eighth, bit) = place(digit);
        let place = self.node().eighths[eighth].insert(bit, Use::Bitmap, account);
        // SAFETY: a place in an array, which is not at address zero.
        let at = At::of(unsafe { NonNull::new_unchecked(place) });
        at.set(child);
        at
    }

    fn remove(self, digit: usize, account: &mut Account) {
        let (eighth, bit) = place(digit);
        self.node().eighths[eighth].remove(bit, Use::Bitmap, account);
    }

    fn free_parts(self, account: &mut Account) {
        let eighths = self.node().eighths.iter();
        eighths.for_each(|eighth| eighth.free(Use::Bitmap, account));
    }
}
