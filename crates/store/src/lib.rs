//! A concurrent in-memory term store: ETS as a library.

pub mod dump;
