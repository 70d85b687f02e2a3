//! The program's heap: in the segment, the same addresses in every run.
//!
//! Blocks come from the arena's list of free ones of their size, or from its run of fresh memory. Runs are taken from
//! the segment's end in turns, each half as long as the arena so far, so an arena of n bytes waits for the token
//! O(log n) times. Large blocks and mappings have pages of their own, the first free ones that suffice.

use std::cell::Cell;
use std::ops::Range;
use std::ptr::{self, with_exposed_provenance_mut as at};

use fyris_dthreads_tools::record::Operation;

use crate::shared::arena::{self, Arena, BlockHeader, HEADER, arena, class_of, size_of_class};
use crate::shared::control::control;
use crate::shared::memory::{self, PAGE};
use crate::shared::runs;
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
    let Some(wanted) = size
        .checked_add(HEADER + extra)
        .filter(|&n| n <= arena::MOST)
    else {
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
    let (size, large) = (size_of_class(class), arena::large(class));
    // SAFETY: this thread's arena, which it alone changes; free blocks have headers.
    unsafe {
        let list = &raw mut (*arena).free[class];
        if *list != 0 {
            let block = *list;
            *list = (*at::<BlockHeader>(block)).next;
            (*arena).kept -= large;
            return Some((block, false));
        }
        if (*arena).end - (*arena).fresh < size {
            let total = (*arena).total;
            // A large block has memory of its own: the run would be wasted for it.
            if large > 0 {
                let pages = in_turn(large, pages)?;
                return Some((pages.start, pages.fresh <= pages.start));
            }
            let long = (total / 2).clamp(LEAST, MOST).next_multiple_of(LEAST);
            let (run, len) = match in_turn(long, grow) {
                Some(run) => (run, long),
                // The rest of the heap may be shorter.
                None => (in_turn(LEAST, last_pages)?, LEAST),
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
    let start = in_turn(LEAST, last_pages)?;
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

/// Pages that were taken: where they begin, and from where on they are zeros.
pub(crate) struct Pages {
    pub(crate) start: usize,
    fresh: usize,
}

impl Pages {
    /// Makes those zeros that are not.
    pub(crate) fn clear(&self, len: usize) {
        // SAFETY: pages that are taken, and not in use yet.
        unsafe { clear(self.start..self.fresh.min(self.start + len)) };
    }
}

/// Makes whole pages zeros. One that is zeros already is not written, so it is not committed.
///
/// # Safety
///
/// Pages that may be written.
pub(crate) unsafe fn clear(pages: Range<usize>) {
    for page in pages.step_by(PAGE) {
        // SAFETY: as the caller promises.
        let words = unsafe { std::slice::from_raw_parts_mut(at::<u64>(page), PAGE / 8) };
        if words.iter().any(|&word| word != 0) {
            words.fill(0);
        }
    }
}

/// Does the `work` for `len` bytes in a turn of its own.
pub(crate) fn in_turn<R>(len: usize, work: impl FnOnce(usize) -> R) -> R {
    let before = site::get();
    site::set(0);
    let result = token::in_turn(Operation::Heap, len as u64, |_| work(len));
    site::set(before);
    result
}

/// Takes `len` bytes, whole pages, free ones or at the segment's end, and says so if the heap may not be as long. The
/// token is here.
pub(crate) fn pages(len: usize) -> Option<Pages> {
    let taken = of_all(|| {
        let start = runs::find(len).unwrap_or_else(|| runs::start_of_end(memory::end()));
        extend(start, len)
    });
    taken.or_else(|| say_full(len))
}

/// Takes `len` bytes from `start` on. The token is here.
pub(crate) fn pages_at(start: usize, len: usize) -> Option<Pages> {
    of_all(|| extend(start, len))
}

/// Takes pages; if they are not free, again when this thread's arena has given back all it can.
fn of_all(take: impl Fn() -> Option<Pages>) -> Option<Pages> {
    arena::give_back();
    let again = || {
        arena::give_all_back();
        take()
    };
    take().or_else(again)
}

/// Takes `len` bytes from `start` on, where free pages or the segment's end are; `None` if they are not free.
fn extend(start: usize, len: usize) -> Option<Pages> {
    let fresh = start + runs::len_at(start);
    if fresh < start + len {
        grow((fresh == memory::end()).then_some(start + len - fresh)?)?;
    }
    runs::cut(start..start + len);
    Some(Pages { start, fresh })
}

/// Takes `len` bytes, whole pages, of zeros for small blocks: at the segment's end; where that cannot be, free ones.
fn last_pages(len: usize) -> Option<usize> {
    grow(len).or_else(|| {
        let pages = pages(len)?;
        pages.clear(len);
        Some(pages.start)
    })
}

/// Says that `len` bytes are not there. A program may ask for less and less until it gets it.
pub(crate) fn say_full<T>(len: usize) -> Option<T> {
    if !TOLD.replace(true) {
        let in_use = length() - runs::bytes() as u64;
        sys::say(format_args!(
            "the heap is full: {in_use} bytes in use, {len} more wanted (see --heap)"
        ));
    }
    None
}

/// Returns whether the heap may have `len` bytes more, whole pages; false for none.
pub(crate) fn has_room(len: usize) -> bool {
    let has = |len| {
        let room = || control().heap_limit.get().saturating_sub(length());
        runs::find(len).is_some() || len as u64 <= room()
    };
    len > 0 && in_turn(len, has)
}

/// Returns the bytes of the heap that are not stacks.
fn length() -> u64 {
    control().heap.get() - control().stacks.get()
}

/// Takes `len` bytes, whole pages, from the segment's end. The token is here.
fn grow(len: usize) -> Option<usize> {
    let is_room = length() + len as u64 <= control().heap_limit.get();
    is_room.then(|| memory::take(len)).flatten()
}
