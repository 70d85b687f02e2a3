//! The version of the library.

use std::ffi::c_char;

/// The version of the binary interface that this header describes.
///
/// It changes when a program compiled with an older header would no longer work; additions leave it as it is.
pub const FYRIS_ABI_VERSION: u32 = 1;

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// Returns the version of the library that is running, like "0.1.0"; never freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn fyris_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

/// Returns the `FYRIS_ABI_VERSION` of the library that is running: compare it with the header's before anything else
/// where the two may come from different places.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn fyris_abi_version() -> u32 {
    FYRIS_ABI_VERSION
}
