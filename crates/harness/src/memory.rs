//! The memory of the process: what the allocator has handed out, and what the kernel says.

use std::ffi::c_void;

use libmimalloc_sys as mi;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// mimalloc's `mi_option_purge_delay`: milliseconds until free pages go back to the kernel; -1: never.
const PURGE_DELAY: mi::mi_option_t = 15;

unsafe extern "C" {
    /// The heap that all threads of the process allocate from (mimalloc 3).
    safe fn mi_heap_main() -> *mut mi::mi_heap_t;

    /// Gives the allocator memory to use before it asks the kernel (mimalloc 3).
    fn mi_manage_os_memory(
        start: *mut c_void,
        size: usize,
        committed: bool,
        pinned: bool,
        zero: bool,
        numa_node: i32,
    ) -> bool;
}

/// Gives the allocator `bytes` that the kernel has already backed, and tells it to keep what
/// is freed: so that page faults, which cost as much as a hundred operations and hit the first to come, stay
/// out of the times. For all subjects alike.
pub(crate) fn make_ready(bytes: usize) {
    let (prot, flags) = (
        ProtFlags::READ | ProtFlags::WRITE,
        MapFlags::PRIVATE | MapFlags::POPULATE,
    );
    // SAFETY: an anonymous mapping at an address of the kernel's choice; it is never unmapped, and
    // only mimalloc is told of it.
    unsafe {
        mi::mi_option_set(PURGE_DELAY, -1);
        if let Ok(start) = mmap_anonymous(std::ptr::null_mut(), bytes, prot, flags) {
            mi_manage_os_memory(start, bytes, true, true, true, -1);
        }
    }
}

/// Returns the number of bytes in live blocks of the process, each at its size class, less what
/// `fyris_sync::alloc::Pages` gave back. Retired blocks that no thread can reach are freed before: a thread keeps some
/// hundred of them until it hands them in together, which is as much as all of a small table.
pub fn allocated() -> usize {
    unsafe extern "C" fn visit(
        _heap: *const mi::mi_heap_t,
        area: *const mi::mi_heap_area_t,
        _block: *mut c_void,
        _block_size: usize,
        total: *mut c_void,
    ) -> bool {
        // SAFETY: mimalloc passes a valid area, and `total` is the pointer handed in below.
        unsafe { *total.cast::<usize>() += (*area).used * (*area).full_block_size };
        true
    }
    let mut total = 0usize;
    let to = (&raw mut total).cast();
    fyris_sync::reclaim::flush();
    // SAFETY: no other thread allocates or frees while the child measures; `visit` keeps `to` to itself.
    unsafe {
        mi::mi_collect(true);
        mi::mi_heap_visit_blocks(mi_heap_main(), false, Some(visit), to);
    }
    total - fyris_sync::alloc::given_back()
}

/// Returns the number of bytes resident, by the kernel's account; 0 where there is no `/proc`.
pub fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = statm
        .split_whitespace()
        .nth(1)
        .and_then(|field| field.parse().ok())
        .unwrap_or(0);
    pages * rustix::param::page_size()
}
