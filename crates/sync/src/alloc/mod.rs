//! Memory for records and for tables.
//!
//! # Records
//!
//! A store of small objects lives or dies by the allocator's size classes: glibc gives 32 bytes for
//! a record of 25, and the host program's allocator is not ours to choose. So records come straight
//! from mimalloc, whatever the program's global allocator is: sizes up to 128 bytes go in steps of
//! 16, larger ones in steps of an eighth, with no header.
//!
//! # Pages
//!
//! A table's array is large and read at random, so the processor misses its address translation
//! cache as often as its data cache. [`Pages`] asks the kernel for huge pages when the array is at
//! least one of them long. It takes the array from mimalloc, whose freed memory has been touched before.
//!
//! Without the feature `mimalloc` (on by default) both come from the program's global allocator; under `--cfg
//! fyris_sanitize` and `--cfg loom` too, so that a sanitizer sees every use after free.

#[cfg(all(
    target_os = "linux",
    feature = "mimalloc",
    not(any(loom, fyris_sanitize, miri))
))]
mod first_thread;
mod lines;
mod pages;
mod record;

pub use lines::{LINE, allocate_lines, free_lines};
pub use pages::{Pages, given_back};
pub use record::{allocate, free, give_back, usable_size};
