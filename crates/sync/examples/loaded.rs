//! A shared library that uses mimalloc, for `tests/loaded.rs`.

use std::ptr::NonNull;

/// Allocates blocks of many sizes, and frees every other one; the rest stays until another thread frees it.
#[unsafe(no_mangle)]
pub extern "C" fn loaded_use() {
    static LEFT: std::sync::Mutex<Vec<(usize, usize)>> = std::sync::Mutex::new(Vec::new());
    let mut left = LEFT.lock().expect("nothing panics");
    for (address, size) in left.drain(..) {
        let block = NonNull::new(std::ptr::with_exposed_provenance_mut(address));
        // SAFETY: allocated with this size below, and taken out of the list.
        unsafe { fyris_sync::alloc::free(block.expect("a block"), size) };
    }
    for size in (1..400).cycle().take(4000) {
        let block = fyris_sync::alloc::allocate(size);
        // SAFETY: `size` bytes of ours.
        unsafe { block.write_bytes(0xa5, size) };
        left.push((block.as_ptr().expose_provenance(), size));
    }
}
