//! Runs programs of POSIX threads deterministically.
//!
//! This crate starts programs with the library that does it (`libfyris_dthreads.so`, of `fyris-dthreads-preload`),
//! reads what a run leaves behind, and compares runs: [`launch`], [`record`] and [`report`], [`scratch`], [`check`],
//! [`picture`], [`symbols`]. `fyris dthreads` is its command line. The README says what programs can expect.

#[cfg(not(target_os = "linux"))]
compile_error!("fyris-dthreads needs Linux");

pub mod check;
pub mod launch;
pub mod picture;
pub mod record;
pub mod report;
pub mod scratch;
pub mod symbols;
