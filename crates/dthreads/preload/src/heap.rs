//! The program's heap: in the segment, the same addresses in every run.
//!
//! Each slot of threads has an arena, in the segment, that its thread alone changes: no lock, and no conflict in a
//! merge. Blocks come in sizes of four steps to a power of two, from the arena's run of fresh memory or from its list
//! of free ones of that size. Runs are taken from the segment's end in turns, each half as long as the arena so far, so
//! an arena of n bytes waits for the token O(log n) times.
//!
//! Invariant **HOME**: a block is on a list of the arena that it came from, or on its way there. A thread that frees
//! another's block keeps it in a private list; when it passes the token it appends the list to the arena's inbox, and
//! the owner empties the inbox when it takes the token.

use std::cell::Cell;
use std::ptr::{self, with_exposed_provenance_mut as at};

use fyris_dthreads_tools::record::{Operation, THREADS};

use crate::control::control;
use crate::local::{LOCAL, Solo};
use crate::memory::{self, HEAP};
use crate::stack::apart;
use crate::{site, sys, token};

/// The process has said that the heap is full.
static TOLD: Solo<Cell<bool>> = Solo::new(Cell::new(false));

/// Bytes before each block: see [`Header`].
const HEADER: usize = 16;
const CLASSES: usize = 192;
/// The least and the most that an arena takes at a time, unless a block needs more.
const LEAST: usize = 256 << 10;
const MOST: usize = 16 << 20;
const PAGE: usize = 4096;

/// Before what the program has.
#[repr(C)]
struct Header {
    /// Bytes from the block's beginning to what the program has.
    offset: u32,
    class: u16,
    arena: u16,
    /// A free block's next.
    next: usize,
}

/// One slot's.
#[repr(C)]
struct Arena {
    fresh: usize,
    end: usize,
    total: usize,
    free: [usize; CLASSES],
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
fn class_of(size: usize) -> usize {
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
fn size_of_class(class: usize) -> usize {
    if class <= 8 {
        return class * 16;
    }
    let (power, step) = ((class - 9) / 4 + 3, (class - 9) % 4);
    ((1 << power) + ((step + 1) << (power - 2))) * 16
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
fn arena() -> *mut Arena {
    at(control().thread(LOCAL.me.get()).arena.get() as usize)
}

/// Returns a block of zeros or of what was there, and whether it is fresh (zeros); null if there is no memory.
pub(crate) fn allocate(size: usize, align: usize) -> (*mut u8, bool) {
    let align = align.max(HEADER);
    let extra = if align > HEADER { align } else { 0 };
    let Some(wanted) = size.checked_add(HEADER + extra).filter(|&n| n <= 1 << 40) else {
        return (ptr::null_mut(), false);
    };
    let class = class_of(wanted);
    let Some((block, fresh)) = take(class) else {
        return (ptr::null_mut(), false);
    };
    let start = (block + HEADER).next_multiple_of(align);
    // SAFETY: within the block, which is this thread's now.
    unsafe {
        at::<Header>(start - HEADER).write(Header {
            offset: (start - block) as u32,
            class: class as u16,
            arena: LOCAL.me.get() as u16,
            next: 0,
        });
    }
    (at(start), fresh)
}

/// Takes a block of a class, and says whether it is fresh.
fn take(class: usize) -> Option<(usize, bool)> {
    let arena = match arena() {
        arena if arena.is_null() => make()?,
        arena => arena,
    };
    let size = size_of_class(class);
    // SAFETY: this thread's arena, which it alone changes; free blocks have headers.
    unsafe {
        let list = &raw mut (*arena).free[class];
        if *list != 0 {
            let block = *list;
            *list = (*at::<Header>(block)).next;
            return Some((block, false));
        }
        if (*arena).end - (*arena).fresh < size {
            let total = (*arena).total;
            // A large block has memory of its own: the run would be wasted for it.
            if size >= LEAST {
                let len = size.next_multiple_of(PAGE);
                let block = in_turn(len, pages_in_turn)?;
                (*arena).total += len;
                return Some((block, true));
            }
            let long = (total / 2).clamp(LEAST, MOST).next_multiple_of(LEAST);
            let (run, len) = match in_turn(long, grow) {
                Some(run) => (run, long),
                // The rest of the heap may be shorter.
                None => (in_turn(LEAST, pages_in_turn)?, LEAST),
            };
            (*arena).total += len;
            if run != (*arena).end {
                (*arena).fresh = run;
            }
            (*arena).end = run + len;
        }
        let block = (*arena).fresh;
        (*arena).fresh += size;
        Some((block, true))
    }
}

/// Makes this thread's arena.
fn make() -> Option<*mut Arena> {
    let start = in_turn(LEAST, pages_in_turn)?;
    control().thread(LOCAL.me.get()).arena.set(start as u64);
    let arena: *mut Arena = at(start);
    // SAFETY: fresh memory, zeros, that is this thread's.
    unsafe {
        (*arena).fresh = start + size_of::<Arena>().next_multiple_of(16);
        (*arena).end = start + LEAST;
        (*arena).total = LEAST;
    }
    Some(arena)
}

/// Takes `len` bytes by [`pages_in_turn`] or [`grow`], in a turn of its own.
fn in_turn(len: usize, take: fn(usize) -> Option<usize>) -> Option<usize> {
    apart(|| {
        let before = site::get();
        site::set(0);
        let turn = token::take(Operation::Heap, len as u64);
        let start = take(len);
        turn.pass();
        site::set(before);
        start
    })
}

/// Takes `len` bytes, whole pages, from the segment's end, and says so if the heap may not be as long. The token is
/// here.
pub(crate) fn pages_in_turn(len: usize) -> Option<usize> {
    let start = grow(len);
    // A program may ask for less and less until it gets it.
    if start.is_none() && !TOLD.replace(true) {
        let in_use = control().heap.get();
        sys::say(format_args!(
            "the heap is full: {in_use} bytes in use, {len} more wanted (see --heap)"
        ));
    }
    start
}

/// Takes `len` bytes, whole pages, from the segment's end. The token is here.
fn grow(len: usize) -> Option<usize> {
    let heap = &control().heap;
    let start = heap.get() as usize;
    if !memory::grow(start + len) {
        return None;
    }
    heap.set((start + len) as u64);
    Some(HEAP + start)
}

/// Returns the bytes that a block may be used for.
///
/// # Safety
///
/// A block of [`allocate`] that was not freed.
pub(crate) unsafe fn usable(block: usize) -> usize {
    // SAFETY: the header of the block.
    let header = unsafe { &*at::<Header>(block - HEADER) };
    size_of_class(usize::from(header.class)) - header.offset as usize
}

/// Notes that a block in use is a mapping of `len` bytes.
///
/// # Safety
///
/// A block of [`allocate`] that was not freed.
pub(crate) unsafe fn set_mapped(block: usize, len: usize) {
    // SAFETY: the header of the block, whose link is unused meanwhile.
    unsafe { (*at::<Header>(block - HEADER)).next = len };
}

/// Returns whether a mapping of `len` bytes begins at `start`.
///
/// # Safety
///
/// `start` is in the heap.
pub(crate) unsafe fn is_mapped(start: usize, len: usize) -> bool {
    if !start.is_multiple_of(PAGE) || start <= HEAP {
        return false;
    }
    // SAFETY: memory of the heap; whether it is a header is looked at.
    let header = unsafe { at::<Header>(start - HEADER).read() };
    let class = usize::from(header.class);
    header.offset != 0 && class < CLASSES && header.next == len
}

/// Frees a block.
///
/// # Safety
///
/// As of [`usable`]; the program does not use it any more.
pub(crate) unsafe fn free(block: usize) {
    // SAFETY: the header of the block.
    let header = unsafe { at::<Header>(block - HEADER).read() };
    let (class, home) = (usize::from(header.class), usize::from(header.arena));
    if class >= CLASSES || home >= THREADS || header.offset == 0 {
        sys::say(format_args!(
            "free of {block:#x}: not a block, or its header was overwritten"
        ));
        crate::process::abort();
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
        at::<Header>(start).write(Header {
            next,
            offset: 0,
            ..header
        })
    };
}

/// Puts a free block on its list.
unsafe fn put(arena: *mut Arena, start: usize, header: Header) {
    // SAFETY: the caller's arena and block.
    unsafe {
        let list = &raw mut (*arena).free[usize::from(header.class)];
        at::<Header>(start).write(Header {
            next: *list,
            offset: 0,
            ..header
        });
        *list = start;
    }
}

/// Hands freed blocks back to their arenas (invariant HOME); the token is here, a commit follows.
pub(crate) fn hand_back() {
    if !OUTBOX.any.replace(false) {
        return;
    }
    for (slot, thread) in control().used() {
        let first = OUTBOX.first[slot].replace(0);
        if first == 0 {
            continue;
        }
        // SAFETY: the last block of the list: free, and in no other.
        unsafe { (*at::<Header>(OUTBOX.last[slot].get())).next = thread.inbox.get() as usize };
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
            let header = at::<Header>(block).read();
            let next = header.next;
            put(arena(), block, header);
            block = next;
        }
    }
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
        }
    }

    #[test]
    fn at_most_a_quarter_is_lost() {
        for size in 200..100_000 {
            assert!(size_of_class(class_of(size)) <= size + size / 4 + 16);
        }
    }
}
