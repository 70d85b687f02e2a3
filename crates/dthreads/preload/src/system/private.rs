//! Memory of the library itself: private to each process, inherited by its forks.
//!
//! Not the program's: what the library allocates must not be seen by other threads, and must not move the program's
//! blocks. Blocks of powers of two from one reserved range, a list of free ones for each power; no lock (invariant
//! ONE).

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr;

use crate::system::local::Solo;
use crate::system::sys;

/// The range, far from where the kernel maps.
const START: usize = 0x1000_0000_0000;
const LEN: usize = 16 << 30;
/// Before each block: the power of two that it was made for.
const HEADER: usize = 16;
const SMALLEST: u32 = 5;
const PAGE: usize = 4096;
/// Bytes from which on a block is cleared by the kernel.
const LONG: usize = 64 << 10;

struct Heap {
    next: Cell<usize>,
    free: [Cell<usize>; 64],
}

static HEAP: Solo<Heap> = Solo::new(Heap {
    next: Cell::new(0),
    free: [const { Cell::new(0) }; 64],
});

/// The global allocator of this library.
pub(crate) struct Private;

#[global_allocator]
#[cfg(not(test))]
static ALLOCATOR: Private = Private;

/// Returns whether a block is one of these.
pub(crate) fn owns(block: *const u8) -> bool {
    (START..START + LEN).contains(&block.addr())
}

/// Returns a block, or null. `align` is a power of two.
pub(crate) fn allocate(size: usize, align: usize) -> *mut u8 {
    allocate_fresh(size, align).0
}

/// Returns a block, or null, and whether it has never been used, and so is zeros.
fn allocate_fresh(size: usize, align: usize) -> (*mut u8, bool) {
    let wanted = size.checked_add(HEADER + align.max(HEADER));
    let Some(wanted) = wanted.filter(|&wanted| wanted <= LEN) else {
        return (ptr::null_mut(), false);
    };
    let power = wanted.next_power_of_two().trailing_zeros().max(SMALLEST);
    let Some((block, fresh)) = take(power) else {
        return (ptr::null_mut(), false);
    };
    let start = (block + HEADER).next_multiple_of(align.max(HEADER));
    let header = ptr::with_exposed_provenance_mut::<u64>(start - HEADER);
    // SAFETY: within the block just taken, aligned to 16.
    unsafe {
        header.write(u64::from(power));
        header.add(1).write((start - block) as u64);
    }
    (ptr::with_exposed_provenance_mut(start), fresh)
}

/// Takes a block of a power of two from its list or, fresh, from the range.
fn take(power: u32) -> Option<(usize, bool)> {
    let list = &HEAP.free[power as usize];
    let first = list.get();
    if first != 0 {
        // SAFETY: a free block holds the address of the next in its first word.
        list.set(unsafe { ptr::with_exposed_provenance::<usize>(first).read() });
        return Some((first, false));
    }
    if HEAP.next.get() == 0 {
        if !sys::map_fixed(START, LEN) {
            return None;
        }
        HEAP.next.set(START);
    }
    let block = HEAP.next.get();
    match block + (1 << power) <= START + LEN {
        true => {
            HEAP.next.set(block + (1 << power));
            Some((block, true))
        }
        false => None,
    }
}

/// Makes a block zeros. What a long one has is given back to the kernel: a new process would copy it first.
unsafe fn clear(block: *mut u8, len: usize) {
    let pages = block.addr().next_multiple_of(PAGE)..(block.addr() + len) & !(PAGE - 1);
    // SAFETY: the caller's block, of whose pages none is in another block.
    unsafe {
        if len < LONG || !sys::drop_pages(pages.clone()) {
            return block.write_bytes(0, len);
        }
        block.write_bytes(0, pages.start - block.addr());
        let end = pages.end - block.addr();
        block.add(end).write_bytes(0, len - end);
    }
}

/// Returns the size that a block may be used for.
///
/// # Safety
///
/// `block` is of [`allocate`] and was not freed.
pub(crate) unsafe fn usable(block: *const u8) -> usize {
    // SAFETY: the header that `allocate` wrote.
    let (power, offset) = unsafe {
        let header = block.sub(HEADER).cast::<u64>();
        (header.read(), header.add(1).read() as usize)
    };
    (1 << power) - offset
}

/// Frees a block.
///
/// # Safety
///
/// As of [`usable`]; it is not used any more.
pub(crate) unsafe fn free(block: *mut u8) {
    // SAFETY: the header that `allocate` wrote.
    let (power, offset) = unsafe {
        let header = block.sub(HEADER).cast::<u64>();
        (header.read(), header.add(1).read() as usize)
    };
    let start = block.addr() - offset;
    let list = &HEAP.free[power as usize];
    // SAFETY: the block is free and holds at least 32 bytes.
    unsafe { ptr::with_exposed_provenance_mut::<usize>(start).write(list.get()) };
    list.set(start);
}

// SAFETY: blocks are apart, as large and aligned as asked for, and stay until freed.
unsafe impl GlobalAlloc for Private {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocate(layout.size(), layout.align())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (block, fresh) = allocate_fresh(layout.size(), layout.align());
        if !block.is_null() && !fresh {
            // SAFETY: a block of this size.
            unsafe { clear(block, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller's block is of `alloc`.
        unsafe { free(block) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_apart_and_used_again() {
        let blocks: Vec<_> = (0..100).map(|n| allocate(n * 7, 1 << (n % 13))).collect();
        for (n, &block) in blocks.iter().enumerate() {
            assert!(owns(block) && block.addr().is_multiple_of(1 << (n % 13)));
            // SAFETY: a block of `allocate`.
            unsafe {
                assert!(usable(block) >= n * 7);
                block.write_bytes(n as u8, n * 7);
            }
        }
        for (n, &block) in blocks.iter().enumerate() {
            // SAFETY: as above.
            let bytes = unsafe { std::slice::from_raw_parts(block, n * 7) };
            assert!(bytes.iter().all(|&byte| byte == n as u8));
        }
        // SAFETY: as above, used no more.
        unsafe { free(blocks[13]) };
        assert_eq!(allocate(63, 16), blocks[13]);
        assert!(allocate(usize::MAX - 3, 16).is_null());
    }
}
