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
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) ptr.cast::<u8>(), options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    let _ = ptr;
}

/// Fetches the line at `ptr` to write it.
#[inline(always)]
pub fn write<T: ?Sized>(ptr: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as in `read`.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(ptr.cast::<i8>());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{0}]", in(reg) ptr.cast::<u8>(), options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    let _ = ptr;
}
