//! Large zeroed memory, on huge pages where the kernel has them.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes given back at the moment. The standard library's atomic, also under loom: it only counts.
static GIVEN_BACK: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of bytes of all living [`Pages`] of the process whose memory the kernel has: the allocator's
/// account shows them, though nothing is behind them.
pub fn given_back() -> usize {
    // Relaxed: a number for reports, which orders nothing.
    GIVEN_BACK.load(Ordering::Relaxed)
}

/// The size of a huge page, and the least size for which one is asked for.
const HUGE: usize = 2 << 20;
/// Alignment and unit of size from there on: the largest page that a system of today has, so that whole pages can be
/// given back.
const PAGE: usize = if cfg!(target_arch = "x86_64") {
    SMALL_PAGE
} else {
    64 << 10
};
/// Alignment and unit of size from there on. mimalloc has blocks of its sizes only, a fifth apart; but a block with
/// this alignment is as large as was asked for.
const SMALL_PAGE: usize = 4 << 10;
/// Alignment of everything smaller: two cache lines, which processors like to fetch together.
const LINE: usize = 128;

/// Zeroed memory aligned to 128 bytes, or to 4 KiB if it is as long, or to a page of the system if it is 2 MiB long.
/// Freed when dropped.
///
/// It comes from mimalloc, so that what one table leaves is there for the next: memory fresh from the kernel
/// costs a fault for each page, on a virtual machine two, and those cost more than filling a table.
/// Asking for huge pages is advice: where the kernel has none, ordinary pages serve.
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    size: usize,
    /// A mapping of its own, not the allocator's.
    mapped: bool,
    /// The kernel has the physical memory: counted by [`given_back`].
    given_back: AtomicBool,
}

// SAFETY: `Pages` owns its memory, as `Box<[u8]>` does, and has no state of its own to race on.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Allocates at least `size` bytes of zeros. Aborts when there is no memory, as `Box` does.
    ///
    /// # Panics
    ///
    /// If `size` is zero or larger than half the address space.
    pub fn zeroed(size: usize) -> Self {
        Self::try_zeroed(size).unwrap_or_else(|| handle_alloc_error(Self::layout(size)))
    }

    /// Allocates at least `size` bytes of zeros; `None` when there is no memory.
    ///
    /// # Panics
    ///
    /// If `size` is zero or larger than half the address space.
    pub fn try_zeroed(size: usize) -> Option<Self> {
        assert!(size > 0);
        let layout = Self::layout(size);
        let start = backend::zeroed(layout)?;
        if Self::is_large(layout) {
            advice::huge(start, layout.size());
        }
        Some(Self {
            start,
            size: layout.size(),
            mapped: false,
            given_back: AtomicBool::new(false),
        })
    }

    /// Allocates at least `size` bytes of zeros, large memory fresh from the kernel, which clears each page when it is
    /// touched first: no time that grows with the size. For memory of which little may be used for long. `None` if
    /// there is not so much.
    ///
    /// # Panics
    ///
    /// If `size` is zero.
    pub fn try_fresh(size: usize) -> Option<Self> {
        assert!(size > 0);
        let layout = Layout::from_size_align(size, Self::align(size)).ok()?;
        let layout = layout.pad_to_align();
        let mapped = Self::is_large(layout);
        let start = if mapped {
            advice::map(layout.size())
        } else {
            backend::zeroed(layout)
        }?;
        if mapped {
            advice::huge(start, layout.size());
        }
        Some(Self {
            start,
            size: layout.size(),
            mapped,
            given_back: AtomicBool::new(false),
        })
    }

    /// Returns the address.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Returns the number of bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Gives the physical memory back to the kernel where that can be done at once: all reads zero
    /// from then on, and may go on while this runs. Elsewhere it does nothing (see
    /// [`Pages::gives_back`]). [`Pages::reuse`] must be called before the memory is filled again.
    ///
    /// # Safety
    ///
    /// No thread relies on the content, which is accessed by atomics only.
    pub unsafe fn discard(&self) {
        if self.gives_back() {
            // SAFETY: whole pages of ours; the caller does not need the content.
            unsafe { advice::discard(self.start, self.size) };
            self.count_given_back(true);
        }
    }

    /// Says that the memory is going to be filled again after a [`Pages::discard`].
    pub fn reuse(&self) {
        self.count_given_back(false);
    }

    /// Keeps the account of [`given_back`].
    fn count_given_back(&self, now: bool) {
        // Relaxed, all: numbers.
        if self.given_back.swap(now, Ordering::Relaxed) != now {
            if now {
                GIVEN_BACK.fetch_add(self.size, Ordering::Relaxed);
            } else {
                GIVEN_BACK.fetch_sub(self.size, Ordering::Relaxed);
            }
        }
    }

    /// Returns whether [`Pages::discard`] gives memory back: when it is large, on Linux.
    pub fn gives_back(&self) -> bool {
        Self::is_large(Self::layout(self.size))
    }

    /// Returns the layout to allocate for `size` bytes. Idempotent, as `drop` knows only the size that was taken.
    fn layout(size: usize) -> Layout {
        let layout = Layout::from_size_align(size, Self::align(size));
        layout.expect("a table of half the memory").pad_to_align()
    }

    /// Returns the alignment of `size` bytes: that of the size that they are padded to.
    fn align(size: usize) -> usize {
        if size > HUGE - SMALL_PAGE {
            PAGE
        } else if size > SMALL_PAGE - LINE {
            SMALL_PAGE
        } else {
            LINE
        }
    }

    /// Returns whether the memory is whole pages to give advice about.
    fn is_large(layout: Layout) -> bool {
        cfg!(all(target_os = "linux", not(fyris_sanitize), not(miri))) && layout.size() >= HUGE
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.count_given_back(false);
        if self.mapped {
            // SAFETY: mapped in `try_fresh` with this size; unmapped once.
            return unsafe { advice::unmap(self.start, self.size) };
        }
        // SAFETY: allocated in `zeroed` or `try_fresh` with this layout; freed once.
        unsafe { backend::free(self.start, Self::layout(self.size)) }
    }
}

#[cfg(not(any(loom, fyris_sanitize, not(feature = "mimalloc"))))]
mod backend {
    use std::alloc::Layout;
    use std::ptr::NonNull;

    use libmimalloc_sys as mi;

    pub(super) fn zeroed(layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: no preconditions but that the alignment is a power of two.
        let start = unsafe { mi::mi_zalloc_aligned(layout.size(), layout.align()) };
        NonNull::new(start.cast())
    }

    /// # Safety
    ///
    /// `start` comes from [`zeroed`]; freed once.
    pub(super) unsafe fn free(start: NonNull<u8>, _: Layout) {
        // SAFETY: the caller's contract.
        unsafe { mi::mi_free(start.as_ptr().cast()) }
    }
}

#[cfg(any(loom, fyris_sanitize, not(feature = "mimalloc")))]
mod backend {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    pub(super) fn zeroed(layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: `Pages::zeroed` asserts that the size is not zero.
        NonNull::new(unsafe { alloc_zeroed(layout) })
    }

    /// # Safety
    ///
    /// `start` comes from [`zeroed`] with the same layout; freed once.
    pub(super) unsafe fn free(start: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { dealloc(start.as_ptr(), layout) }
    }
}

#[cfg(target_os = "linux")]
mod advice {
    use std::ptr::NonNull;

    use super::HUGE;

    /// Maps fresh memory. It is not accounted for beforehand: little of it may be used.
    pub(super) fn map(size: usize) -> Option<NonNull<u8>> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: new memory, at no given address.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
        NonNull::new(start.cast()).filter(|_| start != libc::MAP_FAILED)
    }

    /// # Safety
    ///
    /// `start` comes from [`map`] with the same size; unmapped once.
    pub(super) unsafe fn unmap(start: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { libc::munmap(start.as_ptr().cast(), size) };
    }

    /// Advises huge pages for those that lie wholly in `size` bytes from `start`.
    pub(super) fn huge(start: NonNull<u8>, size: usize) {
        let before = start.as_ptr().align_offset(HUGE);
        let size = size.saturating_sub(before) / HUGE * HUGE;
        if size > 0 {
            // SAFETY: within the block; the advice changes nothing that can be read.
            unsafe {
                let first = start.as_ptr().add(before);
                libc::madvise(first.cast(), size, libc::MADV_HUGEPAGE);
            }
        }
    }

    /// # Safety
    ///
    /// These are whole pages of the caller's whose content is not needed any more.
    pub(super) unsafe fn discard(start: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { libc::madvise(start.as_ptr().cast(), size, libc::MADV_DONTNEED) };
    }
}

#[cfg(not(target_os = "linux"))]
mod advice {
    use std::ptr::NonNull;

    pub(super) fn huge(_: NonNull<u8>, _: usize) {}

    /// Nothing is mapped on this system.
    pub(super) fn map(_: usize) -> Option<NonNull<u8>> {
        None
    }

    /// # Safety
    ///
    /// None: it does nothing on this system.
    pub(super) unsafe fn unmap(_: NonNull<u8>, _: usize) {}

    /// # Safety
    ///
    /// None: it does nothing on this system.
    pub(super) unsafe fn discard(_: NonNull<u8>, _: usize) {}
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn zeroed_and_aligned() {
        for size in [1, 64, 3969, 4095, 4096, HUGE - 1, HUGE, 2 * HUGE + 12345] {
            let pages = Pages::zeroed(size);
            assert_eq!(Pages::layout(size), Pages::layout(pages.size()));
            assert!(pages.size() >= size);
            assert_eq!(pages.as_ptr().addr() % Pages::align(pages.size()), 0);
            // SAFETY: within the allocation.
            let bytes = unsafe { std::slice::from_raw_parts_mut(pages.as_ptr(), size) };
            assert!(bytes.iter().all(|b| *b == 0));
            bytes.fill(1);
        }
        account_follows();
    }

    // Sanitizers refuse allocations of such sizes.
    #[cfg(not(fyris_sanitize))]
    #[test]
    fn fresh_memory_is_zeroed_and_costs_nothing_beforehand() {
        for size in [64, HUGE - 1, 2 * HUGE + 12345, 64 << 30] {
            let pages = Pages::try_fresh(size).expect("addresses, if not memory");
            assert!(pages.size() >= size);
            for at in [0, size / 2, size - 1] {
                // SAFETY: within the allocation.
                let byte = unsafe { pages.as_ptr().add(at) };
                // SAFETY: as above.
                assert_eq!(unsafe { byte.read() }, 0);
                // SAFETY: as above.
                unsafe { byte.write(7) };
            }
        }
        assert!(Pages::try_fresh(isize::MAX as usize).is_none());
        assert!(Pages::try_fresh(usize::MAX).is_none());
    }

    /// Checks that memory counts as given back once, and only until it is used again. Part of the one test that gives
    /// back, as the account is the whole process's.
    fn account_follows() {
        let pages = Pages::zeroed(HUGE);
        // SAFETY: ours alone.
        unsafe { pages.as_ptr().write_bytes(7, HUGE) };
        let back = if pages.gives_back() { HUGE } else { 0 };
        for _ in 0..2 {
            // SAFETY: the content is not needed.
            unsafe { pages.discard() };
            assert_eq!(given_back(), back);
        }
        // SAFETY: ours alone.
        let bytes = unsafe { std::slice::from_raw_parts(pages.as_ptr(), HUGE) };
        assert!(back == 0 || bytes.iter().all(|b| *b == 0));
        pages.reuse();
        assert_eq!(given_back(), 0);
        // SAFETY: as above.
        unsafe { pages.discard() };
        drop(pages);
        assert_eq!(given_back(), 0);
    }
}
