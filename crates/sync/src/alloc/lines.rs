//! Blocks that begin on a cache line.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;

/// The alignment of blocks.
pub const LINE: usize = 64;

/// Allocates `size` bytes (not zero) that begin on a cache line. Not zeroed.
///
/// From mimalloc, as records are; aborts through [`handle_alloc_error`] when there is no memory.
#[inline]
pub fn allocate_lines(size: usize) -> NonNull<u8> {
    #[cfg(not(any(loom, fyris_sanitize, not(feature = "mimalloc"))))]
    // SAFETY: no preconditions but that the alignment is a power of two.
    let ptr = unsafe { libmimalloc_sys::mi_malloc_aligned(size, LINE).cast::<u8>() };
    #[cfg(any(loom, fyris_sanitize, not(feature = "mimalloc")))]
    // SAFETY: the size is not zero.
    let ptr = unsafe { std::alloc::alloc(layout(size)) };
    let Some(ptr) = NonNull::new(ptr) else {
        handle_alloc_error(layout(size))
    };
    ptr
}

/// Frees a block.
///
/// # Safety
///
/// `ptr` comes from [`allocate_lines`] with the same `size`, and is freed once.
#[inline]
pub unsafe fn free_lines(ptr: NonNull<u8>, size: usize) {
    // SAFETY: the caller's contract.
    #[cfg(not(any(loom, fyris_sanitize, not(feature = "mimalloc"))))]
    unsafe {
        let _ = size;
        libmimalloc_sys::mi_free(ptr.as_ptr().cast());
    }
    // SAFETY: the caller's contract.
    #[cfg(any(loom, fyris_sanitize, not(feature = "mimalloc")))]
    unsafe {
        std::alloc::dealloc(ptr.as_ptr(), layout(size));
    }
}

fn layout(size: usize) -> Layout {
    match Layout::from_size_align(size, LINE) {
        Ok(layout) => layout,
        Err(_) => panic!("a block of {size} bytes is more than an address can count"),
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn blocks_begin_on_lines() {
        for size in [1, 64, 200, 256, 320, 1000, 1 << 20] {
            let block = allocate_lines(size);
            assert_eq!(block.as_ptr().addr() % LINE, 0);
            // SAFETY: `size` bytes, ours; then freed once.
            unsafe {
                block.write_bytes(0xa5, size);
                free_lines(block, size);
            }
        }
    }
}
