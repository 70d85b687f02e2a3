//! The bitmap leaf: a bit for each of 256 keys, and their values in four arrays.

use super::class::{Account, Use, class};
use super::jp::{Jp, Slot};

/// A quarter of a bitmap leaf: 64 keys, and the values of those that are there, in the order of keys.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Quarter {
    pub(super) bitmap: u64,
    pub(super) values: *mut Slot,
}

/// A bitmap leaf.
#[repr(C)]
pub(super) struct Bits(pub(super) [Quarter; 4]);

const WORDS: usize = size_of::<Bits>() / 8;

impl Quarter {
    /// Returns the number of keys that are there.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.bitmap.count_ones() as usize
    }

    /// Returns the number of keys that are there below the `bit`-th.
    #[inline(always)]
    pub(super) fn below(&self, bit: u32) -> usize {
        let mask = if cfg!(fyris_mutant = "judy_bit_counts_itself") && bit > 60 {
            !0
        } else {
            (1 << bit) - 1
        };
        (self.bitmap & mask).count_ones() as usize
    }
}

/// Returns the quarter of a key, and its bit there.
#[inline(always)]
pub(super) fn place(key: u64) -> (usize, u32) {
    ((key >> 6 & 3) as usize, (key & 63) as u32)
}

impl Bits {
    /// Returns the leaf of a pointer.
    ///
    /// # Safety
    ///
    /// `jp` leads to a bitmap leaf, which lives and is not changed while it is borrowed.
    #[inline(always)]
    pub(super) unsafe fn of<'a>(jp: *const Jp) -> &'a Self {
        // SAFETY: the caller's contract.
        unsafe { &*Jp::node_at(jp).cast() }
    }

    /// Returns the place of a key's value.
    #[inline(always)]
    pub(super) fn get(&self, key: u64) -> *mut Slot {
        let (quarter, bit) = place(key);
        let quarter = &self.0[quarter];
        if quarter.bitmap >> bit & 1 == 0 {
            return std::ptr::null_mut();
        }
        // SAFETY: there is a value for each bit.
        unsafe { quarter.values.add(quarter.below(bit)) }
    }

    /// Returns the number of keys below this one.
    pub(super) fn rank(&self, key: u64) -> usize {
        let (at, bit) = place(key);
        let before: usize = self.0[..at].iter().map(Quarter::len).sum();
        before + self.0[at].below(bit)
    }

    /// Returns the lowest byte of the `n`-th key, from 0.
    pub(super) fn nth(&self, mut n: usize) -> u64 {
        for (at, quarter) in self.0.iter().enumerate() {
            if n < quarter.len() {
                let mut bitmap = quarter.bitmap;
                (0..n).for_each(|_| bitmap &= bitmap - 1);
                return at as u64 * 64 + u64::from(bitmap.trailing_zeros());
            }
            n -= quarter.len();
        }
        unreachable!("fewer keys than the pointer says")
    }
}

/// Inserts a key that is not there; returns the place of its value, which the caller fills.
///
/// # Safety
///
/// `jp` leads to a bitmap leaf without the key, which it owns.
#[inline]
pub(super) unsafe fn insert(jp: &mut Jp, len: usize, key: u64, account: &mut Account) -> *mut Slot {
    let (at, bit) = place(key);
    // SAFETY: the caller's contract.
    let quarter = unsafe { &mut (*jp.node().cast::<Bits>()).0[at] };
    let (count, index) = (quarter.len(), quarter.below(bit));
    let (old, mut values) = (quarter.values, quarter.values);
    let words_before = if count == 0 { 0 } else { class(count) };
    // SAFETY: the array has `count` values, and room for one more once it is of the next class.
    unsafe {
        if words_before != class(count + 1) {
            values = account.allocate(Use::Bits, class(count + 1)).cast();
            std::ptr::copy_nonoverlapping(old, values, if old.is_null() { 0 } else { index });
        }
        if count > 0 {
            std::ptr::copy(old.add(index), values.add(index + 1), count - index);
        }
        if values != old && count > 0 {
            account.free(Use::Bits, old.cast(), words_before);
        }
        quarter.values = values;
        quarter.bitmap |= 1 << bit;
        jp.set_len(len + 1);
        values.add(index)
    }
}

/// Removes a key that is there, and not the only one; returns its value.
///
/// # Safety
///
/// `jp` leads to a bitmap leaf with the key and others, which it owns.
#[inline]
pub(super) unsafe fn remove(jp: &mut Jp, len: usize, key: u64, account: &mut Account) -> Slot {
    let (at, bit) = place(key);
    // SAFETY: the caller's contract.
    let quarter = unsafe { &mut (*jp.node().cast::<Bits>()).0[at] };
    let (count, index) = (quarter.len(), quarter.below(bit));
    let (old, mut values) = (quarter.values, quarter.values);
    let words_after = if count == 1 { 0 } else { class(count - 1) };
    // SAFETY: the array has `count` values; the new one room for all but this one.
    unsafe {
        let value = old.add(index).read();
        if words_after == 0 {
            values = std::ptr::null_mut();
        } else {
            if words_after != class(count) {
                values = account.allocate(Use::Bits, words_after).cast();
                std::ptr::copy_nonoverlapping(old, values, index);
            }
            std::ptr::copy(old.add(index + 1), values.add(index), count - index - 1);
        }
        if values != old {
            account.free(Use::Bits, old.cast(), class(count));
        }
        quarter.values = values;
        quarter.bitmap &= !(1 << bit);
        jp.set_len(len - 1);
        value
    }
}

/// Makes a bitmap leaf of these keys, which share their bits above the lowest byte.
pub(super) fn make(pairs: &[(u64, Slot)], account: &mut Account) -> Jp {
    let node = account.allocate(Use::Bits, WORDS);
    let mut rest = pairs;
    let quarters = [0, 1, 2, 3].map(|at| {
        let here = rest
            .iter()
            .take_while(|(key, _)| place(*key).0 == at)
            .count();
        let (those, behind) = rest.split_at(here);
        rest = behind;
        let mut quarter = Quarter {
            bitmap: 0,
            values: std::ptr::null_mut(),
        };
        if here > 0 {
            quarter.values = account.allocate(Use::Bits, class(here)).cast();
        }
        for (i, (key, value)) in those.iter().enumerate() {
            quarter.bitmap |= 1 << place(*key).1;
            // SAFETY: room for as many values as there are pairs.
            unsafe { quarter.values.add(i).write(*value) };
        }
        quarter
    });
    // SAFETY: the block is of the size of a bitmap leaf.
    unsafe { node.cast::<Bits>().write(Bits(quarters)) };
    Jp::bits(node, pairs.len(), pairs[0].0)
}

/// Frees a bitmap leaf; the values stay the caller's.
///
/// # Safety
///
/// `jp` leads to a bitmap leaf, which it owns. It is not used again.
pub(super) unsafe fn free(jp: &Jp, account: &mut Account) {
    // SAFETY: allocated with these arguments.
    unsafe {
        for quarter in Bits::of(jp).0 {
            if quarter.bitmap != 0 {
                account.free(Use::Bits, quarter.values.cast(), class(quarter.len()));
            }
        }
        account.free(Use::Bits, jp.node(), WORDS);
    }
}
