//! `mmap` and its kin: anonymous memory is the heap's, what else is mapped is each process's own.

use std::ffi::{c_int, c_void};
use std::ptr;

use libc::{EINVAL, ENOMEM};

use crate::calls::malloc::allocate;
use crate::shared::arena;
use crate::shared::control::changed;
use crate::shared::memory::PAGE;
use crate::system::sys::{fail, set_error};
use crate::system::{LOCAL, Stage};

/// Memory that threads are to share: private, of no file, to be written.
fn is_heap(protection: c_int, flags: c_int) -> bool {
    let wanted = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let shape = libc::MAP_TYPE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE;
    flags & shape == wanted
        && protection & libc::PROT_WRITE != 0
        && protection & libc::PROT_EXEC == 0
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
    let len = whole_pages(len);
    if len == 0 {
        set_error(ENOMEM);
        return libc::MAP_FAILED;
    }
    let (block, zeros) = allocate(len, PAGE);
    if block.is_null() {
        return libc::MAP_FAILED;
    }
    // SAFETY: a block of `len` bytes.
    unsafe {
        arena::set_mapped(block.addr(), len);
        if !zeros {
            block.write_bytes(0, len);
        }
    }
    block.cast()
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
    if is_program() {
        if len > 0 && is_heap(protection, flags) {
            return map(len);
        }
        changed();
    }
    // SAFETY: as the caller promises.
    unsafe {
        match libc::syscall(libc::SYS_mmap, at, len, protection, flags, file, offset) {
            -1 => libc::MAP_FAILED,
            address => ptr::with_exposed_provenance_mut(address as usize),
        }
    }
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
            // SAFETY: what `mmap` has returned. A part of it stays until the whole goes.
            unsafe {
                if arena::is_mapped(at.addr(), whole_pages(len)) {
                    arena::free(at.addr());
                }
            }
            return 0;
        }
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
    let (len, new_len) = (whole_pages(len), whole_pages(new_len));
    if new_len == 0 || !at.addr().is_multiple_of(PAGE) {
        set_error(EINVAL);
        return libc::MAP_FAILED;
    }
    if flags & libc::MREMAP_MAYMOVE == 0 && new_len <= len {
        // SAFETY: what `mmap` has returned, if it is the whole. Its end is of use again when it goes.
        unsafe {
            if arena::is_mapped(at.addr(), len) {
                arena::set_mapped(at.addr(), new_len);
            }
        }
        return at;
    }
    if flags & libc::MREMAP_MAYMOVE == 0 || flags & libc::MREMAP_FIXED != 0 {
        set_error(ENOMEM);
        return libc::MAP_FAILED;
    }
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
        () => None,
    };
    if let Some(error) = wrong {
        return fail(error);
    }
    if advice == libc::MADV_DONTNEED {
        for page in (0..len).step_by(PAGE) {
            // SAFETY: whole pages of the heap, in which mappings end with a page ([`map`]).
            unsafe { clear(at.cast::<u8>().add(page)) };
        }
    }
    0
}

/// Makes a page zeros. One that is zeros already is not written, so it is not committed.
///
/// # Safety
///
/// A page that may be written.
unsafe fn clear(page: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        let words = std::slice::from_raw_parts(page.cast::<u64>(), PAGE / size_of::<u64>());
        if words.iter().any(|&word| word != 0) {
            page.write_bytes(0, PAGE);
        }
    }
}
