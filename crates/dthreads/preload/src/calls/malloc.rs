//! `malloc` and its kin: the program's blocks are in the segment, the library's own private.

use std::ffi::{c_int, c_void};
use std::ptr;

use libc::{EINVAL, ENOMEM};

use crate::calls::heap;
use crate::shared::{arena, end};
use crate::system::sys::{self, set_error};
use crate::system::{LOCAL, Stage, private};

pub(crate) const PAGE: usize = 4096;

/// Returns a block, and whether it is known to be zeros; null and `ENOMEM` if there is no memory.
pub(crate) fn allocate(size: usize, align: usize) -> (*mut u8, bool) {
    let (block, zeros) = match LOCAL.is_inside() || LOCAL.stage.get() == Stage::Off {
        true => (private::allocate(size, align), false),
        false => heap::allocate(size, align),
    };
    if block.is_null() {
        set_error(ENOMEM);
    }
    (block, zeros)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn malloc(size: usize) -> *mut c_void {
    allocate(size, 16).0.cast()
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let Some(len) = count.checked_mul(size) else {
        set_error(ENOMEM);
        return ptr::null_mut();
    };
    let (block, zeros) = allocate(len, 16);
    if !block.is_null() && !zeros {
        // SAFETY: a block of `len` bytes.
        unsafe { block.write_bytes(0, len) };
    }
    block.cast()
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn free(block: *mut c_void) {
    if private::owns(block.cast()) {
        // SAFETY: a block of `private`, which the caller gives up.
        unsafe { private::free(block.cast()) };
    } else if !block.is_null() && arena::owns(block.addr()) {
        // SAFETY: a block of `heap`, which the caller gives up.
        unsafe { arena::free(block.addr()) };
    } else if !block.is_null() {
        sys::say(format_args!("free of {block:p}: not a block"));
        end::abort();
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    // SAFETY: a block of one of the two, as the caller promises.
    unsafe {
        match private::owns(block.cast()) {
            true => private::usable(block.cast()),
            false => arena::usable(block.addr()),
        }
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc(size);
    }
    // SAFETY: the caller's block.
    unsafe {
        if size == 0 {
            free(block);
            return ptr::null_mut();
        }
        let room = malloc_usable_size(block);
        if (room / 2..=room).contains(&size) {
            return block;
        }
        if !private::owns(block.cast()) && lengthen(block.addr(), size) {
            return block;
        }
        let fresh = malloc(size);
        if !fresh.is_null() {
            fresh
                .cast::<u8>()
                .copy_from_nonoverlapping(block.cast(), room.min(size));
            free(block);
        }
        fresh
    }
}

/// Makes a large block longer where it is; false if there is no room.
///
/// # Safety
///
/// A block of the heap that was not freed.
unsafe fn lengthen(block: usize, size: usize) -> bool {
    // SAFETY: the caller's block.
    unsafe {
        let Some((more, class)) = arena::longer(block, size) else {
            return false;
        };
        let take = |len| heap::pages_at(more.start, len).is_some();
        let done = !more.is_empty() && heap::in_turn(more.len(), take);
        if done {
            arena::lengthen(block, class);
        }
        done
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: the caller's block.
        Some(len) => unsafe { realloc(block, len) },
        None => {
            set_error(ENOMEM);
            ptr::null_mut()
        }
    }
}

const MOST_ALIGNED: usize = 1 << 30;

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    // As glibc does: another number stands for the next power of two.
    match align.checked_next_power_of_two() {
        Some(align @ ..=MOST_ALIGNED) => allocate(size, align).0.cast(),
        _ => {
            set_error(EINVAL);
            ptr::null_mut()
        }
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    memalign(align, size)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn posix_memalign(to: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return EINVAL;
    }
    let block = memalign(align, size);
    if block.is_null() {
        return ENOMEM;
    }
    // SAFETY: the caller's variable.
    unsafe { to.write(block) };
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn valloc(size: usize) -> *mut c_void {
    memalign(PAGE, size)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pvalloc(size: usize) -> *mut c_void {
    memalign(PAGE, size.next_multiple_of(PAGE))
}
