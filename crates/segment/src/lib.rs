//! Version-controlled shared memory.

#[cfg(not(target_os = "linux"))]
compile_error!("fyris-segment needs Linux: memfd, futex, and userfaultfd or mprotect");

mod copy;
mod doctor;
mod error;
mod map;
mod name;
mod options;
mod segment;
#[cfg_attr(not(debug_assertions), allow(unused_macros))]
#[doc(hidden)]
pub mod steps;
mod trunk;
pub mod versioned_map;
mod words;

pub use doctor::{Attached, Doctor, Repaired, Report};
pub use error::{Error, Result};
pub use options::{Options, Tracking};
pub use segment::{Choice, Conflict, Segment, Shared, Updated};
pub use versioned_map::{MapError, VersionedMap};

/// Bytes in a page, the grain of tracking and of commits.
pub const PAGE: usize = 4096;
