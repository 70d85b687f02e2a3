//! Where in the program the present call of the library was made.

use std::cell::Cell;

use crate::system::local::Solo;

/// The return address of the last call, and the stack pointer then (invariant ONE).
pub(crate) static SITE: Solo<[Cell<usize>; 2]> = Solo::new([const { Cell::new(0) }; 2]);

/// Returns the address that the present call returns to; 0 if the program has not called.
pub(crate) fn get() -> u64 {
    SITE[0].get() as u64
}

/// Returns the address that the present call returns to, as [`get`], and the program's stack pointer in it.
pub(crate) fn both() -> [usize; 2] {
    SITE.each_ref().map(Cell::get)
}

/// Notes the address that a call returns to, and the stack pointer in it.
pub(crate) fn note(address: usize, stack: usize) {
    SITE[0].set(address);
    SITE[1].set(stack);
}

/// Notes another address: 0 for what the library does by itself.
pub(crate) fn set(address: u64) {
    SITE[0].set(address as usize);
}
