//! The parts of the `fyris` program.

pub mod doctor;
pub mod dthreads;
pub mod info;
pub mod program;
pub mod shell;

/// The examples of the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
