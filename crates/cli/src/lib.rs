//! What the `fyris` program is made of.
//!
//! A library, so that `fyris-compare` can run the same [`mod@bench`] over other people's maps.

pub mod bench;
pub mod doctor;
pub mod shell;

/// The examples of the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
