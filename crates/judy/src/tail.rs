//! What a [`JudyBytes`](super::JudyBytes) keeps for a key: its value, and the bytes that no word has.
//!
//! Under a word that is a key's last one, the value itself. Under another one the address of a short-cut leaf, or of an
//! array, with the lowest bit set. A short-cut leaf:
//!
//! ```text
//! bytes 0 to 7    value
//! byte  8         number of bytes, if it is below 255; else 255, and the number in bytes 9 to 16
//! then            the bytes
//! ```

use std::cmp::Ordering;

use super::class::{Account, Use};
use super::jp::Slot;
use super::strings::{Array, Behind, Content, Ended, Split, rest};

/// The bit of a value that is an array.
const ARRAY: usize = 1;
/// The first byte of a long length.
const LONG: usize = 255;

/// Values with short-cut leaves.
pub(super) enum Tails {}

/// Returns the bytes that stand before the key's in a leaf of this length.
fn head(len: usize) -> usize {
    if len < LONG { 9 } else { 17 }
}

/// Returns the bytes of the block of a leaf.
fn block(len: usize) -> usize {
    (head(len) + len).next_multiple_of(16)
}

/// Returns the address that a value is.
///
/// # Safety
///
/// It is a value under a word that is not a last one, in a living map.
#[inline(always)]
unsafe fn address(value: Slot) -> *mut u8 {
    // SAFETY: such values are written as whole words.
    std::ptr::with_exposed_provenance_mut(unsafe { value.assume_init() } as usize & !ARRAY)
}

/// Returns the bytes of a short-cut leaf.
///
/// # Safety
///
/// The value is the address of one that lives, and is not freed for as long as they are used.
#[inline(always)]
pub(super) unsafe fn bytes<'a>(value: Slot) -> &'a [u8] {
    // SAFETY: the caller's contract; the layout is that of `make_leaf`.
    unsafe {
        let leaf = address(value);
        let short = usize::from(leaf.add(8).read());
        let len = if short < LONG {
            short
        } else {
            leaf.add(9).cast::<usize>().read_unaligned()
        };
        std::slice::from_raw_parts(leaf.add(head(len)), len)
    }
}

/// Returns the place of a key's value, given that under its last word.
///
/// # Safety
///
/// `slot` is the place of the value of a key in a living map.
#[inline(always)]
pub(super) unsafe fn value(word: u64, slot: *mut Slot) -> *mut Slot {
    if Ended::ends(word) {
        return slot;
    }
    // SAFETY: the caller's contract: the value is the address of a leaf.
    unsafe { address(*slot).cast() }
}

/// Makes a short-cut leaf.
fn make_leaf(value: Slot, tail: &[u8], account: &mut Account) -> Slot {
    let leaf = account.allocate_bytes(Use::Tail, block(tail.len()));
    let head = head(tail.len());
    // SAFETY: a fresh block of this size.
    unsafe {
        leaf.cast::<Slot>().write(value);
        leaf.add(8).write(tail.len().min(LONG) as u8);
        if tail.len() >= LONG {
            leaf.add(9).cast::<usize>().write_unaligned(tail.len());
        }
        std::ptr::copy_nonoverlapping(tail.as_ptr(), leaf.add(head), tail.len());
    }
    Slot::new(leaf.expose_provenance() as u64)
}

/// Frees a short-cut leaf; returns the value that it had.
///
/// # Safety
///
/// The value is the address of one, which is not used again.
unsafe fn free_leaf(leaf: Slot, account: &mut Account) -> Slot {
    // SAFETY: the caller's contract; a block of `make_leaf`.
    unsafe {
        let value = address(leaf).cast::<Slot>().read();
        account.free_bytes(Use::Tail, address(leaf), block(bytes(leaf).len()));
        value
    }
}

/// Makes what is put under the last word of a key that has this behind it.
pub(super) fn make<V>(word: u64, value: V, behind: &[u8], account: &mut Account) -> Slot {
    let mut slot = Slot::uninit();
    // SAFETY: a value fits into a word.
    unsafe { slot.as_mut_ptr().cast::<V>().write(value) };
    if Ended::ends(word) {
        return slot;
    }
    make_leaf(slot, behind, account)
}

/// Takes the value of a key out of what is under its last word.
///
/// # Safety
///
/// It was made by `make` of a value of this type, and is not used again.
pub(super) unsafe fn take<V>(word: u64, slot: Slot, account: &mut Account) -> V {
    // SAFETY: the caller's contract.
    unsafe {
        let value = if Ended::ends(word & 0xFF) {
            slot
        } else {
            free_leaf(slot, account)
        };
        value.as_ptr().cast::<V>().read()
    }
}

impl Content for Tails {
    type Split = Ended;
    const BUILDS_KEYS: bool = true;

    #[inline(always)]
    unsafe fn behind(low: u64, value: Slot) -> Behind {
        if Ended::ends(low & 0xFF) {
            return Behind::Key;
        }
        // SAFETY: the caller's contract: a whole word.
        let bits = unsafe { value.assume_init() } as usize;
        if bits & ARRAY == 0 {
            return Behind::Key;
        }
        Behind::Array(std::ptr::with_exposed_provenance_mut(bits & !ARRAY))
    }

    fn of_array(array: *mut Array) -> Slot {
        Slot::new((array.expose_provenance() | ARRAY) as u64)
    }

    unsafe fn cmp(word: u64, value: Slot, key: &[u8], offset: usize) -> Ordering {
        if Ended::ends(word) {
            return Ordering::Equal;
        }
        // SAFETY: the caller's contract: a leaf.
        unsafe { bytes(value) }.cmp(rest(key, offset + Ended::STEP))
    }

    unsafe fn with_tail<R>(word: u64, value: Slot, _: usize, f: impl FnOnce(&[u8]) -> R) -> R {
        if Ended::ends(word) {
            return f(&[]);
        }
        // SAFETY: the caller's contract: a leaf.
        f(unsafe { bytes(value) })
    }

    unsafe fn push_down(value: Slot, cut: usize, word: u64, account: &mut Account) -> Slot {
        // SAFETY: the caller's contract: a leaf, as behind a last word there is no other key.
        unsafe {
            let shorter = if Ended::ends(word) {
                None
            } else {
                let own = (*address(value).cast::<Slot>(), rest(bytes(value), cut));
                Some(make_leaf(own.0, own.1, account))
            };
            let own = free_leaf(value, account);
            shorter.unwrap_or(own)
        }
    }

    unsafe fn pull_up(value: Slot, word: u64, before: &[u8], account: &mut Account) -> Slot {
        if Ended::ends(word) {
            return make_leaf(value, before, account);
        }
        // SAFETY: the caller's contract: a leaf.
        unsafe {
            let tail = [before, bytes(value)].concat();
            let own = free_leaf(value, account);
            make_leaf(own, &tail, account)
        }
    }
}
