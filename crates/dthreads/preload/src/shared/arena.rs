//! Blocks of the program's heap, and the arenas that they come from.
//!
//! Each slot of threads has an arena, in the segment, that its thread alone changes: no lock, and no conflict in a
//! merge. Blocks come in sizes of four steps to a power of two.
//!
//! A large block ([`LARGE`]) has whole pages of its own. When it is free its arena keeps it for the next of its size,
//! up to [`KEPT`] bytes; others are [given back](crate::shared::runs) when the token is here.
//!
//! Invariant **HOME**: a block is on a list of the arena that it came from, or on its way there. A thread that frees
//! another's block keeps it in a private list; when it passes the token it appends the list to the arena's inbox, and
//! the owner empties the inbox when it takes the token.

use std::cell::Cell;
use std::ops::Range;
use std::ptr::with_exposed_provenance_mut as at;

use fyris_dthreads_tools::record::THREADS;

use crate::shared::control::control;
use crate::shared::memory::{HEAP, PAGE};
use crate::shared::{end, runs};
use crate::system::{LOCAL, Solo, sys};

/// Bytes before each block: see [`BlockHeader`].
pub(crate) const HEADER: usize = 16;
const CLASSES: usize = 192;
/// Bytes of the largest block.
pub(crate) const MOST: usize = 1 << 40;
/// Bytes from which on a block is large.
const LARGE: usize = 256 << 10;
/// Bytes of large blocks that an arena keeps.
const KEPT: usize = 16 << 20;

/// Before what the program has.
#[repr(C)]
pub(crate) struct BlockHeader {
    /// Bytes from the block's beginning to what the program has.
    pub(crate) offset: u32,
    pub(crate) class: u16,
    pub(crate) arena: u16,
    /// A free block's next.
    pub(crate) next: usize,
}

/// One slot's.
#[repr(C)]
pub(crate) struct Arena {
    pub(crate) fresh: usize,
    pub(crate) end: usize,
    pub(crate) total: usize,
    pub(crate) free: [usize; CLASSES],
    /// Bytes of the large ones among them; and the first of those that are to be given back.
    pub(crate) kept: usize,
    returned: usize,
}

/// Blocks of others' arenas that this thread has freed.
struct Outbox {
    first: [Cell<usize>; THREADS],
    last: [Cell<usize>; THREADS],
    any: Cell<bool>,
}

static OUTBOX: Solo<Outbox> = Solo::new(Outbox {
    first: [const { Cell::new(0) }; THREADS],
    last: [const { Cell::new(0) }; THREADS],
    any: Cell::new(false),
});

/// Returns the class of blocks of at least `size` bytes.
pub(crate) fn class_of(size: usize) -> usize {
    let units = size.div_ceil(16).max(2);
    if units <= 8 {
        return units;
    }
    let power = (units - 1).ilog2();
    // Four steps between 2^power and 2^(power + 1).
    let step = (units - 1) >> (power - 2) & 3;
    8 + (power as usize - 3) * 4 + step + 1
}

/// Returns the bytes of a block of a class.
pub(crate) fn size_of_class(class: usize) -> usize {
    if class <= 8 {
        return class * 16;
    }
    let (power, step) = ((class - 9) / 4 + 3, (class - 9) % 4);
    ((1 << power) + ((step + 1) << (power - 2))) * 16
}

/// Returns the bytes of a class's blocks that are large, whole pages; 0 for other classes.
pub(crate) fn large(class: usize) -> usize {
    match size_of_class(class) {
        ..LARGE => 0,
        size => size.next_multiple_of(PAGE),
    }
}

/// Returns whether a range ends in this heap, in which it begins.
pub(crate) fn has(start: usize, len: usize) -> bool {
    let end = HEAP + control().heap.get() as usize;
    start.checked_add(len).is_some_and(|to| to <= end)
}

/// Returns whether a block is of this heap.
pub(crate) fn owns(block: usize) -> bool {
    (HEAP..HEAP + control().heap.get() as usize).contains(&block)
}

/// Returns this thread's arena.
pub(crate) fn arena() -> *mut Arena {
    at(control().thread(LOCAL.me.get()).arena.get() as usize)
}

/// Returns the bytes that a block may be used for.
///
/// # Safety
///
/// A block of [`allocate`] that was not freed.
pub(crate) unsafe fn usable(block: usize) -> usize {
    // SAFETY: the header of the block.
    let header = unsafe { &*at::<BlockHeader>(block - HEADER) };
    size_of_class(usize::from(header.class)) - header.offset as usize
}

/// Returns the pages behind a large block that it wants to have `size` bytes for the program, and its class then;
/// `None` for other blocks.
///
/// # Safety
///
/// As of [`usable`].
pub(crate) unsafe fn longer(block: usize, size: usize) -> Option<(Range<usize>, usize)> {
    // SAFETY: the header of the block.
    let header = unsafe { &*at::<BlockHeader>(block - HEADER) };
    let (len, offset) = (large(header.class.into()), header.offset as usize);
    let class = class_of(size.checked_add(offset).filter(|&size| size <= MOST)?);
    let start = block - offset;
    (len > 0).then(|| (start + len..start + large(class), class))
}

/// Gives a block the class that [`longer`] has returned: the pages behind it are its.
///
/// # Safety
///
/// As of [`usable`].
pub(crate) unsafe fn lengthen(block: usize, class: usize) {
    // SAFETY: the header of the block.
    unsafe { (*at::<BlockHeader>(block - HEADER)).class = class as u16 };
}

/// Frees a block.
///
/// # Safety
///
/// As of [`usable`]; the program does not use it any more.
pub(crate) unsafe fn free(block: usize) {
    // SAFETY: the header of the block.
    let header = unsafe { at::<BlockHeader>(block - HEADER).read() };
    let (class, home) = (usize::from(header.class), usize::from(header.arena));
    if class >= CLASSES || home >= THREADS || header.offset == 0 {
        sys::say(format_args!(
            "free of {block:#x}: not a block, or its header was overwritten"
        ));
        end::abort();
    }
    let start = block - header.offset as usize;
    if home == LOCAL.me.get() {
        // SAFETY: the block is free, and of this arena.
        unsafe { put(arena(), start, header) };
        return;
    }
    let first = &OUTBOX.first[home];
    if first.get() == 0 {
        OUTBOX.last[home].set(start);
    }
    let next = first.replace(start);
    OUTBOX.any.set(true);
    // SAFETY: the block is free, and this arena's alone.
    unsafe {
        at::<BlockHeader>(start).write(BlockHeader {
            next,
            offset: 0,
            ..header
        })
    };
}

/// Puts a free block on its list.
unsafe fn put(arena: *mut Arena, start: usize, header: BlockHeader) {
    let large = large(header.class.into());
    // SAFETY: the caller's arena and block.
    unsafe {
        let is_kept = (*arena).kept + large <= KEPT;
        let list = match large == 0 || is_kept {
            true => &raw mut (*arena).free[usize::from(header.class)],
            false => &raw mut (*arena).returned,
        };
        if is_kept {
            (*arena).kept += large;
        }
        at::<BlockHeader>(start).write(BlockHeader {
            next: *list,
            offset: 0,
            ..header
        });
        *list = start;
    }
}

/// Gives large blocks back that this thread's arena does not keep; the token is here.
pub(crate) fn give_back() {
    if !arena().is_null() {
        // SAFETY: this thread's arena.
        unsafe { give(&raw mut (*arena()).returned) };
    }
}

/// Gives all free large blocks of this thread's arena back; the token is here.
pub(crate) fn give_all_back() {
    if arena().is_null() {
        return;
    }
    // SAFETY: this thread's arena, which keeps no large blocks from now on.
    unsafe {
        for class in class_of(LARGE)..CLASSES {
            give(&raw mut (*arena()).free[class]);
        }
        (*arena()).kept = 0;
    }
}

/// Gives the large blocks of a list back.
///
/// # Safety
///
/// A list of this thread's arena.
unsafe fn give(list: *mut usize) {
    // SAFETY: the caller's list, of blocks that are free.
    unsafe {
        while *list != 0 {
            let start = *list;
            let header = at::<BlockHeader>(start).read();
            *list = header.next;
            runs::put(start..start + large(header.class.into()));
        }
    }
}

/// Hands freed blocks back to their arenas (invariant HOME); the token is here, a commit follows.
pub(crate) fn hand_back() {
    give_back();
    if !OUTBOX.any.replace(false) {
        return;
    }
    for (slot, thread) in control().used() {
        let first = OUTBOX.first[slot].replace(0);
        if first == 0 {
            continue;
        }
        // SAFETY: the last block of the list: free, and in no other.
        unsafe { (*at::<BlockHeader>(OUTBOX.last[slot].get())).next = thread.inbox.get() as usize };
        thread.inbox.set(first as u64);
    }
}

/// Takes back what others have freed (invariant HOME); the token is here, the memory up to date.
pub(crate) fn collect() {
    let inbox = &control().thread(LOCAL.me.get()).inbox;
    let mut block = inbox.get() as usize;
    inbox.set(0);
    while block != 0 {
        // SAFETY: blocks of this arena that others have freed and handed back.
        unsafe {
            let header = at::<BlockHeader>(block).read();
            let next = header.next;
            put(arena(), block, header);
            block = next;
        }
    }
    give_back();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_are_for() {
        for size in (0..100_000).chain((1..400).map(|n| n << 20)) {
            let class = class_of(size);
            assert!(class < CLASSES);
            assert!(size_of_class(class) >= size, "{size}");
            assert!(class == 2 || size_of_class(class - 1) < size, "{size}");
            assert_eq!(large(class) > 0, class >= class_of(LARGE));
        }
    }

    #[test]
    fn at_most_a_quarter_is_lost() {
        for size in 200..100_000 {
            assert!(size_of_class(class_of(size)) <= size + size / 4 + 16);
        }
    }
}
