//! `mmap` and its kin: anonymous memory is the heap's, what else is mapped is each process's own. The rights that
//! `mprotect` gives to the heap's pages are those of all threads.
//!
//! Also what may not be written yet: a reservation gets its rights by `mprotect`, or its memory by `MAP_FIXED`. One
//! that the heap has no room for is the process's own; if it is written to, or memory is mapped at an address of the
//! program's choice outside of the heap, threads would not share it. So a program that does so has no threads.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::ptr;

use libc::{EEXIST, EINVAL, ENOMEM, ENOTSUP};

use crate::calls::heap;
use crate::shared::control::changed;
use crate::shared::memory::{LATER, PAGE};
use crate::shared::{arena, end, memory, own_maps, rights, runs, stacks};
use crate::system::sys::{self, fail, set_error};
use crate::system::{LOCAL, Solo, Stage, image, real};

/// Reservations that are remembered.
const RESERVATIONS: usize = 256;

/// The process's own reservations; empty ones are free.
static RESERVED: Solo<[Cell<[usize; 2]>; RESERVATIONS]> =
    Solo::new([const { Cell::new([0; 2]) }; RESERVATIONS]);
/// Memory that threads would not share, and the call that has made it.
static UNSHARED: Solo<Cell<Option<(usize, &str)>>> = Solo::new(Cell::new(None));
/// This process has created a thread, or is one.
static HAS_THREADS: Solo<Cell<bool>> = Solo::new(Cell::new(false));

/// Notes that there are threads from now on; ends the program if it has memory that they would not share.
pub(crate) fn begin_threads() {
    HAS_THREADS.set(true);
    if let Some((address, call)) = UNSHARED.get() {
        sys::say(format_args!(
            "threads would not share the memory at {address:#x} ({call}): not supported. A reservation that fits into \
             the heap is shared (see --heap)"
        ));
        end::end(sys::REFUSED);
    }
}

/// Shares the globals of libraries that this process has loaded, before it creates a thread. Returns whether it has
/// loaded any since the last time. The token is here.
pub(crate) fn share_libraries() -> bool {
    static SEEN: Solo<Cell<u64>> = Solo::new(Cell::new(0));
    let loads = image::loads();
    if SEEN.replace(loads) == loads {
        return false;
    }
    match memory::share(&image::globals()) {
        Some(0) => (),
        Some(_) => image::keep_loaded(),
        None => {
            sys::say(format_args!(
                "libraries that the program has loaded have more than {LATER} bytes of variables, which threads would \
                 not share: not supported"
            ));
            end::end(sys::REFUSED);
        }
    }
    true
}

/// Notes memory that is this thread's alone, if there are others.
pub(crate) fn note_own(memory: &Range<usize>) {
    if HAS_THREADS.get() {
        own_maps::note(memory, 0);
    }
}

/// Notes a library that this thread has loaded, beside others: those have none of it, but if they load it themselves.
pub(crate) fn note_library(library: *mut c_void) {
    let Some((memory, name)) = image::memory_of(library).filter(|_| HAS_THREADS.get()) else {
        return;
    };
    // The same in each process, and not 0.
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let number = hasher.finish() | 1;
    own_maps::note(&memory, number);
    if let Some(other) = own_maps::loader(number) {
        sys::say(format_args!(
            "thread {} and thread {other} have each loaded {name:?} when there were others: they do not share its \
             variables. A library that is loaded before threads are created is shared",
            LOCAL.me.get()
        ));
    }
}

/// Notes memory that threads do not share.
fn note_unshared(address: usize, call: &'static str) {
    UNSHARED.set(Some((address, call)));
    if HAS_THREADS.get() {
        begin_threads();
    }
}

/// Remembers a reservation of this process.
fn reserve(range: Range<usize>) {
    let free = RESERVED.iter().find(|place| place.get() == [0; 2]);
    match free {
        Some(place) => place.set([range.start, range.end]),
        None => note_unshared(range.start, "one of many reservations"),
    }
}

/// Returns the reservations that share bytes with a range.
fn reserved(range: Range<usize>) -> impl Iterator<Item = &'static Cell<[usize; 2]>> {
    let within = move |place: &&Cell<[usize; 2]>| {
        let [start, end] = place.get();
        start < range.end && range.start < end
    };
    RESERVED.iter().filter(within)
}

/// Returns whether a call comes from the program, at its end too: the heap is the segment's then as before.
fn is_program() -> bool {
    !LOCAL.is_inside() && LOCAL.stage.get() != Stage::Off
}

/// Returns a length in whole pages; 0 for one that is too long.
fn whole_pages(len: usize) -> usize {
    len.checked_next_multiple_of(PAGE).unwrap_or(0)
}

/// Maps whole pages of the heap, zeros.
fn map(len: usize) -> *mut c_void {
    let len = Some(whole_pages(len)).filter(|&len| len > 0 && len <= arena::MOST);
    let pages = len.and_then(|len| heap::in_turn(len, heap::pages));
    let (Some(len), Some(pages)) = (len, pages) else {
        set_error(ENOMEM);
        return libc::MAP_FAILED;
    };
    pages.clear(len);
    ptr::with_exposed_provenance_mut(pages.start)
}

/// Returns the whole pages of a range of the heap that a call names.
fn pages_of(at: *mut c_void, len: usize) -> Option<Range<usize>> {
    let (start, len) = (at.addr(), whole_pages(len));
    let is_good = len > 0 && start.is_multiple_of(PAGE) && arena::has(start, len);
    is_good.then(|| start..start + len)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn mmap(
    at: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    let (is_fixed, is_new) = (flags & FIXED != 0, flags & libc::MAP_ANONYMOUS != 0);
    let is_written = is_new && protection & libc::PROT_WRITE != 0;
    let is_code = protection & libc::PROT_EXEC != 0;
    if is_program() && len > 0 {
        if is_fixed && arena::owns(at.addr()) {
            // SAFETY: as the caller promises.
            return unsafe { map_over(at, len, flags, file, offset) };
        }
        let is_heap = is_new && !is_fixed;
        if is_heap && (is_written || heap::has_room(whole_pages(len))) {
            let start = map(len);
            if is_code && start != libc::MAP_FAILED {
                set_rights(&(start.addr()..start.addr() + whole_pages(len)), protection);
            }
            return start;
        }
        if is_fixed && is_written {
            note_unshared(at.addr(), "mmap with MAP_FIXED");
        }
        changed();
    }
    // SAFETY: as the caller promises.
    unsafe {
        match libc::syscall(libc::SYS_mmap, at, len, protection, flags, file, offset) {
            -1 => libc::MAP_FAILED,
            address => {
                let start = address as usize;
                if is_program() && is_new && !is_fixed && !is_written {
                    reserve(start..start + len);
                }
                if is_program() && !is_new {
                    note_own(&(start..start + len));
                }
                ptr::with_exposed_provenance_mut(start)
            }
        }
    }
}

const FIXED: c_int = libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE;

/// Maps over a part of the heap: zeros, or what a file has.
unsafe fn map_over(
    at: *mut c_void,
    len: usize,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    let is_file = flags & libc::MAP_ANONYMOUS == 0;
    let wrong = match () {
        () if !at.addr().is_multiple_of(PAGE) => Some(EINVAL),
        () if flags & libc::MAP_FIXED_NOREPLACE == libc::MAP_FIXED_NOREPLACE => Some(EEXIST),
        () if !arena::has(at.addr(), len) => Some(ENOMEM),
        () if is_file && flags & libc::MAP_TYPE != libc::MAP_PRIVATE => {
            sys::say(format_args!(
                "a shared mapping of a file over the heap is not supported"
            ));
            Some(ENOTSUP)
        }
        () => None,
    };
    if let Some(error) = wrong {
        set_error(error);
        return libc::MAP_FAILED;
    }
    let len = whole_pages(len);
    let start = at.addr();
    heap::in_turn(len, |len| {
        runs::cut(start..start + len);
        rights::set(&(start..start + len), rights::USUAL);
    });
    // SAFETY: whole pages of the heap, of a mapping that the program replaces.
    unsafe { heap::clear(start..start + len) };
    let mut done = 0;
    while is_file && done < len {
        let (to, from) = (at.wrapping_byte_add(done), offset + done as i64);
        // SAFETY: as above.
        match unsafe { libc::syscall(libc::SYS_pread64, file, to, len - done, from) } {
            -1 => return libc::MAP_FAILED,
            0 => break,
            read => done += read as usize,
        }
    }
    at
}

/// libc's. The heap's pages have their rights in all processes; reservations of this process that may be written from
/// now on are not shared.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn mprotect(at: *mut c_void, len: usize, protection: c_int) -> c_int {
    if is_program() && arena::owns(at.addr()) {
        let Some(pages) = pages_of(at, len) else {
            return if len == 0 { 0 } else { fail(EINVAL) };
        };
        if set_rights(&pages, protection) {
            return 0;
        }
        sys::say(format_args!(
            "mprotect of a thread's stack is not supported"
        ));
        return fail(ENOTSUP);
    }
    let range = at.addr()..at.addr().saturating_add(len);
    let is_written = protection & libc::PROT_WRITE != 0;
    if is_program() && is_written && reserved(range).next().is_some() {
        note_unshared(at.addr(), "mprotect of a reservation");
    }
    // SAFETY: as the caller promises.
    unsafe { libc::syscall(libc::SYS_mprotect, at, len, protection) as c_int }
}

/// libc's, but that there is no memory: threads would not share it. Allocators then use `mmap`.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn sbrk(more: isize) -> *mut c_void {
    if is_program() && more > 0 {
        sys::say(format_args!(
            "sbrk: threads would not share the memory: not supported"
        ));
        set_error(ENOMEM);
        return libc::MAP_FAILED;
    }
    // SAFETY: as the caller promises.
    unsafe { real::sbrk()(more) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn mmap64(
    at: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    // SAFETY: as the caller promises.
    unsafe { mmap(at, len, protection, flags, file, offset) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn munmap(at: *mut c_void, len: usize) -> c_int {
    if is_program() {
        if arena::owns(at.addr()) {
            let Some(pages) = pages_of(at, len) else {
                return fail(EINVAL);
            };
            heap::in_turn(pages.len(), |_| give_back(pages));
            return 0;
        }
        let range = at.addr()..at.addr().saturating_add(len);
        let whole = |place: &&Cell<[usize; 2]>| {
            let [start, end] = place.get();
            range.start <= start && end <= range.end
        };
        reserved(range.clone())
            .filter(whole)
            .for_each(|place| place.set([0; 2]));
        changed();
    }
    // SAFETY: as the caller promises.
    unsafe { libc::syscall(libc::SYS_munmap, at, len) as c_int }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn mremap(
    at: *mut c_void,
    len: usize,
    new_len: usize,
    flags: c_int,
    to: *mut c_void,
) -> *mut c_void {
    if !is_program() || !arena::owns(at.addr()) {
        if is_program() {
            changed();
        }
        // SAFETY: as the caller promises.
        let address = unsafe { libc::syscall(libc::SYS_mremap, at, len, new_len, flags, to) };
        return match address {
            -1 => libc::MAP_FAILED,
            address => ptr::with_exposed_provenance_mut(address as usize),
        };
    }
    let new_len = whole_pages(new_len);
    let Some(pages) = pages_of(at, len).filter(|_| new_len > 0) else {
        set_error(EINVAL);
        return libc::MAP_FAILED;
    };
    if flags & libc::MREMAP_FIXED == 0 && resize(&pages, new_len) {
        return at;
    }
    if flags & libc::MREMAP_MAYMOVE == 0 || flags & libc::MREMAP_FIXED != 0 {
        set_error(ENOMEM);
        return libc::MAP_FAILED;
    }
    let len = pages.len();
    let block = map(new_len);
    if block == libc::MAP_FAILED {
        return block;
    }
    // SAFETY: two mappings of these lengths.
    unsafe {
        block
            .cast::<u8>()
            .copy_from_nonoverlapping(at.cast(), len.min(new_len));
        munmap(at, len);
    }
    block
}

/// Makes pages free, with the usual rights.
fn give_back(pages: Range<usize>) {
    rights::set(&pages, rights::USUAL);
    runs::put(pages);
}

/// Gives pages of the heap rights in all processes; false if some are of a thread's stack.
fn set_rights(pages: &Range<usize>, protection: c_int) -> bool {
    let set = |_| (!stacks::has(pages)).then(|| rights::set(pages, protection));
    let done = heap::in_turn(pages.len(), set);
    if done == Some(false) {
        sys::protect(pages.clone(), protection);
        note_unshared(pages.start, "one of very many calls of mprotect");
    }
    done.is_some()
}

/// Makes a mapping longer or shorter where it is; false if there is no room.
fn resize(pages: &Range<usize>, len: usize) -> bool {
    let end = pages.start.saturating_add(len);
    if end <= pages.end {
        heap::in_turn(pages.end - end, |_| give_back(end..pages.end));
        return true;
    }
    let more = (len <= arena::MOST).then_some(end - pages.end);
    let taken = more.and_then(|more| heap::in_turn(more, |more| heap::pages_at(pages.end, more)));
    taken
        .inspect(|taken| taken.clear(end - pages.end))
        .is_some()
}

/// Advice is about memory of the kernel's; the heap's pages stay in the segment. That they are zeros behind
/// `MADV_DONTNEED` is what allocators rely on.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn madvise(at: *mut c_void, len: usize, advice: c_int) -> c_int {
    if !is_program() || !arena::owns(at.addr()) {
        // SAFETY: as the caller promises.
        return unsafe { libc::syscall(libc::SYS_madvise, at, len, advice) as c_int };
    }
    let wrong = match () {
        () if !at.addr().is_multiple_of(PAGE) => Some(EINVAL),
        () if !arena::has(at.addr(), len) => Some(ENOMEM),
        // For shared mappings of files only.
        () if advice == libc::MADV_REMOVE => Some(EINVAL),
        () => None,
    };
    if let Some(error) = wrong {
        return fail(error);
    }
    if advice == libc::MADV_DONTNEED {
        // SAFETY: whole pages of the heap, in which mappings end with a page ([`map`]).
        unsafe { heap::clear(at.addr()..at.addr() + len) };
    }
    0
}
