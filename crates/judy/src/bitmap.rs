//! The bitmap branch: a bit for each of 256 digits, and the children in eight arrays.

use super::class::{Account, Use, class};
use super::jp::Jp;
use super::weigh::{Weigh, keys_of};

/// An eighth of a bitmap branch: 32 digits, and the children of those that have one, in the order of digits.
#[derive(Clone, Copy)]
#[repr(C)]
struct Eighth {
    children: *mut Jp,
    bitmap: u32,
}

/// A bitmap branch: two lines for lookups, and one that counts.
#[repr(C)]
pub(super) struct Bitmap {
    eighths: [Eighth; 8],
    keys: [u64; 8],
}

/// Returns the eighth of a digit, and its bit there.
#[inline(always)]
fn place(digit: usize) -> (usize, u32) {
    (digit / 32, digit as u32 % 32)
}

/// Returns the words of an array of so many children.
#[inline(always)]
fn words(children: usize) -> usize {
    class(2 * children)
}

impl Eighth {
    #[inline(always)]
    fn len(&self) -> usize {
        self.bitmap.count_ones() as usize
    }

    #[inline(always)]
    fn below(&self, bit: u32) -> usize {
        (self.bitmap & ((1 << bit) - 1)).count_ones() as usize
    }

    /// Returns the number of keys below the first `n` children.
    fn keys_of<W: Weigh>(&self, n: usize) -> usize {
        // SAFETY: there is a child for each bit.
        (0..n)
            .map(|i| unsafe { keys_of::<W>(self.children.add(i)) })
            .sum()
    }
}

impl Bitmap {
    pub(super) const EMPTY: Self = Self {
        eighths: [Eighth {
            children: std::ptr::null_mut(),
            bitmap: 0,
        }; 8],
        keys: [0; 8],
    };

    #[inline(always)]
    pub(super) unsafe fn child(this: *mut Self, digit: usize) -> *mut Jp {
        let (at, bit) = place(digit);
        // SAFETY: the node lives (NODES).
        let eighth = unsafe { &(*this).eighths[at] };
        if eighth.bitmap >> bit & 1 == 0 {
            return std::ptr::null_mut();
        }
        // SAFETY: there is a child for each bit.
        unsafe { eighth.children.add(eighth.below(bit)) }
    }

    pub(super) unsafe fn child_from(this: *mut Self, digit: usize) -> Option<(usize, *mut Jp)> {
        let (first, bit) = place(digit);
        let mut mask = !0 << bit;
        for at in first..8 {
            // SAFETY: the node lives (NODES).
            let bits = unsafe { (*this).eighths[at].bitmap } & mask;
            if bits != 0 {
                let digit = 32 * at + bits.trailing_zeros() as usize;
                // SAFETY: as above.
                return Some((digit, unsafe { Self::child(this, digit) }));
            }
            mask = !0;
        }
        None
    }

    pub(super) unsafe fn child_to(this: *mut Self, digit: usize) -> Option<(usize, *mut Jp)> {
        let (last, bit) = place(digit);
        let mut mask = !0 >> (31 - bit);
        for at in (0..=last).rev() {
            // SAFETY: the node lives (NODES).
            let bits = unsafe { (*this).eighths[at].bitmap } & mask;
            if bits != 0 {
                let digit = 32 * at + 31 - bits.leading_zeros() as usize;
                // SAFETY: as above.
                return Some((digit, unsafe { Self::child(this, digit) }));
            }
            mask = !0;
        }
        None
    }

    #[inline(always)]
    pub(super) unsafe fn counter(this: *mut Self, digit: usize) -> *mut u64 {
        // SAFETY: the node lives (NODES).
        unsafe { &raw mut (*this).keys[place(digit).0] }
    }

    pub(super) unsafe fn keys(this: *mut Self) -> usize {
        // SAFETY: the node lives (NODES).
        unsafe { (*this).keys.iter().sum::<u64>() as usize }
    }

    pub(super) unsafe fn keys_below<W: Weigh>(this: *mut Self, digit: usize) -> usize {
        let (at, bit) = place(digit);
        // SAFETY: the node lives (NODES).
        let node = unsafe { &*this };
        let here = node.eighths[at].keys_of::<W>(node.eighths[at].below(bit));
        node.keys[..at].iter().sum::<u64>() as usize + here
    }

    pub(super) unsafe fn nth<W: Weigh>(this: *mut Self, mut n: usize) -> (usize, *mut Jp, usize) {
        // SAFETY: the node lives (NODES).
        let node = unsafe { &*this };
        for (at, eighth) in node.eighths.iter().enumerate() {
            if n >= node.keys[at] as usize {
                n -= node.keys[at] as usize;
                continue;
            }
            let mut bitmap = eighth.bitmap;
            for i in 0..eighth.len() {
                // SAFETY: there is a child for each bit.
                let (child, keys) =
                    unsafe { (eighth.children.add(i), keys_of::<W>(eighth.children.add(i))) };
                if n < keys {
                    return (32 * at + bitmap.trailing_zeros() as usize, child, n);
                }
                n -= keys;
                bitmap &= bitmap - 1;
            }
        }
        unreachable!("fewer keys than are counted")
    }

    pub(super) unsafe fn children(this: *mut Self) -> usize {
        // SAFETY: the node lives (NODES).
        unsafe { (*this).eighths.iter().map(Eighth::len).sum() }
    }

    pub(super) unsafe fn insert(
        this: *mut Self,
        digit: usize,
        child: Jp,
        account: &mut Account,
    ) -> *mut Jp {
        let (at, bit) = place(digit);
        // SAFETY: the node lives (NODES), and the caller has it alone.
        let eighth = unsafe { &mut (*this).eighths[at] };
        let (len, i) = (eighth.len(), eighth.below(bit));
        let (old, mut children) = (eighth.children, eighth.children);
        let words_before = if len == 0 { 0 } else { words(len) };
        // SAFETY: the array has `len` children, and room for one more once it is of the next class.
        unsafe {
            if words_before != words(len + 1) {
                children = account.allocate(Use::Bitmap, words(len + 1)).cast();
            }
            if len > 0 {
                if children != old {
                    std::ptr::copy_nonoverlapping(old, children, i);
                }
                std::ptr::copy(old.add(i), children.add(i + 1), len - i);
                if children != old {
                    account.free(Use::Bitmap, old.cast(), words_before);
                }
            }
            eighth.children = children;
            eighth.bitmap |= 1 << bit;
            children.add(i).write(child);
            children.add(i)
        }
    }

    pub(super) fn remove(&mut self, digit: usize, account: &mut Account) {
        let (at, bit) = place(digit);
        let eighth = &mut self.eighths[at];
        let (len, i) = (eighth.len(), eighth.below(bit));
        let (old, mut children) = (eighth.children, eighth.children);
        // SAFETY: the array has `len` children; the new one has room for all but this one.
        unsafe {
            if len == 1 {
                children = std::ptr::null_mut();
            } else {
                if words(len - 1) != words(len) {
                    children = account.allocate(Use::Bitmap, words(len - 1)).cast();
                    std::ptr::copy_nonoverlapping(old, children, i);
                }
                std::ptr::copy(old.add(i + 1), children.add(i), len - i - 1);
            }
            if children != old {
                account.free(Use::Bitmap, old.cast(), words(len));
            }
        }
        eighth.children = children;
        eighth.bitmap &= !(1 << bit);
    }

    pub(super) fn free_parts(&mut self, account: &mut Account) {
        for eighth in self.eighths.iter().filter(|eighth| eighth.bitmap != 0) {
            // SAFETY: allocated with these arguments, freed once with the branch.
            unsafe { account.free(Use::Bitmap, eighth.children.cast(), words(eighth.len())) };
        }
    }
}
