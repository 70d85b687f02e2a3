//! Version-controlled shared memory.

#[cfg(not(target_os = "linux"))]
compile_error!("fyris-segment needs Linux: memfd, futex, and userfaultfd or mprotect");

#[allow(dead_code)]
mod error;
mod options;
mod segment;

pub use error::{Error, Result};
pub use options::{Options, Tracking};
pub use segment::{Choice, Conflict, Segment, Updated};

/// Bytes in a page, the grain of tracking and of commits.
pub const PAGE: usize = 4096;
