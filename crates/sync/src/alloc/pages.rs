//! Large zeroed memory, on huge pages when it is large enough.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes mapped at the moment. The standard library's atomic, also under loom: it only counts.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// Bytes that all [`Pages`] of the process have mapped straight from the kernel: memory that no
/// allocator's account shows.
pub fn mapped() -> usize {
    // Relaxed: a number for reports, which orders nothing.
    MAPPED.load(Ordering::Relaxed)
}

/// The size of a huge page, and the least size for which one is asked for.
const HUGE: usize = 2 << 20;
/// Alignment of everything smaller: two cache lines, which processors like to fetch together.
const LINE: usize = 128;

/// Zeroed memory aligned to 128 bytes, or to 2 MiB if it is that long. Freed when dropped.
///
/// Asking for huge pages is advice: where the kernel has none, ordinary pages serve.
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    size: usize,
    /// The kernel has the physical memory: not counted by [`mapped`].
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
        assert!(size > 0);
        let layout = Self::layout(size);
        let start = if Self::is_mapped(layout) {
            // Relaxed, here and in `drop`: see `mapped`.
            MAPPED.fetch_add(layout.size(), Ordering::Relaxed);
            map::huge(layout)
        } else {
            // SAFETY: the size is not zero.
            NonNull::new(unsafe { alloc_zeroed(layout) })
        };
        Self {
            start: start.unwrap_or_else(|| handle_alloc_error(layout)),
            size: layout.size(),
            given_back: AtomicBool::new(false),
        }
    }

    /// Where it begins.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// How many bytes were taken.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Gives the physical memory back to the kernel where that can be done at once: all reads zero
    /// from then on, and may go on while this runs. Elsewhere it does nothing (see
    /// [`Pages::gives_back`]). [`Pages::reuse`] is to be called before it is filled again.
    ///
    /// # Safety
    ///
    /// Nobody relies on the content, which is accessed by atomics only.
    pub unsafe fn discard(&self) {
        if self.gives_back() {
            // SAFETY: mapped in `zeroed` with this size; the caller does not need the content.
            unsafe { map::discard(self.start, self.size) };
            self.count_given_back(true);
        }
    }

    /// Says that the memory is going to be filled again after a [`Pages::discard`].
    pub fn reuse(&self) {
        if self.gives_back() {
            self.count_given_back(false);
        }
    }

    /// Keeps the account of [`mapped`].
    fn count_given_back(&self, given_back: bool) {
        // Relaxed, all: numbers.
        if self.given_back.swap(given_back, Ordering::Relaxed) != given_back {
            if given_back {
                MAPPED.fetch_sub(self.size, Ordering::Relaxed);
            } else {
                MAPPED.fetch_add(self.size, Ordering::Relaxed);
            }
        }
    }

    /// Whether [`Pages::discard`] gives memory back: when it is huge, on Linux.
    pub fn gives_back(&self) -> bool {
        Self::is_mapped(Self::layout(self.size))
    }

    fn layout(size: usize) -> Layout {
        // By what is taken, not by what is asked for: `drop` knows only that.
        let align = if size.next_multiple_of(LINE) >= HUGE {
            HUGE
        } else {
            LINE
        };
        let layout = Layout::from_size_align(size, align).expect("a table of half the memory");
        layout.pad_to_align()
    }

    /// Whether the memory is mapped straight from the kernel.
    fn is_mapped(layout: Layout) -> bool {
        cfg!(all(target_os = "linux", not(fyris_sanitize), not(miri))) && layout.align() == HUGE
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let layout = Self::layout(self.size);
        if Self::is_mapped(layout) {
            self.count_given_back(true);
            // SAFETY: mapped in `zeroed` with this layout; unmapped once.
            unsafe { map::unmap(self.start, layout) }
        } else {
            // SAFETY: allocated in `zeroed` with this layout (`pad_to_align` is idempotent and does
            // not change which alignment applies); freed once.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}

#[cfg(target_os = "linux")]
mod map {
    use std::alloc::Layout;
    use std::ptr::{self, NonNull};

    /// Maps zeroed memory at an address that is a multiple of the alignment: maps more, gives the
    /// ends back, and advises huge pages.
    pub(super) fn huge(layout: Layout) -> Option<NonNull<u8>> {
        let size = layout.size();
        let mapped = size.checked_add(layout.align())?;
        // SAFETY: an anonymous private mapping at an address of the kernel's choice.
        let start = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(ptr::null_mut(), mapped, protection, flags, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let start = start.cast::<u8>();
        let before = start.align_offset(layout.align());
        let after = mapped - before - size;
        // SAFETY: `before + size + after` is what was mapped; both ends are whole pages, since the
        // kernel maps whole pages, and nobody has seen them.
        unsafe {
            let middle = start.add(before);
            if before > 0 {
                libc::munmap(start.cast(), before);
            }
            if after > 0 {
                libc::munmap(middle.add(size).cast(), after);
            }
            libc::madvise(middle.cast(), size, libc::MADV_HUGEPAGE);
            NonNull::new(middle)
        }
    }

    /// # Safety
    ///
    /// `start` comes from [`huge`] with this size, and its content is not needed any more.
    pub(super) unsafe fn discard(start: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { libc::madvise(start.as_ptr().cast(), size, libc::MADV_DONTNEED) };
    }

    /// # Safety
    ///
    /// `start` comes from [`huge`] with the same layout; called once.
    pub(super) unsafe fn unmap(start: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { libc::munmap(start.as_ptr().cast(), layout.size()) };
    }
}

#[cfg(not(target_os = "linux"))]
mod map {
    use std::alloc::Layout;
    use std::ptr::NonNull;

    pub(super) fn huge(_: Layout) -> Option<NonNull<u8>> {
        None
    }

    /// # Safety
    ///
    /// Never called: nothing is mapped on this system.
    pub(super) unsafe fn discard(_: NonNull<u8>, _: usize) {}

    /// # Safety
    ///
    /// Never called: nothing is mapped on this system.
    pub(super) unsafe fn unmap(_: NonNull<u8>, _: Layout) {}
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn zeroed_and_aligned() {
        for size in [1, 64, 4096, HUGE - 1, HUGE, 2 * HUGE + 12345] {
            let pages = Pages::zeroed(size);
            assert!(pages.size() >= size);
            let align = if pages.size() >= HUGE { HUGE } else { LINE };
            assert_eq!(pages.as_ptr().addr() % align, 0);
            // SAFETY: within the allocation.
            let bytes = unsafe { std::slice::from_raw_parts_mut(pages.as_ptr(), size) };
            assert!(bytes.iter().all(|b| *b == 0));
            bytes.fill(1);
        }
        account_follows();
    }

    /// What is mapped counts once, and not while the kernel has it. Part of the one test that maps, as the account is
    /// the whole process's.
    fn account_follows() {
        let before = mapped();
        let pages = Pages::zeroed(HUGE);
        let full = before + if pages.gives_back() { HUGE } else { 0 };
        assert_eq!(mapped(), full);
        for _ in 0..2 {
            // SAFETY: nothing was written there.
            unsafe { pages.discard() };
            assert_eq!(mapped(), before);
        }
        pages.reuse();
        assert_eq!(mapped(), full);
        drop(pages);
        assert_eq!(mapped(), before);
    }
}
