//! [`Part`]: some neighbouring digits of a bitmap branch or of a bitmap leaf.
//!
//! **PARTS**: a part has an array of the size of its number of digits, with an item for each, in their order; none if
//! it has no digits. It is the part's alone, and what is in it moves only when a digit comes or goes.

use std::cell::Cell;

use super::class::{Account, Use, class};
use super::set::Set;

/// The digits that are there, and the array of what they have. All zeros are one without digits.
#[repr(C)]
pub(super) struct Part<T> {
    items: Cell<*mut T>,
    set: Cell<Set>,
}

/// Returns the words of an array.
#[inline(always)]
fn words<T>(len: usize) -> usize {
    if len == 0 {
        return 0;
    }
    class(len * (size_of::<T>() / 8))
}

impl<T: Copy> Part<T> {
    /// Makes a part of these digits and what they have.
    pub(super) fn make(
        items: impl ExactSizeIterator<Item = (usize, T)>,
        of: Use,
        account: &mut Account,
    ) -> Self {
        let (words, mut set) = (words::<T>(items.len()), Set::EMPTY);
        let array: *mut T = match words {
            0 => std::ptr::null_mut(),
            _ => account.allocate(of, words).cast(),
        };
        for (i, (bit, item)) in items.enumerate() {
            set = set.with(bit);
            // SAFETY: a new array with room for all.
            unsafe { array.add(i).write(item) };
        }
        Self {
            items: Cell::new(array),
            set: Cell::new(set),
        }
    }

    #[inline(always)]
    pub(super) fn set(&self) -> Set {
        self.set.get()
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.set().len()
    }

    /// Returns the place of what a digit has; null if it is not there.
    #[inline(always)]
    pub(super) fn get(&self, bit: usize) -> *mut T {
        if !self.set().has(bit) {
            return std::ptr::null_mut();
        }
        // SAFETY: an item for each digit (PARTS).
        unsafe { self.items.get().add(self.set().below(bit)) }
    }

    /// Returns the digits and the places of what they have.
    #[inline(always)]
    pub(super) fn iter(&self) -> Items<T> {
        Items {
            set: self.set(),
            first: self.items.get(),
        }
    }

    /// Returns the digits from one on, upwards or downwards, and the places of what they have.
    pub(super) fn iter_from(&self, bit: usize, up: bool) -> Items<T> {
        let before = if up { self.set().below(bit) } else { 0 };
        Items {
            set: self.set().from(bit, up),
            // SAFETY: at most one behind the last item (PARTS).
            first: unsafe { self.items.get().add(before) },
        }
    }

    /// Puts in a digit that is not there; returns the place of what it has, which the caller fills.
    #[inline]
    pub(super) fn insert(&self, bit: usize, of: Use, account: &mut Account) -> *mut T {
        let (len, at) = (self.len(), self.set().below(bit));
        let (old, before, after) = (self.items.get(), words::<T>(len), words::<T>(len + 1));
        // SAFETY: the array has `len` items, and room for one more once it is of the next class (PARTS).
        unsafe {
            let mut items = old;
            if before != after {
                items = account.allocate(of, after).cast();
            }
            super::gap::open(old, items, len, at);
            self.renew(items, before, of, account);
            self.set.set(self.set().with(bit));
            items.add(at)
        }
    }

    /// Takes out a digit that is there; returns what it had.
    #[inline]
    pub(super) fn remove(&self, bit: usize, of: Use, account: &mut Account) -> T {
        let (len, at) = (self.len(), self.set().below(bit));
        let (old, before, after) = (self.items.get(), words::<T>(len), words::<T>(len - 1));
        // SAFETY: the array has `len` items; the new one has room for all but this one (PARTS).
        unsafe {
            let (item, mut items) = (old.add(at).read(), old);
            if after == 0 {
                items = std::ptr::null_mut();
            } else {
                if before != after {
                    items = account.allocate(of, after).cast();
                }
                super::gap::close(old, items, len, at);
            }
            self.renew(items, before, of, account);
            self.set.set(self.set().without(bit));
            item
        }
    }

    /// Puts an array in the place of one of `words` words, which is freed if it is another.
    ///
    /// # Safety
    ///
    /// Its items are moved.
    #[inline(always)]
    unsafe fn renew(&self, items: *mut T, words: usize, of: Use, account: &mut Account) {
        let old = self.items.replace(items);
        if old != items && words > 0 {
            // SAFETY: allocated with these arguments (PARTS), and now nobody's.
            unsafe { account.free(of, old.cast(), words) };
        }
    }

    /// Frees the array; what was in it stays the caller's.
    pub(super) fn free(&self, of: Use, account: &mut Account) {
        // SAFETY: the caller has moved the items, or has them no more.
        unsafe { self.renew(std::ptr::null_mut(), words::<T>(self.len()), of, account) };
        self.set.set(Set::EMPTY);
    }
}

/// Digits of a part, and the places of what they have.
pub(super) struct Items<T> {
    set: Set,
    /// The place of what the first one has.
    first: *mut T,
}

impl<T> Clone for Items<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Items<T> {}

impl<T> Iterator for Items<T> {
    type Item = (usize, *mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let item = (self.set.next()?, self.first);
        // SAFETY: there was an item for each digit (PARTS), so that this is at most one behind the last.
        self.first = unsafe { self.first.add(1) };
        Some(item)
    }
}

impl<T> DoubleEndedIterator for Items<T> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Self::Item> {
        let bit = self.set.next_back()?;
        // SAFETY: there is an item for each digit (PARTS).
        Some((bit, unsafe { self.first.add(self.set.len()) }))
    }
}
