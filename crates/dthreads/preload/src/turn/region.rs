//! Regions that a program marks by `fyris_dthreads.h`.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};

use fyris_dthreads_tools::record::{NAME, REGIONS};

use crate::shared::control::record;
use crate::system::{Solo, on};

/// Regions that may be within each other in one thread; deeper ones have the name of this depth.
const DEPTH: usize = 32;

struct Open {
    names: [Cell<*const c_char>; DEPTH],
    depth: Cell<usize>,
}

static OPEN: Solo<Open> = Solo::new(Open {
    names: [const { Cell::new(std::ptr::null()) }; DEPTH],
    depth: Cell::new(0),
});

/// Forgets the regions that this process has inherited: another thread begins here.
pub(crate) fn forget() {
    OPEN.depth.set(0);
}

/// Returns the number of the innermost named region, in the record's list of names; 0 if there is none. The token is
/// here.
pub(crate) fn number() -> u64 {
    let depth = OPEN.depth.get();
    if depth == 0 {
        return 0;
    }
    // SAFETY: a string that the program keeps while the region is open.
    let name = unsafe { CStr::from_ptr(OPEN.names[depth.min(DEPTH) - 1].get()) }.to_bytes();
    let name = &name[..name.len().min(NAME)];
    let record = record();
    let known = record.regions.get() as usize;
    let has = |at: &usize| {
        let words = record.names[*at].iter();
        let bytes = words.flat_map(|word| word.get().to_ne_bytes());
        bytes
            .take(NAME)
            .eq(name.iter().copied().chain(std::iter::repeat(0)).take(NAME))
    };
    if let Some(at) = (0..known).find(has) {
        return at as u64 + 1;
    }
    if known == REGIONS {
        return 0;
    }
    let mut bytes = [0; NAME];
    bytes[..name.len()].copy_from_slice(name);
    for (word, part) in record.names[known].iter().zip(bytes.chunks_exact(8)) {
        word.set(part.try_into().map_or(0, u64::from_ne_bytes));
    }
    record.regions.set(known as u64 + 1);
    known as u64 + 1
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn fyris_dthreads_is_on() -> c_int {
    c_int::from(on())
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn fyris_dthreads_region_begin(name: *const c_char) {
    if !on() || name.is_null() {
        return;
    }
    let depth = OPEN.depth.get();
    if depth < DEPTH {
        OPEN.names[depth].set(name);
    }
    OPEN.depth.set(depth + 1);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn fyris_dthreads_region_end() {
    OPEN.depth.set(OPEN.depth.get().saturating_sub(1));
}
