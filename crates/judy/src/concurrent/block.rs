//! Blocks of memory: allocated, freed at once, or retired.

use std::ptr::NonNull;

use fyris_sync::alloc;
use fyris_sync::atomic::AtomicU64;
use fyris_sync::reclaim::{Guard, LocalGuard, Retire};

/// A word of a block. In a model it is larger than a word: blocks are counted in cells.
pub(super) type Cell = AtomicU64;

/// The bytes from which on a block is weighed when it is retired.
const LARGE: usize = 256;

/// A block of `CELLS` cells.
struct Block<const CELLS: usize>([Cell; CELLS]);

impl<const CELLS: usize> Retire for Block<CELLS> {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: the caller's contract; `retire` has named the size that the block was allocated with.
        unsafe { free(ptr.cast(), CELLS) }
    }
}

/// Blocks and nodes that are allocated and not freed, of all maps.
#[cfg(test)]
pub(super) static LIVE: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(0);

/// Counts a block that comes or goes.
#[inline(always)]
fn note(_more: i64) {
    #[cfg(test)]
    // Relaxed: a count; nothing is read because of it.
    LIVE.fetch_add(_more, std::sync::atomic::Ordering::Relaxed);
}

/// Allocates a block of `cells` cells, not initialised.
#[inline]
pub(super) fn allocate(cells: usize) -> *mut Cell {
    note(1);
    alloc::allocate(cells * size_of::<Cell>()).as_ptr().cast()
}

/// Frees a block.
///
/// # Safety
///
/// `block` comes from [`allocate`] of as many cells, only the caller can still reach it, and it is freed once.
#[inline]
unsafe fn free(block: *mut Cell, cells: usize) {
    note(-1);
    // SAFETY: the caller's contract; a block is not at address zero.
    unsafe {
        alloc::free(
            NonNull::new_unchecked(block.cast()),
            cells * size_of::<Cell>(),
        )
    }
}

/// Frees a block of at most 64 cells: once no thread looks at it any more, or at once if there is no pin.
///
/// # Safety
///
/// `block` comes from [`allocate`] of as many cells, is unreachable for threads that pin from now on (for all but the
/// caller if there is no pin), and is put away once.
#[inline]
pub(super) unsafe fn put_away(block: *mut Cell, cells: usize, pin: Option<&LocalGuard>) {
    macro_rules! by_size {
        ($pin:ident: $($n:literal)*) => {
            match cells {
                // SAFETY: the caller's contract.
                $($n => unsafe { $pin.retire(block.cast::<Block<$n>>()) },)*
                _ => unreachable!("no block has {cells} cells"),
            }
        };
    }
    let Some(pin) = pin else {
        // SAFETY: the caller's contract.
        return unsafe { free(block, cells) };
    };
    if cells * 8 >= LARGE {
        pin.weigh(cells * 8);
    }
    by_size!(pin: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 24 32 40 48 64);
}

/// Allocates a node, not initialised.
pub(super) fn allocate_node<T>() -> *mut T {
    const { assert!(align_of::<T>() <= 8) };
    note(1);
    alloc::allocate(size_of::<T>()).as_ptr().cast()
}

/// Allocates a node and writes it.
pub(super) fn make<T>(node: T) -> *mut T {
    let at = allocate_node::<T>();
    // SAFETY: a new block of its size, at an address that is a multiple of 8.
    unsafe { at.write(node) };
    at
}

/// A node, which is freed as what it is.
struct NodeBlock<T>(T);

impl<T> Retire for NodeBlock<T> {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: the caller's contract.
        unsafe { free_node(ptr) }
    }
}

/// Frees a node.
///
/// # Safety
///
/// Only the caller can still reach `node`, and it is freed once.
unsafe fn free_node<T>(node: *mut T) {
    note(-1);
    // SAFETY: the caller's contract; cells have no drop of their own.
    unsafe { alloc::free(NonNull::new_unchecked(node.cast()), size_of::<T>()) }
}

/// Frees what [`make`] or [`allocate_node`] made: once no thread looks at it any more, or at once if there is no pin.
///
/// # Safety
///
/// `node` comes from [`make`] or [`allocate_node`], is unreachable for threads that pin from now on (for all but the
/// caller if there is no pin), and is put away once.
pub(super) unsafe fn put_away_node<T>(node: *mut T, pin: Option<&LocalGuard>) {
    let Some(pin) = pin else {
        // SAFETY: the caller's contract.
        return unsafe { free_node(node) };
    };
    if size_of::<T>() >= LARGE {
        pin.weigh(size_of::<T>());
    }
    // SAFETY: the caller's contract.
    unsafe { pin.retire(node.cast::<NodeBlock<T>>()) }
}
