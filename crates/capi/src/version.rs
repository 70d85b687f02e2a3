//! The version of the library.

use std::ffi::c_char;

/// The version of the binary interface that this header describes.
///
/// It changes when a program compiled with an older header would no longer work, and with it the number in the name of
/// the shared library, libfyris.so.0, which is one less; additions leave both as they are: functions, codes, and fields
/// of structs that begin with `struct_size`.
pub const FYRIS_ABI_VERSION: u32 = 1;

/// The version of this header: that of the library it came with.
pub const FYRIS_VERSION_MAJOR: u32 = 0;
/// The second number of the version. Until 1.0 a program is built for one.
pub const FYRIS_VERSION_MINOR: u32 = 1;
/// The third number of the version.
pub const FYRIS_VERSION_PATCH: u32 = 0;

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

#[cfg(test)]
mod tests {
    use super::*;

    /// What programs are compiled and linked with changes together.
    #[test]
    fn the_numbers_are_those_of_the_package() {
        let numbers = [
            FYRIS_VERSION_MAJOR,
            FYRIS_VERSION_MINOR,
            FYRIS_VERSION_PATCH,
        ];
        let version = numbers.map(|number| number.to_string()).join(".");
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
        let soname = format!("-soname,libfyris.so.{}\"", FYRIS_ABI_VERSION - 1);
        assert!(include_str!("../build.rs").contains(&soname), "{soname}");
    }
}
