//! Whether there is memory for a large request.
//!
//! Rust ends the process where an ordinary allocation fails. What asks for much at once, because its input says so,
//! asks here first, and fails by an error instead.

/// Requests below this are not asked about: a process that cannot have as much will hardly go on.
const LARGE: usize = 1 << 20;

/// Returns whether as many bytes can be allocated now. Another thread may be faster afterwards.
#[inline]
pub fn is_there(bytes: usize) -> bool {
    bytes < LARGE || try_it(bytes)
}

#[cold]
fn try_it(bytes: usize) -> bool {
    let mut block: Vec<u8> = Vec::new();
    let got = block.try_reserve_exact(bytes).is_ok();
    // Else the compiler may take an allocation that is not used for one that cannot fail.
    std::hint::black_box(block.as_ptr());
    got
}

/// Returns whether there is memory for so many values of a type.
#[inline]
pub fn is_there_for<T>(count: usize) -> bool {
    is_there(count.saturating_mul(size_of::<T>()))
}
