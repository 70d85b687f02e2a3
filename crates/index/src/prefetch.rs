//! Telling the processor which line is needed next. Advice: never reads, never faults.

/// Fetches the line at `ptr` to read it.
#[inline(always)]
pub fn read<T: ?Sized>(ptr: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect but on the cache, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(ptr.cast::<i8>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = ptr;
}

/// Fetches the line at `ptr` to write it.
#[inline(always)]
pub(crate) fn write<T: ?Sized>(ptr: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as in `read`.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(ptr.cast::<i8>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = ptr;
}
