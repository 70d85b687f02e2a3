//! Arrays that get an item more or less, in place or in another block.

/// Moves `len` items to where `to` is, which may be where they are, and leaves a place for one more at an index.
///
/// # Safety
///
/// `from` has `len` items, and there is room for one more at `to`; the two are the same, or do not overlap.
#[inline(always)]
pub(super) unsafe fn open<T>(from: *const T, to: *mut T, len: usize, at: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if to.cast_const() != from {
            std::ptr::copy_nonoverlapping(from, to, at);
        }
        std::ptr::copy(from.add(at), to.add(at + 1), len - at);
    }
}

/// Moves `len` items, but the one at an index, to where `to` is, which may be where they are.
///
/// # Safety
///
/// `from` has `len` items, and there is room for all but one at `to`; the two are the same, or do not overlap.
#[inline(always)]
pub(super) unsafe fn close<T>(from: *const T, to: *mut T, len: usize, at: usize) {
    // SAFETY: the caller's contract.
    unsafe { close_bytes(from.cast(), to.cast(), size_of::<T>(), len, at) }
}

/// Moves `len` items of `size` bytes, but the one at an index, to where `to` is.
///
/// # Safety
///
/// `from` has `len` items, and there is room for all but one at `to`; the two are the same, or do not overlap.
#[inline(always)]
pub(super) unsafe fn close_bytes(from: *const u8, to: *mut u8, size: usize, len: usize, at: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if to.cast_const() != from {
            std::ptr::copy_nonoverlapping(from, to, at * size);
        }
        let behind = from.add((at + 1) * size);
        std::ptr::copy(behind, to.add(at * size), (len - at - 1) * size);
    }
}
