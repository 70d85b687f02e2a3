//! A concurrent in-memory term store: ETS as a library.
