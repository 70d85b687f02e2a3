//! The program's heap: in the segment, the same addresses in every run.
//!
//! Blocks come from the arena's list of free ones of their size, or from its run of fresh memory. Runs are taken from
//! the segment's end in turns, each half as long as the arena so far, so an arena of n bytes waits for the token
//! O(log n) times.

use std::cell::Cell;
use std::ptr::{self, with_exposed_provenance_mut as at};

use fyris_dthreads_tools::record::Operation;

use crate::shared::arena::{Arena, BlockHeader, HEADER, arena, class_of, size_of_class};
use crate::shared::control::control;
use crate::shared::memory::{self, PAGE};
use crate::system::{LOCAL, Solo, site, sys};
use crate::turn::token;

/// The process has said that the heap is full.
static TOLD: Solo<Cell<bool>> = Solo::new(Cell::new(false));

/// The least and the most that an arena takes at a time, unless a block needs more.
const LEAST: usize = 256 << 10;
const MOST: usize = 16 << 20;

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
        at::<BlockHeader>(start - HEADER).write(BlockHeader {
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
            *list = (*at::<BlockHeader>(block)).next;
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
    let before = site::get();
    site::set(0);
    let start = token::in_turn(Operation::Heap, len as u64, |_| take(len));
    site::set(before);
    start
}

/// Takes `len` bytes, whole pages, from the segment's end, and says so if the heap may not be as long. The token is
/// here.
fn pages_in_turn(len: usize) -> Option<usize> {
    grow(len).or_else(|| say_full(len))
}

/// Says that `len` bytes are not there. A program may ask for less and less until it gets it.
pub(crate) fn say_full<T>(len: usize) -> Option<T> {
    if !TOLD.replace(true) {
        let in_use = in_use();
        sys::say(format_args!(
            "the heap is full: {in_use} bytes in use, {len} more wanted (see --heap)"
        ));
    }
    None
}

/// Returns whether the heap may have `len` bytes more, whole pages; false for none.
pub(crate) fn has_room(len: usize) -> bool {
    let room = || control().heap_limit.get().saturating_sub(in_use());
    let has = token::in_turn(Operation::Heap, len as u64, |_| room());
    // A block is up to a quarter larger.
    len > 0 && (len + len / 4 + 2 * LEAST) as u64 <= has
}

/// Returns the bytes of the heap that are not stacks.
fn in_use() -> u64 {
    control().heap.get() - control().stacks.get()
}

/// Takes `len` bytes, whole pages, from the segment's end. The token is here.
fn grow(len: usize) -> Option<usize> {
    let is_room = in_use() + len as u64 <= control().heap_limit.get();
    is_room.then(|| memory::take(len)).flatten()
}
