//! Small byte records.

use std::ptr::NonNull;

#[cfg(not(any(loom, fyris_sanitize, not(feature = "mimalloc"))))]
use self::direct as backend;
#[cfg(any(loom, fyris_sanitize, not(feature = "mimalloc")))]
use self::system as backend;

/// Allocates `size` bytes, aligned to 8 (to 16 when `size` is a multiple of 16). Not zeroed.
///
/// Aborts through [`std::alloc::handle_alloc_error`] when there is no memory, as `Box` does.
#[inline]
pub fn allocate(size: usize) -> NonNull<u8> {
    let Some(ptr) = NonNull::new(backend::allocate(size)) else {
        out_of_memory(size)
    };
    ptr
}

/// Frees a record.
///
/// # Safety
///
/// `ptr` comes from [`allocate`] with the same `size`, and is freed once.
#[inline]
pub unsafe fn free(ptr: NonNull<u8>, size: usize) {
    // SAFETY: the caller's contract.
    unsafe { backend::free(ptr.as_ptr(), size) }
}

/// Returns the bytes that the allocator has given to the record: at least `size`.
///
/// # Safety
///
/// `ptr` comes from [`allocate`] with the same `size`, and has not been freed.
#[inline]
pub unsafe fn usable_size(ptr: NonNull<u8>, size: usize) -> usize {
    // SAFETY: the caller's contract.
    unsafe { backend::usable_size(ptr.as_ptr(), size) }
}

/// Gives back to the system what the allocator keeps of this thread's freed records. Some milliseconds, if that is
/// much.
pub fn give_back() {
    backend::give_back();
}

#[cold]
fn out_of_memory(size: usize) -> ! {
    let layout = std::alloc::Layout::from_size_align(size, 8);
    std::alloc::handle_alloc_error(layout.unwrap_or(std::alloc::Layout::new::<u64>()))
}

#[cfg(not(any(loom, fyris_sanitize, not(feature = "mimalloc"))))]
mod direct {
    use libmimalloc_sys as mi;

    #[inline]
    pub(super) fn allocate(size: usize) -> *mut u8 {
        // SAFETY: `mi_malloc` has no preconditions.
        unsafe { mi::mi_malloc(size).cast() }
    }

    pub(super) fn give_back() {
        // SAFETY: they have no preconditions. Of a thread that has never allocated, nothing would be collected, not
        // even what lies free in the arenas of all threads.
        unsafe {
            mi::mi_thread_init();
            mi::mi_collect(true);
        }
    }

    /// # Safety
    ///
    /// `ptr` comes from [`allocate`] with the same size, and is freed once.
    #[inline]
    pub(super) unsafe fn free(ptr: *mut u8, _: usize) {
        // SAFETY: `ptr` comes from `mi_malloc`, by the caller's contract.
        unsafe { mi::mi_free(ptr.cast()) }
    }

    /// # Safety
    ///
    /// `ptr` comes from [`allocate`] with the same size, and has not been freed.
    #[inline]
    pub(super) unsafe fn usable_size(ptr: *mut u8, _: usize) -> usize {
        // SAFETY: `ptr` comes from `mi_malloc`, by the caller's contract.
        unsafe { mi::mi_usable_size(ptr.cast()) }
    }
}

#[cfg(any(loom, fyris_sanitize, not(feature = "mimalloc")))]
mod system {
    use std::alloc::{Layout, alloc, dealloc};

    fn layout(size: usize) -> Option<Layout> {
        Layout::from_size_align(size.max(1), 16).ok()
    }

    pub(super) fn give_back() {}

    pub(super) fn allocate(size: usize) -> *mut u8 {
        // SAFETY: the layout's size is not zero.
        layout(size).map_or(std::ptr::null_mut(), |layout| unsafe { alloc(layout) })
    }

    /// # Safety
    ///
    /// `ptr` comes from [`allocate`] with the same size, and is freed once.
    pub(super) unsafe fn free(ptr: *mut u8, size: usize) {
        if let Some(layout) = layout(size) {
            // SAFETY: allocated with this layout, by the caller's contract.
            unsafe { dealloc(ptr, layout) }
        }
    }

    /// # Safety
    ///
    /// `ptr` comes from [`allocate`] with the same size, and has not been freed.
    pub(super) unsafe fn usable_size(_: *mut u8, size: usize) -> usize {
        size.next_multiple_of(16)
    }
}

#[cfg(all(test, not(any(loom, fyris_sanitize, not(feature = "mimalloc")))))]
mod tests {
    use super::*;

    #[test]
    fn small_sizes_go_in_small_steps() {
        for size in 1..=64 {
            let ptr = allocate(size);
            // SAFETY: just allocated with this size, freed once.
            unsafe {
                assert!(
                    (size..size + 16).contains(&usable_size(ptr, size)),
                    "{size}"
                );
                assert_eq!(ptr.addr().get() % 8, 0);
                free(ptr, size);
            }
        }
        let ptr = allocate(1000);
        // SAFETY: as above.
        unsafe {
            assert!((1000..=1152).contains(&usable_size(ptr, 1000)));
            free(ptr, 1000);
        }
    }
}
