//! The bitmap leaf: a bit for each of 256 keys, and their values in four arrays.

use super::class::{Account, Use};
use super::jp::{At, Jp, Slot};
use super::part::Part;

/// A bitmap leaf: in each quarter 64 keys.
#[repr(C)]
pub(super) struct Bits([Part<Slot>; 4]);

const WORDS: usize = size_of::<Bits>() / 8;

/// Returns the quarter of a key, and its bit there.
#[inline(always)]
pub(super) fn place(key: u64) -> (usize, usize) {
    ((key >> 6 & 3) as usize, (key & 63) as usize)
}

impl Bits {
    /// Returns the leaf of a pointer.
    ///
    /// # Safety
    ///
    /// `at` leads to a bitmap leaf.
    #[inline(always)]
    pub(super) unsafe fn of<'a>(at: At) -> &'a Self {
        // SAFETY: the caller's contract; the leaf lives (NODES).
        unsafe { &*at.node().cast() }
    }

    pub(super) fn quarters(&self) -> &[Part<Slot>; 4] {
        &self.0
    }

    /// Returns the place of a key's value; null if it is not there.
    #[inline(always)]
    pub(super) fn get(&self, key: u64) -> *mut Slot {
        let (quarter, bit) = place(key);
        self.0[quarter].get(bit)
    }

    /// Returns the number of keys below this one.
    pub(super) fn rank(&self, key: u64) -> usize {
        let (at, bit) = place(key);
        let before: usize = self.0[..at].iter().map(Part::len).sum();
        before + self.0[at].set().below(bit)
    }

    /// Returns the lowest bytes of the keys, and the places of their values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, *mut Slot)> {
        let keys = |(at, quarter): (usize, &Part<Slot>)| {
            let key = move |(bit, slot)| ((64 * at + bit) as u64, slot);
            quarter.iter().map(key)
        };
        self.0.iter().enumerate().flat_map(keys)
    }

    /// Returns the lowest byte of the `n`-th key, from 0, and the place of its value.
    pub(super) fn nth(&self, mut n: usize) -> Option<(u64, *mut Slot)> {
        for (at, quarter) in self.0.iter().enumerate() {
            if n < quarter.len() {
                let (bit, slot) = quarter.iter().nth(n)?;
                return Some(((64 * at + bit) as u64, slot));
            }
            n -= quarter.len();
        }
        None
    }

    /// Inserts a key that is not there; returns the place of its value, which the caller fills. This is the leaf of the
    /// pointer, which has `len` keys.
    #[inline]
    pub(super) fn insert(&self, at: At, len: usize, key: u64, account: &mut Account) -> *mut Slot {
        let (quarter, bit) = place(key);
        at.set_len(len + 1);
        self.0[quarter].insert(bit, Use::Bits, account)
    }

    /// Removes a key that is there, and not the only one; returns its value. As for [`Bits::insert`].
    #[inline]
    pub(super) fn remove(&self, at: At, len: usize, key: u64, account: &mut Account) -> Slot {
        let (quarter, bit) = place(key);
        at.set_len(len - 1);
        self.0[quarter].remove(bit, Use::Bits, account)
    }
}

/// Makes a bitmap leaf of these keys, which share their bits above the lowest byte.
pub(super) fn make(pairs: &[(u64, Slot)], account: &mut Account) -> Jp {
    let node = account.allocate(Use::Bits, WORDS);
    let mut rest = pairs;
    let quarters = [0, 1, 2, 3].map(|at| {
        let here = rest.partition_point(|(key, _)| place(*key).0 == at);
        let (those, behind) = rest.split_at(here);
        rest = behind;
        let items = those.iter().map(|(key, value)| (place(*key).1, *value));
        Part::make(items, Use::Bits, account)
    });
    // SAFETY: the block is of the size of a bitmap leaf.
    unsafe { node.cast::<Bits>().write(Bits(quarters)) };
    Jp::bits(node, pairs.len(), pairs[0].0)
}

/// Frees a bitmap leaf; the values stay the caller's.
///
/// # Safety
///
/// `at` leads to a bitmap leaf. It is not used again.
pub(super) unsafe fn free(at: At, account: &mut Account) {
    // SAFETY: the caller's contract; allocated with these arguments.
    unsafe {
        let quarters = Bits::of(at).quarters();
        quarters
            .iter()
            .for_each(|quarter| quarter.free(Use::Bits, account));
        account.free(Use::Bits, at.node(), WORDS);
    }
}
